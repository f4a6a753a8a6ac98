// Functions over tensors of more than 2^31 elements, for benchmarks/gpu/large.py.

func.func @rms_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @layer_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>, %b: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @add_rms_norm_quantize(%x: tensor<?x4096xbf16>, %r: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>, tensor<?x4096xbf16>) {
  %u = hk.add %x, %r : tensor<?x4096xbf16>
  %n = hk.rms_norm %u, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  %y, %s = hk.quantize per_group %n amax_floor 1.0e-10 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %y, %s, %u : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>, tensor<?x4096xbf16>
}
func.func @quantize_token(%x: tensor<?x4096xbf16>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>) {
  %y, %s = hk.quantize per_token %x : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
  return %y, %s : tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
}
func.func @silu_and_mul(%x: tensor<?x8192xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x8192xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @softmax_long(%x: tensor<?x131072xf32>) -> tensor<?x131072xf32> {
  %y = hk.softmax %x : tensor<?x131072xf32>
  return %y : tensor<?x131072xf32>
}
func.func @softmax_topk(%x: tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %p = hk.softmax %x : tensor<?x256xf32>
  %y, %i = hk.topk %p : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %y, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
func.func @rope(%x: tensor<?x32x128xbf16>, %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>) -> tensor<?x32x128xbf16> {
  %y = hk.rope neox %x, %cos, %sin : tensor<?x32x128xbf16>, tensor<?x64xf32>, tensor<?x64xf32>
  return %y : tensor<?x32x128xbf16>
}
func.func @cumsum(%x: tensor<?x64x4096xf32>) -> tensor<?x64x4096xf32> {
  %y = hk.cumsum inclusive %x dim 1 : tensor<?x64x4096xf32>
  return %y : tensor<?x64x4096xf32>
}
func.func @matmul_tall(%a: tensor<?x4096xbf16>, %b: tensor<128x4096xbf16>) -> tensor<?x128xbf16> {
  %c = hk.matmul %a, %b transpose_b : tensor<?x4096xbf16>, tensor<128x4096xbf16> -> tensor<?x128xbf16>
  return %c : tensor<?x128xbf16>
}
func.func @matmul_wide(%a: tensor<?x128xbf16>, %b: tensor<4096x128xbf16>) -> tensor<?x4096xbf16> {
  %c = hk.matmul %a, %b transpose_b : tensor<?x128xbf16>, tensor<4096x128xbf16> -> tensor<?x4096xbf16>
  return %c : tensor<?x4096xbf16>
}
func.func @gather_rows(%t: tensor<?x4096xbf16>, %i: tensor<?xi32>) -> tensor<?x4096xbf16> {
  %y = hk.gather_rows %t, %i : tensor<?x4096xbf16>, tensor<?xi32> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @cache_write(%k: tensor<?x8x128xbf16>, %slots: tensor<?xi32>, %cache: tensor<?x16x8x128xbf16> {hk.state}) -> tensor<?x16x8x128xbf16> {
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x8x128xbf16>, tensor<?xi32>, tensor<?x16x8x128xbf16>
  return %c : tensor<?x16x8x128xbf16>
}
