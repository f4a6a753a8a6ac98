// What tools/amd-report times at the sizes of a model of 8 billion parameters, beside other
// libraries (tools/amd-report/timed.py names the sizes).

func.func @rms_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x4096xbf16>, tensor<4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @silu_and_mul(%x: tensor<?x28672xbf16>) -> tensor<?x14336xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x28672xbf16> -> tensor<?x14336xbf16>
  return %y : tensor<?x14336xbf16>
}
func.func @softmax(%x: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %y = hk.softmax %x : tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
func.func @matmul_1_4096_4096(%x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<1x4096xbf16>, tensor<4096x4096xbf16> -> tensor<1x4096xbf16>
  return %y : tensor<1x4096xbf16>
}
func.func @matmul_16_28672_4096(%x: tensor<16x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<16x28672xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<16x4096xbf16>, tensor<28672x4096xbf16> -> tensor<16x28672xbf16>
  return %y : tensor<16x28672xbf16>
}
func.func @matmul_4096_4096_4096(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}
func.func @matmul_8192_8192_8192(%x: tensor<8192x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}
func.func @attention_4096(%q: tensor<1x4096x32x128xbf16>, %k: tensor<1x4096x8x128xbf16>, %v: tensor<1x4096x8x128xbf16>) -> tensor<1x4096x32x128xbf16> {
  %y = hk.attention %q, %k, %v scale 0.08838834764 causal : tensor<1x4096x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16> -> tensor<1x4096x32x128xbf16>
  return %y : tensor<1x4096x32x128xbf16>
}
func.func @decode_64_1024(%q: tensor<64x1x32x128xbf16>, %k: tensor<64x1024x8x128xbf16>, %v: tensor<64x1024x8x128xbf16>) -> tensor<64x1x32x128xbf16> {
  %y = hk.attention %q, %k, %v scale 0.08838834764 : tensor<64x1x32x128xbf16>, tensor<64x1024x8x128xbf16>, tensor<64x1024x8x128xbf16> -> tensor<64x1x32x128xbf16>
  return %y : tensor<64x1x32x128xbf16>
}
