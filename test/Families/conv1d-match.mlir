// What joins a causal convolution, and why the rest does not.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Activation, split and heads: one kernel, whose outs are q, k and v.
// CHECK-LABEL: func.func @split
// CHECK: hk.fused {{ *}}conv1d {{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4x32xbf16>, tensor<?x128xbf16>, tensor<?x256xbf16>)
// CHECK: hk.causal_conv1d
// CHECK: hk.silu
// CHECK: tensor.extract_slice
// CHECK: tensor.expand_shape
// CHECK: hk.yield
// CHECK-NOT: hk.fused
func.func @split(%x: tensor<?x512xbf16>, %w: tensor<512x4xbf16>, %cu: tensor<?xi32>) -> (tensor<?x4x32xbf16>, tensor<?x128xbf16>, tensor<?x256xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %0 = hk.causal_conv1d channel_last %x, %w offsets %cu : tensor<?x512xbf16>, tensor<512x4xbf16> offsets tensor<?xi32> -> tensor<?x512xf32>
  %1 = hk.silu %0 : tensor<?x512xf32> -> tensor<?x512xbf16>
  %q = tensor.extract_slice %1[0, 0] [%n, 128] [1, 1] : tensor<?x512xbf16> to tensor<?x128xbf16>
  %k = tensor.extract_slice %1[0, 128] [%n, 128] [1, 1] : tensor<?x512xbf16> to tensor<?x128xbf16>
  %v = tensor.extract_slice %1[0, 256] [%n, 256] [1, 1] : tensor<?x512xbf16> to tensor<?x256xbf16>
  %qh = tensor.expand_shape %q [[0], [1, 2]] output_shape [%n, 4, 32] : tensor<?x128xbf16> into tensor<?x4x32xbf16>
  %qn = hk.neg %qh : tensor<?x4x32xbf16>
  return %qn, %k, %v : tensor<?x4x32xbf16>, tensor<?x128xbf16>, tensor<?x256xbf16>
}

// The state is an out that is read; what reads it afterwards has its own kernel.
// CHECK-LABEL: func.func @state
// CHECK: %[[R:.*]]:2 = hk.fused {{ *}}conv1d ins({{.*}}) outs(%{{.*}}, %arg2 :
// CHECK: ^bb0(%{{.*}}, %{{.*}}, %{{.*}}, %[[S:.*]]: tensor<?x3x64xf32>):
// CHECK: hk.causal_conv1d {{.*}} state %[[S]]
// CHECK: hk.fused {{ *}}rowwise ins(%[[R]]#1 :
func.func @state(%x: tensor<?x1x64xf32>, %w: tensor<64x4xf32>, %s: tensor<?x3x64xf32> {hk.state}) -> (tensor<?x1x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<?x1x64xf32>, tensor<64x4xf32> state tensor<?x3x64xf32> -> tensor<?x1x64xf32>, tensor<?x3x64xf32>
  %2 = hk.abs %1 : tensor<?x3x64xf32>
  return %0, %1, %2 : tensor<?x1x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>
}

// A reader of the old state runs before, wherever it stood.
// CHECK-LABEL: func.func @read_old
// CHECK: hk.fused {{ *}}rowwise ins(%arg2 :
// CHECK: hk.fused {{ *}}conv1d
func.func @read_old(%x: tensor<?x1x64xf32>, %w: tensor<64x4xf32>, %s: tensor<?x3x64xf32> {hk.state}) -> (tensor<?x1x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<?x1x64xf32>, tensor<64x4xf32> state tensor<?x3x64xf32> -> tensor<?x1x64xf32>, tensor<?x3x64xf32>
  %2 = hk.abs %s : tensor<?x3x64xf32>
  return %0, %1, %2 : tensor<?x1x64xf32>, tensor<?x3x64xf32>, tensor<?x3x64xf32>
}

// A norm needs more than one element; nothing is fused in front.
// CHECK-LABEL: func.func @norm
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}conv1d
// CHECK: hk.fused {{ *}}rowwise
// REMARK: other-family: hk.causal_conv1d is computed by a kernel of family conv1d, which reads its operands from memory
// REMARK: needs-whole-row: hk.l2_norm needs more than one element of the convolution
func.func @norm(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) -> tensor<2x9x64xf32> {
  %0 = hk.neg %x : tensor<2x9x64xf32>
  %1 = hk.causal_conv1d channel_last %0, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x9x64xf32>
  %2 = hk.l2_norm %1 epsilon 1.0e-06 : tensor<2x9x64xf32>
  return %2 : tensor<2x9x64xf32>
}

// CHECK-LABEL: func.func @gate
// REMARK: not-an-epilogue: hk.mul combines different channels of the convolution
func.func @gate(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) -> tensor<2x9x32xf32> {
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x9x64xf32>
  %a = tensor.extract_slice %0[0, 0, 0] [2, 9, 32] [1, 1, 1] : tensor<2x9x64xf32> to tensor<2x9x32xf32>
  %b = tensor.extract_slice %0[0, 0, 32] [2, 9, 32] [1, 1, 1] : tensor<2x9x64xf32> to tensor<2x9x32xf32>
  %1 = hk.mul %a, %b : tensor<2x9x32xf32>
  return %1 : tensor<2x9x32xf32>
}

// CHECK-LABEL: func.func @tokens
// REMARK: unsupported-shape: tensor.extract_slice takes something else than a run of channels
func.func @tokens(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) -> tensor<2x4x64xf32> {
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x9x64xf32>
  %a = tensor.extract_slice %0[0, 5, 0] [2, 4, 64] [1, 1, 1] : tensor<2x9x64xf32> to tensor<2x4x64xf32>
  %1 = hk.neg %a : tensor<2x4x64xf32>
  return %1 : tensor<2x4x64xf32>
}

// CHECK-LABEL: func.func @flat
// REMARK: unsupported-shape: tensor.collapse_shape mixes time, sequences and channels
func.func @flat(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) -> tensor<18x64xf32> {
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x9x64xf32>
  %a = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x9x64xf32> into tensor<18x64xf32>
  %1 = hk.neg %a : tensor<18x64xf32>
  return %1 : tensor<18x64xf32>
}

// CHECK-LABEL: func.func @time_not_last
// REMARK: unsupported-shape: tensor.expand_shape moves time away from the last dim
func.func @time_not_last(%x: tensor<2x64x9xf32>, %w: tensor<64x4xf32>) -> tensor<2x64x9x1xf32> {
  %0 = hk.causal_conv1d channel_first %x, %w : tensor<2x64x9xf32>, tensor<64x4xf32> -> tensor<2x64x9xf32>
  %a = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [2, 64, 9, 1] : tensor<2x64x9xf32> into tensor<2x64x9x1xf32>
  %1 = hk.neg %a : tensor<2x64x9x1xf32>
  return %1 : tensor<2x64x9x1xf32>
}
