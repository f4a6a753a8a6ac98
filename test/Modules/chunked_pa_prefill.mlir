// Prefill and decode in one batch: sequences of one new token are decode steps, which read
// that token from the cache, too; the others attend to what the cache has of the tokens
// before and to the new tokens as they are. One launch.
// HK-LAUNCHES: 1
// HK-ARGS: --range=b_seq_len=0:80
// HK-DIMS: -
// HK-DATA: normal,equal

func.func @group_1(%q: tensor<40x8x128xbf16>, %k: tensor<40x8x128xbf16>, %v: tensor<40x8x128xbf16>, %k_cache: tensor<24x8x16x16x8xbf16>, %v_cache: tensor<24x8x128x16xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x8x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.088 causal key_layout key_chunks value_layout transposed : tensor<40x8x128xbf16>, tensor<24x8x16x16x8xbf16>, tensor<24x8x128x16xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x128xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<40x8x128xbf16>, tensor<40x8x128xbf16>, tensor<40x8x128xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x128xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x128xf32>, tensor<40x8xf32>, tensor<40x8x128xf32>, tensor<40x8xf32> -> tensor<40x8x128xbf16>
  return %o : tensor<40x8x128xbf16>
}
func.func @group_8(%q: tensor<40x16x128xbf16>, %k: tensor<40x2x128xbf16>, %v: tensor<40x2x128xbf16>, %k_cache: tensor<24x2x16x16x8xbf16>, %v_cache: tensor<24x2x128x16xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x16x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.088 causal key_layout key_chunks value_layout transposed : tensor<40x16x128xbf16>, tensor<24x2x16x16x8xbf16>, tensor<24x2x128x16xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x16x128xf32>, tensor<40x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<40x16x128xbf16>, tensor<40x2x128xbf16>, tensor<40x2x128xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x16x128xf32>, tensor<40x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x16x128xf32>, tensor<40x16xf32>, tensor<40x16x128xf32>, tensor<40x16xf32> -> tensor<40x16x128xbf16>
  return %o : tensor<40x16x128xbf16>
}
func.func @group_64(%q: tensor<12x64x128xbf16>, %k: tensor<12x1x128xbf16>, %v: tensor<12x1x128xbf16>, %k_cache: tensor<24x1x16x16x8xbf16>, %v_cache: tensor<24x1x128x16xbf16>, %b_loc: tensor<3x5xi32>, %b_start_loc: tensor<4xi32>, %b_seq_len: tensor<3xi32>) -> tensor<12x64x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.088 causal key_layout key_chunks value_layout transposed : tensor<12x64x128xbf16>, tensor<24x1x16x16x8xbf16>, tensor<24x1x128x16xbf16> q_offsets tensor<4xi32> kv_lens tensor<3xi32> block_table tensor<3x5xi32> -> tensor<12x64x128xf32>, tensor<12x64xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<12x64x128xbf16>, tensor<12x1x128xbf16>, tensor<12x1x128xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<12x64x128xf32>, tensor<12x64xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<12x64x128xf32>, tensor<12x64xf32>, tensor<12x64x128xf32>, tensor<12x64xf32> -> tensor<12x64x128xbf16>
  return %o : tensor<12x64x128xbf16>
}
func.func @window_256_f16(%q: tensor<40x8x64xf16>, %k: tensor<40x1x64xf16>, %v: tensor<40x1x64xf16>, %k_cache: tensor<24x1x8x16x8xf16>, %v_cache: tensor<24x1x64x16xf16>, %b_loc: tensor<4x20xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x8x64xf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 causal window_left 255 key_layout key_chunks value_layout transposed : tensor<40x8x64xf16>, tensor<24x1x8x16x8xf16>, tensor<24x1x64x16xf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x20xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal window_left 255 : tensor<40x8x64xf16>, tensor<40x1x64xf16>, tensor<40x1x64xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xf16>
  return %o : tensor<40x8x64xf16>
}
func.func @window_20_alibi(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_cache: tensor<24x2x8x16x8xbf16>, %v_cache: tensor<24x2x64x16xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %alibi_slopes: tensor<8xf32>) -> tensor<40x8x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc reads (%alibi_slopes) scale 0.125 causal window_left 19 key_layout key_chunks value_layout transposed : tensor<40x8x64xbf16>, tensor<24x2x8x16x8xbf16>, tensor<24x2x64x16xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> reads (tensor<8xf32>) -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<8xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %x = hk.add %s, %p : tensor<f32>
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %x, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %x, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc reads (%alibi_slopes) scale 0.125 causal window_left 19 : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> reads (tensor<8xf32>) -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<8xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %x = hk.add %s, %p : tensor<f32>
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %x : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xbf16>
  return %o : tensor<40x8x64xbf16>
}
func.func @pages_of_rows(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_cache: tensor<24x16x2x64xbf16>, %v_cache: tensor<24x16x2x64xbf16>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>) -> tensor<40x8x64xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc scale 0.125 causal : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xbf16>
  return %o : tensor<40x8x64xbf16>
}
func.func @fp8_cache(%q: tensor<40x8x128xbf16>, %k: tensor<40x1x128xbf16>, %v: tensor<40x1x128xbf16>, %k_cache: tensor<24x1x8x16x16xf8E4M3FN>, %v_cache: tensor<24x1x128x16xf8E4M3FN>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %k_scale: tensor<f32>, %v_scale: tensor<f32>) -> tensor<40x8x128xbf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc k_scale %k_scale v_scale %v_scale scale 0.088 causal key_layout key_chunks value_layout transposed : tensor<40x8x128xbf16>, tensor<24x1x8x16x16xf8E4M3FN>, tensor<24x1x128x16xf8E4M3FN> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<40x8x128xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.088 causal : tensor<40x8x128xbf16>, tensor<40x1x128xbf16>, tensor<40x1x128xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x128xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x128xf32>, tensor<40x8xf32>, tensor<40x8x128xf32>, tensor<40x8xf32> -> tensor<40x8x128xbf16>
  return %o : tensor<40x8x128xbf16>
}
func.func @fp8_rows_f16(%q: tensor<40x8x64xf16>, %k: tensor<40x2x64xf16>, %v: tensor<40x2x64xf16>, %k_cache: tensor<24x16x2x64xf8E5M2>, %v_cache: tensor<24x16x2x64xf8E5M2>, %b_loc: tensor<4x5xi32>, %b_start_loc: tensor<5xi32>, %b_seq_len: tensor<4xi32>, %k_scale: tensor<f32>, %v_scale: tensor<f32>) -> tensor<40x8x64xf16> {
  %old, %old_lse = hk.attention %q, %k_cache, %v_cache q_offsets %b_start_loc kv_lens %b_seq_len block_table %b_loc k_scale %k_scale v_scale %v_scale scale 0.125 causal : tensor<40x8x64xf16>, tensor<24x16x2x64xf8E5M2>, tensor<24x16x2x64xf8E5M2> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %old = hk.sub %nk, %nq : tensor<i32>
    %before = hk.compare lt %j, %old : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %prefix = hk.select %before, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    %r = hk.select %step, %s, %prefix : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %b_start_loc kv_offsets %b_start_loc scale 0.125 causal : tensor<40x8x64xf16>, tensor<40x2x64xf16>, tensor<40x2x64xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %one = hk.constant 1 : tensor<i32>
    %step = hk.compare eq %nq, %one : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %step, %never, %s : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xf16>
  return %o : tensor<40x8x64xf16>
}
