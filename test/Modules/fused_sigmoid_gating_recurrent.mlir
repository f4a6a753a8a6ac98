// Gates and recurrence of a gated delta rule layer in one launch: g = -e^A_log *
// softplus(a + dt_bias), beta = sigmoid(b), query and key normalised, states in a pool;
// a line outside of it is padding.
// HK-LAUNCHES: 1
// HK-ARGS: --range=has_initial=0:1
// HK-DIMS: q.0=3 k.0=3 v.0=3 a.0=3 b.0=3 x.0=3 ba.0=3 z.0=3 has_initial.0=3 line.0=3 --range=line=iota:-1 cu.0=3 --range=cu=bounds:3
// HK-DIMS: q.0=1 k.0=1 v.0=1 a.0=1 b.0=1 x.0=1 ba.0=1 z.0=1 has_initial.0=1 line.0=1 --range=line=2:2 cu.0=2 --range=cu=bounds:1
// HK-DIMS: q.0=0 k.0=0 v.0=0 a.0=0 b.0=0 x.0=0 ba.0=0 z.0=0 has_initial.0=0 line.0=0 cu.0=2 --range=cu=bounds:0
// HK-DATA: normal,equal,nan

// One token of every sequence; states of bf16, values before keys.
func.func @decode(%q: tensor<?x1x2x64xbf16> {hk.name = "q"}, %k: tensor<?x1x2x64xbf16> {hk.name = "k"}, %v: tensor<?x1x4x64xbf16> {hk.name = "v"}, %a: tensor<?x1x4xbf16> {hk.name = "a"}, %b: tensor<?x1x4xbf16> {hk.name = "b"}, %alog: tensor<4xf32>, %dt: tensor<4xbf16>, %s: tensor<5x4x64x64xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x1x4x64xbf16>, tensor<5x4x64x64xbf16>) {
  %one = hk.constant 1.0 : tensor<f32>
  %threshold = hk.constant 20.0 : tensor<f32>
  %e = hk.exp %alog : tensor<4xf32>
  %n = hk.neg %e : tensor<4xf32>
  %x = hk.add %a, %dt : tensor<?x1x4xbf16>, tensor<4xbf16> -> tensor<?x1x4xf32>
  %ex = hk.exp %x : tensor<?x1x4xf32>
  %p = hk.add %ex, %one : tensor<?x1x4xf32>, tensor<f32>
  %l = hk.log %p : tensor<?x1x4xf32>
  %c = hk.compare le %x, %threshold : tensor<?x1x4xf32>, tensor<f32> -> tensor<?x1x4xi1>
  %sp = hk.select %c, %l, %x : tensor<?x1x4xi1>, tensor<?x1x4xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %g = hk.mul %n, %sp : tensor<4xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %beta = hk.sigmoid %b : tensor<?x1x4xbf16> -> tensor<?x1x4xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line state_layout value_major l2norm 1.0e-06 : tensor<?x1x2x64xbf16>, tensor<?x1x2x64xbf16>, tensor<?x1x4x64xbf16> decay tensor<?x1x4xf32> beta tensor<?x1x4xf32> state tensor<5x4x64x64xbf16> indices tensor<?xi32> -> tensor<?x1x4x64xbf16>, tensor<5x4x64x64xbf16>
  return %o, %s1 : tensor<?x1x4x64xbf16>, tensor<5x4x64x64xbf16>
}
// Several tokens, f32 states, keys before values.
func.func @three_tokens(%q: tensor<?x3x1x32xf16> {hk.name = "q"}, %k: tensor<?x3x1x32xf16> {hk.name = "k"}, %v: tensor<?x3x2x16xf16> {hk.name = "v"}, %a: tensor<?x3x2xf16> {hk.name = "a"}, %b: tensor<?x3x2xf16> {hk.name = "b"}, %alog: tensor<2xf32>, %s: tensor<5x2x32x16xf32> {hk.name = "s", hk.state}, %line: tensor<?xi64> {hk.name = "line"}) -> (tensor<?x3x2x16xf16>, tensor<5x2x32x16xf32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %e = hk.exp %alog : tensor<2xf32>
  %n = hk.neg %e : tensor<2xf32>
  %ex = hk.exp %a : tensor<?x3x2xf16> -> tensor<?x3x2xf32>
  %p = hk.add %ex, %one : tensor<?x3x2xf32>, tensor<f32>
  %l = hk.log %p : tensor<?x3x2xf32>
  %g = hk.mul %n, %l : tensor<2xf32>, tensor<?x3x2xf32> -> tensor<?x3x2xf32>
  %beta = hk.sigmoid %b : tensor<?x3x2xf16> -> tensor<?x3x2xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line l2norm 1.0e-06 : tensor<?x3x1x32xf16>, tensor<?x3x1x32xf16>, tensor<?x3x2x16xf16> decay tensor<?x3x2xf32> beta tensor<?x3x2xf32> state tensor<5x2x32x16xf32> indices tensor<?xi64> -> tensor<?x3x2x16xf16>, tensor<5x2x32x16xf32>
  return %o, %s1 : tensor<?x3x2x16xf16>, tensor<5x2x32x16xf32>
}
// From the projections to the gated norm: columns of a key head are its query, key, values and
// gates; convolution with its state, gates, recurrence, norm.
func.func @from_projections(%x: tensor<?x768xbf16> {hk.name = "x"}, %ba: tensor<?x8xbf16> {hk.name = "ba"}, %w: tensor<512x4xbf16>, %alog: tensor<4xf32>, %dt: tensor<4xf32>, %norm: tensor<64xbf16>, %cs: tensor<5x3x512xbf16> {hk.name = "c", hk.state}, %s: tensor<5x4x64x64xf32> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x4x64xbf16>, tensor<5x3x512xbf16>, tensor<5x4x64x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ba, %c0 : tensor<?x8xbf16>
  %h = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 384] : tensor<?x768xbf16> into tensor<?x2x384xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%n, 2, 64] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x64xbf16>
  %q1 = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 64] [%n, 2, 64] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x64xbf16>
  %k1 = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 128] [%n, 2, 128] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x128xbf16>
  %v1 = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x2x128xbf16> into tensor<?x256xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 256] [%n, 2, 128] [1, 1, 1] : tensor<?x2x384xbf16> to tensor<?x2x128xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x2x128xbf16> into tensor<?x256xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%n, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %mixed = hk.concat 1 (%q1, %k1, %v1) : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x256xbf16> -> tensor<?x512xbf16>
  %x3 = tensor.expand_shape %mixed [[0, 1], [2]] output_shape [%n, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
  %conv, %cs1 = hk.causal_conv1d channel_last %x3, %w state %cs indices %line : tensor<?x1x512xbf16>, tensor<512x4xbf16> state tensor<5x3x512xbf16> indices tensor<?xi32> -> tensor<?x1x512xf32>, tensor<5x3x512xbf16>
  %act = hk.silu %conv : tensor<?x1x512xf32> -> tensor<?x1x512xbf16>
  %qs = tensor.extract_slice %act[0, 0, 0] [%n, 1, 128] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x128xbf16>
  %q = tensor.expand_shape %qs [[0], [1], [2, 3]] output_shape [%n, 1, 2, 64] : tensor<?x1x128xbf16> into tensor<?x1x2x64xbf16>
  %ks = tensor.extract_slice %act[0, 0, 128] [%n, 1, 128] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x128xbf16>
  %k = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [%n, 1, 2, 64] : tensor<?x1x128xbf16> into tensor<?x1x2x64xbf16>
  %vs = tensor.extract_slice %act[0, 0, 256] [%n, 1, 256] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x256xbf16>
  %v = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [%n, 1, 4, 64] : tensor<?x1x256xbf16> into tensor<?x1x4x64xbf16>
  %g0 = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%n, 2, 4] : tensor<?x8xbf16> into tensor<?x2x4xbf16>
  %b0 = tensor.extract_slice %g0[0, 0, 0] [%n, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %b1 = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %b = tensor.expand_shape %b1 [[0, 1], [2]] output_shape [%n, 1, 4] : tensor<?x4xbf16> into tensor<?x1x4xbf16>
  %a0 = tensor.extract_slice %g0[0, 0, 2] [%n, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %a1 = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %a = tensor.expand_shape %a1 [[0, 1], [2]] output_shape [%n, 1, 4] : tensor<?x4xbf16> into tensor<?x1x4xbf16>
  %e = hk.exp %alog : tensor<4xf32>
  %m = hk.neg %e : tensor<4xf32>
  %p = hk.add %a, %dt : tensor<?x1x4xbf16>, tensor<4xf32> -> tensor<?x1x4xf32>
  %sp = hk.softplus %p : tensor<?x1x4xf32>
  %g = hk.mul %m, %sp : tensor<4xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %beta = hk.sigmoid %b : tensor<?x1x4xbf16> -> tensor<?x1x4xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line l2norm 1.0e-06 : tensor<?x1x2x64xbf16>, tensor<?x1x2x64xbf16>, tensor<?x1x4x64xbf16> decay tensor<?x1x4xf32> beta tensor<?x1x4xf32> state tensor<5x4x64x64xf32> indices tensor<?xi32> -> tensor<?x1x4x64xbf16>, tensor<5x4x64x64xf32>
  %rows = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<?x1x4x64xbf16> into tensor<?x4x64xbf16>
  %y = hk.rms_norm %rows, %norm epsilon 1.0e-06 : tensor<?x4x64xbf16>, tensor<64xbf16> -> tensor<?x4x64xf32>
  %gate = hk.silu %z : tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
  %r = hk.mul %y, %gate : tensor<?x4x64xf32> -> tensor<?x4x64xbf16>
  return %r, %cs1, %s1 : tensor<?x4x64xbf16>, tensor<5x3x512xbf16>, tensor<5x4x64x64xf32>
}
// Three value heads a key head, values before queries, a long state, a bias, padding, fresh
// sequences; the result is quantised by heads.
func.func @to_codes(%x: tensor<?x224xbf16> {hk.name = "x"}, %z: tensor<?x6x16xbf16> {hk.name = "z"}, %ba: tensor<?x12xbf16> {hk.name = "ba"}, %w: tensor<224x3xbf16>, %bias: tensor<224xbf16>, %alog: tensor<6xf32>, %dt: tensor<6xf32>, %norm: tensor<16xbf16>, %cs: tensor<5x5x224xbf16> {hk.name = "c", hk.state}, %s: tensor<5x6x16x32xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}, %has: tensor<?xi1> {hk.name = "has_initial"}) -> (tensor<?x96xf8E4M3FNUZ>, tensor<?x6xf32>, tensor<5x5x224xbf16>, tensor<5x6x16x32xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ba, %c0 : tensor<?x12xbf16>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, 1, 224] : tensor<?x224xbf16> into tensor<?x1x224xbf16>
  %conv, %cs1 = hk.causal_conv1d channel_last %x3, %w bias %bias state %cs indices %line has_initial %has pad_slot 1 : tensor<?x1x224xbf16>, tensor<224x3xbf16> bias tensor<224xbf16> state tensor<5x5x224xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x1x224xf32>, tensor<5x5x224xbf16>
  %act = hk.silu %conv : tensor<?x1x224xf32> -> tensor<?x1x224xbf16>
  %vs = tensor.extract_slice %act[0, 0, 0] [%n, 1, 96] [1, 1, 1] : tensor<?x1x224xbf16> to tensor<?x1x96xbf16>
  %v = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [%n, 1, 6, 16] : tensor<?x1x96xbf16> into tensor<?x1x6x16xbf16>
  %qs = tensor.extract_slice %act[0, 0, 96] [%n, 1, 64] [1, 1, 1] : tensor<?x1x224xbf16> to tensor<?x1x64xbf16>
  %q = tensor.expand_shape %qs [[0], [1], [2, 3]] output_shape [%n, 1, 2, 32] : tensor<?x1x64xbf16> into tensor<?x1x2x32xbf16>
  %ks = tensor.extract_slice %act[0, 0, 160] [%n, 1, 64] [1, 1, 1] : tensor<?x1x224xbf16> to tensor<?x1x64xbf16>
  %k = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [%n, 1, 2, 32] : tensor<?x1x64xbf16> into tensor<?x1x2x32xbf16>
  %g0 = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%n, 2, 6] : tensor<?x12xbf16> into tensor<?x2x6xbf16>
  %b0 = tensor.extract_slice %g0[0, 0, 0] [%n, 2, 3] [1, 1, 1] : tensor<?x2x6xbf16> to tensor<?x2x3xbf16>
  %b1 = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x2x3xbf16> into tensor<?x6xbf16>
  %b = tensor.expand_shape %b1 [[0, 1], [2]] output_shape [%n, 1, 6] : tensor<?x6xbf16> into tensor<?x1x6xbf16>
  %a0 = tensor.extract_slice %g0[0, 0, 3] [%n, 2, 3] [1, 1, 1] : tensor<?x2x6xbf16> to tensor<?x2x3xbf16>
  %a1 = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x2x3xbf16> into tensor<?x6xbf16>
  %a = tensor.expand_shape %a1 [[0, 1], [2]] output_shape [%n, 1, 6] : tensor<?x6xbf16> into tensor<?x1x6xbf16>
  %e = hk.exp %alog : tensor<6xf32>
  %m = hk.neg %e : tensor<6xf32>
  %p = hk.add %a, %dt : tensor<?x1x6xbf16>, tensor<6xf32> -> tensor<?x1x6xf32>
  %sp = hk.softplus %p : tensor<?x1x6xf32>
  %g = hk.mul %m, %sp : tensor<6xf32>, tensor<?x1x6xf32> -> tensor<?x1x6xf32>
  %beta = hk.sigmoid %b : tensor<?x1x6xbf16> -> tensor<?x1x6xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line has_initial %has state_layout value_major l2norm 1.0e-06 : tensor<?x1x2x32xbf16>, tensor<?x1x2x32xbf16>, tensor<?x1x6x16xbf16> decay tensor<?x1x6xf32> beta tensor<?x1x6xf32> state tensor<5x6x16x32xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x1x6x16xbf16>, tensor<5x6x16x32xbf16>
  %rows = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<?x1x6x16xbf16> into tensor<?x6x16xbf16>
  %y = hk.rms_norm %rows, %norm epsilon 1.0e-06 : tensor<?x6x16xbf16>, tensor<16xbf16> -> tensor<?x6x16xf32>
  %gate = hk.silu %z : tensor<?x6x16xbf16> -> tensor<?x6x16xf32>
  %r = hk.mul %y, %gate : tensor<?x6x16xf32> -> tensor<?x6x16xbf16>
  %flat = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x6x16xbf16> into tensor<?x96xbf16>
  %codes, %scale = hk.quantize per_group %flat group 16 : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FNUZ>, tensor<?x6xf32>
  return %codes, %scale, %cs1, %s1 : tensor<?x96xf8E4M3FNUZ>, tensor<?x6xf32>, tensor<5x5x224xbf16>, tensor<5x6x16x32xbf16>
}
// Sizes that few lanes share.
func.func @f32_20_keys(%x: tensor<?x48xf32> {hk.name = "x"}, %z: tensor<?x1x8xf32> {hk.name = "z"}, %ba: tensor<?x2xf32> {hk.name = "ba"}, %w: tensor<48x2xf32>, %alog: tensor<1xf32>, %dt: tensor<1xf32>, %norm: tensor<8xf32>, %cs: tensor<5x1x48xf32> {hk.name = "c", hk.state}, %s: tensor<5x1x20x8xf32> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x1x8xf32>, tensor<5x1x48xf32>, tensor<5x1x20x8xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ba, %c0 : tensor<?x2xf32>
  %x3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, 1, 48] : tensor<?x48xf32> into tensor<?x1x48xf32>
  %conv, %cs1 = hk.causal_conv1d channel_last %x3, %w state %cs indices %line : tensor<?x1x48xf32>, tensor<48x2xf32> state tensor<5x1x48xf32> indices tensor<?xi32> -> tensor<?x1x48xf32>, tensor<5x1x48xf32>
  %act = hk.silu %conv : tensor<?x1x48xf32> -> tensor<?x1x48xf32>
  %vs = tensor.extract_slice %act[0, 0, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x1x48xf32> to tensor<?x1x8xf32>
  %v = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [%n, 1, 1, 8] : tensor<?x1x8xf32> into tensor<?x1x1x8xf32>
  %qs = tensor.extract_slice %act[0, 0, 8] [%n, 1, 20] [1, 1, 1] : tensor<?x1x48xf32> to tensor<?x1x20xf32>
  %q = tensor.expand_shape %qs [[0], [1], [2, 3]] output_shape [%n, 1, 1, 20] : tensor<?x1x20xf32> into tensor<?x1x1x20xf32>
  %ks = tensor.extract_slice %act[0, 0, 28] [%n, 1, 20] [1, 1, 1] : tensor<?x1x48xf32> to tensor<?x1x20xf32>
  %k = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [%n, 1, 1, 20] : tensor<?x1x20xf32> into tensor<?x1x1x20xf32>
  %g0 = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%n, 1, 2] : tensor<?x2xf32> into tensor<?x1x2xf32>
  %b0 = tensor.extract_slice %g0[0, 0, 0] [%n, 1, 1] [1, 1, 1] : tensor<?x1x2xf32> to tensor<?x1x1xf32>
  %b1 = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x1x1xf32> into tensor<?x1xf32>
  %b = tensor.expand_shape %b1 [[0, 1], [2]] output_shape [%n, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
  %a0 = tensor.extract_slice %g0[0, 0, 1] [%n, 1, 1] [1, 1, 1] : tensor<?x1x2xf32> to tensor<?x1x1xf32>
  %a1 = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x1x1xf32> into tensor<?x1xf32>
  %a = tensor.expand_shape %a1 [[0, 1], [2]] output_shape [%n, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
  %e = hk.exp %alog : tensor<1xf32>
  %m = hk.neg %e : tensor<1xf32>
  %p = hk.add %a, %dt : tensor<?x1x1xf32>, tensor<1xf32> -> tensor<?x1x1xf32>
  %sp = hk.softplus %p : tensor<?x1x1xf32>
  %g = hk.mul %m, %sp : tensor<1xf32>, tensor<?x1x1xf32> -> tensor<?x1x1xf32>
  %beta = hk.sigmoid %b : tensor<?x1x1xf32> -> tensor<?x1x1xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line l2norm 1.0e-06 : tensor<?x1x1x20xf32>, tensor<?x1x1x20xf32>, tensor<?x1x1x8xf32> decay tensor<?x1x1xf32> beta tensor<?x1x1xf32> state tensor<5x1x20x8xf32> indices tensor<?xi32> -> tensor<?x1x1x8xf32>, tensor<5x1x20x8xf32>
  %rows = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<?x1x1x8xf32> into tensor<?x1x8xf32>
  %y = hk.rms_norm %rows, %norm epsilon 1.0e-06 : tensor<?x1x8xf32>, tensor<8xf32> -> tensor<?x1x8xf32>
  %gate = hk.silu %z : tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  %r = hk.mul %y, %gate : tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  return %r, %cs1, %s1 : tensor<?x1x8xf32>, tensor<5x1x48xf32>, tensor<5x1x20x8xf32>
}
// Several tokens, ragged; a norm and a shape of its own follow.
func.func @ragged_norm(%q: tensor<?x1x32xf16> {hk.name = "q"}, %k: tensor<?x1x32xf16> {hk.name = "k"}, %v: tensor<?x2x128xf16> {hk.name = "v"}, %z: tensor<?x2x128xf16> {hk.name = "z"}, %b: tensor<?x2xf32> {hk.name = "b"}, %norm: tensor<128xf32>, %cu: tensor<?xi32> {hk.name = "cu"}) -> tensor<?x256xf16> {
  %o = hk.gated_delta_rule %q, %k, %v beta %b offsets %cu l2norm 1.0e-06 : tensor<?x1x32xf16>, tensor<?x1x32xf16>, tensor<?x2x128xf16> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x128xf16>
  %y = hk.rms_norm %o, %norm epsilon 1.0e-06 : tensor<?x2x128xf16>, tensor<128xf32> -> tensor<?x2x128xf32>
  %gate = hk.silu %z : tensor<?x2x128xf16> -> tensor<?x2x128xf32>
  %r = hk.mul %y, %gate : tensor<?x2x128xf32> -> tensor<?x2x128xf16>
  %flat = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x2x128xf16> into tensor<?x256xf16>
  %half = hk.constant 0.5 : tensor<f16>
  %s = hk.mul %flat, %half : tensor<?x256xf16>, tensor<f16>
  return %s : tensor<?x256xf16>
}
