// Gradients of attention with a sink, a left window and rotary parts (queries and keys
// longer than values), dense and ragged, also in f32 of 16-bit operands,
// with slopes, a bias, dropout. Two launches:
// delta = sum(o * do), and all gradients with that of the sink.
// HK-LAUNCHES: 2
// HK-DIMS: q.0=61 k.0=90
// HK-DIMS: @sink_ragged q.0=0 k.0=0
// HK-DATA: normal,equal,nan

func.func @rotary_part(%q: tensor<1x40x4x192xbf16>, %k: tensor<1x40x1x192xbf16>, %v: tensor<1x40x1x128xbf16>, %o: tensor<1x40x4x128xbf16>, %do: tensor<1x40x4x128xbf16>, %lse: tensor<1x40x4xf32>) -> (tensor<1x40x4x192xbf16>, tensor<1x40x1x192xbf16>, tensor<1x40x1x128xbf16>) {
  %of = hk.cast %o : tensor<1x40x4x128xbf16> -> tensor<1x40x4x128xf32>
  %df = hk.cast %do : tensor<1x40x4x128xbf16> -> tensor<1x40x4x128xf32>
  %m = hk.mul %of, %df : tensor<1x40x4x128xf32>
  %r = hk.reduce sum %m : tensor<1x40x4x128xf32> -> tensor<1x40x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x40x4x1xf32> into tensor<1x40x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0722 causal : tensor<1x40x4x192xbf16>, tensor<1x40x1x192xbf16>, tensor<1x40x1x128xbf16>, tensor<1x40x4x128xbf16>, tensor<1x40x4xf32> -> tensor<1x40x4x192xbf16>, tensor<1x40x1x192xbf16>, tensor<1x40x1x128xbf16>
  return %dq, %dk, %dv : tensor<1x40x4x192xbf16>, tensor<1x40x1x192xbf16>, tensor<1x40x1x128xbf16>
}
func.func @sink(%q: tensor<2x35x4x64xbf16>, %k: tensor<2x50x2x64xbf16>, %v: tensor<2x50x2x64xbf16>, %o: tensor<2x35x4x64xbf16>, %do: tensor<2x35x4x64xbf16>, %lse: tensor<2x35x4xf32>, %sink: tensor<4xf32>) -> (tensor<2x35x4x64xbf16>, tensor<2x50x2x64xbf16>, tensor<2x50x2x64xbf16>, tensor<4xf32>) {
  %of = hk.cast %o : tensor<2x35x4x64xbf16> -> tensor<2x35x4x64xf32>
  %df = hk.cast %do : tensor<2x35x4x64xbf16> -> tensor<2x35x4x64xf32>
  %m = hk.mul %of, %df : tensor<2x35x4x64xf32>
  %r = hk.reduce sum %m : tensor<2x35x4x64xf32> -> tensor<2x35x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x35x4x1xf32> into tensor<2x35x4xf32>
  %dq, %dk, %dv, %dsink = hk.attention_backward %q, %k, %v, %do, %lse, %delta sink %sink scale 0.125 causal : tensor<2x35x4x64xbf16>, tensor<2x50x2x64xbf16>, tensor<2x50x2x64xbf16>, tensor<2x35x4x64xbf16>, tensor<2x35x4xf32> sink tensor<4xf32> -> tensor<2x35x4x64xbf16>, tensor<2x50x2x64xbf16>, tensor<2x50x2x64xbf16>, tensor<4xf32>
  return %dq, %dk, %dv, %dsink : tensor<2x35x4x64xbf16>, tensor<2x50x2x64xbf16>, tensor<2x50x2x64xbf16>, tensor<4xf32>
}
func.func @sink_window_f16(%q: tensor<1x90x2x128xf16>, %k: tensor<1x90x1x128xf16>, %v: tensor<1x90x1x128xf16>, %o: tensor<1x90x2x128xf16>, %do: tensor<1x90x2x128xf16>, %lse: tensor<1x90x2xf32>, %sink: tensor<2xf32>) -> (tensor<1x90x2x128xf16>, tensor<1x90x1x128xf16>, tensor<1x90x1x128xf16>, tensor<2xf32>) {
  %of = hk.cast %o : tensor<1x90x2x128xf16> -> tensor<1x90x2x128xf32>
  %df = hk.cast %do : tensor<1x90x2x128xf16> -> tensor<1x90x2x128xf32>
  %m = hk.mul %of, %df : tensor<1x90x2x128xf32>
  %r = hk.reduce sum %m : tensor<1x90x2x128xf32> -> tensor<1x90x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x90x2x1xf32> into tensor<1x90x2xf32>
  %dq, %dk, %dv, %dsink = hk.attention_backward %q, %k, %v, %do, %lse, %delta sink %sink scale 0.0884 causal window_left 30 : tensor<1x90x2x128xf16>, tensor<1x90x1x128xf16>, tensor<1x90x1x128xf16>, tensor<1x90x2x128xf16>, tensor<1x90x2xf32> sink tensor<2xf32> -> tensor<1x90x2x128xf16>, tensor<1x90x1x128xf16>, tensor<1x90x1x128xf16>, tensor<2xf32>
  return %dq, %dk, %dv, %dsink : tensor<1x90x2x128xf16>, tensor<1x90x1x128xf16>, tensor<1x90x1x128xf16>, tensor<2xf32>
}
func.func @sink_ragged(%q: tensor<?x6x96xbf16>, %k: tensor<?x3x96xbf16>, %v: tensor<?x3x64xbf16>, %o: tensor<?x6x64xbf16>, %do: tensor<?x6x64xbf16>, %lse: tensor<?x6xf32>, %cuq: tensor<5xi32>, %cuk: tensor<5xi32>, %sink: tensor<6xf32>) -> (tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<6xf32>) {
  %of = hk.cast %o : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %df = hk.cast %do : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %m = hk.mul %of, %df : tensor<?x6x64xf32>
  %r = hk.reduce sum %m : tensor<?x6x64xf32> -> tensor<?x6x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x6x1xf32> into tensor<?x6xf32>
  %dq, %dk, %dv, %dsink = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %cuq kv_offsets %cuk sink %sink scale 0.102 causal : tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<?x6x64xbf16>, tensor<?x6xf32> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> sink tensor<6xf32> -> tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<6xf32>
  return %dq, %dk, %dv, %dsink : tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<6xf32>
}
func.func @to_f32(%q: tensor<1x33x8x64xbf16>, %k: tensor<1x20x1x64xbf16>, %v: tensor<1x20x1x32xbf16>, %o: tensor<1x33x8x32xbf16>, %do: tensor<1x33x8x32xbf16>, %lse: tensor<1x33x8xf32>) -> (tensor<1x33x8x64xf32>, tensor<1x20x1x64xf32>, tensor<1x20x1x32xf32>) {
  %of = hk.cast %o : tensor<1x33x8x32xbf16> -> tensor<1x33x8x32xf32>
  %df = hk.cast %do : tensor<1x33x8x32xbf16> -> tensor<1x33x8x32xf32>
  %m = hk.mul %of, %df : tensor<1x33x8x32xf32>
  %r = hk.reduce sum %m : tensor<1x33x8x32xf32> -> tensor<1x33x8x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x33x8x1xf32> into tensor<1x33x8xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 : tensor<1x33x8x64xbf16>, tensor<1x20x1x64xbf16>, tensor<1x20x1x32xbf16>, tensor<1x33x8x32xbf16>, tensor<1x33x8xf32> -> tensor<1x33x8x64xf32>, tensor<1x20x1x64xf32>, tensor<1x20x1x32xf32>
  return %dq, %dk, %dv : tensor<1x33x8x64xf32>, tensor<1x20x1x64xf32>, tensor<1x20x1x32xf32>
}
func.func @sink_more_queries(%q: tensor<1x20x2x48xf32>, %k: tensor<1x6x2x48xf32>, %v: tensor<1x6x2x48xf32>, %o: tensor<1x20x2x48xf32>, %do: tensor<1x20x2x48xf32>, %lse: tensor<1x20x2xf32>, %sink: tensor<2xf32>) -> (tensor<1x20x2x48xf32>, tensor<1x6x2x48xf32>, tensor<1x6x2x48xf32>, tensor<2xf32>) {
  %m = hk.mul %o, %do : tensor<1x20x2x48xf32>
  %r = hk.reduce sum %m : tensor<1x20x2x48xf32> -> tensor<1x20x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x20x2x1xf32> into tensor<1x20x2xf32>
  %dq, %dk, %dv, %dsink = hk.attention_backward %q, %k, %v, %do, %lse, %delta sink %sink scale 0.125 causal : tensor<1x20x2x48xf32>, tensor<1x6x2x48xf32>, tensor<1x6x2x48xf32>, tensor<1x20x2x48xf32>, tensor<1x20x2xf32> sink tensor<2xf32> -> tensor<1x20x2x48xf32>, tensor<1x6x2x48xf32>, tensor<1x6x2x48xf32>, tensor<2xf32>
  return %dq, %dk, %dv, %dsink : tensor<1x20x2x48xf32>, tensor<1x6x2x48xf32>, tensor<1x6x2x48xf32>, tensor<2xf32>
}
func.func @sink_alibi_dropout(%q: tensor<?x6x96xbf16>, %k: tensor<?x3x96xbf16>, %v: tensor<?x3x64xbf16>, %o: tensor<?x6x64xbf16>, %do: tensor<?x6x64xbf16>, %lse: tensor<?x6xf32>, %cuq: tensor<5xi32>, %cuk: tensor<5xi32>, %sink: tensor<6xf32>, %slopes: tensor<6xf32>, %seed: tensor<i64>) -> (tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<6xf32>) {
  %of = hk.cast %o : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %df = hk.cast %do : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %m = hk.mul %of, %df : tensor<?x6x64xf32>
  %r = hk.reduce sum %m : tensor<?x6x64xf32> -> tensor<?x6x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x6x1xf32> into tensor<?x6xf32>
  %dq, %dk, %dv, %dsink = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %cuq kv_offsets %cuk sink %sink reads (%slopes, %seed) scale 0.102 causal window_left 40 : tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<?x6x64xbf16>, tensor<?x6xf32> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> sink tensor<6xf32> reads (tensor<6xf32>, tensor<i64>) -> tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<6xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %slopes_t: tensor<6xf32>, %seed_t: tensor<i64>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %a = hk.abs %f : tensor<f32>
    %n = hk.neg %a : tensor<f32>
    %slope = hk.gather_elements %slopes_t [%h] : tensor<6xf32> [tensor<i32>] -> tensor<f32>
    %x = hk.mul %slope, %n : tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  } weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %slopes_t: tensor<6xf32>, %seed_t: tensor<i64>):
    %heads = hk.constant 6 : tensor<i32>
    %bh = hk.mul %b, %heads : tensor<i32>
    %bh1 = hk.add %bh, %h : tensor<i32>
    %bi = hk.mul %bh1, %nq : tensor<i32>
    %bi1 = hk.add %bi, %i : tensor<i32>
    %at = hk.mul %bi1, %nk : tensor<i32>
    %at1 = hk.add %at, %j : tensor<i32>
    %wide = hk.cast %at1 : tensor<i32> -> tensor<i64>
    %u = hk.philox %seed_t, %wide : tensor<i64>, tensor<i64> -> tensor<f32>
    %least = hk.constant 0.2 : tensor<f32>
    %kept = hk.compare gt %u, %least : tensor<f32> -> tensor<i1>
    %up = hk.constant 1.25 : tensor<f32>
    %zero = hk.constant 0.0 : tensor<f32>
    %w = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %w : tensor<f32>
  }
  return %dq, %dk, %dv, %dsink : tensor<?x6x96xbf16>, tensor<?x3x96xbf16>, tensor<?x3x64xbf16>, tensor<6xf32>
}
func.func @rotary_bias(%q: tensor<2x40x4x192xbf16>, %k: tensor<2x40x1x192xbf16>, %v: tensor<2x40x1x128xbf16>, %o: tensor<2x40x4x128xbf16>, %do: tensor<2x40x4x128xbf16>, %lse: tensor<2x40x4xf32>, %bias: tensor<4x40x40xf32>) -> (tensor<2x40x4x192xbf16>, tensor<2x40x1x192xbf16>, tensor<2x40x1x128xbf16>, tensor<1x4x40x40xf32>) {
  %of = hk.cast %o : tensor<2x40x4x128xbf16> -> tensor<2x40x4x128xf32>
  %df = hk.cast %do : tensor<2x40x4x128xbf16> -> tensor<2x40x4x128xf32>
  %m = hk.mul %of, %df : tensor<2x40x4x128xf32>
  %r = hk.reduce sum %m : tensor<2x40x4x128xf32> -> tensor<2x40x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x40x4x1xf32> into tensor<2x40x4xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias) scale 0.0722 causal : tensor<2x40x4x192xbf16>, tensor<2x40x1x192xbf16>, tensor<2x40x1x128xbf16>, tensor<2x40x4x128xbf16>, tensor<2x40x4xf32> reads (tensor<4x40x40xf32>) -> tensor<2x40x4x192xbf16>, tensor<2x40x1x192xbf16>, tensor<2x40x1x128xbf16> dbias tensor<1x4x40x40xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<4x40x40xf32>):
    %x = hk.gather_elements %bias_t [%h, %i, %j] : tensor<4x40x40xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<2x40x4x192xbf16>, tensor<2x40x1x192xbf16>, tensor<2x40x1x128xbf16>, tensor<1x4x40x40xf32>
}
