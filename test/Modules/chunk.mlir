// The chunked gated delta rule from its operators: what needs no other chunk (sums of
// decays, products of keys, inverse, corrected keys and values) is one launch, states with
// results are another, on GPUs' vector units two (and keys that are scaled before one more);
// the first half alone.
// HK-LAUNCHES: 3 @pipeline=4 @ragged_16=4
// HK-ARGS: --range=has_initial=0:1
// HK-DIMS: q.1=70 k.1=70 v.1=70 w.1=70 u.1=70 a.1=70 b.1=70 q.0=70 k.0=70 v.0=70 a.0=70 b.0=70 cu.0=4 line.0=3 --range=cu=bounds:66 --range=line=iota
// HK-DIMS: q.1=63 k.1=63 v.1=63 w.1=63 u.1=63 a.1=63 b.1=63 q.0=63 k.0=63 v.0=63 a.0=63 b.0=63 cu.0=2 line.0=1 --range=cu=bounds:63 --range=line=iota
// HK-DIMS: q.1=64 k.1=64 v.1=64 w.1=64 u.1=64 a.1=64 b.1=64 q.0=64 k.0=64 v.0=64 a.0=64 b.0=64 cu.0=2 line.0=1 --range=cu=bounds:64 --range=line=iota
// HK-DIMS: q.1=65 k.1=65 v.1=65 w.1=65 u.1=65 a.1=65 b.1=65 q.0=65 k.0=65 v.0=65 a.0=65 b.0=65 cu.0=3 line.0=2 --range=cu=bounds:65 --range=line=iota
// HK-DIMS: q.1=1 k.1=1 v.1=1 w.1=1 u.1=1 a.1=1 b.1=1 q.0=1 k.0=1 v.0=1 a.0=1 b.0=1 cu.0=2 line.0=1 --range=cu=bounds:1 --range=line=7:7
// HK-DIMS: q.1=0 k.1=0 v.1=0 w.1=0 u.1=0 a.1=0 b.1=0 q.0=0 k.0=0 v.0=0 a.0=0 b.0=0 cu.0=3 line.0=2 --range=cu=bounds:0 --range=line=iota
// HK-DATA: normal,nan

func.func @compute_a(%k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xbf16> {hk.name = "b"}) -> tensor<1x?x2x64xbf16> {
  %m = hk.abs %a : tensor<1x?x2xf32>
  %g = hk.neg %m : tensor<1x?x2xf32>
  %beta = hk.sigmoid %b : tensor<1x?x2xbf16> -> tensor<1x?x2xf32>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x1x64xbf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x2xf32>
  %kkt = hk.chunk_kkt %kn decay %sum beta %beta chunk 64 : tensor<1x?x1x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  return %x : tensor<1x?x2x64xbf16>
}
func.func @pipeline(%q: tensor<2x?x1x64xbf16> {hk.name = "q"}, %k: tensor<2x?x1x64xbf16> {hk.name = "k"}, %v: tensor<2x?x2x16xbf16> {hk.name = "v"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %beta: tensor<2x?x2xf32> {hk.name = "b"}, %s: tensor<2x2x64x16xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>) {
  %m = hk.abs %a : tensor<2x?x2xf32>
  %g = hk.neg %m : tensor<2x?x2xf32>
  %sixteenth = hk.constant 0.0625 : tensor<bf16>
  %ks = hk.mul %k, %sixteenth : tensor<2x?x1x64xbf16>, tensor<bf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<2x?x2xf32>
  %kkt = hk.chunk_kkt %ks decay %sum beta %beta chunk 64 : tensor<2x?x1x64xbf16> decay tensor<2x?x2xf32> beta tensor<2x?x2xf32> -> tensor<2x?x2x64xf32>
  %x = hk.solve_tril %kkt : tensor<2x?x2x64xf32> -> tensor<2x?x2x64xbf16>
  %w, %u = hk.chunk_wu %ks, %v, %x decay %sum beta %beta : tensor<2x?x1x64xbf16>, tensor<2x?x2x16xbf16>, tensor<2x?x2x64xbf16> decay tensor<2x?x2xf32> beta tensor<2x?x2xf32> -> tensor<2x?x2x64xbf16>, tensor<2x?x2x16xbf16>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u decay %sum state %s has_initial %has chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x16xbf16> decay tensor<2x?x2xf32> state tensor<2x2x64x16xf32> has_initial tensor<2xi1> -> tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
  %o = hk.chunk_output %q, %ks, %v1, %h decay %sum chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x2x16xbf16>, tensor<2x?x2x64x16xbf16> decay tensor<2x?x2xf32> -> tensor<2x?x2x16xbf16>
  return %o, %s1 : tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
}
// Decays that leave nothing of a state and write strengths of 0 and 1; 128 keys and values.
func.func @strong(%q: tensor<1x?x1x128xbf16> {hk.name = "q"}, %k: tensor<1x?x1x128xbf16> {hk.name = "k"}, %v: tensor<1x?x2x128xbf16> {hk.name = "v"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xf32> {hk.name = "b"}, %s: tensor<1x2x128x128xf32> {hk.name = "s", hk.state}) -> (tensor<1x?x2x128xbf16>, tensor<1x2x128x128xf32>) {
  %much = hk.constant 60.0 : tensor<f32>
  %m = hk.abs %a : tensor<1x?x2xf32>
  %n = hk.neg %m : tensor<1x?x2xf32>
  %g = hk.mul %n, %much : tensor<1x?x2xf32>, tensor<f32>
  %steep = hk.constant 1.0e+08 : tensor<f32>
  %y = hk.mul %b, %steep : tensor<1x?x2xf32>, tensor<f32>
  %beta = hk.sigmoid %y : tensor<1x?x2xf32>
  %sixteenth = hk.constant 0.0625 : tensor<bf16>
  %ks = hk.mul %k, %sixteenth : tensor<1x?x1x128xbf16>, tensor<bf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<1x?x2xf32>
  %kkt = hk.chunk_kkt %ks decay %sum beta %beta chunk 64 : tensor<1x?x1x128xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  %w, %u = hk.chunk_wu %ks, %v, %x decay %sum beta %beta : tensor<1x?x1x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u decay %sum state %s chunk 64 : tensor<1x?x1x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16> decay tensor<1x?x2xf32> state tensor<1x2x128x128xf32> -> tensor<1x?x2x128x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x2x128x128xf32>
  %o = hk.chunk_output %q, %ks, %v1, %h decay %sum chunk 64 : tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128x128xbf16> decay tensor<1x?x2xf32> -> tensor<1x?x2x128xbf16>
  return %o, %s1 : tensor<1x?x2x128xbf16>, tensor<1x2x128x128xf32>
}
func.func @ragged_16(%q: tensor<?x1x20xf32> {hk.name = "q"}, %k: tensor<?x1x20xf32> {hk.name = "k"}, %v: tensor<?x2x6xf32> {hk.name = "v"}, %a: tensor<?x2xf32> {hk.name = "a"}, %beta: tensor<?x2xf32> {hk.name = "b"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x2x6x20xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>) {
  %m = hk.abs %a : tensor<?x2xf32>
  %g = hk.neg %m : tensor<?x2xf32>
  %sixteenth = hk.constant 0.0625 : tensor<f32>
  %ks = hk.mul %k, %sixteenth : tensor<?x1x20xf32>, tensor<f32>
  %sum = hk.cumsum inclusive %g bounds %cu dim 0 chunk 16 : tensor<?x2xf32> bounds tensor<?xi32>
  %kkt = hk.chunk_kkt %ks decay %sum beta %beta offsets %cu chunk 16 : tensor<?x1x20xf32> decay tensor<?x2xf32> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x16xf32>
  %x = hk.solve_tril %kkt offsets %cu : tensor<?x2x16xf32> offsets tensor<?xi32> -> tensor<?x2x16xf32>
  %w, %u = hk.chunk_wu %ks, %v, %x decay %sum beta %beta offsets %cu : tensor<?x1x20xf32>, tensor<?x2x6xf32>, tensor<?x2x16xf32> decay tensor<?x2xf32> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x20xf32>, tensor<?x2x6xf32>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u decay %sum offsets %cu state %s indices %line state_layout value_major chunk 16 : tensor<?x1x20xf32>, tensor<?x2x20xf32>, tensor<?x2x6xf32> decay tensor<?x2xf32> offsets tensor<?xi32> state tensor<4x2x6x20xbf16> indices tensor<?xi32> -> tensor<?x2x20x6xf32>, tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
  %o = hk.chunk_output %q, %ks, %v1, %h decay %sum offsets %cu chunk 16 : tensor<?x1x20xf32>, tensor<?x1x20xf32>, tensor<?x2x6xf32>, tensor<?x2x20x6xf32> decay tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x6xf32>
  return %o, %s1 : tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
}
// Whole fragments, on matrix units.
func.func @fragments(%q: tensor<2x?x1x64xbf16> {hk.name = "q"}, %k: tensor<2x?x1x64xbf16> {hk.name = "k"}, %v: tensor<2x?x2x128xbf16> {hk.name = "v"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %beta: tensor<2x?x2xf32> {hk.name = "b"}, %s: tensor<2x2x64x128xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x2x128xbf16>, tensor<2x2x64x128xf32>) {
  %m = hk.abs %a : tensor<2x?x2xf32>
  %g = hk.neg %m : tensor<2x?x2xf32>
  %sixteenth = hk.constant 0.0625 : tensor<bf16>
  %ks = hk.mul %k, %sixteenth : tensor<2x?x1x64xbf16>, tensor<bf16>
  %sum = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<2x?x2xf32>
  %kkt = hk.chunk_kkt %ks decay %sum beta %beta chunk 64 : tensor<2x?x1x64xbf16> decay tensor<2x?x2xf32> beta tensor<2x?x2xf32> -> tensor<2x?x2x64xf32>
  %x = hk.solve_tril %kkt : tensor<2x?x2x64xf32> -> tensor<2x?x2x64xbf16>
  %w, %u = hk.chunk_wu %ks, %v, %x decay %sum beta %beta : tensor<2x?x1x64xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x64xbf16> decay tensor<2x?x2xf32> beta tensor<2x?x2xf32> -> tensor<2x?x2x64xbf16>, tensor<2x?x2x128xbf16>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u decay %sum state %s has_initial %has chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x128xbf16> decay tensor<2x?x2xf32> state tensor<2x2x64x128xf32> has_initial tensor<2xi1> -> tensor<2x?x2x64x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x2x64x128xf32>
  %o = hk.chunk_output %q, %ks, %v1, %h decay %sum chunk 64 : tensor<2x?x1x64xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x64x128xbf16> decay tensor<2x?x2xf32> -> tensor<2x?x2x128xbf16>
  return %o, %s1 : tensor<2x?x2x128xbf16>, tensor<2x2x64x128xf32>
}
// Half precision in chunks of 32, without decays, the queries of which are scaled in place; what the
// first launch makes for itself is given back as well.
func.func @fragments_ragged(%q: tensor<?x1x128xf16> {hk.name = "q"}, %k: tensor<?x1x128xf16> {hk.name = "k"}, %v: tensor<?x2x64xf16> {hk.name = "v"}, %beta: tensor<?x2xf32> {hk.name = "b"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x2x64x128xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x2x32xf32>, tensor<?x2x32xf16>, tensor<?x2x64xf32>, tensor<4x2x64x128xbf16>) {
  %tenth = hk.constant 0.0625 : tensor<f16>
  %ks = hk.mul %k, %tenth : tensor<?x1x128xf16>, tensor<f16>
  %qs = hk.mul %q, %tenth : tensor<?x1x128xf16>, tensor<f16>
  %kkt = hk.chunk_kkt %ks beta %beta offsets %cu chunk 32 : tensor<?x1x128xf16> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x32xf32>
  %x = hk.solve_tril %kkt offsets %cu : tensor<?x2x32xf32> offsets tensor<?xi32> -> tensor<?x2x32xf16>
  %w, %u = hk.chunk_wu %ks, %v, %x beta %beta offsets %cu : tensor<?x1x128xf16>, tensor<?x2x64xf16>, tensor<?x2x32xf16> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x128xf16>, tensor<?x2x64xf16>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u offsets %cu state %s indices %line state_layout value_major chunk 32 : tensor<?x1x128xf16>, tensor<?x2x128xf16>, tensor<?x2x64xf16> offsets tensor<?xi32> state tensor<4x2x64x128xbf16> indices tensor<?xi32> -> tensor<?x2x128x64xf16>, tensor<?x2x64xf16>, tensor<4x2x64x128xbf16>
  %o = hk.chunk_output %qs, %ks, %v1, %h offsets %cu chunk 32 scale 2.0 : tensor<?x1x128xf16>, tensor<?x1x128xf16>, tensor<?x2x64xf16>, tensor<?x2x128x64xf16> offsets tensor<?xi32> -> tensor<?x2x64xf32>
  return %kkt, %x, %o, %s1 : tensor<?x2x32xf32>, tensor<?x2x32xf16>, tensor<?x2x64xf32>, tensor<4x2x64x128xbf16>
}
// The second half alone, of keys that are scaled where they are read. Only u may be no number,
// which earlier tokens do not see.
func.func @scan(%q8: tensor<1x?x1x64xi8> {hk.name = "q"}, %k8: tensor<1x?x1x64xi8> {hk.name = "k"}, %w8: tensor<1x?x2x64xi8> {hk.name = "w"}, %u: tensor<1x?x2x64xbf16> {hk.name = "u"}) -> tensor<1x?x2x64xf32> {
  %small = hk.constant 0.0009765625 : tensor<bf16>
  %qb = hk.cast %q8 : tensor<1x?x1x64xi8> -> tensor<1x?x1x64xbf16>
  %q = hk.mul %qb, %small : tensor<1x?x1x64xbf16>, tensor<bf16>
  %kb = hk.cast %k8 : tensor<1x?x1x64xi8> -> tensor<1x?x1x64xbf16>
  %k = hk.mul %kb, %small : tensor<1x?x1x64xbf16>, tensor<bf16>
  %wb = hk.cast %w8 : tensor<1x?x2x64xi8> -> tensor<1x?x2x64xbf16>
  %w = hk.mul %wb, %small : tensor<1x?x2x64xbf16>, tensor<bf16>
  %h, %v = hk.chunk_state %k, %w, %u chunk 32 : tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16> -> tensor<1x?x2x64x64xbf16>, tensor<1x?x2x64xbf16>
  %o = hk.chunk_output %q, %k, %v, %h chunk 32 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64x64xbf16> -> tensor<1x?x2x64xf32>
  return %o : tensor<1x?x2x64xf32>
}
