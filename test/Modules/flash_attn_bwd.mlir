// The attention and its gradients: dense and ragged, grouped heads, windows to both
// sides, soft cap, rows and keys that see nothing; biases with their gradients, masks,
// slopes, dropout. Three launches: the attention, delta = sum(o * do), and all gradients.
// HK-LAUNCHES: 3
// HK-DIMS: q.0=37 k.0=45
// HK-DIMS: q.0=1 k.0=1
// HK-DIMS: @ragged @ragged_window_softcap q.0=150 k.0=90
// HK-DIMS: @ragged @one_sequence q.0=0 k.0=70
// HK-DIMS: @ragged @one_sequence q.0=5 k.0=0
// HK-DATA: normal,equal,nan

func.func @causal(%q: tensor<2x33x4x64xbf16>, %k: tensor<2x47x2x64xbf16>, %v: tensor<2x47x2x64xbf16>, %do: tensor<2x33x4x64xbf16>) -> (tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> -> tensor<2x33x4x64xbf16>, tensor<2x33x4xf32>
  %of = hk.cast %o : tensor<2x33x4x64xbf16> -> tensor<2x33x4x64xf32>
  %df = hk.cast %do : tensor<2x33x4x64xbf16> -> tensor<2x33x4x64xf32>
  %m = hk.mul %of, %df : tensor<2x33x4x64xf32>
  %r = hk.reduce sum %m : tensor<2x33x4x64xf32> -> tensor<2x33x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x33x4x1xf32> into tensor<2x33x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x33x4x64xbf16>, tensor<2x33x4xf32> -> tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>
  return %dq, %dk, %dv : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>
}
func.func @more_queries_than_keys(%q: tensor<1x40x2x32xf32>, %k: tensor<1x9x2x32xf32>, %v: tensor<1x9x2x32xf32>, %do: tensor<1x40x2x32xf32>) -> (tensor<1x40x2x32xf32>, tensor<1x9x2x32xf32>, tensor<1x9x2x32xf32>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x40x2x32xf32>, tensor<1x9x2x32xf32>, tensor<1x9x2x32xf32> -> tensor<1x40x2x32xf32>, tensor<1x40x2xf32>
  %m = hk.mul %o, %do : tensor<1x40x2x32xf32>
  %r = hk.reduce sum %m : tensor<1x40x2x32xf32> -> tensor<1x40x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x40x2x1xf32> into tensor<1x40x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<1x40x2x32xf32>, tensor<1x9x2x32xf32>, tensor<1x9x2x32xf32>, tensor<1x40x2x32xf32>, tensor<1x40x2xf32> -> tensor<1x40x2x32xf32>, tensor<1x9x2x32xf32>, tensor<1x9x2x32xf32>
  return %dq, %dk, %dv : tensor<1x40x2x32xf32>, tensor<1x9x2x32xf32>, tensor<1x9x2x32xf32>
}
func.func @windows_f16(%q: tensor<1x70x2x128xf16>, %k: tensor<1x70x1x128xf16>, %v: tensor<1x70x1x128xf16>, %do: tensor<1x70x2x128xf16>) -> (tensor<1x70x2x128xf16>, tensor<1x70x1x128xf16>, tensor<1x70x1x128xf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.0884 window_left 16 window_right 5 : tensor<1x70x2x128xf16>, tensor<1x70x1x128xf16>, tensor<1x70x1x128xf16> -> tensor<1x70x2x128xf16>, tensor<1x70x2xf32>
  %of = hk.cast %o : tensor<1x70x2x128xf16> -> tensor<1x70x2x128xf32>
  %df = hk.cast %do : tensor<1x70x2x128xf16> -> tensor<1x70x2x128xf32>
  %m = hk.mul %of, %df : tensor<1x70x2x128xf32>
  %r = hk.reduce sum %m : tensor<1x70x2x128xf32> -> tensor<1x70x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x70x2x1xf32> into tensor<1x70x2xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.0884 window_left 16 window_right 5 : tensor<1x70x2x128xf16>, tensor<1x70x1x128xf16>, tensor<1x70x1x128xf16>, tensor<1x70x2x128xf16>, tensor<1x70x2xf32> -> tensor<1x70x2x128xf16>, tensor<1x70x1x128xf16>, tensor<1x70x1x128xf16>
  return %dq, %dk, %dv : tensor<1x70x2x128xf16>, tensor<1x70x1x128xf16>, tensor<1x70x1x128xf16>
}
func.func @full_48_8(%q: tensor<1x11x48x64xbf16>, %k: tensor<1x19x8x64xbf16>, %v: tensor<1x19x8x64xbf16>, %do: tensor<1x11x48x64xbf16>) -> (tensor<1x11x48x64xbf16>, tensor<1x19x8x64xbf16>, tensor<1x19x8x64xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 : tensor<1x11x48x64xbf16>, tensor<1x19x8x64xbf16>, tensor<1x19x8x64xbf16> -> tensor<1x11x48x64xbf16>, tensor<1x11x48xf32>
  %of = hk.cast %o : tensor<1x11x48x64xbf16> -> tensor<1x11x48x64xf32>
  %df = hk.cast %do : tensor<1x11x48x64xbf16> -> tensor<1x11x48x64xf32>
  %m = hk.mul %of, %df : tensor<1x11x48x64xf32>
  %r = hk.reduce sum %m : tensor<1x11x48x64xf32> -> tensor<1x11x48x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x11x48x1xf32> into tensor<1x11x48xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 : tensor<1x11x48x64xbf16>, tensor<1x19x8x64xbf16>, tensor<1x19x8x64xbf16>, tensor<1x11x48x64xbf16>, tensor<1x11x48xf32> -> tensor<1x11x48x64xbf16>, tensor<1x19x8x64xbf16>, tensor<1x19x8x64xbf16>
  return %dq, %dk, %dv : tensor<1x11x48x64xbf16>, tensor<1x19x8x64xbf16>, tensor<1x19x8x64xbf16>
}
func.func @ragged(%q: tensor<?x6x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %do: tensor<?x6x64xbf16>, %cuq: tensor<5xi32>, %cuk: tensor<5xi32>) -> (tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %cuq kv_offsets %cuk scale 0.125 causal : tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<?x6x64xbf16>, tensor<?x6xf32>
  %of = hk.cast %o : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %df = hk.cast %do : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %m = hk.mul %of, %df : tensor<?x6x64xf32>
  %r = hk.reduce sum %m : tensor<?x6x64xf32> -> tensor<?x6x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x6x1xf32> into tensor<?x6xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %cuq kv_offsets %cuk scale 0.125 causal : tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x6x64xbf16>, tensor<?x6xf32> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>
  return %dq, %dk, %dv : tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>
}
func.func @ragged_window_softcap(%q: tensor<?x4x80xf16>, %k: tensor<?x4x80xf16>, %v: tensor<?x4x48xf16>, %do: tensor<?x4x48xf16>, %cuq: tensor<4xi32>, %cuk: tensor<4xi32>) -> (tensor<?x4x80xf16>, tensor<?x4x80xf16>, tensor<?x4x48xf16>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %cuq kv_offsets %cuk scale 0.3 causal window_left 20 softcap 3.0 : tensor<?x4x80xf16>, tensor<?x4x80xf16>, tensor<?x4x48xf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<?x4x48xf16>, tensor<?x4xf32>
  %of = hk.cast %o : tensor<?x4x48xf16> -> tensor<?x4x48xf32>
  %df = hk.cast %do : tensor<?x4x48xf16> -> tensor<?x4x48xf32>
  %m = hk.mul %of, %df : tensor<?x4x48xf32>
  %r = hk.reduce sum %m : tensor<?x4x48xf32> -> tensor<?x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x4x1xf32> into tensor<?x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %cuq kv_offsets %cuk scale 0.3 causal window_left 20 softcap 3.0 : tensor<?x4x80xf16>, tensor<?x4x80xf16>, tensor<?x4x48xf16>, tensor<?x4x48xf16>, tensor<?x4xf32> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<?x4x80xf16>, tensor<?x4x80xf16>, tensor<?x4x48xf16>
  return %dq, %dk, %dv : tensor<?x4x80xf16>, tensor<?x4x80xf16>, tensor<?x4x48xf16>
}
func.func @one_sequence(%q: tensor<?x3x40xbf16>, %k: tensor<?x1x40xbf16>, %v: tensor<?x1x24xbf16>, %do: tensor<?x3x24xbf16>) -> (tensor<?x3x40xbf16>, tensor<?x1x40xbf16>, tensor<?x1x24xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 causal : tensor<?x3x40xbf16>, tensor<?x1x40xbf16>, tensor<?x1x24xbf16> -> tensor<?x3x24xbf16>, tensor<?x3xf32>
  %of = hk.cast %o : tensor<?x3x24xbf16> -> tensor<?x3x24xf32>
  %df = hk.cast %do : tensor<?x3x24xbf16> -> tensor<?x3x24xf32>
  %m = hk.mul %of, %df : tensor<?x3x24xf32>
  %r = hk.reduce sum %m : tensor<?x3x24xf32> -> tensor<?x3x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x3x1xf32> into tensor<?x3xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal : tensor<?x3x40xbf16>, tensor<?x1x40xbf16>, tensor<?x1x24xbf16>, tensor<?x3x24xbf16>, tensor<?x3xf32> -> tensor<?x3x40xbf16>, tensor<?x1x40xbf16>, tensor<?x1x24xbf16>
  return %dq, %dk, %dv : tensor<?x3x40xbf16>, tensor<?x1x40xbf16>, tensor<?x1x24xbf16>
}
func.func @any_head_size(%q: tensor<1x21x3x33xbf16>, %k: tensor<1x17x3x33xbf16>, %v: tensor<1x17x3x7xbf16>, %do: tensor<1x21x3x7xbf16>) -> (tensor<1x21x3x33xbf16>, tensor<1x17x3x33xbf16>, tensor<1x17x3x7xbf16>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 causal softcap 2.0 : tensor<1x21x3x33xbf16>, tensor<1x17x3x33xbf16>, tensor<1x17x3x7xbf16> -> tensor<1x21x3x7xbf16>, tensor<1x21x3xf32>
  %of = hk.cast %o : tensor<1x21x3x7xbf16> -> tensor<1x21x3x7xf32>
  %df = hk.cast %do : tensor<1x21x3x7xbf16> -> tensor<1x21x3x7xf32>
  %m = hk.mul %of, %df : tensor<1x21x3x7xf32>
  %r = hk.reduce sum %m : tensor<1x21x3x7xf32> -> tensor<1x21x3x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x21x3x1xf32> into tensor<1x21x3xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125 causal softcap 2.0 : tensor<1x21x3x33xbf16>, tensor<1x17x3x33xbf16>, tensor<1x17x3x7xbf16>, tensor<1x21x3x7xbf16>, tensor<1x21x3xf32> -> tensor<1x21x3x33xbf16>, tensor<1x17x3x33xbf16>, tensor<1x17x3x7xbf16>
  return %dq, %dk, %dv : tensor<1x21x3x33xbf16>, tensor<1x17x3x33xbf16>, tensor<1x17x3x7xbf16>
}
func.func @bias_of_heads(%q: tensor<2x33x4x64xbf16>, %k: tensor<2x47x2x64xbf16>, %v: tensor<2x47x2x64xbf16>, %do: tensor<2x33x4x64xbf16>, %bias: tensor<1x4x33x47xbf16>) -> (tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>, tensor<1x4x33x47xbf16>) {
  %o, %lse = hk.attention %q, %k, %v reads (%bias) scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> reads (tensor<1x4x33x47xbf16>) -> tensor<2x33x4x64xbf16>, tensor<2x33x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<1x4x33x47xbf16>):
    %none = hk.constant 0 : tensor<i32>
    %x = hk.gather_elements %bias_t [%none, %h, %i, %j] : tensor<1x4x33x47xbf16> [tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<bf16>
    %xf = hk.cast %x : tensor<bf16> -> tensor<f32>
    %y = hk.add %s, %xf : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %of = hk.cast %o : tensor<2x33x4x64xbf16> -> tensor<2x33x4x64xf32>
  %df = hk.cast %do : tensor<2x33x4x64xbf16> -> tensor<2x33x4x64xf32>
  %m = hk.mul %of, %df : tensor<2x33x4x64xf32>
  %r = hk.reduce sum %m : tensor<2x33x4x64xf32> -> tensor<2x33x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x33x4x1xf32> into tensor<2x33x4xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias) scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x33x4x64xbf16>, tensor<2x33x4xf32> reads (tensor<1x4x33x47xbf16>) -> tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> dbias tensor<1x4x33x47xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<1x4x33x47xbf16>):
    %none = hk.constant 0 : tensor<i32>
    %x = hk.gather_elements %bias_t [%none, %h, %i, %j] : tensor<1x4x33x47xbf16> [tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<bf16>
    %xf = hk.cast %x : tensor<bf16> -> tensor<f32>
    %y = hk.add %s, %xf : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>, tensor<1x4x33x47xbf16>
}
func.func @bias_of_sequences(%q: tensor<2x21x6x40xf16>, %k: tensor<2x70x2x40xf16>, %v: tensor<2x70x2x64xf16>, %do: tensor<2x21x6x64xf16>, %bias: tensor<2x6x21x70xf32>) -> (tensor<2x21x6x40xf16>, tensor<2x70x2x40xf16>, tensor<2x70x2x64xf16>, tensor<2x6x21x70xf32>) {
  %o, %lse = hk.attention %q, %k, %v reads (%bias) scale 0.158 window_left 60 : tensor<2x21x6x40xf16>, tensor<2x70x2x40xf16>, tensor<2x70x2x64xf16> reads (tensor<2x6x21x70xf32>) -> tensor<2x21x6x64xf16>, tensor<2x21x6xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<2x6x21x70xf32>):
    %x = hk.gather_elements %bias_t [%b, %h, %i, %j] : tensor<2x6x21x70xf32> [tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %of = hk.cast %o : tensor<2x21x6x64xf16> -> tensor<2x21x6x64xf32>
  %df = hk.cast %do : tensor<2x21x6x64xf16> -> tensor<2x21x6x64xf32>
  %m = hk.mul %of, %df : tensor<2x21x6x64xf32>
  %r = hk.reduce sum %m : tensor<2x21x6x64xf32> -> tensor<2x21x6x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x21x6x1xf32> into tensor<2x21x6xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias) scale 0.158 window_left 60 : tensor<2x21x6x40xf16>, tensor<2x70x2x40xf16>, tensor<2x70x2x64xf16>, tensor<2x21x6x64xf16>, tensor<2x21x6xf32> reads (tensor<2x6x21x70xf32>) -> tensor<2x21x6x40xf16>, tensor<2x70x2x40xf16>, tensor<2x70x2x64xf16> dbias tensor<2x6x21x70xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<2x6x21x70xf32>):
    %x = hk.gather_elements %bias_t [%b, %h, %i, %j] : tensor<2x6x21x70xf32> [tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<2x21x6x40xf16>, tensor<2x70x2x40xf16>, tensor<2x70x2x64xf16>, tensor<2x6x21x70xf32>
}
func.func @bias_mask_softcap(%q: tensor<3x35x2x128xbf16>, %k: tensor<3x35x1x128xbf16>, %v: tensor<3x35x1x128xbf16>, %do: tensor<3x35x2x128xbf16>, %bias: tensor<35x35xf32>, %mask: tensor<35x35xi1>) -> (tensor<3x35x2x128xbf16>, tensor<3x35x1x128xbf16>, tensor<3x35x1x128xbf16>, tensor<1x2x35x35xf32>) {
  %o, %lse = hk.attention %q, %k, %v reads (%bias, %mask) scale 0.0884 softcap 3.0 : tensor<3x35x2x128xbf16>, tensor<3x35x1x128xbf16>, tensor<3x35x1x128xbf16> reads (tensor<35x35xf32>, tensor<35x35xi1>) -> tensor<3x35x2x128xbf16>, tensor<3x35x2xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<35x35xf32>, %mask_t: tensor<35x35xi1>):
    %x = hk.gather_elements %bias_t [%i, %j] : tensor<35x35xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    %seen = hk.gather_elements %mask_t [%i, %j] : tensor<35x35xi1> [tensor<i32>, tensor<i32>] -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %z = hk.select %seen, %y, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %z : tensor<f32>
  }
  %of = hk.cast %o : tensor<3x35x2x128xbf16> -> tensor<3x35x2x128xf32>
  %df = hk.cast %do : tensor<3x35x2x128xbf16> -> tensor<3x35x2x128xf32>
  %m = hk.mul %of, %df : tensor<3x35x2x128xf32>
  %r = hk.reduce sum %m : tensor<3x35x2x128xf32> -> tensor<3x35x2x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<3x35x2x1xf32> into tensor<3x35x2xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias, %mask) scale 0.0884 softcap 3.0 : tensor<3x35x2x128xbf16>, tensor<3x35x1x128xbf16>, tensor<3x35x1x128xbf16>, tensor<3x35x2x128xbf16>, tensor<3x35x2xf32> reads (tensor<35x35xf32>, tensor<35x35xi1>) -> tensor<3x35x2x128xbf16>, tensor<3x35x1x128xbf16>, tensor<3x35x1x128xbf16> dbias tensor<1x2x35x35xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<35x35xf32>, %mask_t: tensor<35x35xi1>):
    %x = hk.gather_elements %bias_t [%i, %j] : tensor<35x35xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    %seen = hk.gather_elements %mask_t [%i, %j] : tensor<35x35xi1> [tensor<i32>, tensor<i32>] -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %z = hk.select %seen, %y, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %z : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<3x35x2x128xbf16>, tensor<3x35x1x128xbf16>, tensor<3x35x1x128xbf16>, tensor<1x2x35x35xf32>
}
func.func @bias_any_head_size(%q: tensor<2x21x3x33xbf16>, %k: tensor<2x17x3x33xbf16>, %v: tensor<2x17x3x7xbf16>, %do: tensor<2x21x3x7xbf16>, %bias: tensor<3x21x17xf32>) -> (tensor<2x21x3x33xbf16>, tensor<2x17x3x33xbf16>, tensor<2x17x3x7xbf16>, tensor<1x3x21x17xf32>) {
  %o, %lse = hk.attention %q, %k, %v reads (%bias) scale 0.125 causal softcap 2.0 : tensor<2x21x3x33xbf16>, tensor<2x17x3x33xbf16>, tensor<2x17x3x7xbf16> reads (tensor<3x21x17xf32>) -> tensor<2x21x3x7xbf16>, tensor<2x21x3xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<3x21x17xf32>):
    %x = hk.gather_elements %bias_t [%h, %i, %j] : tensor<3x21x17xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %of = hk.cast %o : tensor<2x21x3x7xbf16> -> tensor<2x21x3x7xf32>
  %df = hk.cast %do : tensor<2x21x3x7xbf16> -> tensor<2x21x3x7xf32>
  %m = hk.mul %of, %df : tensor<2x21x3x7xf32>
  %r = hk.reduce sum %m : tensor<2x21x3x7xf32> -> tensor<2x21x3x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x21x3x1xf32> into tensor<2x21x3xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias) scale 0.125 causal softcap 2.0 : tensor<2x21x3x33xbf16>, tensor<2x17x3x33xbf16>, tensor<2x17x3x7xbf16>, tensor<2x21x3x7xbf16>, tensor<2x21x3xf32> reads (tensor<3x21x17xf32>) -> tensor<2x21x3x33xbf16>, tensor<2x17x3x33xbf16>, tensor<2x17x3x7xbf16> dbias tensor<1x3x21x17xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<3x21x17xf32>):
    %x = hk.gather_elements %bias_t [%h, %i, %j] : tensor<3x21x17xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<2x21x3x33xbf16>, tensor<2x17x3x33xbf16>, tensor<2x17x3x7xbf16>, tensor<1x3x21x17xf32>
}
func.func @alibi_ragged(%q: tensor<?x6x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %do: tensor<?x6x64xbf16>, %cuq: tensor<5xi32>, %cuk: tensor<5xi32>, %slopes: tensor<6xf32>) -> (tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %cuq kv_offsets %cuk reads (%slopes) scale 0.125 causal : tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> reads (tensor<6xf32>) -> tensor<?x6x64xbf16>, tensor<?x6xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %slopes_t: tensor<6xf32>):
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
  }
  %of = hk.cast %o : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %df = hk.cast %do : tensor<?x6x64xbf16> -> tensor<?x6x64xf32>
  %m = hk.mul %of, %df : tensor<?x6x64xf32>
  %r = hk.reduce sum %m : tensor<?x6x64xf32> -> tensor<?x6x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x6x1xf32> into tensor<?x6xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta q_offsets %cuq kv_offsets %cuk reads (%slopes) scale 0.125 causal : tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x6x64xbf16>, tensor<?x6xf32> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> reads (tensor<6xf32>) -> tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %slopes_t: tensor<6xf32>):
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
  }
  return %dq, %dk, %dv : tensor<?x6x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>
}
func.func @dropout(%q: tensor<2x33x4x64xbf16>, %k: tensor<2x47x2x64xbf16>, %v: tensor<2x47x2x64xbf16>, %do: tensor<2x33x4x64xbf16>, %seed: tensor<i64>) -> (tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>) {
  %o, %lse = hk.attention %q, %k, %v reads (%seed) scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> reads (tensor<i64>) -> tensor<2x33x4x64xbf16>, tensor<2x33x4xf32> weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %seed_t: tensor<i64>):
    %heads = hk.constant 4 : tensor<i32>
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
  %of = hk.cast %o : tensor<2x33x4x64xbf16> -> tensor<2x33x4x64xf32>
  %df = hk.cast %do : tensor<2x33x4x64xbf16> -> tensor<2x33x4x64xf32>
  %m = hk.mul %of, %df : tensor<2x33x4x64xf32>
  %r = hk.reduce sum %m : tensor<2x33x4x64xf32> -> tensor<2x33x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x33x4x1xf32> into tensor<2x33x4xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%seed) scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x33x4x64xbf16>, tensor<2x33x4xf32> reads (tensor<i64>) -> tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %seed_t: tensor<i64>):
    %heads = hk.constant 4 : tensor<i32>
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
  return %dq, %dk, %dv : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16>
}
func.func @bias_dropout(%q: tensor<1x50x4x96xf16>, %k: tensor<1x40x4x96xf16>, %v: tensor<1x40x4x64xf16>, %do: tensor<1x50x4x64xf16>, %bias: tensor<4x50x40xf32>, %seed: tensor<i64>) -> (tensor<1x50x4x96xf16>, tensor<1x40x4x96xf16>, tensor<1x40x4x64xf16>, tensor<1x4x50x40xf32>) {
  %o, %lse = hk.attention %q, %k, %v reads (%bias, %seed) scale 0.1 : tensor<1x50x4x96xf16>, tensor<1x40x4x96xf16>, tensor<1x40x4x64xf16> reads (tensor<4x50x40xf32>, tensor<i64>) -> tensor<1x50x4x64xf16>, tensor<1x50x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<4x50x40xf32>, %seed_t: tensor<i64>):
    %x = hk.gather_elements %bias_t [%h, %i, %j] : tensor<4x50x40xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  } weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<4x50x40xf32>, %seed_t: tensor<i64>):
    %heads = hk.constant 4 : tensor<i32>
    %bh = hk.mul %b, %heads : tensor<i32>
    %bh1 = hk.add %bh, %h : tensor<i32>
    %bi = hk.mul %bh1, %nq : tensor<i32>
    %bi1 = hk.add %bi, %i : tensor<i32>
    %at = hk.mul %bi1, %nk : tensor<i32>
    %at1 = hk.add %at, %j : tensor<i32>
    %wide = hk.cast %at1 : tensor<i32> -> tensor<i64>
    %u = hk.philox %seed_t, %wide : tensor<i64>, tensor<i64> -> tensor<f32>
    %least = hk.constant 0.5 : tensor<f32>
    %kept = hk.compare gt %u, %least : tensor<f32> -> tensor<i1>
    %up = hk.constant 2.0 : tensor<f32>
    %zero = hk.constant 0.0 : tensor<f32>
    %w = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %w : tensor<f32>
  }
  %of = hk.cast %o : tensor<1x50x4x64xf16> -> tensor<1x50x4x64xf32>
  %df = hk.cast %do : tensor<1x50x4x64xf16> -> tensor<1x50x4x64xf32>
  %m = hk.mul %of, %df : tensor<1x50x4x64xf32>
  %r = hk.reduce sum %m : tensor<1x50x4x64xf32> -> tensor<1x50x4x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<1x50x4x1xf32> into tensor<1x50x4xf32>
  %dq, %dk, %dv, %dbias = hk.attention_backward %q, %k, %v, %do, %lse, %delta reads (%bias, %seed) scale 0.1 : tensor<1x50x4x96xf16>, tensor<1x40x4x96xf16>, tensor<1x40x4x64xf16>, tensor<1x50x4x64xf16>, tensor<1x50x4xf32> reads (tensor<4x50x40xf32>, tensor<i64>) -> tensor<1x50x4x96xf16>, tensor<1x40x4x96xf16>, tensor<1x40x4x64xf16> dbias tensor<1x4x50x40xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<4x50x40xf32>, %seed_t: tensor<i64>):
    %x = hk.gather_elements %bias_t [%h, %i, %j] : tensor<4x50x40xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  } weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %bias_t: tensor<4x50x40xf32>, %seed_t: tensor<i64>):
    %heads = hk.constant 4 : tensor<i32>
    %bh = hk.mul %b, %heads : tensor<i32>
    %bh1 = hk.add %bh, %h : tensor<i32>
    %bi = hk.mul %bh1, %nq : tensor<i32>
    %bi1 = hk.add %bi, %i : tensor<i32>
    %at = hk.mul %bi1, %nk : tensor<i32>
    %at1 = hk.add %at, %j : tensor<i32>
    %wide = hk.cast %at1 : tensor<i32> -> tensor<i64>
    %u = hk.philox %seed_t, %wide : tensor<i64>, tensor<i64> -> tensor<f32>
    %least = hk.constant 0.5 : tensor<f32>
    %kept = hk.compare gt %u, %least : tensor<f32> -> tensor<i1>
    %up = hk.constant 2.0 : tensor<f32>
    %zero = hk.constant 0.0 : tensor<f32>
    %w = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %w : tensor<f32>
  }
  return %dq, %dk, %dv, %dbias : tensor<1x50x4x96xf16>, tensor<1x40x4x96xf16>, tensor<1x40x4x64xf16>, tensor<1x4x50x40xf32>
}
