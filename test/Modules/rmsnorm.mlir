// RMS normalisation, plain and with a residual that is rounded before the norm.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS: x.0=7
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @bf16_4096(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>) -> tensor<?x4096xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
func.func @f16_409(%x: tensor<?x409xf16>, %w: tensor<409xf16>) -> tensor<?x409xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x409xf16>, tensor<409xf16> -> tensor<?x409xf16>
  return %y : tensor<?x409xf16>
}
func.func @f32_10(%x: tensor<?x10xf32>, %w: tensor<10xf32>) -> tensor<?x10xf32> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x10xf32>, tensor<10xf32> -> tensor<?x10xf32>
  return %y : tensor<?x10xf32>
}
func.func @add_2880(%x: tensor<?x2880xbf16>, %r: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x2880xbf16>, tensor<?x2880xbf16>) {
  %s = hk.add %x, %r : tensor<?x2880xbf16>, tensor<?x2880xbf16> -> tensor<?x2880xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xbf16>, tensor<2880xbf16> -> tensor<?x2880xbf16>
  return %y, %s : tensor<?x2880xbf16>, tensor<?x2880xbf16>
}
