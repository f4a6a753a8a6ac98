// Scaled dot product attention: dense and ragged, causal at the lower right, windows, sink,
// ALiBi, dropout, keys wider than values.
// HK-LAUNCHES: 1
// HK-DIMS: -
// HK-ARGS: --range=seed=0:9

func.func @one_key(%q: tensor<2x1x8x64xbf16>, %k: tensor<2x1x8x64xbf16>, %v: tensor<2x1x8x64xbf16>) -> (tensor<2x1x8x64xbf16>, tensor<2x1x8xf32>) {
  %out, %lse = hk.attention %q, %k, %v scale 0.125 : tensor<2x1x8x64xbf16>, tensor<2x1x8x64xbf16>, tensor<2x1x8x64xbf16> -> tensor<2x1x8x64xbf16>, tensor<2x1x8xf32>
  return %out, %lse : tensor<2x1x8x64xbf16>, tensor<2x1x8xf32>
}
func.func @full_d128(%q: tensor<1x64x8x128xbf16>, %k: tensor<1x128x8x128xbf16>, %v: tensor<1x128x8x128xbf16>) -> tensor<1x64x8x128xbf16> {
  %out = hk.attention %q, %k, %v scale 0.088 : tensor<1x64x8x128xbf16>, tensor<1x128x8x128xbf16>, tensor<1x128x8x128xbf16> -> tensor<1x64x8x128xbf16>
  return %out : tensor<1x64x8x128xbf16>
}
func.func @causal_empty_rows(%q: tensor<2x32x8x64xf16>, %k: tensor<2x16x8x64xf16>, %v: tensor<2x16x8x64xf16>) -> (tensor<2x32x8x64xf16>, tensor<2x32x8xf32>) {
  %out, %lse = hk.attention %q, %k, %v scale 0.125 causal : tensor<2x32x8x64xf16>, tensor<2x16x8x64xf16>, tensor<2x16x8x64xf16> -> tensor<2x32x8x64xf16>, tensor<2x32x8xf32>
  return %out, %lse : tensor<2x32x8x64xf16>, tensor<2x32x8xf32>
}
func.func @causal_grouped_48_8(%q: tensor<1x33x48x64xbf16>, %k: tensor<1x40x8x64xbf16>, %v: tensor<1x40x8x64xbf16>) -> tensor<1x33x48x64xbf16> {
  %out = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x33x48x64xbf16>, tensor<1x40x8x64xbf16>, tensor<1x40x8x64xbf16> -> tensor<1x33x48x64xbf16>
  return %out : tensor<1x33x48x64xbf16>
}
func.func @window_left(%q: tensor<1x70x2x64xbf16>, %k: tensor<1x90x2x64xbf16>, %v: tensor<1x90x2x64xbf16>) -> tensor<1x70x2x64xbf16> {
  %out = hk.attention %q, %k, %v scale 0.125 window_left 20 : tensor<1x70x2x64xbf16>, tensor<1x90x2x64xbf16>, tensor<1x90x2x64xbf16> -> tensor<1x70x2x64xbf16>
  return %out : tensor<1x70x2x64xbf16>
}
func.func @sink_causal(%q: tensor<1x40x4x64xbf16>, %k: tensor<1x60x2x64xbf16>, %v: tensor<1x60x2x64xbf16>, %sink: tensor<4xf32>) -> (tensor<1x40x4x64xbf16>, tensor<1x40x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v sink %sink scale 0.125 causal : tensor<1x40x4x64xbf16>, tensor<1x60x2x64xbf16>, tensor<1x60x2x64xbf16> sink tensor<4xf32> -> tensor<1x40x4x64xbf16>, tensor<1x40x4xf32>
  return %out, %lse : tensor<1x40x4x64xbf16>, tensor<1x40x4xf32>
}
func.func @varlen_causal(%q: tensor<50x4x32xbf16>, %k: tensor<75x2x32xbf16>, %v: tensor<75x2x32xbf16>, %q_bounds: tensor<4xi32>, %k_bounds: tensor<4xi32>) -> (tensor<50x4x32xbf16>, tensor<50x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v q_offsets %q_bounds kv_offsets %k_bounds scale 0.2 causal : tensor<50x4x32xbf16>, tensor<75x2x32xbf16>, tensor<75x2x32xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<50x4x32xbf16>, tensor<50x4xf32>
  return %out, %lse : tensor<50x4x32xbf16>, tensor<50x4xf32>
}
func.func @varlen_d8(%q: tensor<50x2x8xf32>, %k: tensor<75x1x8xf32>, %v: tensor<75x1x8xf32>, %q_bounds: tensor<4xi32>, %k_bounds: tensor<4xi32>) -> tensor<50x2x8xf32> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_offsets %k_bounds scale 0.3 : tensor<50x2x8xf32>, tensor<75x1x8xf32>, tensor<75x1x8xf32> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<50x2x8xf32>
  return %out : tensor<50x2x8xf32>
}
func.func @rope_part_192_128(%q: tensor<1x20x4x192xbf16>, %k: tensor<1x33x1x192xbf16>, %v: tensor<1x33x1x128xbf16>) -> tensor<1x20x4x128xbf16> {
  %out = hk.attention %q, %k, %v scale 0.07 causal : tensor<1x20x4x192xbf16>, tensor<1x33x1x192xbf16>, tensor<1x33x1x128xbf16> -> tensor<1x20x4x128xbf16>
  return %out : tensor<1x20x4x128xbf16>
}
func.func @rope_part_96_64_varlen(%q: tensor<50x2x96xf16>, %k: tensor<75x2x96xf16>, %v: tensor<75x2x64xf16>, %q_bounds: tensor<4xi32>, %k_bounds: tensor<4xi32>) -> tensor<50x2x64xf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds kv_offsets %k_bounds scale 0.1 causal : tensor<50x2x96xf16>, tensor<75x2x96xf16>, tensor<75x2x64xf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<50x2x64xf16>
  return %out : tensor<50x2x64xf16>
}
func.func @alibi_heads(%q: tensor<2x20x4x64xbf16>, %k: tensor<2x37x2x64xbf16>, %v: tensor<2x37x2x64xbf16>, %extra: tensor<4xf32>) -> (tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v reads (%extra) scale 0.125 causal : tensor<2x20x4x64xbf16>, tensor<2x37x2x64xbf16>, tensor<2x37x2x64xbf16> reads (tensor<4xf32>) -> tensor<2x20x4x64xbf16>, tensor<2x20x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %a = hk.abs %f : tensor<f32>
    %n = hk.neg %a : tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<4xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %n : tensor<f32>
    %r = hk.add %s, %p : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out, %lse : tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>
}
func.func @alibi_sequences(%q: tensor<2x20x4x64xbf16>, %k: tensor<2x37x2x64xbf16>, %v: tensor<2x37x2x64xbf16>, %extra: tensor<2x4xf32>) -> tensor<2x20x4x64xbf16> {
  %out = hk.attention %q, %k, %v reads (%extra) scale 0.125 : tensor<2x20x4x64xbf16>, tensor<2x37x2x64xbf16>, tensor<2x37x2x64xbf16> reads (tensor<2x4xf32>) -> tensor<2x20x4x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<2x4xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %a = hk.abs %f : tensor<f32>
    %n = hk.neg %a : tensor<f32>
    %m = hk.gather_elements %t [%b, %h] : tensor<2x4xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %n : tensor<f32>
    %r = hk.add %s, %p : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out : tensor<2x20x4x64xbf16>
}
func.func @dropout(%q: tensor<2x20x4x64xbf16>, %k: tensor<2x37x2x64xbf16>, %v: tensor<2x37x2x64xbf16>, %seed: tensor<i64>) -> (tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v reads (%seed) scale 0.125 causal : tensor<2x20x4x64xbf16>, tensor<2x37x2x64xbf16>, tensor<2x37x2x64xbf16> reads (tensor<i64>) -> tensor<2x20x4x64xbf16>, tensor<2x20x4xf32> weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<i64>):
    %heads = hk.constant 4 : tensor<i32>
    %bh = hk.mul %b, %heads : tensor<i32>
    %bh1 = hk.add %bh, %h : tensor<i32>
    %bi = hk.mul %bh1, %nq : tensor<i32>
    %bi1 = hk.add %bi, %i : tensor<i32>
    %at = hk.mul %bi1, %nk : tensor<i32>
    %at1 = hk.add %at, %j : tensor<i32>
    %wide = hk.cast %at1 : tensor<i32> -> tensor<i64>
    %u = hk.philox %t, %wide : tensor<i64>, tensor<i64> -> tensor<f32>
    %least = hk.constant 0.2 : tensor<f32>
    %kept = hk.compare gt %u, %least : tensor<f32> -> tensor<i1>
    %up = hk.constant 1.25 : tensor<f32>
    %zero = hk.constant 0.0 : tensor<f32>
    %r = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out, %lse : tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>
}
