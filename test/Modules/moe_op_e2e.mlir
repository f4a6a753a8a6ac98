// A layer of experts: both products, the gate between them and the sum over the experts of
// a token, in the order of the slots; with routing in front of it in @routed. Launches: the
// product with its gate, the second product, the router's weight (its column is a view of
// which a product's epilogue cannot tell the rows), the sum; in @routed two more, top-k with
// softmax, and the order with the bounds.
// HK-LAUNCHES: 6
// HK-DIMS: x.0=1 weights.0=1 logits.0=1 sorted.0=32 experts.0=2
// HK-DIMS: x.0=7 weights.0=7 logits.0=7 sorted.0=80 experts.0=5
// HK-DIMS: x.0=64 weights.0=64 logits.0=64 sorted.0=176 experts.0=11
// HK-DIMS: x.0=0 weights.0=0 logits.0=0 sorted.0=0 experts.0=0
// HK-DIMS: x.0=7 weights.0=7 logits.0=7 sorted.0=64 experts.0=4 --range=experts=-1:3

func.func @bf16(%x: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %weights: tensor<?x2xf32> {hk.dims = ["T", "_"]}, %w1: tensor<4x128x72xbf16>, %w2: tensor<4x72x64xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x72xbf16> {
  %h = hk.grouped_matmul %x, %w1 blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x128x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x128xbf16>
  %g = hk.gated_activation silu %h : tensor<?x128xbf16> -> tensor<?x64xbf16>
  %y = hk.grouped_matmul %g, %w2 blocks %experts order %sorted transpose_b block 16 : tensor<?x64xbf16>, tensor<4x72x64xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x72xf32>
  %c0 = arith.constant 0 : index
  %flat = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %column = tensor.expand_shape %flat [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %z = hk.mul %y, %column : tensor<?x72xf32>, tensor<?x1xf32>
  %t = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %s = tensor.expand_shape %z [[0, 1], [2]] output_shape [%t, 2, 72] : tensor<?x72xf32> into tensor<?x2x72xf32>
  %p = hk.transpose %s [1, 0, 2] : tensor<?x2x72xf32> -> tensor<2x?x72xf32>
  %o = hk.sum_slices %p : tensor<2x?x72xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @f32(%x: tensor<?x24xf32> {hk.dims = ["T", "_"]}, %weights: tensor<?x2xf32> {hk.dims = ["T", "_"]}, %w1: tensor<4x64x24xf32>, %w2: tensor<4x24x32xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x24xf32> {
  %h = hk.grouped_matmul %x, %w1 blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.gated_activation silu %h : tensor<?x64xf32> -> tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 blocks %experts order %sorted transpose_b block 16 : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x24xf32>
  %c0 = arith.constant 0 : index
  %flat = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %column = tensor.expand_shape %flat [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %z = hk.mul %y, %column : tensor<?x24xf32>, tensor<?x1xf32>
  %t = tensor.dim %x, %c0 : tensor<?x24xf32>
  %s = tensor.expand_shape %z [[0, 1], [2]] output_shape [%t, 2, 24] : tensor<?x24xf32> into tensor<?x2x24xf32>
  %p = hk.transpose %s [1, 0, 2] : tensor<?x2x24xf32> -> tensor<2x?x24xf32>
  %o = hk.sum_slices %p : tensor<2x?x24xf32> -> tensor<?x24xf32>
  return %o : tensor<?x24xf32>
}
// From the router's logits; the second product's rows lie as their experts do.
func.func @routed(%x: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %logits: tensor<?x8xf32> {hk.dims = ["T", "_"]}, %w1: tensor<8x128x72xbf16>, %w2: tensor<8x72x64xbf16>) -> tensor<?x72xbf16> {
  %v, %ids = hk.topk %logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %weights = hk.softmax %v : tensor<?x2xf32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<8xi32>
  %order, %position = hk.sort_by_key %keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %offsets = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %offsets order %order transpose_b top_k 2 : tensor<?x72xbf16>, tensor<8x128x72xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x128xbf16>
  %g = hk.gated_activation silu %h : tensor<?x128xbf16> -> tensor<?x64xbf16>
  %y = hk.grouped_matmul %g, %w2 bounds %offsets transpose_b : tensor<?x64xbf16>, tensor<8x72x64xbf16> groups tensor<9xi32> -> tensor<?x72xf32>
  %flat = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %sorted = hk.gather_rows %flat, %order : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %column = tensor.expand_shape %sorted [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %m = hk.mul %y, %column : tensor<?x72xf32>, tensor<?x1xf32>
  %p = hk.gather_rows %m, %position : tensor<?x72xf32>, tensor<?xi32> -> tensor<?x72xf32>
  %t = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %s = tensor.expand_shape %p [[0, 1], [2]] output_shape [%t, 2, 72] : tensor<?x72xf32> into tensor<?x2x72xf32>
  %q = hk.transpose %s [1, 0, 2] : tensor<?x2x72xf32> -> tensor<2x?x72xf32>
  %o = hk.sum_slices %q : tensor<2x?x72xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
