// fp8 products with a scale per row and 128 of k, and per 128 x 128 of the weights.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @tail x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @tail x.0=5 --data=nan

func.func @whole(%x: tensor<?x256xf8E4M3FN>, %w: tensor<256x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<2x2xf32>) -> tensor<?x256xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf8E4M3FN>, tensor<256x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @tail(%x: tensor<?x200xf8E4M3FN>, %w: tensor<136x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<2x2xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<136x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @fnuz(%x: tensor<?x320xf8E4M3FNUZ>, %w: tensor<72x320xf8E4M3FNUZ>, %xs: tensor<?x3xf32>, %ws: tensor<1x3xf32>) -> tensor<?x72xf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x320xf8E4M3FNUZ>, tensor<72x320xf8E4M3FNUZ> scales (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
func.func @short(%x: tensor<?x40xf8E4M3FN>, %w: tensor<33x40xf8E4M3FN>, %xs: tensor<?x1xf32>, %ws: tensor<1x1xf32>) -> tensor<?x33xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x40xf8E4M3FN>, tensor<33x40xf8E4M3FN> scales (tensor<?x1xf32>, tensor<1x1xf32>) -> tensor<?x33xf32>
  return %y : tensor<?x33xf32>
}
func.func @bias_silu(%x: tensor<?x256xf8E4M3FN>, %w: tensor<128x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<1x2xf32>, %b: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf8E4M3FN>, tensor<128x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x128xbf16>
  %z = hk.add %y, %b : tensor<?x128xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
  %o = hk.silu %z : tensor<?x128xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
