// Along an axis named "ep" every rank has some of the experts and works on all
// tokens; rows of other ranks' experts are zero, and one sum puts them together.
// RUN: hk-opt %s --hk-shard=mesh=ep=2 | FileCheck %s
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s --check-prefix=TP
// RUN: hk-opt %s --hk-shard=mesh=ep=2,tp=2 | FileCheck %s --check-prefix=BOTH
// RUN: not hk-opt %s --hk-shard=mesh=ep=3 2>&1 | FileCheck %s --check-prefix=THREE

// CHECK-DAG: hk.weight @w1.ep "w1" slices [#hk.weight_slice<"ep" dim 0 sizes[4] parts[2]>] : tensor<2x64x24xf32>
// TP-DAG: hk.weight @w1.tp "w1" slices [#hk.weight_slice<"tp" dim 1 sizes[32, 32] parts[2, 2]>] : tensor<4x32x24xf32>
// TP-DAG: hk.weight @w2.tp "w2" slices [#hk.weight_slice<"tp" dim 2 sizes[32] parts[2]>] : tensor<4x24x16xf32>
// BOTH-DAG: slices [#hk.weight_slice<"ep" dim 0 sizes[4] parts[2]>, #hk.weight_slice<"tp" dim 1 sizes[32, 32] parts[2, 2]>] : tensor<2x32x24xf32>
// THREE: error: its 4 groups cannot be cut in 3 along axis "ep"; 2 or 4 can share them
hk.weight @w1 "w1" : tensor<4x64x24xf32>
hk.weight @w2 "w2" : tensor<4x24x32xf32>

// CHECK-LABEL: func.func @blocks
// CHECK: %[[R:.*]] = hk.rank axis "ep"
// CHECK: %[[F:.*]] = hk.mul %[[R]]
// CHECK: %[[E:.*]] = hk.sub %{{.*}}, %[[F]]
// CHECK: hk.grouped_matmul %{{.*}} blocks %[[E]] order
// CHECK: hk.gated_activation silu %{{.*}} : tensor<?x64xf32> -> tensor<?x32xf32>
// CHECK: hk.grouped_matmul
// CHECK: %[[S:.*]] = hk.sum_slices
// CHECK: hk.all_reduce sum %[[S]] axis "ep" transport any_order : tensor<?x24xf32>
// CHECK-NOT: hk.all_reduce
func.func @blocks(%x: tensor<?x24xf32>, %weights: tensor<?x1xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x24xf32> {
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x32xf32>
  %h = hk.grouped_matmul %x, %w1 blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.gated_activation silu %h : tensor<?x64xf32> -> tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 blocks %experts order %sorted transpose_b block 16 : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x24xf32>
  %z = hk.mul %y, %weights : tensor<?x24xf32>, tensor<?x1xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x24xf32>
  %s = tensor.expand_shape %z [[0, 1], [2]] output_shape [%t, 2, 24] : tensor<?x24xf32> into tensor<?x2x24xf32>
  %p = hk.transpose %s [1, 0, 2] : tensor<?x2x24xf32> -> tensor<2x?x24xf32>
  %o = hk.sum_slices %p : tensor<2x?x24xf32> -> tensor<?x24xf32>
  %r = hk.add %o, %x : tensor<?x24xf32>
  return %r : tensor<?x24xf32>
}

// Groups by bounds: the rank's places come first.
// CHECK-LABEL: func.func @bounds
// CHECK: %[[B:.*]] = hk.gather_rows %{{.*}} : tensor<5xi32>, tensor<3xi32> -> tensor<3xi32>
// CHECK: %[[START:.*]] = tensor.extract_slice %[[B]][0] [1] [1]
// CHECK: hk.grouped_matmul %{{.*}} bounds %{{.*}} order
// CHECK: %[[Y:.*]] = hk.grouped_matmul
// CHECK: %[[P:.*]] = hk.sub %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<1xi32>
// CHECK: %[[G:.*]] = hk.gather_rows %[[Y]], %[[P]]
// CHECK: hk.mul %[[G]]
// CHECK: hk.all_reduce sum
// CHECK-NOT: hk.all_reduce
func.func @bounds(%x: tensor<?x24xf32>, %order: tensor<?xi32>, %places: tensor<?xi32>, %bounds: tensor<5xi32>, %s0: tensor<?x1xf32>) -> tensor<?x24xf32> {
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x32xf32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.gated_activation silu %h : tensor<?x64xf32> -> tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<5xi32> -> tensor<?x24xf32>
  %y0 = hk.gather_rows %y, %places : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  %m0 = hk.mul %y0, %s0 : tensor<?x24xf32>, tensor<?x1xf32>
  %u = hk.add %m0, %x : tensor<?x24xf32>
  return %u : tensor<?x24xf32>
}

// A gate that is cut out of the columns: its slices have all rows, as twice the number of tokens says.
// CHECK-LABEL: func.func @cut_gate
// CHECK: %[[H:.*]] = hk.grouped_matmul {{.*}} -> tensor<?x64xf32>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[H]]
// CHECK: tensor.extract_slice %[[H]][0, 0] [%[[ROWS]], 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
// CHECK: hk.grouped_matmul
// CHECK: hk.all_reduce sum
// CHECK-NOT: hk.all_reduce
// BOTH-LABEL: func.func @cut_gate
// BOTH: tensor.extract_slice %{{.*}}[0, 16] [%{{.*}}, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
func.func @cut_gate(%x: tensor<?x24xf32>, %ids: tensor<?x2xi32>, %places: tensor<?xi32>, %s0: tensor<?x1xf32>) -> tensor<?x24xf32> {
  %w1 = hk.weight_ref @w1 : tensor<4x64x24xf32>
  %w2 = hk.weight_ref @w2 : tensor<4x24x32xf32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %hist = hk.histogram %keys : tensor<?xi32> -> tensor<4xi32>
  %order, %place = hk.sort_by_key %keys bins 4 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %bounds = hk.cumsum offsets %hist : tensor<4xi32> -> tensor<5xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<5xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %tokens = tensor.dim %ids, %c0 : tensor<?x2xi32>
  %rows = arith.muli %c2, %tokens : index
  %gate = tensor.extract_slice %h[0, 0] [%rows, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %up = tensor.extract_slice %h[0, 32] [%rows, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %a = hk.silu %gate : tensor<?x32xf32>
  %g = hk.mul %a, %up : tensor<?x32xf32>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x32xf32>, tensor<4x24x32xf32> groups tensor<5xi32> -> tensor<?x24xf32>
  %y0 = hk.gather_rows %y, %places : tensor<?x24xf32>, tensor<?xi32> -> tensor<?x24xf32>
  %m0 = hk.mul %y0, %s0 : tensor<?x24xf32>, tensor<?x1xf32>
  return %m0 : tensor<?x24xf32>
}
