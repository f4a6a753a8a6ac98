// What shard.shard says: a vocabulary by rows, a head by columns, attention kept
// whole, an argument that comes in parts.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s

// CHECK-NOT: shard.
// CHECK-DAG: hk.weight @embed.tp "embed" slices [#hk.weight_slice<"tp" dim 0 sizes[32] parts[2]>] : tensor<16x64xbf16>
// CHECK-DAG: hk.weight @head.tp "head" slices [#hk.weight_slice<"tp" dim 0 sizes[32] parts[2]>] : tensor<16x64xbf16>
// CHECK-DAG: hk.weight @up "up" : tensor<48x64xbf16>
shard.grid @mesh(shape = 2)
hk.weight @embed "embed" : tensor<32x64xbf16>
hk.weight @head "head" : tensor<32x64xbf16>
hk.weight @up "up" : tensor<48x64xbf16>
hk.weight @down "down" : tensor<64x48xbf16>

// CHECK-LABEL: func.func @model
// CHECK: %[[R:.*]] = hk.rank axis "tp"
// CHECK: %[[I:.*]] = hk.sub %{{.*}} : tensor<?xi32>, tensor<i32>
// CHECK: %[[E:.*]] = hk.gather_rows %{{.*}}, %[[I]] : tensor<16x64xbf16>
// CHECK: hk.all_reduce sum %[[E]] axis "tp"
// CHECK: %[[L:.*]] = hk.matmul %{{.*}} : tensor<?x64xbf16>, tensor<16x64xbf16> -> tensor<?x16xf32>
// CHECK: hk.all_gather %[[L]] axis "tp" dim 1 : tensor<?x16xf32> -> tensor<?x32xf32>
func.func @model(%ids: tensor<?xi32>) -> tensor<?x32xf32> {
  %rows = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %e = hk.weight_ref @embed : tensor<32x64xbf16>
  %es = shard.shard %e to %rows : tensor<32x64xbf16>
  %h = hk.weight_ref @head : tensor<32x64xbf16>
  %hs = shard.shard %h to %rows : tensor<32x64xbf16>
  %x = hk.gather_rows %es, %ids : tensor<32x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
  %n = hk.l2_norm %x epsilon 1.0e-05 : tensor<?x64xbf16>
  %y = hk.matmul %n, %hs transpose_b : tensor<?x64xbf16>, tensor<32x64xbf16> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// Without the annotation the columns of the first product would be cut.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: hk.all_reduce
func.func @whole(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %none = shard.sharding @mesh split_axes = [[]] : !shard.sharding
  %w = hk.weight_ref @up : tensor<48x64xbf16>
  %ws = shard.shard %w to %none : tensor<48x64xbf16>
  %v = hk.weight_ref @down : tensor<64x48xbf16>
  %0 = hk.matmul %x, %ws transpose_b : tensor<?x64xbf16>, tensor<48x64xbf16> -> tensor<?x48xbf16>
  %1 = hk.matmul %0, %v transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}

// Rows of tokens between the ranks; the last sum leaves each its part.
// CHECK-LABEL: func.func @parts(%{{.*}}: tensor<?x24xbf16>) -> tensor<?x32xbf16>
// CHECK: hk.reduce_scatter sum %{{.*}} axis "tp" dim 1 transport any_order : tensor<?x64xbf16> -> tensor<?x32xbf16>
func.func @parts(%x: tensor<?x48xbf16>) -> tensor<?x64xbf16> {
  %columns = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %xs = shard.shard %x to %columns : tensor<?x48xbf16>
  %v = hk.weight_ref @down : tensor<64x48xbf16>
  %0 = hk.matmul %xs, %v transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  %1 = shard.shard %0 to %columns : tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}
