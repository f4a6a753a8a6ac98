// Sums of decays within a chunk and the products of its keys in one launch, both given
// back; dense, ragged, and with what makes the decays.
// HK-LAUNCHES: 1
// HK-DIMS: k.1=70 a.1=70 b.1=70 k.0=70 a.0=70 b.0=70 cu.0=4 --range=cu=bounds:66
// HK-DIMS: k.1=1 a.1=1 b.1=1 k.0=1 a.0=1 b.0=1 cu.0=2 --range=cu=bounds:1
// HK-DIMS: k.1=0 a.1=0 b.1=0 k.0=0 a.0=0 b.0=0 cu.0=3 --range=cu=bounds:0
// HK-DATA: normal,nan

func.func @dense(%k: tensor<1x?x1x64xbf16> {hk.name = "k"}, %a: tensor<1x?x2xf32> {hk.name = "a"}, %b: tensor<1x?x2xbf16> {hk.name = "b"}) -> (tensor<1x?x2xf32>, tensor<1x?x2x64xf32>) {
  %m = hk.abs %a : tensor<1x?x2xf32> -> tensor<1x?x2xf32>
  %g = hk.neg %m : tensor<1x?x2xf32> -> tensor<1x?x2xf32>
  %beta = hk.sigmoid %b : tensor<1x?x2xbf16> -> tensor<1x?x2xf32>
  %sum = hk.cumsum inclusive %g {dim = 1 : i64, chunk = 64 : i64} : tensor<1x?x2xf32> -> tensor<1x?x2xf32>
  %x = hk.chunk_kkt %k decay %sum beta %beta {chunk = 64 : i64} : tensor<1x?x1x64xbf16> decay tensor<1x?x2xf32> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  return %sum, %x : tensor<1x?x2xf32>, tensor<1x?x2x64xf32>
}
func.func @ragged(%k: tensor<?x1x20xf16> {hk.name = "k"}, %a: tensor<?x3xf32> {hk.name = "a"}, %cu: tensor<?xi32> {hk.name = "cu"}) -> (tensor<?x3xf32>, tensor<?x3x16xf32>) {
  %sum = hk.cumsum inclusive %a bounds %cu {dim = 0 : i64, chunk = 16 : i64} : tensor<?x3xf32> bounds tensor<?xi32> -> tensor<?x3xf32>
  %x = hk.chunk_kkt %k decay %sum offsets %cu {chunk = 16 : i64} : tensor<?x1x20xf16> decay tensor<?x3xf32> offsets tensor<?xi32> -> tensor<?x3x16xf32>
  return %sum, %x : tensor<?x3xf32>, tensor<?x3x16xf32>
}
