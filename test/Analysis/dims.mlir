// RUN: hk-opt --split-input-file --pass-pipeline='builtin.module(func.func(hk-print-dims))' %s -o /dev/null | FileCheck %s

// A norm keeps its shape and ties the weight; positions follow the tokens.
// CHECK-LABEL: dims of chain
// CHECK: arg0 [d0, d1]
// CHECK: arg1 [d1]
// CHECK: hk.rms_norm#0 [d0, d1]
// CHECK: hk.add#0 [d0, d1]
// CHECK: d0 = arg0 dim 0
// CHECK: d1 = arg0 dim 1
// CHECK-DAG: guard arg0 dim 1 == arg1 dim 0
// CHECK-DAG: guard arg0 dim 0 == arg2 dim 0
func.func @chain(%x: tensor<?x?xbf16>, %w: tensor<?xbf16>, %y: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %0 = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x?xbf16>, tensor<?xbf16>
  %1 = hk.add %0, %y : tensor<?x?xbf16>
  return %1 : tensor<?x?xbf16>
}

// -----

// A size of 1 broadcasts and says nothing; `?` against 64 is a guard.
// CHECK-LABEL: dims of broadcast
// CHECK: arg0 [d0, 64]
// CHECK: arg1 [1, 64]
// CHECK: arg2 [64]
// CHECK: hk.mul#0 [d0, 64]
// CHECK: guard 64 == arg2 dim 0
// CHECK-NOT: guard
func.func @broadcast(%x: tensor<?x64xf32>, %y: tensor<1x64xf32>, %z: tensor<?xf32>) -> tensor<?x64xf32> {
  %0 = hk.mul %x, %y : tensor<?x64xf32>, tensor<1x64xf32>
  %1 = hk.mul %0, %z : tensor<?x64xf32>, tensor<?xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// Flattening and unflattening give the same symbols back; concat adds.
// CHECK-LABEL: dims of reshape
// CHECK: arg0 [d0, 8, 4]
// CHECK: tensor.collapse_shape#0 [d1, 4]
// CHECK: hk.silu#0 [d1, 4]
// CHECK: tensor.expand_shape#0 [d0, 8, 4]
// CHECK: hk.concat#0 [d2, 4]
// CHECK: d1 = product(d0, 8)
// CHECK: d2 = sum(d1, d1, 3)
// CHECK-NOT: guard
func.func @reshape(%x: tensor<?x8x4xf32>, %t: tensor<3x4xf32>) -> (tensor<?x8x4xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x8x4xf32>
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x8x4xf32> into tensor<?x4xf32>
  %1 = hk.silu %0 : tensor<?x4xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [%d, 8, 4] : tensor<?x4xf32> into tensor<?x8x4xf32>
  %3 = hk.concat 0 (%0, %t, %1) : tensor<?x4xf32>, tensor<3x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %2, %3 : tensor<?x8x4xf32>, tensor<?x4xf32>
}

// -----

// Two unknown sizes of which each view computes one from the other: one of them
// is only its tensor's.
// CHECK-LABEL: dims of of_each_other
// CHECK: func.call#0 [d0, 8, 4]
// CHECK: func.call#0 [d1, 4]
// CHECK: tensor.collapse_shape#0 [d1, 4]
// CHECK: tensor.expand_shape#0 [d0, 8, 4]
// CHECK: d0 = opaque func.call#0 dim 0
// CHECK: d1 = product(d0, 8)
// CHECK-NOT: guard
func.func private @keys() -> tensor<?x8x4xf32>
func.func private @tokens() -> tensor<?x4xf32>
func.func @of_each_other() -> (tensor<?x4xf32>, tensor<?x8x4xf32>) {
  %c0 = arith.constant 0 : index
  %y = func.call @keys() : () -> tensor<?x8x4xf32>
  %x = func.call @tokens() : () -> tensor<?x4xf32>
  %0 = tensor.collapse_shape %y [[0, 1], [2]] : tensor<?x8x4xf32> into tensor<?x4xf32>
  %b = tensor.dim %y, %c0 : tensor<?x8x4xf32>
  %1 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%b, 8, 4] : tensor<?x4xf32> into tensor<?x8x4xf32>
  %2 = hk.add %x, %0 : tensor<?x4xf32>
  return %2, %1 : tensor<?x4xf32>, tensor<?x8x4xf32>
}

// -----

// M, N and K of a product; groups of 128 along K give a scale each.
// CHECK-LABEL: dims of product
// CHECK: arg0 [d0, d1]
// CHECK: arg1 [d2, d1]
// CHECK: hk.matmul#0 [d0, d2]
// CHECK: hk.quantize#1 [d0, d3]
// CHECK: d3 = ceildiv(d2, 128)
// CHECK: guard arg0 dim 1 == arg1 dim 1
func.func @product(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x?xbf16>, tensor<?x?xbf16> -> tensor<?x?xbf16>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf32>
  return %q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf32>
}

// -----

// What a fused region implies still holds outside.
// CHECK-LABEL: dims of fused
// CHECK: arg0 [d0, 8]
// CHECK: arg1 [d0, 8]
// CHECK: guard arg0 dim 0 == arg1 dim 0
func.func @fused(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = hk.fused rowwise ins(%x, %y : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %o: tensor<?x8xf32>):
    %1 = hk.add %a, %b : tensor<?x8xf32>
    hk.yield %1 : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// A convolution keeps the shapes of its input and of its state; a reduced dim
// is 1.
// CHECK-LABEL: dims of conv
// CHECK: arg0 [d0, 8]
// CHECK: arg2 [d1]
// CHECK: arg4 [d3]
// CHECK: hk.causal_conv1d#0 [d0, 8]
// CHECK: hk.causal_conv1d#1 [d2, 3, 8]
// CHECK: hk.reduce#0 [d0, 1]
func.func @conv(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %cu: tensor<?xi32>, %s: tensor<?x3x8xf32>, %i: tensor<?xi32>) -> tensor<?x1xf32> {
  %0, %1 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %i : tensor<?x8xf32>, tensor<8x4xf32> offsets tensor<?xi32> state tensor<?x3x8xf32> indices tensor<?xi32> -> tensor<?x8xf32>, tensor<?x3x8xf32>
  %2 = hk.reduce sum %0 : tensor<?x8xf32> -> tensor<?x1xf32>
  return %2 : tensor<?x1xf32>
}

// -----

// A constant less is a sum: both slices have one size, however often it is computed.
// CHECK-LABEL: dims of differences
// CHECK: arg0 [d0]
// CHECK: tensor.extract_slice#0 [d1]
// CHECK: tensor.extract_slice#0 [d1]
// CHECK: hk.sub#0 [d1]
// CHECK: d1 = sum(d0, -1)
// CHECK-NOT: guard
func.func @differences(%x: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xi32>
  %less = arith.subi %n, %c1 : index
  %a = tensor.extract_slice %x[0] [%less] [1] : tensor<?xi32> to tensor<?xi32>
  %same = arith.subi %n, %c1 : index
  %b = tensor.extract_slice %x[1] [%same] [1] : tensor<?xi32> to tensor<?xi32>
  %y = hk.sub %b, %a : tensor<?xi32>
  return %y : tensor<?xi32>
}

// -----

// What the caller declares equal is equal; the call checks it.
// CHECK-LABEL: dims of declared
// CHECK: arg0 [d0, 64]
// CHECK: arg1 [d0, d1]
// CHECK: arg2 [d1, 64]
// CHECK-DAG: guard 64 == arg2 dim 1
// CHECK-DAG: guard arg0 dim 0 == arg1 dim 0
// CHECK-DAG: guard arg1 dim 1 == arg2 dim 0
// CHECK-NOT: guard
func.func @declared(%x: tensor<?x64xf32> {hk.dims = ["T", "D"]}, %y: tensor<?x?xf32> {hk.dims = ["T", "S"]},
                    %z: tensor<?x?xf32> {hk.dims = ["S", "D"]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// What an operator computes of a size of an argument is a guard: offsets are one
// more than sequences, and one scale is for 128 elements.
// CHECK-LABEL: dims of computed
// CHECK: arg0 [d0, 8]
// CHECK: arg2 [d1]
// CHECK: arg4 [d3]
// CHECK: arg5 [d4, d5]
// CHECK: arg6 [d4, d6]
// CHECK-DAG: guard arg4 dim 0 == sum(d1, -1)
// CHECK-DAG: guard arg6 dim 1 == ceildiv(d5, 128)
func.func @computed(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %cu: tensor<?xi32>, %s: tensor<?x3x8xf32>, %i: tensor<?xi32>,
                    %y: tensor<?x?xf32>, %scale: tensor<?x?xf32>) -> (tensor<?x8xf32>, tensor<?x?xi8>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %i : tensor<?x8xf32>, tensor<8x4xf32> offsets tensor<?xi32> state tensor<?x3x8xf32> indices tensor<?xi32> -> tensor<?x8xf32>, tensor<?x3x8xf32>
  %2 = hk.quantize_static %y, %scale : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xi8>
  return %0, %2 : tensor<?x8xf32>, tensor<?x?xi8>
}

// -----

// States of ragged chunks: those of all tokens, and one more per sequence.
// Segments of whole blocks: each may leave all but one place of a block empty.
// CHECK-LABEL: dims of chunks
// CHECK: hk.chunk_state#0 [d2, 4, 64, 32]
// CHECK: hk.chunk_state#1 [d0, 4, 32]
// CHECK: hk.segments#0 [d3]
// CHECK: hk.segments#1 [d3]
// CHECK: hk.segments#2 [d1]
// CHECK: d2 = sum(d4, d1, -1)
// CHECK: d4 = ceildiv(d0, 64)
func.func @chunks(%k: tensor<?x2x64xf32>, %w: tensor<?x4x64xf32>, %u: tensor<?x4x32xf32>, %cu: tensor<?xi32>) -> (tensor<?x4x64x32xf32>, tensor<?xi32>) {
  %0, %1 = hk.chunk_state %k, %w, %u offsets %cu chunk 64 : tensor<?x2x64xf32>, tensor<?x4x64xf32>, tensor<?x4x32xf32> offsets tensor<?xi32> -> tensor<?x4x64x32xf32>, tensor<?x4x32xf32>
  %2, %3, %4 = hk.segments bounds %cu items %k block 64 : tensor<?xi32> items tensor<?x2x64xf32> -> tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %0, %2 : tensor<?x4x64x32xf32>, tensor<?xi32>
}

// -----

// Elements of a head lie in chunks: D / x of x.
// CHECK-LABEL: dims of cache
// CHECK: arg0 [d0, d1, d2]
// CHECK: arg2 [d3, d1, d4, d5, 8]
// CHECK-DAG: guard arg0 dim 0 == arg1 dim 0
// CHECK-DAG: guard arg0 dim 1 == arg2 dim 1
// CHECK-DAG: guard arg0 dim 2 == product(d4, 8)
func.func @cache(%v: tensor<?x?x?xf32>, %slots: tensor<?xi32>, %c: tensor<?x?x?x?x8xf32>) -> tensor<?x?x?x?x8xf32> {
  %0 = hk.kv_cache_write %v, %slots into %c layout key_chunks : tensor<?x?x?xf32>, tensor<?xi32>, tensor<?x?x?x?x8xf32>
  return %0 : tensor<?x?x?x?x8xf32>
}
