// What joins a recurrence besides pointwise operators: the convolution that makes its
// query, key and value, and norms and quantisations of a head. Refused with a reason:
// rows of all heads, a convolution of several tokens, and one of which channels are read
// by something else.
// RUN: hk-opt %s --pass-pipeline='builtin.module(hk-assign-target{target=gfx942},hk-fuse,hk-outline)' | FileCheck %s
// RUN: hk-compile %s --target=host --explain -o %t.so 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// CHECK-LABEL: func.func @convolved
// CHECK: hk.launch @
// CHECK-NOT: hk.launch @
// CHECK: return
func.func @convolved(%x: tensor<?x1x96xbf16>, %w: tensor<96x4xbf16>, %c: tensor<8x3x96xbf16> {hk.state}, %b: tensor<?x1x2xf32>, %s: tensor<8x2x32x16xf32> {hk.state}, %norm: tensor<16xbf16>) -> (tensor<?x1x2x16xbf16>, tensor<8x3x96xbf16>, tensor<8x2x32x16xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1x96xbf16>
  %y, %c1 = hk.causal_conv1d channel_last %x, %w state %c : tensor<?x1x96xbf16>, tensor<96x4xbf16> state tensor<8x3x96xbf16> -> tensor<?x1x96xbf16>, tensor<8x3x96xbf16>
  %q0 = tensor.extract_slice %y[0, 0, 0] [%n, 1, 32] [1, 1, 1] : tensor<?x1x96xbf16> to tensor<?x1x32xbf16>
  %q = tensor.expand_shape %q0 [[0], [1], [2, 3]] output_shape [%n, 1, 1, 32] : tensor<?x1x32xbf16> into tensor<?x1x1x32xbf16>
  %k0 = tensor.extract_slice %y[0, 0, 32] [%n, 1, 32] [1, 1, 1] : tensor<?x1x96xbf16> to tensor<?x1x32xbf16>
  %k = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [%n, 1, 1, 32] : tensor<?x1x32xbf16> into tensor<?x1x1x32xbf16>
  %v0 = tensor.extract_slice %y[0, 0, 64] [%n, 1, 32] [1, 1, 1] : tensor<?x1x96xbf16> to tensor<?x1x32xbf16>
  %v = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [%n, 1, 2, 16] : tensor<?x1x32xbf16> into tensor<?x1x2x16xbf16>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v beta %b state %s : tensor<?x1x1x32xbf16>, tensor<?x1x1x32xbf16>, tensor<?x1x2x16xbf16> beta tensor<?x1x2xf32> state tensor<8x2x32x16xf32> -> tensor<?x1x2x16xbf16>, tensor<8x2x32x16xf32>
  %r = hk.rms_norm %o, %norm epsilon 1.0e-06 : tensor<?x1x2x16xbf16>, tensor<16xbf16>
  return %r, %c1, %s1 : tensor<?x1x2x16xbf16>, tensor<8x3x96xbf16>, tensor<8x2x32x16xf32>
}

// A scale for a token is of all heads.
// CHECK-LABEL: func.func @per_token
// CHECK-COUNT-2: hk.launch @
// CHECK-NOT: hk.launch @
// CHECK: return
// EXPLAIN-DAG: not fused (needs-whole-row): hk.quantize / join hk.gated_delta_rule: hk.quantize needs rows of 32; a block of the recurrence has the 16 values of a head
func.func @per_token(%q: tensor<?x1x1x32xbf16>, %v: tensor<?x1x2x16xbf16>) -> (tensor<?x32xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %o = hk.gated_delta_rule %q, %q, %v : tensor<?x1x1x32xbf16>, tensor<?x1x1x32xbf16>, tensor<?x1x2x16xbf16> -> tensor<?x1x2x16xbf16>
  %f = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<?x1x2x16xbf16> into tensor<?x32xbf16>
  %y, %c = hk.quantize per_token %f : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FNUZ>, tensor<?x1xf32>
  return %y, %c : tensor<?x32xf8E4M3FNUZ>, tensor<?x1xf32>
}

// CHECK-LABEL: func.func @three_tokens
// CHECK-COUNT-2: hk.launch @
// CHECK-NOT: hk.launch @
// CHECK: return
// EXPLAIN-DAG: not fused (unsupported-shape): hk.gated_delta_rule / take in hk.causal_conv1d: hk.causal_conv1d has several tokens of a sequence
func.func @three_tokens(%x: tensor<?x3x96xbf16>, %w: tensor<96x4xbf16>, %c: tensor<8x3x96xbf16> {hk.state}) -> (tensor<?x3x2x16xbf16>, tensor<8x3x96xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x96xbf16>
  %y, %c1 = hk.causal_conv1d channel_last %x, %w state %c : tensor<?x3x96xbf16>, tensor<96x4xbf16> state tensor<8x3x96xbf16> -> tensor<?x3x96xbf16>, tensor<8x3x96xbf16>
  %q0 = tensor.extract_slice %y[0, 0, 0] [%n, 3, 32] [1, 1, 1] : tensor<?x3x96xbf16> to tensor<?x3x32xbf16>
  %q = tensor.expand_shape %q0 [[0], [1], [2, 3]] output_shape [%n, 3, 1, 32] : tensor<?x3x32xbf16> into tensor<?x3x1x32xbf16>
  %k0 = tensor.extract_slice %y[0, 0, 32] [%n, 3, 32] [1, 1, 1] : tensor<?x3x96xbf16> to tensor<?x3x32xbf16>
  %k = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [%n, 3, 1, 32] : tensor<?x3x32xbf16> into tensor<?x3x1x32xbf16>
  %v0 = tensor.extract_slice %y[0, 0, 64] [%n, 3, 32] [1, 1, 1] : tensor<?x3x96xbf16> to tensor<?x3x32xbf16>
  %v = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [%n, 3, 2, 16] : tensor<?x3x32xbf16> into tensor<?x3x2x16xbf16>
  %o = hk.gated_delta_rule %q, %k, %v : tensor<?x3x1x32xbf16>, tensor<?x3x1x32xbf16>, tensor<?x3x2x16xbf16> -> tensor<?x3x2x16xbf16>
  return %o, %c1 : tensor<?x3x2x16xbf16>, tensor<8x3x96xbf16>
}

// The key is read as the query, too, so its channels would move on twice.
// CHECK-LABEL: func.func @channels_twice
// CHECK-COUNT-2: hk.launch @
// CHECK-NOT: hk.launch @
// CHECK: return
// EXPLAIN-DAG: not fused (unsupported-shape): hk.gated_delta_rule / take in hk.causal_conv1d: hk.causal_conv1d has channels that query, key and value read twice or not at all
func.func @channels_twice(%x: tensor<?x1x64xbf16>, %w: tensor<64x4xbf16>, %c: tensor<8x3x64xbf16> {hk.state}) -> (tensor<?x1x2x16xbf16>, tensor<8x3x64xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1x64xbf16>
  %y, %c1 = hk.causal_conv1d channel_last %x, %w state %c : tensor<?x1x64xbf16>, tensor<64x4xbf16> state tensor<8x3x64xbf16> -> tensor<?x1x64xbf16>, tensor<8x3x64xbf16>
  %k0 = tensor.extract_slice %y[0, 0, 0] [%n, 1, 32] [1, 1, 1] : tensor<?x1x64xbf16> to tensor<?x1x32xbf16>
  %k = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [%n, 1, 1, 32] : tensor<?x1x32xbf16> into tensor<?x1x1x32xbf16>
  %v0 = tensor.extract_slice %y[0, 0, 32] [%n, 1, 32] [1, 1, 1] : tensor<?x1x64xbf16> to tensor<?x1x32xbf16>
  %v = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [%n, 1, 2, 16] : tensor<?x1x32xbf16> into tensor<?x1x2x16xbf16>
  %o = hk.gated_delta_rule %k, %k, %v : tensor<?x1x1x32xbf16>, tensor<?x1x1x32xbf16>, tensor<?x1x2x16xbf16> -> tensor<?x1x2x16xbf16>
  return %o, %c1 : tensor<?x1x2x16xbf16>, tensor<8x3x64xbf16>
}
