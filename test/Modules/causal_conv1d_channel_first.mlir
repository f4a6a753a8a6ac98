// Causal convolution of dense sequences, time innermost (the layout of Mamba).
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2 x.2=129
// HK-DIMS: x.0=1 x.2=1
// HK-DIMS: x.0=2 x.2=16
// HK-DIMS: x.0=2 x.2=0
// HK-DATA: normal,nan,inf

func.func @bias_silu(%x: tensor<?x64x?xbf16>, %w: tensor<64x4xbf16>, %b: tensor<64xbf16>) -> tensor<?x64x?xbf16> {
  %0 = hk.causal_conv1d channel_first %x, %w bias %b : tensor<?x64x?xbf16>, tensor<64x4xbf16> bias tensor<64xbf16> -> tensor<?x64x?xf32>
  %1 = hk.silu %0 : tensor<?x64x?xf32> -> tensor<?x64x?xbf16>
  return %1 : tensor<?x64x?xbf16>
}
func.func @width_3_f32(%x: tensor<?x17x?xf32>, %w: tensor<17x3xf32>) -> tensor<?x17x?xf32> {
  %0 = hk.causal_conv1d channel_first %x, %w : tensor<?x17x?xf32>, tensor<17x3xf32> -> tensor<?x17x?xf32>
  return %0 : tensor<?x17x?xf32>
}
func.func @width_2_f16(%x: tensor<?x5x?xf16>, %w: tensor<5x2xf16>) -> tensor<?x5x?xf16> {
  %0 = hk.causal_conv1d channel_first %x, %w : tensor<?x5x?xf16>, tensor<5x2xf16> -> tensor<?x5x?xf16>
  return %0 : tensor<?x5x?xf16>
}
