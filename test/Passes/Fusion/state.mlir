// RUN: hk-opt -hk-fuse %s | FileCheck %s
// RUN: hk-opt -hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {hk.target = #hk.target<"host">} {

// The written state is an out of its kernel and no input.
// CHECK-LABEL: func @write
// CHECK: %[[R:.*]] = hk.fused rowwise ins(%arg0, %arg1 : tensor<?x2x8xf32>, tensor<?xi32>) outs(%arg2 : tensor<1x16x2x8xf32>)
// CHECK: ^bb0(%{{.*}}, %{{.*}}, %[[S:.*]]: tensor<1x16x2x8xf32>):
// CHECK: hk.kv_cache_write %{{.*}}, %{{.*}} into %[[S]]
// CHECK: return %[[R]]
func.func @write(%k: tensor<?x2x8xf32>, %slots: tensor<?xi32>, %c: tensor<1x16x2x8xf32> {hk.state}) -> tensor<1x16x2x8xf32> {
  %0 = hk.neg %k : tensor<?x2x8xf32>
  %1 = hk.kv_cache_write %0, %slots into %c : tensor<?x2x8xf32>, tensor<?xi32>, tensor<1x16x2x8xf32>
  return %1 : tensor<1x16x2x8xf32>
}

// A reader of the old state runs before the writer, wherever it stood, in a
// kernel of its own.
// CHECK-LABEL: func @read_old
// CHECK: hk.fused rowwise ins(%arg2 :
// CHECK: hk.abs
// CHECK: hk.fused rowwise {{.*}} outs(%arg2 :
func.func @read_old(%k: tensor<16x2x8xf32>, %slots: tensor<16xi32>, %c: tensor<1x16x2x8xf32> {hk.state}) -> (tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>) {
  %0 = hk.kv_cache_write %k, %slots into %c : tensor<16x2x8xf32>, tensor<16xi32>, tensor<1x16x2x8xf32>
  %1 = hk.abs %c : tensor<1x16x2x8xf32>
  return %0, %1 : tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>
}

// The value to write is computed from the state itself: two kernels.
// CHECK-LABEL: func @read_and_write
// CHECK: hk.fused rowwise ins(%[[V:.*]] : tensor<16x2x8xf32>)
// CHECK: hk.abs
// CHECK: hk.fused rowwise {{.*}} outs(%arg1 :
// REMARK: state-read-and-written: {{.*}} race
func.func @read_and_write(%slots: tensor<16xi32>, %c: tensor<1x16x2x8xf32> {hk.state}) -> tensor<1x16x2x8xf32> {
  %v = tensor.collapse_shape %c [[0, 1], [2], [3]] : tensor<1x16x2x8xf32> into tensor<16x2x8xf32>
  %0 = hk.abs %v : tensor<16x2x8xf32>
  %1 = hk.kv_cache_write %0, %slots into %c : tensor<16x2x8xf32>, tensor<16xi32>, tensor<1x16x2x8xf32>
  return %1 : tensor<1x16x2x8xf32>
}

// The written state is read by a kernel of its own.
// CHECK-LABEL: func @read_new
// CHECK: %[[W:.*]] = hk.fused rowwise {{.*}} outs(%arg2 :
// CHECK: hk.fused rowwise ins(%[[W]] :
func.func @read_new(%k: tensor<16x2x8xf32>, %slots: tensor<16xi32>, %c: tensor<1x16x2x8xf32> {hk.state}) -> (tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>) {
  %0 = hk.kv_cache_write %k, %slots into %c : tensor<16x2x8xf32>, tensor<16xi32>, tensor<1x16x2x8xf32>
  %1 = hk.abs %0 : tensor<1x16x2x8xf32>
  return %0, %1 : tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>
}
}
