// Batches of bf16 rows, quantised on the way in groups of 128, times fp8 or int8 weights
// with one scale.
// HK-LAUNCHES: 1
// HK-ARGS: --range=w=-127:127
// HK-DIMS: x.1=1
// HK-DIMS: x.1=19
// HK-DIMS: x.1=0
// HK-DIMS: @fp8 x.1=5 --data=nan

func.func @fp8(%x: tensor<3x?x256xbf16>, %w: tensor<3x72x256xf8E4M3FN>, %ws: tensor<1xf32>) -> tensor<3x?x72xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<3x?x256xbf16> -> tensor<3x?x256xf8E4M3FN>, tensor<3x?x2xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<3x?x256xf8E4M3FN>, tensor<3x72x256xf8E4M3FN> scales (tensor<3x?x2xf32>, tensor<1xf32>) -> tensor<3x?x72xbf16>
  return %y : tensor<3x?x72xbf16>
}
func.func @fnuz(%x: tensor<2x?x200xbf16>, %w: tensor<2x40x200xf8E4M3FNUZ>, %ws: tensor<1xf32>) -> tensor<2x?x40xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<2x?x200xbf16> -> tensor<2x?x200xf8E4M3FNUZ>, tensor<2x?x2xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<2x?x200xf8E4M3FNUZ>, tensor<2x40x200xf8E4M3FNUZ> scales (tensor<2x?x2xf32>, tensor<1xf32>) -> tensor<2x?x40xbf16>
  return %y : tensor<2x?x40xbf16>
}
func.func @one_group(%x: tensor<3x?x128xbf16>, %w: tensor<3x136x128xf8E4M3FN>, %ws: tensor<1xf32>) -> tensor<3x?x136xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<3x?x128xbf16> -> tensor<3x?x128xf8E4M3FN>, tensor<3x?x1xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<3x?x128xf8E4M3FN>, tensor<3x136x128xf8E4M3FN> scales (tensor<3x?x1xf32>, tensor<1xf32>) -> tensor<3x?x136xbf16>
  return %y : tensor<3x?x136xbf16>
}
func.func @int8(%x: tensor<2x?x384xbf16>, %w: tensor<2x72x384xi8>, %ws: tensor<1xf32>) -> tensor<2x?x72xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<2x?x384xbf16> -> tensor<2x?x384xi8>, tensor<2x?x3xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<2x?x384xi8>, tensor<2x72x384xi8> scales (tensor<2x?x3xf32>, tensor<1xf32>) -> tensor<2x?x72xbf16>
  return %y : tensor<2x?x72xbf16>
}
func.func @int8_bias(%x: tensor<2x?x136xf16>, %w: tensor<2x40x136xi8>, %ws: tensor<1xf32>, %b: tensor<2x1x40xbf16>) -> tensor<2x?x40xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32} : tensor<2x?x136xf16> -> tensor<2x?x136xi8>, tensor<2x?x2xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<2x?x136xi8>, tensor<2x40x136xi8> scales (tensor<2x?x2xf32>, tensor<1xf32>) -> tensor<2x?x40xbf16>
  %z = hk.add %y, %b : tensor<2x?x40xbf16>, tensor<2x1x40xbf16> -> tensor<2x?x40xbf16>
  return %z : tensor<2x?x40xbf16>
}
func.func @power_of_two(%x: tensor<2x?x256xf32>, %w: tensor<2x40x256xf8E4M3FN>, %ws: tensor<1xf32>) -> tensor<2x?x40xf32> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64, amax_floor = 1.0e-10 : f32, power_of_two} : tensor<2x?x256xf32> -> tensor<2x?x256xf8E4M3FN>, tensor<2x?x2xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<2x?x256xf8E4M3FN>, tensor<2x40x256xf8E4M3FN> scales (tensor<2x?x2xf32>, tensor<1xf32>) -> tensor<2x?x40xf32>
  return %y : tensor<2x?x40xf32>
}
