// Products in slices of k: the sum of the slices fuses with a bias and an activation,
// with a residual and a norm, with a gate, with a quantisation of whole rows.
// HK-COMPILE: --split-k=3
// HK-LAUNCHES: 2
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: x.0=0

func.func @bias_silu(%x: tensor<?x520xbf16>, %w: tensor<200x520xbf16>, %b: tensor<200xbf16>) -> tensor<?x200xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x520xbf16>, tensor<200x520xbf16> -> tensor<?x200xbf16>
  %z = hk.add %y, %b : tensor<?x200xbf16>, tensor<200xbf16>
  %s = hk.silu %z : tensor<?x200xbf16>
  return %s : tensor<?x200xbf16>
}
func.func @residual_norm(%x: tensor<?x384xf16>, %w: tensor<384x128xf16>, %r: tensor<?x128xf16>, %g: tensor<128xf16>) -> (tensor<?x128xf16>, tensor<?x128xf16>) {
  %y = hk.matmul %x, %w : tensor<?x384xf16>, tensor<384x128xf16> -> tensor<?x128xf16>
  %z = hk.add %y, %r : tensor<?x128xf16>
  %n = hk.rms_norm %z, %g epsilon 1.0e-05 : tensor<?x128xf16>, tensor<128xf16>
  return %z, %n : tensor<?x128xf16>, tensor<?x128xf16>
}
func.func @gated(%x: tensor<?x300xbf16>, %w: tensor<256x300xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x300xbf16>, tensor<256x300xbf16> -> tensor<?x256xbf16>
  %o = hk.gated_activation silu %y : tensor<?x256xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
func.func @integer_quantised(%x: tensor<?x384xi8>, %w: tensor<136x384xi8>, %s: tensor<?x1xf32>, %t: tensor<136x1xf32>) -> (tensor<?x136xi8>, tensor<?x1xf32>) {
  %y = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x384xi8>, tensor<136x384xi8> scales (tensor<?x1xf32>, tensor<136x1xf32>) -> tensor<?x136xf32>
  %q, %qs = hk.quantize per_token %y : tensor<?x136xf32> -> tensor<?x136xi8>, tensor<?x1xf32>
  return %q, %qs : tensor<?x136xi8>, tensor<?x1xf32>
}
func.func @integer(%x: tensor<?x300xi8>, %w: tensor<40x300xi8>) -> tensor<?x40xi32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x300xi8>, tensor<40x300xi8> -> tensor<?x40xi32>
  return %y : tensor<?x40xi32>
}
func.func @batched(%x: tensor<?x3x5x256xbf16>, %w: tensor<?x3x24x256xbf16>) -> tensor<?x3x5x24xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x3x5x256xbf16>, tensor<?x3x24x256xbf16> -> tensor<?x3x5x24xf32>
  return %y : tensor<?x3x5x24xf32>
}
func.func @one_row(%x: tensor<?x1x256xbf16>, %w: tensor<24x256xbf16>) -> tensor<?x1x24xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x1x256xbf16>, tensor<24x256xbf16> -> tensor<?x1x24xbf16>
  return %y : tensor<?x1x24xbf16>
}
