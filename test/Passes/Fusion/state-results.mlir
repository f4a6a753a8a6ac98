// RUN: hk-opt -hk-fuse %s | FileCheck %s

// The old contents of a state that is written and returned too are copied first.
// CHECK-LABEL: func @old
// CHECK: %[[OLD:.*]] = hk.fused rowwise ins(%arg2 :
// CHECK: hk.copy
// CHECK: %[[NEW:.*]] = hk.fused rowwise {{.*}} outs(%arg2 :
// CHECK: return %[[OLD]], %[[NEW]]
module attributes {hk.target = #hk.target<"host">} {
func.func @old(%k: tensor<?x2x8xf32>, %slots: tensor<?xi32>, %c: tensor<1x16x2x8xf32> {hk.state}) -> (tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>) {
  %0 = hk.kv_cache_write %k, %slots into %c : tensor<?x2x8xf32>, tensor<?xi32>, tensor<1x16x2x8xf32>
  return %c, %0 : tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>
}

// A state that is not written is returned as it is.
// CHECK-LABEL: func @untouched
// CHECK-NOT: hk.copy
// CHECK: return %arg0
func.func @untouched(%c: tensor<4xf32> {hk.state}) -> tensor<4xf32> {
  return %c : tensor<4xf32>
}
}
