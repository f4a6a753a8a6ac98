// fp8 rows with a scale each and microscaling fp4 weights.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @whole x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @tail x.0=5 --data=nan

func.func @whole(%x: tensor<?x256xf8E4M3FN>, %w: tensor<136x256xf4E2M1FN>, %xs: tensor<?x1xf32>, %ws: tensor<136x8xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf8E4M3FN>, tensor<136x256xf4E2M1FN> scales (tensor<?x1xf32>, tensor<136x8xf8E8M0FNU>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @tail(%x: tensor<?x200xf8E4M3FN>, %w: tensor<72x200xf4E2M1FN>, %xs: tensor<?x1xf32>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x1xf32>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @fnuz(%x: tensor<?x96xf8E4M3FNUZ>, %w: tensor<72x96xf4E2M1FN>, %xs: tensor<?x1xf32>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x96xf8E4M3FNUZ>, tensor<72x96xf4E2M1FN> scales (tensor<?x1xf32>, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
func.func @blocks_of_rows(%x: tensor<?x392xf8E4M3FN>, %w: tensor<136x392xf4E2M1FN>, %xs: tensor<?x4xf32>, %ws: tensor<136x13xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x392xf8E4M3FN>, tensor<136x392xf4E2M1FN> scales (tensor<?x4xf32>, tensor<136x13xf8E8M0FNU>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @bias_silu(%x: tensor<?x96xf8E4M3FN>, %w: tensor<128x96xf4E2M1FN>, %xs: tensor<?x1xf32>, %ws: tensor<128x3xf8E8M0FNU>, %b: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x96xf8E4M3FN>, tensor<128x96xf4E2M1FN> scales (tensor<?x1xf32>, tensor<128x3xf8E8M0FNU>) -> tensor<?x128xbf16>
  %z = hk.add %y, %b : tensor<?x128xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
  %o = hk.silu %z : tensor<?x128xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
