// Columns of a product with a weight come in the order in which they are read.
// RUN: hk-opt %s --hk-order-columns | FileCheck %s
// RUN: hk-opt %s --hk-order-columns --hk-fold-weights --canonicalize --cse | FileCheck %s --check-prefix=FOLDED

hk.weight @w "w" : tensor<48x8xbf16>
hk.weight @b "b" : tensor<48xbf16>
hk.weight @e "e" : tensor<4x8x12xbf16>
hk.weight @eb "eb" : tensor<4x12xf32>
hk.weight @p "p" : tensor<48x8xf4E2M1FN>

// Two heads of [2 query, 2 key, 4 value, 16 more]; queries, keys and values of all are joined.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xbf16>
// CHECK: %[[W:.*]] = hk.weight_ref @w
// CHECK: %[[V:.*]] = tensor.expand_shape %[[W]] {{\[\[}}0, 1], [2]] output_shape [2, 24, 8]
// CHECK: %[[R:.*]] = tensor.extract_slice %[[V]][0, 8, 0] [2, 16, 8] [1, 1, 1]
// CHECK: %[[Z:.*]] = tensor.collapse_shape %[[R]] {{\[\[}}0, 1], [2]]
// CHECK: %[[QKV:.*]] = hk.concat 0
// CHECK-SAME: -> tensor<16x8xbf16>
// CHECK: %[[ALL:.*]] = hk.concat 0(%[[Z]], %[[QKV]]) : tensor<32x8xbf16>, tensor<16x8xbf16> -> tensor<48x8xbf16>
// CHECK: %[[Y:.*]] = hk.matmul %[[X]], %[[ALL]]
// CHECK-SAME: -> tensor<?x48xbf16>
// CHECK: tensor.extract_slice %[[Y]]
// CHECK: tensor.extract_slice %[[Y]]
// CHECK-NOT: hk.concat
// CHECK: return
// FOLDED-LABEL: func.func @heads(
// FOLDED-NOT: hk.concat
// FOLDED: hk.weight_ref @folded
// FOLDED-NOT: hk.concat
// FOLDED: return
func.func @heads(%x: tensor<?x8xbf16>) -> (tensor<?x16xbf16>, tensor<?x2x16xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xbf16>
  %w = hk.weight_ref @w : tensor<48x8xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x8xbf16>, tensor<48x8xbf16> -> tensor<?x48xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 2, 24] : tensor<?x48xbf16> into tensor<?x2x24xbf16>
  %q = tensor.extract_slice %h[0, 0, 0] [%n, 2, 2] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x2xbf16>
  %k = tensor.extract_slice %h[0, 0, 2] [%n, 2, 2] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x2xbf16>
  %v = tensor.extract_slice %h[0, 0, 4] [%n, 2, 4] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x4xbf16>
  %z = tensor.extract_slice %h[0, 0, 8] [%n, 2, 16] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x16xbf16>
  %qf = tensor.collapse_shape %q [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %kf = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %vf = tensor.collapse_shape %v [[0], [1, 2]] : tensor<?x2x4xbf16> into tensor<?x8xbf16>
  %cat = hk.concat 1 (%qf, %kf, %vf) : tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<?x8xbf16> -> tensor<?x16xbf16>
  %s = hk.silu %cat : tensor<?x16xbf16>
  %t = hk.silu %z : tensor<?x2x16xbf16>
  return %s, %t : tensor<?x16xbf16>, tensor<?x2x16xbf16>
}

// A bias is ordered with them; what memory cannot hold is a view of a slice across heads.
// CHECK-LABEL: func.func @biased(
// CHECK: hk.concat 0
// CHECK-SAME: -> tensor<48x8xbf16>
// CHECK: hk.matmul
// CHECK: hk.concat 0
// CHECK-SAME: -> tensor<48xbf16>
// CHECK: hk.add
func.func @biased(%x: tensor<?x8xbf16>) -> (tensor<?x16xbf16>, tensor<?x32xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xbf16>
  %w = hk.weight_ref @w : tensor<48x8xbf16>
  %b = hk.weight_ref @b : tensor<48xbf16>
  %p = hk.matmul %x, %w transpose_b : tensor<?x8xbf16>, tensor<48x8xbf16> -> tensor<?x48xbf16>
  %y = hk.add %p, %b : tensor<?x48xbf16>, tensor<48xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 2, 24] : tensor<?x48xbf16> into tensor<?x2x24xbf16>
  %q = tensor.extract_slice %h[0, 0, 0] [%n, 2, 8] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x8xbf16>
  %z = tensor.extract_slice %h[0, 0, 8] [%n, 2, 16] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x16xbf16>
  %qf = tensor.collapse_shape %q [[0], [1, 2]] : tensor<?x2x8xbf16> into tensor<?x16xbf16>
  %zf = tensor.collapse_shape %z [[0], [1, 2]] : tensor<?x2x16xbf16> into tensor<?x32xbf16>
  %s = hk.silu %qf : tensor<?x16xbf16>
  %t = hk.silu %zf : tensor<?x32xbf16>
  return %s, %t : tensor<?x16xbf16>, tensor<?x32xbf16>
}

// Slices of heads are views as they are; columns that two readers need would be computed twice.
// CHECK-LABEL: func.func @views(
// CHECK-NOT: hk.concat
// CHECK-LABEL: func.func @twice(
// CHECK: hk.matmul %{{.*}}, %{{.*}} transpose_b : tensor<?x8xbf16>, tensor<48x8xbf16>
// CHECK: hk.concat 1
func.func @views(%x: tensor<?x8xbf16>) -> (tensor<?x2x8xbf16>, tensor<?x2x16xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xbf16>
  %w = hk.weight_ref @w : tensor<48x8xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x8xbf16>, tensor<48x8xbf16> -> tensor<?x48xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 2, 24] : tensor<?x48xbf16> into tensor<?x2x24xbf16>
  %q = tensor.extract_slice %h[0, 0, 0] [%n, 2, 8] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x8xbf16>
  %z = tensor.extract_slice %h[0, 0, 8] [%n, 2, 16] [1, 1, 1] : tensor<?x2x24xbf16> to tensor<?x2x16xbf16>
  %s = hk.silu %q : tensor<?x2x8xbf16>
  %t = hk.silu %z : tensor<?x2x16xbf16>
  return %s, %t : tensor<?x2x8xbf16>, tensor<?x2x16xbf16>
}
func.func @twice(%x: tensor<?x8xbf16>) -> (tensor<?x48xbf16>, tensor<?x16xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xbf16>
  %w = hk.weight_ref @w : tensor<48x8xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x8xbf16>, tensor<48x8xbf16> -> tensor<?x48xbf16>
  %q = tensor.extract_slice %y[0, 0] [%n, 16] [1, 1] : tensor<?x48xbf16> to tensor<?x16xbf16>
  %z = tensor.extract_slice %y[0, 16] [%n, 32] [1, 1] : tensor<?x48xbf16> to tensor<?x32xbf16>
  %cat = hk.concat 1 (%z, %q) : tensor<?x32xbf16>, tensor<?x16xbf16> -> tensor<?x48xbf16>
  %s = hk.silu %cat : tensor<?x48xbf16>
  %t = hk.silu %q : tensor<?x16xbf16>
  return %s, %t : tensor<?x48xbf16>, tensor<?x16xbf16>
}

// Columns of a gate that alternate become halves, and so does the bias of an expert.
// CHECK-LABEL: func.func @experts(
// CHECK-DAG: tensor.extract_slice %{{.*}}[0, 0, 1] [4, 8, 6] [1, 1, 2]
// CHECK-DAG: tensor.extract_slice %{{.*}}[0, 1] [4, 6] [1, 2]
// CHECK: hk.gated_activation swiglu_oai
// CHECK-NOT: interleaved
// CHECK: return
func.func @experts(%x: tensor<?x8xbf16>, %bounds: tensor<5xi32>) -> tensor<?x6xbf16> {
  %w = hk.weight_ref @e : tensor<4x8x12xbf16>
  %b = hk.weight_ref @eb : tensor<4x12xf32>
  %y = hk.grouped_matmul %x, %w bounds %bounds bias %b : tensor<?x8xbf16>, tensor<4x8x12xbf16> groups tensor<5xi32> bias tensor<4x12xf32> -> tensor<?x12xbf16>
  %g = hk.gated_activation swiglu_oai %y interleaved : tensor<?x12xbf16> -> tensor<?x6xbf16>
  return %g : tensor<?x6xbf16>
}

// A matrix that a call gives stays as it is, and so does what else reads the product.
// CHECK-LABEL: func.func @given(
// CHECK: interleaved
// CHECK: interleaved
// CHECK: return
func.func @given(%x: tensor<?x8xbf16>, %w: tensor<8x12xbf16>) -> (tensor<?x6xbf16>, tensor<?x24xbf16>, tensor<?x48xbf16>) {
  %y = hk.matmul %x, %w : tensor<?x8xbf16>, tensor<8x12xbf16> -> tensor<?x12xbf16>
  %g = hk.gated_activation silu %y interleaved : tensor<?x12xbf16> -> tensor<?x6xbf16>
  %v = hk.weight_ref @w : tensor<48x8xbf16>
  %z = hk.matmul %x, %v transpose_b : tensor<?x8xbf16>, tensor<48x8xbf16> -> tensor<?x48xbf16>
  %h = hk.gated_activation silu %z interleaved : tensor<?x48xbf16> -> tensor<?x24xbf16>
  return %g, %h, %z : tensor<?x6xbf16>, tensor<?x24xbf16>, tensor<?x48xbf16>
}

// Elements of 4 bits have no place of their own in memory.
// CHECK-LABEL: func.func @packed(
// CHECK: interleaved
func.func @packed(%x: tensor<?x8xbf16>) -> tensor<?x24xbf16> {
  %w = hk.weight_ref @p : tensor<48x8xf4E2M1FN>
  %y = hk.matmul %x, %w transpose_b : tensor<?x8xbf16>, tensor<48x8xf4E2M1FN> -> tensor<?x48xbf16>
  %g = hk.gated_activation silu %y interleaved : tensor<?x48xbf16> -> tensor<?x24xbf16>
  return %g : tensor<?x24xbf16>
}
