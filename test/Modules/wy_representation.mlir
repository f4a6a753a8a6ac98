// The two halves of the WY form of a chunk: products of its keys with each other, and
// keys and values corrected by the inverse.
// HK-LAUNCHES: 1
// HK-DIMS: k.1=70 v.1=70 a.1=70 b.1=70 x.1=70 k.0=70 v.0=70 a.0=70 b.0=70 x.0=70 cu.0=4 --range=cu=bounds:66
// HK-DIMS: k.1=1 v.1=1 a.1=1 b.1=1 x.1=1 k.0=1 v.0=1 a.0=1 b.0=1 x.0=1 cu.0=2 --range=cu=bounds:1
// HK-DIMS: k.1=0 v.1=0 a.1=0 b.1=0 x.1=0 k.0=0 v.0=0 a.0=0 b.0=0 x.0=0 cu.0=3 --range=cu=bounds:0
// HK-DATA: normal,nan,inf

func.func @kkt(%k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xbf16> {hk.name = "b"}) -> tensor<1x?x2x64xf32> {
  %beta = hk.sigmoid %b : tensor<1x?x2xbf16> -> tensor<1x?x2xf32>
  %x = hk.chunk_kkt %k decay %a beta %beta chunk 64 : tensor<1x?x1x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  return %x : tensor<1x?x2x64xf32>
}
func.func @kkt_ragged_60(%k: tensor<?x2x60xf16> {hk.name = "k"}, %cu: tensor<?xi32> {hk.name = "cu"}) -> tensor<?x2x16xf32> {
  %x = hk.chunk_kkt %k offsets %cu chunk 16 : tensor<?x2x60xf16> offsets tensor<?xi32> -> tensor<?x2x16xf32>
  return %x : tensor<?x2x16xf32>
}
func.func @wu(%k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %v: tensor<1x?x2x32xbf16> {hk.name = "v"}, %x: tensor<1x?x2x64xbf16> {hk.name = "x"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xbf16> {hk.name = "b"}) -> (tensor<1x?x2x64xbf16>, tensor<1x?x2x32xbf16>) {
  %beta = hk.sigmoid %b : tensor<1x?x2xbf16> -> tensor<1x?x2xf32>
  %w, %u = hk.chunk_wu %k, %v, %x decay %a beta %beta : tensor<1x?x1x64xbf16>, tensor<1x?x2x32xbf16>, tensor<1x?x2x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>, tensor<1x?x2x32xbf16>
  return %w, %u : tensor<1x?x2x64xbf16>, tensor<1x?x2x32xbf16>
}
func.func @wu_ragged_20(%k: tensor<?x1x20xf32> {hk.name = "k"}, %v: tensor<?x2x6xf16> {hk.name = "v"}, %x: tensor<?x2x32xf32> {hk.name = "x"}, %cu: tensor<?xi32> {hk.name = "cu"}) -> (tensor<?x2x20xf32>, tensor<?x2x6xf16>) {
  %w, %u = hk.chunk_wu %k, %v, %x offsets %cu : tensor<?x1x20xf32>, tensor<?x2x6xf16>, tensor<?x2x32xf32> offsets tensor<?xi32> -> tensor<?x2x20xf32>, tensor<?x2x6xf16>
  return %w, %u : tensor<?x2x20xf32>, tensor<?x2x6xf16>
}
func.func @wu_fragments(%k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %v: tensor<1x?x2x128xbf16> {hk.name = "v"}, %x: tensor<1x?x2x64xbf16> {hk.name = "x"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xbf16> {hk.name = "b"}) -> (tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>) {
  %beta = hk.sigmoid %b : tensor<1x?x2xbf16> -> tensor<1x?x2xf32>
  %w, %u = hk.chunk_wu %k, %v, %x decay %a beta %beta : tensor<1x?x1x64xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
  return %w, %u : tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
}
