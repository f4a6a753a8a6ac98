// Layer normalisation, plain and with a residual rounded before the norm.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=5
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @f16_768(%x: tensor<?x768xf16>, %w: tensor<768xf16>, %b: tensor<768xf16>) -> tensor<?x768xf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x768xf16>, tensor<768xf16>, tensor<768xf16> -> tensor<?x768xf16>
  return %y : tensor<?x768xf16>
}
func.func @bf16_1(%x: tensor<?x1xbf16>, %w: tensor<1xbf16>, %b: tensor<1xbf16>) -> tensor<?x1xbf16> {
  %y = hk.layer_norm %x, %w, %b epsilon 1.0e-05 : tensor<?x1xbf16>, tensor<1xbf16>, tensor<1xbf16> -> tensor<?x1xbf16>
  return %y : tensor<?x1xbf16>
}
func.func @add_359(%x: tensor<?x359xf32>, %r: tensor<?x359xf32>, %w: tensor<359xf32>, %b: tensor<359xf32>) -> (tensor<?x359xf32>, tensor<?x359xf32>) {
  %s = hk.add %x, %r : tensor<?x359xf32>, tensor<?x359xf32> -> tensor<?x359xf32>
  %y = hk.layer_norm %s, %w, %b epsilon 1.0e-05 : tensor<?x359xf32>, tensor<359xf32>, tensor<359xf32> -> tensor<?x359xf32>
  return %y, %s : tensor<?x359xf32>, tensor<?x359xf32>
}
