// Qwen3-Next's sizes: 16 key heads, 32 value heads, 128 keys and values.
func.func @decode(%q: tensor<?x1x16x128xbf16> {hk.name = "q"}, %k: tensor<?x1x16x128xbf16> {hk.name = "k"}, %v: tensor<?x1x32x128xbf16> {hk.name = "v"}, %a: tensor<?x1x32xf32> {hk.name = "a"}, %b: tensor<?x1x32xf32> {hk.name = "b"}, %s: tensor<?x32x128x128xf32> {hk.name = "s", hk.state}) -> (tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>) {
  %m = hk.abs %a : tensor<?x1x32xf32>
  %g = hk.neg %m : tensor<?x1x32xf32>
  %beta = hk.sigmoid %b : tensor<?x1x32xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s l2norm 1.0e-06 : tensor<?x1x16x128xbf16>, tensor<?x1x16x128xbf16>, tensor<?x1x32x128xbf16> decay tensor<?x1x32xf32> beta tensor<?x1x32xf32> state tensor<?x32x128x128xf32> -> tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>
  return %o, %s1 : tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>
}
func.func @prefill(%q: tensor<1x?x16x128xbf16> {hk.name = "q"}, %k: tensor<1x?x16x128xbf16> {hk.name = "k"}, %v: tensor<1x?x32x128xbf16> {hk.name = "v"}, %a: tensor<1x?x32xf32> {hk.name = "a"}, %b: tensor<1x?x32xf32> {hk.name = "b"}, %s: tensor<1x32x128x128xf32> {hk.name = "s", hk.state}) -> (tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>) {
  %m = hk.abs %a : tensor<1x?x32xf32>
  %g = hk.neg %m : tensor<1x?x32xf32>
  %beta = hk.sigmoid %b : tensor<1x?x32xf32>
  %qn = hk.l2_norm %q epsilon 1.0e-06 : tensor<1x?x16x128xbf16>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x16x128xbf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x32xf32>
  %kkt = hk.chunk_kkt %kn decay %sum beta %beta chunk 64 : tensor<1x?x16x128xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x32x64xf32> -> tensor<1x?x32x64xbf16>
  %w, %u = hk.chunk_wu %kn, %v, %x decay %sum beta %beta : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x64xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16>
  %h, %v1, %s1 = hk.chunk_state %kn, %w, %u decay %sum state %s chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16> decay tensor<1x?x32xf32> state tensor<1x32x128x128xf32> -> tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>
  %o = hk.chunk_output %qn, %kn, %v1, %h decay %sum chunk 64 : tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128x128xbf16> decay tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>
  return %o, %s1 : tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>
}
// 2 key heads, 8 value heads: what one of several devices has of such a layer.
func.func @prefill8(%q: tensor<1x?x2x128xbf16> {hk.name = "q"}, %k: tensor<1x?x2x128xbf16> {hk.name = "k"}, %v: tensor<1x?x8x128xbf16> {hk.name = "v"}, %a: tensor<1x?x8xf32> {hk.name = "a"}, %b: tensor<1x?x8xf32> {hk.name = "b"}, %s: tensor<1x8x128x128xf32> {hk.name = "s", hk.state}) -> (tensor<1x?x8x128xbf16>, tensor<1x8x128x128xf32>) {
  %m = hk.abs %a : tensor<1x?x8xf32>
  %g = hk.neg %m : tensor<1x?x8xf32>
  %beta = hk.sigmoid %b : tensor<1x?x8xf32>
  %qn = hk.l2_norm %q epsilon 1.0e-06 : tensor<1x?x2x128xbf16>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x2x128xbf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x8xf32>
  %kkt = hk.chunk_kkt %kn decay %sum beta %beta chunk 64 : tensor<1x?x2x128xbf16> decay tensor<1x?x8xf32> beta tensor<1x?x8xf32> -> tensor<1x?x8x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x8x64xf32> -> tensor<1x?x8x64xbf16>
  %w, %u = hk.chunk_wu %kn, %v, %x decay %sum beta %beta : tensor<1x?x2x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x?x8x64xbf16> decay tensor<1x?x8xf32> beta tensor<1x?x8xf32> -> tensor<1x?x8x128xbf16>, tensor<1x?x8x128xbf16>
  %h, %v1, %s1 = hk.chunk_state %kn, %w, %u decay %sum state %s chunk 64 : tensor<1x?x2x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x?x8x128xbf16> decay tensor<1x?x8xf32> state tensor<1x8x128x128xf32> -> tensor<1x?x8x128x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x8x128x128xf32>
  %o = hk.chunk_output %qn, %kn, %v1, %h decay %sum chunk 64 : tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x?x8x128x128xbf16> decay tensor<1x?x8xf32> -> tensor<1x?x8x128xbf16>
  return %o, %s1 : tensor<1x?x8x128xbf16>, tensor<1x8x128x128xf32>
}
// A step of the layer from its projections to the gated norm: split, convolution with its state,
// gates, recurrence, norm.
func.func @decode_layer(%x: tensor<?x12288xbf16> {hk.name = "x"}, %ba: tensor<?x64xbf16> {hk.name = "ba"}, %w: tensor<8192x4xbf16>, %alog: tensor<32xf32>, %dt: tensor<32xf32>, %norm: tensor<128xbf16>, %cs: tensor<?x3x8192xbf16> {hk.name = "c", hk.state}, %s: tensor<?x32x128x128xf32> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x32x128xbf16>, tensor<?x3x8192xbf16>, tensor<?x32x128x128xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ba, %c0 : tensor<?x64xbf16>
  %h = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 16, 768] : tensor<?x12288xbf16> into tensor<?x16x768xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%n, 16, 128] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x128xbf16>
  %q1 = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x16x128xbf16> into tensor<?x2048xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 128] [%n, 16, 128] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x128xbf16>
  %k1 = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x16x128xbf16> into tensor<?x2048xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 256] [%n, 16, 256] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x256xbf16>
  %v1 = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x16x256xbf16> into tensor<?x4096xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 512] [%n, 16, 256] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x256xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x16x256xbf16> into tensor<?x4096xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%n, 32, 128] : tensor<?x4096xbf16> into tensor<?x32x128xbf16>
  %mixed = hk.concat 1 (%q1, %k1, %v1) : tensor<?x2048xbf16>, tensor<?x2048xbf16>, tensor<?x4096xbf16> -> tensor<?x8192xbf16>
  %x3 = tensor.expand_shape %mixed [[0, 1], [2]] output_shape [%n, 1, 8192] : tensor<?x8192xbf16> into tensor<?x1x8192xbf16>
  %conv, %cs1 = hk.causal_conv1d channel_last %x3, %w state %cs indices %line : tensor<?x1x8192xbf16>, tensor<8192x4xbf16> state tensor<?x3x8192xbf16> indices tensor<?xi32> -> tensor<?x1x8192xf32>, tensor<?x3x8192xbf16>
  %act = hk.silu %conv : tensor<?x1x8192xf32> -> tensor<?x1x8192xbf16>
  %qs = tensor.extract_slice %act[0, 0, 0] [%n, 1, 2048] [1, 1, 1] : tensor<?x1x8192xbf16> to tensor<?x1x2048xbf16>
  %q = tensor.expand_shape %qs [[0], [1], [2, 3]] output_shape [%n, 1, 16, 128] : tensor<?x1x2048xbf16> into tensor<?x1x16x128xbf16>
  %ks = tensor.extract_slice %act[0, 0, 2048] [%n, 1, 2048] [1, 1, 1] : tensor<?x1x8192xbf16> to tensor<?x1x2048xbf16>
  %k = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [%n, 1, 16, 128] : tensor<?x1x2048xbf16> into tensor<?x1x16x128xbf16>
  %vs = tensor.extract_slice %act[0, 0, 4096] [%n, 1, 4096] [1, 1, 1] : tensor<?x1x8192xbf16> to tensor<?x1x4096xbf16>
  %v = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [%n, 1, 32, 128] : tensor<?x1x4096xbf16> into tensor<?x1x32x128xbf16>
  %g0 = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%n, 16, 4] : tensor<?x64xbf16> into tensor<?x16x4xbf16>
  %b0 = tensor.extract_slice %g0[0, 0, 0] [%n, 16, 2] [1, 1, 1] : tensor<?x16x4xbf16> to tensor<?x16x2xbf16>
  %b1 = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x16x2xbf16> into tensor<?x32xbf16>
  %b = tensor.expand_shape %b1 [[0, 1], [2]] output_shape [%n, 1, 32] : tensor<?x32xbf16> into tensor<?x1x32xbf16>
  %a0 = tensor.extract_slice %g0[0, 0, 2] [%n, 16, 2] [1, 1, 1] : tensor<?x16x4xbf16> to tensor<?x16x2xbf16>
  %a1 = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x16x2xbf16> into tensor<?x32xbf16>
  %a = tensor.expand_shape %a1 [[0, 1], [2]] output_shape [%n, 1, 32] : tensor<?x32xbf16> into tensor<?x1x32xbf16>
  %e = hk.exp %alog : tensor<32xf32>
  %m = hk.neg %e : tensor<32xf32>
  %p = hk.add %a, %dt : tensor<?x1x32xbf16>, tensor<32xf32> -> tensor<?x1x32xf32>
  %sp = hk.softplus %p : tensor<?x1x32xf32>
  %g = hk.mul %m, %sp : tensor<32xf32>, tensor<?x1x32xf32> -> tensor<?x1x32xf32>
  %beta = hk.sigmoid %b : tensor<?x1x32xbf16> -> tensor<?x1x32xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line l2norm 1.0e-06 : tensor<?x1x16x128xbf16>, tensor<?x1x16x128xbf16>, tensor<?x1x32x128xbf16> decay tensor<?x1x32xf32> beta tensor<?x1x32xf32> state tensor<?x32x128x128xf32> indices tensor<?xi32> -> tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>
  %rows = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<?x1x32x128xbf16> into tensor<?x32x128xbf16>
  %y = hk.rms_norm %rows, %norm epsilon 1.0e-06 : tensor<?x32x128xbf16>, tensor<128xbf16> -> tensor<?x32x128xf32>
  %gate = hk.silu %z : tensor<?x32x128xbf16> -> tensor<?x32x128xf32>
  %r = hk.mul %y, %gate : tensor<?x32x128xf32> -> tensor<?x32x128xbf16>
  return %r, %cs1, %s1 : tensor<?x32x128xbf16>, tensor<?x3x8192xbf16>, tensor<?x32x128x128xf32>
}
