// Gradients of attention from what the forward pass left, o and lse: causal or not,
// grouped heads, every element type. Two launches: delta = sum(o * do), which is
// computed where do is made, and all gradients.
// HK-LAUNCHES: 2
// HK-DIMS: q.1=100 k.1=100
// HK-DIMS: q.1=130 k.1=33
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
