// Differences, reductions over everything, casts and row normalisation, each in one
// launch; a tensor that is too large for one workgroup is in reduce_large.
// HK-LAUNCHES: 1
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @abs_diff(%a: tensor<37x129xf32>, %b: tensor<37x129xf32>) -> tensor<37x129xf32> {
  %0 = hk.sub %a, %b : tensor<37x129xf32>
  %1 = hk.abs %0 : tensor<37x129xf32>
  return %1 : tensor<37x129xf32>
}
func.func @squared_diff(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %0 = hk.sub %a, %b : tensor<1000xf32>
  %1 = hk.mul %0, %0 : tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
func.func @max_reduce(%a: tensor<4099xf32>) -> tensor<1xf32> {
  %0 = hk.reduce max %a : tensor<4099xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
func.func @sum_reduce(%a: tensor<7x1000xf32>) -> tensor<f32> {
  %0 = hk.reduce sum %a dims 2 : tensor<7x1000xf32> -> tensor<1x1xf32>
  %1 = tensor.collapse_shape %0 [] : tensor<1x1xf32> into tensor<f32>
  return %1 : tensor<f32>
}
func.func @min_reduce_bf16(%a: tensor<3x5x64xbf16>) -> tensor<3x1x1xbf16> {
  %0 = hk.reduce min %a dims 2 : tensor<3x5x64xbf16> -> tensor<3x1x1xbf16>
  return %0 : tensor<3x1x1xbf16>
}
// The largest absolute difference, as tests use it.
func.func @max_abs_diff(%a: tensor<16x300xf32>, %b: tensor<16x300xbf16>) -> tensor<1x1xf32> {
  %0 = hk.cast %b : tensor<16x300xbf16> -> tensor<16x300xf32>
  %1 = hk.sub %a, %0 : tensor<16x300xf32>
  %2 = hk.reduce absmax %1 dims 2 : tensor<16x300xf32> -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}
func.func @rank_1(%a: tensor<777xf32>, %b: tensor<777xf32>) -> (tensor<1xf32>, tensor<777xf32>) {
  %0 = hk.sub %a, %b : tensor<777xf32>
  %1 = hk.reduce absmax %0 : tensor<777xf32> -> tensor<1xf32>
  %2 = hk.add %0, %1 : tensor<777xf32>, tensor<1xf32>
  return %1, %2 : tensor<1xf32>, tensor<777xf32>
}
func.func @bf16_to_float(%a: tensor<1001xbf16>) -> tensor<1001xf32> {
  %0 = hk.cast %a : tensor<1001xbf16> -> tensor<1001xf32>
  return %0 : tensor<1001xf32>
}
func.func @float_to_bf16(%a: tensor<1001xf32>) -> tensor<1001xbf16> {
  %0 = hk.cast %a : tensor<1001xf32> -> tensor<1001xbf16>
  return %0 : tensor<1001xbf16>
}
func.func @l2_normalize(%a: tensor<9x128xf32>) -> tensor<9x128xf32> {
  %0 = hk.l2_norm %a epsilon 1.0e-06 : tensor<9x128xf32>
  return %0 : tensor<9x128xf32>
}
// One row after the other, and the rows of heads.
func.func @row_sum(%a: tensor<11x500xbf16>) -> tensor<11x1xf32> {
  %0 = hk.reduce sum %a : tensor<11x500xbf16> -> tensor<11x1xf32>
  return %0 : tensor<11x1xf32>
}
// The measure of the gated delta rule's tests: the root mean square of the difference
// over that of the reference.
func.func @error_ratio(%a: tensor<16x300xf32>, %b: tensor<16x300xf32>) -> tensor<1x1xf32> {
  %n = hk.constant 4800.0 : tensor<f32>
  %eps = hk.constant 1.0e-08 : tensor<f32>
  %d = hk.sub %a, %b : tensor<16x300xf32>
  %dd = hk.mul %d, %d : tensor<16x300xf32>
  %ds = hk.reduce sum %dd dims 2 : tensor<16x300xf32> -> tensor<1x1xf32>
  %dm = hk.div %ds, %n : tensor<1x1xf32>, tensor<f32>
  %dr = hk.sqrt %dm : tensor<1x1xf32>
  %aa = hk.mul %a, %a : tensor<16x300xf32>
  %s = hk.reduce sum %aa dims 2 : tensor<16x300xf32> -> tensor<1x1xf32>
  %am = hk.div %s, %n : tensor<1x1xf32>, tensor<f32>
  %ar = hk.sqrt %am : tensor<1x1xf32>
  %ae = hk.add %ar, %eps : tensor<1x1xf32>, tensor<f32>
  %y = hk.div %dr, %ae : tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
func.func @max_reduce_matrix(%a: tensor<23x190xf32>) -> tensor<1x1xf32> {
  %m = hk.reduce max %a dims 2 : tensor<23x190xf32> -> tensor<1x1xf32>
  return %m : tensor<1x1xf32>
}
func.func @row_max(%a: tensor<11x333xf32>) -> tensor<11x1xf32> {
  %m = hk.reduce max %a : tensor<11x333xf32> -> tensor<11x1xf32>
  return %m : tensor<11x1xf32>
}
func.func @l2_normalize_bf16(%a: tensor<33x60xbf16>) -> tensor<33x60xbf16> {
  %y = hk.l2_norm %a epsilon 1.0e-06 : tensor<33x60xbf16>
  return %y : tensor<33x60xbf16>
}
