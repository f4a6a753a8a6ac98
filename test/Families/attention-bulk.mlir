// Attention of many queries takes the warp-specialised loop of sm_90a, whose operands
// come through tensor maps: tiles by head size and soft cap, the sizes for which
// a variant is, and what keeps a kernel from it.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// All sizes are known: one variant, as many blocks as the chip holds or tiles there are.
// TILE-LABEL: hk.kernel @attention attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 128, bk = 128, waves = 12, stages = 2, splitKv = 1> threads 384 lds 164952
// TILE: hk.launch_dims if %true grid(%c132, %c1, %c1)
// TILE-NOT: hk.variant @v1
// TEXT: #include "kernels/attention/sm90/warp_specialised.h"
// TEXT: using v0 = BulkAttention<BulkSegment<kSpec, AttentionTile{128, 128, 12, 2, 1}>>;
// TEXT: HK_MAPPED_KERNEL({{.*}}v0, {{[0-9]+}}, v0::kMaps, v0::kThreads, v0::Shared) {
// TEXT-NEXT: v0::run(maps, block, lds, arguments(words));
func.func @causal(%q: tensor<4x4096x32x128xbf16>, %k: tensor<4x4096x8x128xbf16>) -> tensor<4x4096x32x128xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0884 causal : tensor<4x4096x32x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16> -> tensor<4x4096x32x128xbf16>
  return %0 : tensor<4x4096x32x128xbf16>
}

// Unknown sizes: few rows, few tiles (attention-clusters.mlir), at least 64 queries and a key, the
// rest.
// TILE-LABEL: hk.kernel @attention_0 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 16,
// TILE: hk.variant @v4 #hk.attention_tile<bq = 128, bk = 128, waves = 12,
// TILE: ^bb0(%[[T:.*]]: index, %[[S:.*]]: index):
// TILE-DAG: %[[MANY:.*]] = arith.cmpi uge, %[[T]], %c64
// TILE-DAG: %[[KEYS:.*]] = arith.cmpi uge, %[[S]], %c1
// TILE: %[[BOTH:.*]] = arith.andi %[[MANY]], %[[KEYS]]
// TILE: hk.launch_dims if %[[BOTH]] grid(%{{.*}}, %c1{{.*}}, %c1{{.*}})
// TILE: hk.variant @v5 #hk.attention_tile<bq = 64,
// TILE: hk.launch_dims if %true
func.func @full(%q: tensor<2x?x4x128xf16>, %k: tensor<2x?x4x128xf16>) -> tensor<2x?x4x128xf16> {
  %0 = hk.attention %q, %k, %k scale 0.0884 : tensor<2x?x4x128xf16>, tensor<2x?x4x128xf16>, tensor<2x?x4x128xf16> -> tensor<2x?x4x128xf16>
  return %0 : tensor<2x?x4x128xf16>
}

// A soft cap needs registers.
// TILE-LABEL: hk.kernel @attention_1 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 128, bk = 64, waves = 12,
func.func @cap(%q: tensor<8x512x16x256xbf16>, %k: tensor<8x512x16x256xbf16>) -> tensor<8x512x16x256xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0625 softcap 30.0 : tensor<8x512x16x256xbf16>, tensor<8x512x16x256xbf16>, tensor<8x512x16x256xbf16> -> tensor<8x512x16x256xbf16>
  return %0 : tensor<8x512x16x256xbf16>
}

// Few queries of each of many heads, of many sequences.
// TILE-LABEL: hk.kernel @attention_2 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 64, waves = 4,
// TILE-NOT: hk.variant @v1
func.func @few(%q: tensor<64x32x8x128xbf16>, %k: tensor<64x512x1x128xbf16>) -> tensor<64x32x8x128xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0884 causal : tensor<64x32x8x128xbf16>, tensor<64x512x1x128xbf16>, tensor<64x512x1x128xbf16> -> tensor<64x32x8x128xbf16>
  return %0 : tensor<64x32x8x128xbf16>
}

// EXPLAIN-DAG: unsupported-dtype{{.*}}warp_specialised: queries and result must be bf16 or f16
func.func @wide(%q: tensor<1x128x8x128xf32>, %k: tensor<1x512x1x128xf32>) -> tensor<1x128x8x128xf32> {
  %0 = hk.attention %q, %k, %k scale 0.0884 causal : tensor<1x128x8x128xf32>, tensor<1x512x1x128xf32>, tensor<1x512x1x128xf32> -> tensor<1x128x8x128xf32>
  return %0 : tensor<1x128x8x128xf32>
}
// EXPLAIN-DAG: unsupported-shape{{.*}}warp_specialised: a head size of 320, at most 256
func.func @large(%q: tensor<1x128x2x320xbf16>, %k: tensor<1x512x2x320xbf16>) -> tensor<1x128x2x320xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0559 : tensor<1x128x2x320xbf16>, tensor<1x512x2x320xbf16>, tensor<1x512x2x320xbf16> -> tensor<1x128x2x320xbf16>
  return %0 : tensor<1x128x2x320xbf16>
}

// All queries see 577 keys: 640 of 128 a step are computed, 768 would be of 192. Of 1500
// both have 1536, and so many queries fill the units with tiles of 256. What is masked
// inside of steps anyway takes the larger ones.
// TILE: hk.kernel @{{.*}} attention inputs 3 shapes [#hk.shape<[2, 577, 8, 64]>
// TILE: hk.variant @v0 #hk.attention_tile<bq = 128, bk = 128, waves = 12,
// TILE: hk.kernel @{{.*}} attention inputs 3 shapes [#hk.shape<[2, 1500, 8, 64]>
// TILE: hk.variant @v0 #hk.attention_tile<bq = 256, bk = 64, waves = 20,
// TILE: hk.kernel @{{.*}} attention inputs 3 shapes [#hk.shape<[3, 577, 8, 64]>
// TILE: hk.variant @v0 #hk.attention_tile<bq = 128, bk = 192, waves = 12,
// 80 tiles of 256 queries would take a round of 132 units, but under a causal mask of as many
// keys most wait for the longest: of 128 they are done in the time of one. Of 3000 queries, or
// over a cache, whose tiles are nearly equally long, larger tiles pay.
// TILE: hk.kernel @{{.*}} attention inputs 3 shapes [#hk.shape<[1, 1024, 20, 64]>
// TILE: hk.variant @v0 #hk.attention_tile<bq = 128, bk = 192, waves = 12,
// TILE: hk.kernel @{{.*}} attention inputs 3 shapes [#hk.shape<[1, 3000, 32, 64]>
// TILE: hk.variant @v0 #hk.attention_tile<bq = 256, bk = 64, waves = 20,
// TILE: hk.kernel @{{.*}} attention inputs 3 shapes [#hk.shape<[1, 1024, 20, 64]>
// TILE: hk.variant @v0 #hk.attention_tile<bq = 256, bk = 64, waves = 20,
func.func @image(%q: tensor<2x577x8x64xbf16>, %k: tensor<2x577x8x64xbf16>, %v: tensor<2x577x8x64xbf16>) -> tensor<2x577x8x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 : tensor<2x577x8x64xbf16>, tensor<2x577x8x64xbf16>, tensor<2x577x8x64xbf16> -> tensor<2x577x8x64xbf16>
  return %0 : tensor<2x577x8x64xbf16>
}
func.func @sound(%q: tensor<2x1500x8x64xbf16>, %k: tensor<2x1500x8x64xbf16>, %v: tensor<2x1500x8x64xbf16>) -> tensor<2x1500x8x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 : tensor<2x1500x8x64xbf16>, tensor<2x1500x8x64xbf16>, tensor<2x1500x8x64xbf16> -> tensor<2x1500x8x64xbf16>
  return %0 : tensor<2x1500x8x64xbf16>
}
func.func @text(%q: tensor<3x577x8x64xbf16>, %k: tensor<3x577x8x64xbf16>, %v: tensor<3x577x8x64xbf16>) -> tensor<3x577x8x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 causal : tensor<3x577x8x64xbf16>, tensor<3x577x8x64xbf16>, tensor<3x577x8x64xbf16> -> tensor<3x577x8x64xbf16>
  return %0 : tensor<3x577x8x64xbf16>
}
func.func @causal_few(%q: tensor<1x1024x20x64xbf16>, %k: tensor<1x1024x20x64xbf16>, %v: tensor<1x1024x20x64xbf16>) -> tensor<1x1024x20x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x1024x20x64xbf16>, tensor<1x1024x20x64xbf16>, tensor<1x1024x20x64xbf16> -> tensor<1x1024x20x64xbf16>
  return %0 : tensor<1x1024x20x64xbf16>
}
func.func @causal_many(%q: tensor<1x3000x32x64xbf16>, %k: tensor<1x3000x32x64xbf16>, %v: tensor<1x3000x32x64xbf16>) -> tensor<1x3000x32x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x3000x32x64xbf16>, tensor<1x3000x32x64xbf16>, tensor<1x3000x32x64xbf16> -> tensor<1x3000x32x64xbf16>
  return %0 : tensor<1x3000x32x64xbf16>
}
func.func @causal_cached(%q: tensor<1x1024x20x64xbf16>, %k: tensor<1x9000x20x64xbf16>, %v: tensor<1x9000x20x64xbf16>) -> tensor<1x1024x20x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x1024x20x64xbf16>, tensor<1x9000x20x64xbf16>, tensor<1x9000x20x64xbf16> -> tensor<1x1024x20x64xbf16>
  return %0 : tensor<1x1024x20x64xbf16>
}
