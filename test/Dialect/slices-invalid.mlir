// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @one_slice(%a: tensor<2x300xbf16>, %b: tensor<300x5xbf16>) {
  // expected-error @below {{attribute 'k_slices' failed to satisfy constraint}}
  %0 = hk.matmul %a, %b k_slices 1 : tensor<2x300xbf16>, tensor<300x5xbf16> -> tensor<1x2x5xf32>
  return
}

// -----

func.func @partial_shape(%a: tensor<2x300xbf16>, %b: tensor<300x5xbf16>) {
  // expected-error @below {{expected shape of result to be [3, 2, 5], but got [2, 5]}}
  %0 = hk.matmul %a, %b k_slices 3 : tensor<2x300xbf16>, tensor<300x5xbf16> -> tensor<2x5xf32>
  return
}

// -----

func.func @partial_type(%a: tensor<2x300xbf16>, %b: tensor<300x5xbf16>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'bf16'}}
  %0 = hk.matmul %a, %b k_slices 3 : tensor<2x300xbf16>, tensor<300x5xbf16> -> tensor<3x2x5xbf16>
  return
}

// -----

func.func @partial_integer(%a: tensor<2x300xi8>, %b: tensor<300x5xi8>) {
  // expected-error @below {{expected element type of result to be 'i32', but got 'f32'}}
  %0 = hk.matmul %a, %b k_slices 3 : tensor<2x300xi8>, tensor<300x5xi8> -> tensor<3x2x5xf32>
  return
}

// -----

func.func @sum_rank(%a: tensor<f32>) {
  // expected-error @below {{expected rank of input to be at least 1, but got 0}}
  %0 = hk.sum_slices %a : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @sum_dynamic(%a: tensor<?x4xf32>) {
  // expected-error @below {{expected size of dim 0 of input to be static, but got ?}}
  %0 = hk.sum_slices %a : tensor<?x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @sum_shape(%a: tensor<2x4xf32>) {
  // expected-error @below {{expected shape of result to be [4], but got [2]}}
  %0 = hk.sum_slices %a : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @sum_type(%a: tensor<2x4xf32>) {
  // expected-error @below {{expected element type of input to be 'i32', but got 'f32'}}
  %0 = hk.sum_slices %a : tensor<2x4xf32> -> tensor<4xi32>
  return
}

// -----

func.func @sliced_result(%q: tensor<5x4x64xbf16>, %k: tensor<9x2x64xbf16>) {
  // expected-error @below {{expected shape of result to be [2, 5, 4, 64], but got [5, 4, 64]}}
  %0, %1 = hk.attention %q, %k, %k scale 1.0 kv_slices 2 : tensor<5x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<5x4x64xf32>, tensor<2x5x4xf32>
  return
}

// -----

func.func @sliced_type(%q: tensor<5x4x64xbf16>, %k: tensor<9x2x64xbf16>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'bf16'}}
  %0, %1 = hk.attention %q, %k, %k scale 1.0 kv_slices 2 : tensor<5x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<2x5x4x64xbf16>, tensor<2x5x4xf32>
  return
}

// -----

func.func @sliced_lse(%q: tensor<5x4x64xbf16>, %k: tensor<9x2x64xbf16>) {
  // expected-error @below {{expected lse to be present with kv_slices, but got none}}
  %0 = hk.attention %q, %k, %k scale 1.0 kv_slices 2 : tensor<5x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<2x5x4x64xf32>
  return
}

// -----

func.func @sliced_sink(%q: tensor<5x4x64xbf16>, %k: tensor<9x2x64xbf16>, %s: tensor<4xf32>) {
  // expected-error @below {{expected sink to be absent with kv_slices, but got one}}
  %0, %1 = hk.attention %q, %k, %k sink %s scale 1.0 kv_slices 2 : tensor<5x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> sink tensor<4xf32> -> tensor<2x5x4x64xf32>, tensor<2x5x4xf32>
  return
}

// -----

func.func @combine_rank(%p: tensor<2x4xf32>, %l: tensor<2xf32>) {
  // expected-error @below {{expected rank of partials to be at least 3, but got 2}}
  %0 = hk.attention_combine %p, %l : tensor<2x4xf32>, tensor<2xf32> -> tensor<4xf32>
  return
}

// -----

func.func @combine_dynamic(%p: tensor<?x4x8xf32>, %l: tensor<?x4xf32>) {
  // expected-error @below {{expected size of dim 0 of partials to be static, but got ?}}
  %0 = hk.attention_combine %p, %l : tensor<?x4x8xf32>, tensor<?x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_lse(%p: tensor<2x4x8xf32>, %l: tensor<2x8xf32>) {
  // expected-error @below {{expected shape of part_lses to be [2, 4], but got [2, 8]}}
  %0 = hk.attention_combine %p, %l : tensor<2x4x8xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_result(%p: tensor<2x4x8xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{expected shape of result to be [4, 8], but got [3, 8]}}
  %0 = hk.attention_combine %p, %l : tensor<2x4x8xf32>, tensor<2x4xf32> -> tensor<3x8xf32>
  return
}

// -----

func.func @combine_sink(%p: tensor<2x4x8xf32>, %l: tensor<2x4xf32>, %s: tensor<8xf32>) {
  // expected-error @below {{expected shape of sink to be [4], but got [8]}}
  %0 = hk.attention_combine %p, %l sink %s : tensor<2x4x8xf32>, tensor<2x4xf32> sink tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_result_lse(%p: tensor<2x4x8xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{expected shape of lse to be [4], but got [8]}}
  %0, %1 = hk.attention_combine %p, %l : tensor<2x4x8xf32>, tensor<2x4xf32> -> tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @combine_segments(%p: tensor<4x8xf32>, %l: tensor<4xf32>, %q: tensor<2x8xf32>, %m: tensor<2xf32>) {
  // expected-error @below {{expected shape of partials to be [4, 8], but got [2, 8]}}
  %0 = hk.attention_combine %p, %l, %q, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<2x8xf32>, tensor<2xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_slices_and_segment(%p: tensor<4x8xf32>, %l: tensor<4xf32>, %q: tensor<3x2x8xf32>, %m: tensor<3x2xf32>) {
  // expected-error @below {{expected shape of partials to be [3, 4, 8], but got [3, 2, 8]}}
  %0 = hk.attention_combine %p, %l, %q, %m : tensor<4x8xf32>, tensor<4xf32>, tensor<3x2x8xf32>, tensor<3x2xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_count(%p: tensor<4x8xf32>, %l: tensor<4xf32>) {
  // expected-error @below {{expected as many part_lses as partials, 1, but got 2}}
  %0 = "hk.attention_combine"(%p, %l, %l) <{operandSegmentSizes = array<i32: 1, 2, 0>, resultSegmentSizes = array<i32: 1, 0>}> : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @combine_nothing() {
  // expected-error @below {{expected at least one pair of partials and part_lses, but got none}}
  %0 = "hk.attention_combine"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> tensor<4x8xf32>
  return
}
