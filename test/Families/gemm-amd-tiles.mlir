// Tiles of products on the chips whose bytes in flight are calibrated: the picks that
// changed with these terms, by the timing model (benchmarks/results/amd-tiles.md).
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA3
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA4

// CHECK-LABEL: hk.kernel @matmul gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128,
// CHECK-NOT: hk.variant @v1
func.func @few(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<16x4096xbf16>, tensor<4096x4096xbf16> -> tensor<16x4096xbf16>
  return %0 : tensor<16x4096xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_0 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 32, bk = 64,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128,
// CHECK-NOT: hk.variant @v1
func.func @some(%x: tensor<384x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<384x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<384x4096xbf16>, tensor<4096x4096xbf16> -> tensor<384x4096xbf16>
  return %0 : tensor<384x4096xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_1 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 64, bk = 64,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 64, bk = 64,
// CHECK-NOT: hk.variant @v1
func.func @thousand(%x: tensor<1024x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1024x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<1024x4096xbf16>, tensor<4096x4096xbf16> -> tensor<1024x4096xbf16>
  return %0 : tensor<1024x4096xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_2 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 128, bn = 128, bk = 64,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 128, bn = 128, bk = 64,
// CHECK-NOT: hk.variant @v1
func.func @two_thousand(%x: tensor<2048x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<2048x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<2048x4096xbf16>, tensor<4096x4096xbf16> -> tensor<2048x4096xbf16>
  return %0 : tensor<2048x4096xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_3 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 256, bn = 256, bk = 64, {{.*}}loop = ping_pong>
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 256, bn = 256, bk = 64, {{.*}}loop = ping_pong>
// CHECK-NOT: hk.variant @v1
func.func @many(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_4 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 32, bk = 128,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 32, bk = 128,
// CHECK-NOT: hk.variant @v1
func.func @blocks_few(%x: tensor<96x2048xi8>, %w: tensor<7168x2048xi8>, %s: tensor<96x16xf32>, %t: tensor<56x16xf32>) -> tensor<96x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<96x2048xi8>, tensor<7168x2048xi8> scales (tensor<96x16xf32>, tensor<56x16xf32>) -> tensor<96x7168xbf16>
  return %0 : tensor<96x7168xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_5 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 64, bk = 128,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 64, bk = 128,
// CHECK-NOT: hk.variant @v1
func.func @blocks_some(%x: tensor<384x2048xi8>, %w: tensor<7168x2048xi8>, %s: tensor<384x16xf32>, %t: tensor<56x16xf32>) -> tensor<384x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<384x2048xi8>, tensor<7168x2048xi8> scales (tensor<384x16xf32>, tensor<56x16xf32>) -> tensor<384x7168xbf16>
  return %0 : tensor<384x7168xbf16>
}

// Halves of 16 columns would begin in the middle of a fragment.
// CHECK-LABEL: hk.kernel @{{.*}}gated
// CHECK-NOT: bn = 32,
// CHECK: return
func.func @pair(%x: tensor<16x64xbf16>, %w: tensor<256x64xbf16>) -> tensor<16x128xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<16x64xbf16>, tensor<256x64xbf16> -> tensor<16x256xbf16>
  %1 = hk.gated_activation silu %0 : tensor<16x256xbf16> -> tensor<16x128xbf16>
  return %1 : tensor<16x128xbf16>
}

// Right operands [K, N]: rows of 64 columns are whole lines of memory, and steps as deep
// as where they run along k.
// CHECK-LABEL: hk.kernel @matmul_6 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128, wm = 1, wn = 2, stages = 1,
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128, wm = 1, wn = 2, stages = 2,
func.func @columns(%x: tensor<512x1024xbf16>, %w: tensor<1024x1024xbf16>) -> tensor<512x1024xbf16> {
  %0 = hk.matmul %x, %w : tensor<512x1024xbf16>, tensor<1024x1024xbf16> -> tensor<512x1024xbf16>
  return %0 : tensor<512x1024xbf16>
}
