// Prefill of ragged sequences with their states: empty and short sequences, padding
// slots (lines from -1 on), lines that have no state yet.
// HK-LAUNCHES: 1
// HK-ARGS: --range=initial=0:1 --range=table=iota:-3 --range=long=iota:-1 --range=computed=0:21
// HK-DIMS: x.0=67 cu.0=8 lines.0=7 initial.0=7 table.0=7 long.0=7 computed.0=7 --range=cu=bounds:67 --range=lines=iota:-1
// HK-DIMS: x.0=9 cu.0=9 lines.0=8 initial.0=8 table.0=8 long.0=8 computed.0=8 --range=cu=bounds:9 --range=lines=iota:2
// HK-DIMS: x.0=1 cu.0=2 lines.0=1 initial.0=1 table.0=1 long.0=1 computed.0=1 --range=cu=bounds:1
// HK-DIMS: x.0=5 cu.0=2 lines.0=1 initial.0=1 table.0=1 long.0=1 computed.0=1 --range=cu=bounds:5 --range=lines=0:0
// HK-DIMS: x.0=0 cu.0=4 lines.0=3 initial.0=3 table.0=3 long.0=3 computed.0=3 --range=cu=bounds:0 --range=lines=iota:1
// HK-DIMS: x.0=0 cu.0=1 lines.0=0 initial.0=0 table.0=0 long.0=0 computed.0=0 --range=cu=bounds:0
// HK-DIMS-HOST: @old_states_count @no_states x.0=5120 cu.0=65 lines.0=64 --range=cu=bounds:5120 --range=lines=iota:3
// HK-DIMS-HOST: @old_states_count x.0=8192 cu.0=1025 lines.0=1024 --range=cu=bounds:8192 --range=lines=iota:3
// HK-DIMS-HOST: @width_4_2048 x.0=1024 cu.0=3 lines.0=2 initial.0=2 --range=cu=bounds:1024 --range=lines=iota
// HK-DATA: normal,equal,nan,inf

func.func @silu(%x: tensor<?x320xbf16>, %w: tensor<320x4xbf16>, %b: tensor<320xbf16>, %cu: tensor<?xi32>, %s: tensor<8x3x320xbf16> {hk.state}, %lines: tensor<?xi32>, %initial: tensor<?xi1>) -> (tensor<?x320xbf16>, tensor<8x3x320xbf16>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %s indices %lines has_initial %initial : tensor<?x320xbf16>, tensor<320x4xbf16> bias tensor<320xbf16> offsets tensor<?xi32> state tensor<8x3x320xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x320xf32>, tensor<8x3x320xbf16>
  %2 = hk.silu %0 : tensor<?x320xf32> -> tensor<?x320xbf16>
  return %2, %1 : tensor<?x320xbf16>, tensor<8x3x320xbf16>
}
func.func @channel_first_state(%x: tensor<?x96xf32>, %w: tensor<96x3xf32>, %cu: tensor<?xi32>, %s: tensor<8x96x5xf32> {hk.state}, %lines: tensor<?xi64>, %initial: tensor<?xi1>) -> (tensor<?x96xf32>, tensor<8x96x5xf32>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %lines has_initial %initial state_layout channel_first : tensor<?x96xf32>, tensor<96x3xf32> offsets tensor<?xi32> state tensor<8x96x5xf32> indices tensor<?xi64> has_initial tensor<?xi1> -> tensor<?x96xf32>, tensor<8x96x5xf32>
  return %0, %1 : tensor<?x96xf32>, tensor<8x96x5xf32>
}
// Prefix caching: the state of every block of 16 tokens goes to a line of its own. Half
// of the sequences go on inside a block, whose line is also the one they begin with.
func.func @blocks_16(%x: tensor<?x72xbf16>, %w: tensor<72x4xbf16>, %b: tensor<72xbf16>, %cu: tensor<?xi32>, %s: tensor<50x3x72xbf16> {hk.state}, %table: tensor<?x6xi32>, %computed: tensor<?xi32>) -> (tensor<?x72xbf16>, tensor<50x3x72xbf16>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %s indices %table computed %computed block 16 : tensor<?x72xbf16>, tensor<72x4xbf16> bias tensor<72xbf16> offsets tensor<?xi32> state tensor<50x3x72xbf16> indices tensor<?x6xi32> computed tensor<?xi32> -> tensor<?x72xf32>, tensor<50x3x72xbf16>
  %2 = hk.silu %0 : tensor<?x72xf32> -> tensor<?x72xbf16>
  return %2, %1 : tensor<?x72xbf16>, tensor<50x3x72xbf16>
}
// Blocks of 2 tokens, shorter than a state of 5 entries; channels outside time.
func.func @blocks_2_odd(%x: tensor<?x33xf32>, %w: tensor<33x3xf32>, %cu: tensor<?xi32>, %s: tensor<300x33x5xf32> {hk.state}, %long: tensor<?x37xi64>, %computed: tensor<?xi32>) -> (tensor<?x33xf32>, tensor<300x33x5xf32>) {
  %0, %1 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %long computed %computed state_layout channel_first block 2 pad_slot 7 : tensor<?x33xf32>, tensor<33x3xf32> offsets tensor<?xi32> state tensor<300x33x5xf32> indices tensor<?x37xi64> computed tensor<?xi32> -> tensor<?x33xf32>, tensor<300x33x5xf32>
  return %0, %1 : tensor<?x33xf32>, tensor<300x33x5xf32>
}
func.func @width_2_f16(%x: tensor<?x100xf16>, %w: tensor<100x2xf16>, %cu: tensor<?xi32>, %s: tensor<8x1x100xf16> {hk.state}, %lines: tensor<?xi32>, %initial: tensor<?xi1>) -> (tensor<?x100xf16>, tensor<8x1x100xf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %lines has_initial %initial : tensor<?x100xf16>, tensor<100x2xf16> offsets tensor<?xi32> state tensor<8x1x100xf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x100xf16>, tensor<8x1x100xf16>
  return %y, %s2 : tensor<?x100xf16>, tensor<8x1x100xf16>
}
// Sequences that nothing comes before and nothing follows.
func.func @no_states(%x: tensor<?x70xbf16>, %w: tensor<70x4xf32>, %b: tensor<70xf32>, %cu: tensor<?xi32>) -> tensor<?x70xbf16> {
  %y = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu : tensor<?x70xbf16>, tensor<70x4xf32> bias tensor<70xf32> offsets tensor<?xi32> -> tensor<?x70xf32>
  %z = hk.silu %y : tensor<?x70xf32> -> tensor<?x70xbf16>
  return %z : tensor<?x70xbf16>
}
// Every line has a state, of as many sequences as there are.
func.func @old_states_count(%x: tensor<?x64xbf16>, %w: tensor<64x4xbf16>, %b: tensor<64xbf16>, %cu: tensor<?xi32>, %s: tensor<1030x3x64xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x64xbf16>, tensor<1030x3x64xbf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %s indices %lines : tensor<?x64xbf16>, tensor<64x4xbf16> bias tensor<64xbf16> offsets tensor<?xi32> state tensor<1030x3x64xbf16> indices tensor<?xi32> -> tensor<?x64xbf16>, tensor<1030x3x64xbf16>
  return %y, %s2 : tensor<?x64xbf16>, tensor<1030x3x64xbf16>
}
func.func @width_4_2048(%x: tensor<?x2048xbf16>, %w: tensor<2048x4xbf16>, %b: tensor<2048xbf16>, %cu: tensor<?xi32>, %s: tensor<8x3x2048xbf16> {hk.state}, %lines: tensor<?xi32>, %initial: tensor<?xi1>) -> (tensor<?x2048xbf16>, tensor<8x3x2048xbf16>) {
  %y, %s2 = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %s indices %lines has_initial %initial : tensor<?x2048xbf16>, tensor<2048x4xbf16> bias tensor<2048xbf16> offsets tensor<?xi32> state tensor<8x3x2048xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x2048xf32>, tensor<8x3x2048xbf16>
  %z = hk.silu %y : tensor<?x2048xf32> -> tensor<?x2048xbf16>
  return %z, %s2 : tensor<?x2048xbf16>, tensor<8x3x2048xbf16>
}
