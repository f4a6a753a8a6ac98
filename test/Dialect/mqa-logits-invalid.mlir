// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @key_rank(%q: tensor<3x5x64xf32>, %k: tensor<9x1x4x64xf32>, %w: tensor<3x5xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected rank of key to be 2 or 3, but got 4}}
  %l = hk.mqa_logits %q, %k, %w : tensor<3x5x64xf32>, tensor<9x1x4x64xf32>, tensor<3x5xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @query_rank(%q: tensor<1x3x5x64xf32>, %k: tensor<9x64xf32>, %w: tensor<3x5xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected rank of query to be 3, but got 4}}
  %l = hk.mqa_logits %q, %k, %w : tensor<1x3x5x64xf32>, tensor<9x64xf32>, tensor<3x5xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @element(%q: tensor<3x5x64xf8E4M3FN>, %k: tensor<9x64xf8E4M3FNUZ>, %w: tensor<3x5xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected element type of key to be 'f8E4M3FN', but got 'f8E4M3FNUZ'}}
  %l = hk.mqa_logits %q, %k, %w : tensor<3x5x64xf8E4M3FN>, tensor<9x64xf8E4M3FNUZ>, tensor<3x5xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @dynamic_heads(%q: tensor<3x?x64xf32>, %k: tensor<9x64xf32>, %w: tensor<3x?xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected size of dim 1 of query to be static, but got ?}}
  %l = hk.mqa_logits %q, %k, %w : tensor<3x?x64xf32>, tensor<9x64xf32>, tensor<3x?xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @dynamic_size(%q: tensor<3x5x?xf32>, %k: tensor<9x64xf32>, %w: tensor<3x5xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected size of dim 2 of query to be static, but got ?}}
  %l = hk.mqa_logits %q, %k, %w : tensor<3x5x?xf32>, tensor<9x64xf32>, tensor<3x5xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @head_size(%q: tensor<3x5x64xf32>, %k: tensor<9x32xf32>, %w: tensor<3x5xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected size of dim 1 of key to be 64, but got 32}}
  %l = hk.mqa_logits %q, %k, %w : tensor<3x5x64xf32>, tensor<9x32xf32>, tensor<3x5xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @weights(%q: tensor<3x5x64xf32>, %k: tensor<9x64xf32>, %w: tensor<3x4xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected shape of weights to be [3, 5], but got [3, 4]}}
  %l = hk.mqa_logits %q, %k, %w : tensor<3x5x64xf32>, tensor<9x64xf32>, tensor<3x4xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @scales(%q: tensor<3x5x64xf32>, %k: tensor<9x64xf32>, %w: tensor<3x5xf32>, %s: tensor<9xf32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected shape of key_scales to be [9, 1], but got [9]}}
  %l = hk.mqa_logits %q, %k, %w key_scales %s : tensor<3x5x64xf32>, tensor<9x64xf32>, tensor<3x5xf32> key_scales tensor<9xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @ends(%q: tensor<3x5x64xf32>, %k: tensor<9x64xf32>, %w: tensor<3x5xf32>, %e: tensor<4xi32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected shape of ends to be [3], but got [4]}}
  %l = hk.mqa_logits %q, %k, %w ends %e : tensor<3x5x64xf32>, tensor<9x64xf32>, tensor<3x5xf32> ends tensor<4xi32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @no_table(%q: tensor<2x3x5x64xf32>, %k: tensor<9x4x64xf32>, %w: tensor<2x3x5xf32>, %n: tensor<2xi32>) -> tensor<2x3x8xf32> {
  // expected-error @+1 {{expected block_table to be present with paged keys, but got none}}
  %l = hk.mqa_logits %q, %k, %w kv_lens %n : tensor<2x3x5x64xf32>, tensor<9x4x64xf32>, tensor<2x3x5xf32> kv_lens tensor<2xi32> -> tensor<2x3x8xf32>
  return %l : tensor<2x3x8xf32>
}

// -----

func.func @lengths_of_ranges(%q: tensor<3x5x64xf32>, %k: tensor<9x64xf32>, %w: tensor<3x5xf32>, %n: tensor<3xi32>) -> tensor<3x9xf32> {
  // expected-error @+1 {{expected kv_lens to be absent with keys of rank 2, but got one}}
  %l = hk.mqa_logits %q, %k, %w kv_lens %n : tensor<3x5x64xf32>, tensor<9x64xf32>, tensor<3x5xf32> kv_lens tensor<3xi32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// -----

func.func @table_rank(%q: tensor<2x3x5x64xf32>, %k: tensor<9x4x64xf32>, %w: tensor<2x3x5xf32>, %n: tensor<2xi32>, %t: tensor<2xi32>) -> tensor<2x3x8xf32> {
  // expected-error @+1 {{expected rank of block_table to be 2, but got 1}}
  %l = hk.mqa_logits %q, %k, %w kv_lens %n block_table %t : tensor<2x3x5x64xf32>, tensor<9x4x64xf32>, tensor<2x3x5xf32> kv_lens tensor<2xi32> block_table tensor<2xi32> -> tensor<2x3x8xf32>
  return %l : tensor<2x3x8xf32>
}

// -----

func.func @table_sequences(%q: tensor<2x3x5x64xf32>, %k: tensor<9x4x64xf32>, %w: tensor<2x3x5xf32>, %n: tensor<2xi32>, %t: tensor<3x2xi32>) -> tensor<2x3x8xf32> {
  // expected-error @+1 {{expected size of dim 0 of block_table to be 2, but got 3}}
  %l = hk.mqa_logits %q, %k, %w kv_lens %n block_table %t : tensor<2x3x5x64xf32>, tensor<9x4x64xf32>, tensor<2x3x5xf32> kv_lens tensor<2xi32> block_table tensor<3x2xi32> -> tensor<2x3x8xf32>
  return %l : tensor<2x3x8xf32>
}

// -----

func.func @result(%q: tensor<2x3x5x64xf32>, %k: tensor<9x4x64xf32>, %w: tensor<2x3x5xf32>, %n: tensor<2xi32>, %t: tensor<2x2xi32>) -> tensor<2x3x9xf32> {
  // expected-error @+1 {{expected shape of result to be [2, 3, 8], but got [2, 3, 9]}}
  %l = hk.mqa_logits %q, %k, %w kv_lens %n block_table %t : tensor<2x3x5x64xf32>, tensor<9x4x64xf32>, tensor<2x3x5xf32> kv_lens tensor<2xi32> block_table tensor<2x2xi32> -> tensor<2x3x9xf32>
  return %l : tensor<2x3x9xf32>
}
