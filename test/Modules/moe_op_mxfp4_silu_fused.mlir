// A product of experts with MXFP4 weights, SiLU of the first half of its columns times the
// second, which are rounded before; the rows are MXFP4, MXFP8 or bf16.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 sorted.0=32 experts.0=2
// HK-DIMS: x.0=7 weights.0=7 sorted.0=80 experts.0=5
// HK-DIMS: x.0=64 weights.0=64 sorted.0=176 experts.0=11
// HK-DIMS: x.0=0 weights.0=0 sorted.0=0 experts.0=0
// HK-DIMS: x.0=7 weights.0=7 sorted.0=37 experts.0=3 --range=experts=-1:2

func.func @both(%x: tensor<?x128xf4E2M1FN>, %xs: tensor<?x4xf8E8M0FNU>, %w: tensor<4x64x128xf4E2M1FN>, %ws: tensor<4x64x4xf8E8M0FNU>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x128xf4E2M1FN>, tensor<4x64x128xf4E2M1FN> scales (tensor<?x4xf8E8M0FNU>, tensor<4x64x4xf8E8M0FNU>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %o = hk.gated_activation silu %y : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}
func.func @tail(%x: tensor<?x72xf4E2M1FN>, %xs: tensor<?x3xf8E8M0FNU>, %w: tensor<8x64x72xf4E2M1FN>, %ws: tensor<8x64x3xf8E8M0FNU>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xf4E2M1FN>, tensor<8x64x72xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<8x64x3xf8E8M0FNU>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %o = hk.gated_activation silu %y : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}
func.func @mxfp8_rows(%x: tensor<?x96xf8E4M3FN>, %xs: tensor<?x3xf8E8M0FNU>, %w: tensor<4x64x96xf4E2M1FN>, %ws: tensor<4x64x3xf8E8M0FNU>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x96xf8E4M3FN>, tensor<4x64x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<4x64x3xf8E8M0FNU>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %o = hk.gated_activation silu %y : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}
func.func @bf16_rows(%x: tensor<?x64xbf16>, %w: tensor<4x144x64xf4E2M1FN>, %ws: tensor<4x144x2xf8E8M0FNU>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %ws) blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x64xbf16>, tensor<4x144x64xf4E2M1FN> scales (none, tensor<4x144x2xf8E8M0FNU>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x144xbf16>
  %o = hk.gated_activation silu %y : tensor<?x144xbf16> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
