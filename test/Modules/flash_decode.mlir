// Decode in slices of the keys: contiguous and paged caches, sink, log-sum-exp,
// window, head sizes of the vector units; the combination fuses with a quantisation.
// Many sequences of different lengths, some of no keys, in equal runs.
// HK-COMPILE: --split-keys=3
// HK-LAUNCHES: 2
// HK-ARGS: --range=n=0:300 --range=t=0:63
// HK-DIMS: -
// HK-DATA: normal,equal

func.func @contiguous(%q: tensor<2x1x4x64xbf16>, %k: tensor<2x300x2x64xbf16>, %v: tensor<2x300x2x64xbf16>, %n: tensor<2xi32>) -> tensor<2x1x4x64xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal : tensor<2x1x4x64xbf16>, tensor<2x300x2x64xbf16>, tensor<2x300x2x64xbf16> kv_lens tensor<2xi32> -> tensor<2x1x4x64xbf16>
  return %o : tensor<2x1x4x64xbf16>
}
func.func @paged(%q: tensor<2x1x8x128xbf16>, %k: tensor<64x16x1x128xbf16>, %v: tensor<64x16x1x128xbf16>, %n: tensor<2xi32>, %t: tensor<2x19xi32>, %s: tensor<8xf32>) -> (tensor<2x1x8x128xbf16>, tensor<2x1x8xf32>) {
  %o, %l = hk.attention %q, %k, %v kv_lens %n block_table %t sink %s scale 0.088 causal : tensor<2x1x8x128xbf16>, tensor<64x16x1x128xbf16>, tensor<64x16x1x128xbf16> kv_lens tensor<2xi32> block_table tensor<2x19xi32> sink tensor<8xf32> -> tensor<2x1x8x128xbf16>, tensor<2x1x8xf32>
  return %o, %l : tensor<2x1x8x128xbf16>, tensor<2x1x8xf32>
}
func.func @vector_units(%q: tensor<3x3x33xf32>, %k: tensor<400x3x33xf32>, %v: tensor<400x3x7xf32>) -> tensor<3x3x7xf32> {
  %o = hk.attention %q, %k, %v scale 0.2 causal window_left 290 softcap 20.0 : tensor<3x3x33xf32>, tensor<400x3x33xf32>, tensor<400x3x7xf32> -> tensor<3x3x7xf32>
  return %o : tensor<3x3x7xf32>
}
func.func @quantised(%q: tensor<4x4x64xf16>, %k: tensor<260x2x64xf16>, %v: tensor<260x2x64xf16>) -> (tensor<4x256xi8>, tensor<4x1xf32>) {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<4x4x64xf16>, tensor<260x2x64xf16>, tensor<260x2x64xf16> -> tensor<4x4x64xf16>
  %c = tensor.collapse_shape %o [[0], [1, 2]] : tensor<4x4x64xf16> into tensor<4x256xf16>
  %x, %s = hk.quantize per_token %c : tensor<4x256xf16> -> tensor<4x256xi8>, tensor<4x1xf32>
  return %x, %s : tensor<4x256xi8>, tensor<4x1xf32>
}
func.func @many_sequences(%q: tensor<150x1x2x32xbf16>, %k: tensor<150x300x1x32xbf16>, %v: tensor<150x300x1x32xbf16>, %n: tensor<150xi32>) -> tensor<150x1x2x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n scale 0.18 : tensor<150x1x2x32xbf16>, tensor<150x300x1x32xbf16>, tensor<150x300x1x32xbf16> kv_lens tensor<150xi32> -> tensor<150x1x2x32xbf16>
  return %o : tensor<150x1x2x32xbf16>
}
func.func @window(%q: tensor<3x2x4x64xf16>, %k: tensor<3x300x2x64xf16>, %v: tensor<3x300x2x64xf16>, %n: tensor<3xi32>) -> (tensor<3x2x4x64xf16>, tensor<3x2x4xf32>) {
  %o, %l = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal window_left 140 : tensor<3x2x4x64xf16>, tensor<3x300x2x64xf16>, tensor<3x300x2x64xf16> kv_lens tensor<3xi32> -> tensor<3x2x4x64xf16>, tensor<3x2x4xf32>
  return %o, %l : tensor<3x2x4x64xf16>, tensor<3x2x4xf32>
}
func.func @ragged_table(%q: tensor<70x1x4x64xbf16>, %k: tensor<64x8x2x64xbf16>, %v: tensor<64x8x2x64xbf16>, %t: tensor<200xi32>, %indptr: tensor<71xi32>) -> tensor<70x1x4x64xbf16> {
  %o = hk.attention %q, %k, %v block_table %t table_offsets %indptr scale 0.125 : tensor<70x1x4x64xbf16>, tensor<64x8x2x64xbf16>, tensor<64x8x2x64xbf16> block_table tensor<200xi32> table_offsets tensor<71xi32> -> tensor<70x1x4x64xbf16>
  return %o : tensor<70x1x4x64xbf16>
}
