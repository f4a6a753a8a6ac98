// MXFP quantisation of activations and weights of experts, along the last or another
// axis, of lengths that are no multiple of 32; back again; fp8 with a given scale. Ties
// of elements go to even but for one function.
// HK-LAUNCHES: 1 @e4m3_down_axis_1=2
// HK-ARGS: --range=expert=0:3
// HK-DIMS: x.0=5
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @fp4_up(%x: tensor<?x2880xbf16>) -> (tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x2880xbf16> -> tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>
  return %q, %s : tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>
}
func.func @fp4_down(%x: tensor<?x200xf16>) -> (tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x200xf16> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
}
func.func @fp4_up_3d(%x: tensor<?x3x70xf32>) -> (tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x3x70xf32> -> tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>
  return %q, %s : tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>
}
func.func @e4m3_up(%x: tensor<?x704xbf16>) -> (tensor<?x704xf8E4M3FN>, tensor<?x22xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x704xbf16> -> tensor<?x704xf8E4M3FN>, tensor<?x22xf8E8M0FNU>
  return %q, %s : tensor<?x704xf8E4M3FN>, tensor<?x22xf8E8M0FNU>
}
func.func @e4m3_down(%x: tensor<?x33xf32>) -> (tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x33xf32> -> tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}
func.func @e5m2_up(%x: tensor<?x200xf16>) -> (tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x200xf16> -> tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU>
}
func.func @e5m2_down(%x: tensor<?x2x64xbf16>) -> (tensor<?x2x64xf8E5M2>, tensor<?x2x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x2x64xbf16> -> tensor<?x2x64xf8E5M2>, tensor<?x2x2xf8E8M0FNU>
  return %q, %s : tensor<?x2x64xf8E5M2>, tensor<?x2x2xf8E8M0FNU>
}
func.func @e5m2_even(%x: tensor<?x129xf32>) -> (tensor<?x129xf8E5M2>, tensor<?x5xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x129xf32> -> tensor<?x129xf8E5M2>, tensor<?x5xf8E8M0FNU>
  return %q, %s : tensor<?x129xf8E5M2>, tensor<?x5xf8E8M0FNU>
}
func.func @fp4_up_axis_1(%x: tensor<?x96x40xbf16>) -> (tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU>) {
  %t = hk.transpose %x [0, 2, 1] : tensor<?x96x40xbf16> -> tensor<?x40x96xbf16>
  %q, %s = hk.quantize_mx ceil %t : tensor<?x40x96xbf16> -> tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU>
  return %q, %s : tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU>
}
func.func @e4m3_down_axis_1(%x: tensor<?x50x24xf16>) -> (tensor<?x24x50xf8E4M3FN>, tensor<?x24x2xf8E8M0FNU>) {
  %t = hk.transpose %x [0, 2, 1] : tensor<?x50x24xf16> -> tensor<?x24x50xf16>
  %q, %s = hk.quantize_mx floor %t : tensor<?x24x50xf16> -> tensor<?x24x50xf8E4M3FN>, tensor<?x24x2xf8E8M0FNU>
  return %q, %s : tensor<?x24x50xf8E4M3FN>, tensor<?x24x2xf8E8M0FNU>
}
func.func @fp4_to_bf16(%x: tensor<?x2880xf4E2M1FN>, %s: tensor<?x90xf8E8M0FNU>) -> tensor<?x2880xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}
func.func @fp4_to_f16(%x: tensor<?x3x70xf4E2M1FN>, %s: tensor<?x3x3xf8E8M0FNU>) -> tensor<?x3x70xf16> {
  %y = hk.dequantize %x, %s : tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU> -> tensor<?x3x70xf16>
  return %y : tensor<?x3x70xf16>
}
func.func @e4m3_to_bf16(%x: tensor<?x33xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x33xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x33xbf16>
  return %y : tensor<?x33xbf16>
}
func.func @e5m2_to_f16(%x: tensor<?x200xf8E5M2>, %s: tensor<?x7xf8E8M0FNU>) -> tensor<?x200xf16> {
  %y = hk.dequantize %x, %s : tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU> -> tensor<?x200xf16>
  return %y : tensor<?x200xf16>
}
func.func @fp4_to_bf16_axis_1(%x: tensor<?x40x96xf4E2M1FN>, %s: tensor<?x40x3xf8E8M0FNU>) -> tensor<?x96x40xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU> -> tensor<?x40x96xbf16>
  %t = hk.transpose %y [0, 2, 1] : tensor<?x40x96xbf16> -> tensor<?x96x40xbf16>
  return %t : tensor<?x96x40xbf16>
}
func.func @static_e4m3(%x: tensor<?x1024xbf16>, %scale: tensor<1xf32>) -> tensor<?x1024xf8E4M3FN> {
  %q = hk.quantize_static %x, %scale : tensor<?x1024xbf16>, tensor<1xf32> -> tensor<?x1024xf8E4M3FN>
  return %q : tensor<?x1024xf8E4M3FN>
}
func.func @static_fnuz_experts(%x: tensor<?x7x50xf32>, %scale: tensor<1xf32>) -> tensor<?x7x50xf8E4M3FNUZ> {
  %q = hk.quantize_static %x, %scale : tensor<?x7x50xf32>, tensor<1xf32> -> tensor<?x7x50xf8E4M3FNUZ>
  return %q : tensor<?x7x50xf8E4M3FNUZ>
}
func.func @static_e4m3_f16(%x: tensor<?x75xf16>, %scale: tensor<1xf32>) -> tensor<?x75xf8E4M3FN> {
  %q = hk.quantize_static %x, %scale : tensor<?x75xf16>, tensor<1xf32> -> tensor<?x75xf8E4M3FN>
  return %q : tensor<?x75xf8E4M3FN>
}
// Activations smoothed by the factors of their expert.
func.func @smooth_of_expert(%x: tensor<?x200xbf16>, %xs: tensor<4x200xf32>, %expert: tensor<?xi32>) -> (tensor<?x200xi8>, tensor<?x1xf32>) {
  %f = hk.gather_rows %xs, %expert : tensor<4x200xf32>, tensor<?xi32> -> tensor<?x200xf32>
  %m = hk.mul %x, %f : tensor<?x200xbf16>, tensor<?x200xf32> -> tensor<?x200xf32>
  %q, %s = hk.quantize per_token %m : tensor<?x200xf32> -> tensor<?x200xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x200xi8>, tensor<?x1xf32>
}
// The scale's exponent as the OCP specification has it, and rounded up.
func.func @fp4_ocp(%x: tensor<?x70xbf16>) -> (tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ocp %x : tensor<?x70xbf16> -> tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}
func.func @e4m3_ocp_ceil(%x: tensor<?x64xf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ocp_ceil %x : tensor<?x64xf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}
func.func @e5m2_ocp(%x: tensor<?x33xf32>) -> (tensor<?x33xf8E5M2>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ocp %x : tensor<?x33xf32> -> tensor<?x33xf8E5M2>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x33xf8E5M2>, tensor<?x2xf8E8M0FNU>
}
// Codes rounded to nearest with ties away from zero: each bound of two neighbours belongs to the
// larger one.
func.func @fp4_up_ties_away(%x: tensor<?x320xbf16>) -> (tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x320xbf16>
  %unused, %e = hk.quantize_mx ceil %x : tensor<?x320xbf16> -> tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
  %s0 = hk.cast %e : tensor<?x10xf8E8M0FNU> -> tensor<?x10xf32>
  %s = tensor.expand_shape %s0 [[0], [1, 2]] output_shape [%t, 10, 1] : tensor<?x10xf32> into tensor<?x10x1xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 10, 32] : tensor<?x320xbf16> into tensor<?x10x32xbf16>
  %y = hk.div %g, %s : tensor<?x10x32xbf16>, tensor<?x10x1xf32> -> tensor<?x10x32xf32>
  %a = hk.abs %y : tensor<?x10x32xf32>
  %z = hk.constant 0.0 : tensor<f32>
  %b0 = hk.constant 0.25 : tensor<f32>
  %v0 = hk.constant 0.5 : tensor<f32>
  %c0x = hk.compare ge %a, %b0 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m0 = hk.select %c0x, %v0, %z : tensor<?x10x32xi1>, tensor<f32>, tensor<f32> -> tensor<?x10x32xf32>
  %b1 = hk.constant 0.75 : tensor<f32>
  %v1 = hk.constant 1.0 : tensor<f32>
  %c1x = hk.compare ge %a, %b1 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m1 = hk.select %c1x, %v1, %m0 : tensor<?x10x32xi1>, tensor<f32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %b2 = hk.constant 1.25 : tensor<f32>
  %v2 = hk.constant 1.5 : tensor<f32>
  %c2x = hk.compare ge %a, %b2 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m2 = hk.select %c2x, %v2, %m1 : tensor<?x10x32xi1>, tensor<f32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %b3 = hk.constant 1.75 : tensor<f32>
  %v3 = hk.constant 2.0 : tensor<f32>
  %c3x = hk.compare ge %a, %b3 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m3 = hk.select %c3x, %v3, %m2 : tensor<?x10x32xi1>, tensor<f32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %b4 = hk.constant 2.5 : tensor<f32>
  %v4 = hk.constant 3.0 : tensor<f32>
  %c4x = hk.compare ge %a, %b4 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m4 = hk.select %c4x, %v4, %m3 : tensor<?x10x32xi1>, tensor<f32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %b5 = hk.constant 3.5 : tensor<f32>
  %v5 = hk.constant 4.0 : tensor<f32>
  %c5x = hk.compare ge %a, %b5 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m5 = hk.select %c5x, %v5, %m4 : tensor<?x10x32xi1>, tensor<f32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %b6 = hk.constant 5.0 : tensor<f32>
  %v6 = hk.constant 6.0 : tensor<f32>
  %c6x = hk.compare ge %a, %b6 : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %m6 = hk.select %c6x, %v6, %m5 : tensor<?x10x32xi1>, tensor<f32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %n = hk.neg %m6 : tensor<?x10x32xf32>
  %positive = hk.compare ge %y, %z : tensor<?x10x32xf32>, tensor<f32> -> tensor<?x10x32xi1>
  %r = hk.select %positive, %m6, %n : tensor<?x10x32xi1>, tensor<?x10x32xf32>, tensor<?x10x32xf32> -> tensor<?x10x32xf32>
  %q3 = hk.cast %r : tensor<?x10x32xf32> -> tensor<?x10x32xf4E2M1FN>
  %q = tensor.collapse_shape %q3 [[0], [1, 2]] : tensor<?x10x32xf4E2M1FN> into tensor<?x320xf4E2M1FN>
  return %q, %e : tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
}
func.func @e5m2_up_rank_4(%x: tensor<?x2x3x40xbf16>) -> (tensor<?x2x3x40xf8E5M2>, tensor<?x2x3x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x2x3x40xbf16> -> tensor<?x2x3x40xf8E5M2>, tensor<?x2x3x2xf8E8M0FNU>
  return %q, %s : tensor<?x2x3x40xf8E5M2>, tensor<?x2x3x2xf8E8M0FNU>
}
func.func @e4m3_even(%x: tensor<?x96xbf16>) -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x96xbf16> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}
func.func @e4m3_to_f16_axis_1(%x: tensor<?x5x64xf8E4M3FN>, %s: tensor<?x5x2xf8E8M0FNU>) -> tensor<?x64x5xf16> {
  %y = hk.dequantize %x, %s : tensor<?x5x64xf8E4M3FN>, tensor<?x5x2xf8E8M0FNU> -> tensor<?x5x64xf16>
  %z = hk.transpose %y [0, 2, 1] : tensor<?x5x64xf16> -> tensor<?x64x5xf16>
  return %z : tensor<?x64x5xf16>
}
func.func @e5m2_to_bf16_axis_1(%x: tensor<?x5x70xf8E5M2>, %s: tensor<?x5x3xf8E8M0FNU>) -> tensor<?x70x5xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x5x70xf8E5M2>, tensor<?x5x3xf8E8M0FNU> -> tensor<?x5x70xbf16>
  %z = hk.transpose %y [0, 2, 1] : tensor<?x5x70xbf16> -> tensor<?x70x5xbf16>
  return %z : tensor<?x70x5xbf16>
}
// There and back in one launch.
func.func @fp4_there_and_back(%x: tensor<?x3x70xbf16>) -> tensor<?x3x70xbf16> {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x3x70xbf16> -> tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>
  %y = hk.dequantize %q, %s : tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU> -> tensor<?x3x70xbf16>
  return %y : tensor<?x3x70xbf16>
}
// With 1e-12 added to the scale, and rounded half away from zero.
func.func @smooth_of_expert_half_away(%x: tensor<?x50xf16>, %xs: tensor<4x50xf32>, %expert: tensor<?xi32>) -> (tensor<?x50xi8>, tensor<?x1xf32>) {
  %limit = hk.constant 127.0 : tensor<f32>
  %low = hk.constant -127.0 : tensor<f32>
  %tiny = hk.constant 1.0e-12 : tensor<f32>
  %half = hk.constant 0.5 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %f = hk.gather_rows %xs, %expert : tensor<4x50xf32>, tensor<?xi32> -> tensor<?x50xf32>
  %m = hk.mul %x, %f : tensor<?x50xf16>, tensor<?x50xf32> -> tensor<?x50xf32>
  %amax = hk.reduce absmax %m : tensor<?x50xf32> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32>
  %s = hk.add %d, %tiny : tensor<?x1xf32>, tensor<f32>
  %r = hk.div %m, %s : tensor<?x50xf32>, tensor<?x1xf32>
  %lo = hk.max %r, %low : tensor<?x50xf32>, tensor<f32>
  %e = hk.min %lo, %limit : tensor<?x50xf32>, tensor<f32>
  %up = hk.add %e, %half : tensor<?x50xf32>, tensor<f32>
  %down = hk.sub %e, %half : tensor<?x50xf32>, tensor<f32>
  %positive = hk.compare ge %e, %zero : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xi1>
  %away = hk.select %positive, %up, %down : tensor<?x50xi1>, tensor<?x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
  %i = hk.cast %away : tensor<?x50xf32> -> tensor<?x50xi32>
  %q = hk.cast %i : tensor<?x50xi32> -> tensor<?x50xi8>
  return %q, %s : tensor<?x50xi8>, tensor<?x1xf32>
}
