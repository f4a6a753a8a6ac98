// Walks over chunks in three segments that begin at once: what each makes of any state, the
// states before them, the walk. Sequences of fewer chunks than segments, empty ones, states
// that segments but the last leave alone.
// HK-LAUNCHES: 5
// HK-COMPILE: --split-segments=3
// HK-ARGS: --range=has_initial=0:1
// HK-DIMS: q.1=230 k.1=230 w.1=230 u.1=230 a.1=230 q.0=230 k.0=230 w.0=230 u.0=230 a.0=230 cu.0=3 line.0=2 --range=cu=bounds:200 --range=line=iota
// HK-DIMS: q.1=129 k.1=129 w.1=129 u.1=129 a.1=129 q.0=129 k.0=129 w.0=129 u.0=129 a.0=129 cu.0=2 line.0=1 --range=cu=bounds:129 --range=line=iota
// HK-DIMS: q.1=65 k.1=65 w.1=65 u.1=65 a.1=65 q.0=65 k.0=65 w.0=65 u.0=65 a.0=65 cu.0=4 line.0=3 --range=cu=bounds:60 --range=line=iota
// HK-DIMS: q.1=1 k.1=1 w.1=1 u.1=1 a.1=1 q.0=1 k.0=1 w.0=1 u.0=1 a.0=1 cu.0=2 line.0=1 --range=cu=bounds:1 --range=line=7:7
// HK-DIMS: q.1=0 k.1=0 w.1=0 u.1=0 a.1=0 q.0=0 k.0=0 w.0=0 u.0=0 a.0=0 cu.0=3 line.0=2 --range=cu=bounds:0 --range=line=iota
// HK-DATA: normal,nan

func.func @dense(%q: tensor<1x?x1x64xbf16> {hk.name = "q"}, %k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %w: tensor<1x?x2x64xbf16> {hk.name = "w"}, %u: tensor<1x?x2x64xbf16> {hk.name = "u"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %s: tensor<1x2x64x64xf32> {hk.name = "s", hk.state}, %has: tensor<1xi1> {hk.name = "has_initial"}) -> (tensor<1x?x2x64xbf16>, tensor<1x2x64x64xf32>) {
  %c = hk.constant 0.0625 : tensor<bf16>
  %w1 = hk.mul %w, %c : tensor<1x?x2x64xbf16>, tensor<bf16>
  %k1 = hk.mul %k, %c : tensor<1x?x1x64xbf16>, tensor<bf16>
  %m = hk.abs %a : tensor<1x?x2xf32>
  %g = hk.neg %m : tensor<1x?x2xf32>
  %t = hk.constant 0.1 : tensor<f32>
  %gt = hk.mul %g, %t : tensor<1x?x2xf32>, tensor<f32>
  %sum = hk.cumsum inclusive %gt dim 1 chunk 64 : tensor<1x?x2xf32>
  %h, %v1, %s1 = hk.chunk_state %k1, %w1, %u decay %sum state %s has_initial %has chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> decay tensor<1x?x2xf32> state tensor<1x2x64x64xf32> has_initial tensor<1xi1> -> tensor<1x?x2x64x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x2x64x64xf32>
  %o = hk.chunk_output %q, %k1, %v1, %h decay %sum chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16> decay tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>
  return %o, %s1 : tensor<1x?x2x64xbf16>, tensor<1x2x64x64xf32>
}
// Half-precision fragments of 32 tokens, states with the keys innermost.
func.func @half(%q: tensor<?x1x128xf16> {hk.name = "q"}, %k: tensor<?x1x128xf16> {hk.name = "k"}, %w: tensor<?x1x128xf16> {hk.name = "w"}, %u: tensor<?x1x64xf16> {hk.name = "u"}, %a: tensor<?x1xf32> {hk.name = "a"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x1x64x128xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x1x64xf16>, tensor<4x1x64x128xbf16>) {
  %c = hk.constant 0.0625 : tensor<f16>
  %w1 = hk.mul %w, %c : tensor<?x1x128xf16>, tensor<f16>
  %k1 = hk.mul %k, %c : tensor<?x1x128xf16>, tensor<f16>
  %m = hk.abs %a : tensor<?x1xf32>
  %g = hk.neg %m : tensor<?x1xf32>
  %t = hk.constant 0.1 : tensor<f32>
  %gt = hk.mul %g, %t : tensor<?x1xf32>, tensor<f32>
  %sum = hk.cumsum inclusive %gt bounds %cu dim 0 chunk 32 : tensor<?x1xf32> bounds tensor<?xi32>
  %h, %v1, %s1 = hk.chunk_state %k1, %w1, %u decay %sum offsets %cu state %s indices %line state_layout value_major chunk 32 : tensor<?x1x128xf16>, tensor<?x1x128xf16>, tensor<?x1x64xf16> decay tensor<?x1xf32> offsets tensor<?xi32> state tensor<4x1x64x128xbf16> indices tensor<?xi32> -> tensor<?x1x128x64xf16>, tensor<?x1x64xf16>, tensor<4x1x64x128xbf16>
  %o = hk.chunk_output %q, %k1, %v1, %h decay %sum offsets %cu chunk 32 : tensor<?x1x128xf16>, tensor<?x1x128xf16>, tensor<?x1x64xf16>, tensor<?x1x128x64xf16> decay tensor<?x1xf32> offsets tensor<?xi32> -> tensor<?x1x64xf16>
  return %o, %s1 : tensor<?x1x64xf16>, tensor<4x1x64x128xbf16>
}
// On vector units.
func.func @vectors(%q: tensor<?x1x20xf32> {hk.name = "q"}, %k: tensor<?x1x20xf32> {hk.name = "k"}, %w: tensor<?x2x20xf32> {hk.name = "w"}, %u: tensor<?x2x6xf32> {hk.name = "u"}, %a: tensor<?x2xf32> {hk.name = "a"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x2x6x20xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>) {
  %c = hk.constant 0.0625 : tensor<f32>
  %w1 = hk.mul %w, %c : tensor<?x2x20xf32>, tensor<f32>
  %k1 = hk.mul %k, %c : tensor<?x1x20xf32>, tensor<f32>
  %m = hk.abs %a : tensor<?x2xf32>
  %g = hk.neg %m : tensor<?x2xf32>
  %t = hk.constant 0.1 : tensor<f32>
  %gt = hk.mul %g, %t : tensor<?x2xf32>, tensor<f32>
  %sum = hk.cumsum inclusive %gt bounds %cu dim 0 chunk 16 : tensor<?x2xf32> bounds tensor<?xi32>
  %h, %v1, %s1 = hk.chunk_state %k1, %w1, %u decay %sum offsets %cu state %s indices %line state_layout value_major chunk 16 : tensor<?x1x20xf32>, tensor<?x2x20xf32>, tensor<?x2x6xf32> decay tensor<?x2xf32> offsets tensor<?xi32> state tensor<4x2x6x20xbf16> indices tensor<?xi32> -> tensor<?x2x20x6xf32>, tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
  %o = hk.chunk_output %q, %k1, %v1, %h decay %sum offsets %cu chunk 16 : tensor<?x1x20xf32>, tensor<?x1x20xf32>, tensor<?x2x6xf32>, tensor<?x2x20x6xf32> decay tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x6xf32>
  return %o, %s1 : tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
}
// States and values that others read.
func.func @states(%k: tensor<2x?x1x64xbf16> {hk.name = "k"}, %w: tensor<2x?x2x64xbf16> {hk.name = "w"}, %u: tensor<2x?x2x16xbf16> {hk.name = "u"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %s: tensor<2x2x64x16xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>) {
  %c = hk.constant 0.0625 : tensor<bf16>
  %w1 = hk.mul %w, %c : tensor<2x?x2x64xbf16>, tensor<bf16>
  %k1 = hk.mul %k, %c : tensor<2x?x1x64xbf16>, tensor<bf16>
  %m = hk.abs %a : tensor<2x?x2xf32>
  %g = hk.neg %m : tensor<2x?x2xf32>
  %t = hk.constant 0.1 : tensor<f32>
  %gt = hk.mul %g, %t : tensor<2x?x2xf32>, tensor<f32>
  %sum = hk.cumsum inclusive %gt dim 1 chunk 64 : tensor<2x?x2xf32>
  %h, %v1, %s1 = hk.chunk_state %k1, %w1, %u decay %sum state %s has_initial %has chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x16xbf16> decay tensor<2x?x2xf32> state tensor<2x2x64x16xf32> has_initial tensor<2xi1> -> tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
  return %h, %v1, %s1 : tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
}
// And without decays.
func.func @states_ragged(%k: tensor<?x1x64xbf16> {hk.name = "k"}, %w: tensor<?x1x64xbf16> {hk.name = "w"}, %u: tensor<?x1x64xbf16> {hk.name = "u"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x1x64x64xf32> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x1x64x64xbf16>, tensor<?x1x64xbf16>, tensor<4x1x64x64xf32>) {
  %c = hk.constant 0.0625 : tensor<bf16>
  %w1 = hk.mul %w, %c : tensor<?x1x64xbf16>, tensor<bf16>
  %k1 = hk.mul %k, %c : tensor<?x1x64xbf16>, tensor<bf16>
  %h, %v1, %s1 = hk.chunk_state %k1, %w1, %u offsets %cu state %s indices %line chunk 64 : tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16> offsets tensor<?xi32> state tensor<4x1x64x64xf32> indices tensor<?xi32> -> tensor<?x1x64x64xbf16>, tensor<?x1x64xbf16>, tensor<4x1x64x64xf32>
  return %h, %v1, %s1 : tensor<?x1x64x64xbf16>, tensor<?x1x64xbf16>, tensor<4x1x64x64xf32>
}
