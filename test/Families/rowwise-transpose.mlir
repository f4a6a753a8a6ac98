// Rows that lie in memory in another order share a kernel with what is computed of each.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s

// CHECK: target gfx942:
// CHECK-SAME: 1 launches in @heads, 1 launches in @normed, 1 launches in @columns, 2 launches in @reduced, 2 launches in @made

func.func @heads(%x: tensor<?x4x64xf32>, %g: tensor<4x?x64xf32>) -> tensor<4x?x64xbf16> {
  %t = hk.transpose %x [1, 0, 2] : tensor<?x4x64xf32> -> tensor<4x?x64xf32>
  %m = hk.mul %t, %g : tensor<4x?x64xf32>
  %y = hk.cast %m : tensor<4x?x64xf32> -> tensor<4x?x64xbf16>
  return %y : tensor<4x?x64xbf16>
}
func.func @normed(%x: tensor<?x4x64xbf16>, %w: tensor<64xbf16>) -> tensor<4x?x64xbf16> {
  %t = hk.transpose %x [1, 0, 2] : tensor<?x4x64xbf16> -> tensor<4x?x64xbf16>
  %n = hk.rms_norm %t, %w epsilon 1.0e-06 : tensor<4x?x64xbf16>, tensor<64xbf16>
  return %n : tensor<4x?x64xbf16>
}
func.func @columns(%x: tensor<?x40xf32>, %b: tensor<40x1xf32>) -> tensor<40x?xbf16> {
  %t = hk.transpose %x [1, 0] : tensor<?x40xf32> -> tensor<40x?xf32>
  %m = hk.mul %t, %b : tensor<40x?xf32>, tensor<40x1xf32> -> tensor<40x?xf32>
  %y = hk.cast %m : tensor<40x?xf32> -> tensor<40x?xbf16>
  return %y : tensor<40x?xbf16>
}
// CHECK-DAG: not fused (costlier-fused): hk.softmax / join hk.transpose: a reduction would load columns
func.func @reduced(%x: tensor<?x40xf32>) -> tensor<40x?xf32> {
  %t = hk.transpose %x [1, 0] : tensor<?x40xf32> -> tensor<40x?xf32>
  %y = hk.softmax %t : tensor<40x?xf32>
  return %y : tensor<40x?xf32>
}
// Rows that the kernel itself makes are stored in their order, and that ends it.
// CHECK-DAG: not fused (row-dims-differ): hk.mul / join hk.rms_norm: hk.transpose has other rows
func.func @made(%x: tensor<?x4x64xbf16>, %w: tensor<64xbf16>, %g: tensor<4x?x64xbf16>) -> tensor<4x?x64xbf16> {
  %n = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x4x64xbf16>, tensor<64xbf16>
  %t = hk.transpose %n [1, 0, 2] : tensor<?x4x64xbf16> -> tensor<4x?x64xbf16>
  %m = hk.mul %t, %g : tensor<4x?x64xbf16>
  %y = hk.silu %m : tensor<4x?x64xbf16>
  return %y : tensor<4x?x64xbf16>
}
