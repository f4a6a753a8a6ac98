// Results of a chunk from the state at its start and from its own tokens.
// HK-LAUNCHES: 1
// HK-DIMS: q.1=70 k.1=70 v.1=70 a.1=70 h.1=2
// HK-DIMS: q.1=64 k.1=64 v.1=64 a.1=64 h.1=1
// HK-DIMS: q.1=0 k.1=0 v.1=0 a.1=0 h.1=0
// HK-DATA: normal,nan

func.func @dense(%q: tensor<1x?x1x64xbf16> {hk.name = "q"}, %k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %v: tensor<1x?x2x32xbf16> {hk.name = "v"}, %h: tensor<1x?x2x64x32xbf16> {hk.name = "h"}, %a: tensor<1x?x2xf32> {hk.name = "a"}) -> tensor<1x?x2x32xbf16> {
  %o = hk.chunk_output %q, %k, %v, %h decay %a {chunk = 64 : i64} : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x32xbf16>, tensor<1x?x2x64x32xbf16> decay tensor<1x?x2xf32> -> tensor<1x?x2x32xbf16>
  return %o : tensor<1x?x2x32xbf16>
}
