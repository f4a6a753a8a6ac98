// Gradients of attention from what the forward pass left, o and lse: causal or not,
// grouped heads, every element type, slopes, a bias, dropout. Two launches: delta = sum(o * do), which is
// computed where do is made, and all gradients.
// HK-LAUNCHES: 2
// HK-DIMS: q.1=100 k.1=100 bias.1=100 bias.2=100
// HK-DIMS: q.1=130 k.1=33 bias.1=130 bias.2=33
// HK-DIMS: @bias_dynamic q.1=1 k.1=131 bias.1=1 bias.2=131
// HK-DIMS: @bias_dynamic q.1=9 k.1=0 bias.1=9 bias.2=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @causal_f16(%q: tensor<2x?x2x64xf16>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x64xf16>, %o: tensor<2x?x2x64xf16>, %do: tensor<2x?x2x64xf16>, %lse: tensor<2x?x2xf32>) -> (tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>) {
  %of = hk.cast %o : tensor<2x?x2x64xf16> -> tensor<2x?x2x64xf32>
  %df = hk.cast %do : tensor<2x?x2x64xf16> -> tensor<2x?x2x64xf32>
  %m = hk.mul %of, %df : tensor<2x?x2x64xf32>
  %r = hk.reduce sum %m : tensor<2x?x2x64xf32> -> tensor<2x?x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x2x1xf32> into tensor<2x?x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2xf32> -> tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>
  return %dq, %dk, %dv : tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>
}
func.func @full_bf16_128(%q: tensor<1x?x4x128xbf16>, %k: tensor<1x?x1x128xbf16>, %v: tensor<1x?x1x128xbf16>, %o: tensor<1x?x4x128xbf16>, %do: tensor<1x?x4x128xbf16>, %lse: tensor<1x?x4xf32>) -> (tensor<1x?x4x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>) {
  %of = hk.cast %o : tensor<1x?x4x128xbf16> -> tensor<1x?x4x128xf32>
  %df = hk.cast %do : tensor<1x?x4x128xbf16> -> tensor<1x?x4x128xf32>
  %m = hk.mul %of, %df : tensor<1x?x4x128xf32>
  %r = hk.reduce sum %m : tensor<1x?x4x128xf32> -> tensor<1x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x?x4x1xf32> into tensor<1x?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 : tensor<1x?x4x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x4x128xbf16>, tensor<1x?x4xf32> -> tensor<1x?x4x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>
  return %dq, %dk, %dv : tensor<1x?x4x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>
}
func.func @causal_f32(%q: tensor<1x50x4x64xf32>, %k: tensor<1x50x2x64xf32>, %v: tensor<1x50x2x64xf32>, %o: tensor<1x50x4x64xf32>, %do: tensor<1x50x4x64xf32>, %lse: tensor<1x50x4xf32>) -> (tensor<1x50x4x64xf32>, tensor<1x50x2x64xf32>, tensor<1x50x2x64xf32>) {
  %m = hk.mul %o, %do : tensor<1x50x4x64xf32>
  %r = hk.reduce sum %m : tensor<1x50x4x64xf32> -> tensor<1x50x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x50x4x1xf32> into tensor<1x50x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<1x50x4x64xf32>, tensor<1x50x2x64xf32>, tensor<1x50x2x64xf32>, tensor<1x50x4x64xf32>, tensor<1x50x4xf32> -> tensor<1x50x4x64xf32>, tensor<1x50x2x64xf32>, tensor<1x50x2x64xf32>
  return %dq, %dk, %dv : tensor<1x50x4x64xf32>, tensor<1x50x2x64xf32>, tensor<1x50x2x64xf32>
}
func.func @gradient_made(%q: tensor<1x64x4x32xbf16>, %k: tensor<1x32x4x32xbf16>, %v: tensor<1x32x4x32xbf16>, %o: tensor<1x64x4x32xbf16>, %g: tensor<1x64x4x32xbf16>, %w: tensor<1x64x4x32xbf16>, %lse: tensor<1x64x4xf32>) -> (tensor<1x64x4x32xbf16>, tensor<1x32x4x32xbf16>, tensor<1x32x4x32xbf16>) {
  %do = hk.mul %g, %w : tensor<1x64x4x32xbf16>
  %of = hk.cast %o : tensor<1x64x4x32xbf16> -> tensor<1x64x4x32xf32>
  %df = hk.cast %do : tensor<1x64x4x32xbf16> -> tensor<1x64x4x32xf32>
  %m = hk.mul %of, %df : tensor<1x64x4x32xf32>
  %r = hk.reduce sum %m : tensor<1x64x4x32xf32> -> tensor<1x64x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x64x4x1xf32> into tensor<1x64x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.177 causal : tensor<1x64x4x32xbf16>, tensor<1x32x4x32xbf16>, tensor<1x32x4x32xbf16>, tensor<1x64x4x32xbf16>, tensor<1x64x4xf32> -> tensor<1x64x4x32xbf16>, tensor<1x32x4x32xbf16>, tensor<1x32x4x32xbf16>
  return %dq, %dk, %dv : tensor<1x64x4x32xbf16>, tensor<1x32x4x32xbf16>, tensor<1x32x4x32xbf16>
}
func.func @large_heads(%q: tensor<1x9x2x256xbf16>, %k: tensor<1x12x1x256xbf16>, %v: tensor<1x12x1x256xbf16>, %o: tensor<1x9x2x256xbf16>, %do: tensor<1x9x2x256xbf16>, %lse: tensor<1x9x2xf32>) -> (tensor<1x9x2x256xbf16>, tensor<1x12x1x256xbf16>, tensor<1x12x1x256xbf16>) {
  %of = hk.cast %o : tensor<1x9x2x256xbf16> -> tensor<1x9x2x256xf32>
  %df = hk.cast %do : tensor<1x9x2x256xbf16> -> tensor<1x9x2x256xf32>
  %m = hk.mul %of, %df : tensor<1x9x2x256xf32>
  %r = hk.reduce sum %m : tensor<1x9x2x256xf32> -> tensor<1x9x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x9x2x1xf32> into tensor<1x9x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0625 causal : tensor<1x9x2x256xbf16>, tensor<1x12x1x256xbf16>, tensor<1x12x1x256xbf16>, tensor<1x9x2x256xbf16>, tensor<1x9x2xf32> -> tensor<1x9x2x256xbf16>, tensor<1x12x1x256xbf16>, tensor<1x12x1x256xbf16>
  return %dq, %dk, %dv : tensor<1x9x2x256xbf16>, tensor<1x12x1x256xbf16>, tensor<1x12x1x256xbf16>
}
func.func @bias_dynamic(%q: tensor<3x?x4x64xbf16>, %k: tensor<3x?x2x64xbf16>, %v: tensor<3x?x2x32xbf16>, %o: tensor<3x?x4x32xbf16>, %do: tensor<3x?x4x32xbf16>, %lse: tensor<3x?x4xf32>, %bias: tensor<4x?x?xf32>) -> (tensor<3x?x4x64xbf16>, tensor<3x?x2x64xbf16>, tensor<3x?x2x32xbf16>, tensor<1x4x?x?xf32>) {
  %of = hk.cast %o : tensor<3x?x4x32xbf16> -> tensor<3x?x4x32xf32>
  %df = hk.cast %do : tensor<3x?x4x32xbf16> -> tensor<3x?x4x32xf32>
  %m = hk.mul %of, %df : tensor<3x?x4x32xf32>
  %r = hk.reduce sum %m : tensor<3x?x4x32xf32> -> tensor<3x?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<3x?x4x1xf32> into tensor<3x?x4xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias) scale 0.125 causal : tensor<3x?x4x64xbf16>, tensor<3x?x2x64xbf16>, tensor<3x?x2x32xbf16>, tensor<3x?x4x32xbf16>, tensor<3x?x4xf32> reads (tensor<4x?x?xf32>) -> tensor<3x?x4x64xbf16>, tensor<3x?x2x64xbf16>, tensor<3x?x2x32xbf16> dbias tensor<1x4x?x?xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<4x?x?xf32>):
    %x = hk.gather_elements %bias_t [%h, %i, %j] : tensor<4x?x?xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<3x?x4x64xbf16>, tensor<3x?x2x64xbf16>, tensor<3x?x2x32xbf16>, tensor<1x4x?x?xf32>
}
func.func @alibi_sequences(%q: tensor<2x30x4x64xf32>, %k: tensor<2x41x2x64xf32>, %v: tensor<2x41x2x64xf32>, %o: tensor<2x30x4x64xf32>, %do: tensor<2x30x4x64xf32>, %lse: tensor<2x30x4xf32>, %slopes: tensor<2x4xf32>) -> (tensor<2x30x4x64xf32>, tensor<2x41x2x64xf32>, tensor<2x41x2x64xf32>) {
  %m = hk.mul %o, %do : tensor<2x30x4x64xf32>
  %r = hk.reduce sum %m : tensor<2x30x4x64xf32> -> tensor<2x30x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x30x4x1xf32> into tensor<2x30x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%slopes) scale 0.125 causal : tensor<2x30x4x64xf32>, tensor<2x41x2x64xf32>, tensor<2x41x2x64xf32>, tensor<2x30x4x64xf32>, tensor<2x30x4xf32> reads (tensor<2x4xf32>) -> tensor<2x30x4x64xf32>, tensor<2x41x2x64xf32>, tensor<2x41x2x64xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %slopes_t: tensor<2x4xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %a = hk.abs %f : tensor<f32>
    %n = hk.neg %a : tensor<f32>
    %slope = hk.gather_elements %slopes_t [%b, %h] : tensor<2x4xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %x = hk.mul %slope, %n : tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv : tensor<2x30x4x64xf32>, tensor<2x41x2x64xf32>, tensor<2x41x2x64xf32>
}
func.func @dropout(%q: tensor<2x?x2x64xf16>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x64xf16>, %o: tensor<2x?x2x64xf16>, %do: tensor<2x?x2x64xf16>, %lse: tensor<2x?x2xf32>, %seed: tensor<i64>) -> (tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>) {
  %of = hk.cast %o : tensor<2x?x2x64xf16> -> tensor<2x?x2x64xf32>
  %df = hk.cast %do : tensor<2x?x2x64xf16> -> tensor<2x?x2x64xf32>
  %m = hk.mul %of, %df : tensor<2x?x2x64xf32>
  %r = hk.reduce sum %m : tensor<2x?x2x64xf32> -> tensor<2x?x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x?x2x1xf32> into tensor<2x?x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%seed) scale 0.125 causal : tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2xf32> reads (tensor<i64>) -> tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16> weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %seed_t: tensor<i64>):
    %heads = hk.constant 2 : tensor<i32>
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
  return %dq, %dk, %dv : tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>
}
