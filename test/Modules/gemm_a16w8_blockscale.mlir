// bf16 rows and fp8 weights with a scale per 128 x 128; weights with a scale per row or
// group that are widened first; rows quantised on the way.
// HK-LAUNCHES: 1
// HK-ARGS: --range=w=-127:127
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @groups_int8 x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @blocks_tail x.0=5 --data=nan

func.func @blocks(%x: tensor<?x256xbf16>, %w: tensor<256x256xf8E4M3FN>, %ws: tensor<2x2xf32>) -> tensor<?x256xbf16> {
  %y = hk.matmul %x, %w scales (none, %ws) {transpose_b} : tensor<?x256xbf16>, tensor<256x256xf8E4M3FN> scales (none, tensor<2x2xf32>) -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @blocks_tail(%x: tensor<?x200xbf16>, %w: tensor<136x200xf8E4M3FN>, %ws: tensor<2x2xf32>) -> tensor<?x136xbf16> {
  %y = hk.matmul %x, %w scales (none, %ws) {transpose_b} : tensor<?x200xbf16>, tensor<136x200xf8E4M3FN> scales (none, tensor<2x2xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @blocks_fnuz(%x: tensor<?x136xbf16>, %w: tensor<72x136xf8E4M3FNUZ>, %ws: tensor<1x2xf32>) -> tensor<?x72xf32> {
  %y = hk.matmul %x, %w scales (none, %ws) {transpose_b} : tensor<?x136xbf16>, tensor<72x136xf8E4M3FNUZ> scales (none, tensor<1x2xf32>) -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}
func.func @rows_int8(%x: tensor<?x136xbf16>, %w: tensor<72x136xi8>, %ws: tensor<72x1xf32>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %ws : tensor<72x136xi8>, tensor<72x1xf32> -> tensor<72x136xbf16>
  %y = hk.matmul %x, %d {transpose_b} : tensor<?x136xbf16>, tensor<72x136xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @groups_int8(%x: tensor<?x256xbf16>, %w: tensor<72x256xi8>, %ws: tensor<72x4xf32>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %ws {group_size = 64 : i64} : tensor<72x256xi8>, tensor<72x4xf32> -> tensor<72x256xbf16>
  %y = hk.matmul %x, %d {transpose_b} : tensor<?x256xbf16>, tensor<72x256xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @groups_fp8(%x: tensor<?x200xbf16>, %w: tensor<72x200xf8E4M3FN>, %ws: tensor<72x2xf32>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %ws {group_size = 128 : i64} : tensor<72x200xf8E4M3FN>, tensor<72x2xf32> -> tensor<72x200xbf16>
  %y = hk.matmul %x, %d {transpose_b} : tensor<?x200xbf16>, tensor<72x200xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @tensor_fp8(%x: tensor<?x72xf16>, %w: tensor<72x72xf8E4M3FN>, %ws: tensor<1xf32>) -> tensor<?x72xf16> {
  %d = hk.dequantize %w, %ws : tensor<72x72xf8E4M3FN>, tensor<1xf32> -> tensor<72x72xf16>
  %y = hk.matmul %x, %d {transpose_b} : tensor<?x72xf16>, tensor<72x72xf16> -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
func.func @quantised(%x: tensor<?x392xbf16>, %w: tensor<136x392xf8E4M3FN>, %ws: tensor<2x4xf32>) -> tensor<?x136xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<?x392xbf16> -> tensor<?x392xf8E4M3FN>, tensor<?x4xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x392xf8E4M3FN>, tensor<136x392xf8E4M3FN> scales (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @quantised_fnuz(%x: tensor<?x256xbf16>, %w: tensor<72x256xf8E4M3FNUZ>, %ws: tensor<1x2xf32>) -> tensor<?x72xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FNUZ>, tensor<?x2xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xf8E4M3FNUZ>, tensor<72x256xf8E4M3FNUZ> scales (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
