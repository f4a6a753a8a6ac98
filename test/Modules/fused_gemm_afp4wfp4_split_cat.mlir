// A microscaling fp4 product whose columns are heads: the front of every head goes beside another
// tensor, the back is a result of its own.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 y.0=1
// HK-DIMS: x.0=37 y.0=37
// HK-DIMS: x.0=0 y.0=0

func.func @whole(%x: tensor<?x256xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<256x256xf4E2M1FN>, %xs: tensor<?x8xf8E8M0FNU>, %ws: tensor<256x8xf8E8M0FNU>, %y: tensor<?x4x64xbf16> {hk.dims = ["M", "_", "_"]}) -> (tensor<?x4x96xbf16>, tensor<?x4x32xbf16>) {
  %p = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf4E2M1FN>, tensor<256x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<256x8xf8E8M0FNU>) -> tensor<?x256xbf16>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x256xf4E2M1FN>
  %h = tensor.expand_shape %p [[0], [1, 2]] output_shape [%m, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %a = tensor.extract_slice %h[0, 0, 0] [%m, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %b = tensor.extract_slice %h[0, 0, 32] [%m, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %c = hk.concat 2 (%a, %y) : tensor<?x4x32xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x96xbf16>
  return %c, %b : tensor<?x4x96xbf16>, tensor<?x4x32xbf16>
}
func.func @tail(%x: tensor<?x200xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<192x200xf4E2M1FN>, %xs: tensor<?x7xf8E8M0FNU>, %ws: tensor<192x7xf8E8M0FNU>, %y: tensor<?x3x16xbf16> {hk.dims = ["M", "_", "_"]}) -> (tensor<?x3x40xbf16>, tensor<?x3x40xbf16>) {
  %p = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x200xf4E2M1FN>, tensor<192x200xf4E2M1FN> scales (tensor<?x7xf8E8M0FNU>, tensor<192x7xf8E8M0FNU>) -> tensor<?x192xbf16>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x200xf4E2M1FN>
  %h = tensor.expand_shape %p [[0], [1, 2]] output_shape [%m, 3, 64] : tensor<?x192xbf16> into tensor<?x3x64xbf16>
  %a = tensor.extract_slice %h[0, 0, 0] [%m, 3, 24] [1, 1, 1] : tensor<?x3x64xbf16> to tensor<?x3x24xbf16>
  %b = tensor.extract_slice %h[0, 0, 24] [%m, 3, 40] [1, 1, 1] : tensor<?x3x64xbf16> to tensor<?x3x40xbf16>
  %c = hk.concat 2 (%a, %y) : tensor<?x3x24xbf16>, tensor<?x3x16xbf16> -> tensor<?x3x40xbf16>
  return %c, %b : tensor<?x3x40xbf16>, tensor<?x3x40xbf16>
}
func.func @odd(%x: tensor<?x96xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<40x96xf4E2M1FN>, %xs: tensor<?x3xf8E8M0FNU>, %ws: tensor<40x3xf8E8M0FNU>, %y: tensor<?x2x5xbf16> {hk.dims = ["M", "_", "_"]}) -> (tensor<?x2x18xbf16>, tensor<?x2x7xbf16>) {
  %p = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x96xf4E2M1FN>, tensor<40x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<40x3xf8E8M0FNU>) -> tensor<?x40xbf16>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x96xf4E2M1FN>
  %h = tensor.expand_shape %p [[0], [1, 2]] output_shape [%m, 2, 20] : tensor<?x40xbf16> into tensor<?x2x20xbf16>
  %a = tensor.extract_slice %h[0, 0, 0] [%m, 2, 13] [1, 1, 1] : tensor<?x2x20xbf16> to tensor<?x2x13xbf16>
  %b = tensor.extract_slice %h[0, 0, 13] [%m, 2, 7] [1, 1, 1] : tensor<?x2x20xbf16> to tensor<?x2x7xbf16>
  %c = hk.concat 2 (%a, %y) : tensor<?x2x13xbf16>, tensor<?x2x5xbf16> -> tensor<?x2x18xbf16>
  return %c, %b : tensor<?x2x18xbf16>, tensor<?x2x7xbf16>
}
func.func @shared_by_heads(%x: tensor<?x96xf4E2M1FN> {hk.dims = ["M", "_"]}, %w: tensor<256x96xf4E2M1FN>, %xs: tensor<?x3xf8E8M0FNU>, %ws: tensor<256x3xf8E8M0FNU>, %y: tensor<?x16xbf16> {hk.dims = ["M", "_"]}) -> (tensor<?x4x48xbf16>, tensor<?x4x32xbf16>) {
  %p = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x96xf4E2M1FN>, tensor<256x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<256x3xf8E8M0FNU>) -> tensor<?x256xbf16>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x96xf4E2M1FN>
  %h = tensor.expand_shape %p [[0], [1, 2]] output_shape [%m, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %a = tensor.extract_slice %h[0, 0, 0] [%m, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %b = tensor.extract_slice %h[0, 0, 32] [%m, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %y1 = tensor.expand_shape %y [[0, 1], [2]] output_shape [%m, 1, 16] : tensor<?x16xbf16> into tensor<?x1x16xbf16>
  %ys = hk.concat 1 (%y1, %y1, %y1, %y1) : tensor<?x1x16xbf16>, tensor<?x1x16xbf16>, tensor<?x1x16xbf16>, tensor<?x1x16xbf16> -> tensor<?x4x16xbf16>
  %c = hk.concat 2 (%a, %ys) : tensor<?x4x32xbf16>, tensor<?x4x16xbf16> -> tensor<?x4x48xbf16>
  return %c, %b : tensor<?x4x48xbf16>, tensor<?x4x32xbf16>
}
