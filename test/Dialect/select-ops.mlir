// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @select
func.func @select(%x: tensor<?x256xbf16>, %v: tensor<4x?xf32>) {
  // CHECK: hk.topk %{{.*}} : tensor<?x256xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  %0, %i = hk.topk %x : tensor<?x256xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  // CHECK: hk.topk %{{.*}} ties {{ *}}highest_index order {{ *}}by_index : tensor<4x?xf32> -> tensor<4x2048xf32>, tensor<4x2048xi64>
  %1, %j = hk.topk %v ties highest_index order by_index : tensor<4x?xf32> -> tensor<4x2048xf32>, tensor<4x2048xi64>
  // CHECK: hk.gather_last %{{.*}}, %{{.*}} : tensor<?x256xbf16>, tensor<?x8xi32> -> tensor<?x8xbf16>
  %2 = hk.gather_last %x, %i : tensor<?x256xbf16>, tensor<?x8xi32> -> tensor<?x8xbf16>
  // CHECK: hk.group_limit {{ *}}top2_sum %{{.*}} groups 8 top_groups 4 : tensor<?x256xbf16>
  %3 = hk.group_limit top2_sum %x groups 8 top_groups 4 : tensor<?x256xbf16>
  // CHECK: hk.group_limit {{ *}}maximum %{{.*}} groups 8 top_groups 4 fill 0.000000e+00 : tensor<?x256xbf16>
  %fill = hk.group_limit maximum %x groups 8 top_groups 4 fill 0.0 : tensor<?x256xbf16>
  // CHECK: hk.bitmatrix %{{.*}} : tensor<?x8xi32> -> tensor<?x8xi32>
  %4 = hk.bitmatrix %i : tensor<?x8xi32> -> tensor<?x8xi32>
  return
}
