// Rows that no block holds: read in whole 16 bytes or element by element, with much and
// with little to do for each element, of operands and of what is computed from them.
func.func @odd(%x: tensor<2x89999xbf16>) -> tensor<2x89999xbf16> {
  %y = hk.softmax %x : tensor<2x89999xbf16>
  return %y : tensor<2x89999xbf16>
}
func.func @halves(%x: tensor<2x163840xf16>) -> tensor<2x163840xf16> {
  %y = hk.softmax %x : tensor<2x163840xf16>
  return %y : tensor<2x163840xf16>
}
func.func @quantised(%x: tensor<2x163840xbf16>, %w: tensor<163840xbf16>) -> (tensor<2x163840xf8E4M3FN>, tensor<2x1280xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<2x163840xbf16>, tensor<163840xbf16>
  %y, %s = hk.quantize per_group %n : tensor<2x163840xbf16> -> tensor<2x163840xf8E4M3FN>, tensor<2x1280xf32>
  return %y, %s : tensor<2x163840xf8E4M3FN>, tensor<2x1280xf32>
}
func.func @computed(%x: tensor<2x163840xbf16>, %w: tensor<163840xbf16>) -> (tensor<2x163840xf8E4M3FN>, tensor<2x1280xf32>) {
  %g = hk.gelu_tanh %x : tensor<2x163840xbf16>
  %n = hk.rms_norm %g, %w epsilon 1.0e-05 : tensor<2x163840xbf16>, tensor<163840xbf16>
  %y, %s = hk.quantize per_group %n : tensor<2x163840xbf16> -> tensor<2x163840xf8E4M3FN>, tensor<2x1280xf32>
  return %y, %s : tensor<2x163840xf8E4M3FN>, tensor<2x1280xf32>
}
func.func @long_body(%x: tensor<2x163840xbf16>, %w: tensor<163840xbf16>) -> tensor<2x163840xbf16> {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<2x163840xbf16>, tensor<163840xbf16>
  %g = hk.gelu_tanh %n : tensor<2x163840xbf16>
  %h = hk.silu %g : tensor<2x163840xbf16>
  %i = hk.sigmoid %h : tensor<2x163840xbf16>
  return %i : tensor<2x163840xbf16>
}
