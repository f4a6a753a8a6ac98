// Causal prefill of 1024 tokens and decode of 4 sequences of 8192, 8 heads over 2 of keys.
func.func @prefill_bf16_64(%q: tensor<1x1024x8x64xbf16>, %k: tensor<1x1024x2x64xbf16>, %v: tensor<1x1024x2x64xbf16>) -> tensor<1x1024x8x64xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x1024x8x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16> -> tensor<1x1024x8x64xbf16>
  return %o : tensor<1x1024x8x64xbf16>
}
func.func @decode_bf16_64(%q: tensor<4x1x8x64xbf16>, %k: tensor<4x8192x2x64xbf16>, %v: tensor<4x8192x2x64xbf16>) -> tensor<4x1x8x64xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<4x1x8x64xbf16>, tensor<4x8192x2x64xbf16>, tensor<4x8192x2x64xbf16> -> tensor<4x1x8x64xbf16>
  return %o : tensor<4x1x8x64xbf16>
}
func.func @prefill_bf16_128(%q: tensor<1x1024x8x128xbf16>, %k: tensor<1x1024x2x128xbf16>, %v: tensor<1x1024x2x128xbf16>) -> tensor<1x1024x8x128xbf16> {
  %o = hk.attention %q, %k, %v scale 0.08838834764831845 causal : tensor<1x1024x8x128xbf16>, tensor<1x1024x2x128xbf16>, tensor<1x1024x2x128xbf16> -> tensor<1x1024x8x128xbf16>
  return %o : tensor<1x1024x8x128xbf16>
}
func.func @decode_bf16_128(%q: tensor<4x1x8x128xbf16>, %k: tensor<4x8192x2x128xbf16>, %v: tensor<4x8192x2x128xbf16>) -> tensor<4x1x8x128xbf16> {
  %o = hk.attention %q, %k, %v scale 0.08838834764831845 causal : tensor<4x1x8x128xbf16>, tensor<4x8192x2x128xbf16>, tensor<4x8192x2x128xbf16> -> tensor<4x1x8x128xbf16>
  return %o : tensor<4x1x8x128xbf16>
}
func.func @prefill_f32_64(%q: tensor<1x1024x8x64xf32>, %k: tensor<1x1024x2x64xf32>, %v: tensor<1x1024x2x64xf32>) -> tensor<1x1024x8x64xf32> {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x1024x8x64xf32>, tensor<1x1024x2x64xf32>, tensor<1x1024x2x64xf32> -> tensor<1x1024x8x64xf32>
  return %o : tensor<1x1024x8x64xf32>
}
func.func @decode_f32_64(%q: tensor<4x1x8x64xf32>, %k: tensor<4x8192x2x64xf32>, %v: tensor<4x8192x2x64xf32>) -> tensor<4x1x8x64xf32> {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<4x1x8x64xf32>, tensor<4x8192x2x64xf32>, tensor<4x8192x2x64xf32> -> tensor<4x1x8x64xf32>
  return %o : tensor<4x1x8x64xf32>
}
func.func @prefill_f32_128(%q: tensor<1x1024x8x128xf32>, %k: tensor<1x1024x2x128xf32>, %v: tensor<1x1024x2x128xf32>) -> tensor<1x1024x8x128xf32> {
  %o = hk.attention %q, %k, %v scale 0.08838834764831845 causal : tensor<1x1024x8x128xf32>, tensor<1x1024x2x128xf32>, tensor<1x1024x2x128xf32> -> tensor<1x1024x8x128xf32>
  return %o : tensor<1x1024x8x128xf32>
}
func.func @decode_f32_128(%q: tensor<4x1x8x128xf32>, %k: tensor<4x8192x2x128xf32>, %v: tensor<4x8192x2x128xf32>) -> tensor<4x1x8x128xf32> {
  %o = hk.attention %q, %k, %v scale 0.08838834764831845 causal : tensor<4x1x8x128xf32>, tensor<4x8192x2x128xf32>, tensor<4x8192x2x128xf32> -> tensor<4x1x8x128xf32>
  return %o : tensor<4x1x8x128xf32>
}
