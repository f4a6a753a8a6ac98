// Attention over new tokens: layouts, windows on both sides, ALiBi, bias and mask tensors,
// dropout, log-sum-exp.
// HK-LAUNCHES: 1
// HK-DIMS: -
// HK-ARGS: --range=seed=0:9

func.func @bshd_causal(%q: tensor<2x33x4x64xbf16>, %k: tensor<2x47x2x64xbf16>, %v: tensor<2x47x2x64xbf16>) -> (tensor<2x33x4x64xbf16>, tensor<2x33x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> -> tensor<2x33x4x64xbf16>, tensor<2x33x4xf32>
  return %out, %lse : tensor<2x33x4x64xbf16>, tensor<2x33x4xf32>
}
func.func @bhsd(%q: tensor<2x33x4x64xf16>, %k: tensor<2x2x47x64xf16>, %v: tensor<2x2x47x64xf16>) -> tensor<2x33x4x64xf16> {
  %out = hk.attention %q, %k, %v scale 0.125 key_layout head_major value_layout head_major : tensor<2x33x4x64xf16>, tensor<2x2x47x64xf16>, tensor<2x2x47x64xf16> -> tensor<2x33x4x64xf16>
  return %out : tensor<2x33x4x64xf16>
}
func.func @thd(%q: tensor<50x4x64xbf16>, %k: tensor<75x2x64xbf16>, %v: tensor<75x2x64xbf16>, %q_bounds: tensor<4xi32>, %k_bounds: tensor<4xi32>) -> (tensor<50x4x64xbf16>, tensor<50x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v q_offsets %q_bounds kv_offsets %k_bounds scale 0.125 : tensor<50x4x64xbf16>, tensor<75x2x64xbf16>, tensor<75x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<50x4x64xbf16>, tensor<50x4xf32>
  return %out, %lse : tensor<50x4x64xbf16>, tensor<50x4xf32>
}
func.func @windows(%q: tensor<1x50x2x64xbf16>, %k: tensor<1x70x2x64xbf16>, %v: tensor<1x70x2x64xbf16>) -> (tensor<1x50x2x64xbf16>, tensor<1x50x2xf32>) {
  %out, %lse = hk.attention %q, %k, %v scale 0.125 window_left 3 window_right 5 : tensor<1x50x2x64xbf16>, tensor<1x70x2x64xbf16>, tensor<1x70x2x64xbf16> -> tensor<1x50x2x64xbf16>, tensor<1x50x2xf32>
  return %out, %lse : tensor<1x50x2x64xbf16>, tensor<1x50x2xf32>
}
func.func @window_right(%q: tensor<1x50x2x64xf16>, %k: tensor<1x70x2x64xf16>, %v: tensor<1x70x2x64xf16>) -> tensor<1x50x2x64xf16> {
  %out = hk.attention %q, %k, %v scale 0.125 window_right 7 : tensor<1x50x2x64xf16>, tensor<1x70x2x64xf16>, tensor<1x70x2x64xf16> -> tensor<1x50x2x64xf16>
  return %out : tensor<1x50x2x64xf16>
}
func.func @alibi(%q: tensor<50x4x64xbf16>, %k: tensor<75x2x64xbf16>, %v: tensor<75x2x64xbf16>, %q_bounds: tensor<4xi32>, %k_bounds: tensor<4xi32>, %extra: tensor<4xf32>) -> (tensor<50x4x64xbf16>, tensor<50x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v q_offsets %q_bounds kv_offsets %k_bounds reads (%extra) scale 0.125 causal : tensor<50x4x64xbf16>, tensor<75x2x64xbf16>, tensor<75x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> reads (tensor<4xf32>) -> tensor<50x4x64xbf16>, tensor<50x4xf32> score {
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
  return %out, %lse : tensor<50x4x64xbf16>, tensor<50x4xf32>
}
func.func @bias_of_heads(%q: tensor<2x20x4x64xbf16>, %k: tensor<2x37x2x64xbf16>, %v: tensor<2x37x2x64xbf16>, %extra: tensor<1x4x20x37xbf16>) -> (tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v reads (%extra) scale 0.125 causal : tensor<2x20x4x64xbf16>, tensor<2x37x2x64xbf16>, tensor<2x37x2x64xbf16> reads (tensor<1x4x20x37xbf16>) -> tensor<2x20x4x64xbf16>, tensor<2x20x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<1x4x20x37xbf16>):
    %zero = hk.constant 0 : tensor<i32>
    %x = hk.gather_elements %t [%zero, %h, %i, %j] : tensor<1x4x20x37xbf16> [tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<bf16>
    %f = hk.cast %x : tensor<bf16> -> tensor<f32>
    %r = hk.add %s, %f : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out, %lse : tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>
}
func.func @bias_of_sequences(%q: tensor<2x20x4x64xbf16>, %k: tensor<2x37x2x64xbf16>, %v: tensor<2x37x2x64xbf16>, %extra: tensor<2x1x20x37xbf16>) -> (tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v reads (%extra) scale 0.125 : tensor<2x20x4x64xbf16>, tensor<2x37x2x64xbf16>, tensor<2x37x2x64xbf16> reads (tensor<2x1x20x37xbf16>) -> tensor<2x20x4x64xbf16>, tensor<2x20x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<2x1x20x37xbf16>):
    %zero = hk.constant 0 : tensor<i32>
    %x = hk.gather_elements %t [%b, %zero, %i, %j] : tensor<2x1x20x37xbf16> [tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<bf16>
    %f = hk.cast %x : tensor<bf16> -> tensor<f32>
    %r = hk.add %s, %f : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out, %lse : tensor<2x20x4x64xbf16>, tensor<2x20x4xf32>
}
func.func @boolean_mask(%q: tensor<2x20x4x64xf16>, %k: tensor<2x37x2x64xf16>, %v: tensor<2x37x2x64xf16>, %extra: tensor<20x37xi1>) -> (tensor<2x20x4x64xf16>, tensor<2x20x4xf32>) {
  %out, %lse = hk.attention %q, %k, %v reads (%extra) scale 0.125 : tensor<2x20x4x64xf16>, tensor<2x37x2x64xf16>, tensor<2x37x2x64xf16> reads (tensor<20x37xi1>) -> tensor<2x20x4x64xf16>, tensor<2x20x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<20x37xi1>):
    %x = hk.gather_elements %t [%i, %j] : tensor<20x37xi1> [tensor<i32>, tensor<i32>] -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %x, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out, %lse : tensor<2x20x4x64xf16>, tensor<2x20x4xf32>
}
func.func @dropout_full(%q: tensor<1x20x4x64xf16>, %k: tensor<1x37x4x64xf16>, %v: tensor<1x37x4x64xf16>, %seed: tensor<i64>) -> tensor<1x20x4x64xf16> {
  %out = hk.attention %q, %k, %v reads (%seed) scale 0.125 : tensor<1x20x4x64xf16>, tensor<1x37x4x64xf16>, tensor<1x37x4x64xf16> reads (tensor<i64>) -> tensor<1x20x4x64xf16> weight {
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
    %least = hk.constant 0.5 : tensor<f32>
    %kept = hk.compare gt %u, %least : tensor<f32> -> tensor<i1>
    %up = hk.constant 2.0 : tensor<f32>
    %zero = hk.constant 0.0 : tensor<f32>
    %r = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out : tensor<1x20x4x64xf16>
}
func.func @keys_wider(%q: tensor<1x20x4x80xbf16>, %k: tensor<1x37x2x80xbf16>, %v: tensor<1x37x2x40xbf16>) -> tensor<1x20x4x40xbf16> {
  %out = hk.attention %q, %k, %v scale 0.1 causal : tensor<1x20x4x80xbf16>, tensor<1x37x2x80xbf16>, tensor<1x37x2x40xbf16> -> tensor<1x20x4x40xbf16>
  return %out : tensor<1x20x4x40xbf16>
}
