// Words that an operator does not have, that are missing or misspelt: the message names the
// operator, the word, what it may be and which one is near.
// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @near(%x: tensor<4x64xf32>, %w: tensor<8x64xf32>) {
  // expected-error @below {{custom op 'hk.matmul' has no word 'transposeb'; did you mean 'transpose_b'?}}
  %0 = hk.matmul %x, %w transposeb : tensor<4x64xf32>, tensor<8x64xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @two_are_near(%x: tensor<4x64xf32>, %w: tensor<8x64xf32>) {
  // expected-error @below {{custom op 'hk.matmul' has no word 'transpose_w'; did you mean 'transpose_a' or 'transpose_b'?}}
  %0 = hk.matmul %x, %w transpose_w : tensor<4x64xf32>, tensor<8x64xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @none_is_near(%x: tensor<4x64xf32>, %w: tensor<64x8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{custom op 'hk.matmul' has no word 'bias'; it has transpose_a, transpose_b, k_slices, accumulation}}
  %0 = hk.matmul %x, %w bias %b : tensor<4x64xf32>, tensor<64x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @has_none(%x: tensor<4x64xf32>) {
  // expected-error @below {{custom op 'hk.softmax' has no word 'dim'; it has none}}
  %0 = hk.softmax %x dim 1 : tensor<4x64xf32>
  return
}

// -----

func.func @pointwise_has_none(%x: tensor<4x64xf32>) {
  // expected-error @below {{custom op 'hk.add' has no word 'alpha'; it has none}}
  %0 = hk.add %x, 1.0 alpha 2.0 : tensor<4x64xf32>
  return
}

// -----

func.func @after_others(%q: tensor<?x4x64xbf16>, %k: tensor<1x512x2x64xbf16>) {
  // expected-error @below {{custom op 'hk.attention' has no word 'causual'; did you mean 'causal'?}}
  %0 = hk.attention %q, %k, %k scale 0.125 causual : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> -> tensor<?x4x64xbf16>
  return
}

// -----

func.func @twice(%x: tensor<4x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{custom op 'hk.rms_norm' has the word 'epsilon' once, and in this order: epsilon, weight_offset, round_before_weight}}
  %0 = hk.rms_norm %x, %w epsilon 1.0e-05 epsilon 1.0e-05 : tensor<4x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @missing(%x: tensor<4x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{custom op 'hk.rms_norm' expected 'epsilon'}}
  %0 = hk.rms_norm %x, %w eps 1.0e-05 : tensor<4x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @missing_case(%x: tensor<4x8xf32>) {
  // expected-error @below {{custom op 'hk.cumsum' expected inclusive, exclusive or offsets (which sums a scan holds)}}
  %0 = hk.cumsum %x : tensor<4x8xf32>
  return
}

// -----

func.func @near_case(%x: tensor<4x8xf32>) {
  // expected-error @below {{custom op 'hk.cumsum' expected inclusive, exclusive or offsets (which sums a scan holds), but got 'inclusiv'; did you mean 'inclusive'?}}
  %0 = hk.cumsum inclusiv %x : tensor<4x8xf32>
  return
}

// -----

func.func @missing_rounding(%x: tensor<4x64xf32>) {
  // expected-error @below {{custom op 'hk.quantize_mx' expected even, ceil, floor, ocp or ocp_ceil (rounding of an e8m0 block scale)}}
  %0, %1 = hk.quantize_mx %x : tensor<4x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

func.func @missing_layout(%x: tensor<4x64xf32>, %w: tensor<64x4xf32>) {
  // expected-error @below {{custom op 'hk.causal_conv1d' expected channel_last or channel_first (which of time and channel is innermost)}}
  %0 = hk.causal_conv1d %x, %w : tensor<4x64xf32>, tensor<64x4xf32>
  return
}

// -----

func.func @missing_predicate(%x: tensor<4x64xf32>) {
  // expected-error @below {{custom op 'hk.compare' expected eq, ne, lt, le, gt or ge (comparison)}}
  %0 = hk.compare %x, 0.0 : tensor<4x64xf32> -> tensor<4x64xi1>
  return
}

// -----

func.func @case_of_a_word(%x: tensor<4x64xf8E4M3FN>, %w: tensor<64x8xf8E4M3FN>) {
  // expected-error @below {{custom op 'hk.matmul' expected strict or tensor_core (how the products of fp8 are summed), but got 'tensorcore'; did you mean 'tensor_core'?}}
  %0 = hk.matmul %x, %w accumulation tensorcore : tensor<4x64xf8E4M3FN>, tensor<64x8xf8E4M3FN> -> tensor<4x8xf32>
  return
}

// -----

func.func @no_operator(%x: tensor<4x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{custom op 'hk.rmsnorm' is no operator; docs/operators.md lists them; did you mean 'hk.rms_norm'?}}
  %0 = hk.rmsnorm %x, %w : tensor<4x64xf32>
  return
}

// -----

func.func @nothing_is_near(%x: tensor<4x64xf32>) {
  // expected-error @below {{custom op 'hk.xylophone' is no operator; docs/operators.md lists them}}
  %0 = hk.xylophone %x : tensor<4x64xf32>
  return
}
