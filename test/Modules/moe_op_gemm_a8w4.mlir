// fp8 rows and MXFP4 weights of experts (GPT-OSS): static or MXFP8 scales of the rows.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 gather.0=2 gammas.0=2 rows.0=2
// HK-DIMS: x.0=7 weights.0=7 gather.0=14 gammas.0=14 rows.0=14
// HK-DIMS: x.0=64 weights.0=64 gather.0=128 gammas.0=128 rows.0=128
// HK-DIMS: x.0=0 weights.0=0 gather.0=0 gammas.0=0 rows.0=0

func.func @static_scale(%x: tensor<?x96xf8E4M3FN>, %xs: tensor<1xf32>, %w: tensor<4x40x96xf4E2M1FN>, %ws: tensor<4x40x3xf8E8M0FNU>, %bias: tensor<4x40xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x96xf8E4M3FN>, tensor<4x40x96xf4E2M1FN> scales (tensor<1xf32>, tensor<4x40x3xf8E8M0FNU>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x40xf32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @mx_scale(%x: tensor<?x96xf8E4M3FN>, %xs: tensor<?x3xf8E8M0FNU>, %w: tensor<8x72x96xf4E2M1FN>, %ws: tensor<8x72x3xf8E8M0FNU>, %bias: tensor<8x72xf32>, %offsets: tensor<9xi32>, %gather: tensor<?xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x96xf8E4M3FN>, tensor<8x72x96xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<8x72x3xf8E8M0FNU>) groups tensor<9xi32> order tensor<?xi32> bias tensor<8x72xf32> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @swiglu(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<1xf32>, %w: tensor<4x144x64xf4E2M1FN>, %ws: tensor<4x144x2xf8E8M0FNU>, %bias: tensor<4x144xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x64xf8E4M3FN>, tensor<4x144x64xf4E2M1FN> scales (tensor<1xf32>, tensor<4x144x2xf8E8M0FNU>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x144xf32> -> tensor<?x144xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x144xf32> -> tensor<?x72xbf16>
  return %g : tensor<?x72xbf16>
}
func.func @tail_swiglu(%x: tensor<?x72xf8E4M3FN>, %xs: tensor<?x3xf8E8M0FNU>, %w: tensor<4x80x72xf4E2M1FN>, %ws: tensor<4x80x3xf8E8M0FNU>, %bias: tensor<4x80xf32>, %gammas: tensor<?x1xf32> {hk.dims = ["P", "_"]}, %offsets: tensor<5xi32>, %gather: tensor<?xi32> {hk.dims = ["P"]}) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x72xf8E4M3FN>, tensor<4x80x72xf4E2M1FN> scales (tensor<?x3xf8E8M0FNU>, tensor<4x80x3xf8E8M0FNU>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x80xf32> -> tensor<?x80xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x80xf32> -> tensor<?x40xf32>
  %m = hk.mul %g, %gammas : tensor<?x40xf32>, tensor<?x1xf32> -> tensor<?x40xbf16>
  return %m : tensor<?x40xbf16>
}
func.func @second(%rows: tensor<?x64xf8E4M3FN> {hk.dims = ["P", "_"]}, %xs: tensor<1xf32>, %w: tensor<4x72x64xf4E2M1FN>, %ws: tensor<4x72x2xf8E8M0FNU>, %bias: tensor<4x72xf32>, %gammas: tensor<?x1xf32> {hk.dims = ["P", "_"]}, %offsets: tensor<5xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %rows, %w scales (%xs, %ws) bounds %offsets bias %bias transpose_b : tensor<?x64xf8E4M3FN>, tensor<4x72x64xf4E2M1FN> scales (tensor<1xf32>, tensor<4x72x2xf8E8M0FNU>) groups tensor<5xi32> bias tensor<4x72xf32> -> tensor<?x72xf32>
  %m = hk.mul %y, %gammas : tensor<?x72xf32>, tensor<?x1xf32> -> tensor<?x72xbf16>
  return %m : tensor<?x72xbf16>
}
