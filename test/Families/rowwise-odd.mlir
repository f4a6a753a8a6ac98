// Rows of an odd number of 16-bit elements: on sm_90a chunks begin with vectors of memory,
// and lanes say which of their elements are of the row.
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// AMD-NOT: shiftOf

// Operands of the row are accessed as vectors, the weight across two of them; whole rows are
// asked for ahead.
// CHECK-LABEL: ==== @add_rms_norm
// CHECK: prefetchL2<2544>(firstVector(p0
// CHECK: const i32 shift = shiftOf<8>(p0
// CHECK: placeOfRow(beginsEven<8>(p0 {{.*}} && beginsEven<8>(p4
// CHECK: loadPacked<DType::BF16, 8, 16>(p0
// CHECK: loadPacked<DType::BF16, 8, 2>(p2
// CHECK: keepFirst<8>({{.*}}lanesOf<8, 1281>(c, shift, place
// CHECK: storeMasked<DType::BF16, 8, 16>
func.func @norm(%x: tensor<?x1281xbf16> {hk.dims = ["T", "_"]}, %r: tensor<?x1281xbf16> {hk.dims = ["T", "_"]}, %w: tensor<1281xbf16>) -> (tensor<?x1281xbf16>, tensor<?x1281xbf16>) {
  %s = hk.add %x, %r : tensor<?x1281xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x1281xbf16>, tensor<1281xbf16>
  return %y, %s : tensor<?x1281xbf16>, tensor<?x1281xbf16>
}

// A row that does not fit a block is read element by element, and so is a short one.
// CHECK-LABEL: ==== @softmax
// CHECK-NOT: shiftOf
func.func @long(%x: tensor<?x50257xbf16>) -> tensor<?x50257xbf16> {
  %y = hk.softmax %x : tensor<?x50257xbf16>
  return %y : tensor<?x50257xbf16>
}
func.func @short(%x: tensor<?x1001xbf16>) -> tensor<?x1001xbf16> {
  %y = hk.softmax %x : tensor<?x1001xbf16>
  return %y : tensor<?x1001xbf16>
}
