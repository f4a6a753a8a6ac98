// The variants of attention: a decode step takes the tile with fewest rows.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=GFX950
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: hk-opt %s --hk-assign-target=target=gfx1100 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,RDNA

// Queries of one sequence into a cache: 4 heads over 2 key heads are 2 rows.
// CHECK-LABEL: hk.kernel @attention attention
// HOST: hk.variant @v0 #hk.attention_tile<bq = 8, bk = 128, waves = 1, stages = 1, splitKv = 1> threads 1 lds 8320
// CDNA: hk.variant @v0 #hk.attention_tile<bq = 16, bk = 32, waves = 4, stages = 1, splitKv = 1> threads 256 lds 9216
// SM90: hk.variant @v0 #hk.attention_tile<bq = 16, bk = 16, waves = 4, stages = 3, splitKv = 1> threads 128 lds 49152
// RDNA: hk.variant @v0 #hk.attention_tile<bq = 16, bk = 32, waves = 4, stages = 1, splitKv = 1> threads 128 lds 32768
// CDNA-NEXT: ^bb0(%[[T:.*]]: index):
// CDNA-DAG: %[[C2:.*]] = arith.constant 2 : index
// CDNA-DAG: %[[C16:.*]] = arith.constant 16 : index
// CDNA-DAG: %[[C1:.*]] = arith.constant 1 : index
// CDNA: %[[ROWS:.*]] = arith.muli %[[T]], %[[C2]]
// CDNA: %[[X:.*]] = arith.ceildivui %[[ROWS]], %[[C16]]
// CDNA: %[[FEW:.*]] = arith.cmpi ule, %[[ROWS]], %[[C16]]
// CDNA: hk.launch_dims if %[[FEW]] grid(%[[X]], %[[C2]], %[[C1]])
// HOST: hk.variant @v1 #hk.attention_tile<bq = 64, bk = 128, waves = 1, stages = 1, splitKv = 1> threads 1 lds 131584
// CDNA: hk.variant @v1 #hk.attention_tile<bq = 32, bk = 32, waves = 4, stages = 1, splitKv = 1> threads 256 lds 32768
// CDNA: hk.variant @v2 #hk.attention_tile<bq = 128, bk = 64, waves = 4, stages = 1, splitKv = 1> threads 256 lds 16384
// GFX950: hk.variant @v2 #hk.attention_tile<bq = 128, bk = 64, waves = 4, stages = 2, splitKv = 1> threads 256 lds 32768
// SM90: hk.variant @v3 #hk.attention_tile<bq = 64, bk = 128, waves = 8, stages = 2, splitKv = 1, heads = 2, cluster = 2> threads 256 lds 74840
// SM90: hk.variant @v4 #hk.attention_tile<bq = 256, bk = 64, waves = 20, stages = 2, splitKv = 1> threads 640 lds 66648
// SM90: hk.variant @v5 #hk.attention_tile<bq = 128, bk = 192, waves = 12, stages = 2, splitKv = 1> threads 384 lds 115800
// SM90: hk.variant @v6 #hk.attention_tile<bq = 64, bk = 64, waves = 4, stages = 2, splitKv = 1> threads 128 lds 32768
// RDNA: hk.variant @v1 #hk.attention_tile<bq = 64, bk = 32, waves = 4, stages = 1, splitKv = 1> threads 128 lds 8192
// CDNA: hk.launch_dims if %true
func.func @prefill(%q: tensor<?x4x64xbf16>, %k: tensor<1x512x2x64xbf16>, %n: tensor<1xi32>) -> tensor<?x4x64xbf16> {
  %0 = hk.attention %q, %k, %k kv_lens %n scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  return %0 : tensor<?x4x64xbf16>
}

// One query: one variant.
// CHECK-LABEL: hk.kernel @attention_0 attention
// CHECK: hk.variant @v0
// CDNA: hk.launch_dims if %true{{.*}} grid(%[[ONE:.*]], %{{.*}}, %[[ONE]])
// CHECK-NOT: hk.variant
func.func @decode(%q: tensor<1x4x64xbf16>, %k: tensor<1x512x2x64xbf16>, %n: tensor<1xi32>) -> tensor<1x4x64xbf16> {
  %0 = hk.attention %q, %k, %k kv_lens %n scale 0.125 causal : tensor<1x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<1x4x64xbf16>
  return %0 : tensor<1x4x64xbf16>
}

// Ragged: room for one partly filled tile per sequence, and for the tokens after the last.
// CHECK-LABEL: hk.kernel @attention_1 attention
// CDNA: ^bb0(%[[T:.*]]: index, %[[BOUNDS:.*]]: index):
// CDNA: %[[TILES:.*]] = arith.maxui %[[BOUNDS]], %c1
// CDNA: %[[FULL:.*]] = arith.divui %{{.*}}, %c32
// CDNA: arith.addi %[[FULL]], %[[TILES]]
func.func @ragged(%q: tensor<?x8x64xf16>, %k: tensor<?x2x64xf16>, %o: tensor<?xi32>) -> tensor<?x8x64xf16> {
  %0 = hk.attention %q, %k, %k q_offsets %o kv_offsets %o scale 0.125 causal : tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x8x64xf16>
  return %0 : tensor<?x8x64xf16>
}

// A head size of no multiple of 16 bytes: the vector units of a GPU.
// CHECK-LABEL: hk.kernel @attention_2 attention
// HOST: #hk.attention_tile<bq = 64
// CDNA: #hk.attention_tile<bq = 1, bk = 64, waves = 1, stages = 1, splitKv = 1> threads 64 lds 388
// SM90: #hk.attention_tile<bq = 1, bk = 32, waves = 1, stages = 1, splitKv = 1> threads 32 lds 260
func.func @odd(%q: tensor<1x9x8x33xbf16>, %k: tensor<1x?x2x33xbf16>) -> tensor<1x9x8x33xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.125 : tensor<1x9x8x33xbf16>, tensor<1x?x2x33xbf16>, tensor<1x?x2x33xbf16> -> tensor<1x9x8x33xbf16>
  return %0 : tensor<1x9x8x33xbf16>
}

// Few rows and a single tile (gfx1100); slices of the keys are a dim of the grid.
// CHECK-LABEL: hk.kernel @attention_3 attention
// RDNA: hk.variant @v0 #hk.attention_tile<bq = 64, bk = 16, waves = 4, stages = 1, splitKv = 5>
// CDNA: hk.variant @v0 #hk.attention_tile<bq = 16, bk = 32, waves = 4, stages = 1, splitKv = 5>
// CHECK: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c5)
// CHECK-NOT: hk.variant @v1
func.func @slices(%q: tensor<1x8x128xbf16>, %k: tensor<4096x2x128xbf16>) -> (tensor<5x1x8x128xf32>, tensor<5x1x8xf32>) {
  %0, %1 = hk.attention %q, %k, %k scale 0.125 causal kv_slices 5 : tensor<1x8x128xbf16>, tensor<4096x2x128xbf16>, tensor<4096x2x128xbf16> -> tensor<5x1x8x128xf32>, tensor<5x1x8xf32>
  return %0, %1 : tensor<5x1x8x128xf32>, tensor<5x1x8xf32>
}
