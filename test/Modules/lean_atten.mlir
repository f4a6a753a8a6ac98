// Attention to many keys by few queries: dense and ragged keys of any length, queries in
// front of the last keys of a prefill, grouped heads, in slices of the keys.
// HK-COMPILE: --split-keys=3
// HK-LAUNCHES: 2
// HK-DIMS: q.0=9 k.0=700
// HK-DIMS: q.0=1 k.0=1
// HK-DATA: normal,equal

func.func @decode_d64(%q: tensor<2x4x64xf16>, %k: tensor<2x333x4x64xf16>, %v: tensor<2x333x4x64xf16>) -> tensor<2x4x64xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 4, 64] : tensor<2x4x64xf16> into tensor<2x1x4x64xf16>
  %o = hk.attention %x, %k, %v scale 0.125 : tensor<2x1x4x64xf16>, tensor<2x333x4x64xf16>, tensor<2x333x4x64xf16> -> tensor<2x1x4x64xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x4x64xf16> into tensor<2x4x64xf16>
  return %r : tensor<2x4x64xf16>
}
func.func @decode_d128_16_rows(%q: tensor<16x2x128xf16>, %k: tensor<1x700x2x128xf16>, %v: tensor<1x700x2x128xf16>) -> tensor<16x2x128xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [1, 16, 2, 128] : tensor<16x2x128xf16> into tensor<1x16x2x128xf16>
  %o = hk.attention %x, %k, %v scale 0.088 : tensor<1x16x2x128xf16>, tensor<1x700x2x128xf16>, tensor<1x700x2x128xf16> -> tensor<1x16x2x128xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x16x2x128xf16> into tensor<16x2x128xf16>
  return %r : tensor<16x2x128xf16>
}
func.func @decode_d16_grouped(%q: tensor<32x8x16xf16>, %k: tensor<2x300x2x16xf16>, %v: tensor<2x300x2x16xf16>) -> tensor<32x8x16xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 16, 8, 16] : tensor<32x8x16xf16> into tensor<2x16x8x16xf16>
  %o = hk.attention %x, %k, %v scale 0.3 : tensor<2x16x8x16xf16>, tensor<2x300x2x16xf16>, tensor<2x300x2x16xf16> -> tensor<2x16x8x16xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x16x8x16xf16> into tensor<32x8x16xf16>
  return %r : tensor<32x8x16xf16>
}
func.func @decode_bf16_96_heads(%q: tensor<1x96x64xbf16>, %k: tensor<1x257x96x64xbf16>, %v: tensor<1x257x96x64xbf16>) -> tensor<1x96x64xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [1, 1, 96, 64] : tensor<1x96x64xbf16> into tensor<1x1x96x64xbf16>
  %o = hk.attention %x, %k, %v scale 0.125 : tensor<1x1x96x64xbf16>, tensor<1x257x96x64xbf16>, tensor<1x257x96x64xbf16> -> tensor<1x1x96x64xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x96x64xbf16> into tensor<1x96x64xbf16>
  return %r : tensor<1x96x64xbf16>
}
func.func @prefill_causal(%q: tensor<260x4x64xf16>, %k: tensor<2x130x1x64xf16>, %v: tensor<2x130x1x64xf16>) -> tensor<260x4x64xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 130, 4, 64] : tensor<260x4x64xf16> into tensor<2x130x4x64xf16>
  %o = hk.attention %x, %k, %v scale 0.125 causal : tensor<2x130x4x64xf16>, tensor<2x130x1x64xf16>, tensor<2x130x1x64xf16> -> tensor<2x130x4x64xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x130x4x64xf16> into tensor<260x4x64xf16>
  return %r : tensor<260x4x64xf16>
}
func.func @one_key(%q: tensor<3x2x128xf16>, %k: tensor<3x1x1x128xf16>, %v: tensor<3x1x1x128xf16>) -> tensor<3x2x128xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [3, 1, 2, 128] : tensor<3x2x128xf16> into tensor<3x1x2x128xf16>
  %o = hk.attention %x, %k, %v scale 0.088 : tensor<3x1x2x128xf16>, tensor<3x1x1x128xf16>, tensor<3x1x1x128xf16> -> tensor<3x1x2x128xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<3x1x2x128xf16> into tensor<3x2x128xf16>
  return %r : tensor<3x2x128xf16>
}
func.func @ragged(%q: tensor<?x4x64xf16> {hk.dims = ["T", "_", "_"]}, %k: tensor<?x4x64xf16> {hk.dims = ["K", "_", "_"]}, %v: tensor<?x4x64xf16> {hk.dims = ["K", "_", "_"]}, %q_offsets: tensor<4xi32>, %k_offsets: tensor<4xi32>) -> tensor<?x4x64xf16> {
  %o = hk.attention %q, %k, %v q_offsets %q_offsets kv_offsets %k_offsets scale 0.125 : tensor<?x4x64xf16>, tensor<?x4x64xf16>, tensor<?x4x64xf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<?x4x64xf16>
  return %o : tensor<?x4x64xf16>
}
