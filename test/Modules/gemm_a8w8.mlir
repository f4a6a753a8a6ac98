// int8 and fp8 products with scales per row and per column.
// HK-LAUNCHES: 1
// HK-ARGS: --range=q=-127:127 --range=w=-127:127
// HK-DIMS: q.0=19
// HK-DIMS: q.0=0

func.func @int8(%q: tensor<?x128xi8>, %w: tensor<64x128xi8>, %s: tensor<?x1xf32>, %ws: tensor<64x1xf32>) -> tensor<?x64xbf16> {
  %y = hk.matmul %q, %w scales (%s, %ws) transpose_b : tensor<?x128xi8>, tensor<64x128xi8> scales (tensor<?x1xf32>, tensor<64x1xf32>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
