// RUN: hk-opt --pass-pipeline='builtin.module(func.func(hk-test-resolve-dims,canonicalize))' %s | FileCheck %s

// The size of a concatenation of intermediates comes from the arguments.
// CHECK-LABEL: func @sizes
// CHECK-SAME: %[[X:.*]]: tensor<?x8x4xf32>, %[[T:.*]]: tensor<?x4xf32>
// CHECK: %[[D:.*]] = tensor.dim %[[X]]
// CHECK: %[[P:.*]] = arith.muli %[[D]], %{{.*}}8
// CHECK: %[[E:.*]] = tensor.dim %[[T]]
// CHECK: %[[S:.*]] = arith.addi %[[P]], %[[E]]
// CHECK: return %[[S]], %[[P]]
func.func @sizes(%x: tensor<?x8x4xf32>, %t: tensor<?x4xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x8x4xf32> into tensor<?x4xf32>
  %1 = hk.silu %0 : tensor<?x4xf32>
  %2 = hk.concat 0 (%1, %t) : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %3 = tensor.dim %2, %c0 : tensor<?x4xf32>
  %4 = tensor.dim %1, %c0 : tensor<?x4xf32>
  return %3, %4 : index, index
}
