// Decode from caches of 8 bits, [blocks, heads, rows, elements]: one scale for all keys and
// one for all values, or one of every token and head.
// HK-LAUNCHES: 1
// HK-ARGS: --range=n=0:57 --range=t=0:19
// HK-DIMS: -
// HK-DATA: normal,equal

func.func @fn_scalar(%q: tensor<3x8x128xbf16>, %k: tensor<20x2x16x128xf8E4M3FN>, %v: tensor<20x2x16x128xf8E4M3FN>, %n: tensor<3xi32>, %t: tensor<3x4xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>) -> tensor<3x8x128xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [3, 1, 8, 128] : tensor<3x8x128xbf16> into tensor<3x1x8x128xbf16>
  %ks0 = tensor.collapse_shape %ks [] : tensor<1xf32> into tensor<f32>
  %vs0 = tensor.collapse_shape %vs [] : tensor<1xf32> into tensor<f32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 0.088 key_layout head_major value_layout head_major : tensor<3x1x8x128xbf16>, tensor<20x2x16x128xf8E4M3FN>, tensor<20x2x16x128xf8E4M3FN> kv_lens tensor<3xi32> block_table tensor<3x4xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<3x1x8x128xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<3x1x8x128xbf16> into tensor<3x8x128xbf16>
  return %r : tensor<3x8x128xbf16>
}
func.func @fnuz_per_token(%q: tensor<3x8x128xbf16>, %k: tensor<20x1x16x128xf8E4M3FNUZ>, %v: tensor<20x1x16x128xf8E4M3FNUZ>, %n: tensor<3xi32>, %t: tensor<3x4xi32>, %ks: tensor<20x1x16xf32>, %vs: tensor<20x1x16xf32>) -> tensor<3x8x128xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [3, 1, 8, 128] : tensor<3x8x128xbf16> into tensor<3x1x8x128xbf16>
  %ks0 = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [20, 1, 16, 1] : tensor<20x1x16xf32> into tensor<20x1x16x1xf32>
  %vs0 = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [20, 1, 16, 1] : tensor<20x1x16xf32> into tensor<20x1x16x1xf32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 0.088 key_layout head_major value_layout head_major : tensor<3x1x8x128xbf16>, tensor<20x1x16x128xf8E4M3FNUZ>, tensor<20x1x16x128xf8E4M3FNUZ> kv_lens tensor<3xi32> block_table tensor<3x4xi32> k_scale tensor<20x1x16x1xf32> v_scale tensor<20x1x16x1xf32> -> tensor<3x1x8x128xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<3x1x8x128xbf16> into tensor<3x8x128xbf16>
  return %r : tensor<3x8x128xbf16>
}
func.func @int8_per_token(%q: tensor<4x16x64xbf16>, %k: tensor<20x16x16x64xi8>, %v: tensor<20x16x16x64xi8>, %n: tensor<4xi32>, %t: tensor<4x4xi32>, %ks: tensor<20x16x16xf32>, %vs: tensor<20x16x16xf32>) -> tensor<4x16x64xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [4, 1, 16, 64] : tensor<4x16x64xbf16> into tensor<4x1x16x64xbf16>
  %ks0 = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [20, 16, 16, 1] : tensor<20x16x16xf32> into tensor<20x16x16x1xf32>
  %vs0 = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [20, 16, 16, 1] : tensor<20x16x16xf32> into tensor<20x16x16x1xf32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 0.125 key_layout head_major value_layout head_major : tensor<4x1x16x64xbf16>, tensor<20x16x16x64xi8>, tensor<20x16x16x64xi8> kv_lens tensor<4xi32> block_table tensor<4x4xi32> k_scale tensor<20x16x16x1xf32> v_scale tensor<20x16x16x1xf32> -> tensor<4x1x16x64xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<4x1x16x64xbf16> into tensor<4x16x64xbf16>
  return %r : tensor<4x16x64xbf16>
}
func.func @int8_scalar_f16(%q: tensor<2x8x128xf16>, %k: tensor<20x1x64x128xi8>, %v: tensor<20x1x64x128xi8>, %n: tensor<2xi32>, %t: tensor<2x1xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>) -> tensor<2x8x128xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 8, 128] : tensor<2x8x128xf16> into tensor<2x1x8x128xf16>
  %ks0 = tensor.collapse_shape %ks [] : tensor<1xf32> into tensor<f32>
  %vs0 = tensor.collapse_shape %vs [] : tensor<1xf32> into tensor<f32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 0.088 key_layout head_major value_layout head_major : tensor<2x1x8x128xf16>, tensor<20x1x64x128xi8>, tensor<20x1x64x128xi8> kv_lens tensor<2xi32> block_table tensor<2x1xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<2x1x8x128xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x8x128xf16> into tensor<2x8x128xf16>
  return %r : tensor<2x8x128xf16>
}
func.func @one_row_per_block(%q: tensor<2x4x64xbf16>, %k: tensor<20x4x1x64xf8E4M3FNUZ>, %v: tensor<20x4x1x64xf8E4M3FNUZ>, %n: tensor<2xi32>, %t: tensor<2x57xi32>, %ks: tensor<20x4x1xf32>, %vs: tensor<20x4x1xf32>) -> tensor<2x4x64xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 4, 64] : tensor<2x4x64xbf16> into tensor<2x1x4x64xbf16>
  %ks0 = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [20, 4, 1, 1] : tensor<20x4x1xf32> into tensor<20x4x1x1xf32>
  %vs0 = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [20, 4, 1, 1] : tensor<20x4x1xf32> into tensor<20x4x1x1xf32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 0.125 key_layout head_major value_layout head_major : tensor<2x1x4x64xbf16>, tensor<20x4x1x64xf8E4M3FNUZ>, tensor<20x4x1x64xf8E4M3FNUZ> kv_lens tensor<2xi32> block_table tensor<2x57xi32> k_scale tensor<20x4x1x1xf32> v_scale tensor<20x4x1x1xf32> -> tensor<2x1x4x64xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x4x64xbf16> into tensor<2x4x64xbf16>
  return %r : tensor<2x4x64xbf16>
}
func.func @one_column(%q: tensor<2x2x1xf32>, %k: tensor<20x1x16x1xi8>, %v: tensor<20x1x16x1xi8>, %n: tensor<2xi32>, %t: tensor<2x4xi32>, %ks: tensor<20x1x16xf32>, %vs: tensor<20x1x16xf32>) -> tensor<2x2x1xf32> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 2, 1] : tensor<2x2x1xf32> into tensor<2x1x2x1xf32>
  %ks0 = tensor.expand_shape %ks [[0], [1], [2, 3]] output_shape [20, 1, 16, 1] : tensor<20x1x16xf32> into tensor<20x1x16x1xf32>
  %vs0 = tensor.expand_shape %vs [[0], [1], [2, 3]] output_shape [20, 1, 16, 1] : tensor<20x1x16xf32> into tensor<20x1x16x1xf32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 1.0 key_layout head_major value_layout head_major : tensor<2x1x2x1xf32>, tensor<20x1x16x1xi8>, tensor<20x1x16x1xi8> kv_lens tensor<2xi32> block_table tensor<2x4xi32> k_scale tensor<20x1x16x1xf32> v_scale tensor<20x1x16x1xf32> -> tensor<2x1x2x1xf32>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x2x1xf32> into tensor<2x2x1xf32>
  return %r : tensor<2x2x1xf32>
}
func.func @e5m2_many_heads(%q: tensor<1x64x128xbf16>, %k: tensor<20x1x16x128xf8E5M2>, %v: tensor<20x1x16x128xf8E5M2>, %n: tensor<1xi32>, %t: tensor<1x4xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>) -> tensor<1x64x128xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [1, 1, 64, 128] : tensor<1x64x128xbf16> into tensor<1x1x64x128xbf16>
  %ks0 = tensor.collapse_shape %ks [] : tensor<1xf32> into tensor<f32>
  %vs0 = tensor.collapse_shape %vs [] : tensor<1xf32> into tensor<f32>
  %o = hk.attention %x, %k, %v kv_lens %n block_table %t k_scale %ks0 v_scale %vs0 scale 0.088 key_layout head_major value_layout head_major : tensor<1x1x64x128xbf16>, tensor<20x1x16x128xf8E5M2>, tensor<20x1x16x128xf8E5M2> kv_lens tensor<1xi32> block_table tensor<1x4xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<1x1x64x128xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x64x128xbf16> into tensor<1x64x128xbf16>
  return %r : tensor<1x64x128xbf16>
}
