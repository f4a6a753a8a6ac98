// fp8 products with block scales, times a plus b, or plus a times b.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: x.0=0

func.func @product_scaled_by_tensor(%x: tensor<?x200xf8E4M3FN>, %w: tensor<136x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<2x2xf32>, %a: tensor<?x136xbf16>, %b: tensor<?x136xbf16>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<136x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x136xf32>
  %p = hk.mul %y, %a : tensor<?x136xf32>, tensor<?x136xbf16> -> tensor<?x136xf32>
  %o = hk.add %p, %b : tensor<?x136xf32>, tensor<?x136xbf16> -> tensor<?x136xbf16>
  return %o : tensor<?x136xbf16>
}
func.func @product_scaled_by_element(%x: tensor<?x256xf8E4M3FN>, %w: tensor<72x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<1x2xf32>, %a: tensor<1xf32>, %b: tensor<?x72xbf16>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x256xf8E4M3FN>, tensor<72x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x72xf32>
  %p = hk.mul %y, %a : tensor<?x72xf32>, tensor<1xf32> -> tensor<?x72xf32>
  %o = hk.add %p, %b : tensor<?x72xf32>, tensor<?x72xbf16> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @element_added(%x: tensor<?x200xf8E4M3FN>, %w: tensor<72x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<1x2xf32>, %a: tensor<?x72xbf16>, %b: tensor<1xf32>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x72xf32>
  %p = hk.mul %y, %a : tensor<?x72xf32>, tensor<?x72xbf16> -> tensor<?x72xf32>
  %o = hk.add %p, %b : tensor<?x72xf32>, tensor<1xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @tensors_multiplied(%x: tensor<?x200xf8E4M3FN>, %w: tensor<136x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<2x2xf32>, %a: tensor<?x136xbf16>, %b: tensor<?x136xbf16>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<136x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x136xf32>
  %p = hk.mul %a, %b : tensor<?x136xbf16>, tensor<?x136xbf16> -> tensor<?x136xf32>
  %o = hk.add %p, %y : tensor<?x136xf32>, tensor<?x136xf32> -> tensor<?x136xbf16>
  return %o : tensor<?x136xbf16>
}
func.func @tensor_times_element(%x: tensor<?x200xf8E4M3FN>, %w: tensor<72x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<1x2xf32>, %a: tensor<?x72xbf16>, %b: tensor<1xf32>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x72xf32>
  %p = hk.mul %a, %b : tensor<?x72xbf16>, tensor<1xf32> -> tensor<?x72xf32>
  %o = hk.add %p, %y : tensor<?x72xf32>, tensor<?x72xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @constant(%x: tensor<?x200xf8E4M3FN>, %w: tensor<72x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<1x2xf32>, %b: tensor<?x72xbf16>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w scales (%xs, %ws) {transpose_b} : tensor<?x200xf8E4M3FN>, tensor<72x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x72xf32>
  %two = hk.constant dense<2.5> : tensor<f32>
  %p = hk.mul %y, %two : tensor<?x72xf32>, tensor<f32> -> tensor<?x72xf32>
  %o = hk.add %p, %b : tensor<?x72xf32>, tensor<?x72xbf16> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
