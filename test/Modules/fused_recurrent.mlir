// The gated delta rule token by token: decays per head, per key and per value, write
// strengths per head and per value, grouped value heads, sizes that are no power of
// two, states in a pool of either order and type, ragged sequences, linear attention.
// HK-LAUNCHES: 1
// HK-ARGS: --range=has_initial=0:1
// HK-DIMS: q.1=7 k.1=7 v.1=7 a.1=7 b.1=7 gk.1=7 gv.1=7 q.0=9 k.0=9 v.0=9 gk.0=9 gv.0=9 b.0=9 cu.0=4 line.0=3 --range=cu=bounds:8 --range=line=iota
// HK-DIMS: q.1=1 k.1=1 v.1=1 a.1=1 b.1=1 gk.1=1 gv.1=1 q.0=1 k.0=1 v.0=1 gk.0=1 gv.0=1 b.0=1 cu.0=2 line.0=1 --range=cu=bounds:1 --range=line=5:9
// HK-DIMS: q.1=0 k.1=0 v.1=0 a.1=0 b.1=0 gk.1=0 gv.1=0 q.0=0 k.0=0 v.0=0 gk.0=0 gv.0=0 b.0=0 cu.0=3 line.0=2 --range=cu=bounds:0 --range=line=iota
// HK-DIMS-HOST: @grouped q.1=300 k.1=300 v.1=300 a.1=300 b.1=300
// HK-DIMS-HOST: q.1=65 k.1=65 v.1=65 a.1=65 b.1=65 gk.1=65 gv.1=65 q.0=128 k.0=128 v.0=128 gk.0=128 gv.0=128 b.0=128 cu.0=4 line.0=3 --range=cu=bounds:127 --range=line=iota
// HK-DATA: normal,equal,tiny,nan,inf

// Two value heads for each key head; the gates are computed where they are read.
func.func @grouped(%q: tensor<2x?x2x64xbf16> {hk.name = "q"}, %k: tensor<2x?x2x64xbf16> {hk.name = "k"}, %v: tensor<2x?x4x32xbf16> {hk.name = "v"}, %a: tensor<2x?x4xbf16> {hk.name = "a"}, %b: tensor<2x?x4xbf16> {hk.name = "b"}, %s: tensor<2x4x64x32xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x4x32xbf16>, tensor<2x4x64x32xf32>) {
  %m = hk.abs %a : tensor<2x?x4xbf16> -> tensor<2x?x4xf32>
  %g = hk.neg %m : tensor<2x?x4xf32>
  %beta = hk.sigmoid %b : tensor<2x?x4xbf16> -> tensor<2x?x4xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s has_initial %has l2norm 1.0e-06 : tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x4x32xbf16> decay tensor<2x?x4xf32> beta tensor<2x?x4xf32> state tensor<2x4x64x32xf32> has_initial tensor<2xi1> -> tensor<2x?x4x32xbf16>, tensor<2x4x64x32xf32>
  return %o, %s1 : tensor<2x?x4x32xbf16>, tensor<2x4x64x32xf32>
}
// Without gates or a state; 60 keys, 20 values; a scale of its own.
func.func @plain_60(%q: tensor<1x?x1x60xf32> {hk.name = "q"}, %k: tensor<1x?x1x60xf32> {hk.name = "k"}, %v: tensor<1x?x1x20xf32> {hk.name = "v"}) -> tensor<1x?x1x20xf32> {
  %o = hk.gated_delta_rule %q, %k, %v scale 1.0 l2norm 1.0e-06 : tensor<1x?x1x60xf32>, tensor<1x?x1x60xf32>, tensor<1x?x1x20xf32> -> tensor<1x?x1x20xf32>
  return %o : tensor<1x?x1x20xf32>
}
// Every decay in its order, some of them leaving nothing, write strengths of 0 and 1; states of
// bf16, keys before values.
func.func @strong(%q: tensor<2x?x1x24xf32> {hk.name = "q"}, %k: tensor<2x?x1x24xf32> {hk.name = "k"}, %v: tensor<2x?x2x12xf32> {hk.name = "v"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %gk: tensor<2x?x2x24xf32> {hk.name = "gk"}, %gv: tensor<2x?x2x12xf32> {hk.name = "gv"}, %b: tensor<2x?x2xf32> {hk.name = "b"}, %s: tensor<2x2x24x12xbf16> {hk.name = "s", hk.state}) -> (tensor<2x?x2x12xf32>, tensor<2x2x24x12xbf16>) {
  %much = hk.constant 60.0 : tensor<f32>
  %m = hk.abs %a : tensor<2x?x2xf32>
  %n = hk.neg %m : tensor<2x?x2xf32>
  %g = hk.mul %n, %much : tensor<2x?x2xf32>, tensor<f32>
  %mk = hk.abs %gk : tensor<2x?x2x24xf32>
  %nk = hk.neg %mk : tensor<2x?x2x24xf32>
  %mv = hk.abs %gv : tensor<2x?x2x12xf32>
  %nv = hk.neg %mv : tensor<2x?x2x12xf32>
  %steep = hk.constant 1.0e+08 : tensor<f32>
  %y = hk.mul %b, %steep : tensor<2x?x2xf32>, tensor<f32>
  %beta = hk.sigmoid %y : tensor<2x?x2xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g key_decay %nk value_decay %nv beta %beta state %s l2norm 1.0e-06 : tensor<2x?x1x24xf32>, tensor<2x?x1x24xf32>, tensor<2x?x2x12xf32> decay tensor<2x?x2xf32> key_decay tensor<2x?x2x24xf32> value_decay tensor<2x?x2x12xf32> beta tensor<2x?x2xf32> state tensor<2x2x24x12xbf16> -> tensor<2x?x2x12xf32>, tensor<2x2x24x12xbf16>
  return %o, %s1 : tensor<2x?x2x12xf32>, tensor<2x2x24x12xbf16>
}
// Every gate, ragged, from a pool of value-major states.
func.func @ragged(%q: tensor<?x1x16xf16> {hk.name = "q"}, %k: tensor<?x1x16xf16> {hk.name = "k"}, %v: tensor<?x3x8xf16> {hk.name = "v"}, %gk: tensor<?x3x16xf32> {hk.name = "gk"}, %gv: tensor<?x3x8xf32> {hk.name = "gv"}, %b: tensor<?x3x8xf16> {hk.name = "b"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x3x8x16xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi64> {hk.name = "line"}) -> (tensor<?x3x8xf16>, tensor<4x3x8x16xbf16>) {
  %mk = hk.abs %gk : tensor<?x3x16xf32>
  %nk = hk.neg %mk : tensor<?x3x16xf32>
  %mv = hk.abs %gv : tensor<?x3x8xf32>
  %nv = hk.neg %mv : tensor<?x3x8xf32>
  %beta = hk.sigmoid %b : tensor<?x3x8xf16> -> tensor<?x3x8xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v key_decay %nk value_decay %nv beta %beta offsets %cu state %s indices %line state_layout value_major l2norm 1.0e-06 : tensor<?x1x16xf16>, tensor<?x1x16xf16>, tensor<?x3x8xf16> key_decay tensor<?x3x16xf32> value_decay tensor<?x3x8xf32> beta tensor<?x3x8xf32> offsets tensor<?xi32> state tensor<4x3x8x16xbf16> indices tensor<?xi64> -> tensor<?x3x8xf16>, tensor<4x3x8x16xbf16>
  return %o, %s1 : tensor<?x3x8xf16>, tensor<4x3x8x16xbf16>
}
// Linear attention: nothing is corrected.
func.func @linear(%q: tensor<2x?x2x16xbf16> {hk.name = "q"}, %k: tensor<2x?x2x16xbf16> {hk.name = "k"}, %v: tensor<2x?x4x12xbf16> {hk.name = "v"}, %a: tensor<2x?x4xbf16> {hk.name = "a"}, %b: tensor<2x?x4xbf16> {hk.name = "b"}, %s: tensor<2x4x16x12xf32> {hk.name = "s", hk.state}) -> (tensor<2x?x4x12xbf16>, tensor<2x4x16x12xf32>) {
  %m = hk.abs %a : tensor<2x?x4xbf16> -> tensor<2x?x4xf32>
  %g = hk.neg %m : tensor<2x?x4xf32>
  %beta = hk.sigmoid %b : tensor<2x?x4xbf16> -> tensor<2x?x4xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s rule linear : tensor<2x?x2x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x?x4x12xbf16> decay tensor<2x?x4xf32> beta tensor<2x?x4xf32> state tensor<2x4x16x12xf32> -> tensor<2x?x4x12xbf16>, tensor<2x4x16x12xf32>
  return %o, %s1 : tensor<2x?x4x12xbf16>, tensor<2x4x16x12xf32>
}
// A state space model whose channels decay on their own: heads of one value, ragged.
func.func @channels(%q: tensor<?x1x16xf32> {hk.name = "q"}, %k: tensor<?x1x16xf32> {hk.name = "k"}, %v: tensor<?x3x1xf32> {hk.name = "v"}, %gk: tensor<?x3x16xf32> {hk.name = "gk"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x3x16x1xf32> {hk.name = "s", hk.state}, %line: tensor<?xi64> {hk.name = "line"}) -> (tensor<?x3x1xf32>, tensor<4x3x16x1xf32>) {
  %mk = hk.abs %gk : tensor<?x3x16xf32>
  %nk = hk.neg %mk : tensor<?x3x16xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v key_decay %nk offsets %cu state %s indices %line rule linear scale 1.0 : tensor<?x1x16xf32>, tensor<?x1x16xf32>, tensor<?x3x1xf32> key_decay tensor<?x3x16xf32> offsets tensor<?xi32> state tensor<4x3x16x1xf32> indices tensor<?xi64> -> tensor<?x3x1xf32>, tensor<4x3x16x1xf32>
  return %o, %s1 : tensor<?x3x1xf32>, tensor<4x3x16x1xf32>
}
