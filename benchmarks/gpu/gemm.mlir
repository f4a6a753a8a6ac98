// Products that benchmarks/gpu/gemm.py times; a function's name says its sizes: M, N, K.
func.func @bf16_4096_4096_4096(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}
func.func @bf16_8192_8192_8192(%x: tensor<8192x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
  return %0 : tensor<8192x8192xbf16>
}
func.func @bf16_4096_28672_4096(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<4096x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  return %0 : tensor<4096x28672xbf16>
}
func.func @bf16_4096_6144_4096(%x: tensor<4096x4096xbf16>, %w: tensor<6144x4096xbf16>) -> tensor<4096x6144xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<6144x4096xbf16> -> tensor<4096x6144xbf16>
  return %0 : tensor<4096x6144xbf16>
}
func.func @bf16_4096_4096_14336(%x: tensor<4096x14336xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x14336xbf16>, tensor<4096x14336xbf16> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}
func.func @bf16_256_28672_4096(%x: tensor<256x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<256x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<256x4096xbf16>, tensor<28672x4096xbf16> -> tensor<256x28672xbf16>
  return %0 : tensor<256x28672xbf16>
}
func.func @bf16_300_5000_3000(%x: tensor<300x3000xbf16>, %w: tensor<5000x3000xbf16>) -> tensor<300x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<300x3000xbf16>, tensor<5000x3000xbf16> -> tensor<300x5000xbf16>
  return %0 : tensor<300x5000xbf16>
}
func.func @bf16_1_4096_4096(%x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<1x4096xbf16>, tensor<4096x4096xbf16> -> tensor<1x4096xbf16>
  return %0 : tensor<1x4096xbf16>
}
func.func @bf16_16_4096_4096(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<16x4096xbf16>, tensor<4096x4096xbf16> -> tensor<16x4096xbf16>
  return %0 : tensor<16x4096xbf16>
}
func.func @bf16_64_4096_4096(%x: tensor<64x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<64x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<64x4096xbf16>, tensor<4096x4096xbf16> -> tensor<64x4096xbf16>
  return %0 : tensor<64x4096xbf16>
}
func.func @bf16_1_28672_4096(%x: tensor<1x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<1x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<1x4096xbf16>, tensor<28672x4096xbf16> -> tensor<1x28672xbf16>
  return %0 : tensor<1x28672xbf16>
}
func.func @bf16_16_28672_4096(%x: tensor<16x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<16x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<16x4096xbf16>, tensor<28672x4096xbf16> -> tensor<16x28672xbf16>
  return %0 : tensor<16x28672xbf16>
}
func.func @bf16_64_28672_4096(%x: tensor<64x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<64x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<64x4096xbf16>, tensor<28672x4096xbf16> -> tensor<64x28672xbf16>
  return %0 : tensor<64x28672xbf16>
}
func.func @f16_4096_4096_4096(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
  return %0 : tensor<4096x4096xf16>
}
func.func @residual_4096_28672_4096(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xbf16>, %r: tensor<4096x28672xbf16>) -> tensor<4096x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  %1 = hk.add %0, %r : tensor<4096x28672xbf16>
  return %1 : tensor<4096x28672xbf16>
}
func.func @silu_4096_28672_4096(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<4096x14336xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  %1 = hk.gated_activation silu %0 : tensor<4096x28672xbf16> -> tensor<4096x14336xbf16>
  return %1 : tensor<4096x14336xbf16>
}
func.func @quantize_4096_28672_4096(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xbf16>) -> (tensor<4096x28672xf8E4M3FN>, tensor<4096x224xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<4096x28672xbf16> -> tensor<4096x28672xf8E4M3FN>, tensor<4096x224xf32>
  return %q, %s : tensor<4096x28672xf8E4M3FN>, tensor<4096x224xf32>
}
func.func @fp8_8192_8192_8192(%x: tensor<8192x8192xf8E4M3FN>, %w: tensor<8192x8192xf8E4M3FN>, %s: tensor<8192x1xf32>, %t: tensor<8192x1xf32>) -> tensor<8192x8192xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<8192x8192xf8E4M3FN>, tensor<8192x8192xf8E4M3FN> scales (tensor<8192x1xf32>, tensor<8192x1xf32>) -> tensor<8192x8192xbf16>
  return %0 : tensor<8192x8192xbf16>
}
func.func @blocks_8192_8192_8192(%x: tensor<8192x8192xf8E4M3FN>, %w: tensor<8192x8192xf8E4M3FN>, %s: tensor<8192x64xf32>, %t: tensor<64x64xf32>) -> tensor<8192x8192xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<8192x8192xf8E4M3FN>, tensor<8192x8192xf8E4M3FN> scales (tensor<8192x64xf32>, tensor<64x64xf32>) -> tensor<8192x8192xbf16>
  return %0 : tensor<8192x8192xbf16>
}
func.func @fp8_4096_7168_2048(%x: tensor<4096x2048xf8E4M3FN>, %w: tensor<7168x2048xf8E4M3FN>, %s: tensor<4096x1xf32>, %t: tensor<7168x1xf32>) -> tensor<4096x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<4096x2048xf8E4M3FN>, tensor<7168x2048xf8E4M3FN> scales (tensor<4096x1xf32>, tensor<7168x1xf32>) -> tensor<4096x7168xbf16>
  return %0 : tensor<4096x7168xbf16>
}
func.func @blocks_4096_7168_2048(%x: tensor<4096x2048xf8E4M3FN>, %w: tensor<7168x2048xf8E4M3FN>, %s: tensor<4096x16xf32>, %t: tensor<56x16xf32>) -> tensor<4096x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<4096x2048xf8E4M3FN>, tensor<7168x2048xf8E4M3FN> scales (tensor<4096x16xf32>, tensor<56x16xf32>) -> tensor<4096x7168xbf16>
  return %0 : tensor<4096x7168xbf16>
}
func.func @fp8_1_28672_4096(%x: tensor<1x4096xf8E4M3FN>, %w: tensor<28672x4096xf8E4M3FN>, %s: tensor<1x1xf32>, %t: tensor<28672x1xf32>) -> tensor<1x28672xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<1x4096xf8E4M3FN>, tensor<28672x4096xf8E4M3FN> scales (tensor<1x1xf32>, tensor<28672x1xf32>) -> tensor<1x28672xbf16>
  return %0 : tensor<1x28672xbf16>
}
func.func @fp8_16_28672_4096(%x: tensor<16x4096xf8E4M3FN>, %w: tensor<28672x4096xf8E4M3FN>, %s: tensor<16x1xf32>, %t: tensor<28672x1xf32>) -> tensor<16x28672xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<16x4096xf8E4M3FN>, tensor<28672x4096xf8E4M3FN> scales (tensor<16x1xf32>, tensor<28672x1xf32>) -> tensor<16x28672xbf16>
  return %0 : tensor<16x28672xbf16>
}
func.func @fp8_64_28672_4096(%x: tensor<64x4096xf8E4M3FN>, %w: tensor<28672x4096xf8E4M3FN>, %s: tensor<64x1xf32>, %t: tensor<28672x1xf32>) -> tensor<64x28672xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<64x4096xf8E4M3FN>, tensor<28672x4096xf8E4M3FN> scales (tensor<64x1xf32>, tensor<28672x1xf32>) -> tensor<64x28672xbf16>
  return %0 : tensor<64x28672xbf16>
}
func.func @batched_32_1024_1024_1024(%x: tensor<32x1024x1024xbf16>, %w: tensor<32x1024x1024xbf16>) -> tensor<32x1024x1024xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<32x1024x1024xbf16>, tensor<32x1024x1024xbf16> -> tensor<32x1024x1024xbf16>
  return %0 : tensor<32x1024x1024xbf16>
}
func.func @f32_517_3072_768(%x: tensor<517x768xf32>, %w: tensor<3072x768xf32>) -> tensor<517x3072xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<517x768xf32>, tensor<3072x768xf32> -> tensor<517x3072xf32>
  return %0 : tensor<517x3072xf32>
}
func.func @f32_8192_3072_768(%x: tensor<8192x768xf32>, %w: tensor<3072x768xf32>) -> tensor<8192x3072xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8192x768xf32>, tensor<3072x768xf32> -> tensor<8192x3072xf32>
  return %0 : tensor<8192x3072xf32>
}
func.func @f32_16_28672_4096(%x: tensor<16x4096xf32>, %w: tensor<28672x4096xf32>) -> tensor<16x28672xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<16x4096xf32>, tensor<28672x4096xf32> -> tensor<16x28672xf32>
  return %0 : tensor<16x28672xf32>
}
func.func @f32_4096_4096_4096(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xf32>, tensor<4096x4096xf32> -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}
