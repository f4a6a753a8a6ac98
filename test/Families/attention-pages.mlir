// Pages of a cache and segments of the keys take the warp-specialised loop of sm_90a, too: its
// boxes of pages, the sizes for which the variant is, and what keeps a kernel from it.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// There is always a page: one variant.
// TILE-LABEL: hk.kernel @attention attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 128, bk = 128, waves = 12,
// TILE: hk.launch_dims if %true
// TILE-NOT: hk.variant @v1
// TEXT: .keys = AttentionKeys::paged(16, KeyCount::Given),
// TEXT: using v0 = BulkAttention<BulkSegment<kSpec, AttentionTile{128, 128, 12, 2, 1}>>;
func.func @pages(%q: tensor<16x128x8x128xbf16>, %k: tensor<64x16x1x128xbf16>, %t: tensor<16x32xi32>, %n: tensor<16xi32>) -> tensor<16x128x8x128xbf16> {
  %0 = hk.attention %q, %k, %k kv_lens %n block_table %t scale 0.0884 causal : tensor<16x128x8x128xbf16>, tensor<64x16x1x128xbf16>, tensor<64x16x1x128xbf16> kv_lens tensor<16xi32> block_table tensor<16x32xi32> -> tensor<16x128x8x128xbf16>
  return %0 : tensor<16x128x8x128xbf16>
}

// Few tiles, at least 64 queries a sequence, a page and a new token, the rest.
// TILE-LABEL: hk.kernel @attention_attention_combine attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 16,
// TILE: hk.variant @v3 #hk.attention_tile<bq = 64, bk = 64, waves = 8, stages = 2, splitKv = 1, heads = 2, cluster = 2>
// TILE: hk.variant @v4 #hk.attention_tile<bq = 128, bk = 128, waves = 12,
// TILE: ^bb0(%[[T:.*]]: index, %[[S:.*]]: index, %[[P:.*]]: index):
// TILE-DAG: arith.cmpi uge, %[[T]], %c64
// TILE-DAG: arith.cmpi uge, %[[S]], %c1
// TILE-DAG: arith.cmpi uge, %[[P]], %c1
// TILE: hk.launch_dims if %{{.*}} grid(%{{.*}}, %c1{{.*}}, %c1{{.*}})
// TILE: hk.variant @v5 #hk.attention_tile<bq = 64,
// TEXT: using v4 = BulkAttention<BulkSegment<kSpec, AttentionTile{128, 128, 12, 2, 1}>, BulkSegment<kSpec1, AttentionTile{128, 128, 12, 2, 1}>>;
// TEXT: using v5 = AttentionSegments<AttentionKernel<kSpec,
// TEXT: v4::run(maps, block, lds, arguments(words), arguments1(words));
func.func @extend(%q: tensor<2x?x4x128xbf16>, %k: tensor<2x?x2x128xbf16>, %kc: tensor<?x64x2x128xbf16>, %t: tensor<2x9xi32>, %n: tensor<2xi32>) -> tensor<2x?x4x128xbf16> {
  %x, %a = hk.attention %q, %kc, %kc kv_lens %n block_table %t scale 0.0884 : tensor<2x?x4x128xbf16>, tensor<?x64x2x128xbf16>, tensor<?x64x2x128xbf16> kv_lens tensor<2xi32> block_table tensor<2x9xi32> -> tensor<2x?x4x128xf32>, tensor<2x?x4xf32>
  %y, %b = hk.attention %q, %k, %k scale 0.0884 causal : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16> -> tensor<2x?x4x128xf32>, tensor<2x?x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<2x?x4x128xf32>, tensor<2x?x4xf32>, tensor<2x?x4x128xf32>, tensor<2x?x4xf32> -> tensor<2x?x4x128xbf16>
  return %o : tensor<2x?x4x128xbf16>
}

// EXPLAIN-DAG: unsupported-shape{{.*}}warp_specialised: boxes of keys begin at multiples of 8 rows, but a page has 5
func.func @pages_of_5(%q: tensor<1x128x8x128xbf16>, %k: tensor<64x5x1x128xbf16>, %t: tensor<1x32xi32>) -> tensor<1x128x8x128xbf16> {
  %0 = hk.attention %q, %k, %k block_table %t scale 0.0884 causal : tensor<1x128x8x128xbf16>, tensor<64x5x1x128xbf16>, tensor<64x5x1x128xbf16> block_table tensor<1x32xi32> -> tensor<1x128x8x128xbf16>
  return %0 : tensor<1x128x8x128xbf16>
}
// EXPLAIN-DAG: size-unknown{{.*}}warp_specialised: boxes of keys are of a known number of rows, but that of a page is dynamic
func.func @any_pages(%q: tensor<4x2048x8x128xbf16>, %k: tensor<64x?x1x128xbf16>, %t: tensor<4x32xi32>) -> tensor<4x2048x8x128xbf16> {
  %0 = hk.attention %q, %k, %k block_table %t scale 0.0884 causal : tensor<4x2048x8x128xbf16>, tensor<64x?x1x128xbf16>, tensor<64x?x1x128xbf16> block_table tensor<4x32xi32> -> tensor<4x2048x8x128xbf16>
  return %0 : tensor<4x2048x8x128xbf16>
}
// EXPLAIN-DAG: unsupported-shape{{.*}}warp_specialised: the warp-specialised loop has no layouts but token_major and head_major
func.func @chunks(%q: tensor<1x128x8x64xbf16>, %k: tensor<24x2x8x16x8xbf16>, %v: tensor<24x2x64x16xbf16>, %t: tensor<1x20xi32>) -> tensor<1x128x8x64xbf16> {
  %0 = hk.attention %q, %k, %v block_table %t scale 0.125 key_layout key_chunks value_layout transposed : tensor<1x128x8x64xbf16>, tensor<24x2x8x16x8xbf16>, tensor<24x2x64x16xbf16> block_table tensor<1x20xi32> -> tensor<1x128x8x64xbf16>
  return %0 : tensor<1x128x8x64xbf16>
}
// EXPLAIN-DAG: unsupported-dtype{{.*}}warp_specialised: the warp-specialised loop has no queries, keys, values and probabilities of different types
func.func @narrow_cache(%q: tensor<1x128x4x64xbf16>, %kc: tensor<9x64x2x64xf8E4M3FN>, %t: tensor<1x9xi32>, %k: tensor<1x128x2x64xbf16>) -> tensor<1x128x4x64xbf16> {
  %x, %a = hk.attention %q, %kc, %kc block_table %t scale 0.125 : tensor<1x128x4x64xbf16>, tensor<9x64x2x64xf8E4M3FN>, tensor<9x64x2x64xf8E4M3FN> block_table tensor<1x9xi32> -> tensor<1x128x4x64xf32>, tensor<1x128x4xf32>
  %y, %b = hk.attention %q, %k, %k scale 0.125 causal : tensor<1x128x4x64xbf16>, tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16> -> tensor<1x128x4x64xf32>, tensor<1x128x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b : tensor<1x128x4x64xf32>, tensor<1x128x4xf32>, tensor<1x128x4x64xf32>, tensor<1x128x4xf32> -> tensor<1x128x4x64xbf16>
  return %o : tensor<1x128x4x64xbf16>
}
// EXPLAIN-DAG: group-full{{.*}}warp_specialised: a kernel has at most 8 tensor maps, too few for 4 segments
func.func @four(%q: tensor<128x4x64xbf16>, %k: tensor<70x2x64xbf16>) -> tensor<128x4x64xbf16> {
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<128x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<128x4x64xf32>, tensor<128x4xf32>
  %y, %b = hk.attention %q, %k, %k scale 0.1 : tensor<128x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<128x4x64xf32>, tensor<128x4xf32>
  %z, %c = hk.attention %q, %k, %k scale 0.2 : tensor<128x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<128x4x64xf32>, tensor<128x4xf32>
  %u, %d = hk.attention %q, %k, %k scale 0.3 : tensor<128x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<128x4x64xf32>, tensor<128x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b, %z, %c, %u, %d : tensor<128x4x64xf32>, tensor<128x4xf32>, tensor<128x4x64xf32>, tensor<128x4xf32>, tensor<128x4x64xf32>, tensor<128x4xf32>, tensor<128x4x64xf32>, tensor<128x4xf32> -> tensor<128x4x64xbf16>
  return %o : tensor<128x4x64xbf16>
}
