// Batches of microscaling fp4 products.
// HK-LAUNCHES: 1
// HK-DIMS: x.1=1
// HK-DIMS: x.1=19
// HK-DIMS: x.1=0

func.func @whole(%x: tensor<3x?x128xf4E2M1FN>, %w: tensor<3x72x128xf4E2M1FN>, %xs: tensor<3x?x4xf8E8M0FNU>, %ws: tensor<3x72x4xf8E8M0FNU>) -> tensor<3x?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<3x?x128xf4E2M1FN>, tensor<3x72x128xf4E2M1FN> scales (tensor<3x?x4xf8E8M0FNU>, tensor<3x72x4xf8E8M0FNU>) -> tensor<3x?x72xbf16>
  return %y : tensor<3x?x72xbf16>
}
func.func @tail(%x: tensor<2x?x72xf4E2M1FN>, %w: tensor<2x40x72xf4E2M1FN>, %xs: tensor<2x?x3xf8E8M0FNU>, %ws: tensor<2x40x3xf8E8M0FNU>) -> tensor<2x?x40xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<2x?x72xf4E2M1FN>, tensor<2x40x72xf4E2M1FN> scales (tensor<2x?x3xf8E8M0FNU>, tensor<2x40x3xf8E8M0FNU>) -> tensor<2x?x40xbf16>
  return %y : tensor<2x?x40xbf16>
}
func.func @two_dims(%x: tensor<2x2x3x96xf4E2M1FN>, %w: tensor<2x2x24x96xf4E2M1FN>, %xs: tensor<2x2x3x3xf8E8M0FNU>, %ws: tensor<2x2x24x3xf8E8M0FNU>) -> tensor<2x2x3x24xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<2x2x3x96xf4E2M1FN>, tensor<2x2x24x96xf4E2M1FN> scales (tensor<2x2x3x3xf8E8M0FNU>, tensor<2x2x24x3xf8E8M0FNU>) -> tensor<2x2x3x24xf32>
  return %y : tensor<2x2x3x24xf32>
}
