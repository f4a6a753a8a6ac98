// RUN: hk-opt %s -split-input-file -verify-diagnostics
// Scores by region, scales, layouts and ragged tables.

func.func @no_region(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %x: tensor<4xf32>) {
  // expected-error @below {{expected a region that takes reads, but got neither score nor weight}}
  %0 = hk.attention %q, %k, %k reads (%x) scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> reads (tensor<4xf32>) -> tensor<7x4x16xf32>
  return
}

// -----

func.func @arguments(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected the arguments of weight to be of types 'tensor<i32>', 'tensor<i32>', 'tensor<i32>', 'tensor<i32>', 'tensor<i32>', 'tensor<i32>', but got 'tensor<f32>'}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32> weight {
  ^bb0(%s: tensor<f32>):
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @yields(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected score to end with hk.yield of one 'tensor<f32>'}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    hk.yield %i : tensor<i32>
  }
  return
}

// -----

func.func @not_pointwise(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %x: tensor<4x8xf32>) {
  %0 = hk.attention %q, %k, %k reads (%x) scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> reads (tensor<4x8xf32>) -> tensor<7x4x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x8xf32>):
    // expected-error @below {{expected a pointwise operator on tensors of rank 0 in the region score of hk.attention}}
    %r = hk.neg %t : tensor<4x8xf32>
    hk.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @none_with_sink(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected sink to be absent with normalizer none, but got one}}
  %0 = hk.attention %q, %k, %k sink %s scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> sink tensor<4xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @none_with_lse(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected lse to be absent with normalizer none, but got one}}
  %0, %1 = hk.attention %q, %k, %k scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32>, tensor<7x4xf32>
  return
}

// -----

func.func @none_with_slices(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected no kv_slices with normalizer none, but got 2}}
  %0 = hk.attention %q, %k, %k scale 1.0 normalizer none kv_slices 2 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<2x7x4x16xf32>
  return
}

// -----

func.func @p_type(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected p_type to be f32, bf16, f16 or a float of 8 bits, but got 'i8'}}
  %0 = hk.attention %q, %k, %k scale 1.0 p_type i8 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @scale_rank(%q: tensor<7x4x16xi8>, %k: tensor<9x2x16xi8>, %s: tensor<4xf32>) {
  // expected-error @below {{expected rank of q_scale to be 0, 2 or that of query in rows, but got 1}}
  %0 = hk.attention %q, %k, %k q_scale %s scale 1.0 : tensor<7x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> q_scale tensor<4xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @scale_heads(%q: tensor<7x4x16xi8>, %k: tensor<9x2x16xi8>, %s: tensor<1x4xf32>) {
  // expected-error @below {{expected size of dim 1 of k_scale to be 2, but got 4}}
  %0 = hk.attention %q, %k, %k k_scale %s scale 1.0 : tensor<7x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> k_scale tensor<1x4xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @scale_sequences(%q: tensor<3x7x4x16xi8>, %k: tensor<3x9x2x16xi8>, %s: tensor<2x2xf32>) {
  // expected-error @below {{expected size of dim 0 of k_scale to be 3, but got 2}}
  %0 = hk.attention %q, %k, %k k_scale %s scale 1.0 : tensor<3x7x4x16xi8>, tensor<3x9x2x16xi8>, tensor<3x9x2x16xi8> k_scale tensor<2x2xf32> -> tensor<3x7x4x16xf32>
  return
}

// -----

func.func @scale_of_channels(%q: tensor<7x4x16xi8>, %k: tensor<9x2x16xi8>, %s: tensor<9x2x16xf32>) {
  // expected-error @below {{expected size of dim 2 of k_scale to be 1, but got 16}}
  %0 = hk.attention %q, %k, %k k_scale %s scale 1.0 : tensor<7x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> k_scale tensor<9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @channels_of_rows(%q: tensor<7x4x16xi8>, %k: tensor<9x2x16xi8>, %s: tensor<9x2x16xf32>) {
  // expected-error @below {{expected size of dim 0 of v_scale to be 1, but got 9}}
  %0 = hk.attention %q, %k, %k v_scale %s scale 1.0 : tensor<7x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> v_scale tensor<9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @scale_of_blocks(%q: tensor<70x4x16xi8>, %k: tensor<9x2x16xi8>, %s: tensor<2x4x1xf32>) {
  // expected-error @below {{expected size of dim 0 of q_scale to be 3, but got 2}}
  %0 = hk.attention %q, %k, %k q_scale %s scale 1.0 q_block 32 : tensor<70x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> q_scale tensor<2x4x1xf32> -> tensor<70x4x16xf32>
  return
}

// -----

func.func @block_without_scale(%q: tensor<70x4x16xi8>, %k: tensor<9x2x16xi8>) {
  // expected-error @below {{expected k_scale to be present with rows that share one, but got none}}
  %0 = hk.attention %q, %k, %k scale 1.0 k_block 32 : tensor<70x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> -> tensor<70x4x16xf32>
  return
}

// -----

func.func @block_of_heads(%q: tensor<70x4x16xi8>, %k: tensor<9x2x16xi8>, %s: tensor<1x2xf32>) {
  // expected-error @below {{expected rank of k_scale to be 3, but got 2}}
  %0 = hk.attention %q, %k, %k k_scale %s scale 1.0 k_block 32 : tensor<70x4x16xi8>, tensor<9x2x16xi8>, tensor<9x2x16xi8> k_scale tensor<1x2xf32> -> tensor<70x4x16xf32>
  return
}

// -----

func.func @layout_of_ragged(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected key_layout to be one of ragged keys, but got head_major}}
  %0 = hk.attention %q, %k, %k scale 1.0 key_layout head_major : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @layout_of_dense(%q: tensor<2x7x4x16xf32>, %k: tensor<2x9x2x16xf32>, %v: tensor<2x2x16x9xf32>) {
  // expected-error @below {{expected value_layout to be one of dense values, but got transposed}}
  %0 = hk.attention %q, %k, %v scale 1.0 value_layout transposed : tensor<2x7x4x16xf32>, tensor<2x9x2x16xf32>, tensor<2x2x16x9xf32> -> tensor<2x7x4x16xf32>
  return
}

// -----

func.func @layout_of_keys(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16x8xf32>, %v: tensor<9x8x2x16xf32>, %n: tensor<1xi32>, %t: tensor<1x3xi32>) {
  // expected-error @below {{expected key_layout to be one of paged keys, but got transposed}}
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 1.0 key_layout transposed : tensor<7x4x16xf32>, tensor<9x2x16x8xf32>, tensor<9x8x2x16xf32> kv_lens tensor<1xi32> block_table tensor<1x3xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @chunk_rank(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16x8xf32>, %n: tensor<1xi32>, %t: tensor<1x3xi32>) {
  // expected-error @below {{expected rank of key to be 5, but got 4}}
  %0 = hk.attention %q, %k, %k kv_lens %n block_table %t scale 1.0 key_layout key_chunks : tensor<7x4x16xf32>, tensor<9x2x16x8xf32>, tensor<9x2x16x8xf32> kv_lens tensor<1xi32> block_table tensor<1x3xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @chunk_rows(%q: tensor<7x4x16xf32>, %k: tensor<9x2x2x16x8xf32>, %v: tensor<9x2x3x16x8xf32>, %n: tensor<1xi32>, %t: tensor<1x3xi32>) {
  // expected-error @below {{expected rows of value to be 16, those of key, but got 24}}
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 1.0 key_layout key_chunks value_layout value_chunks : tensor<7x4x16xf32>, tensor<9x2x2x16x8xf32>, tensor<9x2x3x16x8xf32> kv_lens tensor<1xi32> block_table tensor<1x3xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @table_without_offsets(%q: tensor<7x4x16xf32>, %k: tensor<9x8x2x16xf32>, %t: tensor<3xi32>) {
  // expected-error @below {{expected table_offsets to be present with a block_table of rank 1, but got none}}
  %0 = hk.attention %q, %k, %k block_table %t scale 1.0 : tensor<7x4x16xf32>, tensor<9x8x2x16xf32>, tensor<9x8x2x16xf32> block_table tensor<3xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @offsets_without_table(%q: tensor<1x7x4x16xf32>, %k: tensor<1x8x2x16xf32>, %o: tensor<2xi32>) {
  // expected-error @below {{expected table_offsets to be absent with no block_table of rank 1, but got one}}
  %0 = hk.attention %q, %k, %k table_offsets %o scale 1.0 : tensor<1x7x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32> table_offsets tensor<2xi32> -> tensor<1x7x4x16xf32>
  return
}

// -----

func.func @table_offsets(%q: tensor<7x4x16xf32>, %k: tensor<9x8x2x16xf32>, %t: tensor<3xi32>, %o: tensor<4xi32>) {
  // expected-error @below {{expected shape of table_offsets to be [2], but got [4]}}
  %0 = hk.attention %q, %k, %k block_table %t table_offsets %o scale 1.0 : tensor<7x4x16xf32>, tensor<9x8x2x16xf32>, tensor<9x8x2x16xf32> block_table tensor<3xi32> table_offsets tensor<4xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @gather_ranks(%t: tensor<8x4xf32>, %i: tensor<i32>) {
  // expected-error @below {{expected rank of table to be 1, but got 2}}
  %0 = hk.gather_elements %t [%i] : tensor<8x4xf32> [tensor<i32>] -> tensor<f32>
  return
}

// -----

func.func @gather_type(%t: tensor<8xf32>, %i: tensor<i32>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'i32'}}
  %0 = hk.gather_elements %t [%i] : tensor<8xf32> [tensor<i32>] -> tensor<i32>
  return
}

// -----

func.func @gather_shape(%t: tensor<8x4xf32>, %i: tensor<3xi32>, %j: tensor<2x1xi32>) {
  // expected-error @below {{expected shape of result to be [2, 3], but got [3]}}
  %0 = hk.gather_elements %t [%i, %j] : tensor<8x4xf32> [tensor<3xi32>, tensor<2x1xi32>] -> tensor<3xf32>
  return
}

// -----

func.func @philox_shape(%s: tensor<i64>, %c: tensor<3xi64>) {
  // expected-error @below {{expected shape of result to be [3], but got [4]}}
  %0 = hk.philox %s, %c : tensor<i64>, tensor<3xi64> -> tensor<4xf32>
  return
}

// -----

func.func @chunked_head(%q: tensor<7x4x16xf32>, %k: tensor<9x2x3x16x8xf32>, %v: tensor<9x2x16x16xf32>, %n: tensor<1xi32>, %t: tensor<1x3xi32>) {
  // expected-error @below {{expected head size of key to be 16, that of query, but got 24}}
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 1.0 key_layout key_chunks value_layout transposed : tensor<7x4x16xf32>, tensor<9x2x3x16x8xf32>, tensor<9x2x16x16xf32> kv_lens tensor<1xi32> block_table tensor<1x3xi32> -> tensor<7x4x16xf32>
  return
}
