// The attention and its gradients: dense and ragged, grouped heads, windows to both
// sides, soft cap, rows and keys that see nothing. Three launches: the attention,
// delta = sum(o * do), and all gradients.
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
