// Attention whose values are columns of its keys takes the latent loop of sm_90a, whose
// keys come through a tensor map: when it is chosen, for which sizes, and what keeps a
// kernel from it.
// RUN: hk-opt %s --canonicalize --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-compile %s --target=sm_90a --split-keys=1 --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --split-keys=1 --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// All sizes are known: one variant, a block for every 64 heads of a
// sequence.
// TILE-LABEL: hk.kernel @attention attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 64, waves = 12, stages = 2, splitKv = 1> threads 384 lds 227{{[0-9]+}}
// TILE: hk.launch_dims if %true grid(%c256, %c1, %c1)
// TILE-NOT: hk.variant @v1
// TEXT: #include "kernels/attention/sm90/latent.h"
// TEXT: using v0 = LatentAttention<kSpec, AttentionTile{64, 64, 12, 2, 1}>;
// TEXT: HK_MAPPED_KERNEL({{.*}}v0, {{[0-9]+}}, v0::kMaps, v0::kThreads, v0::Shared) {
// TEXT-NEXT: v0::run(maps, block, lds, arguments(words));
func.func @heads(%q: tensor<128x1x128x576xbf16>, %k: tensor<999x64x1x576xbf16>, %n: tensor<128xi32>, %t: tensor<128x9xi32>) -> tensor<128x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [999, 64, 1, 512] [1, 1, 1, 1] : tensor<999x64x1x576xbf16> to tensor<999x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 : tensor<128x1x128x576xbf16>, tensor<999x64x1x576xbf16>, tensor<999x64x1x512xbf16> kv_lens tensor<128xi32> block_table tensor<128x9xi32> -> tensor<128x1x128x512xbf16>
  return %0 : tensor<128x1x128x512xbf16>
}

// A cache of an unknown number of pages may have none, of which there is no map.
// TILE-LABEL: hk.kernel @attention_0 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 64, waves = 12,
// TILE: %[[SOME:.*]] = arith.cmpi uge, %{{.*}}, %c1
// TILE: hk.launch_dims if %{{.*}} grid
// TILE: hk.variant @v1 #hk.attention_tile<bq = 16,
// TILE: hk.launch_dims if %true
func.func @cache(%q: tensor<4x2x64x576xf16>, %k: tensor<?x16x1x576xf16>, %n: tensor<4xi32>, %t: tensor<4x9xi32>) -> tensor<4x2x64x512xf16> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %k, %c0 : tensor<?x16x1x576xf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%d, 16, 1, 512] [1, 1, 1, 1] : tensor<?x16x1x576xf16> to tensor<?x16x1x512xf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 causal : tensor<4x2x64x576xf16>, tensor<?x16x1x576xf16>, tensor<?x16x1x512xf16> kv_lens tensor<4xi32> block_table tensor<4x9xi32> -> tensor<4x2x64x512xf16>
  return %0 : tensor<4x2x64x512xf16>
}

// Parts of runs: as many as the chip has units or key heads have slices, times the tiles
// that share one.
// TILE-LABEL: hk.kernel @attention_1 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 64, waves = 12, stages = 2, splitKv = 5, blocks = 44>
// TILE: hk.launch_dims if %true grid(%c60, %c1, %c1)
func.func @runs(%q: tensor<4x1x192x576xbf16>, %k: tensor<99x64x1x576xbf16>, %n: tensor<4xi32>, %t: tensor<4x90xi32>) -> (tensor<5x4x1x192x512xf32>, tensor<5x4x1x192xf32>) {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [99, 64, 1, 512] [1, 1, 1, 1] : tensor<99x64x1x576xbf16> to tensor<99x64x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 kv_slices 5 : tensor<4x1x192x576xbf16>, tensor<99x64x1x576xbf16>, tensor<99x64x1x512xbf16> kv_lens tensor<4xi32> block_table tensor<4x90xi32> -> tensor<5x4x1x192x512xf32>, tensor<5x4x1x192xf32>
  return %0, %1 : tensor<5x4x1x192x512xf32>, tensor<5x4x1x192xf32>
}

// Tokens that only a call knows: whatever rows there are, keys are known.
// TILE-LABEL: hk.kernel @attention_2 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 64, waves = 12,
// TILE: hk.launch_dims if %true
// TILE-NOT: hk.variant @v1
func.func @ragged(%q: tensor<?x16x576xbf16>, %k: tensor<512x1x576xbf16>, %o: tensor<5xi32>) -> tensor<?x16x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0] [512, 1, 512] [1, 1, 1] : tensor<512x1x576xbf16> to tensor<512x1x512xbf16>
  %0 = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.0417 causal : tensor<?x16x576xbf16>, tensor<512x1x576xbf16>, tensor<512x1x512xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<?x16x512xbf16>
  return %0 : tensor<?x16x512xbf16>
}

// EXPLAIN-DAG: unsupported-shape{{.*}}latent: boxes of keys begin at multiples of 8 rows, but a page has 1
// TILE-LABEL: hk.kernel @attention_3 attention
// TILE: hk.variant @v0 #hk.attention_tile<bq = 16,
func.func @gathered(%q: tensor<4x1x128x576xbf16>, %k: tensor<99x1x1x576xbf16>, %t: tensor<4x90xi32>) -> tensor<4x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [99, 1, 1, 512] [1, 1, 1, 1] : tensor<99x1x1x576xbf16> to tensor<99x1x1x512xbf16>
  %0 = hk.attention %q, %k, %v block_table %t scale 0.0417 : tensor<4x1x128x576xbf16>, tensor<99x1x1x576xbf16>, tensor<99x1x1x512xbf16> block_table tensor<4x90xi32> -> tensor<4x1x128x512xbf16>
  return %0 : tensor<4x1x128x512xbf16>
}
// EXPLAIN-DAG: size-unknown{{.*}}latent: boxes of keys are of a known number of rows, but that of a page is dynamic
func.func @pages(%q: tensor<4x1x128x576xbf16>, %k: tensor<99x?x1x576xbf16>, %t: tensor<4x9xi32>) -> tensor<4x1x128x512xbf16> {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %k, %c1 : tensor<99x?x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [99, %d, 1, 512] [1, 1, 1, 1] : tensor<99x?x1x576xbf16> to tensor<99x?x1x512xbf16>
  %0 = hk.attention %q, %k, %v block_table %t scale 0.0417 : tensor<4x1x128x576xbf16>, tensor<99x?x1x576xbf16>, tensor<99x?x1x512xbf16> block_table tensor<4x9xi32> -> tensor<4x1x128x512xbf16>
  return %0 : tensor<4x1x128x512xbf16>
}
// EXPLAIN-DAG: unsupported-dtype{{.*}}latent: the latent loop has no scales of queries and keys
func.func @scaled(%q: tensor<4x1x128x576xbf16>, %k: tensor<4x512x1x576xbf16>, %s: tensor<f32>) -> tensor<4x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [4, 512, 1, 512] [1, 1, 1, 1] : tensor<4x512x1x576xbf16> to tensor<4x512x1x512xbf16>
  %0 = hk.attention %q, %k, %v k_scale %s scale 0.0417 : tensor<4x1x128x576xbf16>, tensor<4x512x1x576xbf16>, tensor<4x512x1x512xbf16> k_scale tensor<f32> -> tensor<4x1x128x512xbf16>
  return %0 : tensor<4x1x128x512xbf16>
}
// EXPLAIN-DAG: unsupported-shape{{.*}}latent: the latent loop has no segments of the keys
func.func @segments(%q: tensor<4x1x128x576xbf16>, %k: tensor<4x512x1x576xbf16>, %l: tensor<4x1x1x576xbf16>) -> tensor<4x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [4, 512, 1, 512] [1, 1, 1, 1] : tensor<4x512x1x576xbf16> to tensor<4x512x1x512xbf16>
  %lv = tensor.extract_slice %l[0, 0, 0, 0] [4, 1, 1, 512] [1, 1, 1, 1] : tensor<4x1x1x576xbf16> to tensor<4x1x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v scale 0.0417 : tensor<4x1x128x576xbf16>, tensor<4x512x1x576xbf16>, tensor<4x512x1x512xbf16> -> tensor<4x1x128x512xf32>, tensor<4x1x128xf32>
  %2, %3 = hk.attention %q, %l, %lv scale 0.0417 : tensor<4x1x128x576xbf16>, tensor<4x1x1x576xbf16>, tensor<4x1x1x512xbf16> -> tensor<4x1x128x512xf32>, tensor<4x1x128xf32>
  %4 = hk.attention_combine %0, %1, %2, %3 : tensor<4x1x128x512xf32>, tensor<4x1x128xf32>, tensor<4x1x128x512xf32>, tensor<4x1x128xf32> -> tensor<4x1x128x512xbf16>
  return %4 : tensor<4x1x128x512xbf16>
}
// EXPLAIN-DAG: unsupported-dtype{{.*}}latent: queries must be bf16 or f16, results that or f32
func.func @wide(%q: tensor<4x1x128x576xf32>, %k: tensor<4x512x1x576xf32>) -> tensor<4x1x128x512xf32> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [4, 512, 1, 512] [1, 1, 1, 1] : tensor<4x512x1x576xf32> to tensor<4x512x1x512xf32>
  %0 = hk.attention %q, %k, %v scale 0.0417 : tensor<4x1x128x576xf32>, tensor<4x512x1x576xf32>, tensor<4x512x1x512xf32> -> tensor<4x1x128x512xf32>
  return %0 : tensor<4x1x128x512xf32>
}
// EXPLAIN-DAG: unsupported-shape{{.*}}latent: a head size of 640, at most 576
func.func @large(%q: tensor<4x1x128x640xbf16>, %k: tensor<4x512x1x640xbf16>) -> tensor<4x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [4, 512, 1, 512] [1, 1, 1, 1] : tensor<4x512x1x640xbf16> to tensor<4x512x1x512xbf16>
  %0 = hk.attention %q, %k, %v scale 0.0417 : tensor<4x1x128x640xbf16>, tensor<4x512x1x640xbf16>, tensor<4x512x1x512xbf16> -> tensor<4x1x128x512xbf16>
  return %0 : tensor<4x1x128x512xbf16>
}
