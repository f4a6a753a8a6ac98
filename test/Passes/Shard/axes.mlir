// Axes that hk-shard cannot cut anything along, and what to do.
// RUN: not hk-opt %s --hk-shard=mesh=dp=2 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not hk-opt %s --hk-shard=mesh=tp=2,TP=2 2>&1 | FileCheck %s --check-prefix=CASE
// RUN: not hk-opt %s --hk-shard=mesh=tp=2,ep=2 2>&1 | FileCheck %s --check-prefix=EXPERTS
// RUN: not hk-opt %s --hk-shard=mesh=tp=5 2>&1 | FileCheck %s --check-prefix=FIVE

// NAME: error: expected axes "tp", which cuts columns and heads, and "ep", which cuts experts, but got "dp"; an axis of another name needs values that are annotated with shard.shard
// CASE: but got "TP"; an axis of another name
// EXPERTS: error: nothing in it can be cut along axis "ep": there is no grouped product by blocks or bounds whose matrices are weights; leave that axis out, or annotate values with shard.shard
// FIVE: error: 48 elements cannot be cut in 5 along axis "tp"; 2, 3, 4, 6, 8, 12, 16, 24 or 48 can share them
hk.weight @up "up" : tensor<48x64xf32>
hk.weight @down "down" : tensor<64x48xf32>
func.func @mlp(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %up = hk.weight_ref @up : tensor<48x64xf32>
  %down = hk.weight_ref @down : tensor<64x48xf32>
  %u = hk.matmul %x, %up transpose_b : tensor<?x64xf32>, tensor<48x64xf32> -> tensor<?x48xf32>
  %s = hk.silu %u : tensor<?x48xf32>
  %y = hk.matmul %s, %down transpose_b : tensor<?x48xf32>, tensor<64x48xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
