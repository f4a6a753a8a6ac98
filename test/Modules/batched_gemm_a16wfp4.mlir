// Batches of 16-bit rows, quantised on the way, times microscaling fp4 weights.
// HK-LAUNCHES: 1
// HK-DIMS: x.1=1
// HK-DIMS: x.1=19
// HK-DIMS: x.1=0

func.func @whole(%x: tensor<3x?x128xbf16>, %w: tensor<3x128x128xf4E2M1FN>, %ws: tensor<3x128x4xf8E8M0FNU>) -> tensor<3x?x128xbf16> {
  %q, %s = hk.quantize_mx even %x : tensor<3x?x128xbf16> -> tensor<3x?x128xf4E2M1FN>, tensor<3x?x4xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<3x?x128xf4E2M1FN>, tensor<3x128x128xf4E2M1FN> scales (tensor<3x?x4xf8E8M0FNU>, tensor<3x128x4xf8E8M0FNU>) -> tensor<3x?x128xbf16>
  return %y : tensor<3x?x128xbf16>
}
func.func @tail(%x: tensor<2x?x72xbf16>, %w: tensor<2x40x72xf4E2M1FN>, %ws: tensor<2x40x3xf8E8M0FNU>) -> tensor<2x?x40xbf16> {
  %q, %s = hk.quantize_mx even %x : tensor<2x?x72xbf16> -> tensor<2x?x72xf4E2M1FN>, tensor<2x?x3xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<2x?x72xf4E2M1FN>, tensor<2x40x72xf4E2M1FN> scales (tensor<2x?x3xf8E8M0FNU>, tensor<2x40x3xf8E8M0FNU>) -> tensor<2x?x40xbf16>
  return %y : tensor<2x?x40xbf16>
}
func.func @fp8_result(%x: tensor<2x?x96xbf16>, %w: tensor<2x72x96xf4E2M1FN>, %ws: tensor<2x72x3xf8E8M0FNU>, %out: tensor<1xf32>) -> tensor<2x?x72xf8E4M3FN> {
  %q, %s = hk.quantize_mx even %x : tensor<2x?x96xbf16> -> tensor<2x?x96xf4E2M1FN>, tensor<2x?x3xf8E8M0FNU>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<2x?x96xf4E2M1FN>, tensor<2x72x96xf4E2M1FN> scales (tensor<2x?x3xf8E8M0FNU>, tensor<2x72x3xf8E8M0FNU>) -> tensor<2x?x72xf32>
  %q8 = hk.quantize_static %y, %out : tensor<2x?x72xf32>, tensor<1xf32> -> tensor<2x?x72xf8E4M3FN>
  return %q8 : tensor<2x?x72xf8E4M3FN>
}
