// Top-k of long rows, and of more than a wave can hold.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2
// HK-DATA: normal,equal,nan

func.func @vocabulary(%x: tensor<?x131072xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %v, %i = hk.topk %x ties lowest_index order by_value : tensor<?x131072xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %v, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
func.func @vocabulary_bf16(%x: tensor<?x128256xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xi32>) {
  %v, %i = hk.topk %x ties lowest_index order by_value : tensor<?x128256xbf16> -> tensor<?x64xbf16>, tensor<?x64xi32>
  return %v, %i : tensor<?x64xbf16>, tensor<?x64xi32>
}
