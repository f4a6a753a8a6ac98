// Masks that are compared, or subtracted and compared, from positions [s, 1] and [1, s]
// in front of a softmax are computed in its kernel.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s

// CHECK: target gfx942:
// CHECK-SAME: 1 launches in @mask, 1 launches in @flat, 1 launches in @window, 1 launches in @static_, 1 launches in @bias, 1 launches in @batched
func.func @mask(%x: tensor<8x?x?xf32>, %i: tensor<?xi32>, %j: tensor<?xi32>) -> tensor<8x?x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %i, %c0 : tensor<?xi32>
  %m = tensor.dim %j, %c0 : tensor<?xi32>
  %ic = tensor.expand_shape %i [[0, 1]] output_shape [%n, 1] : tensor<?xi32> into tensor<?x1xi32>
  %jr = tensor.expand_shape %j [[0, 1]] output_shape [1, %m] : tensor<?xi32> into tensor<1x?xi32>
  %c = hk.compare ge %ic, %jr : tensor<?x1xi32>, tensor<1x?xi32> -> tensor<?x?xi1>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %y = hk.select %c, %x, %inf : tensor<?x?xi1>, tensor<8x?x?xf32>, tensor<f32> -> tensor<8x?x?xf32>
  %s = hk.softmax %y : tensor<8x?x?xf32>
  return %s : tensor<8x?x?xf32>
}
func.func @flat(%x: tensor<?x?xf32>, %i: tensor<?x1xi32>, %j: tensor<1x?xi32>) -> tensor<?x?xf32> {
  %c = hk.compare ge %i, %j : tensor<?x1xi32>, tensor<1x?xi32> -> tensor<?x?xi1>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %y = hk.select %c, %x, %inf : tensor<?x?xi1>, tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %s = hk.softmax %y : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @window(%x: tensor<?x?xf32>, %i: tensor<?x1xi32>, %j: tensor<1x?xi32>) -> tensor<?x?xf32> {
  %d = hk.sub %i, %j : tensor<?x1xi32>, tensor<1x?xi32> -> tensor<?x?xi32>
  %z = hk.constant 0 : tensor<i32>
  %w = hk.constant 128 : tensor<i32>
  %c = hk.compare ge %d, %z : tensor<?x?xi32>, tensor<i32> -> tensor<?x?xi1>
  %e = hk.compare lt %d, %w : tensor<?x?xi32>, tensor<i32> -> tensor<?x?xi1>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %y0 = hk.select %c, %x, %inf : tensor<?x?xi1>, tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %y = hk.select %e, %y0, %inf : tensor<?x?xi1>, tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %s = hk.softmax %y : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @static_(%x: tensor<2x8x64x64xf32>, %i: tensor<64x1xi32>, %j: tensor<1x64xi32>) -> tensor<2x8x64x64xf32> {
  %d = hk.sub %i, %j : tensor<64x1xi32>, tensor<1x64xi32> -> tensor<64x64xi32>
  %z = hk.constant 0 : tensor<i32>
  %w = hk.constant 128 : tensor<i32>
  %c = hk.compare ge %d, %z : tensor<64x64xi32>, tensor<i32> -> tensor<64x64xi1>
  %e = hk.compare lt %d, %w : tensor<64x64xi32>, tensor<i32> -> tensor<64x64xi1>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %y0 = hk.select %c, %x, %inf : tensor<64x64xi1>, tensor<2x8x64x64xf32>, tensor<f32> -> tensor<2x8x64x64xf32>
  %y = hk.select %e, %y0, %inf : tensor<64x64xi1>, tensor<2x8x64x64xf32>, tensor<f32> -> tensor<2x8x64x64xf32>
  %s = hk.softmax %y : tensor<2x8x64x64xf32>
  return %s : tensor<2x8x64x64xf32>
}
func.func @bias(%x: tensor<2x8x64x64xf32>, %i: tensor<64x1xi32>, %j: tensor<1x64xi32>) -> tensor<2x8x64x64xf32> {
  %c = hk.compare ge %i, %j : tensor<64x1xi32>, tensor<1x64xi32> -> tensor<64x64xi1>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %z = hk.constant 0.0 : tensor<f32>
  %b = hk.select %c, %z, %inf : tensor<64x64xi1>, tensor<f32>, tensor<f32> -> tensor<64x64xf32>
  %y = hk.add %x, %b : tensor<2x8x64x64xf32>, tensor<64x64xf32>
  %s = hk.softmax %y : tensor<2x8x64x64xf32>
  return %s : tensor<2x8x64x64xf32>
}
func.func @batched(%x: tensor<?x8x?x?xf32>, %i: tensor<?x1xi32>, %j: tensor<1x?xi32>) -> tensor<?x8x?x?xf32> {
  %c = hk.compare ge %i, %j : tensor<?x1xi32>, tensor<1x?xi32> -> tensor<?x?xi1>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %z = hk.constant 0.0 : tensor<f32>
  %b = hk.select %c, %z, %inf : tensor<?x?xi1>, tensor<f32>, tensor<f32> -> tensor<?x?xf32>
  %y = hk.add %x, %b : tensor<?x8x?x?xf32>, tensor<?x?xf32>
  %s = hk.softmax %y : tensor<?x8x?x?xf32>
  return %s : tensor<?x8x?x?xf32>
}
