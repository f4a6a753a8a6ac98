// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @rank(%q: tensor<9x2x64xf32>, %v: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected rank of query to be 4, but got 3}}
  %0 = hk.gated_delta_rule %q, %q, %v : tensor<9x2x64xf32>, tensor<9x2x64xf32>, tensor<1x9x4x32xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @dynamic_keys(%q: tensor<1x9x2x?xf32>, %v: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected size of dim 3 of query to be static, but got ?}}
  %0 = hk.gated_delta_rule %q, %q, %v : tensor<1x9x2x?xf32>, tensor<1x9x2x?xf32>, tensor<1x9x4x32xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @no_values(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x0xf32>) {
  // expected-error @below {{expected size of dim 3 of value to be at least 1, but got 0}}
  %0 = hk.gated_delta_rule %q, %q, %v : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x0xf32> -> tensor<1x9x4x0xf32>
  return
}

// -----

func.func @heads(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x3x32xf32>) {
  // expected-error @below {{expected number of value heads to be a multiple of the 2 key heads, but got 3}}
  %0 = hk.gated_delta_rule %q, %q, %v : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x3x32xf32> -> tensor<1x9x3x32xf32>
  return
}

// -----

func.func @key_shape(%q: tensor<1x9x2x64xf32>, %k: tensor<1x9x2x32xf32>, %v: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected shape of key to be [1, 9, 2, 64], but got [1, 9, 2, 32]}}
  %0 = hk.gated_delta_rule %q, %k, %v : tensor<1x9x2x64xf32>, tensor<1x9x2x32xf32>, tensor<1x9x4x32xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @decay_shape(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %g: tensor<1x9x2xf32>) {
  // expected-error @below {{expected shape of decay to be [1, 9, 4], but got [1, 9, 2]}}
  %0 = hk.gated_delta_rule %q, %q, %v decay %g : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> decay tensor<1x9x2xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @beta_shape(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %g: tensor<1x9x4x64xf32>) {
  // expected-error @below {{expected shape of beta to be [1, 9, 4, 32], but got [1, 9, 4, 64]}}
  %0 = hk.gated_delta_rule %q, %q, %v beta %g : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> beta tensor<1x9x4x64xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @epsilon(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected l2norm to be at least 0, but got -1.0}}
  %0 = hk.gated_delta_rule %q, %q, %v l2norm -1.0 : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @offsets(%q: tensor<9x2x64xf32>, %v: tensor<9x4x32xf32>, %cu: tensor<0xi32>) {
  // expected-error @below {{expected size of dim 0 of offsets to be at least 1, but got 0}}
  %0 = hk.gated_delta_rule %q, %q, %v offsets %cu : tensor<9x2x64xf32>, tensor<9x2x64xf32>, tensor<9x4x32xf32> offsets tensor<0xi32> -> tensor<9x4x32xf32>
  return
}

// -----

func.func @indices(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %i: tensor<1xi32>) {
  // expected-error @below {{expected indices to be absent without a state, but got one}}
  %0 = hk.gated_delta_rule %q, %q, %v indices %i : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> indices tensor<1xi32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @new_state(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %s: tensor<1x4x64x32xf32>) {
  // expected-error @below {{expected new_state to be present with a state, but got none}}
  %0 = hk.gated_delta_rule %q, %q, %v state %s : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> state tensor<1x4x64x32xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @state_shape(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %s: tensor<1x4x64x32xf32>) {
  // expected-error @below {{expected shape of state to be [1, 4, 32, 64], but got [1, 4, 64, 32]}}
  %0, %1 = hk.gated_delta_rule %q, %q, %v state %s state_layout value_major : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> state tensor<1x4x64x32xf32> -> tensor<1x9x4x32xf32>, tensor<1x4x64x32xf32>
  return
}

// -----

func.func @state_static(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %s: tensor<1x4x?x32xf32>) {
  // expected-error @below {{expected size of dim 2 of state to be static, but got ?}}
  %0, %1 = hk.gated_delta_rule %q, %q, %v state %s : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> state tensor<1x4x?x32xf32> -> tensor<1x9x4x32xf32>, tensor<1x4x?x32xf32>
  return
}

// -----

func.func @state_type(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %s: tensor<1x4x64x32xf32>) {
  // expected-error @below {{expected type of new_state to be}}
  %0, %1 = hk.gated_delta_rule %q, %q, %v state %s : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32> state tensor<1x4x64x32xf32> -> tensor<1x9x4x32xf32>, tensor<1x4x64x32xbf16>
  return
}

// -----

func.func @chunk(%k: tensor<1x9x2x64xf32>) {
  // expected-error @below {{expected chunk to be 16, 32 or 64, but got 48}}
  %0 = hk.chunk_kkt %k chunk 48 : tensor<1x9x2x64xf32> -> tensor<1x9x4x48xf32>
  return
}

// -----

func.func @kkt_result(%k: tensor<1x9x2x64xf32>) {
  // expected-error @below {{expected shape of result to be [1, 9, 4, 64], but got [1, 9, 4, 32]}}
  %0 = hk.chunk_kkt %k chunk 64 : tensor<1x9x2x64xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @tril_chunk(%a: tensor<1x9x4x8xf32>) {
  // expected-error @below {{expected chunk to be 16, 32 or 64, but got 8}}
  %0 = hk.solve_tril %a : tensor<1x9x4x8xf32> -> tensor<1x9x4x8xf32>
  return
}

// -----

func.func @tril_result(%a: tensor<1x9x4x16xf32>) {
  // expected-error @below {{expected shape of result to be [1, 9, 4, 16], but got [1, 9, 2, 16]}}
  %0 = hk.solve_tril %a : tensor<1x9x4x16xf32> -> tensor<1x9x2x16xf32>
  return
}

// -----

func.func @wu_type(%k: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %x: tensor<1x9x4x64xf32>) {
  // expected-error @below {{expected element type of w to be}}
  %0, %1 = hk.chunk_wu %k, %v, %x : tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32>, tensor<1x9x4x64xf32> -> tensor<1x9x4x64xbf16>, tensor<1x9x4x32xf32>
  return
}

// -----

func.func @states_shape(%k: tensor<1x9x2x64xf32>, %w: tensor<1x9x4x64xf32>, %u: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected shape of states to be [1, 1, 4, 64, 32], but got [1, 2, 4, 64, 32]}}
  %0, %1 = hk.chunk_state %k, %w, %u chunk 64 : tensor<1x9x2x64xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4x32xf32> -> tensor<1x2x4x64x32xf32>, tensor<1x9x4x32xf32>
  return
}

// -----

func.func @ragged_states(%k: tensor<9x2x64xf32>, %w: tensor<9x4x64xf32>, %u: tensor<9x4x32xf32>, %cu: tensor<3xi32>) {
  // expected-error @below {{expected shape of states to be [3, 4, 64, 32], but got [2, 4, 64, 32]}}
  %0, %1 = hk.chunk_state %k, %w, %u offsets %cu chunk 64 : tensor<9x2x64xf32>, tensor<9x4x64xf32>, tensor<9x4x32xf32> offsets tensor<3xi32> -> tensor<2x4x64x32xf32>, tensor<9x4x32xf32>
  return
}

// -----

func.func @output_states(%q: tensor<1x9x2x64xf32>, %v: tensor<1x9x4x32xf32>, %h: tensor<1x1x4x32x32xf32>) {
  // expected-error @below {{expected shape of states to be [1, 1, 4, 64, 32], but got [1, 1, 4, 32, 32]}}
  %0 = hk.chunk_output %q, %q, %v, %h chunk 64 : tensor<1x9x2x64xf32>, tensor<1x9x2x64xf32>, tensor<1x9x4x32xf32>, tensor<1x1x4x32x32xf32> -> tensor<1x9x4x32xf32>
  return
}

// -----

func.func @one_segment(%k: tensor<1x9x2x64xf32>, %w: tensor<1x9x4x64xf32>, %u: tensor<1x9x4x32xf32>, %s: tensor<1x1x4x64x32xf32>) {
  // expected-error @below {{expected size of dim 0 of starts to be at least 2, but got 1}}
  %0, %1 = hk.chunk_state %k, %w, %u starts %s chunk 64 : tensor<1x9x2x64xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4x32xf32> starts tensor<1x1x4x64x32xf32> -> tensor<1x1x4x64x32xf32>, tensor<1x9x4x32xf32>
  return
}

// -----

func.func @starts_shape(%k: tensor<1x9x2x64xf32>, %w: tensor<1x9x4x64xf32>, %u: tensor<1x9x4x32xf32>, %s: tensor<2x1x4x32x64xf32>) {
  // expected-error @below {{expected shape of starts to be [2, 1, 4, 64, 32], but got [2, 1, 4, 32, 64]}}
  %0, %1 = hk.chunk_state %k, %w, %u starts %s chunk 64 : tensor<1x9x2x64xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4x32xf32> starts tensor<2x1x4x32x64xf32> -> tensor<1x1x4x64x32xf32>, tensor<1x9x4x32xf32>
  return
}

// -----

func.func @transition_shape(%k: tensor<1x9x2x64xf32>, %w: tensor<1x9x4x64xf32>, %u: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected shape of result to be [2, 1, 4, 64, 96], but got [3, 1, 4, 64, 96]}}
  %0 = hk.chunk_transition %k, %w, %u chunk 64 segments 3 : tensor<1x9x2x64xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4x32xf32> -> tensor<3x1x4x64x96xf32>
  return
}

// -----

func.func @transition_chunk(%k: tensor<1x9x2x64xf32>, %w: tensor<1x9x4x64xf32>, %u: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected chunk to be 16, 32 or 64, but got 8}}
  %0 = hk.chunk_transition %k, %w, %u chunk 8 segments 3 : tensor<1x9x2x64xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4x32xf32> -> tensor<2x1x4x64x96xf32>
  return
}

// -----

func.func @transition_heads(%k: tensor<1x9x3x64xf32>, %w: tensor<1x9x4x64xf32>, %u: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected number of value heads to be a multiple of the 3 key heads, but got 4}}
  %0 = hk.chunk_transition %k, %w, %u chunk 64 segments 3 : tensor<1x9x3x64xf32>, tensor<1x9x4x64xf32>, tensor<1x9x4x32xf32> -> tensor<2x1x4x64x96xf32>
  return
}

// -----

func.func @transition_type(%k: tensor<1x9x2x64xf32>, %w: tensor<1x9x4x64xbf16>, %u: tensor<1x9x4x32xf32>) {
  // expected-error @below {{expected element type of w to be 'f32', but got 'bf16'}}
  %0 = hk.chunk_transition %k, %w, %u chunk 64 segments 3 : tensor<1x9x2x64xf32>, tensor<1x9x4x64xbf16>, tensor<1x9x4x32xf32> -> tensor<2x1x4x64x96xf32>
  return
}

// -----

func.func @starts_of_transitions(%t: tensor<2x1x4x64x96xf32>) {
  // expected-error @below {{expected shape of transitions to be [3, 1, 4, 64, 96], but got [2, 1, 4, 64, 96]}}
  %0 = hk.chunk_starts %t : tensor<2x1x4x64x96xf32> -> tensor<4x1x4x64x32xf32>
  return
}

// -----

func.func @starts_state(%t: tensor<2x1x4x64x96xf32>, %s: tensor<1x4x32x64xf32>) {
  // expected-error @below {{expected shape of state to be [1, 4, 64, 32], but got [1, 4, 32, 64]}}
  %0 = hk.chunk_starts %t state %s : tensor<2x1x4x64x96xf32> state tensor<1x4x32x64xf32> -> tensor<3x1x4x64x32xf32>
  return
}

// -----

func.func @starts_indices(%t: tensor<2x1x4x64x96xf32>, %i: tensor<1xi32>) {
  // expected-error @below {{expected indices to be absent without a state, but got one}}
  %0 = hk.chunk_starts %t indices %i : tensor<2x1x4x64x96xf32> indices tensor<1xi32> -> tensor<3x1x4x64x32xf32>
  return
}

// -----

func.func @starts_empty(%t: tensor<2x1x4x64x64xf32>) {
  // expected-error @below {{expected size of dim 4 of result to be at least 1, but got 0}}
  %0 = hk.chunk_starts %t : tensor<2x1x4x64x64xf32> -> tensor<3x1x4x64x0xf32>
  return
}
