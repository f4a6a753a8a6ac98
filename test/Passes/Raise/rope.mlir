// Rotary embeddings out of products and halves, and what only looks like one.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Halves, of heads in front of positions; angles of doubled frequencies.
// CHECK-LABEL: func @neox(
// CHECK-DAG: %[[C:.*]] = hk.cos %arg1 : tensor<?x8xf32>
// CHECK-DAG: %[[S:.*]] = hk.sin %arg1 : tensor<?x8xf32>
// CHECK: %[[T:.*]] = hk.transpose %arg0 [0, 2, 1, 3]
// CHECK: %[[Y:.*]] = hk.rope neox %[[T]], %[[C]], %[[S]] position_dim 1 : tensor<2x?x4x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>
// CHECK: hk.transpose %[[Y]] [0, 2, 1, 3]
func.func @neox(%x: tensor<2x4x?x16xf32>, %f: tensor<?x8xf32>) -> tensor<2x4x?x16xf32> {
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c2 : tensor<2x4x?x16xf32>
  %m = tensor.dim %f, %c0 : tensor<?x8xf32>
  %2 = hk.concat 1(%f, %f) : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %c = hk.cos %2 : tensor<?x16xf32>
  %s = hk.sin %2 : tensor<?x16xf32>
  %ce = tensor.expand_shape %c [[0, 1], [2]] output_shape [1, %m, 16] : tensor<?x16xf32> into tensor<1x?x16xf32>
  %se = tensor.expand_shape %s [[0, 1], [2]] output_shape [1, %m, 16] : tensor<?x16xf32> into tensor<1x?x16xf32>
  %lo = tensor.extract_slice %x[0, 0, 0, 0] [2, 4, %n, 8] [1, 1, 1, 1] : tensor<2x4x?x16xf32> to tensor<2x4x?x8xf32>
  %hi = tensor.extract_slice %x[0, 0, 0, 8] [2, 4, %n, 8] [1, 1, 1, 1] : tensor<2x4x?x16xf32> to tensor<2x4x?x8xf32>
  %neg = hk.neg %hi : tensor<2x4x?x8xf32>
  %rot = hk.concat 3(%neg, %lo) : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32> -> tensor<2x4x?x16xf32>
  %0 = hk.mul %x, %ce : tensor<2x4x?x16xf32>, tensor<1x?x16xf32> -> tensor<2x4x?x16xf32>
  %1 = hk.mul %rot, %se : tensor<2x4x?x16xf32>, tensor<1x?x16xf32> -> tensor<2x4x?x16xf32>
  %y = hk.add %0, %1 : tensor<2x4x?x16xf32>
  return %y : tensor<2x4x?x16xf32>
}

// -----

// Neighbours, part by part, then stacked; the tables as they are.
// CHECK-LABEL: func @interleaved(
// CHECK: hk.rope gptj %arg0, %{{.*}}, %{{.*}} : tensor<5x4x16xf32>, tensor<5x8xf32>, tensor<5x8xf32>
func.func @interleaved(%x: tensor<5x4x16xf32>, %c: tensor<5x1x8xf32>, %s: tensor<5x1x8xf32>) -> tensor<5x4x16xf32> {
  %a = tensor.extract_slice %x[0, 0, 0] [5, 4, 8] [1, 1, 2] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %b = tensor.extract_slice %x[0, 0, 1] [5, 4, 8] [1, 1, 2] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %0 = hk.mul %a, %c : tensor<5x4x8xf32>, tensor<5x1x8xf32>
  %1 = hk.mul %b, %s : tensor<5x4x8xf32>, tensor<5x1x8xf32>
  %2 = hk.sub %0, %1 : tensor<5x4x8xf32>
  %3 = hk.mul %b, %c : tensor<5x4x8xf32>, tensor<5x1x8xf32>
  %4 = hk.mul %a, %s : tensor<5x4x8xf32>, tensor<5x1x8xf32>
  %5 = hk.add %3, %4 : tensor<5x4x8xf32>
  %6 = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [5, 4, 8, 1] : tensor<5x4x8xf32> into tensor<5x4x8x1xf32>
  %7 = tensor.expand_shape %5 [[0], [1], [2, 3]] output_shape [5, 4, 8, 1] : tensor<5x4x8xf32> into tensor<5x4x8x1xf32>
  %8 = hk.concat 3(%6, %7) : tensor<5x4x8x1xf32>, tensor<5x4x8x1xf32> -> tensor<5x4x8x2xf32>
  %y = tensor.collapse_shape %8 [[0], [1], [2, 3]] : tensor<5x4x8x2xf32> into tensor<5x4x16xf32>
  return %y : tensor<5x4x16xf32>
}

// -----

// The first 8 of 16 elements, by the negative angle.
// CHECK-LABEL: func @partial_inverse(
// CHECK: hk.rope neox %arg0, %arg1, %arg2 inverse : tensor<5x4x16xf32>, tensor<5x4xf32>, tensor<5x4xf32>
// CHECK-NOT: hk.concat
func.func @partial_inverse(%x: tensor<5x4x16xf32>, %c: tensor<5x4xf32>, %s: tensor<5x4xf32>) -> tensor<5x4x16xf32> {
  %cc = hk.concat 1(%c, %c) : tensor<5x4xf32>, tensor<5x4xf32> -> tensor<5x8xf32>
  %ss = hk.concat 1(%s, %s) : tensor<5x4xf32>, tensor<5x4xf32> -> tensor<5x8xf32>
  %ce = tensor.expand_shape %cc [[0, 1], [2]] output_shape [5, 1, 8] : tensor<5x8xf32> into tensor<5x1x8xf32>
  %se = tensor.expand_shape %ss [[0, 1], [2]] output_shape [5, 1, 8] : tensor<5x8xf32> into tensor<5x1x8xf32>
  %r = tensor.extract_slice %x[0, 0, 0] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %p = tensor.extract_slice %x[0, 0, 8] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %lo = tensor.extract_slice %r[0, 0, 0] [5, 4, 4] [1, 1, 1] : tensor<5x4x8xf32> to tensor<5x4x4xf32>
  %hi = tensor.extract_slice %r[0, 0, 4] [5, 4, 4] [1, 1, 1] : tensor<5x4x8xf32> to tensor<5x4x4xf32>
  %neg = hk.neg %lo : tensor<5x4x4xf32>
  %rot = hk.concat 2(%hi, %neg) : tensor<5x4x4xf32>, tensor<5x4x4xf32> -> tensor<5x4x8xf32>
  %0 = hk.mul %r, %ce : tensor<5x4x8xf32>, tensor<5x1x8xf32>
  %1 = hk.mul %rot, %se : tensor<5x4x8xf32>, tensor<5x1x8xf32>
  %2 = hk.add %0, %1 : tensor<5x4x8xf32>
  %y = hk.concat 2(%2, %p) : tensor<5x4x8xf32>, tensor<5x4x8xf32> -> tensor<5x4x16xf32>
  return %y : tensor<5x4x16xf32>
}

// -----

// Angles of each sequence: its tokens are rows of the tables.
// CHECK-LABEL: func @per_sequence(
// CHECK: hk.rope neox %{{.*}} angle_per_element : tensor<?x4x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>
func.func @per_sequence(%x: tensor<?x4x5x16xf32> {hk.dims = ["B", "_", "_", "_"]}, %c: tensor<?x1x5x16xf32> {hk.dims = ["B", "_", "_", "_"]}, %s: tensor<?x1x5x16xf32> {hk.dims = ["B", "_", "_", "_"]}) -> tensor<?x4x5x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4x5x16xf32>
  %lo = tensor.extract_slice %x[0, 0, 0, 0] [%n, 4, 5, 8] [1, 1, 1, 1] : tensor<?x4x5x16xf32> to tensor<?x4x5x8xf32>
  %hi = tensor.extract_slice %x[0, 0, 0, 8] [%n, 4, 5, 8] [1, 1, 1, 1] : tensor<?x4x5x16xf32> to tensor<?x4x5x8xf32>
  %neg = hk.neg %hi : tensor<?x4x5x8xf32>
  %rot = hk.concat 3(%neg, %lo) : tensor<?x4x5x8xf32>, tensor<?x4x5x8xf32> -> tensor<?x4x5x16xf32>
  %0 = hk.mul %x, %c : tensor<?x4x5x16xf32>, tensor<?x1x5x16xf32>
  %1 = hk.mul %rot, %s : tensor<?x4x5x16xf32>, tensor<?x1x5x16xf32>
  %y = hk.add %0, %1 : tensor<?x4x5x16xf32>
  return %y : tensor<?x4x5x16xf32>
}

// -----

// The halves the wrong way round: (-first, second) is no rotation.
// CHECK-LABEL: func @other_halves(
// CHECK-NOT: hk.rope
func.func @other_halves(%x: tensor<5x4x16xf32>, %c: tensor<5x1x16xf32>, %s: tensor<5x1x16xf32>) -> tensor<5x4x16xf32> {
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %hi = tensor.extract_slice %x[0, 0, 8] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %neg = hk.neg %lo : tensor<5x4x8xf32>
  %rot = hk.concat 2(%neg, %hi) : tensor<5x4x8xf32>, tensor<5x4x8xf32> -> tensor<5x4x16xf32>
  %0 = hk.mul %x, %c : tensor<5x4x16xf32>, tensor<5x1x16xf32>
  %1 = hk.mul %rot, %s : tensor<5x4x16xf32>, tensor<5x1x16xf32>
  %y = hk.add %0, %1 : tensor<5x4x16xf32>
  return %y : tensor<5x4x16xf32>
}

// -----

// cos of one tensor, sin of the halves of another.
// CHECK-LABEL: func @two_tensors(
// CHECK-NOT: hk.rope
// WHY-DAG: Reason="other-formula: cos and sin multiply different tensors
func.func @two_tensors(%x: tensor<5x4x16xf32>, %z: tensor<5x4x16xf32>, %c: tensor<5x1x16xf32>, %s: tensor<5x1x16xf32>) -> tensor<5x4x16xf32> {
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %hi = tensor.extract_slice %x[0, 0, 8] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %neg = hk.neg %hi : tensor<5x4x8xf32>
  %rot = hk.concat 2(%neg, %lo) : tensor<5x4x8xf32>, tensor<5x4x8xf32> -> tensor<5x4x16xf32>
  %0 = hk.mul %z, %c : tensor<5x4x16xf32>, tensor<5x1x16xf32>
  %1 = hk.mul %rot, %s : tensor<5x4x16xf32>, tensor<5x1x16xf32>
  %y = hk.add %0, %1 : tensor<5x4x16xf32>
  return %y : tensor<5x4x16xf32>
}

// -----

// Turned back by an angle for each element: hk.rope takes that of the partner.
// CHECK-LABEL: func @inverse_per_element(
// CHECK-NOT: hk.rope
// WHY-DAG: Reason="other-formula: it turns back by an angle for each element
func.func @inverse_per_element(%x: tensor<5x4x16xf32>, %c: tensor<5x1x16xf32>, %s: tensor<5x1x16xf32>) -> tensor<5x4x16xf32> {
  %lo = tensor.extract_slice %x[0, 0, 0] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %hi = tensor.extract_slice %x[0, 0, 8] [5, 4, 8] [1, 1, 1] : tensor<5x4x16xf32> to tensor<5x4x8xf32>
  %neg = hk.neg %lo : tensor<5x4x8xf32>
  %rot = hk.concat 2(%hi, %neg) : tensor<5x4x8xf32>, tensor<5x4x8xf32> -> tensor<5x4x16xf32>
  %0 = hk.mul %x, %c : tensor<5x4x16xf32>, tensor<5x1x16xf32>
  %1 = hk.mul %rot, %s : tensor<5x4x16xf32>, tensor<5x1x16xf32>
  %y = hk.add %0, %1 : tensor<5x4x16xf32>
  return %y : tensor<5x4x16xf32>
}
