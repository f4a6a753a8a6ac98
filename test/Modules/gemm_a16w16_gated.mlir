// The product of both halves of the columns, the first through an activation.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: @silu x.0=130
// HK-DIMS: x.0=0
// HK-DIMS: @gelu x.0=5 --data=nan

func.func @silu(%x: tensor<?x136xbf16>, %w: tensor<256x136xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x136xbf16>, tensor<256x136xbf16> -> tensor<?x256xf32>
  %o = hk.gated_activation silu %y : tensor<?x256xf32> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
func.func @gelu(%x: tensor<?x72xbf16>, %w: tensor<144x72xbf16>) -> tensor<?x72xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x72xbf16>, tensor<144x72xbf16> -> tensor<?x144xf32>
  %o = hk.gated_activation gelu %y : tensor<?x144xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
func.func @gelu_tanh(%x: tensor<?x40xf16>, %w: tensor<128x40xf16>) -> tensor<?x64xf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x40xf16>, tensor<128x40xf16> -> tensor<?x128xf32>
  %o = hk.gated_activation gelu_tanh %y : tensor<?x128xf32> -> tensor<?x64xf16>
  return %o : tensor<?x64xf16>
}
func.func @relu(%x: tensor<?x13xbf16>, %w: tensor<66x13xbf16>) -> tensor<?x33xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x13xbf16>, tensor<66x13xbf16> -> tensor<?x66xf32>
  %o = hk.gated_activation relu %y : tensor<?x66xf32> -> tensor<?x33xbf16>
  return %o : tensor<?x33xbf16>
}
func.func @swiglu_oai(%x: tensor<?x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<?x64xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xf32>
  %o = hk.gated_activation swiglu_oai %y : tensor<?x128xf32> -> tensor<?x64xbf16>
  return %o : tensor<?x64xbf16>
}
func.func @rounded(%x: tensor<?x64xbf16>, %w: tensor<256x64xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  %o = hk.gated_activation silu %y : tensor<?x256xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
// As PyTorch has it: product and activation are rounded.
func.func @rounded_gelu(%x: tensor<?x48xbf16>, %w: tensor<256x48xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x48xbf16>, tensor<256x48xbf16> -> tensor<?x256xbf16>
  %o = hk.gated_activation gelu %y round_before_up : tensor<?x256xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
