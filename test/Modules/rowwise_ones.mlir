// Rows of several widths in one launch, some with dims of one before them, which makes them
// no parts of rows.
// HK-LAUNCHES: 1 @all_rows=2
// HK-DIMS: x.0=5 k_rows.0=5
// HK-DIMS: x.0=1 k_rows.0=1
// HK-DIMS: x.0=0 k_rows.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @softmax_norm_codes(%x: tensor<?x128xbf16>, %k_rows: tensor<?x5000xbf16>, %v: tensor<5000xbf16>) -> (tensor<?x128xbf16>, tensor<?x1x5000xf32>, tensor<?x1x5000xi8>, tensor<?x1x1xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %k = tensor.expand_shape %k_rows [[0], [1, 2]] output_shape [%t, 1, 5000] : tensor<?x5000xbf16> into tensor<?x1x5000xbf16>
  %y = hk.silu %x : tensor<?x128xbf16>
  %s = hk.softmax %k : tensor<?x1x5000xbf16> -> tensor<?x1x5000xf32>
  %n = hk.layer_norm %k, %v, %v epsilon 1.0e-05 : tensor<?x1x5000xbf16>, tensor<5000xbf16>, tensor<5000xbf16> -> tensor<?x1x5000xf32>
  %q, %sc = hk.quantize per_token %n : tensor<?x1x5000xf32> -> tensor<?x1x5000xi8>, tensor<?x1x1xf32>
  return %y, %s, %q, %sc : tensor<?x128xbf16>, tensor<?x1x5000xf32>, tensor<?x1x5000xi8>, tensor<?x1x1xf32>
}
func.func @reductions(%x: tensor<?x200xf32>, %k_rows: tensor<?x1001xf32>) -> (tensor<?x200xf32>, tensor<?x1x1xf32>, tensor<?x1x1x1xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x200xf32>
  %k = tensor.expand_shape %k_rows [[0], [1, 2]] output_shape [%t, 1, 1001] : tensor<?x1001xf32> into tensor<?x1x1001xf32>
  %k4 = tensor.expand_shape %k_rows [[0], [1, 2, 3]] output_shape [%t, 1, 7, 143] : tensor<?x1001xf32> into tensor<?x1x7x143xf32>
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x200xf32>
  %m = hk.reduce max %k : tensor<?x1x1001xf32> -> tensor<?x1x1xf32>
  %s = hk.reduce sum %k4 dims 2 : tensor<?x1x7x143xf32> -> tensor<?x1x1x1xf32>
  return %y, %m, %s : tensor<?x200xf32>, tensor<?x1x1xf32>, tensor<?x1x1x1xf32>
}
// Dims of one behind those that are reduced: neighbours in memory lie in another dim than the last.
func.func @ones_behind(%x: tensor<?x64x1xf32>, %k_rows: tensor<?x64x20xf32>) -> (tensor<?x1x1xf32>, tensor<?x64x1xf32>) {
  %s = hk.reduce sum %k_rows : tensor<?x64x20xf32> -> tensor<?x64x1xf32>
  %p = hk.mul %x, %s : tensor<?x64x1xf32>
  %m = hk.reduce sum %p dims 2 : tensor<?x64x1xf32> -> tensor<?x1x1xf32>
  %y = hk.sub %s, %m : tensor<?x64x1xf32>, tensor<?x1x1xf32>
  return %m, %y : tensor<?x1x1xf32>, tensor<?x64x1xf32>
}
func.func @long_ones_behind(%x: tensor<?x1001x1xf16>, %k_rows: tensor<?x1001x1xf16>) -> (tensor<?x1x1xf16>, tensor<?x1001xf16>) {
  %p = hk.mul %x, %k_rows : tensor<?x1001x1xf16>
  %m = hk.reduce absmax %p dims 2 : tensor<?x1001x1xf16> -> tensor<?x1x1xf16>
  %q = tensor.collapse_shape %p [[0], [1, 2]] : tensor<?x1001x1xf16> into tensor<?x1001xf16>
  %y = hk.silu %q : tensor<?x1001xf16>
  return %m, %y : tensor<?x1x1xf16>, tensor<?x1001xf16>
}
func.func @all_rows(%x: tensor<?x1xf32>, %k_rows: tensor<?x1xf32>) -> tensor<1x1xf32> {
  %p = hk.mul %x, %k_rows : tensor<?x1xf32>
  %m = hk.reduce sum %p dims 2 : tensor<?x1xf32> -> tensor<1x1xf32>
  return %m : tensor<1x1xf32>
}
