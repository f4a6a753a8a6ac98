// L2 normalisation of heads, and its gradient as a chain of base operators.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=9
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,tiny,nan

func.func @forward_128(%x: tensor<?x4x128xbf16>) -> tensor<?x4x128xbf16> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x4x128xbf16> -> tensor<?x4x128xbf16>
  return %y : tensor<?x4x128xbf16>
}
func.func @forward_60(%x: tensor<?x60xf32>) -> tensor<?x60xf32> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x60xf32> -> tensor<?x60xf32>
  return %y : tensor<?x60xf32>
}
