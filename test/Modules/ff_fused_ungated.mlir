// A feed-forward layer: up, activation, down. Two launches and no atomics.
// HK-LAUNCHES: 2
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: x.0=0

func.func @silu(%x: tensor<?x72xbf16>, %wu: tensor<128x72xbf16>, %wd: tensor<128x72xbf16>) -> tensor<?x72xbf16> {
  %u = hk.matmul %x, %wu {transpose_b} : tensor<?x72xbf16>, tensor<128x72xbf16> -> tensor<?x128xf32>
  %g = hk.silu %u : tensor<?x128xf32> -> tensor<?x128xbf16>
  %y = hk.matmul %g, %wd : tensor<?x128xbf16>, tensor<128x72xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @gelu_tanh(%x: tensor<?x64xf16>, %wu: tensor<72x64xf16>, %wd: tensor<72x64xf16>) -> tensor<?x64xf16> {
  %u = hk.matmul %x, %wu {transpose_b} : tensor<?x64xf16>, tensor<72x64xf16> -> tensor<?x72xf32>
  %g = hk.gelu_tanh %u : tensor<?x72xf32> -> tensor<?x72xf16>
  %y = hk.matmul %g, %wd : tensor<?x72xf16>, tensor<72x64xf16> -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}
func.func @gelu(%x: tensor<?x40xbf16>, %wu: tensor<64x40xbf16>, %wd: tensor<64x40xbf16>) -> tensor<?x40xbf16> {
  %u = hk.matmul %x, %wu {transpose_b} : tensor<?x40xbf16>, tensor<64x40xbf16> -> tensor<?x64xf32>
  %g = hk.gelu %u : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = hk.matmul %g, %wd : tensor<?x64xbf16>, tensor<64x40xbf16> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @relu(%x: tensor<?x13xbf16>, %wu: tensor<33x13xbf16>, %wd: tensor<33x13xbf16>) -> tensor<?x13xbf16> {
  %u = hk.matmul %x, %wu {transpose_b} : tensor<?x13xbf16>, tensor<33x13xbf16> -> tensor<?x33xf32>
  %g = hk.relu %u : tensor<?x33xf32> -> tensor<?x33xbf16>
  %y = hk.matmul %g, %wd : tensor<?x33xbf16>, tensor<33x13xbf16> -> tensor<?x13xbf16>
  return %y : tensor<?x13xbf16>
}
func.func @no_activation(%x: tensor<?x72xbf16>, %wu: tensor<64x72xbf16>, %wd: tensor<64x72xbf16>) -> tensor<?x72xbf16> {
  %g = hk.matmul %x, %wu {transpose_b} : tensor<?x72xbf16>, tensor<64x72xbf16> -> tensor<?x64xbf16>
  %y = hk.matmul %g, %wd : tensor<?x64xbf16>, tensor<64x72xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
