// Gradients of attention with a sink, a left window and rotary parts (queries and keys
// longer than values), dense and ragged, also in f32 of 16-bit operands. Two launches:
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
