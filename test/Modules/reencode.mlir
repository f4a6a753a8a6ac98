// e4m3 codes for a chip of the other flavour, alone and before a product.
// HK-LAUNCHES: 2
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: x.0=0
// HK-DATA: normal,huge,nan

func.func @to_fnuz(%x: tensor<?x200xf8E4M3FN>) -> tensor<?x200xf8E4M3FNUZ> {
  %y = hk.reencode %x : tensor<?x200xf8E4M3FN> -> tensor<?x200xf8E4M3FNUZ>
  return %y : tensor<?x200xf8E4M3FNUZ>
}
func.func @to_fn(%x: tensor<?x200xf8E4M3FNUZ>) -> tensor<?x200xf8E4M3FN> {
  %y = hk.reencode %x : tensor<?x200xf8E4M3FNUZ> -> tensor<?x200xf8E4M3FN>
  return %y : tensor<?x200xf8E4M3FN>
}
func.func @product(%x: tensor<?x128xf8E4M3FNUZ>, %w: tensor<64x128xf8E4M3FN>, %xs: tensor<?x1xf32>, %ws: tensor<64x1xf32>) -> tensor<?x64xbf16> {
  %two = hk.constant 2.0 : tensor<f32>
  %v = hk.reencode %w : tensor<64x128xf8E4M3FN> -> tensor<64x128xf8E4M3FNUZ>
  %vs = hk.mul %ws, %two : tensor<64x1xf32>, tensor<f32>
  %y = hk.matmul %x, %v scales (%xs, %vs) transpose_b : tensor<?x128xf8E4M3FNUZ>, tensor<64x128xf8E4M3FNUZ> scales (tensor<?x1xf32>, tensor<64x1xf32>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
