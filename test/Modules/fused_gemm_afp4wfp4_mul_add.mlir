// Microscaling fp4 products, times a plus b, or plus a times b.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: x.0=0

func.func @product_scaled_by_tensor(%x: tensor<?x200xf4E2M1FN>, %w: tensor<136x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<136x7xf8E8M0FNU>, %a: tensor<?x136xbf16>, %b: tensor<?x136xbf16>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<136x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<136x7xf8E8M0FNU>) -> tensor<?x136xf32>
  %p = hk.mul %y, %a : tensor<?x136xf32>, tensor<?x136xbf16> -> tensor<?x136xf32>
  %o = hk.add %p, %b : tensor<?x136xf32>, tensor<?x136xbf16> -> tensor<?x136xbf16>
  return %o : tensor<?x136xbf16>
}
func.func @product_scaled_by_element(%x: tensor<?x256xf4E2M1FN>, %w: tensor<72x256xf4E2M1FN>, %xs: tensor<?x8xf8E8M0FNU>, %ws: tensor<72x8xf8E8M0FNU>, %a: tensor<1xf32>, %b: tensor<?x72xbf16>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf4E2M1FN>, tensor<72x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<72x8xf8E8M0FNU>) -> tensor<?x72xf32>
  %p = hk.mul %y, %a : tensor<?x72xf32>, tensor<1xf32> -> tensor<?x72xf32>
  %o = hk.add %p, %b : tensor<?x72xf32>, tensor<?x72xbf16> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @element_added(%x: tensor<?x200xf4E2M1FN>, %w: tensor<72x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<72x7xf8E8M0FNU>, %a: tensor<?x72xbf16>, %b: tensor<1xf32>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xf32>
  %p = hk.mul %y, %a : tensor<?x72xf32>, tensor<?x72xbf16> -> tensor<?x72xf32>
  %o = hk.add %p, %b : tensor<?x72xf32>, tensor<1xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @tensors_multiplied(%x: tensor<?x200xf4E2M1FN>, %w: tensor<136x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<136x7xf8E8M0FNU>, %a: tensor<?x136xbf16>, %b: tensor<?x136xbf16>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<136x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<136x7xf8E8M0FNU>) -> tensor<?x136xf32>
  %p = hk.mul %a, %b : tensor<?x136xbf16>, tensor<?x136xbf16> -> tensor<?x136xf32>
  %o = hk.add %p, %y : tensor<?x136xf32>, tensor<?x136xf32> -> tensor<?x136xbf16>
  return %o : tensor<?x136xbf16>
}
func.func @tensor_times_element(%x: tensor<?x200xf4E2M1FN>, %w: tensor<72x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<72x7xf8E8M0FNU>, %a: tensor<?x72xbf16>, %b: tensor<1xf32>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xf32>
  %p = hk.mul %a, %b : tensor<?x72xbf16>, tensor<1xf32> -> tensor<?x72xf32>
  %o = hk.add %p, %y : tensor<?x72xf32>, tensor<?x72xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @constant(%x: tensor<?x200xf4E2M1FN>, %w: tensor<72x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<72x7xf8E8M0FNU>, %b: tensor<?x72xbf16>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf4E2M1FN>, tensor<72x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<72x7xf8E8M0FNU>) -> tensor<?x72xf32>
  %two = hk.constant dense<2.5> : tensor<f32>
  %p = hk.mul %y, %two : tensor<?x72xf32>, tensor<f32> -> tensor<?x72xf32>
  %o = hk.add %p, %b : tensor<?x72xf32>, tensor<?x72xbf16> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
