// Reductions as statistics of row-wise kernels, and when a whole tensor is one row.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Operators before and after the sum of a row are one kernel with it.
// CHECK-LABEL: func.func @chain
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.mul
// CHECK: hk.reduce
// CHECK: hk.sub
// CHECK-NOT: hk.fused
func.func @chain(%y: tensor<?x64xbf16>, %dy: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.mul %y, %dy : tensor<?x64xbf16> -> tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.sub %dy, %1 : tensor<?x64xbf16>, tensor<?x1xf32>
  return %2 : tensor<?x64xbf16>
}

// A small tensor is one row of one workgroup, whatever its rank.
// CHECK-LABEL: func.func @small
// CHECK: hk.fused {{ *}}rowwise
// CHECK-NOT: hk.fused
func.func @small(%x: tensor<16x64xf32>, %y: tensor<16x64xf32>) -> (tensor<1x1xf32>, tensor<16x64xf32>) {
  %0 = hk.sub %x, %y : tensor<16x64xf32>
  %1 = hk.reduce absmax %0 dims 2 : tensor<16x64xf32> -> tensor<1x1xf32>
  %2 = hk.div %0, %1 : tensor<16x64xf32>, tensor<1x1xf32>
  return %1, %2 : tensor<1x1xf32>, tensor<16x64xf32>
}

// One of unknown size is not: other kernels compute what goes in and comes out.
// CHECK-LABEL: func.func @dynamic
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.sub
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.reduce
// REMARK: row-dims-differ: hk.reduce has other rows than the rest of the kernel
func.func @dynamic(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<1x1xf32> {
  %0 = hk.sub %x, %y : tensor<?x64xf32>
  %1 = hk.reduce absmax %0 dims 2 : tensor<?x64xf32> -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

// One workgroup reads such a vector in any case, and may square it on the way.
// CHECK-LABEL: func.func @squares
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.mul
// CHECK: hk.reduce
// CHECK-NOT: hk.fused
func.func @squares(%x: tensor<?xbf16>) -> tensor<1xf32> {
  %0 = hk.cast %x : tensor<?xbf16> -> tensor<?xf32>
  %1 = hk.mul %0, %0 : tensor<?xf32>
  %2 = hk.reduce sum %1 : tensor<?xf32> -> tensor<1xf32>
  return %2 : tensor<1xf32>
}

// Two operands would be twice the time of that workgroup; and what is stored is
// computed by many.
// CHECK-LABEL: func.func @products
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.mul
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.reduce
func.func @products(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<1xf32> {
  %0 = hk.mul %x, %y : tensor<?xf32>
  %1 = hk.reduce sum %0 : tensor<?xf32> -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// CHECK-LABEL: func.func @kept_squares
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.mul
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.reduce
func.func @kept_squares(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<1xf32>) {
  %0 = hk.mul %x, %x : tensor<?xf32>
  %1 = hk.reduce sum %0 : tensor<?xf32> -> tensor<1xf32>
  return %0, %1 : tensor<?xf32>, tensor<1xf32>
}

// Two dims of a part of a row are no statistic.
// CHECK-LABEL: func.func @part
// REMARK: needs-whole-row: hk.reduce reduces 2 dims, a part of the row
func.func @part(%x: tensor<?x2x8x16xf32>) -> (tensor<?x2x1x1xf32>, tensor<?x256xf32>) {
  %0 = hk.neg %x : tensor<?x2x8x16xf32>
  %f = tensor.collapse_shape %0 [[0], [1, 2, 3]] : tensor<?x2x8x16xf32> into tensor<?x256xf32>
  %1 = hk.softmax %f : tensor<?x256xf32>
  %2 = hk.reduce sum %0 dims 2 : tensor<?x2x8x16xf32> -> tensor<?x2x1x1xf32>
  return %2, %1 : tensor<?x2x1x1xf32>, tensor<?x256xf32>
}
