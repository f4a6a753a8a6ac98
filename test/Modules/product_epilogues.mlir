// Quantisations in groups of 32 and 64 columns behind a product, those of the
// microscaling formats among them, and gates over products with scales along k: one
// launch where there were two.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 q.0=1 xs.0=1 rows.0=1
// HK-DIMS: x.0=37 q.0=37 xs.0=37 rows.0=37
// HK-DIMS: x.0=130 q.0=130 xs.0=130 rows.0=130
// HK-DIMS: x.0=0 q.0=0 xs.0=0 rows.0=0
// HK-DATA: normal,huge,nan

func.func @mxfp8(%x: tensor<?x96xbf16>, %w: tensor<160x96xbf16>) -> (tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x96xbf16>, tensor<160x96xbf16> -> tensor<?x160xbf16>
  %v, %s = hk.quantize_mx even %y : tensor<?x160xbf16> -> tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU>
  return %v, %s : tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU>
}
func.func @mxfp4(%x: tensor<?x96xbf16>, %w: tensor<160x96xbf16>, %b: tensor<160xbf16>) -> (tensor<?x160xf4E2M1FN>, tensor<?x5xf8E8M0FNU>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x96xbf16>, tensor<160x96xbf16> -> tensor<?x160xbf16>
  %a = hk.add %y, %b : tensor<?x160xbf16>, tensor<160xbf16>
  %v, %s = hk.quantize_mx ocp %a : tensor<?x160xbf16> -> tensor<?x160xf4E2M1FN>, tensor<?x5xf8E8M0FNU>
  return %v, %s : tensor<?x160xf4E2M1FN>, tensor<?x5xf8E8M0FNU>
}
// The last group is not whole.
func.func @mxfp8_tail(%x: tensor<?x64xbf16>, %w: tensor<77x64xbf16>) -> (tensor<?x77xf8E5M2>, tensor<?x3xf8E8M0FNU>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<77x64xbf16> -> tensor<?x77xbf16>
  %v, %s = hk.quantize_mx ceil %y : tensor<?x77xbf16> -> tensor<?x77xf8E5M2>, tensor<?x3xf8E8M0FNU>
  return %v, %s : tensor<?x77xf8E5M2>, tensor<?x3xf8E8M0FNU>
}
func.func @gate_mxfp4(%x: tensor<?x64xbf16>, %w: tensor<256x64xbf16>) -> (tensor<?x128xf4E2M1FN>, tensor<?x4xf8E8M0FNU>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  %g = hk.gated_activation silu %y : tensor<?x256xbf16> -> tensor<?x128xbf16>
  %v, %s = hk.quantize_mx floor %g : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x4xf8E8M0FNU>
  return %v, %s : tensor<?x128xf4E2M1FN>, tensor<?x4xf8E8M0FNU>
}
func.func @groups_of_64(%x: tensor<?x96xbf16>, %w: tensor<192x96xbf16>) -> (tensor<?x192xi8>, tensor<?x3xf32>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x96xbf16>, tensor<192x96xbf16> -> tensor<?x192xbf16>
  %v, %s = hk.quantize per_group %y group 64 : tensor<?x192xbf16> -> tensor<?x192xi8>, tensor<?x3xf32>
  return %v, %s : tensor<?x192xi8>, tensor<?x3xf32>
}
func.func @gate_of_blocks(%q: tensor<?x300xf8E4M3FN>, %xs: tensor<?x3xf32>, %w: tensor<512x300xf8E4M3FN>, %ws: tensor<4x3xf32>) -> tensor<?x256xbf16> {
  %y = hk.matmul %q, %w scales (%xs, %ws) transpose_b : tensor<?x300xf8E4M3FN>, tensor<512x300xf8E4M3FN> scales (tensor<?x3xf32>, tensor<4x3xf32>) -> tensor<?x512xbf16>
  %g = hk.gated_activation silu %y : tensor<?x512xbf16> -> tensor<?x256xbf16>
  return %g : tensor<?x256xbf16>
}
// Of bf16 rows that the product quantises; its result is quantised again.
func.func @gate_of_rows(%x: tensor<?x256xbf16>, %w: tensor<256x256xf8E4M3FN>, %ws: tensor<2x2xf32>) -> (tensor<?x128xf8E4M3FN>, tensor<?x2xf32>) {
  %p, %ps = hk.quantize per_group %x group 128 : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x2xf32>
  %y = hk.matmul %p, %w scales (%ps, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<256x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x256xbf16>
  %g = hk.gated_activation silu %y : tensor<?x256xbf16> -> tensor<?x128xbf16>
  %v, %s = hk.quantize per_group %g group 64 : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x2xf32>
  return %v, %s : tensor<?x128xf8E4M3FN>, tensor<?x2xf32>
}
// Scales of the rows alone.
func.func @gate_of_row_blocks(%q: tensor<?x256xi8>, %xs: tensor<?x2xf32>, %w: tensor<200x256xi8>) -> tensor<?x100xbf16> {
  %y = hk.matmul %q, %w scales (%xs, none) transpose_b : tensor<?x256xi8>, tensor<200x256xi8> scales (tensor<?x2xf32>, none) -> tensor<?x200xbf16>
  %g = hk.gated_activation gelu %y : tensor<?x200xbf16> -> tensor<?x100xbf16>
  return %g : tensor<?x100xbf16>
}
// Experts' rows, sorted: bounds of groups.
func.func @experts(%rows: tensor<?x128xf8E4M3FN>, %xs: tensor<?x1xf32>, %w: tensor<3x256x128xf8E4M3FN>, %ws: tensor<3x2x1xf32>, %offsets: tensor<4xi32>) -> tensor<?x128xbf16> {
  %y = hk.grouped_matmul %rows, %w scales (%xs, %ws) bounds %offsets transpose_b : tensor<?x128xf8E4M3FN>, tensor<3x256x128xf8E4M3FN> scales (tensor<?x1xf32>, tensor<3x2x1xf32>) groups tensor<4xi32> -> tensor<?x256xbf16>
  %g = hk.gated_activation silu %y : tensor<?x256xbf16> -> tensor<?x128xbf16>
  return %g : tensor<?x128xbf16>
}
// GPT-OSS: MXFP4 weights, SwiGLU over alternating columns, an MXFP8 result.
func.func @experts_mx(%rows: tensor<?x64xf8E4M3FN>, %scale: tensor<1xf32>, %w: tensor<2x128x64xf4E2M1FN>, %ws: tensor<2x128x2xf8E8M0FNU>, %bias: tensor<2x128xf32>, %offsets: tensor<3xi32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %y = hk.grouped_matmul %rows, %w scales (%scale, %ws) bounds %offsets bias %bias transpose_b : tensor<?x64xf8E4M3FN>, tensor<2x128x64xf4E2M1FN> scales (tensor<1xf32>, tensor<2x128x2xf8E8M0FNU>) groups tensor<3xi32> bias tensor<2x128xf32> -> tensor<?x128xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x128xf32> -> tensor<?x64xbf16>
  %v, %s = hk.quantize_mx even %g : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %v, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}
