// Results that are not rounded pass through LDS 32 columns at a time on sm_90a,
// so no tile of theirs ends within 32: of 144 columns the last 16 were lost
// (197 rows by 2112 x 7168 in four slices, whose sums are f32).
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s

// CHECK-NOT: bn = {{(80|112|144|176|208|240)}}, {{.*}}loop = warp_specialised
// CHECK: hk.variant @v0 #hk.gemm_tile<{{.*}}loop = warp_specialised
// CHECK-NOT: bn = {{(80|112|144|176|208|240)}}, {{.*}}loop = warp_specialised
module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @slices(%x: tensor<197x7168xbf16>, %w: tensor<2112x7168xbf16>) -> tensor<4x197x2112xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 4 : tensor<197x7168xbf16>, tensor<2112x7168xbf16> -> tensor<4x197x2112xf32>
  return %0 : tensor<4x197x2112xf32>
}
}
