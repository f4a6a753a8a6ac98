// One kernel for each tile of the warp-specialised loop, with all that takes registers.
func.func @d64(%q: tensor<1x512x4x64xf16>, %k: tensor<1x512x2x64xf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x64xf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n sink %s scale 0.125 causal window_left 100 : tensor<1x512x4x64xf16>, tensor<1x512x2x64xf16>, tensor<1x512x2x64xf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x64xf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x64xf16>, tensor<1x512x4xf32>
}
func.func @d128(%q: tensor<1x512x4x128xbf16>, %k: tensor<1x512x2x128xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n sink %s scale 0.0884 causal window_left 100 softcap 30.0 : tensor<1x512x4x128xbf16>, tensor<1x512x2x128xbf16>, tensor<1x512x2x128xbf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
}
func.func @d192(%q: tensor<1x512x4x192xbf16>, %k: tensor<1x512x2x192xbf16>, %v: tensor<1x512x2x128xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v kv_lens %n sink %s scale 0.0722 causal softcap 30.0 : tensor<1x512x4x192xbf16>, tensor<1x512x2x192xbf16>, tensor<1x512x2x128xbf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x128xbf16>, tensor<1x512x4xf32>
}
func.func @d256(%q: tensor<1x512x4x256xbf16>, %k: tensor<1x512x2x256xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) -> (tensor<1x512x4x256xbf16>, tensor<1x512x4xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n sink %s scale 0.0625 causal window_left 100 : tensor<1x512x4x256xbf16>, tensor<1x512x2x256xbf16>, tensor<1x512x2x256xbf16> kv_lens tensor<1xi32> sink tensor<4xf32> -> tensor<1x512x4x256xbf16>, tensor<1x512x4xf32>
  return %0, %1 : tensor<1x512x4x256xbf16>, tensor<1x512x4xf32>
}
func.func @d256_cap(%q: tensor<1x512x4x256xbf16>, %k: tensor<1x512x2x256xbf16>) -> tensor<1x512x4x256xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0625 causal window_left 100 softcap 30.0 : tensor<1x512x4x256xbf16>, tensor<1x512x2x256xbf16>, tensor<1x512x2x256xbf16> -> tensor<1x512x4x256xbf16>
  return %0 : tensor<1x512x4x256xbf16>
}
