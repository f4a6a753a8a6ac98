// New tokens of sequences whose tokens so far are in a paged cache: attention to those and,
// causal, to the new ones, which are not read from the cache, is one launch.
// HK-LAUNCHES: 1
// HK-ARGS: --range=b_seq_len=0:45
// HK-DIMS: q.0=41 k.0=41 v.0=41 k_cache.0=24 v_cache.0=24
// HK-DIMS: @pages q.0=0 k.0=0 v.0=0 k_cache.0=24 v_cache.0=24
// HK-DIMS: @pages q.0=37 k.0=37 v.0=37 k_cache.0=0 v_cache.0=0 --range=b_loc=-2:-1
// HK-DATA: normal,equal

func.func @group_1(%q: tensor<40x8x128xbf16>, %k: tensor<40x8x128xbf16>, %v: tensor<40x8x128xbf16>, %k_cache: tensor<24x16x8x128xbf16>, %v_cache: tensor<24x16x8x128xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x8x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.088 past : tensor<40x8x128xbf16>, tensor<24x16x8x128xbf16>, tensor<24x16x8x128xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x128xf32>, tensor<40x8xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<40x8x128xbf16>, tensor<40x8x128xbf16>, tensor<40x8x128xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x128xf32>, tensor<40x8xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x128xf32>, tensor<40x8xf32>, tensor<40x8x128xf32>, tensor<40x8xf32> -> tensor<40x8x128xbf16>
  return %o : tensor<40x8x128xbf16>
}
func.func @group_8(%q: tensor<40x16x64xf16>, %k: tensor<40x2x64xf16>, %v: tensor<40x2x64xf16>, %k_cache: tensor<24x16x2x64xf16>, %v_cache: tensor<24x16x2x64xf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x16x64xf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past : tensor<40x16x64xf16>, tensor<24x16x2x64xf16>, tensor<24x16x2x64xf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x16x64xf32>, tensor<40x16xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x16x64xf16>, tensor<40x2x64xf16>, tensor<40x2x64xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x16x64xf32>, tensor<40x16xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x16x64xf32>, tensor<40x16xf32>, tensor<40x16x64xf32>, tensor<40x16xf32> -> tensor<40x16x64xf16>
  return %o : tensor<40x16x64xf16>
}
func.func @group_64(%q: tensor<12x64x128xbf16>, %k: tensor<12x1x128xbf16>, %v: tensor<12x1x128xbf16>, %k_cache: tensor<24x16x1x128xbf16>, %v_cache: tensor<24x16x1x128xbf16>, %b_loc: tensor<3x5xi32>, %b_start_loc: tensor<4xi32>, %b_seq_len: tensor<3xi32>) -> tensor<12x64x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.088 past : tensor<12x64x128xbf16>, tensor<24x16x1x128xbf16>, tensor<24x16x1x128xbf16> q_offsets tensor<4xi32> kv_lens tensor<3xi32> block_table tensor<3x5xi32> -> tensor<12x64x128xf32>, tensor<12x64xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<12x64x128xbf16>, tensor<12x1x128xbf16>, tensor<12x1x128xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<12x64x128xf32>, tensor<12x64xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<12x64x128xf32>, tensor<12x64xf32>, tensor<12x64x128xf32>, tensor<12x64xf32> -> tensor<12x64x128xbf16>
  return %o : tensor<12x64x128xbf16>
}
func.func @f32(%q: tensor<40x4x64xf32>, %k: tensor<40x2x64xf32>, %v: tensor<40x2x64xf32>, %k_cache: tensor<24x16x2x64xf32>, %v_cache: tensor<24x16x2x64xf32>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x4x64xf32> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past : tensor<40x4x64xf32>, tensor<24x16x2x64xf32>, tensor<24x16x2x64xf32> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x4x64xf32>, tensor<40x2x64xf32>, tensor<40x2x64xf32> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xf32>
  return %o : tensor<40x4x64xf32>
}
func.func @window_20(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_cache: tensor<24x16x2x64xbf16>, %v_cache: tensor<24x16x2x64xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x8x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past window_left 19 : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal window_left 19 : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xbf16>
  return %o : tensor<40x8x64xbf16>
}
func.func @window_128_softcap(%q: tensor<40x4x64xbf16>, %k: tensor<40x1x64xbf16>, %v: tensor<40x1x64xbf16>, %k_cache: tensor<24x16x1x64xbf16>, %v_cache: tensor<24x16x1x64xbf16>, %b_loc: tensor<4x10xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x4x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past window_left 127 softcap 30.0 : tensor<40x4x64xbf16>, tensor<24x16x1x64xbf16>, tensor<24x16x1x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x10xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal window_left 127 softcap 30.0 : tensor<40x4x64xbf16>, tensor<40x1x64xbf16>, tensor<40x1x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xbf16>
  return %o : tensor<40x4x64xbf16>
}
func.func @sink_lse(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_cache: tensor<24x16x2x64xbf16>, %v_cache: tensor<24x16x2x64xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %sink: tensor<8xf32>) -> (tensor<40x8x64xbf16>, tensor<40x8xf32>) {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %o, %lse = hk.attention_combine %old, %old_lse, %new, %new_lse sink %sink : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> sink tensor<8xf32> -> tensor<40x8x64xbf16>, tensor<40x8xf32>
  return %o, %lse : tensor<40x8x64xbf16>, tensor<40x8xf32>
}
func.func @alibi(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_cache: tensor<24x16x2x64xbf16>, %v_cache: tensor<24x16x2x64xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %alibi_slopes: tensor<8xf32>) -> tensor<40x8x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc reads (%alibi_slopes) scale 0.125 past : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> reads (tensor<8xf32>) -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<8xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %x = hk.add %s, %p : tensor<f32>
    hk.yield %x : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc reads (%alibi_slopes) scale 0.125 causal : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> reads (tensor<8xf32>) -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<8xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %x = hk.add %s, %p : tensor<f32>
    hk.yield %x : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xbf16>
  return %o : tensor<40x8x64xbf16>
}
func.func @pages(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %k_cache: tensor<?x16x2x64xbf16>, %v_cache: tensor<?x16x2x64xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<?x4x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past : tensor<?x4x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x64xf32>, tensor<?x4xf32> -> tensor<?x4x64xbf16>
  return %o : tensor<?x4x64xbf16>
}
func.func @head_major_pages_of_5(%q: tensor<40x4x64xf16>, %k: tensor<40x2x64xf16>, %v: tensor<40x2x64xf16>, %k_cache: tensor<24x2x5x64xf16>, %v_cache: tensor<24x2x5x64xf16>, %b_loc: tensor<4x9xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x4x64xf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past key_layout head_major value_layout head_major : tensor<40x4x64xf16>, tensor<24x2x5x64xf16>, tensor<24x2x5x64xf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x9xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x4x64xf16>, tensor<40x2x64xf16>, tensor<40x2x64xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xf16>
  return %o : tensor<40x4x64xf16>
}
func.func @chunked_cache(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_cache: tensor<24x2x8x16x8xbf16>, %v_cache: tensor<24x2x64x16xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x8x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 past key_layout key_chunks value_layout transposed : tensor<40x8x64xbf16>, tensor<24x2x8x16x8xbf16>, tensor<24x2x64x16xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xbf16>
  return %o : tensor<40x8x64xbf16>
}
func.func @fp8_cache(%q: tensor<40x8x128xbf16>, %k: tensor<40x2x128xbf16>, %v: tensor<40x2x128xbf16>, %k_cache: tensor<24x16x2x128xf8E4M3FN>, %v_cache: tensor<24x16x2x128xf8E4M3FN>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %k_scale: tensor<f32>, %v_scale: tensor<f32>) -> tensor<40x8x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc k_scale %k_scale v_scale %v_scale scale 0.088 past : tensor<40x8x128xbf16>, tensor<24x16x2x128xf8E4M3FN>, tensor<24x16x2x128xf8E4M3FN> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<40x8x128xf32>, tensor<40x8xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<40x8x128xbf16>, tensor<40x2x128xbf16>, tensor<40x2x128xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x128xf32>, tensor<40x8xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x128xf32>, tensor<40x8xf32>, tensor<40x8x128xf32>, tensor<40x8xf32> -> tensor<40x8x128xbf16>
  return %o : tensor<40x8x128xbf16>
}
func.func @fp8_chunked_cache(%q: tensor<40x4x64xbf16>, %k: tensor<40x1x64xbf16>, %v: tensor<40x1x64xbf16>, %k_cache: tensor<24x1x4x16x16xf8E4M3FNUZ>, %v_cache: tensor<24x1x64x16xf8E4M3FNUZ>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %k_scale: tensor<f32>, %v_scale: tensor<f32>) -> tensor<40x4x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc k_scale %k_scale v_scale %v_scale scale 0.125 past key_layout key_chunks value_layout transposed : tensor<40x4x64xbf16>, tensor<24x1x4x16x16xf8E4M3FNUZ>, tensor<24x1x64x16xf8E4M3FNUZ> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x4x64xbf16>, tensor<40x1x64xbf16>, tensor<40x1x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xbf16>
  return %o : tensor<40x4x64xbf16>
}
func.func @int8_cache(%q: tensor<40x4x64xf16>, %k: tensor<40x2x64xf16>, %v: tensor<40x2x64xf16>, %k_cache: tensor<24x16x2x64xi8>, %v_cache: tensor<24x16x2x64xi8>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %k_scale: tensor<f32>, %v_scale: tensor<f32>) -> tensor<40x4x64xf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc k_scale %k_scale v_scale %v_scale scale 0.125 past window_left 19 : tensor<40x4x64xf16>, tensor<24x16x2x64xi8>, tensor<24x16x2x64xi8> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal window_left 19 : tensor<40x4x64xf16>, tensor<40x2x64xf16>, tensor<40x2x64xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xf16>
  return %o : tensor<40x4x64xf16>
}
