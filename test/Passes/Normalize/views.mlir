// Views that join or part rows move through row-wise operators to where they cost
// nothing; an operator that needs the dims apart stops them.
// RUN: hk-opt -hk-normalize -canonicalize -cse %s | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s --check-prefix=LAUNCHES

// LAUNCHES: 1 launches in @join, 1 launches in @unit, 1 launches in @result, 1 launches in @cache, 1 launches in @broadcast, 1 launches in @heads, 1 launches in @slices, 1 launches in @repeated_rows, 1 launches in @steps, 1 launches in @one_sequence, 2 launches in @each_row_again, 1 launches in @table_rows, 1 launches in @returned_twice, 1 launches in @combined, 1 launches in @pair_weights, 2 launches in @pairs_apart

// CHECK-LABEL: func @join
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2]]
// CHECK: %[[N:.*]] = hk.rms_norm %[[X]]
// CHECK: %[[Q:.*]], %[[S:.*]] = hk.quantize{{.*}} %[[N]]
// CHECK: return %[[Q]], %[[S]]
func.func @join(%x: tensor<4x?x256xbf16>, %w: tensor<256xbf16>) -> (tensor<?x256xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<4x?x256xbf16>, tensor<256xbf16>
  %f = tensor.collapse_shape %n [[0, 1], [2]] : tensor<4x?x256xbf16> into tensor<?x256xbf16>
  %q, %s = hk.quantize per_token %f : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x256xf8E4M3FNUZ>, tensor<?x1xf32>
}

// CHECK-LABEL: func @unit
// CHECK: hk.add
// CHECK-SAME: : tensor<?x256xbf16>{{$}}
// CHECK: hk.rms_norm
// CHECK-SAME: : tensor<?x256xbf16>, tensor<256xbf16>{{$}}
func.func @unit(%x: tensor<1x?x256xbf16>, %r: tensor<?x256xbf16>, %w: tensor<256xbf16>) -> (tensor<1x?x256xbf16>, tensor<1x?x256xbf16>) {
  %c1 = arith.constant 1 : index
  %f = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x?x256xbf16> into tensor<?x256xbf16>
  %a = hk.add %f, %r : tensor<?x256xbf16>
  %d = tensor.dim %x, %c1 : tensor<1x?x256xbf16>
  %e = tensor.expand_shape %a [[0, 1], [2]] output_shape [1, %d, 256] : tensor<?x256xbf16> into tensor<1x?x256xbf16>
  %n = hk.rms_norm %e, %w epsilon 1.0e-05 : tensor<1x?x256xbf16>, tensor<256xbf16>
  return %e, %n : tensor<1x?x256xbf16>, tensor<1x?x256xbf16>
}

// CHECK-LABEL: func @result
// CHECK: %[[Y:.*]] = hk.silu
// CHECK: tensor.collapse_shape %[[Y]] {{\[\[}}0], [1, 2]]
func.func @result(%x: tensor<?x4x64xbf16>) -> tensor<?x256xbf16> {
  %y = hk.silu %x : tensor<?x4x64xbf16>
  %f = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  return %f : tensor<?x256xbf16>
}

// Positions go with the rows; the tables and the cache stay.
// CHECK-LABEL: func @cache
// CHECK-DAG: %[[Q:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2], [3]]
// CHECK-DAG: %[[P:.*]] = tensor.collapse_shape %arg3 {{\[\[}}0, 1]]
// CHECK: %[[R:.*]] = hk.rope neox %[[Q]], %arg1, %arg2 positions %[[P]]
// CHECK: hk.kv_cache_write %[[R]], %arg4 into %arg5
func.func @cache(%k: tensor<?x?x8x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?x?xi32>, %slots: tensor<?xi32>, %kc: tensor<4x16x8x64xbf16> {hk.state}) -> tensor<4x16x8x64xbf16> {
  %r = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?x?xi32>
  %f = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<?x?x8x64xbf16> into tensor<?x8x64xbf16>
  %c = hk.kv_cache_write %f, %slots into %kc : tensor<?x8x64xbf16>, tensor<?xi32>, tensor<4x16x8x64xbf16>
  return %c : tensor<4x16x8x64xbf16>
}

// A scale per sequence repeats along its tokens: the dims stay apart, also for the
// quantisation behind it.
// CHECK-LABEL: func @broadcast
// CHECK: hk.mul
// CHECK-SAME: tensor<?x?x256xbf16>, tensor<?x1x256xbf16>
// CHECK: hk.quantize
// CHECK-SAME: tensor<?x?x256xbf16>
// CHECK: tensor.collapse_shape
func.func @broadcast(%x: tensor<?x?x256xbf16>, %w: tensor<256xbf16>, %sc: tensor<?x1x256xbf16>) -> (tensor<?x256xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x?x256xbf16>, tensor<256xbf16>
  %m = hk.mul %n, %sc : tensor<?x?x256xbf16>, tensor<?x1x256xbf16>
  %f = tensor.collapse_shape %m [[0, 1], [2]] : tensor<?x?x256xbf16> into tensor<?x256xbf16>
  %q, %s = hk.quantize per_token %f : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x256xf8E4M3FNUZ>, tensor<?x1xf32>
}

// The norm of heads as rows of their own, then RoPE, which needs tokens.
// CHECK-LABEL: func @heads
// CHECK: hk.rms_norm
// CHECK-SAME: : tensor<?x8x64xbf16>, tensor<64xbf16>{{$}}
// CHECK-NOT: tensor<?x64xbf16>
func.func @heads(%x: tensor<?x512xbf16>, %w: tensor<64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x8x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x512xbf16>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %f = tensor.collapse_shape %e [[0, 1], [2]] : tensor<?x8x64xbf16> into tensor<?x64xbf16>
  %n = hk.rms_norm %f, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %h = tensor.expand_shape %n [[0, 1], [2]] output_shape [%t, 8, 64] : tensor<?x64xbf16> into tensor<?x8x64xbf16>
  %r = hk.rope neox %h, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  return %r : tensor<?x8x64xbf16>
}

// Slices of the columns and heads lie between.
// CHECK-LABEL: func @slices
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0
// CHECK: %[[Y:.*]] = hk.silu %[[X]]
// CHECK: tensor.extract_slice %[[Y]][0, 0]
// CHECK: tensor.extract_slice %[[Y]][0, 256]
func.func @slices(%x: tensor<2x?x512xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> (tensor<?x4x64xbf16>, tensor<2x?x256xbf16>) {
  %c1 = arith.constant 1 : index
  %s = tensor.dim %x, %c1 : tensor<2x?x512xbf16>
  %y = hk.silu %x : tensor<2x?x512xbf16>
  %a = tensor.extract_slice %y[0, 0, 0] [2, %s, 256] [1, 1, 1] : tensor<2x?x512xbf16> to tensor<2x?x256xbf16>
  %b = tensor.extract_slice %y[0, 0, 256] [2, %s, 256] [1, 1, 1] : tensor<2x?x512xbf16> to tensor<2x?x256xbf16>
  %h = tensor.expand_shape %a [[0], [1], [2, 3]] output_shape [2, %s, 4, 64] : tensor<2x?x256xbf16> into tensor<2x?x4x64xbf16>
  %f = tensor.collapse_shape %h [[0, 1], [2], [3]] : tensor<2x?x4x64xbf16> into tensor<?x4x64xbf16>
  %r = hk.rope neox %f, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %z = hk.neg %b : tensor<2x?x256xbf16>
  return %r, %z : tensor<?x4x64xbf16>, tensor<2x?x256xbf16>
}

// The same rows for each sequence: they cannot be seen as B * S rows.
// CHECK-LABEL: func @repeated_rows
// CHECK: hk.add
// CHECK-SAME: tensor<4x16x64xbf16>, tensor<16x64xbf16>
// CHECK: hk.l2_norm
// CHECK-SAME: tensor<4x16x64xbf16>
func.func @repeated_rows(%x: tensor<4x16x64xbf16>, %e: tensor<16x64xbf16>) -> tensor<64x64xbf16> {
  %a = hk.add %x, %e : tensor<4x16x64xbf16>, tensor<16x64xbf16>
  %f = tensor.collapse_shape %a [[0, 1], [2]] : tensor<4x16x64xbf16> into tensor<64x64xbf16>
  %n = hk.l2_norm %f epsilon 1.0e-05 : tensor<64x64xbf16>
  return %n : tensor<64x64xbf16>
}

// Attributes that count dims count others.
// CHECK-LABEL: func @steps
// CHECK: hk.concat 1
// CHECK: hk.transpose {{.*}} [0, 2, 1] : tensor<64x8x4xf32> -> tensor<64x4x8xf32>
func.func @steps(%x: tensor<4x16x5x4xf32>, %y: tensor<4x16x3x4xf32>) -> tensor<64x32xf32> {
  %c = hk.concat 2 (%x, %y) : tensor<4x16x5x4xf32>, tensor<4x16x3x4xf32> -> tensor<4x16x8x4xf32>
  %t = hk.transpose %c [0, 1, 3, 2] : tensor<4x16x8x4xf32> -> tensor<4x16x4x8xf32>
  %f = tensor.collapse_shape %t [[0, 1], [2, 3]] : tensor<4x16x4x8xf32> into tensor<64x32xf32>
  %s = hk.softmax %f : tensor<64x32xf32>
  return %s : tensor<64x32xf32>
}

// Positions by index: of one sequence they are those of the rows, of several not.
// CHECK-LABEL: func @one_sequence
// CHECK: hk.rope neox
// CHECK-NOT: position_dim
// CHECK-SAME: tensor<16x2x8xf32>
func.func @one_sequence(%x: tensor<1x16x2x8xf32>, %cos: tensor<16x4xf32>, %sin: tensor<16x4xf32>) -> tensor<16x16xf32> {
  %r = hk.rope neox %x, %cos, %sin position_dim 1 : tensor<1x16x2x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>
  %f = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<1x16x2x8xf32> into tensor<16x16xf32>
  %n = hk.l2_norm %f epsilon 1.0e-05 : tensor<16x16xf32>
  return %n : tensor<16x16xf32>
}
// CHECK-LABEL: func @each_row_again
// CHECK: hk.rope neox
// CHECK-SAME: position_dim 1
// CHECK: hk.kv_cache_write
func.func @each_row_again(%x: tensor<4x16x2x8xf32>, %cos: tensor<16x4xf32>, %sin: tensor<16x4xf32>, %s: tensor<64xi32>, %c: tensor<1x64x2x8xf32> {hk.state}) -> tensor<1x64x2x8xf32> {
  %r = hk.rope neox %x, %cos, %sin position_dim 1 : tensor<4x16x2x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>
  %f = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<4x16x2x8xf32> into tensor<64x2x8xf32>
  %w = hk.kv_cache_write %f, %s into %c : tensor<64x2x8xf32>, tensor<64xi32>, tensor<1x64x2x8xf32>
  return %w : tensor<1x64x2x8xf32>
}

// CHECK-LABEL: func @table_rows
// CHECK: %[[I:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1]]
// CHECK: hk.gather_rows %arg0, %[[I]]
func.func @table_rows(%t: tensor<100x64xbf16>, %ids: tensor<?x?xi32>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %e = hk.gather_rows %t, %ids : tensor<100x64xbf16>, tensor<?x?xi32> -> tensor<?x?x64xbf16>
  %f = tensor.collapse_shape %e [[0, 1], [2]] : tensor<?x?x64xbf16> into tensor<?x64xbf16>
  %n = hk.rms_norm %f, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  return %n : tensor<?x64xbf16>
}

// One result is a view of another: it is written twice by one kernel.
// CHECK-LABEL: func @returned_twice
func.func @returned_twice(%x: tensor<4x8x64xbf16>) -> (tensor<4x8x64xbf16>, tensor<32x64xbf16>) {
  %y = hk.silu %x : tensor<4x8x64xbf16>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x8x64xbf16> into tensor<32x64xbf16>
  return %y, %f : tensor<4x8x64xbf16>, tensor<32x64xbf16>
}

// Partial results have their slices in front of the rows.
// CHECK-LABEL: func @combined
// CHECK: tensor.collapse_shape %arg0 {{\[\[}}0], [1, 2], [3]]
// CHECK: hk.sum_slices
// CHECK-SAME: tensor<2x32x64xf32> -> tensor<32x64xbf16>
func.func @combined(%p: tensor<2x4x8x64xf32>) -> tensor<32x64xbf16> {
  %y = hk.sum_slices %p : tensor<2x4x8x64xf32> -> tensor<4x8x64xbf16>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x8x64xbf16> into tensor<32x64xbf16>
  %n = hk.l2_norm %f epsilon 1.0e-05 : tensor<32x64xbf16>
  return %n : tensor<32x64xbf16>
}

// A weight for each row of a pair, seen as [T, 2, 1]: its rows become one dim, and the
// 1 stays.
// CHECK-LABEL: func @pair_weights
// CHECK: %[[F:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1]]
// CHECK: %[[V:.*]] = tensor.expand_shape %[[F]] {{\[\[}}0, 1]]
// CHECK: %[[C:.*]] = hk.cast %arg0 : tensor<?x256xbf16>
// CHECK: hk.mul %[[C]], %[[V]] : tensor<?x256xf32>, tensor<?x1xf32>
func.func @pair_weights(%x: tensor<?x256xbf16>, %w: tensor<?x2xf32>) -> tensor<?x2x256xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %w, %c0 : tensor<?x2xf32>
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [%t, 2, 256] : tensor<?x256xbf16> into tensor<?x2x256xbf16>
  %v = tensor.expand_shape %w [[0], [1, 2]] output_shape [%t, 2, 1] : tensor<?x2xf32> into tensor<?x2x1xf32>
  %c = hk.cast %e : tensor<?x2x256xbf16> -> tensor<?x2x256xf32>
  %y = hk.mul %c, %v : tensor<?x2x256xf32>, tensor<?x2x1xf32>
  return %y : tensor<?x2x256xf32>
}

// The same behind an operator of [T, 2].
// CHECK-LABEL: func @pairs_apart
// CHECK: hk.sigmoid
// CHECK: hk.mul
func.func @pairs_apart(%x: tensor<?x256xf32>, %w: tensor<?x2x1xf32>) -> tensor<?x2x256xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %w, %c0 : tensor<?x2x1xf32>
  %f = tensor.collapse_shape %w [[0], [1, 2]] : tensor<?x2x1xf32> into tensor<?x2xf32>
  %s = hk.sigmoid %f : tensor<?x2xf32>
  %v = tensor.expand_shape %s [[0], [1, 2]] output_shape [%t, 2, 1] : tensor<?x2xf32> into tensor<?x2x1xf32>
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [%t, 2, 256] : tensor<?x256xf32> into tensor<?x2x256xf32>
  %y = hk.mul %e, %v : tensor<?x2x256xf32>, tensor<?x2x1xf32>
  return %y : tensor<?x2x256xf32>
}
