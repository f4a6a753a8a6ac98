// Quantisation with a scale per token, per group and given, to int8 and every fp8, with
// the limits and scales that engines differ in.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=19
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS-HOST: @token_int8_128 x.0=1024
// HK-DIMS-HOST: @token_int8_13 @token_int8_96 @token_int8_400 x.0=400
// HK-DIMS-HOST: @static_int8_8192 @token_int8_4096 x.0=193
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @token_int8_13(%x: tensor<?x13xf32>) -> (tensor<?x13xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x13xf32> -> tensor<?x13xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x13xi8>, tensor<?x1xf32>
}
func.func @token_int8_96(%x: tensor<?x96xf16>) -> (tensor<?x96xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x96xf16> -> tensor<?x96xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x96xi8>, tensor<?x1xf32>
}
func.func @token_int8_128(%x: tensor<?x128xbf16>) -> (tensor<?x128xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x128xbf16> -> tensor<?x128xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x128xi8>, tensor<?x1xf32>
}
func.func @token_int8_400(%x: tensor<?x400xbf16>) -> (tensor<?x400xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x400xbf16> -> tensor<?x400xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x400xi8>, tensor<?x1xf32>
}
func.func @token_fp8_4096(%x: tensor<?x4096xbf16>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
}
func.func @token_fp8_odd(%x: tensor<?x13xf32>) -> (tensor<?x13xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x13xf32> -> tensor<?x13xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x13xf8E4M3FNUZ>, tensor<?x1xf32>
}
func.func @token_e5m2(%x: tensor<?x400xf16>) -> (tensor<?x400xf8E5M2>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x400xf16> -> tensor<?x400xf8E5M2>, tensor<?x1xf32>
  return %q, %s : tensor<?x400xf8E5M2>, tensor<?x1xf32>
}
// vLLM on gfx942: no scale is below 1 / (224 * 512), which an amax of 1 / 512 gives.
func.func @token_fnuz_224(%x: tensor<?x4096xbf16>) -> (tensor<?x4096xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x amax_floor 0.001953125 limit 224.0 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xf8E4M3FNUZ>, tensor<?x1xf32>
}
func.func @token_fp8_16384(%x: tensor<?x16384xf32>) -> (tensor<?x16384xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x16384xf32> -> tensor<?x16384xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x16384xf8E4M3FN>, tensor<?x1xf32>
}
func.func @group_fp8(%x: tensor<?x1024xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %q, %s = hk.quantize per_group %x amax_floor 1.0e-10 : tensor<?x1024xbf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
func.func @group_fp8_tail(%x: tensor<?x200xf16>) -> (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) {
  %q, %s = hk.quantize per_group %x amax_floor 1.0e-10 : tensor<?x200xf16> -> tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s : tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
}
func.func @group_64_e5m2_fnuz(%x: tensor<?x192xf32>) -> (tensor<?x192xf8E5M2FNUZ>, tensor<?x3xf32>) {
  %q, %s = hk.quantize per_group %x group 64 : tensor<?x192xf32> -> tensor<?x192xf8E5M2FNUZ>, tensor<?x3xf32>
  return %q, %s : tensor<?x192xf8E5M2FNUZ>, tensor<?x3xf32>
}
func.func @group_ue8m0(%x: tensor<?x1024xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %q, %s = hk.quantize per_group %x amax_floor 1.0e-10 power_of_two : tensor<?x1024xbf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
func.func @token_ue8m0(%x: tensor<?x193xf32>) -> (tensor<?x193xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x power_of_two : tensor<?x193xf32> -> tensor<?x193xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x193xf8E4M3FN>, tensor<?x1xf32>
}
func.func @static_int8(%x: tensor<?x32xf32>, %s: tensor<1xf32>) -> tensor<?x32xi8> {
  %q = hk.quantize_static %x, %s : tensor<?x32xf32>, tensor<1xf32> -> tensor<?x32xi8>
  return %q : tensor<?x32xi8>
}
func.func @static_fp8(%x: tensor<?x1024xbf16>, %s: tensor<1xf32>) -> tensor<?x1024xf8E4M3FN> {
  %q = hk.quantize_static %x, %s : tensor<?x1024xbf16>, tensor<1xf32> -> tensor<?x1024xf8E4M3FN>
  return %q : tensor<?x1024xf8E4M3FN>
}
func.func @static_fnuz_75(%x: tensor<?x75xf16>, %s: tensor<1xf32>) -> tensor<?x75xf8E4M3FNUZ> {
  %q = hk.quantize_static %x, %s limit 224.0 : tensor<?x75xf16>, tensor<1xf32> -> tensor<?x75xf8E4M3FNUZ>
  return %q : tensor<?x75xf8E4M3FNUZ>
}
// The largest magnitude is taken to lie between 1e-12 and a given bound.
func.func @token_upper_bound(%x: tensor<?x4096xbf16>, %ub: tensor<1xf32>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>) {
  %floor = hk.constant 1.0e-12 : tensor<f32>
  %limit = hk.constant 448.0 : tensor<f32>
  %amax = hk.reduce absmax %x : tensor<?x4096xbf16> -> tensor<?x1xf32>
  %low = hk.max %amax, %floor : tensor<?x1xf32>, tensor<f32>
  %top = hk.min %low, %ub : tensor<?x1xf32>, tensor<1xf32>
  %s = hk.div %top, %limit : tensor<?x1xf32>, tensor<f32>
  %q = hk.quantize_static %x, %s : tensor<?x4096xbf16>, tensor<?x1xf32> -> tensor<?x4096xf8E4M3FN>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
}
// Smoothed by a factor per column; 1e-12 is added to the scale.
func.func @token_smooth_additive(%x: tensor<?x400xf16>, %xs: tensor<400xf32>) -> (tensor<?x400xi8>, tensor<?x1xf32>) {
  %limit = hk.constant 127.0 : tensor<f32>
  %tiny = hk.constant 1.0e-12 : tensor<f32>
  %m = hk.mul %x, %xs : tensor<?x400xf16>, tensor<400xf32> -> tensor<?x400xf32>
  %amax = hk.reduce absmax %m : tensor<?x400xf32> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32>
  %s = hk.add %d, %tiny : tensor<?x1xf32>, tensor<f32>
  %q = hk.quantize_static %m, %s : tensor<?x400xf32>, tensor<?x1xf32> -> tensor<?x400xi8>
  return %q, %s : tensor<?x400xi8>, tensor<?x1xf32>
}
func.func @static_int8_8192(%x: tensor<?x8192xbf16>, %s: tensor<1xf32>) -> tensor<?x8192xi8> {
  %q = hk.quantize_static %x, %s : tensor<?x8192xbf16>, tensor<1xf32> -> tensor<?x8192xi8>
  return %q : tensor<?x8192xi8>
}
// The roundings of other engines: toward zero, and half away from zero.
func.func @token_int8_truncated(%x: tensor<?x96xbf16>) -> (tensor<?x96xi8>, tensor<?x1xf32>) {
  %limit = hk.constant 127.0 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %amax = hk.reduce absmax %x : tensor<?x96xbf16> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32>
  %none = hk.compare eq %d, %zero : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %s = hk.select %none, %one, %d : tensor<?x1xi1>, tensor<f32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %r = hk.div %x, %s : tensor<?x96xbf16>, tensor<?x1xf32> -> tensor<?x96xf32>
  %i = hk.cast %r : tensor<?x96xf32> -> tensor<?x96xi32>
  %q = hk.cast %i : tensor<?x96xi32> -> tensor<?x96xi8>
  return %q, %s : tensor<?x96xi8>, tensor<?x1xf32>
}
func.func @token_smooth_half_away(%x: tensor<?x50xf16>, %xs: tensor<50xf32>) -> (tensor<?x50xi8>, tensor<?x1xf32>) {
  %limit = hk.constant 127.0 : tensor<f32>
  %low = hk.constant -127.0 : tensor<f32>
  %tiny = hk.constant 1.0e-12 : tensor<f32>
  %half = hk.constant 0.5 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %m = hk.mul %x, %xs : tensor<?x50xf16>, tensor<50xf32> -> tensor<?x50xf32>
  %amax = hk.reduce absmax %m : tensor<?x50xf32> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32>
  %s = hk.add %d, %tiny : tensor<?x1xf32>, tensor<f32>
  %r = hk.div %m, %s : tensor<?x50xf32>, tensor<?x1xf32>
  %up = hk.add %r, %half : tensor<?x50xf32>, tensor<f32>
  %down = hk.sub %r, %half : tensor<?x50xf32>, tensor<f32>
  %positive = hk.compare ge %r, %zero : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xi1>
  %away = hk.select %positive, %up, %down : tensor<?x50xi1>, tensor<?x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
  %c = hk.max %away, %low : tensor<?x50xf32>, tensor<f32>
  %e = hk.min %c, %limit : tensor<?x50xf32>, tensor<f32>
  %i = hk.cast %e : tensor<?x50xf32> -> tensor<?x50xi32>
  %q = hk.cast %i : tensor<?x50xi32> -> tensor<?x50xi8>
  return %q, %s : tensor<?x50xi8>, tensor<?x1xf32>
}
func.func @token_int8_16(%x: tensor<?x16xf16>) -> (tensor<?x16xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x16xf16> -> tensor<?x16xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x16xi8>, tensor<?x1xf32>
}
func.func @token_int8_32(%x: tensor<?x32xf32>) -> (tensor<?x32xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x32xf32> -> tensor<?x32xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x32xi8>, tensor<?x1xf32>
}
func.func @token_int8_1024(%x: tensor<?x1024xf32>) -> (tensor<?x1024xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x1024xf32> -> tensor<?x1024xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x1024xi8>, tensor<?x1xf32>
}
func.func @token_int8_4096(%x: tensor<?x4096xbf16>) -> (tensor<?x4096xi8>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x4096xbf16> -> tensor<?x4096xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xi8>, tensor<?x1xf32>
}
func.func @token_e5m2_fnuz_128(%x: tensor<?x128xf16>) -> (tensor<?x128xf8E5M2FNUZ>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x128xf16> -> tensor<?x128xf8E5M2FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x128xf8E5M2FNUZ>, tensor<?x1xf32>
}
func.func @token_fnuz_400(%x: tensor<?x400xf32>) -> (tensor<?x400xf8E4M3FNUZ>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x400xf32> -> tensor<?x400xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x400xf8E4M3FNUZ>, tensor<?x1xf32>
}
func.func @static_int8_16(%x: tensor<?x16xf16>, %s: tensor<1xf32>) -> tensor<?x16xi8> {
  %q = hk.quantize_static %x, %s : tensor<?x16xf16>, tensor<1xf32> -> tensor<?x16xi8>
  return %q : tensor<?x16xi8>
}
func.func @static_int8_128(%x: tensor<?x128xbf16>, %s: tensor<1xf32>) -> tensor<?x128xi8> {
  %q = hk.quantize_static %x, %s : tensor<?x128xbf16>, tensor<1xf32> -> tensor<?x128xi8>
  return %q : tensor<?x128xi8>
}
func.func @static_e5m2_32(%x: tensor<?x32xf32>, %s: tensor<1xf32>) -> tensor<?x32xf8E5M2> {
  %q = hk.quantize_static %x, %s : tensor<?x32xf32>, tensor<1xf32> -> tensor<?x32xf8E5M2>
  return %q : tensor<?x32xf8E5M2>
}
func.func @static_int8_truncated(%x: tensor<?x75xf32>, %s: tensor<1xf32>) -> tensor<?x75xi8> {
  %r = hk.div %x, %s : tensor<?x75xf32>, tensor<1xf32>
  %i = hk.cast %r : tensor<?x75xf32> -> tensor<?x75xi32>
  %q = hk.cast %i : tensor<?x75xi32> -> tensor<?x75xi8>
  return %q : tensor<?x75xi8>
}
// The scale is a product with 1 / 448, the codes are products with the scale's reciprocal: other
// roundings than those of divisions.
func.func @token_fp8_by_reciprocal(%x: tensor<?x400xbf16>) -> (tensor<?x400xf8E4M3FN>, tensor<?x1xf32>) {
  %inverse = hk.constant 0.00223214296 : tensor<f32>
  %limit = hk.constant 448.0 : tensor<f32>
  %low = hk.constant -448.0 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %amax = hk.reduce absmax %x : tensor<?x400xbf16> -> tensor<?x1xf32>
  %d = hk.mul %amax, %inverse : tensor<?x1xf32>, tensor<f32>
  %none = hk.compare eq %d, %zero : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %s = hk.select %none, %one, %d : tensor<?x1xi1>, tensor<f32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %r = hk.reciprocal %s : tensor<?x1xf32>
  %m = hk.mul %x, %r : tensor<?x400xbf16>, tensor<?x1xf32> -> tensor<?x400xf32>
  %a = hk.min %m, %limit : tensor<?x400xf32>, tensor<f32>
  %b = hk.max %a, %low : tensor<?x400xf32>, tensor<f32>
  %q = hk.cast %b : tensor<?x400xf32> -> tensor<?x400xf8E4M3FN>
  return %q, %s : tensor<?x400xf8E4M3FN>, tensor<?x1xf32>
}
func.func @group_fp8_by_reciprocal(%x: tensor<?x1024xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %inverse = hk.constant 0.00223214296 : tensor<f32>
  %limit = hk.constant 448.0 : tensor<f32>
  %low = hk.constant -448.0 : tensor<f32>
  %floor = hk.constant 1.0e-10 : tensor<f32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 8, 128] : tensor<?x1024xbf16> into tensor<?x8x128xbf16>
  %amax = hk.reduce absmax %g : tensor<?x8x128xbf16> -> tensor<?x8x1xf32>
  %e = hk.max %amax, %floor : tensor<?x8x1xf32>, tensor<f32>
  %s = hk.mul %e, %inverse : tensor<?x8x1xf32>, tensor<f32>
  %r = hk.reciprocal %s : tensor<?x8x1xf32>
  %m = hk.mul %g, %r : tensor<?x8x128xbf16>, tensor<?x8x1xf32> -> tensor<?x8x128xf32>
  %a = hk.min %m, %limit : tensor<?x8x128xf32>, tensor<f32>
  %b = hk.max %a, %low : tensor<?x8x128xf32>, tensor<f32>
  %q3 = hk.cast %b : tensor<?x8x128xf32> -> tensor<?x8x128xf8E4M3FN>
  %q = tensor.collapse_shape %q3 [[0], [1, 2]] : tensor<?x8x128xf8E4M3FN> into tensor<?x1024xf8E4M3FN>
  %s2 = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  return %q, %s2 : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
// Groups with the limit of vLLM, and in another order of the scales.
func.func @group_fnuz_224(%x: tensor<?x384xf16>) -> (tensor<?x384xf8E4M3FNUZ>, tensor<3x?xf32>) {
  %q, %s = hk.quantize per_group %x amax_floor 0.001953125 limit 224.0 : tensor<?x384xf16> -> tensor<?x384xf8E4M3FNUZ>, tensor<?x3xf32>
  %st = hk.transpose %s [1, 0] : tensor<?x3xf32> -> tensor<3x?xf32>
  return %q, %st : tensor<?x384xf8E4M3FNUZ>, tensor<3x?xf32>
}
// Rows of zeros: codes 0, scale 1, or that of the floor.
func.func @zero_rows(%x: tensor<?x130xbf16>) -> (tensor<?x130xf8E4M3FN>, tensor<?x1xf32>, tensor<?x130xf8E4M3FN>, tensor<?x2xf32>) {
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<bf16>
  %z = hk.select %no, %x, %zero : tensor<i1>, tensor<?x130xbf16>, tensor<bf16> -> tensor<?x130xbf16>
  %q, %s = hk.quantize per_token %z : tensor<?x130xbf16> -> tensor<?x130xf8E4M3FN>, tensor<?x1xf32>
  %p, %u = hk.quantize per_group %z amax_floor 1.0e-10 : tensor<?x130xbf16> -> tensor<?x130xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s, %p, %u : tensor<?x130xf8E4M3FN>, tensor<?x1xf32>, tensor<?x130xf8E4M3FN>, tensor<?x2xf32>
}
