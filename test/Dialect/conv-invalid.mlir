// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @layout(%x: tensor<64x9xf32>, %w: tensor<64x4xf32>, %cu: tensor<3xi32>) {
  // expected-error @below {{expected layout to be channel_last with offsets, but got channel_first}}
  %0 = hk.causal_conv1d channel_first %x, %w offsets %cu : tensor<64x9xf32>, tensor<64x4xf32> offsets tensor<3xi32> -> tensor<64x9xf32>
  return
}

// -----

func.func @rank(%x: tensor<9x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected rank of input to be 3, but got 2}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<9x64xf32>, tensor<64x4xf32> -> tensor<9x64xf32>
  return
}

// -----

func.func @weight_rank(%x: tensor<2x9x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{expected rank of weight to be 2, but got 1}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @weight_dynamic(%x: tensor<2x9x64xf32>, %w: tensor<?x4xf32>) {
  // expected-error @below {{expected size of dim 0 of weight to be static, but got ?}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<?x4xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @width(%x: tensor<2x9x64xf32>, %w: tensor<64x9xf32>) {
  // expected-error @below {{expected size of dim 1 of weight to be 2 to 8 of layout channel_last, but got 9}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x9xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @width_channel_first(%x: tensor<2x64x9xf32>, %w: tensor<64x5xf32>) {
  // expected-error @below {{expected size of dim 1 of weight to be 2 to 4 of layout channel_first, but got 5}}
  %0 = hk.causal_conv1d channel_first %x, %w : tensor<2x64x9xf32>, tensor<64x5xf32> -> tensor<2x64x9xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x64x9xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected size of dim 2 of input to be 64, but got 9}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x64x9xf32>, tensor<64x4xf32> -> tensor<2x64x9xf32>
  return
}

// -----

func.func @dynamic_channels(%x: tensor<2x9x?xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected size of dim 2 of input to be static, but got ?}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x?xf32>, tensor<64x4xf32> -> tensor<2x9x?xf32>
  return
}

// -----

func.func @result(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected shape of result to be [2, 9, 64], but got [2, 64, 9]}}
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x64x9xf32>
  return
}

// -----

func.func @bias(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected shape of bias to be [64], but got [4]}}
  %0 = hk.causal_conv1d channel_last %x, %w bias %b : tensor<2x9x64xf32>, tensor<64x4xf32> bias tensor<4xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @offsets_rank(%x: tensor<9x64xf32>, %w: tensor<64x4xf32>, %cu: tensor<1x3xi32>) {
  // expected-error @below {{expected rank of offsets to be 1, but got 2}}
  %0 = hk.causal_conv1d channel_last %x, %w offsets %cu : tensor<9x64xf32>, tensor<64x4xf32> offsets tensor<1x3xi32> -> tensor<9x64xf32>
  return
}

// -----

func.func @offsets_empty(%x: tensor<9x64xf32>, %w: tensor<64x4xf32>, %cu: tensor<0xi32>) {
  // expected-error @below {{expected size of dim 0 of offsets to be at least 1, but got 0}}
  %0 = hk.causal_conv1d channel_last %x, %w offsets %cu : tensor<9x64xf32>, tensor<64x4xf32> offsets tensor<0xi32> -> tensor<9x64xf32>
  return
}

// -----

func.func @indices_alone(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{expected indices to be absent without a state, but got one}}
  %0 = hk.causal_conv1d channel_last %x, %w indices %i : tensor<2x9x64xf32>, tensor<64x4xf32> indices tensor<2xi32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @initial_shape(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>, %h: tensor<3xi1>) {
  // expected-error @below {{expected shape of has_initial to be [2], but got [3]}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s has_initial %h : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> has_initial tensor<3xi1> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @no_new_state(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>) {
  // expected-error @below {{expected new_state to be present with a state, but got none}}
  %0 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @new_state_alone(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected new_state to be absent without a state, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @state_rank(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<3x64xf32>) {
  // expected-error @below {{expected rank of state to be 3, but got 2}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<3x64xf32> -> tensor<2x9x64xf32>, tensor<3x64xf32>
  return
}

// -----

func.func @state_element(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xbf16>) {
  // expected-error @below {{expected element type of state to be 'f32', but got 'bf16'}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xbf16> -> tensor<2x9x64xf32>, tensor<2x3x64xbf16>
  return
}

// -----

func.func @state_channels(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x64x3xf32>) {
  // expected-error @below {{expected size of dim 2 of state to be 64, but got 3}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x64x3xf32> -> tensor<2x9x64xf32>, tensor<2x64x3xf32>
  return
}

// -----

func.func @state_lines(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<5x3x64xf32>) {
  // expected-error @below {{expected size of dim 0 of state to be 2, but got 5}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<5x3x64xf32> -> tensor<2x9x64xf32>, tensor<5x3x64xf32>
  return
}

// -----

func.func @state_dynamic(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x?x64xf32>) {
  // expected-error @below {{expected size of dim 1 of state to be static, but got ?}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x?x64xf32> -> tensor<2x9x64xf32>, tensor<2x?x64xf32>
  return
}

// -----

func.func @state_length(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x2x64xf32>) {
  // expected-error @below {{expected size of dim 1 of state to be at least 3, the width of weight minus one, but got 2}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x2x64xf32> -> tensor<2x9x64xf32>, tensor<2x2x64xf32>
  return
}

// -----

func.func @new_state_type(%x: tensor<?x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<?x3x64xf32>) {
  // expected-error @below {{expected type of new_state to be 'tensor<?x3x64xf32>', that of state, but got 'tensor<?x3x64xbf16>'}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s : tensor<?x9x64xf32>, tensor<64x4xf32> state tensor<?x3x64xf32> -> tensor<?x9x64xf32>, tensor<?x3x64xbf16>
  return
}

// -----

func.func @state_is_input(%x: tensor<2x3x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected state to be another tensor than input, which must not change while it is read}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %x : tensor<2x3x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> -> tensor<2x3x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @accepted_alone(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected accepted to be absent without a state, but got one}}
  %0 = hk.causal_conv1d channel_last %x, %w accepted %n : tensor<2x9x64xf32>, tensor<64x4xf32> accepted tensor<2xi32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @ring_shape(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>, %n: tensor<3xi32>) {
  // expected-error @below {{expected shape of ring to be [2], but got [3]}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s ring %n : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> ring tensor<3xi32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @ring_and_accepted(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected accepted to be absent with ring, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s accepted %n ring %n : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> accepted tensor<2xi32> ring tensor<2xi32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @ring_and_initial(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>, %n: tensor<2xi32>, %h: tensor<2xi1>) {
  // expected-error @below {{expected has_initial to be absent with ring, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s has_initial %h ring %n : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> has_initial tensor<2xi1> ring tensor<2xi32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @pad_slot(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>) {
  // expected-error @below {{expected pad_slot to be absent without indices, but got 7}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s pad_slot 7 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @seq_idx_shape(%x: tensor<2x64x9xf32>, %w: tensor<64x4xf32>, %i: tensor<2x64xi32>) {
  // expected-error @below {{expected shape of seq_idx to be [2, 9], but got [2, 64]}}
  %0 = hk.causal_conv1d channel_first %x, %w seq_idx %i : tensor<2x64x9xf32>, tensor<64x4xf32> seq_idx tensor<2x64xi32> -> tensor<2x64x9xf32>
  return
}

// -----

func.func @seq_idx_and_state(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>, %i: tensor<2x9xi32>) {
  // expected-error @below {{expected state to be absent with seq_idx, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s seq_idx %i : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> seq_idx tensor<2x9xi32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @seq_idx_and_offsets(%x: tensor<9x64xf32>, %w: tensor<64x4xf32>, %cu: tensor<3xi32>, %i: tensor<9x64xi32>) {
  // expected-error @below {{expected offsets to be absent with seq_idx, but got one}}
  %0 = hk.causal_conv1d channel_last %x, %w offsets %cu seq_idx %i : tensor<9x64xf32>, tensor<64x4xf32> offsets tensor<3xi32> seq_idx tensor<9x64xi32> -> tensor<9x64xf32>
  return
}

// -----

func.func @computed_alone(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected computed to be absent without a state, but got one}}
  %0 = hk.causal_conv1d channel_last %x, %w computed %n block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> computed tensor<2xi32> -> tensor<2x9x64xf32>
  return
}

// -----

func.func @computed_shape(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2x5xi32>, %n: tensor<3xi32>) {
  // expected-error @below {{expected shape of computed to be [2], but got [3]}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i computed %n block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2x5xi32> computed tensor<3xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @computed_without_block(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2x5xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected block to be present with computed, but got none}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i computed %n : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2x5xi32> computed tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @block_alone(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{expected block to be absent without computed, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @block_size(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2x5xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected block to be at least 1, but got 0}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i computed %n block 0 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2x5xi32> computed tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @computed_and_ring(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2x5xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected ring to be absent with computed, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i ring %n computed %n block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2x5xi32> ring tensor<2xi32> computed tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @computed_without_indices(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected indices to be present with computed, but got none}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s computed %n block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> computed tensor<2xi32> -> tensor<2x9x64xf32>, tensor<2x3x64xf32>
  return
}

// -----

func.func @computed_indices_rank(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected rank of indices to be 2, but got 1}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i computed %n block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2xi32> computed tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @computed_indices_size(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<3x5xi32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected size of dim 0 of indices to be 2, but got 3}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i computed %n block 4 : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<3x5xi32> computed tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32>
  return
}

// -----

func.func @windows_alone(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{expected windows to be absent without a state, but got one}}
  %0, %1 = hk.causal_conv1d channel_last %x, %w : tensor<2x9x64xf32>, tensor<64x4xf32> -> tensor<2x9x64xf32> windows tensor<2x9x64x3xf32>
  return
}

// -----

func.func @windows_ragged(%x: tensor<9x64xf32>, %w: tensor<64x4xf32>, %cu: tensor<3xi32>, %s: tensor<2x3x64xf32>) {
  // expected-error @below {{expected windows to be absent with offsets, but got one}}
  %0, %1, %2 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s : tensor<9x64xf32>, tensor<64x4xf32> offsets tensor<3xi32> state tensor<2x3x64xf32> -> tensor<9x64xf32>, tensor<2x3x64xf32> windows tensor<2x9x64x3xf32>
  return
}

// -----

func.func @windows_element(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{expected element type of windows to be 'f32', but got 'bf16'}}
  %0, %1, %2 = hk.causal_conv1d channel_last %x, %w state %s indices %i : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32> windows tensor<2x9x64x3xbf16>
  return
}

// -----

func.func @windows_shape(%x: tensor<2x9x64xf32>, %w: tensor<64x4xf32>, %s: tensor<8x3x64xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{expected shape of windows to be [2, 9, 64, 3], but got [2, 9, 64, 4]}}
  %0, %1, %2 = hk.causal_conv1d channel_last %x, %w state %s indices %i : tensor<2x9x64xf32>, tensor<64x4xf32> state tensor<8x3x64xf32> indices tensor<2xi32> -> tensor<2x9x64xf32>, tensor<8x3x64xf32> windows tensor<2x9x64x4xf32>
  return
}
