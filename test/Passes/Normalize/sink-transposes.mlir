// A transpose of short rows goes behind what is computed of its elements, where the vector unit bounds.
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-normalize | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-normalize | FileCheck %s --check-prefixes=CHECK,CUDA

// CHECK-LABEL: @channels
// AMD: hk.silu %arg0 : tensor<2x?x24xbf16>
// AMD: hk.transpose %{{.*}} [0, 2, 1] : tensor<2x?x24xf32> -> tensor<2x24x?xf32>
// CUDA: hk.transpose %arg0 [0, 2, 1]
// CUDA: hk.silu
func.func @channels(%x: tensor<2x?x24xbf16>) -> tensor<2x24x?xf32> {
  %t = hk.transpose %x [0, 2, 1] : tensor<2x?x24xbf16> -> tensor<2x24x?xbf16>
  %s = hk.silu %t : tensor<2x24x?xbf16>
  %y = hk.cast %s : tensor<2x24x?xbf16> -> tensor<2x24x?xf32>
  return %y : tensor<2x24x?xf32>
}
// Neighbours would store far apart.
// CHECK-LABEL: @long_rows
// CHECK: hk.transpose %arg0 [1, 0]
// CHECK: hk.silu
func.func @long_rows(%x: tensor<?x512xbf16>) -> tensor<512x?xbf16> {
  %t = hk.transpose %x [1, 0] : tensor<?x512xbf16> -> tensor<512x?xbf16>
  %s = hk.silu %t : tensor<512x?xbf16>
  return %s : tensor<512x?xbf16>
}
// Another reader has the columns as they are.
// CHECK-LABEL: @two_readers
// CHECK: hk.transpose %arg0 [1, 0]
// CHECK: hk.silu
func.func @two_readers(%x: tensor<?x24xbf16>) -> (tensor<24x?xbf16>, tensor<24x?xbf16>) {
  %t = hk.transpose %x [1, 0] : tensor<?x24xbf16> -> tensor<24x?xbf16>
  %s = hk.silu %t : tensor<24x?xbf16>
  return %s, %t : tensor<24x?xbf16>, tensor<24x?xbf16>
}
