// The operators that benchmarks/gpu/operators.py times, at the sizes of decode and
// prefill in current models.

func.func @rms_norm_16384x8192(%x: tensor<16384x8192xbf16>, %w: tensor<8192xbf16>) -> tensor<16384x8192xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<16384x8192xbf16>, tensor<8192xbf16> -> tensor<16384x8192xbf16>
  return %y : tensor<16384x8192xbf16>
}
func.func @rms_norm_4096x4096(%x: tensor<4096x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<4096x4096xbf16>, tensor<4096xbf16> -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}
func.func @rms_norm_16x4096(%x: tensor<16x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<16x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<16x4096xbf16>, tensor<4096xbf16> -> tensor<16x4096xbf16>
  return %y : tensor<16x4096xbf16>
}
func.func @add_rms_norm_16384x7168(%x: tensor<16384x7168xbf16>, %r: tensor<16384x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<16384x7168xbf16>, tensor<16384x7168xbf16>) {
  %s = hk.add %x, %r : tensor<16384x7168xbf16>, tensor<16384x7168xbf16> -> tensor<16384x7168xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<16384x7168xbf16>, tensor<7168xbf16> -> tensor<16384x7168xbf16>
  return %y, %s : tensor<16384x7168xbf16>, tensor<16384x7168xbf16>
}
func.func @add_rms_norm_quant_16384x8192(%x: tensor<16384x8192xbf16>, %r: tensor<16384x8192xbf16>, %w: tensor<8192xbf16>) -> (tensor<16384x8192xf8E4M3FN>, tensor<16384x64xf32>, tensor<16384x8192xbf16>) {
  %s = hk.add %x, %r : tensor<16384x8192xbf16>, tensor<16384x8192xbf16> -> tensor<16384x8192xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<16384x8192xbf16>, tensor<8192xbf16> -> tensor<16384x8192xbf16>
  %q, %scale = hk.quantize per_group %y {amax_floor = 1.0e-10 : f32} : tensor<16384x8192xbf16> -> tensor<16384x8192xf8E4M3FN>, tensor<16384x64xf32>
  return %q, %scale, %s : tensor<16384x8192xf8E4M3FN>, tensor<16384x64xf32>, tensor<16384x8192xbf16>
}
func.func @silu_and_mul_8192x14336(%x: tensor<8192x28672xbf16>) -> tensor<8192x14336xbf16> {
  %y = hk.gated_activation silu %x : tensor<8192x28672xbf16> -> tensor<8192x14336xbf16>
  return %y : tensor<8192x14336xbf16>
}
func.func @softmax_8192x4096(%x: tensor<8192x4096xf32>) -> tensor<8192x4096xf32> {
  %y = hk.softmax %x : tensor<8192x4096xf32> -> tensor<8192x4096xf32>
  return %y : tensor<8192x4096xf32>
}
func.func @softmax_1024x131072(%x: tensor<1024x131072xf32>) -> tensor<1024x131072xf32> {
  %y = hk.softmax %x : tensor<1024x131072xf32> -> tensor<1024x131072xf32>
  return %y : tensor<1024x131072xf32>
}
func.func @quantize_token_16384x4096(%x: tensor<16384x4096xbf16>) -> (tensor<16384x4096xf8E4M3FN>, tensor<16384x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<16384x4096xbf16> -> tensor<16384x4096xf8E4M3FN>, tensor<16384x1xf32>
  return %q, %s : tensor<16384x4096xf8E4M3FN>, tensor<16384x1xf32>
}
func.func @rope_16384(%q: tensor<16384x32x128xbf16>, %k: tensor<16384x8x128xbf16>, %cos: tensor<16384x64xf32>, %sin: tensor<16384x64xf32>, %p: tensor<16384xi32>) -> (tensor<16384x32x128xbf16>, tensor<16384x8x128xbf16>) {
  %a = hk.rope neox %q, %cos, %sin positions %p : tensor<16384x32x128xbf16>, tensor<16384x64xf32>, tensor<16384x64xf32> positions tensor<16384xi32> -> tensor<16384x32x128xbf16>
  %b = hk.rope neox %k, %cos, %sin positions %p : tensor<16384x8x128xbf16>, tensor<16384x64xf32>, tensor<16384x64xf32> positions tensor<16384xi32> -> tensor<16384x8x128xbf16>
  return %a, %b : tensor<16384x32x128xbf16>, tensor<16384x8x128xbf16>
}
func.func @matmul_4096(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %c = hk.matmul %a, %b {transpose_b} : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %c : tensor<4096x4096xbf16>
}
func.func @matmul_8192(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %c = hk.matmul %a, %b {transpose_b} : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
  return %c : tensor<8192x8192xbf16>
}
func.func @attention_8192(%q: tensor<1x8192x32x128xbf16>, %k: tensor<1x8192x8x128xbf16>, %v: tensor<1x8192x8x128xbf16>) -> tensor<1x8192x32x128xbf16> {
  %o = hk.attention %q, %k, %v scale 0.08838834764 {causal} : tensor<1x8192x32x128xbf16>, tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16> -> tensor<1x8192x32x128xbf16>
  return %o : tensor<1x8192x32x128xbf16>
}
