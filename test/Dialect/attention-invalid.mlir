// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @query_rank(%q: tensor<4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected rank of query to be 3 or 4, but got 2}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @key_rank(%q: tensor<7x4x16xf32>, %k: tensor<9x16xf32>) {
  // expected-error @below {{expected rank of key to be 3 or 4, but got 2}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x16xf32>, tensor<9x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @value_rank(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<1x9x2x16xf32>) {
  // expected-error @below {{expected rank of value to be 3, but got 4}}
  %0 = hk.attention %q, %k, %v scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<1x9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @dynamic_head(%q: tensor<7x4x?xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected size of dim 2 of query to be static, but got ?}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x?xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @dynamic_kv_heads(%q: tensor<7x4x16xf32>, %k: tensor<9x?x16xf32>) {
  // expected-error @below {{expected size of dim 1 of key to be static, but got ?}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x?x16xf32>, tensor<9x?x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @groups(%q: tensor<7x5x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected size of dim 1 of query to be a multiple of 2, the heads of key, but got 5}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x5x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x5x16xf32>
  return
}

// -----

func.func @head_size(%q: tensor<7x4x16xf32>, %k: tensor<9x2x8xf32>) {
  // expected-error @below {{expected size of dim 2 of key to be 16, but got 8}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32> -> tensor<7x4x8xf32>
  return
}

// -----

func.func @value_shape(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %v: tensor<8x2x16xf32>) {
  // expected-error @below {{expected size of dim 0 of value to be 9, but got 8}}
  %0 = hk.attention %q, %k, %v scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<8x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @result(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected shape of result to be [7, 4, 16], but got [7, 2, 16]}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x2x16xf32>
  return
}

// -----

func.func @ragged_lens(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %n: tensor<1xi32>) {
  // expected-error @below {{expected kv_lens to be absent with ragged keys, but got one}}
  %0 = hk.attention %q, %k, %k kv_lens %n scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> kv_lens tensor<1xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @ragged_table(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %t: tensor<1x1xi32>) {
  // expected-error @below {{expected block_table to be absent with ragged keys, but got one}}
  %0 = hk.attention %q, %k, %k block_table %t scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> block_table tensor<1x1xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @ragged_keys(%q: tensor<1x7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected rank of query to be 3 with ragged keys, but got 4}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<1x7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<1x7x4x16xf32>
  return
}

// -----

func.func @no_kv_offsets(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %o: tensor<3xi32>) {
  // expected-error @below {{expected kv_offsets to be present with ragged keys and q_offsets, but got none}}
  %0 = hk.attention %q, %k, %k q_offsets %o scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> q_offsets tensor<3xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @no_q_offsets(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %o: tensor<2xi32>) {
  // expected-error @below {{expected kv_offsets to be absent with ragged keys without q_offsets, but got one}}
  %0 = hk.attention %q, %k, %k kv_offsets %o scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> kv_offsets tensor<2xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @dense_offsets(%q: tensor<1x7x4x16xf32>, %k: tensor<1x9x2x16xf32>, %o: tensor<2xi32>) {
  // expected-error @below {{expected kv_offsets to be absent with keys of rank 4, but got one}}
  %0 = hk.attention %q, %k, %k kv_offsets %o scale 1.0 : tensor<1x7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32> kv_offsets tensor<2xi32> -> tensor<1x7x4x16xf32>
  return
}

// -----

func.func @dense_q_offsets(%q: tensor<1x7x4x16xf32>, %k: tensor<1x9x2x16xf32>, %o: tensor<2xi32>) {
  // expected-error @below {{expected q_offsets to be absent with queries of rank 4, but got one}}
  %0 = hk.attention %q, %k, %k q_offsets %o scale 1.0 : tensor<1x7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32> q_offsets tensor<2xi32> -> tensor<1x7x4x16xf32>
  return
}

// -----

func.func @sequences(%q: tensor<2x7x4x16xf32>, %k: tensor<1x9x2x16xf32>) {
  // expected-error @below {{expected size of dim 0 of key to be 2, but got 1}}
  %0 = hk.attention %q, %k, %k scale 1.0 : tensor<2x7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32> -> tensor<2x7x4x16xf32>
  return
}

// -----

func.func @kv_offsets_length(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %o: tensor<3xi32>, %p: tensor<4xi32>) {
  // expected-error @below {{expected shape of kv_offsets to be [3], but got [4]}}
  %0 = hk.attention %q, %k, %k q_offsets %o kv_offsets %p scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> q_offsets tensor<3xi32> kv_offsets tensor<4xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @q_offsets_rank(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %o: tensor<3x1xi32>, %p: tensor<3xi32>) {
  // expected-error @below {{expected rank of q_offsets to be 1, but got 2}}
  %0 = hk.attention %q, %k, %k q_offsets %o kv_offsets %p scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> q_offsets tensor<3x1xi32> kv_offsets tensor<3xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @kv_lens_length(%q: tensor<7x4x16xf32>, %k: tensor<1x9x2x16xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{expected shape of kv_lens to be [1], but got [2]}}
  %0 = hk.attention %q, %k, %k kv_lens %n scale 1.0 : tensor<7x4x16xf32>, tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32> kv_lens tensor<2xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @table_rank(%q: tensor<7x4x16xf32>, %k: tensor<3x4x2x16xf32>, %t: tensor<1xi32>, %n: tensor<1xi32>) {
  // expected-error @below {{expected table_offsets to be present with a block_table of rank 1, but got none}}
  %0 = hk.attention %q, %k, %k kv_lens %n block_table %t scale 1.0 : tensor<7x4x16xf32>, tensor<3x4x2x16xf32>, tensor<3x4x2x16xf32> kv_lens tensor<1xi32> block_table tensor<1xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @table_rows(%q: tensor<7x4x16xf32>, %k: tensor<3x4x2x16xf32>, %t: tensor<2x1xi32>, %n: tensor<1xi32>) {
  // expected-error @below {{expected size of dim 0 of block_table to be 1, but got 2}}
  %0 = hk.attention %q, %k, %k kv_lens %n block_table %t scale 1.0 : tensor<7x4x16xf32>, tensor<3x4x2x16xf32>, tensor<3x4x2x16xf32> kv_lens tensor<1xi32> block_table tensor<2x1xi32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @sink(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{expected shape of sink to be [4], but got [2]}}
  %0 = hk.attention %q, %k, %k sink %s scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> sink tensor<2xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @softcap(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected softcap to be above 0, but got 0.0}}
  %0 = hk.attention %q, %k, %k scale 1.0 softcap 0.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32>
  return
}

// -----

func.func @lse(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>) {
  // expected-error @below {{expected shape of lse to be [7, 4], but got [4, 7]}}
  %0, %1 = hk.attention %q, %k, %k scale 1.0 : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> -> tensor<7x4x16xf32>, tensor<4x7xf32>
  return
}

// -----

func.func @write_rank(%v: tensor<3x32xf32>, %s: tensor<3xi32>, %c: tensor<1x8x2x16xf32>) {
  // expected-error @below {{expected rank of values to be 3, but got 2}}
  %0 = hk.kv_cache_write %v, %s into %c : tensor<3x32xf32>, tensor<3xi32>, tensor<1x8x2x16xf32>
  return
}

// -----

func.func @cache_rank(%v: tensor<3x2x16xf32>, %s: tensor<3xi32>, %c: tensor<8x2x16xf32>) {
  // expected-error @below {{expected rank of cache to be 4, but got 3}}
  %0 = hk.kv_cache_write %v, %s into %c : tensor<3x2x16xf32>, tensor<3xi32>, tensor<8x2x16xf32>
  return
}

// -----

func.func @write_type(%v: tensor<3x2x16xf32>, %s: tensor<3xi32>, %c: tensor<1x8x2x16xbf16>) {
  // expected-error @below {{expected element type of values to be 'bf16', but got 'f32'}}
  %0 = hk.kv_cache_write %v, %s into %c : tensor<3x2x16xf32>, tensor<3xi32>, tensor<1x8x2x16xbf16>
  return
}

// -----

func.func @write_slots(%v: tensor<3x2x16xf32>, %s: tensor<4xi32>, %c: tensor<1x8x2x16xf32>) {
  // expected-error @below {{expected shape of slots to be [3], but got [4]}}
  %0 = hk.kv_cache_write %v, %s into %c : tensor<3x2x16xf32>, tensor<4xi32>, tensor<1x8x2x16xf32>
  return
}

// -----

func.func @write_heads(%v: tensor<3x4x16xf32>, %s: tensor<3xi32>, %c: tensor<1x8x2x16xf32>) {
  // expected-error @below {{expected shape of values to be [3, 2, 16], but got [3, 4, 16]}}
  %0 = hk.kv_cache_write %v, %s into %c : tensor<3x4x16xf32>, tensor<3xi32>, tensor<1x8x2x16xf32>
  return
}

// -----

func.func @write_head_major(%v: tensor<3x4x16xf32>, %s: tensor<3xi32>, %c: tensor<1x8x4x16xf32>) {
  // expected-error @below {{expected shape of values to be [3, 8, 16], but got [3, 4, 16]}}
  %0 = hk.kv_cache_write %v, %s into %c layout head_major : tensor<3x4x16xf32>, tensor<3xi32>, tensor<1x8x4x16xf32>
  return
}

// -----

func.func @write_chunks_rank(%v: tensor<3x4x16xf32>, %s: tensor<3xi32>, %c: tensor<1x4x8x16xf32>) {
  // expected-error @below {{expected rank of cache to be 5, but got 4}}
  %0 = hk.kv_cache_write %v, %s into %c layout value_chunks : tensor<3x4x16xf32>, tensor<3xi32>, tensor<1x4x8x16xf32>
  return
}

// -----

func.func @write_chunks_dynamic(%v: tensor<3x4x16xf32>, %s: tensor<3xi32>, %c: tensor<1x4x2x8x?xf32>) {
  // expected-error @below {{expected size of dim 4 of cache to be static, but got ?}}
  %0 = hk.kv_cache_write %v, %s into %c layout key_chunks : tensor<3x4x16xf32>, tensor<3xi32>, tensor<1x4x2x8x?xf32>
  return
}

// -----

func.func @write_chunks_size(%v: tensor<3x4x16xf32>, %s: tensor<3xi32>, %c: tensor<1x4x2x8x4xf32>) {
  // expected-error @below {{expected shape of values to be [3, 4, 8], but got [3, 4, 16]}}
  %0 = hk.kv_cache_write %v, %s into %c layout key_chunks : tensor<3x4x16xf32>, tensor<3xi32>, tensor<1x4x2x8x4xf32>
  return
}

// -----

func.func @write_packed(%v: tensor<3x4x16xf4E2M1FN>, %s: tensor<3xi32>, %c: tensor<1x4x16x8xf4E2M1FN>) {
  // expected-error @below {{expected a layout with elements of a head side by side for 'f4E2M1FN', but got transposed}}
  %0 = hk.kv_cache_write %v, %s into %c layout transposed : tensor<3x4x16xf4E2M1FN>, tensor<3xi32>, tensor<1x4x16x8xf4E2M1FN>
  return
}
