// An fp8 product with block scales and a 16-bit product of the same rows, in one launch: the gate
// and up projection of a shared expert beside the router.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 h.0=1
// HK-DIMS: x.0=37 h.0=37
// HK-DIMS: @tail x.0=130 h.0=130
// HK-DIMS: x.0=0 h.0=0

func.func @whole(%x: tensor<?x256xf8E4M3FN> {hk.dims = ["M", "_"]}, %w: tensor<256x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<2x2xf32>, %h: tensor<?x256xbf16> {hk.dims = ["M", "_"]}, %v: tensor<128x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x128xbf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<256x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x256xbf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x256xbf16>, tensor<128x256xbf16> -> tensor<?x128xbf16>
  return %y, %r : tensor<?x256xbf16>, tensor<?x128xbf16>
}
func.func @tail(%x: tensor<?x200xf8E4M3FN> {hk.dims = ["M", "_"]}, %w: tensor<136x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<2x2xf32>, %h: tensor<?x200xbf16> {hk.dims = ["M", "_"]}, %v: tensor<72x200xbf16>) -> (tensor<?x136xbf16>, tensor<?x72xbf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x200xf8E4M3FN>, tensor<136x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x136xbf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x200xbf16>, tensor<72x200xbf16> -> tensor<?x72xbf16>
  return %y, %r : tensor<?x136xbf16>, tensor<?x72xbf16>
}
func.func @biases(%x: tensor<?x256xf8E4M3FN> {hk.dims = ["M", "_"]}, %w: tensor<72x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %ws: tensor<1x2xf32>, %b: tensor<72xbf16>, %h: tensor<?x256xbf16> {hk.dims = ["M", "_"]}, %v: tensor<136x256xbf16>, %c: tensor<136xbf16>) -> (tensor<?x72xbf16>, tensor<?x136xbf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<72x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x72xf32>
  %z = hk.add %y, %b : tensor<?x72xf32>, tensor<72xbf16> -> tensor<?x72xbf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x256xbf16>, tensor<136x256xbf16> -> tensor<?x136xf32>
  %s = hk.add %r, %c : tensor<?x136xf32>, tensor<136xbf16> -> tensor<?x136xbf16>
  return %z, %s : tensor<?x72xbf16>, tensor<?x136xbf16>
}
func.func @fnuz_f16(%x: tensor<?x128xf8E4M3FNUZ> {hk.dims = ["M", "_"]}, %w: tensor<64x128xf8E4M3FNUZ>, %xs: tensor<?x1xf32>, %ws: tensor<1x1xf32>, %h: tensor<?x128xf16> {hk.dims = ["M", "_"]}, %v: tensor<40x128xf16>) -> (tensor<?x64xf16>, tensor<?x40xf16>) {
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x128xf8E4M3FNUZ>, tensor<64x128xf8E4M3FNUZ> scales (tensor<?x1xf32>, tensor<1x1xf32>) -> tensor<?x64xf16>
  %r = hk.matmul %h, %v transpose_b : tensor<?x128xf16>, tensor<40x128xf16> -> tensor<?x40xf16>
  return %y, %r : tensor<?x64xf16>, tensor<?x40xf16>
}
