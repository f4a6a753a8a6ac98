// The chunked gated delta rule from its operators: sums of decays, products of keys,
// inverse, corrected keys and values, states, results (and keys that are scaled before);
// its first half alone.
// HK-LAUNCHES: 7
// HK-ARGS: --range=has_initial=0:1
// HK-DIMS: q.1=70 k.1=70 v.1=70 a.1=70 b.1=70 q.0=70 k.0=70 v.0=70 a.0=70 b.0=70 cu.0=4 line.0=3 --range=cu=bounds:66 --range=line=iota
// HK-DIMS: q.1=1 k.1=1 v.1=1 a.1=1 b.1=1 q.0=1 k.0=1 v.0=1 a.0=1 b.0=1 cu.0=2 line.0=1 --range=cu=bounds:1 --range=line=7:7
// HK-DIMS: q.1=0 k.1=0 v.1=0 a.1=0 b.1=0 q.0=0 k.0=0 v.0=0 a.0=0 b.0=0 cu.0=3 line.0=2 --range=cu=bounds:0 --range=line=iota

func.func @compute_a(%k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xbf16> {hk.name = "b"}) -> tensor<1x?x2x64xbf16> {
  %m = hk.abs %a : tensor<1x?x2xf32> -> tensor<1x?x2xf32>
  %g = hk.neg %m : tensor<1x?x2xf32> -> tensor<1x?x2xf32>
  %beta = hk.sigmoid %b : tensor<1x?x2xbf16> -> tensor<1x?x2xf32>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x1x64xbf16> -> tensor<1x?x1x64xbf16>
  %sum = hk.cumsum inclusive %g {dim = 1 : i64, chunk = 64 : i64} : tensor<1x?x2xf32> -> tensor<1x?x2xf32>
  %kkt = hk.chunk_kkt %kn decay %sum beta %beta {chunk = 64 : i64} : tensor<1x?x1x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  return %x : tensor<1x?x2x64xbf16>
}
func.func @pipeline(%q: tensor<2x?x1x64xbf16> {hk.name = "q"}, %k: tensor<2x?x1x64xbf16> {hk.name = "k"}, %v: tensor<2x?x2x16xbf16> {hk.name = "v"}, %a: tensor<2x?x2xf32> {hk.name = "a"}, %beta: tensor<2x?x2xf32> {hk.name = "b"}, %s: tensor<2x2x64x16xf32> {hk.name = "s", hk.state}, %has: tensor<2xi1> {hk.name = "has_initial"}) -> (tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>) {
  %m = hk.abs %a : tensor<2x?x2xf32> -> tensor<2x?x2xf32>
  %g = hk.neg %m : tensor<2x?x2xf32> -> tensor<2x?x2xf32>
  %sixteenth = hk.constant dense<0.0625> : tensor<bf16>
  %ks = hk.mul %k, %sixteenth : tensor<2x?x1x64xbf16>, tensor<bf16> -> tensor<2x?x1x64xbf16>
  %sum = hk.cumsum inclusive %g {dim = 1 : i64, chunk = 64 : i64} : tensor<2x?x2xf32> -> tensor<2x?x2xf32>
  %kkt = hk.chunk_kkt %ks decay %sum beta %beta {chunk = 64 : i64} : tensor<2x?x1x64xbf16> decay tensor<2x?x2xf32> beta tensor<2x?x2xf32> -> tensor<2x?x2x64xf32>
  %x = hk.solve_tril %kkt : tensor<2x?x2x64xf32> -> tensor<2x?x2x64xbf16>
  %w, %u = hk.chunk_wu %ks, %v, %x decay %sum beta %beta : tensor<2x?x1x64xbf16>, tensor<2x?x2x16xbf16>, tensor<2x?x2x64xbf16> decay tensor<2x?x2xf32> beta tensor<2x?x2xf32> -> tensor<2x?x2x64xbf16>, tensor<2x?x2x16xbf16>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u decay %sum state %s has_initial %has {chunk = 64 : i64} : tensor<2x?x1x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x16xbf16> decay tensor<2x?x2xf32> state tensor<2x2x64x16xf32> has_initial tensor<2xi1> -> tensor<2x?x2x64x16xbf16>, tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
  %o = hk.chunk_output %q, %ks, %v1, %h decay %sum {chunk = 64 : i64} : tensor<2x?x1x64xbf16>, tensor<2x?x1x64xbf16>, tensor<2x?x2x16xbf16>, tensor<2x?x2x64x16xbf16> decay tensor<2x?x2xf32> -> tensor<2x?x2x16xbf16>
  return %o, %s1 : tensor<2x?x2x16xbf16>, tensor<2x2x64x16xf32>
}
func.func @ragged_16(%q: tensor<?x1x20xf32> {hk.name = "q"}, %k: tensor<?x1x20xf32> {hk.name = "k"}, %v: tensor<?x2x6xf32> {hk.name = "v"}, %a: tensor<?x2xf32> {hk.name = "a"}, %beta: tensor<?x2xf32> {hk.name = "b"}, %cu: tensor<?xi32> {hk.name = "cu"}, %s: tensor<4x2x6x20xbf16> {hk.name = "s", hk.state}, %line: tensor<?xi32> {hk.name = "line"}) -> (tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>) {
  %m = hk.abs %a : tensor<?x2xf32> -> tensor<?x2xf32>
  %g = hk.neg %m : tensor<?x2xf32> -> tensor<?x2xf32>
  %sixteenth = hk.constant dense<0.0625> : tensor<f32>
  %ks = hk.mul %k, %sixteenth : tensor<?x1x20xf32>, tensor<f32> -> tensor<?x1x20xf32>
  %sum = hk.cumsum inclusive %g bounds %cu {dim = 0 : i64, chunk = 16 : i64} : tensor<?x2xf32> bounds tensor<?xi32> -> tensor<?x2xf32>
  %kkt = hk.chunk_kkt %ks decay %sum beta %beta offsets %cu {chunk = 16 : i64} : tensor<?x1x20xf32> decay tensor<?x2xf32> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x16xf32>
  %x = hk.solve_tril %kkt offsets %cu : tensor<?x2x16xf32> offsets tensor<?xi32> -> tensor<?x2x16xf32>
  %w, %u = hk.chunk_wu %ks, %v, %x decay %sum beta %beta offsets %cu : tensor<?x1x20xf32>, tensor<?x2x6xf32>, tensor<?x2x16xf32> decay tensor<?x2xf32> beta tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x20xf32>, tensor<?x2x6xf32>
  %h, %v1, %s1 = hk.chunk_state %ks, %w, %u decay %sum offsets %cu state %s indices %line state_layout value_major {chunk = 16 : i64} : tensor<?x1x20xf32>, tensor<?x2x20xf32>, tensor<?x2x6xf32> decay tensor<?x2xf32> offsets tensor<?xi32> state tensor<4x2x6x20xbf16> indices tensor<?xi32> -> tensor<?x2x20x6xf32>, tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
  %o = hk.chunk_output %q, %ks, %v1, %h decay %sum offsets %cu {chunk = 16 : i64} : tensor<?x1x20xf32>, tensor<?x1x20xf32>, tensor<?x2x6xf32>, tensor<?x2x20x6xf32> decay tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x6xf32>
  return %o, %s1 : tensor<?x2x6xf32>, tensor<4x2x6x20xbf16>
}
