// fp8 products with a scale per row and per column.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @fn x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @fn x.0=5 --data=nan

func.func @fn(%x: tensor<?x256xf8E4M3FN>, %w: tensor<136x256xf8E4M3FN>, %xs: tensor<?x1xf32>, %ws: tensor<136x1xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf8E4M3FN>, tensor<136x256xf8E4M3FN> scales (tensor<?x1xf32>, tensor<136x1xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @fnuz(%x: tensor<?x200xf8E4M3FNUZ>, %w: tensor<72x200xf8E4M3FNUZ>, %xs: tensor<?x1xf32>, %ws: tensor<72x1xf32>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FNUZ>, tensor<72x200xf8E4M3FNUZ> scales (tensor<?x1xf32>, tensor<72x1xf32>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @odd(%x: tensor<?x2xf8E4M3FN>, %w: tensor<5x2xf8E4M3FN>, %xs: tensor<?x1xf32>, %ws: tensor<5x1xf32>) -> tensor<?x5xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x2xf8E4M3FN>, tensor<5x2xf8E4M3FN> scales (tensor<?x1xf32>, tensor<5x1xf32>) -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}
