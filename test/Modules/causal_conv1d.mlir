// Causal convolution of dense sequences, channels innermost: every width, with and
// without bias and SiLU, weights of another type, channels that no vector divides.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2 x.1=33 s.0=2 first.0=2 seq.0=2 seq.1=33 x3.0=2 x3.2=33
// HK-DIMS: x.0=3 x.1=1 s.0=3 first.0=3 seq.0=3 seq.1=1 x3.0=3 x3.2=1
// HK-DIMS: x.0=1 x.1=8 s.0=1 first.0=1 seq.0=1 seq.1=8 x3.0=1 x3.2=8
// HK-DIMS: x.0=0 x.1=5 s.0=0 first.0=0 seq.0=0 seq.1=5 x3.0=0 x3.2=5
// HK-DIMS: x.0=2 x.1=0 s.0=2 first.0=2 seq.0=2 seq.1=0 x3.0=2 x3.2=0
// HK-ARGS: --range=seq=0:2
// HK-DIMS: x.0=2 x.1=2 s.0=2 first.0=2 seq.0=2 seq.1=2 x3.0=2 x3.2=2 --range=first=0:1
// HK-DIMS-HOST: @bias_silu @width_2_f32_odd @width_3_silu x.0=2 x.1=1134
// HK-DIMS-HOST: @plain_4128 x.0=1 x.1=512
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
  %1 = hk.silu %0 : tensor<?x?x67xf32>
  return %1 : tensor<?x?x67xf32>
}
// A state per sequence, before and after.
func.func @initial_and_final_states(%x: tensor<?x9x128xbf16>, %w: tensor<128x4xbf16>, %b: tensor<128xbf16>, %s: tensor<?x3x128xbf16> {hk.state}) -> (tensor<?x9x128xbf16>, tensor<?x3x128xbf16>) {
  %y, %ys = hk.causal_conv1d channel_last %x, %w bias %b state %s : tensor<?x9x128xbf16>, tensor<128x4xbf16> bias tensor<128xbf16> state tensor<?x3x128xbf16> -> tensor<?x9x128xf32>, tensor<?x3x128xbf16>
  %z = hk.silu %y : tensor<?x9x128xf32> -> tensor<?x9x128xbf16>
  return %z, %ys : tensor<?x9x128xbf16>, tensor<?x3x128xbf16>
}
// Several sequences in one row, of random lengths; the second holds time innermost.
func.func @sequences_in_one(%x: tensor<?x?x64xbf16>, %w: tensor<64x4xf32>, %seq: tensor<?x?xi32>) -> tensor<?x?x64xbf16> {
  %y = hk.causal_conv1d channel_last %x, %w seq_idx %seq : tensor<?x?x64xbf16>, tensor<64x4xf32> seq_idx tensor<?x?xi32> -> tensor<?x?x64xbf16>
  return %y : tensor<?x?x64xbf16>
}
func.func @sequences_in_one_channel_first(%x3: tensor<?x30x?xf32>, %w: tensor<30x3xf32>, %b: tensor<30xf32>, %seq: tensor<?x?xi32>) -> tensor<?x30x?xf32> {
  %y = hk.causal_conv1d channel_first %x3, %w bias %b seq_idx %seq : tensor<?x30x?xf32>, tensor<30x3xf32> bias tensor<30xf32> seq_idx tensor<?x?xi32> -> tensor<?x30x?xf32>
  %z = hk.silu %y : tensor<?x30x?xf32>
  return %z : tensor<?x30x?xf32>
}
func.func @width_2_bf16(%x: tensor<?x?x96xbf16>, %w: tensor<96x2xbf16>) -> tensor<?x?x96xbf16> {
  %y = hk.causal_conv1d channel_last %x, %w : tensor<?x?x96xbf16>, tensor<96x2xbf16> -> tensor<?x?x96xbf16>
  return %y : tensor<?x?x96xbf16>
}
func.func @width_3_silu(%x: tensor<?x?x64xbf16>, %w: tensor<64x3xf32>) -> tensor<?x?x64xbf16> {
  %y = hk.causal_conv1d channel_last %x, %w : tensor<?x?x64xbf16>, tensor<64x3xf32> -> tensor<?x?x64xf32>
  %z = hk.silu %y : tensor<?x?x64xf32> -> tensor<?x?x64xbf16>
  return %z : tensor<?x?x64xbf16>
}
func.func @width_4_f16(%x: tensor<?x?x40xf16>, %w: tensor<40x4xf16>, %b: tensor<40xf16>) -> tensor<?x?x40xf16> {
  %y = hk.causal_conv1d channel_last %x, %w bias %b : tensor<?x?x40xf16>, tensor<40x4xf16> bias tensor<40xf16> -> tensor<?x?x40xf16>
  return %y : tensor<?x?x40xf16>
}
func.func @width_4_f32(%x: tensor<?x?x33xf32>, %w: tensor<33x4xf32>) -> tensor<?x?x33xf32> {
  %y = hk.causal_conv1d channel_last %x, %w : tensor<?x?x33xf32>, tensor<33x4xf32> -> tensor<?x?x33xf32>
  return %y : tensor<?x?x33xf32>
}
// Fewer tokens than a state holds.
func.func @states_of_2_tokens(%x: tensor<?x2x70xbf16>, %w: tensor<70x4xf32>, %s: tensor<?x3x70xbf16> {hk.state}) -> (tensor<?x2x70xbf16>, tensor<?x3x70xbf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w state %s : tensor<?x2x70xbf16>, tensor<70x4xf32> state tensor<?x3x70xbf16> -> tensor<?x2x70xf32>, tensor<?x3x70xbf16>
  %z = hk.silu %y : tensor<?x2x70xf32> -> tensor<?x2x70xbf16>
  return %z, %s2 : tensor<?x2x70xbf16>, tensor<?x3x70xbf16>
}
// Time innermost, in the sequences and in their states.
func.func @states_channel_first(%x3: tensor<?x30x?xf32>, %w: tensor<30x3xf32>, %b: tensor<30xf32>, %s: tensor<?x30x2xf32> {hk.state}) -> (tensor<?x30x?xf32>, tensor<?x30x2xf32>) {
  %y, %s2 = hk.causal_conv1d channel_first %x3, %w bias %b state %s state_layout channel_first : tensor<?x30x?xf32>, tensor<30x3xf32> bias tensor<30xf32> state tensor<?x30x2xf32> -> tensor<?x30x?xf32>, tensor<?x30x2xf32>
  return %y, %s2 : tensor<?x30x?xf32>, tensor<?x30x2xf32>
}
// The states are written only: whatever they held counts as zeros where a sequence is new.
func.func @final_states_only(%x: tensor<?x?x64xf16>, %w: tensor<64x4xf16>, %s: tensor<?x3x64xf16> {hk.state}, %first: tensor<?xi1>) -> (tensor<?x?x64xf16>, tensor<?x3x64xf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w state %s has_initial %first : tensor<?x?x64xf16>, tensor<64x4xf16> state tensor<?x3x64xf16> has_initial tensor<?xi1> -> tensor<?x?x64xf16>, tensor<?x3x64xf16>
  return %y, %s2 : tensor<?x?x64xf16>, tensor<?x3x64xf16>
}
