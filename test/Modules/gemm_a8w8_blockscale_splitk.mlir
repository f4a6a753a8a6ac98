// Scales along k and slices of k: a slice holds whole groups of 128.
// HK-COMPILE: --split-k=2
// HK-LAUNCHES: 2
// HK-DIMS: x.0=5 xs.0=5

func.func @blockscale(%x: tensor<?x392xf8E4M3FN>, %w: tensor<136x392xf8E4M3FN>, %xs: tensor<?x4xf32>, %ws: tensor<2x4xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x392xf8E4M3FN>, tensor<136x392xf8E4M3FN> scales (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @blockscale_fnuz(%x: tensor<?x392xf8E4M3FNUZ>, %w: tensor<136x392xf8E4M3FNUZ>, %xs: tensor<?x4xf32>, %ws: tensor<2x4xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x392xf8E4M3FNUZ>, tensor<136x392xf8E4M3FNUZ> scales (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
