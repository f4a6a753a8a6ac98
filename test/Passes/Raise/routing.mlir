// Group-limited routing out of its primitives, and what only looks like it.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// DeepSeek-V3's gate: a bias that only selects, -inf outside of the groups.
// CHECK-LABEL: func @deepseek_v3(
// CHECK: %[[Y:.*]] = hk.group_limit top2_sum %{{.*}} groups 8 top_groups 4 : tensor<?x64xf32>
// CHECK-NOT: hk.topk
// CHECK-NOT: hk.select
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @deepseek_v3(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// DeepSeek-V2's: the largest element is a group's score. Hits lie the other way round,
// and where a group has none the fill is chosen.
// CHECK-LABEL: func @deepseek_v2(
// CHECK: %[[Y:.*]] = hk.group_limit maximum %arg0 groups 8 top_groups 4 : tensor<?x64xf32>
// CHECK-NOT: hk.topk
// CHECK-NOT: hk.select
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @deepseek_v2(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[[0, 1, 2, 3, 4, 5, 6, 7]]]> : tensor<1x1x8xi64>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %s = hk.reduce max %g : tensor<?x8x8xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi64>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 4, 1] : tensor<?x4xi64> into tensor<?x4x1xi64>
  %hits = hk.compare eq %iota, %ids : tensor<1x1x8xi64>, tensor<?x4x1xi64> -> tensor<?x4x8xi1>
  %ones = hk.cast %hits : tensor<?x4x8xi1> -> tensor<?x4x8xf32>
  %columns = hk.transpose %ones [0, 2, 1] : tensor<?x4x8xf32> -> tensor<?x8x4xf32>
  %count = hk.reduce max %columns : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare eq %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, 0xFF800000, %g : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// 0 in the place of -inf.
// CHECK-LABEL: func @zero_of_sigmoid(
// CHECK: hk.group_limit top2_sum %{{.*}} groups 8 top_groups 4 fill 0.000000e+00 : tensor<?x64xf32>
// CHECK-NOT: hk.topk
// CHECK-NOT: hk.select
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @zero_of_sigmoid(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %g = tensor.expand_shape %p [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare gt %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0.0 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// The same with a bias that is known.
// CHECK-LABEL: func @zero_of_known_bias(
// CHECK: hk.group_limit top2_sum %{{.*}} groups 8 top_groups 4 fill 0.000000e+00 : tensor<?x64xf32>
// CHECK-NOT: hk.topk
// CHECK-NOT: hk.select
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @zero_of_known_bias(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, -0.5 : tensor<?x64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0.0 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// Scores of bf16, summed in f32.
// CHECK-LABEL: func @sum_in_f32(
// CHECK: hk.group_limit top2_sum %arg0 groups 8 top_groups 4 : tensor<?x64xbf16>
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @sum_in_f32(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xbf16> into tensor<?x8x8xbf16>
  %v, %i = hk.topk %g : tensor<?x8x8xbf16> -> tensor<?x8x2xbf16>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xbf16> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF80 : tensor<?x8x1xi1>, tensor<?x8x8xbf16> -> tensor<?x8x8xbf16>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xbf16> into tensor<?x64xbf16>
  return %f : tensor<?x64xbf16>
}

// -----

// Rounded sums may be equal where those of hk.group_limit are not.
// CHECK-LABEL: func @sum_in_bf16(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="rounds-between: the scores are rounded
func.func @sum_in_bf16(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xbf16> into tensor<?x8x8xbf16>
  %v, %i = hk.topk %g : tensor<?x8x8xbf16> -> tensor<?x8x2xbf16>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xbf16> -> tensor<?x8x1xbf16>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xbf16> into tensor<?x8xbf16>
  %b, %best = hk.topk %r : tensor<?x8xbf16> -> tensor<?x4xbf16>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF80 : tensor<?x8x1xi1>, tensor<?x8x8xbf16> -> tensor<?x8x8xbf16>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xbf16> into tensor<?x64xbf16>
  return %f : tensor<?x64xbf16>
}

// -----

// With a bias of -inf an element that stays is -inf.
// CHECK-LABEL: func @zero_of_any_bias(
// CHECK: hk.group_limit top2_sum %{{.*}} groups 8 top_groups 4 fill 0.000000e+00 : tensor<?x64xf32>
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @zero_of_any_bias(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0.0 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// The lowest number is not -inf: it comes before an element that is.
// CHECK-LABEL: func @lowest_number(
// CHECK: hk.group_limit top2_sum %{{.*}} groups 8 top_groups 4 fill -3.40282347E+38 : tensor<?x64xf32>
// CHECK: return
// WHY: Became="become hk.group_limit"
func.func @lowest_number(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, -3.40282347E+38 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// A fill that is an argument.
// CHECK-LABEL: func @any_fill(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="other-formula: elements of other groups become no number that is known
func.func @any_fill(%x: tensor<?x64xf32>, %bias: tensor<64xf32>, %fill: tensor<f32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, %fill : tensor<?x8x1xi1>, tensor<?x8x8xf32>, tensor<f32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// The sum of the three largest.
// CHECK-LABEL: func @top3_sum(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="other-formula: the scores of groups are neither the largest nor the sum of the two largest
func.func @top3_sum(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x3xf32>, tensor<?x8x3xi32>
  %s = hk.reduce sum %v : tensor<?x8x3xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// Scores of groups from other elements than those that stay.
// CHECK-LABEL: func @unbiased_scores(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="other-formula: the scores of groups are neither
func.func @unbiased_scores(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %o = tensor.expand_shape %p [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %o : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// Of equal groups the last.
// CHECK-LABEL: func @last_of_equal(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="other-formula: of equal groups the last are taken, not the first
func.func @last_of_equal(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r ties highest_index : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// Group 1 stays where the index of group 0 is chosen.
// CHECK-LABEL: func @permuted_groups(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="unknown-mask: the indices are not compared with the numbers of the groups
func.func @permuted_groups(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[1], [0], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// Numbers that are an argument.
// CHECK-LABEL: func @unknown_numbers(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="unknown-mask: the indices are not compared with the numbers of the groups
func.func @unknown_numbers(%x: tensor<?x64xf32>, %bias: tensor<64xf32>, %iota: tensor<8x1xi32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// The scores are of 16 groups, those that stay are of 8.
// CHECK-LABEL: func @wrong_groups(
// CHECK-NOT: hk.group_limit
// CHECK: return
// WHY: Reason="other-axis: the groups that are chosen are not those of the elements
func.func @wrong_groups(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %o = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 16, 4] : tensor<?x64xf32> into tensor<?x16x4xf32>
  %v, %i = hk.topk %o : tensor<?x16x4xf32> -> tensor<?x16x2xf32>, tensor<?x16x2xi32>
  %s = hk.reduce sum %v : tensor<?x16x2xf32> -> tensor<?x16x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x16x1xf32> into tensor<?x16xf32>
  %b, %best = hk.topk %r : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}

// -----

// No count is less than 0: nothing goes.
// CHECK-LABEL: func @all_stay(
// CHECK-NOT: hk.group_limit
// CHECK: return
func.func @all_stay(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %iota = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %v, %i = hk.topk %g : tensor<?x8x8xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %iota : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ge %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  return %f : tensor<?x64xf32>
}
