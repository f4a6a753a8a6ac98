// Attention over a paged cache that holds the new tokens already: prefill and decode in one
// batch, windows, soft cap, sinks, ALiBi, a bias between the new tokens, chunked caches.
// HK-LAUNCHES: 1
// HK-DIMS: -
// HK-ARGS: --range=lens=0:25 --range=pages=-1:23

func.func @d64(%q: tensor<40x8x64xbf16>, %k: tensor<24x16x2x64xbf16>, %v: tensor<24x16x2x64xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>) -> tensor<40x8x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages scale 0.125 causal : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x64xbf16>
  return %out : tensor<40x8x64xbf16>
}
func.func @d128_window_softcap(%q: tensor<40x4x128xbf16>, %k: tensor<24x16x1x128xbf16>, %v: tensor<24x16x1x128xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>) -> tensor<40x4x128xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages scale 0.088 causal window_left 20 softcap 50.0 : tensor<40x4x128xbf16>, tensor<24x16x1x128xbf16>, tensor<24x16x1x128xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x4x128xbf16>
  return %out : tensor<40x4x128xbf16>
}
func.func @sinks_f16(%q: tensor<40x8x64xf16>, %k: tensor<24x16x8x64xf16>, %v: tensor<24x16x8x64xf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>, %sink: tensor<8xf32>) -> tensor<40x8x64xf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages sink %sink scale 0.125 causal window_left 31 : tensor<40x8x64xf16>, tensor<24x16x8x64xf16>, tensor<24x16x8x64xf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> sink tensor<8xf32> -> tensor<40x8x64xf16>
  return %out : tensor<40x8x64xf16>
}
func.func @group_5_pages_of_5(%q: tensor<40x5x64xbf16>, %k: tensor<24x5x1x64xbf16>, %v: tensor<24x5x1x64xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>) -> tensor<40x5x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages scale 0.125 causal : tensor<40x5x64xbf16>, tensor<24x5x1x64xbf16>, tensor<24x5x1x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x5x64xbf16>
  return %out : tensor<40x5x64xbf16>
}
func.func @alibi(%q: tensor<40x8x64xbf16>, %k: tensor<24x16x2x64xbf16>, %v: tensor<24x16x2x64xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>, %extra: tensor<8xf32>) -> tensor<40x8x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages reads (%extra) scale 0.125 causal : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> reads (tensor<8xf32>) -> tensor<40x8x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<8xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %r = hk.add %s, %p : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out : tensor<40x8x64xbf16>
}
func.func @qq_bias(%q: tensor<40x8x64xbf16>, %k: tensor<24x16x2x64xbf16>, %v: tensor<24x16x2x64xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>, %extra: tensor<40x40xf32>) -> tensor<40x8x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages reads (%extra, %q_bounds) scale 0.125 causal : tensor<40x8x64xbf16>, tensor<24x16x2x64xbf16>, tensor<24x16x2x64xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> reads (tensor<40x40xf32>, tensor<5xi32>) -> tensor<40x8x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<40x40xf32>, %o: tensor<5xi32>):
    %first = hk.gather_elements %o [%b] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %row = hk.add %first, %i : tensor<i32>
    %old = hk.sub %nk, %nq : tensor<i32>
    %new = hk.sub %j, %old : tensor<i32>
    %x = hk.gather_elements %t [%row, %new] : tensor<40x40xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %r = hk.add %s, %x : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out : tensor<40x8x64xbf16>
}
func.func @chunked_caches(%q: tensor<40x8x64xbf16>, %k: tensor<24x2x8x16x8xbf16>, %v: tensor<24x2x2x64x8xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>) -> tensor<40x8x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages scale 0.125 causal key_layout key_chunks value_layout value_chunks : tensor<40x8x64xbf16>, tensor<24x2x8x16x8xbf16>, tensor<24x2x2x64x8xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x8x64xbf16>
  return %out : tensor<40x8x64xbf16>
}
func.func @decode(%q: tensor<3x1x64x64xbf16>, %k: tensor<24x16x8x64xbf16>, %v: tensor<24x16x8x64xbf16>, %lens: tensor<3xi32>, %pages: tensor<3x9xi32>) -> tensor<3x1x64x64xbf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 causal : tensor<3x1x64x64xbf16>, tensor<24x16x8x64xbf16>, tensor<24x16x8x64xbf16> kv_lens tensor<3xi32> block_table tensor<3x9xi32> -> tensor<3x1x64x64xbf16>
  return %out : tensor<3x1x64x64xbf16>
}
// A gate of each head, behind tiles whose places are found in the offsets.
func.func @gated(%q: tensor<40x4x32xbf16>, %k: tensor<24x16x2x32xbf16>, %v: tensor<24x16x2x32xbf16>, %q_bounds: tensor<5xi32>, %lens: tensor<4xi32>, %pages: tensor<4x5xi32>, %gate: tensor<40x4x1xbf16>) -> tensor<40x4x32xf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_lens %lens block_table %pages scale 0.125 causal : tensor<40x4x32xbf16>, tensor<24x16x2x32xbf16>, tensor<24x16x2x32xbf16> q_offsets tensor<5xi32> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<40x4x32xf16>
  %s = hk.sigmoid %gate : tensor<40x4x1xbf16>
  %y = hk.mul %out, %s : tensor<40x4x32xf16>, tensor<40x4x1xbf16>
  return %y : tensor<40x4x32xf16>
}
