// The variant of an indexer's logits: the operands' type in LDS decides its size.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GFX950
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,SM90

// Groups of 8 queries, tiles of 128 keys.
// CHECK-LABEL: hk.kernel @mqa_logits attention
// HOST: hk.variant @v0 #hk.attention_tile<bq = 8, bk = 128, waves = 1, stages = 1, splitKv = 1> threads 1 lds 99328
// GFX942: hk.variant @v0 #hk.attention_tile<bq = 8, bk = 128, waves = 4, stages = 1, splitKv = 1> threads 256 lds 49408
// GFX950: hk.variant @v0 #hk.attention_tile<bq = 8, bk = 128, waves = 4, stages = 1, splitKv = 1> threads 256 lds 24832
// SM90: hk.variant @v0 #hk.attention_tile<bq = 8, bk = 128, waves = 4, stages = 1, splitKv = 1> threads 128 lds 24832
// GFX942-NEXT: ^bb0(%[[T:.*]]: index, %[[N:.*]]: index):
// GFX942-DAG: %[[C1:.*]] = arith.constant 1 : index
// GFX942-DAG: %[[C8:.*]] = arith.constant 8 : index
// GFX942-DAG: %[[C128:.*]] = arith.constant 128 : index
// GFX942-DAG: %[[X:.*]] = arith.ceildivui %[[T]], %[[C8]]
// GFX942-DAG: %[[Y:.*]] = arith.ceildivui %[[N]], %[[C128]]
// GFX942: hk.launch_dims if %true{{.*}} grid(%[[X]], %[[Y]], %[[C1]])
func.func @ranges(%q: tensor<?x64x128xf8E4M3FN>, %k: tensor<?x128xf8E4M3FN>, %w: tensor<?x64xf32>, %e: tensor<?xi32>) -> tensor<?x?xf32> {
  %l = hk.mqa_logits %q, %k, %w ends %e : tensor<?x64x128xf8E4M3FN>, tensor<?x128xf8E4M3FN>, tensor<?x64xf32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}

// Three sequences of one group; 7 blocks of 64 keys are 4 tiles.
// CHECK-LABEL: hk.kernel @mqa_logits_0 attention
// CHECK: hk.variant @v0
// GFX942: hk.launch_dims if %true{{.*}} grid(%{{c3.*}}, %{{c4.*}}, %{{c1.*}})
// CHECK-NOT: hk.variant
func.func @paged(%q: tensor<3x2x32x64xf8E4M3FN>, %k: tensor<99x64x64xf8E4M3FN>, %w: tensor<3x2x32xf32>, %n: tensor<3xi32>, %t: tensor<3x7xi32>) -> tensor<3x2x448xf32> {
  %l = hk.mqa_logits %q, %k, %w kv_lens %n block_table %t : tensor<3x2x32x64xf8E4M3FN>, tensor<99x64x64xf8E4M3FN>, tensor<3x2x32xf32> kv_lens tensor<3xi32> block_table tensor<3x7xi32> -> tensor<3x2x448xf32>
  return %l : tensor<3x2x448xf32>
}
