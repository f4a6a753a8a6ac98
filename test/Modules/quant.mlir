// Quantisation with a scale per token, per group and given, to int8 and every fp8, with
// the limits and scales that engines differ in.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=19
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS-HOST: @token_int8_128 x.0=1024
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
  %q, %s = hk.quantize per_token %x {amax_floor = 0.001953125 : f32, limit = 224.0 : f32} : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %s : tensor<?x4096xf8E4M3FNUZ>, tensor<?x1xf32>
}
func.func @token_fp8_16384(%x: tensor<?x16384xf32>) -> (tensor<?x16384xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x16384xf32> -> tensor<?x16384xf8E4M3FN>, tensor<?x1xf32>
  return %q, %s : tensor<?x16384xf8E4M3FN>, tensor<?x1xf32>
}
func.func @group_fp8(%x: tensor<?x1024xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %q, %s = hk.quantize per_group %x {amax_floor = 1.0e-10 : f32} : tensor<?x1024xbf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
func.func @group_fp8_tail(%x: tensor<?x200xf16>) -> (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) {
  %q, %s = hk.quantize per_group %x {amax_floor = 1.0e-10 : f32} : tensor<?x200xf16> -> tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s : tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
}
func.func @group_64_e5m2_fnuz(%x: tensor<?x192xf32>) -> (tensor<?x192xf8E5M2FNUZ>, tensor<?x3xf32>) {
  %q, %s = hk.quantize per_group %x {group_size = 64 : i64} : tensor<?x192xf32> -> tensor<?x192xf8E5M2FNUZ>, tensor<?x3xf32>
  return %q, %s : tensor<?x192xf8E5M2FNUZ>, tensor<?x3xf32>
}
func.func @group_ue8m0(%x: tensor<?x1024xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %q, %s = hk.quantize per_group %x {amax_floor = 1.0e-10 : f32, power_of_two} : tensor<?x1024xbf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
func.func @token_ue8m0(%x: tensor<?x193xf32>) -> (tensor<?x193xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = hk.quantize per_token %x {power_of_two} : tensor<?x193xf32> -> tensor<?x193xf8E4M3FN>, tensor<?x1xf32>
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
  %q = hk.quantize_static %x, %s {limit = 224.0 : f32} : tensor<?x75xf16>, tensor<1xf32> -> tensor<?x75xf8E4M3FNUZ>
  return %q : tensor<?x75xf8E4M3FNUZ>
}
// The largest magnitude is taken to lie between 1e-12 and a given bound.
func.func @token_upper_bound(%x: tensor<?x4096xbf16>, %ub: tensor<1xf32>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>) {
  %floor = hk.constant dense<1.0e-12> : tensor<f32>
  %limit = hk.constant dense<448.0> : tensor<f32>
  %amax = hk.reduce absmax %x : tensor<?x4096xbf16> -> tensor<?x1xf32>
  %low = hk.max %amax, %floor : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %top = hk.min %low, %ub : tensor<?x1xf32>, tensor<1xf32> -> tensor<?x1xf32>
  %s = hk.div %top, %limit : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %q = hk.quantize_static %x, %s : tensor<?x4096xbf16>, tensor<?x1xf32> -> tensor<?x4096xf8E4M3FN>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x1xf32>
}
// Smoothed by a factor per column; 1e-12 is added to the scale.
func.func @token_smooth_additive(%x: tensor<?x400xf16>, %xs: tensor<400xf32>) -> (tensor<?x400xi8>, tensor<?x1xf32>) {
  %limit = hk.constant dense<127.0> : tensor<f32>
  %tiny = hk.constant dense<1.0e-12> : tensor<f32>
  %m = hk.mul %x, %xs : tensor<?x400xf16>, tensor<400xf32> -> tensor<?x400xf32>
  %amax = hk.reduce absmax %m : tensor<?x400xf32> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %s = hk.add %d, %tiny : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %q = hk.quantize_static %m, %s : tensor<?x400xf32>, tensor<?x1xf32> -> tensor<?x400xi8>
  return %q, %s : tensor<?x400xi8>, tensor<?x1xf32>
}
func.func @static_int8_8192(%x: tensor<?x8192xbf16>, %s: tensor<1xf32>) -> tensor<?x8192xi8> {
  %q = hk.quantize_static %x, %s : tensor<?x8192xbf16>, tensor<1xf32> -> tensor<?x8192xi8>
  return %q : tensor<?x8192xi8>
}
// The roundings of other engines: toward zero, and half away from zero.
func.func @token_int8_truncated(%x: tensor<?x96xbf16>) -> (tensor<?x96xi8>, tensor<?x1xf32>) {
  %limit = hk.constant dense<127.0> : tensor<f32>
  %zero = hk.constant dense<0.0> : tensor<f32>
  %one = hk.constant dense<1.0> : tensor<f32>
  %amax = hk.reduce absmax %x : tensor<?x96xbf16> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %none = hk.compare eq %d, %zero : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %s = hk.select %none, %one, %d : tensor<?x1xi1>, tensor<f32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %r = hk.div %x, %s : tensor<?x96xbf16>, tensor<?x1xf32> -> tensor<?x96xf32>
  %i = hk.cast %r : tensor<?x96xf32> -> tensor<?x96xi32>
  %q = hk.cast %i : tensor<?x96xi32> -> tensor<?x96xi8>
  return %q, %s : tensor<?x96xi8>, tensor<?x1xf32>
}
func.func @token_smooth_half_away(%x: tensor<?x50xf16>, %xs: tensor<50xf32>) -> (tensor<?x50xi8>, tensor<?x1xf32>) {
  %limit = hk.constant dense<127.0> : tensor<f32>
  %low = hk.constant dense<-127.0> : tensor<f32>
  %tiny = hk.constant dense<1.0e-12> : tensor<f32>
  %half = hk.constant dense<0.5> : tensor<f32>
  %zero = hk.constant dense<0.0> : tensor<f32>
  %m = hk.mul %x, %xs : tensor<?x50xf16>, tensor<50xf32> -> tensor<?x50xf32>
  %amax = hk.reduce absmax %m : tensor<?x50xf32> -> tensor<?x1xf32>
  %d = hk.div %amax, %limit : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %s = hk.add %d, %tiny : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %r = hk.div %m, %s : tensor<?x50xf32>, tensor<?x1xf32> -> tensor<?x50xf32>
  %up = hk.add %r, %half : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xf32>
  %down = hk.sub %r, %half : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xf32>
  %positive = hk.compare ge %r, %zero : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xi1>
  %away = hk.select %positive, %up, %down : tensor<?x50xi1>, tensor<?x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
  %c = hk.max %away, %low : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xf32>
  %e = hk.min %c, %limit : tensor<?x50xf32>, tensor<f32> -> tensor<?x50xf32>
  %i = hk.cast %e : tensor<?x50xf32> -> tensor<?x50xi32>
  %q = hk.cast %i : tensor<?x50xi32> -> tensor<?x50xi8>
  return %q, %s : tensor<?x50xi8>, tensor<?x1xf32>
}
