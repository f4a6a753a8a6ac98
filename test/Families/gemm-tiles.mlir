// The variants of a product by number of rows.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA3
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA4
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,TINY

// Few rows stream the right operand; many use the largest tile.
// CHECK-LABEL: hk.kernel @matmul gemm
// HOST: hk.variant @v0 #hk.gemm_tile<bm = 8,
// HOST: %[[FEW:.*]] = arith.cmpi ule, %[[M:.*]], %c8
// HOST: hk.launch_dims if %[[FEW]]
// HOST: hk.launch_dims if %true
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128, wm = 1, wn = 2, stages = 1, splitK = 1> threads 128 lds 24576
// CDNA3: hk.variant @v1 #hk.gemm_tile<bm = 32, bn = 32, bk = 64, wm = 1, wn = 1, stages = 1, splitK = 1> threads 64 lds 8192
// CDNA3: hk.variant @v2 #hk.gemm_tile<bm = 128, bn = 128, bk = 64, wm = 2, wn = 2, stages = 1, splitK = 1> threads 256 lds 32768
// CDNA3: hk.variant @v{{.*}} #hk.gemm_tile<bm = 256, bn = 256, bk = 64, wm = 2, wn = 4, stages = 1, splitK = 1, loop = ping_pong> threads 512 lds 65536
// CDNA4: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 64, bk = 128, wm = 1, wn = 2, stages = 3, splitK = 1> threads 128 lds 73728
// CDNA4: hk.variant @v1 #hk.gemm_tile<bm = 64, bn = 128, bk = 64, wm = 2, wn = 2, stages = 2, splitK = 1> threads 256 lds 49152
// CDNA4: hk.variant @v2 #hk.gemm_tile<bm = 256, bn = 256, bk = 64, wm = 2, wn = 4, stages = 2, splitK = 1, loop = ping_pong> threads 512 lds 131072
// SM90: hk.variant @v0 #hk.gemm_tile<bm = 8, {{.*}}loop = skinny, cluster = 2>
// SM90: hk.variant @v{{.*}} #hk.gemm_tile<bm = 128, bn = 256, bk = 64, wm = 2, wn = 1, stages = 4, splitK = 1, loop = warp_specialised, cluster = 2> threads 384 lds 230592
// TINY: hk.variant @v0 #hk.gemm_tile<bm = 32, bn = 32, bk = 64, wm = 1, wn = 1, stages = 1, splitK = 1> threads 64 lds 8192
// TINY-NOT: hk.variant @v1
func.func @dynamic(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<?x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<4096x4096xbf16> -> tensor<?x4096xbf16>
  return %0 : tensor<?x4096xbf16>
}

// One row per batch and a shared right operand: the batch is the rows.
// CHECK-LABEL: hk.kernel @matmul_0 gemm
// CHECK: ^bb0(%[[B:.*]]: index):
// CHECK: hk.launch_dims if %{{.*}} grid(%{{.*}}, %{{.*}}, %c1)
func.func @one_row(%x: tensor<?x1x256xbf16>, %w: tensor<256x512xbf16>) -> tensor<?x1x512xbf16> {
  %0 = hk.matmul %x, %w : tensor<?x1x256xbf16>, tensor<256x512xbf16> -> tensor<?x1x512xbf16>
  return %0 : tensor<?x1x512xbf16>
}

// Slices of k are a dim of the grid; the tile is that of the shorter k.
// CHECK-LABEL: hk.kernel @matmul_1 gemm
// CDNA3: hk.variant @v0 #hk.gemm_tile<bm = 32, {{.*}}splitK = 6>
// HOST: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c12)
// CDNA3: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c12)
// CDNA4: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c12)
// TINY: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c12)
// SM90: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c{{1|12}})
func.func @slices(%x: tensor<2x1x8192xbf16>, %w: tensor<2x1024x8192xbf16>) -> tensor<6x2x1x1024xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 6 : tensor<2x1x8192xbf16>, tensor<2x1024x8192xbf16> -> tensor<6x2x1x1024xf32>
  return %0 : tensor<6x2x1x1024xf32>
}
