// Activations, and activations gated by the second half of the row.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=3
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @silu(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %y = hk.silu %x : tensor<?x96xbf16> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @gelu(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %y = hk.gelu %x : tensor<?x96xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
func.func @gelu_tanh(%x: tensor<?x37xf16>) -> tensor<?x37xf16> {
  %y = hk.gelu_tanh %x : tensor<?x37xf16> -> tensor<?x37xf16>
  return %y : tensor<?x37xf16>
}
func.func @relu(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %y = hk.relu %x : tensor<?x96xbf16> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @tanh(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %y = hk.tanh %x : tensor<?x96xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
func.func @silu_and_mul(%x: tensor<?x1408xbf16>) -> tensor<?x704xbf16> {
  %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xbf16>
  return %y : tensor<?x704xbf16>
}
func.func @swiglu_oai(%x: tensor<?x128xbf16>) -> tensor<?x64xbf16> {
  %y = hk.gated_activation swiglu_oai %x {limit = 7.0 : f32} : tensor<?x128xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
