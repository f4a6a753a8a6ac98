// Products of few rows on sm_90a: two blocks of 112 rows of weights a unit, where
// they fill all places.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s

// CHECK-LABEL: hk.kernel @matmul gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 112, bk = 128, wm = 1, wn = 2, stages = 5, splitK = 1, loop = skinny> threads 288 lds 81608
// CHECK: hk.variant @v1 #hk.gemm_tile<bm = 16, bn = 112, {{.*}}stages = 5, {{.*}}loop = skinny>
// CHECK: hk.variant @v2 #hk.gemm_tile<bm = 32, bn = 112, {{.*}}stages = 5, {{.*}}loop = skinny>
// CHECK: hk.variant @v3 #hk.gemm_tile<bm = 64, bn = 112, {{.*}}stages = 3, {{.*}}loop = skinny>
func.func @bytes(%x: tensor<?x4096xf8E4M3FN>, %w: tensor<28672x4096xf8E4M3FN>) -> tensor<?x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<?x4096xf8E4M3FN>, tensor<28672x4096xf8E4M3FN> -> tensor<?x28672xbf16>
  return %0 : tensor<?x28672xbf16>
}

// Of 16 bits up to 16 rows.
// CHECK-LABEL: hk.kernel @matmul_0 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 112, bk = 64, {{.*}}stages = 5, {{.*}}loop = skinny>
// CHECK: hk.variant @v1 #hk.gemm_tile<bm = 16, bn = 112, {{.*}}stages = 5, {{.*}}loop = skinny>
// CHECK: hk.variant @v2 #hk.gemm_tile<bm = 32, bn = 64, {{.*}}loop = skinny>
// CHECK: hk.variant @v3 #hk.gemm_tile<bm = 64, bn = 112, {{.*}}stages = 8, {{.*}}loop = skinny>
func.func @halves(%x: tensor<?x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<?x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<28672x4096xbf16> -> tensor<?x28672xbf16>
  return %0 : tensor<?x28672xbf16>
}

// The fifth round would have a third of its blocks; and 128 leave half of the
// places idle.
// CHECK-LABEL: hk.kernel @matmul_1 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 16, bn = 64, {{.*}}stages = 10, {{.*}}loop = skinny>
// CHECK-LABEL: hk.kernel @matmul_2 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 112, {{.*}}stages = 8, {{.*}}loop = skinny>
func.func @last_round(%x: tensor<16x4096xf8E4M3FN>, %w: tensor<128256x4096xf8E4M3FN>) -> tensor<16x128256xbf16> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<16x4096xf8E4M3FN>, tensor<128256x4096xf8E4M3FN> -> tensor<16x128256xbf16>
  return %0 : tensor<16x128256xbf16>
}
func.func @places(%x: tensor<64x4096xf8E4M3FN>, %w: tensor<14336x4096xf8E4M3FN>) -> tensor<64x14336xbf16> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<64x4096xf8E4M3FN>, tensor<14336x4096xf8E4M3FN> -> tensor<64x14336xbf16>
  return %0 : tensor<64x14336xbf16>
}

// 33 rows and more share a unit, too, where all of its places are taken.
// CHECK-LABEL: hk.kernel @matmul_3 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 112, {{.*}}stages = 3, {{.*}}loop = skinny>
func.func @half_full(%x: tensor<33x4096xf8E4M3FN>, %w: tensor<28672x4096xf8E4M3FN>) -> tensor<33x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<33x4096xf8E4M3FN>, tensor<28672x4096xf8E4M3FN> -> tensor<33x28672xbf16>
  return %0 : tensor<33x28672xbf16>
}
