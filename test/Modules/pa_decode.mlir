// Decode over a paged cache with heads in front of rows: pages of any size, ALiBi, chunked keys
// and transposed values, a list of slots per sequence.
// HK-LAUNCHES: 2
// HK-DIMS: -
// HK-ARGS: --range=lens=0:33

func.func @d128_pages_of_16(%q: tensor<3x1x8x128xbf16>, %k: tensor<24x1x16x128xbf16>, %v: tensor<24x1x16x128xbf16>, %lens: tensor<3xi32>, %pages: tensor<3x6xi32>) -> tensor<3x1x8x128xbf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 key_layout head_major value_layout head_major : tensor<3x1x8x128xbf16>, tensor<24x1x16x128xbf16>, tensor<24x1x16x128xbf16> kv_lens tensor<3xi32> block_table tensor<3x6xi32> -> tensor<3x1x8x128xbf16>
  return %out : tensor<3x1x8x128xbf16>
}
func.func @d64_pages_of_1(%q: tensor<2x1x4x64xf16>, %k: tensor<80x4x1x64xf16>, %v: tensor<80x4x1x64xf16>, %lens: tensor<2xi32>, %pages: tensor<2x33xi32>) -> tensor<2x1x4x64xf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 key_layout head_major value_layout head_major : tensor<2x1x4x64xf16>, tensor<80x4x1x64xf16>, tensor<80x4x1x64xf16> kv_lens tensor<2xi32> block_table tensor<2x33xi32> -> tensor<2x1x4x64xf16>
  return %out : tensor<2x1x4x64xf16>
}
func.func @d1_pages_of_4(%q: tensor<3x1x4x1xf32>, %k: tensor<24x4x4x1xf32>, %v: tensor<24x4x4x1xf32>, %lens: tensor<3xi32>, %pages: tensor<3x9xi32>) -> tensor<3x1x4x1xf32> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 key_layout head_major value_layout head_major : tensor<3x1x4x1xf32>, tensor<24x4x4x1xf32>, tensor<24x4x4x1xf32> kv_lens tensor<3xi32> block_table tensor<3x9xi32> -> tensor<3x1x4x1xf32>
  return %out : tensor<3x1x4x1xf32>
}
func.func @d128_pages_of_512(%q: tensor<1x1x16x128xf16>, %k: tensor<2x16x512x128xf16>, %v: tensor<2x16x512x128xf16>, %lens: tensor<1xi32>, %pages: tensor<1x2xi32>) -> tensor<1x1x16x128xf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 key_layout head_major value_layout head_major : tensor<1x1x16x128xf16>, tensor<2x16x512x128xf16>, tensor<2x16x512x128xf16> kv_lens tensor<1xi32> block_table tensor<1x2xi32> -> tensor<1x1x16x128xf16>
  return %out : tensor<1x1x16x128xf16>
}
func.func @d64_pages_of_4(%q: tensor<4x1x8x64xbf16>, %k: tensor<24x1x4x64xbf16>, %v: tensor<24x1x4x64xbf16>, %lens: tensor<4xi32>, %pages: tensor<4x9xi32>) -> tensor<4x1x8x64xbf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 key_layout head_major value_layout head_major : tensor<4x1x8x64xbf16>, tensor<24x1x4x64xbf16>, tensor<24x1x4x64xbf16> kv_lens tensor<4xi32> block_table tensor<4x9xi32> -> tensor<4x1x8x64xbf16>
  return %out : tensor<4x1x8x64xbf16>
}
func.func @alibi(%q: tensor<3x1x8x64xbf16>, %k: tensor<24x2x16x64xbf16>, %v: tensor<24x2x16x64xbf16>, %lens: tensor<3xi32>, %pages: tensor<3x6xi32>, %extra: tensor<8xf32>) -> tensor<3x1x8x64xbf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages reads (%extra) scale 0.125 key_layout head_major value_layout head_major : tensor<3x1x8x64xbf16>, tensor<24x2x16x64xbf16>, tensor<24x2x16x64xbf16> kv_lens tensor<3xi32> block_table tensor<3x6xi32> reads (tensor<8xf32>) -> tensor<3x1x8x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8xf32>):
    %e = hk.add %i, %nk : tensor<i32>
    %own = hk.sub %e, %nq : tensor<i32>
    %d = hk.sub %j, %own : tensor<i32>
    %f = hk.cast %d : tensor<i32> -> tensor<f32>
    %m = hk.gather_elements %t [%h] : tensor<8xf32> [tensor<i32>] -> tensor<f32>
    %p = hk.mul %m, %f : tensor<f32>
    %r = hk.add %s, %p : tensor<f32>
    hk.yield %r : tensor<f32>
  }
  return %out : tensor<3x1x8x64xbf16>
}
func.func @key_chunks(%q: tensor<3x1x8x64xbf16>, %k: tensor<24x2x8x16x8xbf16>, %v: tensor<24x2x64x16xbf16>, %lens: tensor<3xi32>, %pages: tensor<3x6xi32>) -> tensor<3x1x8x64xbf16> {
  %out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale 0.125 key_layout key_chunks value_layout transposed : tensor<3x1x8x64xbf16>, tensor<24x2x8x16x8xbf16>, tensor<24x2x64x16xbf16> kv_lens tensor<3xi32> block_table tensor<3x6xi32> -> tensor<3x1x8x64xbf16>
  return %out : tensor<3x1x8x64xbf16>
}
func.func @page_lists(%q: tensor<3x4x64xbf16>, %k: tensor<60x1x2x64xbf16>, %v: tensor<60x1x2x64xbf16>, %q_bounds: tensor<4xi32>, %pages: tensor<50xi32>, %page_bounds: tensor<4xi32>) -> tensor<3x4x64xbf16> {
  %out = hk.attention %q, %k, %v q_offsets %q_bounds block_table %pages table_offsets %page_bounds scale 0.125 : tensor<3x4x64xbf16>, tensor<60x1x2x64xbf16>, tensor<60x1x2x64xbf16> q_offsets tensor<4xi32> block_table tensor<50xi32> table_offsets tensor<4xi32> -> tensor<3x4x64xbf16>
  return %out : tensor<3x4x64xbf16>
}
