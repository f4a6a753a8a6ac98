// A version demands of a call what the whole function does, word by word: here its attention is
// split, whose views would say that two sizes are equal by their products.
// RUN: hk-compile %s --target=gfx950 --emit=mlir -o - | FileCheck %s

// CHECK-LABEL: func.func private @whole__shape
// CHECK: hk.guard {{ *}}eq {{.*}} names ["x dim 0", "r dim 0"]
// CHECK: hk.guard {{ *}}eq {{.*}} names ["x dim 0", "q dim 0"]
// CHECK-NOT: hk.guard
// CHECK: func.func private @whole__up_to_1__shape
// CHECK: hk.guard {{ *}}eq {{.*}} names ["x dim 0", "r dim 0"]
// CHECK: hk.guard {{ *}}eq {{.*}} names ["x dim 0", "q dim 0"]
// CHECK-NOT: hk.guard
// CHECK: func.func private @whole__up_to_16__shape
func.func @whole(%x: tensor<?x8xf32> {hk.dims = ["T", "_"], hk.name = "x"}, %r: tensor<?x2x4xbf16> {hk.name = "r"},
                 %q: tensor<?x2x4xbf16> {hk.name = "q"}, %rows: tensor<1xi64>)
    -> (tensor<?x2x4xbf16>, tensor<1x4xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x8xf32>
  %v = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 2, 4] : tensor<?x8xf32> into tensor<?x2x4xf32>
  %o = hk.attention %q, %q, %v scale 0.3 : tensor<?x2x4xbf16>, tensor<?x2x4xbf16>, tensor<?x2x4xf32> -> tensor<?x2x4xbf16>
  %heads = tensor.collapse_shape %o [[0, 1], [2]] : tensor<?x2x4xbf16> into tensor<?x4xbf16>
  %y = hk.add %r, %o : tensor<?x2x4xbf16>
  %g = hk.gather_rows %heads, %rows : tensor<?x4xbf16>, tensor<1xi64> -> tensor<1x4xbf16>
  %z = hk.mul %g, %g : tensor<1x4xbf16>
  return %y, %z : tensor<?x2x4xbf16>, tensor<1x4xbf16>
}
