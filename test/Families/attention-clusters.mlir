// Few queries over many keys are fewer tiles than sm_90a has units: the blocks of a cluster
// share a tile's keys. Tiles hold 16 queries of each of several heads.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-compile %s --target=sm_90a --split-keys=1 --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --split-keys=1 --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split | FileCheck %s --check-prefix=PLAN

// A number of queries that only a call knows: whichever clusters fit at once.
// TILE-LABEL: hk.kernel @attention attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 16,
// TILE: hk.variant @v1 #hk.attention_tile<bq = 64, bk = 128, waves = 8, stages = 2, splitKv = 1, heads = 4, cluster = 6> threads 256
// TILE: ^bb0(%[[T:.*]]: index):
// TILE: %[[SLOTS:.*]] = arith.ceildivui %[[T]], %c16
// TILE: %[[TILES:.*]] = arith.muli %[[SLOTS]], %c8
// TILE: %[[BLOCKS:.*]] = arith.muli %[[SLOTS]], %c48
// TILE: %[[FIT:.*]] = arith.cmpi ule, %[[TILES]], %c17
// TILE: hk.launch_dims if %[[FIT]] grid(%[[BLOCKS]],
// TILE: hk.variant @v2 #hk.attention_tile<bq = 64, bk = 128, waves = 8, stages = 2, splitKv = 1, heads = 4, cluster = 3>
// TILE: hk.variant @v3 #hk.attention_tile<bq = 64, bk = 128, waves = 8, stages = 2, splitKv = 1, heads = 4, cluster = 2>
// TILE: hk.variant @v4 #hk.attention_tile<bq = 128, bk = 128, waves = 12, stages = 2, splitKv = 1>
// TEXT: using v1 = BulkAttention<BulkSegment<kSpec, AttentionTile{64, 128, 8, 2, 1, 0, 4, 6}>>;
// PLAN-LABEL: func.func @chunk(
// PLAN-NOT: kv_slices
// PLAN-LABEL: func.func @chunk__up_to_1(
// PLAN-LABEL: func.func @chunk__up_to_16(
// PLAN-NOT: @chunk__up_to_64
func.func @chunk(%q: tensor<?x32x128xbf16> {hk.name = "q"}, %k: tensor<1x8192x4x128xbf16>, %v: tensor<1x8192x4x128xbf16>, %n: tensor<1xi32>) -> tensor<?x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.088 causal : tensor<?x32x128xbf16>, tensor<1x8192x4x128xbf16>, tensor<1x8192x4x128xbf16> kv_lens tensor<1xi32> -> tensor<?x32x128xbf16>
  return %0 : tensor<?x32x128xbf16>
}

// 48 tiles: one variant, as all sizes are known. A tile has 4 heads of a group of 12.
// TILE-LABEL: hk.kernel @attention_0 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 128, waves = 8, stages = 2, splitKv = 1, heads = 4, cluster = 2>
// TILE: hk.launch_dims if %true grid(%c96, %c1, %c1)
// TILE-NOT: hk.variant @v1
// EXPLAIN-DAG: 64x128 waves 8 stages 2 cluster 6{{.*}}48 tiles fill more than 17 such clusters
// PLAN-LABEL: func.func @known(
// PLAN-NOT: kv_slices
func.func @known(%q: tensor<1x64x48x64xf16>, %k: tensor<1x2048x4x64xf16>, %v: tensor<1x2048x4x64xf16>) -> tensor<1x64x48x64xf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x64x48x64xf16>, tensor<1x2048x4x64xf16>, tensor<1x2048x4x64xf16> -> tensor<1x64x48x64xf16>
  return %0 : tensor<1x64x48x64xf16>
}

// All keys in one step, and tiles enough for all units, need none.
// TILE-LABEL: hk.kernel @attention_1 attention
// TILE-NOT: cluster =
func.func @short(%q: tensor<1x128x8x128xbf16>, %k: tensor<1x128x8x128xbf16>) -> tensor<1x128x8x128xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.088 causal : tensor<1x128x8x128xbf16>, tensor<1x128x8x128xbf16>, tensor<1x128x8x128xbf16> -> tensor<1x128x8x128xbf16>
  return %0 : tensor<1x128x8x128xbf16>
}
// TILE-LABEL: hk.kernel @attention_2 attention
// TILE-NOT: cluster =
func.func @many(%q: tensor<4x512x32x128xbf16>, %k: tensor<4x16384x8x128xbf16>) -> tensor<4x512x32x128xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.088 causal : tensor<4x512x32x128xbf16>, tensor<4x16384x8x128xbf16>, tensor<4x16384x8x128xbf16> -> tensor<4x512x32x128xbf16>
  return %0 : tensor<4x512x32x128xbf16>
}
