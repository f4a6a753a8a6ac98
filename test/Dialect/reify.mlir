// RUN: hk-opt %s -resolve-ranked-shaped-type-result-dims -canonicalize -cse -split-input-file | FileCheck %s

// A size of a broadcast comes from the operand that does not repeat there.
// CHECK-LABEL: func @broadcast
// CHECK-SAME: %[[A:.*]]: tensor<?x1xf32>, %[[B:.*]]: tensor<?xf32>
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[A]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[B]], %c0
// CHECK: return %[[D0]], %[[D1]]
func.func @broadcast(%a: tensor<?x1xf32>, %b: tensor<?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = hk.add %a, %b : tensor<?x1xf32>, tensor<?xf32> -> tensor<?x?xf32>
  %1 = hk.exp %0 : tensor<?x?xf32>
  %2 = hk.cast %1 : tensor<?x?xf32> -> tensor<?x?xbf16>
  %d0 = tensor.dim %2, %c0 : tensor<?x?xbf16>
  %d1 = tensor.dim %2, %c1 : tensor<?x?xbf16>
  return %d0, %d1 : index, index
}

// -----

// CHECK-LABEL: func @concat
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<?x4xf32>
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[A]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[B]], %c0
// CHECK: %[[SUM:.*]] = arith.addi %[[D0]], %[[D1]]
// CHECK: return %[[SUM]]
func.func @concat(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> index {
  %c1 = arith.constant 1 : index
  %0 = hk.concat 0 (%a, %b) : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %1 = hk.transpose %0 [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
  %d = tensor.dim %1, %c1 : tensor<4x?xf32>
  return %d : index
}

// -----

// CHECK-LABEL: func @matmul
// CHECK-SAME: %[[A:.*]]: tensor<?x?x256xf32>, %[[B:.*]]: tensor<?x256xf32>
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[A]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[A]], %c1
// CHECK-DAG: %[[D2:.*]] = tensor.dim %[[B]], %c0
// CHECK: return %[[D0]], %[[D1]], %[[D2]]
func.func @matmul(%a: tensor<?x?x256xf32>, %b: tensor<?x256xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = hk.matmul %a, %b transpose_b : tensor<?x?x256xf32>, tensor<?x256xf32> -> tensor<?x?x?xf32>
  %d0 = tensor.dim %0, %c0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %0, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %0, %c2 : tensor<?x?x?xf32>
  return %d0, %d1, %d2 : index, index, index
}

// -----

// CHECK-LABEL: func @groups
// CHECK-SAME: %[[X:.*]]: tensor<4x?xf32>
// CHECK: %[[D:.*]] = tensor.dim %[[X]], %c1
// CHECK: %[[G:.*]] = arith.ceildivui %[[D]], %c128
// CHECK: return %[[G]]
func.func @groups(%x: tensor<4x?xf32>) -> index {
  %c1 = arith.constant 1 : index
  %q, %s = hk.quantize per_group %x : tensor<4x?xf32> -> tensor<4x?xi8>, tensor<4x?xf32>
  %d = tensor.dim %s, %c1 : tensor<4x?xf32>
  return %d : index
}

// -----

// CHECK-LABEL: func @rows
// CHECK-SAME: %[[IDS:.*]]: tensor<?xi32>, %[[X:.*]]: tensor<?x8x16xbf16>
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[IDS]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[X]], %c0
// CHECK: return %[[D0]], %[[D1]]
func.func @rows(%ids: tensor<?xi32>, %x: tensor<?x8x16xbf16>, %table: tensor<9x12xbf16>, %k: tensor<?x2x16xbf16>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %e = hk.gather_rows %table, %ids : tensor<9x12xbf16>, tensor<?xi32> -> tensor<?x12xbf16>
  %g = hk.gated_activation silu %e : tensor<?x12xbf16> -> tensor<?x6xbf16>
  %p = hk.pad %g : tensor<?x6xbf16> -> tensor<?x8xbf16>
  %n = hk.rms_norm %p epsilon 1.0 : tensor<?x8xbf16>
  %o, %lse = hk.attention %x, %k, %k scale 1.0 : tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x16xbf16> -> tensor<?x8x16xbf16>, tensor<?x8xf32>
  %d0 = tensor.dim %n, %c0 : tensor<?x8xbf16>
  %d1 = tensor.dim %lse, %c0 : tensor<?x8xf32>
  return %d0, %d1 : index, index
}

// -----

// CHECK-LABEL: func @fused
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[E:.*]]: tensor<?x4xf32>
// CHECK: %[[D:.*]] = tensor.dim %[[E]], %c0
// CHECK: return %[[D]]
func.func @fused(%x: tensor<?x4xf32>, %e: tensor<?x4xf32>) -> index {
  %c0 = arith.constant 0 : index
  %0 = hk.fused rowwise ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
  ^bb0(%a: tensor<?x4xf32>, %o: tensor<?x4xf32>):
    hk.yield %a : tensor<?x4xf32>
  } -> tensor<?x4xf32>
  %d = tensor.dim %0, %c0 : tensor<?x4xf32>
  return %d : index
}

// -----

// CHECK-LABEL: func @conv
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %{{.*}}, %{{.*}}, %[[S:.*]]: tensor<?x3x8xf32>
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[S]], %c0
// CHECK: return %[[D0]], %[[D1]]
func.func @conv(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %cu: tensor<?xi32>, %s: tensor<?x3x8xf32>, %i: tensor<?xi32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %0, %1 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %i : tensor<?x8xf32>, tensor<8x4xf32> offsets tensor<?xi32> state tensor<?x3x8xf32> indices tensor<?xi32> -> tensor<?x8xf32>, tensor<?x3x8xf32>
  %r = hk.reduce sum %0 : tensor<?x8xf32> -> tensor<?x1xf32>
  %d0 = tensor.dim %r, %c0 : tensor<?x1xf32>
  %d1 = tensor.dim %1, %c0 : tensor<?x3x8xf32>
  return %d0, %d1 : index, index
}
