// 16-bit rows and microscaling fp4 weights: the rows quantised on the way (AITER's
// product), or the weights widened.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @quantised x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @quantised_tail x.0=5 --data=nan
// HK-DIMS: @quantised_tail x.0=5 --data=inf
// HK-DIMS: @weights_tail x.0=5 --data=nan

func.func @quantised(%x: tensor<?x256xbf16>, %w: tensor<136x256xf4E2M1FN>, %ws: tensor<136x8xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %q, %s = hk.quantize_mx even %x : tensor<?x256xbf16> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xf4E2M1FN>, tensor<136x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<136x8xf8E8M0FNU>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @quantised_tail(%x: tensor<?x200xbf16>, %w: tensor<72x200xf4E2M1FN>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %q, %s = hk.quantize_mx even %x : tensor<?x200xbf16> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @quantised_f16(%x: tensor<?x96xf16>, %w: tensor<72x96xf4E2M1FN>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf16> {
  %q, %s = hk.quantize_mx even %x : tensor<?x96xf16> -> tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x96xf4E2M1FN>, tensor<72x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
func.func @quantised_ceil(%x: tensor<?x96xbf16>, %w: tensor<72x96xf4E2M1FN>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x96xbf16> -> tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x96xf4E2M1FN>, tensor<72x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @quantised_mxfp8(%x: tensor<?x200xbf16>, %w: tensor<72x200xf4E2M1FN>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %q, %s = hk.quantize_mx even %x : tensor<?x200xbf16> -> tensor<?x200xf8E4M3FN>, tensor<?x7xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @bias_silu(%x: tensor<?x96xbf16>, %w: tensor<128x96xf4E2M1FN>, %ws: tensor<128x3xf8E8M0FNU>, %b: tensor<128xbf16>) -> tensor<?x128xbf16> {
  %q, %s = hk.quantize_mx even %x : tensor<?x96xbf16> -> tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x96xf4E2M1FN>, tensor<128x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<128x3xf8E8M0FNU>) -> tensor<?x128xbf16>
  %z = hk.add %y, %b : tensor<?x128xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
  %o = hk.silu %z : tensor<?x128xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
func.func @weights(%x: tensor<?x256xbf16>, %w: tensor<136x256xf4E2M1FN>, %ws: tensor<136x8xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %d = hk.dequantize %w, %ws : tensor<136x256xf4E2M1FN>, tensor<136x8xf8E8M0FNU> -> tensor<136x256xbf16>
  %y = hk.matmul %x, %d {transpose_b} : tensor<?x256xbf16>, tensor<136x256xbf16> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @weights_tail(%x: tensor<?x200xbf16>, %w: tensor<72x200xf4E2M1FN>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %ws : tensor<72x200xf4E2M1FN>, tensor<72x7xf8E8M0FNU> -> tensor<72x200xbf16>
  %y = hk.matmul %x, %d {transpose_b} : tensor<?x200xbf16>, tensor<72x200xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @weights_f16(%x: tensor<?x96xf16>, %w: tensor<72x96xf4E2M1FN>, %ws: tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf16> {
  %y = hk.matmul %x, %w scales (none, %ws) {transpose_b} : tensor<?x96xf16>, tensor<72x96xf4E2M1FN> scales (none, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
func.func @weights_exact(%x: tensor<?x200xbf16>, %w: tensor<72x200xf4E2M1FN>, %ws: tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (none, %ws) {transpose_b} : tensor<?x200xbf16>, tensor<72x200xf4E2M1FN> scales (none, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
