// A layer of experts: both products, the gate between them and the sum over the experts of
// a token, in the order of the slots; with routing in front of it in @routed. Launches: the
// product with its gate, the second product with the router's weight, the sum over slots that a
// transpose puts in front; in @routed two more, top-k with softmax, and the order with the bounds.
// HK-LAUNCHES: 5 @bf16=3 @f32=3
// HK-DIMS: x.0=1 weights.0=1 logits.0=1 r.0=1 sorted.0=32 experts.0=2
// HK-DIMS: x.0=7 weights.0=7 logits.0=7 r.0=7 sorted.0=80 experts.0=5
// HK-DIMS: x.0=64 weights.0=64 logits.0=64 r.0=64 sorted.0=176 experts.0=11
// HK-DIMS: x.0=0 weights.0=0 logits.0=0 r.0=0 sorted.0=0 experts.0=0
// HK-DIMS: x.0=7 weights.0=7 logits.0=7 r.0=7 sorted.0=64 experts.0=4 --range=experts=-1:3

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
// As models are imported (python/hk/torch/_experts.py): both products in the order of the experts,
// and the weighted sum over the experts of a token, the residual and the next norm in one kernel,
// which finds the rows by their places: five launches.
func.func @summed(%x: tensor<?x72xbf16> {hk.name = "x", hk.dims = ["T", "_"]}, %logits: tensor<?x8xf32> {hk.name = "logits", hk.dims = ["T", "_"]}, %w1: tensor<8x128x72xbf16>, %w2: tensor<8x72x64xbf16>, %r: tensor<?x72xbf16> {hk.name = "r", hk.dims = ["T", "_"]}, %nw: tensor<72xbf16>) -> (tensor<?x72xbf16>, tensor<?x72xbf16>) {
  %v, %ids = hk.topk %logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %weights = hk.softmax %v : tensor<?x2xf32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<8xi32>
  %order, %place = hk.sort_by_key %keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %bounds = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x72xbf16>, tensor<8x128x72xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x128xbf16>
  %g = hk.gated_activation silu %h : tensor<?x128xbf16> -> tensor<?x64xbf16>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x64xbf16>, tensor<8x72x64xbf16> groups tensor<9xi32> -> tensor<?x72xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x72xbf16>
  %places = tensor.expand_shape %place [[0, 1]] output_shape [%t, 2] : tensor<?xi32> into tensor<?x2xi32>
  %p0 = tensor.extract_slice %places[0, 0] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %s0 = tensor.extract_slice %weights[0, 0] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %y0 = hk.gather_rows %y, %p0 : tensor<?x72xf32>, tensor<?xi32> -> tensor<?x72xf32>
  %m0 = hk.mul %y0, %s0 : tensor<?x72xf32>, tensor<?x1xf32>
  %p1 = tensor.extract_slice %places[0, 1] [%t, 1] [1, 1] : tensor<?x2xi32> to tensor<?xi32>
  %s1 = tensor.extract_slice %weights[0, 1] [%t, 1] [1, 1] : tensor<?x2xf32> to tensor<?x1xf32>
  %y1 = hk.gather_rows %y, %p1 : tensor<?x72xf32>, tensor<?xi32> -> tensor<?x72xf32>
  %m1 = hk.mul %y1, %s1 : tensor<?x72xf32>, tensor<?x1xf32>
  %a1 = hk.add %m0, %m1 : tensor<?x72xf32>
  %o = hk.cast %a1 : tensor<?x72xf32> -> tensor<?x72xbf16>
  %u = hk.add %o, %r : tensor<?x72xbf16>
  %n = hk.rms_norm %u, %nw epsilon 1.0e-05 : tensor<?x72xbf16>, tensor<72xbf16>
  return %u, %n : tensor<?x72xbf16>, tensor<?x72xbf16>
}
// GPT-OSS: four experts, biases, a gate of clamped neighbours.
func.func @summed_biased(%x: tensor<?x64xf16> {hk.name = "x", hk.dims = ["T", "_"]}, %logits: tensor<?x8xf32> {hk.name = "logits", hk.dims = ["T", "_"]}, %w1: tensor<8x96x64xf16>, %w2: tensor<8x64x48xf16>, %b1: tensor<8x96xf16>, %b2: tensor<8x64xf16>, %r: tensor<?x64xf16> {hk.name = "r", hk.dims = ["T", "_"]}, %nw: tensor<64xf16>) -> (tensor<?x64xf16>, tensor<?x64xf16>) {
  %v, %ids = hk.topk %logits : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %weights = hk.softmax %v : tensor<?x4xf32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<8xi32>
  %order, %place = hk.sort_by_key %keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %bounds = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order bias %b1 transpose_b top_k 4 : tensor<?x64xf16>, tensor<8x96x64xf16> groups tensor<9xi32> order tensor<?xi32> bias tensor<8x96xf16> -> tensor<?x96xf16>
  %g = hk.gated_activation swiglu_oai %h limit 7.0 interleaved : tensor<?x96xf16> -> tensor<?x48xf16>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds bias %b2 transpose_b : tensor<?x48xf16>, tensor<8x64x48xf16> groups tensor<9xi32> bias tensor<8x64xf16> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf16>
  %places = tensor.expand_shape %place [[0, 1]] output_shape [%t, 4] : tensor<?xi32> into tensor<?x4xi32>
  %p0 = tensor.extract_slice %places[0, 0] [%t, 1] [1, 1] : tensor<?x4xi32> to tensor<?xi32>
  %s0 = tensor.extract_slice %weights[0, 0] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %y0 = hk.gather_rows %y, %p0 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %m0 = hk.mul %y0, %s0 : tensor<?x64xf32>, tensor<?x1xf32>
  %p1 = tensor.extract_slice %places[0, 1] [%t, 1] [1, 1] : tensor<?x4xi32> to tensor<?xi32>
  %s1 = tensor.extract_slice %weights[0, 1] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %y1 = hk.gather_rows %y, %p1 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %m1 = hk.mul %y1, %s1 : tensor<?x64xf32>, tensor<?x1xf32>
  %a1 = hk.add %m0, %m1 : tensor<?x64xf32>
  %p2 = tensor.extract_slice %places[0, 2] [%t, 1] [1, 1] : tensor<?x4xi32> to tensor<?xi32>
  %s2 = tensor.extract_slice %weights[0, 2] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %y2 = hk.gather_rows %y, %p2 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %m2 = hk.mul %y2, %s2 : tensor<?x64xf32>, tensor<?x1xf32>
  %a2 = hk.add %a1, %m2 : tensor<?x64xf32>
  %p3 = tensor.extract_slice %places[0, 3] [%t, 1] [1, 1] : tensor<?x4xi32> to tensor<?xi32>
  %s3 = tensor.extract_slice %weights[0, 3] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %y3 = hk.gather_rows %y, %p3 : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %m3 = hk.mul %y3, %s3 : tensor<?x64xf32>, tensor<?x1xf32>
  %a3 = hk.add %a2, %m3 : tensor<?x64xf32>
  %o = hk.cast %a3 : tensor<?x64xf32> -> tensor<?x64xf16>
  %u = hk.add %o, %r : tensor<?x64xf16>
  %n = hk.rms_norm %u, %nw epsilon 1.0e-05 : tensor<?x64xf16>, tensor<64xf16>
  return %u, %n : tensor<?x64xf16>, tensor<?x64xf16>
}
