// Quantised weights out of arithmetic.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func @weight_only(
// CHECK: %[[D:.*]] = hk.dequantize %{{.*}}, %arg1 group 64 : tensor<32x64xi8>, tensor<32x1xf32> -> tensor<32x64xf32>
// CHECK: hk.matmul %arg0, %[[D]] transpose_b
hk.weight @w "w" : tensor<32x64xi8>
func.func @weight_only(%x: tensor<?x64xf32>, %s: tensor<32x1xf32>) -> tensor<?x32xf32> {
  %w = hk.weight_ref @w : tensor<32x64xi8>
  %f = hk.cast %w : tensor<32x64xi8> -> tensor<32x64xf32>
  %d = hk.mul %f, %s : tensor<32x64xf32>, tensor<32x1xf32>
  %y = hk.matmul %x, %d transpose_b : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// A scale for each column is no scale of blocks.
// CHECK-LABEL: func @columns(
// CHECK-NOT: hk.dequantize
// WHY: Reason="other-axis: the scale is neither one number nor one of each row
hk.weight @w "w" : tensor<32x64xi8>
func.func @columns(%s: tensor<64xf32>) -> tensor<32x64xf32> {
  %w = hk.weight_ref @w : tensor<32x64xi8>
  %f = hk.cast %w : tensor<32x64xi8> -> tensor<32x64xf32>
  %d = hk.mul %f, %s : tensor<32x64xf32>, tensor<64xf32>
  return %d : tensor<32x64xf32>
}

// -----

// Integers that are no weight are positions or indices.
// CHECK-LABEL: func @argument(
// CHECK-NOT: hk.dequantize
func.func @argument(%q: tensor<32x64xi8>, %s: tensor<32x1xf32>) -> tensor<32x64xf32> {
  %f = hk.cast %q : tensor<32x64xi8> -> tensor<32x64xf32>
  %d = hk.mul %f, %s : tensor<32x64xf32>, tensor<32x1xf32>
  return %d : tensor<32x64xf32>
}
