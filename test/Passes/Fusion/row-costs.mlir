// The cost of a group is drafted in a kernel of its own, which does not know sizes that are
// computed around it (%t): two operators that have as many rows in the function may then have
// rows of their own. Such a draft has no cost, the group is not refused for it.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --canonicalize --cse --hk-guard-views --hk-normalize --hk-fuse | FileCheck %s

// The sum over the experts of a token is one kernel.
// CHECK: hk.grouped_matmul
// CHECK: hk.grouped_matmul
// CHECK: hk.fused {{ *}}rowwise
// CHECK-COUNT-2: hk.gather_rows
// CHECK: hk.add
// CHECK-NOT: hk.fused
func.func @bounds(%x: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %logits: tensor<?x8xf32> {hk.dims = ["T", "_"]}, %w1: tensor<8x128x72xbf16>, %w2: tensor<8x72x64xbf16>, %r: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %nw: tensor<72xbf16>) -> tensor<?x72xbf16> {
  %v, %ids = hk.topk %logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<8xi32>
  %order, %position = hk.sort_by_key %keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %offsets = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %offsets order %order transpose_b top_k 2 : tensor<?x72xbf16>, tensor<8x128x72xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x128xbf16>
  %g = hk.gated_activation silu %h : tensor<?x128xbf16> -> tensor<?x64xbf16>
  %y = hk.grouped_matmul %g, %w2 bounds %offsets transpose_b : tensor<?x64xbf16>, tensor<8x72x64xbf16> groups tensor<9xi32> -> tensor<?x72xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %pos = tensor.expand_shape %position [[0, 1]] output_shape [%t, 2] : tensor<?xi32> into tensor<?x2xi32>
  %p0 = tensor.extract_slice %pos[0, 0] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %p1 = tensor.extract_slice %pos[0, 1] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %w0 = tensor.extract_slice %v[0, 0] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %w1s = tensor.extract_slice %v[0, 1] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %y0 = hk.gather_rows %y, %p0 : tensor<?x72xf32>, tensor<?xi32> -> tensor<?x72xf32>
  %y1 = hk.gather_rows %y, %p1 : tensor<?x72xf32>, tensor<?xi32> -> tensor<?x72xf32>
  %m0 = hk.mul %y0, %w0 : tensor<?x72xf32>, tensor<?x1xf32>
  %m1 = hk.mul %y1, %w1s : tensor<?x72xf32>, tensor<?x1xf32>
  %s = hk.add %m0, %m1 : tensor<?x72xf32>
  %o = hk.cast %s : tensor<?x72xf32> -> tensor<?x72xbf16>
  %u = hk.add %o, %r : tensor<?x72xbf16>
  return %u : tensor<?x72xbf16>
}
