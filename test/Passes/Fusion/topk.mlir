// Chains around a top-k: what is one kernel, and why the rest is not.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func.func @softmax_topk_renormalise
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.softmax
// CHECK: hk.topk
// CHECK: hk.reduce
// CHECK: hk.div
// CHECK-NOT: hk.fused
// CHECK-LABEL: func.func @bias_selects
func.func @softmax_topk_renormalise(%x: tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %p = hk.softmax %x : tensor<?x256xf32>
  %v, %i = hk.topk %p : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %s = hk.reduce sum %v : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = hk.div %v, %s : tensor<?x8xf32>, tensor<?x1xf32>
  return %w, %i : tensor<?x8xf32>, tensor<?x8xi32>
}

// The scores are read again, at the selected places; bits are stored word-major.
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.sigmoid
// CHECK: hk.group_limit
// CHECK: hk.topk
// CHECK: hk.transpose
// CHECK-NOT: hk.fused
// CHECK-LABEL: func.func @scores_escape
func.func @bias_selects(%x: tensor<?x256xf32>, %b: tensor<256xf32>) -> (tensor<?x8xf32>, tensor<8x?xi32>) {
  %p = hk.sigmoid %x : tensor<?x256xf32>
  %c = hk.add %p, %b : tensor<?x256xf32>, tensor<256xf32>
  %m = hk.group_limit top2_sum %c groups 8 top_groups 4 : tensor<?x256xf32>
  %v, %i = hk.topk %m : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %w = hk.gather_last %p, %i : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
  %t = hk.bitmatrix %i : tensor<?x8xi32> -> tensor<?x8xi32>
  %u = hk.transpose %t [1, 0] : tensor<?x8xi32> -> tensor<8x?xi32>
  return %w, %u : tensor<?x8xf32>, tensor<8x?xi32>
}

// Another consumer of the scores costs a store, not a kernel.
// CHECK: hk.fused {{ *}}rowwise
// CHECK: %[[P:.*]] = hk.softmax
// CHECK: hk.topk %[[P]]
// CHECK: hk.yield %[[P]], %{{.*}} : tensor<?x256xf32>, tensor<?x8xi32>
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK-LABEL: func.func @wrong_axis
func.func @scores_escape(%x: tensor<?x256xf32>, %k: tensor<256x16xf32>) -> (tensor<?x16xf32>, tensor<?x8xi32>) {
  %p = hk.softmax %x : tensor<?x256xf32>
  %v, %i = hk.topk %p : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %y = hk.matmul %p, %k : tensor<?x256xf32>, tensor<256x16xf32> -> tensor<?x16xf32>
  return %y, %i : tensor<?x16xf32>, tensor<?x8xi32>
}

// Experts that choose tokens: a row of the top-k is a column of the softmax.
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.softmax
// CHECK: hk.transpose
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.topk
// CHECK-LABEL: func.func @part_of_a_row
// REMARK: row-dims-differ: hk.transpose has other rows than the rest of the kernel
func.func @wrong_axis(%x: tensor<64x256xf32>) -> (tensor<256x8xf32>, tensor<256x8xi32>) {
  %p = hk.softmax %x : tensor<64x256xf32>
  %t = hk.transpose %p [1, 0] : tensor<64x256xf32> -> tensor<256x64xf32>
  %v, %i = hk.topk %t : tensor<256x64xf32> -> tensor<256x8xf32>, tensor<256x8xi32>
  return %v, %i : tensor<256x8xf32>, tensor<256x8xi32>
}

// The softmax is over all groups, the selection in each.
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.softmax
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.topk
// CHECK-LABEL: func.func @bits_are_read
// REMARK: needs-whole-row: hk.topk selects from a part of the kernel's row
func.func @part_of_a_row(%x: tensor<64x256xf32>) -> (tensor<64x8x2xf32>, tensor<64x8x2xi32>) {
  %p = hk.softmax %x : tensor<64x256xf32>
  %g = tensor.expand_shape %p [[0], [1, 2]] output_shape [64, 8, 32] : tensor<64x256xf32> into tensor<64x8x32xf32>
  %v, %i = hk.topk %g : tensor<64x8x32xf32> -> tensor<64x8x2xf32>, tensor<64x8x2xi32>
  return %v, %i : tensor<64x8x2xf32>, tensor<64x8x2xi32>
}

// What is stored across rows is not there to be read.
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.transpose
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.add
// REMARK: row-dims-differ: hk.transpose has other rows than the rest of the kernel
func.func @bits_are_read(%i: tensor<64x8xi32>, %o: tensor<4x64xi32>) -> tensor<4x64xi32> {
  %t = hk.bitmatrix %i : tensor<64x8xi32> -> tensor<64x4xi32>
  %u = hk.transpose %t [1, 0] : tensor<64x4xi32> -> tensor<4x64xi32>
  %y = hk.add %u, %o : tensor<4x64xi32>
  return %y : tensor<4x64xi32>
}

// Rows of another width stay out of a selection that does not need them.
// CHECK-LABEL: func.func @widths
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}rowwise
func.func @widths(%x: tensor<16x256xf32>, %y: tensor<16x4096xf32>) -> (tensor<16x8xi32>, tensor<16x4096xf32>) {
  %v, %i = hk.topk %x : tensor<16x256xf32> -> tensor<16x8xf32>, tensor<16x8xi32>
  %n = hk.rms_norm %y epsilon 1.0e-05 : tensor<16x4096xf32>
  return %i, %n : tensor<16x8xi32>, tensor<16x4096xf32>
}
