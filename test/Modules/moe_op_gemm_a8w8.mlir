// Products of experts over rows in the order of their experts (gathered, or as they are),
// fp8 and int8, with the scales that engines use, the bias of the expert, the gate of
// GPT-OSS over alternating columns, the router's weight and a static quantisation.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 gather.0=2 gammas.0=2 rows.0=2
// HK-DIMS: x.0=7 weights.0=7 gather.0=14 gammas.0=14 rows.0=14
// HK-DIMS: x.0=64 weights.0=64 gather.0=128 gammas.0=128 rows.0=128
// HK-DIMS: x.0=0 weights.0=0 gather.0=0 gammas.0=0 rows.0=0

func.func @static_scales(%x: tensor<?x72xf8E4M3FN>, %xs: tensor<1xf32>, %w: tensor<4x40x72xf8E4M3FN>, %ws: tensor<1xf32>, %bias: tensor<4x40xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x72xf8E4M3FN>, tensor<4x40x72xf8E4M3FN> scales (tensor<1xf32>, tensor<1xf32>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x40xf32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @static_swiglu(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<1xf32>, %w: tensor<4x144x64xf8E4M3FN>, %ws: tensor<1xf32>, %bias: tensor<4x144xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x64xf8E4M3FN>, tensor<4x144x64xf8E4M3FN> scales (tensor<1xf32>, tensor<1xf32>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x144xf32> -> tensor<?x144xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x144xf32> -> tensor<?x72xbf16>
  return %g : tensor<?x72xbf16>
}
// The result is fp8 with a given scale.
func.func @static_quantised(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<1xf32>, %w: tensor<8x128x64xf8E4M3FN>, %ws: tensor<1xf32>, %bias: tensor<8x128xf32>, %qs: tensor<1xf32>, %offsets: tensor<9xi32>, %gather: tensor<?xi32>) -> tensor<?x64xf8E4M3FN> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x64xf8E4M3FN>, tensor<8x128x64xf8E4M3FN> scales (tensor<1xf32>, tensor<1xf32>) groups tensor<9xi32> order tensor<?xi32> bias tensor<8x128xf32> -> tensor<?x128xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x128xf32> -> tensor<?x64xf32>
  %q = hk.quantize_static %g, %qs : tensor<?x64xf32>, tensor<1xf32> -> tensor<?x64xf8E4M3FN>
  return %q : tensor<?x64xf8E4M3FN>
}
func.func @mx_scales(%x: tensor<?x96xf8E4M3FN>, %xs: tensor<?x3xf8E8M0FNU>, %w: tensor<4x40x96xf8E4M3FN>, %ws: tensor<4x40x3xf8E8M0FNU>, %bias: tensor<4x40xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x96xf8E4M3FN>, tensor<4x40x96xf8E4M3FN> scales (tensor<?x3xf8E8M0FNU>, tensor<4x40x3xf8E8M0FNU>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x40xf32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
// The second product: rows lie as their experts do, and take the router's weight.
func.func @second(%rows: tensor<?x72xf8E4M3FN> {hk.dims = ["P", "_"]}, %xs: tensor<1xf32>, %w: tensor<4x136x72xf8E4M3FN>, %ws: tensor<1xf32>, %bias: tensor<4x136xf32>, %gammas: tensor<?x1xf32> {hk.dims = ["P", "_"]}, %offsets: tensor<5xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %rows, %w scales (%xs, %ws) bounds %offsets bias %bias transpose_b : tensor<?x72xf8E4M3FN>, tensor<4x136x72xf8E4M3FN> scales (tensor<1xf32>, tensor<1xf32>) groups tensor<5xi32> bias tensor<4x136xf32> -> tensor<?x136xf32>
  %m = hk.mul %y, %gammas : tensor<?x136xf32>, tensor<?x1xf32> -> tensor<?x136xbf16>
  return %m : tensor<?x136xbf16>
}
// int8 with a scale per row and per column.
func.func @int8_smooth(%x: tensor<?x72xi8>, %xs: tensor<?x1xf32>, %w: tensor<4x40x72xi8>, %ws: tensor<4x40x1xf32>, %bias: tensor<4x40xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x72xi8>, tensor<4x40x72xi8> scales (tensor<?x1xf32>, tensor<4x40x1xf32>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x40xf32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @int8_smooth_swiglu(%x: tensor<?x72xi8>, %xs: tensor<?x1xf32>, %w: tensor<4x80x72xi8>, %ws: tensor<4x80x1xf32>, %bias: tensor<4x80xf32>, %gammas: tensor<?x1xf32> {hk.dims = ["P", "_"]}, %offsets: tensor<5xi32>, %gather: tensor<?xi32> {hk.dims = ["P"]}) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x72xi8>, tensor<4x80x72xi8> scales (tensor<?x1xf32>, tensor<4x80x1xf32>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x80xf32> -> tensor<?x80xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x80xf32> -> tensor<?x40xf32>
  %m = hk.mul %g, %gammas : tensor<?x40xf32>, tensor<?x1xf32> -> tensor<?x40xbf16>
  return %m : tensor<?x40xbf16>
}
// The halves of the columns instead.
func.func @int8_smooth_silu(%x: tensor<?x72xi8>, %xs: tensor<?x1xf32>, %w: tensor<4x128x72xi8>, %ws: tensor<4x128x1xf32>, %bias: tensor<4x128xf32>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x64xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %offsets order %gather bias %bias transpose_b top_k 2 : tensor<?x72xi8>, tensor<4x128x72xi8> scales (tensor<?x1xf32>, tensor<4x128x1xf32>) groups tensor<5xi32> order tensor<?xi32> bias tensor<4x128xf32> -> tensor<?x128xf32>
  %g = hk.gated_activation silu %y : tensor<?x128xf32> -> tensor<?x64xbf16>
  return %g : tensor<?x64xbf16>
}
func.func @plain(%x: tensor<?x80xf8E4M3FN>, %w: tensor<4x35x80xf8E4M3FN>, %offsets: tensor<5xi32>, %gather: tensor<?xi32>) -> tensor<?x35xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, none) bounds %offsets order %gather transpose_b : tensor<?x80xf8E4M3FN>, tensor<4x35x80xf8E4M3FN> scales (none, none) groups tensor<5xi32> order tensor<?xi32> -> tensor<?x35xbf16>
  return %y : tensor<?x35xbf16>
}
