// Few columns times a dynamic number of rows on sm_90a: what tiles in blocks get
// from the L2 cache bounds them, so they are taken for no number of rows, and
// more than 1,024 and more than 2,048 rows have tiles of their own.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s

// CHECK-LABEL: hk.kernel @matmul {{ *}}gemm
// CHECK-NOT: splitK = 1> threads
// CHECK: hk.variant @v6 #hk.gemm_tile<bm = 64, bn = 64, {{.*}}loop = warp_specialised>
// CHECK-NOT: splitK = 1> threads
// CHECK: hk.variant @v7 #hk.gemm_tile<bm = 64, bn = 128, {{.*}}loop = warp_specialised, cluster = 2>
// CHECK-NOT: splitK = 1> threads
func.func @narrow(%x: tensor<?x7168xbf16>, %w: tensor<256x7168xbf16>) -> tensor<?x256xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x7168xbf16>, tensor<256x7168xbf16> -> tensor<?x256xbf16>
  return %0 : tensor<?x256xbf16>
}
