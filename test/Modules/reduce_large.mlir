// Reductions over all of a tensor that one workgroup would be slow with, in two
// launches: partial results of rows, then those.
// HK-LAUNCHES: 2
// HK-DIMS: x.0=301
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,nan,inf

func.func @sum(%x: tensor<?x520xbf16>) -> tensor<1x1xf32> {
  %0 = hk.reduce sum %x dims 2 : tensor<?x520xbf16> -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
func.func @max_diff(%x: tensor<?x520xf32>, %y: tensor<520xf32>) -> tensor<1x1xbf16> {
  %0 = hk.sub %x, %y : tensor<?x520xf32>, tensor<520xf32>
  %1 = hk.reduce absmax %0 dims 2 : tensor<?x520xf32> -> tensor<1x1xbf16>
  return %1 : tensor<1x1xbf16>
}
