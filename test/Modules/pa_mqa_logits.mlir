// Logits of the lightning indexer in decode: keys in the blocks of a cache, the scales
// behind the keys of a block or behind every key, one new token per sequence or several.
// The cache comes twice, as elements and as f32.
// HK-LAUNCHES: 1
// HK-ARGS: --range=n=0:150 --range=t=-1:9
// HK-DIMS: weights.0=3 q.0=3
// HK-DATA: normal,equal,nan

func.func @blocks_fn(%q: tensor<3x1x64x128xf8E4M3FN>, %cache: tensor<9x2112xf8E4M3FN>, %cache_f32: tensor<9x528xf32>, %weights: tensor<3x64xf32>, %n: tensor<3xi32>, %t: tensor<3x9xi32>) -> tensor<3x144xf32> {
  %kf = tensor.extract_slice %cache[0, 0] [9, 2048] [1, 1] : tensor<9x2112xf8E4M3FN> to tensor<9x2048xf8E4M3FN>
  %k = tensor.expand_shape %kf [[0], [1, 2]] output_shape [9, 16, 128] : tensor<9x2048xf8E4M3FN> into tensor<9x16x128xf8E4M3FN>
  %sf = tensor.extract_slice %cache_f32[0, 512] [9, 16] [1, 1] : tensor<9x528xf32> to tensor<9x16xf32>
  %s = tensor.expand_shape %sf [[0], [1, 2]] output_shape [9, 16, 1] : tensor<9x16xf32> into tensor<9x16x1xf32>
  %w = tensor.expand_shape %weights [[0, 1], [2]] output_shape [3, 1, 64] : tensor<3x64xf32> into tensor<3x1x64xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s kv_lens %n block_table %t : tensor<3x1x64x128xf8E4M3FN>, tensor<9x16x128xf8E4M3FN>, tensor<3x1x64xf32> key_scales tensor<9x16x1xf32> kv_lens tensor<3xi32> block_table tensor<3x9xi32> -> tensor<3x1x144xf32>
  %r = tensor.collapse_shape %l [[0, 1], [2]] : tensor<3x1x144xf32> into tensor<3x144xf32>
  return %r : tensor<3x144xf32>
}
func.func @tokens_fn(%q: tensor<3x2x64x128xf8E4M3FN>, %cache: tensor<9x16x132xf8E4M3FN>, %cache_f32: tensor<9x16x33xf32>, %weights: tensor<6x64xf32>, %n: tensor<3xi32>, %t: tensor<3x9xi32>) -> tensor<6x144xf32> {
  %k = tensor.extract_slice %cache[0, 0, 0] [9, 16, 128] [1, 1, 1] : tensor<9x16x132xf8E4M3FN> to tensor<9x16x128xf8E4M3FN>
  %s = tensor.extract_slice %cache_f32[0, 0, 32] [9, 16, 1] [1, 1, 1] : tensor<9x16x33xf32> to tensor<9x16x1xf32>
  %w = tensor.expand_shape %weights [[0, 1], [2]] output_shape [3, 2, 64] : tensor<6x64xf32> into tensor<3x2x64xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s kv_lens %n block_table %t : tensor<3x2x64x128xf8E4M3FN>, tensor<9x16x128xf8E4M3FN>, tensor<3x2x64xf32> key_scales tensor<9x16x1xf32> kv_lens tensor<3xi32> block_table tensor<3x9xi32> -> tensor<3x2x144xf32>
  %r = tensor.collapse_shape %l [[0, 1], [2]] : tensor<3x2x144xf32> into tensor<6x144xf32>
  return %r : tensor<6x144xf32>
}
func.func @blocks_fnuz_4_tokens(%q: tensor<2x4x32x64xf8E4M3FNUZ>, %cache: tensor<9x4352xf8E4M3FNUZ>, %cache_f32: tensor<9x1088xf32>, %weights: tensor<8x32xf32>, %n: tensor<2xi32>, %t: tensor<2x3xi32>) -> tensor<8x192xf32> {
  %kf = tensor.extract_slice %cache[0, 0] [9, 4096] [1, 1] : tensor<9x4352xf8E4M3FNUZ> to tensor<9x4096xf8E4M3FNUZ>
  %k = tensor.expand_shape %kf [[0], [1, 2]] output_shape [9, 64, 64] : tensor<9x4096xf8E4M3FNUZ> into tensor<9x64x64xf8E4M3FNUZ>
  %sf = tensor.extract_slice %cache_f32[0, 1024] [9, 64] [1, 1] : tensor<9x1088xf32> to tensor<9x64xf32>
  %s = tensor.expand_shape %sf [[0], [1, 2]] output_shape [9, 64, 1] : tensor<9x64xf32> into tensor<9x64x1xf32>
  %w = tensor.expand_shape %weights [[0, 1], [2]] output_shape [2, 4, 32] : tensor<8x32xf32> into tensor<2x4x32xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s kv_lens %n block_table %t : tensor<2x4x32x64xf8E4M3FNUZ>, tensor<9x64x64xf8E4M3FNUZ>, tensor<2x4x32xf32> key_scales tensor<9x64x1xf32> kv_lens tensor<2xi32> block_table tensor<2x3xi32> -> tensor<2x4x192xf32>
  %r = tensor.collapse_shape %l [[0, 1], [2]] : tensor<2x4x192xf32> into tensor<8x192xf32>
  return %r : tensor<8x192xf32>
}
func.func @tokens_fnuz(%q: tensor<2x1x64x128xf8E4M3FNUZ>, %cache: tensor<9x1x132xf8E4M3FNUZ>, %cache_f32: tensor<9x1x33xf32>, %weights: tensor<2x64xf32>, %n: tensor<2xi32>, %t: tensor<2x150xi32>) -> tensor<2x150xf32> {
  %k = tensor.extract_slice %cache[0, 0, 0] [9, 1, 128] [1, 1, 1] : tensor<9x1x132xf8E4M3FNUZ> to tensor<9x1x128xf8E4M3FNUZ>
  %s = tensor.extract_slice %cache_f32[0, 0, 32] [9, 1, 1] [1, 1, 1] : tensor<9x1x33xf32> to tensor<9x1x1xf32>
  %w = tensor.expand_shape %weights [[0, 1], [2]] output_shape [2, 1, 64] : tensor<2x64xf32> into tensor<2x1x64xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s kv_lens %n block_table %t : tensor<2x1x64x128xf8E4M3FNUZ>, tensor<9x1x128xf8E4M3FNUZ>, tensor<2x1x64xf32> key_scales tensor<9x1x1xf32> kv_lens tensor<2xi32> block_table tensor<2x150xi32> -> tensor<2x1x150xf32>
  %r = tensor.collapse_shape %l [[0, 1], [2]] : tensor<2x1x150xf32> into tensor<2x150xf32>
  return %r : tensor<2x150xf32>
}
func.func @blocks_fnuz_any_batch(%q: tensor<?x1x64x128xf8E4M3FNUZ> {hk.dims = ["B", "_", "_", "_"]}, %cache: tensor<9x2112xf8E4M3FNUZ>, %cache_f32: tensor<9x528xf32>, %weights: tensor<?x64xf32>, %n: tensor<?xi32> {hk.dims = ["B"]}, %t: tensor<?x9xi32> {hk.dims = ["B", "_"]}) -> tensor<?x144xf32> {
  %kf = tensor.extract_slice %cache[0, 0] [9, 2048] [1, 1] : tensor<9x2112xf8E4M3FNUZ> to tensor<9x2048xf8E4M3FNUZ>
  %k = tensor.expand_shape %kf [[0], [1, 2]] output_shape [9, 16, 128] : tensor<9x2048xf8E4M3FNUZ> into tensor<9x16x128xf8E4M3FNUZ>
  %sf = tensor.extract_slice %cache_f32[0, 512] [9, 16] [1, 1] : tensor<9x528xf32> to tensor<9x16xf32>
  %s = tensor.expand_shape %sf [[0], [1, 2]] output_shape [9, 16, 1] : tensor<9x16xf32> into tensor<9x16x1xf32>
  %c0 = arith.constant 0 : index
  %b = tensor.dim %n, %c0 : tensor<?xi32>
  %w = tensor.expand_shape %weights [[0, 1], [2]] output_shape [%b, 1, 64] : tensor<?x64xf32> into tensor<?x1x64xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s kv_lens %n block_table %t : tensor<?x1x64x128xf8E4M3FNUZ>, tensor<9x16x128xf8E4M3FNUZ>, tensor<?x1x64xf32> key_scales tensor<9x16x1xf32> kv_lens tensor<?xi32> block_table tensor<?x9xi32> -> tensor<?x1x144xf32>
  %r = tensor.collapse_shape %l [[0, 1], [2]] : tensor<?x1x144xf32> into tensor<?x144xf32>
  return %r : tensor<?x144xf32>
}
func.func @apart_bf16_11_tokens(%q: tensor<2x11x32x128xbf16>, %k: tensor<9x16x128xbf16>, %s: tensor<9x16x1xf32>, %weights: tensor<22x32xf32>, %n: tensor<2xi32>, %t: tensor<2x9xi32>) -> tensor<22x144xf32> {
  %w = tensor.expand_shape %weights [[0, 1], [2]] output_shape [2, 11, 32] : tensor<22x32xf32> into tensor<2x11x32xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s kv_lens %n block_table %t : tensor<2x11x32x128xbf16>, tensor<9x16x128xbf16>, tensor<2x11x32xf32> key_scales tensor<9x16x1xf32> kv_lens tensor<2xi32> block_table tensor<2x9xi32> -> tensor<2x11x144xf32>
  %r = tensor.collapse_shape %l [[0, 1], [2]] : tensor<2x11x144xf32> into tensor<22x144xf32>
  return %r : tensor<22x144xf32>
}
