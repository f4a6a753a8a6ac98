// Routing that herds the tokens of a batch: of the best five experts of a token the one
// that fewest tokens have among their five is dropped, of equal ones the one with the
// lowest score. What a token does depends on all of them, so counting lies between two
// row-wise launches; the permutations of the remaining four are the last one.
// HK-LAUNCHES: 4
// HK-DIMS: x.0=16
// HK-DIMS: x.0=128
// HK-DIMS: x.0=0
// HK-DIMS: x.0=37
// HK-DATA: normal,equal,nan

func.func @main(%x: tensor<?x64xbf16>) -> (tensor<?x4xf32>, tensor<?x4xi32>, tensor<?xi32>, tensor<?xi32>, tensor<64xi32>) {
  %scores, %ids = hk.topk %x : tensor<?x64xbf16> -> tensor<?x5xbf16>, tensor<?x5xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x5xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<64xi32>
  %popular = hk.gather_rows %counts, %ids : tensor<64xi32>, tensor<?x5xi32> -> tensor<?x5xi32>
  %real = hk.cast %popular : tensor<?x5xi32> -> tensor<?x5xf32>
  %most, %kept = hk.topk %real order by_index : tensor<?x5xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %own = hk.gather_last %ids, %kept : tensor<?x5xi32>, tensor<?x4xi32> -> tensor<?x4xi32>
  %s = hk.gather_last %scores, %kept : tensor<?x5xbf16>, tensor<?x4xi32> -> tensor<?x4xbf16>
  %w = hk.softmax %s : tensor<?x4xbf16> -> tensor<?x4xf32>
  %f = tensor.collapse_shape %own [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %hist = hk.histogram %f : tensor<?xi32> -> tensor<64xi32>
  %gather, %scatter = hk.sort_by_key %f bins 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  return %w, %own, %gather, %scatter, %hist : tensor<?x4xf32>, tensor<?x4xi32>, tensor<?xi32>, tensor<?xi32>, tensor<64xi32>
}
