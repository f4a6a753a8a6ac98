// A microscaling fp4 product and a 16-bit product of the same rows, in one launch.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 h.0=1
// HK-DIMS: x.0=37 h.0=37
// HK-DIMS: @tail x.0=130 h.0=130
// HK-DIMS: x.0=0 h.0=0

func.func @whole(%x: tensor<?x256xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<256x256xf4E2M1FN>, %xs: tensor<?x8xf8E8M0FNU>, %ws: tensor<256x8xf8E8M0FNU>, %h: tensor<?x256xbf16> {hk.dims = ["M", "_"]}, %v: tensor<128x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x128xbf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf4E2M1FN>, tensor<256x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<256x8xf8E8M0FNU>) -> tensor<?x256xbf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x256xbf16>, tensor<128x256xbf16> -> tensor<?x128xbf16>
  return %y, %r : tensor<?x256xbf16>, tensor<?x128xbf16>
}
func.func @tail(%x: tensor<?x200xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<136x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<136x7xf8E8M0FNU>, %h: tensor<?x200xbf16> {hk.dims = ["M", "_"]}, %v: tensor<72x200xbf16>) -> (tensor<?x136xbf16>, tensor<?x72xbf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x200xf4E2M1FN>, tensor<136x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<136x7xf8E8M0FNU>) -> tensor<?x136xbf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x200xbf16>, tensor<72x200xbf16> -> tensor<?x72xbf16>
  return %y, %r : tensor<?x136xbf16>, tensor<?x72xbf16>
}
func.func @biases(%x: tensor<?x96xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<72x96xf4E2M1FN>, %xs: tensor<?x3xf8E8M0FNU>, %ws: tensor<72x3xf8E8M0FNU>, %b: tensor<72xbf16>, %h: tensor<?x96xbf16> {hk.dims = ["M", "_"]}, %v: tensor<136x96xbf16>, %c: tensor<136xbf16>) -> (tensor<?x72xbf16>, tensor<?x136xbf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x96xf4E2M1FN>, tensor<72x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<72x3xf8E8M0FNU>) -> tensor<?x72xf32>
  %z = hk.add %y, %b : tensor<?x72xf32>, tensor<72xbf16> -> tensor<?x72xbf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x96xbf16>, tensor<136x96xbf16> -> tensor<?x136xf32>
  %s = hk.add %r, %c : tensor<?x136xf32>, tensor<136xbf16> -> tensor<?x136xbf16>
  return %z, %s : tensor<?x72xbf16>, tensor<?x136xbf16>
}
