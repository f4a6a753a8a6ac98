// Results of a chunk from the state at its start and from its own tokens.
// HK-LAUNCHES: 1
// HK-DIMS: q.1=70 k.1=70 v.1=70 a.1=70 h.1=2 q.0=70 k.0=70 v.0=70 a.0=70 h.0=6 cu.0=4 --range=cu=bounds:66
// HK-DIMS: q.1=64 k.1=64 v.1=64 a.1=64 h.1=1 q.0=1 k.0=1 v.0=1 a.0=1 h.0=2 cu.0=2 --range=cu=bounds:1
// HK-DIMS: q.1=0 k.1=0 v.1=0 a.1=0 h.1=0 q.0=0 k.0=0 v.0=0 a.0=0 h.0=2 cu.0=3 --range=cu=bounds:0
// HK-DATA: normal,nan,inf

func.func @dense(%q: tensor<1x?x1x64xbf16> {hk.name = "q"}, %k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %v: tensor<1x?x2x32xbf16> {hk.name = "v"}, %h: tensor<1x?x2x64x32xbf16> {hk.name = "h"}, %a: tensor<1x?x2xf32> {hk.name = "a"}) -> tensor<1x?x2x32xbf16> {
  %o = hk.chunk_output %q, %k, %v, %h decay %a chunk 64 : tensor<1x?x1x64xbf16>, tensor<1x?x1x64xbf16>, tensor<1x?x2x32xbf16>, tensor<1x?x2x64x32xbf16> decay tensor<1x?x2xf32> -> tensor<1x?x2x32xbf16>
  return %o : tensor<1x?x2x32xbf16>
}
func.func @fragments(%q: tensor<1x?x1x128xbf16> {hk.name = "q"}, %k: tensor<1x?x1x128xbf16> {hk.name = "k"}, %v: tensor<1x?x2x64xbf16> {hk.name = "v"}, %h: tensor<1x?x2x128x64xbf16> {hk.name = "h"}, %a: tensor<1x?x2xf32> {hk.name = "a"}) -> tensor<1x?x2x64xbf16> {
  %o = hk.chunk_output %q, %k, %v, %h decay %a chunk 64 : tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x128x64xbf16> decay tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>
  return %o : tensor<1x?x2x64xbf16>
}
func.func @fragments_ragged(%q: tensor<?x1x128xf16> {hk.name = "q"}, %k: tensor<?x1x128xf16> {hk.name = "k"}, %v: tensor<?x2x64xf16> {hk.name = "v"}, %h: tensor<?x2x128x64xf16> {hk.name = "h"}, %a: tensor<?x2xf32> {hk.name = "a"}, %cu: tensor<?xi32> {hk.name = "cu"}) -> tensor<?x2x64xf16> {
  %o = hk.chunk_output %q, %k, %v, %h offsets %cu decay %a chunk 32 : tensor<?x1x128xf16>, tensor<?x1x128xf16>, tensor<?x2x64xf16>, tensor<?x2x128x64xf16> decay tensor<?x2xf32> offsets tensor<?xi32> -> tensor<?x2x64xf16>
  return %o : tensor<?x2x64xf16>
}
