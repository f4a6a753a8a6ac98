// Group-limited routing written in primitives is three launches: a top-k of groups needs
// groups as rows, which the top-k of the whole row cannot share. The refusal names the
// operator that is one launch, which hk-raise makes where it knows the groups' numbers:
// here they are an argument.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s

// CHECK: 3 launches in @grouped, 1 launches in @raised
// CHECK: not fused (needs-whole-row): hk.topk / join hk.sigmoid: hk.topk selects from a part of the kernel's row; hk.group_limit selects groups of a row at
func.func @grouped(%x: tensor<?x256xf32>, %iota: tensor<1x1x8xi32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x256xf32>
  %sg = hk.sigmoid %x : tensor<?x256xf32>
  %g = tensor.expand_shape %sg [[0], [1, 2]] output_shape [%n, 8, 32] : tensor<?x256xf32> into tensor<?x8x32xf32>
  %v2, %i2 = hk.topk %g : tensor<?x8x32xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v2 : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %s2 = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %v4, %i4 = hk.topk %s2 : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %e4 = tensor.expand_shape %i4 [[0], [1, 2]] output_shape [%n, 4, 1] : tensor<?x4xi32> into tensor<?x4x1xi32>
  %eq = hk.compare eq %e4, %iota : tensor<?x4x1xi32>, tensor<1x1x8xi32> -> tensor<?x4x8xi1>
  %eqf = hk.cast %eq : tensor<?x4x8xi1> -> tensor<?x4x8xf32>
  %t = hk.transpose %eqf [0, 2, 1] : tensor<?x4x8xf32> -> tensor<?x8x4xf32>
  %m = hk.reduce max %t : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %z = hk.constant 0.0 : tensor<f32>
  %mb = hk.compare ne %m, %z : tensor<?x8x1xf32>, tensor<f32> -> tensor<?x8x1xi1>
  %k = hk.select %mb, %g, %z : tensor<?x8x1xi1>, tensor<?x8x32xf32>, tensor<f32> -> tensor<?x8x32xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x32xf32> into tensor<?x256xf32>
  %tv, %i = hk.topk %f : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %tv, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
func.func @raised(%x: tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %s = hk.sigmoid %x : tensor<?x256xf32>
  %m = hk.group_limit top2_sum %s groups 8 top_groups 4 : tensor<?x256xf32>
  %v, %i = hk.topk %m : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
