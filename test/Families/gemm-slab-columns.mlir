// Results that are not rounded pass through LDS 32 columns at a time on sm_90a.
// Of 144 columns the last pass has 16, which were lost once (197 rows by 2112 x
// 7168 in four slices, whose sums are f32): a lane writes two columns of eight
// for each of two halves of 16 rows, 36 times for 144 columns.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: rm -rf %t.cache
// RUN: hk-compile %s --target=sm_90a --split-k=1 --cache-dir=%t.cache -o %t.so
// RUN: cat %t.cache/* | grep -a -c st.shared.v2 | FileCheck %s --check-prefix=WRITES

// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 128, bn = 144, {{.*}}loop = warp_specialised
// WRITES: {{^}}36{{$}}
module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @slices(%x: tensor<197x7168xbf16>, %w: tensor<2112x7168xbf16>) -> tensor<4x197x2112xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 4 : tensor<197x7168xbf16>, tensor<2112x7168xbf16> -> tensor<4x197x2112xf32>
  return %0 : tensor<4x197x2112xf32>
}
}
