// Qwen3-Next's sizes: 16 key heads, 32 value heads, 128 keys and values.
func.func @decode(%q: tensor<?x1x16x128xbf16> {hk.name = "q"}, %k: tensor<?x1x16x128xbf16> {hk.name = "k"}, %v: tensor<?x1x32x128xbf16> {hk.name = "v"}, %a: tensor<?x1x32xf32> {hk.name = "a"}, %b: tensor<?x1x32xf32> {hk.name = "b"}, %s: tensor<?x32x128x128xf32> {hk.name = "s", hk.state}) -> (tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>) {
  %m = hk.abs %a : tensor<?x1x32xf32> -> tensor<?x1x32xf32>
  %g = hk.neg %m : tensor<?x1x32xf32> -> tensor<?x1x32xf32>
  %beta = hk.sigmoid %b : tensor<?x1x32xf32> -> tensor<?x1x32xf32>
  %o, %s1 = hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %s {l2norm = 1.0e-06 : f64} : tensor<?x1x16x128xbf16>, tensor<?x1x16x128xbf16>, tensor<?x1x32x128xbf16> decay tensor<?x1x32xf32> beta tensor<?x1x32xf32> state tensor<?x32x128x128xf32> -> tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>
  return %o, %s1 : tensor<?x1x32x128xbf16>, tensor<?x32x128x128xf32>
}
func.func @prefill(%q: tensor<1x?x16x128xbf16> {hk.name = "q"}, %k: tensor<1x?x16x128xbf16> {hk.name = "k"}, %v: tensor<1x?x32x128xbf16> {hk.name = "v"}, %a: tensor<1x?x32xf32> {hk.name = "a"}, %b: tensor<1x?x32xf32> {hk.name = "b"}, %s: tensor<1x32x128x128xf32> {hk.name = "s", hk.state}) -> (tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>) {
  %m = hk.abs %a : tensor<1x?x32xf32> -> tensor<1x?x32xf32>
  %g = hk.neg %m : tensor<1x?x32xf32> -> tensor<1x?x32xf32>
  %beta = hk.sigmoid %b : tensor<1x?x32xf32> -> tensor<1x?x32xf32>
  %qn = hk.l2_norm %q epsilon 1.0e-06 : tensor<1x?x16x128xbf16> -> tensor<1x?x16x128xbf16>
  %kn = hk.l2_norm %k epsilon 1.0e-06 : tensor<1x?x16x128xbf16> -> tensor<1x?x16x128xbf16>
  %sum = hk.cumsum inclusive %g {dim = 1 : i64, chunk = 64 : i64} : tensor<1x?x32xf32> -> tensor<1x?x32xf32>
  %kkt = hk.chunk_kkt %kn decay %sum beta %beta {chunk = 64 : i64} : tensor<1x?x16x128xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x64xf32>
  %x = hk.solve_tril %kkt : tensor<1x?x32x64xf32> -> tensor<1x?x32x64xbf16>
  %w, %u = hk.chunk_wu %kn, %v, %x decay %sum beta %beta : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x64xbf16> decay tensor<1x?x32xf32> beta tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16>
  %h, %v1, %s1 = hk.chunk_state %kn, %w, %u decay %sum state %s {chunk = 64 : i64} : tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128xbf16> decay tensor<1x?x32xf32> state tensor<1x32x128x128xf32> -> tensor<1x?x32x128x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>
  %o = hk.chunk_output %qn, %kn, %v1, %h decay %sum {chunk = 64 : i64} : tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x32x128xbf16>, tensor<1x?x32x128x128xbf16> decay tensor<1x?x32xf32> -> tensor<1x?x32x128xbf16>
  return %o, %s1 : tensor<1x?x32x128xbf16>, tensor<1x32x128x128xf32>
}
