// Gates and recurrence of a gated delta rule layer in one launch: g = -e^A_log *
// softplus(a + dt_bias), beta = sigmoid(b), query and key normalised, states in a pool;
// a line outside of it is padding.
// HK-LAUNCHES: 1
// HK-DIMS: q.0=3 k.0=3 v.0=3 a.0=3 b.0=3 line.0=3 --range=line=iota:-1
// HK-DIMS: q.0=1 k.0=1 v.0=1 a.0=1 b.0=1 line.0=1 --range=line=2:2
// HK-DIMS: q.0=0 k.0=0 v.0=0 a.0=0 b.0=0 line.0=0
// HK-DATA: normal,equal,nan

// One token of every sequence; states of bf16, values before keys.
func.func @decode(%q: tensor<?x1x2x64xbf16> {hk.name = "q"}, %k: tensor<?x1x2x64xbf16> {hk.name = "k"}, %v: tensor<?x1x4x64xbf16> {hk.name = "v"}, %a: tensor<?x1x4xbf16> {hk.name = "a"}, %b: tensor<?x1x4xbf16> {hk.name = "b"}, %alog: tensor<4xf32>, %dt: tensor<4xbf16>, %s: tensor<5x4x64x64xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x1x4x64xbf16>, tensor<5x4x64x64xbf16>) {
  %one = hk.constant dense<1.0> : tensor<f32>
  %threshold = hk.constant dense<20.0> : tensor<f32>
  %e = hk.exp %alog : tensor<4xf32> -> tensor<4xf32>
  %n = hk.neg %e : tensor<4xf32> -> tensor<4xf32>
  %x = hk.add %a, %dt : tensor<?x1x4xbf16>, tensor<4xbf16> -> tensor<?x1x4xf32>
  %ex = hk.exp %x : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %p = hk.add %ex, %one : tensor<?x1x4xf32>, tensor<f32> -> tensor<?x1x4xf32>
  %l = hk.log %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %c = hk.compare le %x, %threshold : tensor<?x1x4xf32>, tensor<f32> -> tensor<?x1x4xi1>
  %sp = hk.select %c, %l, %x : tensor<?x1x4xi1>, tensor<?x1x4xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %g = hk.mul %n, %sp : tensor<4xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
  %beta = hk.sigmoid %b : tensor<?x1x4xbf16> -> tensor<?x1x4xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line state_layout value_major {l2norm = 1.0e-06 : f64} : tensor<?x1x2x64xbf16>, tensor<?x1x2x64xbf16>, tensor<?x1x4x64xbf16> decay tensor<?x1x4xf32> beta tensor<?x1x4xf32> state tensor<5x4x64x64xbf16> indices tensor<?xi32> -> tensor<?x1x4x64xbf16>, tensor<5x4x64x64xbf16>
  return %o, %s1 : tensor<?x1x4x64xbf16>, tensor<5x4x64x64xbf16>
}
// Several tokens, f32 states, keys before values.
func.func @three_tokens(%q: tensor<?x3x1x32xf16> {hk.name = "q"}, %k: tensor<?x3x1x32xf16> {hk.name = "k"}, %v: tensor<?x3x2x16xf16> {hk.name = "v"}, %a: tensor<?x3x2xf16> {hk.name = "a"}, %b: tensor<?x3x2xf16> {hk.name = "b"}, %alog: tensor<2xf32>, %s: tensor<5x2x32x16xf32> {hk.name = "s", hk.state}, %line: tensor<?xi64> {hk.name = "line"}) -> (tensor<?x3x2x16xf16>, tensor<5x2x32x16xf32>) {
  %one = hk.constant dense<1.0> : tensor<f32>
  %e = hk.exp %alog : tensor<2xf32> -> tensor<2xf32>
  %n = hk.neg %e : tensor<2xf32> -> tensor<2xf32>
  %ex = hk.exp %a : tensor<?x3x2xf16> -> tensor<?x3x2xf32>
  %p = hk.add %ex, %one : tensor<?x3x2xf32>, tensor<f32> -> tensor<?x3x2xf32>
  %l = hk.log %p : tensor<?x3x2xf32> -> tensor<?x3x2xf32>
  %g = hk.mul %n, %l : tensor<2xf32>, tensor<?x3x2xf32> -> tensor<?x3x2xf32>
  %beta = hk.sigmoid %b : tensor<?x3x2xf16> -> tensor<?x3x2xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s indices %line {l2norm = 1.0e-06 : f64} : tensor<?x3x1x32xf16>, tensor<?x3x1x32xf16>, tensor<?x3x2x16xf16> decay tensor<?x3x2xf32> beta tensor<?x3x2xf32> state tensor<5x2x32x16xf32> indices tensor<?xi64> -> tensor<?x3x2x16xf16>, tensor<5x2x32x16xf32>
  return %o, %s1 : tensor<?x3x2x16xf16>, tensor<5x2x32x16xf32>
}
