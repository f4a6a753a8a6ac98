// Microscaling products: fp4 elements with an e8m0 scale per 32 of k on both sides.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @whole x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @tail x.0=31 --data=nan
// HK-DIMS: @tail x.0=5 --data=tiny

func.func @whole(%x: tensor<?x256xf4E2M1FN>, %w: tensor<136x256xf4E2M1FN>, %xs: tensor<?x8xf8E8M0FNU>, %ws: tensor<136x8xf8E8M0FNU>) -> tensor<?x136xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf4E2M1FN>, tensor<136x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<136x8xf8E8M0FNU>) -> tensor<?x136xf32>
  return %y : tensor<?x136xf32>
}
func.func @tail(%x: tensor<?x200xf4E2M1FN>, %w: tensor<72x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @one_block(%x: tensor<?x20xf4E2M1FN>, %w: tensor<33x20xf4E2M1FN>, %xs: tensor<?x1xf8E8M0FNU>, %ws: tensor<33x1xf8E8M0FNU>) -> tensor<?x33xf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x20xf4E2M1FN>, tensor<33x20xf4E2M1FN> scales (tensor<?x1xf8E8M0FNU>, tensor<33x1xf8E8M0FNU>) -> tensor<?x33xf16>
  return %y : tensor<?x33xf16>
}
func.func @bias_silu(%x: tensor<?x96xf4E2M1FN>, %w: tensor<128x96xf4E2M1FN>, %xs: tensor<?x3xf8E8M0FNU>, %ws: tensor<128x3xf8E8M0FNU>, %b: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x96xf4E2M1FN>, tensor<128x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<128x3xf8E8M0FNU>) -> tensor<?x128xbf16>
  %z = hk.add %y, %b : tensor<?x128xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
  %o = hk.silu %z : tensor<?x128xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
func.func @quantised(%x: tensor<?x128xf4E2M1FN>, %w: tensor<256x128xf4E2M1FN>, %xs: tensor<?x4xf8E8M0FNU>, %ws: tensor<256x4xf8E8M0FNU>) -> (tensor<?x256xf8E4M3FN>, tensor<?x2xf32>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x128xf4E2M1FN>, tensor<256x128xf4E2M1FN> scales (tensor<?x4xf8E8M0FNU>, tensor<256x4xf8E8M0FNU>) -> tensor<?x256xbf16>
  %q, %s = hk.quantize per_group %y {group_size = 128 : i64} : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s : tensor<?x256xf8E4M3FN>, tensor<?x2xf32>
}
func.func @nn(%x: tensor<?x96xf4E2M1FN>, %w: tensor<96x72xf4E2M1FN>, %xs: tensor<?x3xf8E8M0FNU>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) : tensor<?x96xf4E2M1FN>, tensor<96x72xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @tn(%x: tensor<96x34xf4E2M1FN>, %w: tensor<96x72xf4E2M1FN>, %xs: tensor<34x3xf8E8M0FNU>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<34x72xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_a} : tensor<96x34xf4E2M1FN>, tensor<96x72xf4E2M1FN> scales (tensor<34x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<34x72xf32>
  return %y : tensor<34x72xf32>
}
func.func @tt(%x: tensor<96x34xf4E2M1FN>, %w: tensor<72x96xf4E2M1FN>, %xs: tensor<34x3xf8E8M0FNU>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<34x72xf32> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_a, transpose_b} : tensor<96x34xf4E2M1FN>, tensor<72x96xf4E2M1FN> scales (tensor<34x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<34x72xf32>
  return %y : tensor<34x72xf32>
}
func.func @mxfp8(%x: tensor<?x200xf8E4M3FN>, %w: tensor<72x200xf8E4M3FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf8E4M3FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @mxfp8_e5m2(%x: tensor<?x96xf8E5M2>, %w: tensor<72x96xf8E4M3FN>, %xs: tensor<?x3xf8E8M0FNU>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x96xf8E5M2>, tensor<72x96xf8E4M3FN> scales (tensor<?x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @mxfp8_fp4(%x: tensor<?x200xf8E4M3FN>, %w: tensor<72x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
