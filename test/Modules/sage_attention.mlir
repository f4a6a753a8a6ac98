// Attention of int8 queries and keys with a scale per block of rows, and values of 8 bits
// with a scale per channel; the scale of the softmax, base 2, is in that of the queries.
// HK-LAUNCHES: 1
// HK-DIMS: -
// HK-DATA: normal,equal

func.func @int8_fnuz(%q: tensor<1x33x2x128xi8>, %k: tensor<1x150x2x128xi8>, %v: tensor<1x150x2x128xf8E4M3FNUZ>, %qs: tensor<1x1x2x1xf32>, %ks: tensor<1x2x2x1xf32>, %vs: tensor<1x1x2x128xf32>) -> (tensor<1x33x2x128xbf16>, tensor<1x33x2xf32>) {
  %o, %l = hk.attention %q, %k, %v q_scale %qs k_scale %ks v_scale %vs scale 0.6931472 p_type f8E4M3FNUZ q_block 256 k_block 128 : tensor<1x33x2x128xi8>, tensor<1x150x2x128xi8>, tensor<1x150x2x128xf8E4M3FNUZ> q_scale tensor<1x1x2x1xf32> k_scale tensor<1x2x2x1xf32> v_scale tensor<1x1x2x128xf32> -> tensor<1x33x2x128xbf16>, tensor<1x33x2xf32>
  return %o, %l : tensor<1x33x2x128xbf16>, tensor<1x33x2xf32>
}
func.func @int8_fn_grouped_causal(%q: tensor<1x40x4x128xi8>, %k: tensor<1x70x1x128xi8>, %v: tensor<1x70x1x128xf8E4M3FN>, %qs: tensor<1x1x4x1xf32>, %ks: tensor<1x1x1x1xf32>, %vs: tensor<1x1x1x128xf32>) -> (tensor<1x40x4x128xbf16>, tensor<1x40x4xf32>) {
  %o, %l = hk.attention %q, %k, %v q_scale %qs k_scale %ks v_scale %vs scale 0.6931472 causal p_type f8E4M3FN q_block 256 k_block 128 : tensor<1x40x4x128xi8>, tensor<1x70x1x128xi8>, tensor<1x70x1x128xf8E4M3FN> q_scale tensor<1x1x4x1xf32> k_scale tensor<1x1x1x1xf32> v_scale tensor<1x1x1x128xf32> -> tensor<1x40x4x128xbf16>, tensor<1x40x4xf32>
  return %o, %l : tensor<1x40x4x128xbf16>, tensor<1x40x4xf32>
}
func.func @one_query(%q: tensor<2x1x2x128xi8>, %k: tensor<2x140x1x128xi8>, %v: tensor<2x140x1x128xf8E4M3FNUZ>, %qs: tensor<2x1x2x1xf32>, %ks: tensor<2x2x1x1xf32>, %vs: tensor<2x1x1x128xf32>) -> tensor<2x1x2x128xbf16> {
  %o = hk.attention %q, %k, %v q_scale %qs k_scale %ks v_scale %vs scale 0.6931472 p_type f8E4M3FNUZ q_block 256 k_block 128 : tensor<2x1x2x128xi8>, tensor<2x140x1x128xi8>, tensor<2x140x1x128xf8E4M3FNUZ> q_scale tensor<2x1x2x1xf32> k_scale tensor<2x2x1x1xf32> v_scale tensor<2x1x1x128xf32> -> tensor<2x1x2x128xbf16>
  return %o : tensor<2x1x2x128xbf16>
}
func.func @two_query_blocks(%q: tensor<1x270x1x64xi8>, %k: tensor<1x40x1x64xi8>, %v: tensor<1x40x1x64xf8E4M3FN>, %qs: tensor<1x2x1x1xf32>, %ks: tensor<1x1x1x1xf32>, %vs: tensor<1x1x1x64xf32>) -> tensor<1x270x1x64xbf16> {
  %o = hk.attention %q, %k, %v q_scale %qs k_scale %ks v_scale %vs scale 0.6931472 causal p_type f8E4M3FN q_block 256 k_block 128 : tensor<1x270x1x64xi8>, tensor<1x40x1x64xi8>, tensor<1x40x1x64xf8E4M3FN> q_scale tensor<1x2x1x1xf32> k_scale tensor<1x1x1x1xf32> v_scale tensor<1x1x1x64xf32> -> tensor<1x270x1x64xbf16>
  return %o : tensor<1x270x1x64xbf16>
}
func.func @f16_values(%q: tensor<1x17x2x64xi8>, %k: tensor<1x40x2x64xi8>, %v: tensor<1x40x2x64xf16>, %qs: tensor<1x1x2x1xf32>, %ks: tensor<1x1x2x1xf32>, %vs: tensor<1x1x2x64xf32>) -> (tensor<1x17x2x64xf16>, tensor<1x17x2xf32>) {
  %o, %l = hk.attention %q, %k, %v q_scale %qs k_scale %ks v_scale %vs scale 0.6931472 p_type f16 q_block 256 k_block 128 : tensor<1x17x2x64xi8>, tensor<1x40x2x64xi8>, tensor<1x40x2x64xf16> q_scale tensor<1x1x2x1xf32> k_scale tensor<1x1x2x1xf32> v_scale tensor<1x1x2x64xf32> -> tensor<1x17x2x64xf16>, tensor<1x17x2xf32>
  return %o, %l : tensor<1x17x2x64xf16>, tensor<1x17x2xf32>
}
