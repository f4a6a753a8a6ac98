// The router of Llama 4: logits, a sigmoid, the best expert and its weight; and a second
// column for the expert that all tokens share. One launch: a block of the product has whole rows,
// so its epilogue chooses their best column.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=16
// HK-DIMS: x.0=33
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,nan

func.func @e16(%x: tensor<?x128xbf16>, %w: tensor<128x16xbf16>) -> (tensor<?x1xi32>, tensor<?x1xf32>) {
  %l = hk.matmul %x, %w : tensor<?x128xbf16>, tensor<128x16xbf16> -> tensor<?x16xf32>
  %s = hk.sigmoid %l : tensor<?x16xf32>
  %v, %ids = hk.topk %s : tensor<?x16xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %ids, %v : tensor<?x1xi32>, tensor<?x1xf32>
}
func.func @e128(%x: tensor<?x16xf16>, %w: tensor<16x128xf16>) -> (tensor<?x1xi32>, tensor<?x1xf32>) {
  %l = hk.matmul %x, %w : tensor<?x16xf16>, tensor<16x128xf16> -> tensor<?x128xf32>
  %s = hk.sigmoid %l : tensor<?x128xf32>
  %v, %ids = hk.topk %s : tensor<?x128xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %ids, %v : tensor<?x1xi32>, tensor<?x1xf32>
}
func.func @e16_k16(%x: tensor<?x16xbf16>, %w: tensor<16x16xbf16>) -> (tensor<?x1xi32>, tensor<?x1xf32>) {
  %l = hk.matmul %x, %w : tensor<?x16xbf16>, tensor<16x16xbf16> -> tensor<?x16xf32>
  %s = hk.sigmoid %l : tensor<?x16xf32>
  %v, %ids = hk.topk %s : tensor<?x16xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %ids, %v : tensor<?x1xi32>, tensor<?x1xf32>
}
// A second column: the expert that all tokens share.
func.func @shared_expert(%x: tensor<?x64xbf16>, %w: tensor<64x16xbf16>) -> (tensor<?x2xi32>, tensor<?x2xf32>) {
  %l = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x16xbf16> -> tensor<?x16xf32>
  %s = hk.sigmoid %l : tensor<?x16xf32>
  %v, %ids = hk.topk %s : tensor<?x16xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  %both = hk.pad %ids value 16.0 : tensor<?x1xi32> -> tensor<?x2xi32>
  %weights = hk.pad %v value 1.0 : tensor<?x1xf32> -> tensor<?x2xf32>
  return %both, %weights : tensor<?x2xi32>, tensor<?x2xf32>
}
