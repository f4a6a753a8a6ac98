// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @odd(%x: tensor<2x5xf32>) {
  // expected-error @below {{expected size of dim 1 of input to be even, but got 5}}
  %0 = hk.gated_activation silu %x : tensor<2x5xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @half(%x: tensor<2x6xf32>) {
  // expected-error @below {{expected shape of result to be [2, 3], but got [2, 6]}}
  %0 = hk.gated_activation silu %x : tensor<2x6xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @limit(%x: tensor<2x6xf32>) {
  // expected-error @below {{expected limit to be above 0, but got 0.0}}
  %0 = hk.gated_activation silu %x limit 0.0 : tensor<2x6xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @no_activation_to_round(%x: tensor<2x6xf32>) {
  // expected-error @below {{expected no round_before_up with swiglu_oai, whose activation is no factor of its own}}
  %0 = hk.gated_activation swiglu_oai %x round_before_up : tensor<2x6xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @kind(%x: tensor<2x6xf32>) {
  // expected-error @below {{expected silu, gelu, gelu_tanh, relu or swiglu_oai (activation of a gated unit), but got 'mish'}}
  %0 = hk.gated_activation mish %x : tensor<2x6xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @rope_rank(%x: tensor<4x8xf32>, %c: tensor<9x4xf32>) {
  // expected-error @below {{expected rank of input to be at least 3, but got 2}}
  %0 = hk.rope neox %x, %c, %c : tensor<4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32>
  return
}

// -----

func.func @rope_result(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>) {
  // expected-error @below {{expected shape of result to be [3, 4, 8], but got [3, 8, 4]}}
  %0 = hk.rope neox %x, %c, %c : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> -> tensor<3x8x4xf32>
  return
}

// -----

func.func @rope_cos(%x: tensor<3x4x8xf32>, %c: tensor<4xf32>) {
  // expected-error @below {{expected rank of cos to be 2, but got 1}}
  %0 = hk.rope neox %x, %c, %c : tensor<3x4x8xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @rope_sin(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %s: tensor<9x2xf32>) {
  // expected-error @below {{expected shape of sin to be [9, 4], but got [9, 2]}}
  %0 = hk.rope neox %x, %c, %s : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x2xf32>
  return
}

// -----

func.func @rope_sin_type(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %s: tensor<9x4xbf16>) {
  // expected-error @below {{expected element type of sin to be 'f32', but got 'bf16'}}
  %0 = hk.rope neox %x, %c, %s : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xbf16>
  return
}

// -----

func.func @rope_dynamic_head(%x: tensor<3x4x?xf32>, %c: tensor<9x4xf32>) {
  // expected-error @below {{expected size of dim 2 of input to be static, but got ?}}
  %0 = hk.rope neox %x, %c, %c : tensor<3x4x?xf32>, tensor<9x4xf32>, tensor<9x4xf32>
  return
}

// -----

func.func @rope_dynamic_table(%x: tensor<3x4x8xf32>, %c: tensor<9x?xf32>) {
  // expected-error @below {{expected size of dim 1 of cos to be static, but got ?}}
  %0 = hk.rope neox %x, %c, %c : tensor<3x4x8xf32>, tensor<9x?xf32>, tensor<9x?xf32>
  return
}

// -----

func.func @rope_wide(%x: tensor<3x4x8xf32>, %c: tensor<9x8xf32>) {
  // expected-error @below {{expected number of rotated elements, twice the size of dim 1 of cos, to be even and in [2, 8], but got 16}}
  %0 = hk.rope neox %x, %c, %c : tensor<3x4x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>
  return
}

// -----

func.func @rope_odd(%x: tensor<3x4x8xf32>, %c: tensor<9x5xf32>) {
  // expected-error @below {{expected number of rotated elements, the size of dim 1 of cos, to be even and in [2, 8], but got 5}}
  %0 = hk.rope neox %x, %c, %c angle_per_element : tensor<3x4x8xf32>, tensor<9x5xf32>, tensor<9x5xf32>
  return
}

// -----

func.func @rope_positions(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %p: tensor<4xi32>) {
  // expected-error @below {{expected shape of positions to be [3], but got [4]}}
  %0 = hk.rope neox %x, %c, %c positions %p : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> positions tensor<4xi32>
  return
}

// -----

func.func @rope_offsets(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %p: tensor<3xi32>) {
  // expected-error @below {{expected positions, which offsets are added to}}
  %0 = hk.rope neox %x, %c, %c offsets %p : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> offsets tensor<3xi32>
  return
}

// -----

func.func @rope_offsets_shape(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %p: tensor<3xi32>, %o: tensor<2xi32>) {
  // expected-error @below {{expected shape of offsets to be [3], but got [2]}}
  %0 = hk.rope neox %x, %c, %c positions %p offsets %o : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> positions tensor<3xi32> offsets tensor<2xi32>
  return
}

// -----

func.func @rope_bounds_and_positions(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %p: tensor<3xi32>) {
  // expected-error @below {{expected no positions and one token dim with bounds, but got positions}}
  %0 = hk.rope neox %x, %c, %c positions %p bounds %p : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> positions tensor<3xi32> bounds tensor<3xi32>
  return
}

// -----

func.func @rope_bounds_tokens(%x: tensor<2x3x4x8xf32>, %c: tensor<9x4xf32>, %b: tensor<3xi32>) {
  // expected-error @below {{expected no positions and one token dim with bounds, but got an input of rank 4}}
  %0 = hk.rope neox %x, %c, %c bounds %b : tensor<2x3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> bounds tensor<3xi32>
  return
}

// -----

func.func @rope_bounds_rank(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error @below {{expected rank of bounds to be 1, but got 2}}
  %0 = hk.rope neox %x, %c, %c bounds %b : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> bounds tensor<3x1xi32>
  return
}

// -----

func.func @rope_position_dim(%x: tensor<3x4x8xf32>, %c: tensor<9x4xf32>) {
  // expected-error @below {{expected position_dim to be in [0, 1), the token dims of input, but got 1}}
  %0 = hk.rope neox %x, %c, %c position_dim 1 : tensor<3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32>
  return
}

// -----

func.func @rope_position_dim_and_positions(%x: tensor<2x3x4x8xf32>, %c: tensor<9x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error @below {{expected no positions with position_dim 1}}
  %0 = hk.rope neox %x, %c, %c positions %p position_dim 1 : tensor<2x3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32> positions tensor<2x3xi32>
  return
}
