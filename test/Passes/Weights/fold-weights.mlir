// What is computed from weights alone becomes a weight with a recipe.
// RUN: hk-opt %s --hk-fold-weights | FileCheck %s
// RUN: hk-opt %s --hk-fold-weights | hk-opt --hk-fold-weights | FileCheck %s

// Both results of the quantisation below.
// CHECK: hk.weight @folded2 "hk.folded2" from ["q", "g"] {
// CHECK: } : tensor<4x1xf32>
// CHECK: hk.weight @folded1 "hk.folded1" from ["q", "g"] {
// CHECK: } : tensor<4x8xi8>
// Merged and converted: one weight for both functions.
// CHECK: hk.weight @folded0 "hk.folded0" from ["q", "k"] {
// CHECK-NEXT: ^bb0(%[[Q:.*]]: tensor<8x4xf32>, %[[K:.*]]: tensor<8x4xf32>):
// CHECK-NEXT: %[[CAT:.*]] = hk.concat 1(%[[Q]], %[[K]])
// CHECK-NEXT: %[[CAST:.*]] = hk.cast %[[CAT]] : tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK-NEXT: hk.yield %[[CAST]] : tensor<8x8xbf16>
// CHECK-NEXT: } : tensor<8x8xbf16>
// @k and @g are read by recipes only; nothing touches @unused.
// CHECK-NOT: hk.weight @k
// CHECK-NOT: hk.weight @g
// CHECK: hk.weight @q "q" : tensor<8x4xf32>
// CHECK: hk.weight @unused
hk.weight @q "q" : tensor<8x4xf32>
hk.weight @k "k" : tensor<8x4xf32>
hk.weight @g "g" : tensor<4xf32>
hk.weight @unused "unused" : tensor<4xf32>

// CHECK-LABEL: func @prefill
// CHECK: %[[W:.*]] = hk.weight_ref @folded0 : tensor<8x8xbf16>
// CHECK-NEXT: hk.matmul %arg0, %[[W]]
func.func @prefill(%x: tensor<?x8xbf16>) -> tensor<?x8xf32> {
  %q = hk.weight_ref @q : tensor<8x4xf32>
  %k = hk.weight_ref @k : tensor<8x4xf32>
  %0 = hk.concat 1 (%q, %k) : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %1 = hk.cast %0 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %2 = hk.matmul %x, %1 : tensor<?x8xbf16>, tensor<8x8xbf16> -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// A slice of it stays a view; @q is also read as it is.
// CHECK-LABEL: func @decode
// CHECK-DAG: %[[W:.*]] = hk.weight_ref @folded0 : tensor<8x8xbf16>
// CHECK-DAG: %[[S:.*]] = tensor.extract_slice %[[W]]
// CHECK-DAG: %[[Q:.*]] = hk.weight_ref @q
// CHECK: hk.matmul %arg0, %[[S]]
// CHECK: hk.matmul %arg1, %[[Q]]
func.func @decode(%x: tensor<1x8xbf16>, %y: tensor<1x8xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %q = hk.weight_ref @q : tensor<8x4xf32>
  %k = hk.weight_ref @k : tensor<8x4xf32>
  %0 = hk.concat 1 (%q, %k) : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %1 = hk.cast %0 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %2 = tensor.extract_slice %1[0, 4] [8, 4] [1, 1] : tensor<8x8xbf16> to tensor<8x4xbf16>
  %3 = hk.matmul %x, %2 : tensor<1x8xbf16>, tensor<8x4xbf16> -> tensor<1x4xf32>
  %4 = hk.matmul %y, %q : tensor<1x8xf32>, tensor<8x4xf32> -> tensor<1x4xf32>
  return %3, %4 : tensor<1x4xf32>, tensor<1x4xf32>
}

// Both results of a quantisation; a value that is folded further is a weight only
// if something else reads it.
// CHECK-LABEL: func @quantised
// CHECK-NOT: hk.quantize
// CHECK-NOT: hk.mul
// CHECK-NOT: hk.transpose
// CHECK: hk.matmul
func.func @quantised(%x: tensor<?x8xi8>, %s: tensor<?x1xf32>) -> tensor<?x4xf32> {
  %q = hk.weight_ref @q : tensor<8x4xf32>
  %t = hk.transpose %q [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %g = hk.weight_ref @g : tensor<4xf32>
  %e = tensor.expand_shape %g [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
  %m = hk.mul %t, %e : tensor<4x8xf32>, tensor<4x1xf32>
  %w, %ws = hk.quantize per_token %m : tensor<4x8xf32> -> tensor<4x8xi8>, tensor<4x1xf32>
  %y = hk.matmul %x, %w scales (%s, %ws) transpose_b : tensor<?x8xi8>, tensor<4x8xi8> scales (tensor<?x1xf32>, tensor<4x1xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// Left to the kernels: products, and what is much larger than its operands.
// CHECK-LABEL: func @kept
// CHECK: hk.matmul
// CHECK: hk.add
// CHECK: return
func.func @kept(%x: tensor<1x8xf32>) -> (tensor<8x8xf32>, tensor<64x64xf32>) {
  %q = hk.weight_ref @q : tensor<8x4xf32>
  %0 = hk.matmul %q, %q transpose_b : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %a = tensor.expand_shape %q [[0, 1], [2, 3]] output_shape [8, 1, 4, 1] : tensor<8x4xf32> into tensor<8x1x4x1xf32>
  %b = tensor.collapse_shape %a [[0, 1, 2], [3]] : tensor<8x1x4x1xf32> into tensor<32x1xf32>
  %c = tensor.collapse_shape %q [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  %1 = hk.add %b, %c : tensor<32x1xf32>, tensor<32xf32> -> tensor<32x32xf32>
  %2 = hk.concat 0 (%1, %1) : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<64x32xf32>
  %3 = hk.concat 1 (%2, %2) : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>
  return %0, %3 : tensor<8x8xf32>, tensor<64x64xf32>
}
