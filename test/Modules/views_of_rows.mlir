// Rows that are joined or parted between operators ([B, S, H] and [B * S, H], [1, S, H]
// and [S, H]) cost no launch: as exporters write them.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=0:63 --range=slots=iota
// HK-DIMS: @norm_quantize x.1=3
// HK-DIMS: @norm_quantize x.1=0
// HK-DIMS: @residual x.0=2 x.1=5 r.0=10
// HK-DIMS: @residual x.0=1 x.1=1 r.0=1
// HK-DIMS: @rope_cache k.0=2 k.1=3 pos.0=2 pos.1=3 slots.0=6
// HK-DIMS: @modulate x.0=2 x.1=3 sc.0=2
// HK-DIMS: @head_norm_rope x.0=5 pos.0=5
// HK-DIMS: @pair_weights x.0=10 w.0=5
// HK-DIMS: @pair_weights x.0=2 w.0=1
// HK-DATA: normal,nan

func.func @norm_quantize(%x: tensor<4x?x264xbf16>, %w: tensor<264xbf16>) -> (tensor<?x264xi8>, tensor<?x1xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<4x?x264xbf16>, tensor<264xbf16>
  %f = tensor.collapse_shape %n [[0, 1], [2]] : tensor<4x?x264xbf16> into tensor<?x264xbf16>
  %q, %s = hk.quantize per_token %f : tensor<?x264xbf16> -> tensor<?x264xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x264xi8>, tensor<?x1xf32>
}
// Two dynamic dims; the sum and its norm are results in the shape of the model.
func.func @residual(%x: tensor<?x?x96xbf16>, %r: tensor<?x96xbf16>, %w: tensor<96xbf16>) -> (tensor<?x?x96xbf16>, tensor<?x?x96xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x96xbf16>
  %s = tensor.dim %x, %c1 : tensor<?x?x96xbf16>
  %e = tensor.expand_shape %r [[0, 1], [2]] output_shape [%b, %s, 96] : tensor<?x96xbf16> into tensor<?x?x96xbf16>
  %a = hk.add %x, %e : tensor<?x?x96xbf16>
  %f = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x?x96xbf16> into tensor<?x96xbf16>
  %n = hk.rms_norm %f, %w epsilon 1.0e-05 : tensor<?x96xbf16>, tensor<96xbf16>
  %o = tensor.expand_shape %n [[0, 1], [2]] output_shape [%b, %s, 96] : tensor<?x96xbf16> into tensor<?x?x96xbf16>
  return %a, %o : tensor<?x?x96xbf16>, tensor<?x?x96xbf16>
}
func.func @rope_cache(%k: tensor<?x?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?x?xi32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xbf16> {hk.state}) -> tensor<4x16x2x64xbf16> {
  %r = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?x?xi32>
  %f = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<?x?x2x64xbf16> into tensor<?x2x64xbf16>
  %c = hk.kv_cache_write %f, %slots into %kc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  return %c : tensor<4x16x2x64xbf16>
}
// A scale per sequence: its rows repeat, so that the dims stay apart.
func.func @modulate(%x: tensor<?x?x128xbf16>, %w: tensor<128xbf16>, %sc: tensor<?x1x128xbf16>) -> (tensor<?x128xi8>, tensor<?x1xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x?x128xbf16>, tensor<128xbf16>
  %m = hk.mul %n, %sc : tensor<?x?x128xbf16>, tensor<?x1x128xbf16>
  %f = tensor.collapse_shape %m [[0, 1], [2]] : tensor<?x?x128xbf16> into tensor<?x128xbf16>
  %q, %s = hk.quantize per_token %f : tensor<?x128xbf16> -> tensor<?x128xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x128xi8>, tensor<?x1xf32>
}
// Heads as rows of the norm, tokens as rows of RoPE.
func.func @head_norm_rope(%x: tensor<?x256xbf16>, %w: tensor<64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x4x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x256xbf16>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %f = tensor.collapse_shape %e [[0, 1], [2]] : tensor<?x4x64xbf16> into tensor<?x64xbf16>
  %n = hk.rms_norm %f, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %h = tensor.expand_shape %n [[0, 1], [2]] output_shape [%t, 4, 64] : tensor<?x64xbf16> into tensor<?x4x64xbf16>
  %r = hk.rope neox %h, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  return %r : tensor<?x4x64xbf16>
}
// A weight for each row of a pair.
func.func @pair_weights(%x: tensor<?x264xbf16>, %w: tensor<?x2xf32>) -> tensor<?x2x264xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %w, %c0 : tensor<?x2xf32>
  %e = tensor.expand_shape %x [[0, 1], [2]] output_shape [%t, 2, 264] : tensor<?x264xbf16> into tensor<?x2x264xbf16>
  %v = tensor.expand_shape %w [[0], [1, 2]] output_shape [%t, 2, 1] : tensor<?x2xf32> into tensor<?x2x1xf32>
  %c = hk.cast %e : tensor<?x2x264xbf16> -> tensor<?x2x264xf32>
  %y = hk.mul %c, %v : tensor<?x2x264xf32>, tensor<?x2x1xf32>
  return %y : tensor<?x2x264xf32>
}
