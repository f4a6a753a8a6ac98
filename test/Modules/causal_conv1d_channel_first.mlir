// Causal convolution of dense sequences, time innermost (the layout of Mamba).
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2 x.2=129
// HK-DIMS: x.0=1 x.2=1
// HK-DIMS: x.0=2 x.2=16
// HK-DIMS: x.0=2 x.2=0
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=2
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=8
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=32
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=64
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=128
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=130
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=151
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=256
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=372
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=512
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=784
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=1024
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=1134
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=2048
// HK-DIMS-HOST: @bias_silu @width_3_f32 @width_2_f16 x.0=2 x.2=4096
// HK-DIMS-HOST: @width_4_4128 x.0=1 x.2=151
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
func.func @width_4_4128(%x: tensor<?x4128x?xbf16>, %w: tensor<4128x4xf32>, %b: tensor<4128xf32>) -> tensor<?x4128x?xbf16> {
  %y = hk.causal_conv1d channel_first %x, %w bias %b : tensor<?x4128x?xbf16>, tensor<4128x4xf32> bias tensor<4128xf32> -> tensor<?x4128x?xf32>
  %z = hk.silu %y : tensor<?x4128x?xf32> -> tensor<?x4128x?xbf16>
  return %z : tensor<?x4128x?xbf16>
}
