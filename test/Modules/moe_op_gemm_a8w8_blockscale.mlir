// fp8 products of experts with scales of 1x128 and 128x128 blocks over gathered rows.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 gather.0=2 gammas.0=2 rows.0=2
// HK-DIMS: x.0=7 weights.0=7 gather.0=14 gammas.0=14 rows.0=14
// HK-DIMS: x.0=64 weights.0=64 gather.0=128 gammas.0=128 rows.0=128
// HK-DIMS: x.0=0 weights.0=0 gather.0=0 gammas.0=0 rows.0=0

func.func @whole(%x: tensor<?x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<8x136x256xf8E4M3FN>, %ws: tensor<8x2x2xf32>, %offsets: tensor<9xi32>, %gather: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather transpose_b top_k 2 : tensor<?x256xf8E4M3FN>, tensor<8x136x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<8x2x2xf32>) groups tensor<9xi32> order tensor<?xi32> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @tail(%x: tensor<?x300xf8E4M3FN>, %xs: tensor<?x3xf32>, %w: tensor<4x300x300xf8E4M3FN>, %ws: tensor<4x3x3xf32>, %bias: tensor<4x300xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x300xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 4 : tensor<?x300xf8E4M3FN>, tensor<4x300x300xf8E4M3FN> scales (tensor<?x3xf32>, tensor<4x3x3xf32>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x300xf32> -> tensor<?x300xbf16>
  return %y : tensor<?x300xbf16>
}
func.func @weighted(%x: tensor<?x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<4x72x200xf8E4M3FN>, %ws: tensor<4x1x2xf32>, %gammas: tensor<?x1xf32> {hk.dims = ["P", "_"]}, %offsets: tensor<5xi32>, %gather: tensor<?xi32> {hk.dims = ["P"]}) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather transpose_b top_k 2 : tensor<?x200xf8E4M3FN>, tensor<4x72x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<4x1x2xf32>) groups tensor<5xi32> order tensor<?xi32> -> tensor<?x72xf32>
  %m = hk.mul %y, %gammas : tensor<?x72xf32>, tensor<?x1xf32> -> tensor<?x72xbf16>
  return %m : tensor<?x72xbf16>
}
func.func @second(%rows: tensor<?x136xf8E4M3FN> {hk.dims = ["P", "_"]}, %xs: tensor<?x2xf32>, %w: tensor<4x256x136xf8E4M3FN>, %ws: tensor<4x2x2xf32>, %gammas: tensor<?x1xf32> {hk.dims = ["P", "_"]}, %offsets: tensor<5xi32>) -> tensor<?x256xbf16> {
  %y = hk.grouped_matmul %rows, %w scales (%xs, %ws) bounds %offsets transpose_b : tensor<?x136xf8E4M3FN>, tensor<4x256x136xf8E4M3FN> scales (tensor<?x2xf32>, tensor<4x2x2xf32>) groups tensor<5xi32> -> tensor<?x256xf32>
  %m = hk.mul %y, %gammas : tensor<?x256xf32>, tensor<?x1xf32> -> tensor<?x256xbf16>
  return %m : tensor<?x256xbf16>
}
