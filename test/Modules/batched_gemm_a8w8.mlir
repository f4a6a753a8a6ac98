// Batches of int8 and fp8 products with scales per row and column.
// HK-LAUNCHES: 1
// HK-ARGS: --range=x=-127:127 --range=w=-127:127
// HK-DIMS: x.1=1
// HK-DIMS: x.1=19
// HK-DIMS: x.1=0

func.func @int8(%x: tensor<3x?x136xi8>, %w: tensor<3x72x136xi8>, %xs: tensor<3x?x1xf32>, %ws: tensor<3x72x1xf32>) -> tensor<3x?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<3x?x136xi8>, tensor<3x72x136xi8> scales (tensor<3x?x1xf32>, tensor<3x72x1xf32>) -> tensor<3x?x72xbf16>
  return %y : tensor<3x?x72xbf16>
}
func.func @int8_bias(%x: tensor<2x?x72xi8>, %w: tensor<2x40x72xi8>, %xs: tensor<2x?x1xf32>, %ws: tensor<2x40x1xf32>, %b: tensor<2x1x40xbf16>) -> tensor<2x?x40xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<2x?x72xi8>, tensor<2x40x72xi8> scales (tensor<2x?x1xf32>, tensor<2x40x1xf32>) -> tensor<2x?x40xbf16>
  %z = hk.add %y, %b : tensor<2x?x40xbf16>, tensor<2x1x40xbf16> -> tensor<2x?x40xbf16>
  return %z : tensor<2x?x40xbf16>
}
func.func @fp8(%x: tensor<3x?x136xf8E4M3FN>, %w: tensor<3x72x136xf8E4M3FN>, %xs: tensor<3x?x1xf32>, %ws: tensor<3x72x1xf32>) -> tensor<3x?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<3x?x136xf8E4M3FN>, tensor<3x72x136xf8E4M3FN> scales (tensor<3x?x1xf32>, tensor<3x72x1xf32>) -> tensor<3x?x72xbf16>
  return %y : tensor<3x?x72xbf16>
}
func.func @fnuz_bias(%x: tensor<2x?x72xf8E4M3FNUZ>, %w: tensor<2x40x72xf8E4M3FNUZ>, %xs: tensor<2x?x1xf32>, %ws: tensor<2x40x1xf32>, %b: tensor<2x1x40xf16>) -> tensor<2x?x40xf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<2x?x72xf8E4M3FNUZ>, tensor<2x40x72xf8E4M3FNUZ> scales (tensor<2x?x1xf32>, tensor<2x40x1xf32>) -> tensor<2x?x40xf16>
  %z = hk.add %y, %b : tensor<2x?x40xf16>, tensor<2x1x40xf16> -> tensor<2x?x40xf16>
  return %z : tensor<2x?x40xf16>
}
func.func @e5m2(%x: tensor<2x?x64xf8E5M2>, %w: tensor<2x40x64xf8E5M2>, %xs: tensor<2x?x1xf32>, %ws: tensor<2x40x1xf32>) -> tensor<2x?x40xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<2x?x64xf8E5M2>, tensor<2x40x64xf8E5M2> scales (tensor<2x?x1xf32>, tensor<2x40x1xf32>) -> tensor<2x?x40xf32>
  return %y : tensor<2x?x40xf32>
}
