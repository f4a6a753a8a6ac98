// Causal convolution of dense sequences, channels innermost: every width, with and
// without bias and SiLU, weights of another type, channels that no vector divides.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2 x.1=33
// HK-DIMS: x.0=3 x.1=1
// HK-DIMS: x.0=1 x.1=8
// HK-DIMS: x.0=0 x.1=5
// HK-DIMS: x.0=2 x.1=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @bias_silu(%x: tensor<?x?x256xbf16>, %w: tensor<256x4xbf16>, %b: tensor<256xbf16>) -> tensor<?x?x256xbf16> {
  %0 = hk.causal_conv1d channel_last %x, %w bias %b : tensor<?x?x256xbf16>, tensor<256x4xbf16> bias tensor<256xbf16> -> tensor<?x?x256xf32>
  %1 = hk.silu %0 : tensor<?x?x256xf32> -> tensor<?x?x256xbf16>
  return %1 : tensor<?x?x256xbf16>
}
func.func @plain_4128(%x: tensor<?x?x4128xbf16>, %w: tensor<4128x4xf32>) -> tensor<?x?x4128xbf16> {
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<?x?x4128xbf16>, tensor<4128x4xf32> -> tensor<?x?x4128xbf16>
  return %0 : tensor<?x?x4128xbf16>
}
func.func @width_3_f16(%x: tensor<?x?x100xf16>, %w: tensor<100x3xf16>, %b: tensor<100xf32>) -> tensor<?x?x100xf16> {
  %0 = hk.causal_conv1d channel_last %x, %w bias %b : tensor<?x?x100xf16>, tensor<100x3xf16> bias tensor<100xf32> -> tensor<?x?x100xf16>
  return %0 : tensor<?x?x100xf16>
}
func.func @width_2_f32_odd(%x: tensor<?x?x67xf32>, %w: tensor<67x2xf32>, %b: tensor<67xf32>) -> tensor<?x?x67xf32> {
  %0 = hk.causal_conv1d channel_last %x, %w bias %b : tensor<?x?x67xf32>, tensor<67x2xf32> bias tensor<67xf32> -> tensor<?x?x67xf32>
  %1 = hk.silu %0 : tensor<?x?x67xf32> -> tensor<?x?x67xf32>
  return %1 : tensor<?x?x67xf32>
}
