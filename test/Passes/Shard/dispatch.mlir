// Where ranks have tokens of their own, rows go to the ranks that have their experts,
// each with the number of its group there plus one, and come back to the place from
// which they were sent.
// RUN: hk-opt %s --hk-shard=mesh=ep=2 --split-input-file --verify-diagnostics | FileCheck %s

shard.grid @mesh(shape = 2)
// CHECK: hk.weight @w1.ep "w1" slices [#hk.weight_slice<"ep" dim 0 sizes[4] parts[2]>] : tensor<2x64x24xf32>
hk.weight @w1 "w1" : tensor<4x64x24xf32>
hk.weight @w2 "w2" : tensor<4x24x64xf32>

// CHECK-LABEL: func.func @experts
// CHECK-SAME: (%[[X:.*]]: tensor<?x24xf32>, %[[ORDER:.*]]: tensor<?xi32>, %[[PLACE:.*]]: tensor<?xi32>, %[[BOUNDS:.*]]: tensor<5xi32>)
// CHECK: %[[STARTS:.*]] = hk.gather_rows %[[BOUNDS]], %{{.*}} : tensor<5xi32>, tensor<3xi32> -> tensor<3xi32>
// CHECK: %[[COUNTS:.*]] = hk.sub
// CHECK: %[[RANK:.*]], %[[NUMBER:.*]], %{{.*}} = hk.segments bounds %[[STARTS]] items %[[ORDER]]
// CHECK: %[[GROUP:.*]], %{{.*}}, %{{.*}} = hk.segments bounds %[[BOUNDS]] items %[[ORDER]]
// CHECK: hk.div
// CHECK: %[[KEYS:.*]], %{{.*}} = hk.all_to_all_rows %{{.*}}, %[[COUNTS]] axis "ep" : tensor<?xi32>, tensor<2xi32> -> tensor<2x?xi32>, tensor<2xi32>
// CHECK: %[[OWNORDER:.*]], %[[OWNPLACE:.*]] = hk.sort_by_key %{{.*}} bins 2
// CHECK: %[[OWNBOUNDS:.*]] = hk.cumsum offsets
// CHECK: %[[CAME:.*]], %{{.*}} = hk.all_to_all_rows %{{.*}}, %[[COUNTS]] axis "ep" : tensor<?x24xf32>, tensor<2xi32> -> tensor<2x?x24xf32>, tensor<2xi32>
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[CAME]]
// CHECK: %[[H:.*]] = hk.grouped_matmul %[[ROWS]], %{{.*}} bounds %[[OWNBOUNDS]] order %[[OWNORDER]] transpose_b : tensor<?x24xf32>
// CHECK: %[[G:.*]] = hk.silu %[[H]]
// CHECK: %[[Y:.*]] = hk.grouped_matmul %[[G]], %{{.*}} bounds %[[OWNBOUNDS]] transpose_b
// CHECK: %[[BACK:.*]] = hk.gather_rows %[[Y]], %[[OWNPLACE]]
// CHECK: hk.all_to_all %{{.*}} axis "ep" split 0 concat 0 : tensor<2x?x24xf32>
// CHECK: %[[TABLE:.*]] = tensor.collapse_shape
// CHECK: hk.gather_rows %[[TABLE]], %{{.*}} : tensor<?x24xf32>, tensor<?xi32>
// CHECK-NOT: hk.all_reduce
func.func @experts(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %place: tensor<?xi32>, %bounds: tensor<5xi32>) -> tensor<?x24xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x64xf32>
  %h = hk.grouped_matmul %mine, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.silu %h : tensor<?x64xf32>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x64xf32>, tensor<4x24x64xf32> groups tensor<5xi32> -> tensor<?x24xf32>
  %r = hk.gather_rows %y, %place : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  return %r : tensor<?x24xf32>
}

// -----

shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
func.func @blocks(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x64xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  // expected-error @+1 {{expected its groups to be bounds, because ranks have tokens of their own along axis "ep"}}
  %h = hk.grouped_matmul %mine, %w1 blocks %experts order %order transpose_b block 16 top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xf32>
  return %h : tensor<?x64xf32>
}

// -----

// A rank adds the biases of its own experts, to rows that have come.
shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
// CHECK: hk.weight @b1.ep "b1" slices [#hk.weight_slice<"ep" dim 0 sizes[4] parts[2]>] : tensor<2x64xf32>
hk.weight @b1 "b1" : tensor<4x64xf32>
// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %bounds: tensor<5xi32>, %place: tensor<?xi32>) -> tensor<?x64xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  // CHECK: %[[BIAS:.*]] = hk.weight_ref @b1.ep : tensor<2x64xf32>
  %b1 = hk.weight_ref @b1 : tensor<4x64xf32>
  // CHECK: hk.grouped_matmul %{{.*}}, %{{.*}} bounds %{{.*}} order %{{.*}} bias %[[BIAS]] transpose_b
  %h = hk.grouped_matmul %mine, %w1 bounds %bounds order %order bias %b1 transpose_b : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> bias tensor<4x64xf32> -> tensor<?x64xf32>
  // CHECK: hk.all_to_all
  %0 = hk.gather_rows %h, %place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
func.func @static(%x: tensor<?x24xf32>, %order: tensor<6xi32>, %bounds: tensor<5xi32>) -> tensor<6x64xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  // expected-error @+1 {{expected an order of dynamic size, because ranks have tokens of their own along axis "ep", but got 'tensor<6xi32>'}}
  %h = hk.grouped_matmul %mine, %w1 bounds %bounds order %order transpose_b : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<6xi32> -> tensor<6x64xf32>
  return %h : tensor<6x64xf32>
}

// -----

shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
func.func @orders(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %other: tensor<?xi32>, %bounds: tensor<5xi32>, %place: tensor<?xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %h = hk.grouped_matmul %mine, %w1 bounds %bounds order %order transpose_b : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  // expected-error @+1 {{expected all products with these groups to have the same order, because rows go to the ranks that have their groups along axis "ep"}}
  %i = hk.grouped_matmul %mine, %w1 bounds %bounds order %other transpose_b : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %0 = hk.gather_rows %h, %place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  %1 = hk.gather_rows %i, %place : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
func.func @sizes(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %bounds: tensor<5xi32>, %place: tensor<?xi32>) -> tensor<?x64xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %h = hk.grouped_matmul %mine, %w1 bounds %bounds order %order transpose_b : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{expected no size of what experts made to be read, because their rows come from all ranks of axis "ep"}}
  %t = tensor.dim %h, %c0 : tensor<?x64xf32>
  %v = tensor.extract_slice %place[0] [%t] [1] : tensor<?xi32> to tensor<?xi32>
  %0 = hk.gather_rows %h, %v : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// Slices of what experts made take all rows that have come.
shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
hk.weight @w2 "w2" : tensor<4x24x32xf32>
// CHECK-LABEL: func.func @cut_gate
// CHECK: %[[H:.*]] = hk.grouped_matmul {{.*}} -> tensor<?x64xf32>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[H]]
// CHECK: tensor.extract_slice %[[H]][0, 0] [%[[ROWS]], 32]
// CHECK: hk.all_to_all %
func.func @cut_gate(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %place: tensor<?xi32>, %bounds: tensor<5xi32>) -> tensor<?x24xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  %mine = shard.shard %x to %s : tensor<?x24xf32>
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x32xf32>
  %h = hk.grouped_matmul %mine, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %order, %c0 : tensor<?xi32>
  %gate = tensor.extract_slice %h[0, 0] [%rows, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %up = tensor.extract_slice %h[0, 32] [%rows, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %g = hk.mul %gate, %up : tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<5xi32> -> tensor<?x24xf32>
  %r = hk.gather_rows %y, %place : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  return %r : tensor<?x24xf32>
}

// -----

// Some of the rows are not those that lie there on a rank.
shard.grid @mesh(shape = 2)
hk.weight @w1 "w1" : tensor<4x64x24xf32>
hk.weight @w2 "w2" : tensor<4x24x64xf32>
func.func @some(%x: tensor<?x24xf32>, %few: tensor<?xi32>, %order: tensor<?xi32>, %place: tensor<?xi32>, %bounds: tensor<5xi32>) -> tensor<?x24xf32> {
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x64xf32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %few, %c0 : tensor<?xi32>
  // expected-error @+1 {{expected only operators on its rows, grouped products with the same groups and hk.gather_rows to read what experts made; cut their columns instead, along an axis "tp", or keep them whole by annotating their matrices with a sharding of no axis}}
  %part = tensor.extract_slice %h[0, 0] [%rows, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
  %y = hk.grouped_matmul %part, %w2 bounds %bounds transpose_b : tensor<?x64xf32>, tensor<4x24x64xf32> groups tensor<5xi32> -> tensor<?x24xf32>
  %r = hk.gather_rows %y, %place : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  return %r : tensor<?x24xf32>
}
