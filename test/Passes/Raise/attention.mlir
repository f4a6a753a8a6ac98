// Attention out of products and softmax, and what only looks like it.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: hk-opt %s --hk-raise=drop-roundings --split-input-file | FileCheck %s --check-prefix=DROP

// The scale behind the product.
// CHECK-LABEL: func @scaled(
// CHECK: %[[T:.*]] = hk.transpose %arg0 [0, 2, 1, 3]
// CHECK: %[[O:.*]] = hk.attention %[[T]], %arg1, %arg2 scale 2.500000e-01 key_layout head_major value_layout head_major : tensor<2x?x4x16xf32>
// CHECK: hk.transpose %[[O]] [0, 2, 1, 3]
func.func @scaled(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c = hk.constant 2.500000e-01 : tensor<f32>
  %s9 = hk.mul %s, %c : tensor<2x4x?x?xf32>, tensor<f32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// A root of the scale at queries and at keys, keys transposed by the product, a guard
// against rows of NaN, and a soft cap.
// CHECK-LABEL: func @scaled_operands(
// CHECK: hk.attention %{{.*}}, %arg1, %arg2 scale 2.500000e-01 softcap 3.000000e+01 key_layout
func.func @scaled_operands(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}) -> tensor<2x4x?x16xf32> {
  %c = hk.constant 5.000000e-01 : tensor<f32>
  %cap = hk.constant 3.000000e+01 : tensor<f32>
  %zero = hk.constant 0.000000e+00 : tensor<f32>
  %qs = hk.mul %q, %c : tensor<2x4x?x16xf32>, tensor<f32>
  %ks = hk.mul %k, %c : tensor<2x4x?x16xf32>, tensor<f32>
  %s = hk.matmul %qs, %ks transpose_b : tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x?xf32>
  %1 = hk.div %s, %cap : tensor<2x4x?x?xf32>, tensor<f32>
  %2 = hk.tanh %1 : tensor<2x4x?x?xf32>
  %s9 = hk.mul %2, %cap : tensor<2x4x?x?xf32>, tensor<f32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %nan = hk.compare ne %p, %p : tensor<2x4x?x?xf32> -> tensor<2x4x?x?xi1>
  %safe = hk.select %nan, %zero, %p : tensor<2x4x?x?xi1>, tensor<f32>, tensor<2x4x?x?xf32> -> tensor<2x4x?x?xf32>
  %o = hk.matmul %safe, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// A mask of positions with the lowest number of f32: each query sees its own key.
// CHECK-LABEL: func @causal(
// CHECK: hk.attention %{{.*}} scale 1.000000e+00 causal key_layout
// CHECK-NOT: reads
func.func @causal(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %ids: tensor<2x?xi64> {hk.dims = ["_", "S"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x4x?x16xf32>
  %line = tensor.extract_slice %ids[0, 0] [1, %n] [1, 1] : tensor<2x?xi64> to tensor<1x?xi64>
  %flat = tensor.collapse_shape %line [[0, 1]] : tensor<1x?xi64> into tensor<?xi64>
  %ones = hk.compare eq %flat, %flat : tensor<?xi64> -> tensor<?xi1>
  %pos = hk.cumsum exclusive %ones : tensor<?xi1> -> tensor<?xi64>
  %i = tensor.expand_shape %pos [[0, 1]] output_shape [%n, 1] : tensor<?xi64> into tensor<?x1xi64>
  %j = tensor.expand_shape %pos [[0, 1]] output_shape [1, %n] : tensor<?xi64> into tensor<1x?xi64>
  %see = hk.compare le %j, %i : tensor<1x?xi64>, tensor<?x1xi64> -> tensor<?x?xi1>
  %zero = hk.constant 0.000000e+00 : tensor<f32>
  %low = hk.constant -3.40282347E+38 : tensor<f32>
  %m = hk.select %see, %zero, %low : tensor<?x?xi1>, tensor<f32>, tensor<f32> -> tensor<?x?xf32>
  %s9 = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<?x?xf32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// The same with positions by hk.iota.
// CHECK-LABEL: func @causal_iota(
// CHECK: hk.attention %{{.*}} scale 1.000000e+00 causal key_layout
// CHECK-NOT: reads
func.func @causal_iota(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x4x?x16xf32>
  %pos = hk.iota like %q dim 2 : tensor<?xi64> like tensor<2x4x?x16xf32>
  %i = tensor.expand_shape %pos [[0, 1]] output_shape [%n, 1] : tensor<?xi64> into tensor<?x1xi64>
  %j = tensor.expand_shape %pos [[0, 1]] output_shape [1, %n] : tensor<?xi64> into tensor<1x?xi64>
  %see = hk.compare le %j, %i : tensor<1x?xi64>, tensor<?x1xi64> -> tensor<?x?xi1>
  %zero = hk.constant 0.000000e+00 : tensor<f32>
  %low = hk.constant -3.40282347E+38 : tensor<f32>
  %m = hk.select %see, %zero, %low : tensor<?x?xi1>, tensor<f32>, tensor<f32> -> tensor<?x?xf32>
  %s9 = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<?x?xf32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// j <= i and j > i - 3: a window of the last three keys.
// CHECK-LABEL: func @window(
// CHECK: hk.attention %{{.*}} scale 1.000000e+00 causal window_left 2 key_layout
func.func @window(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %ids: tensor<2x?xi64> {hk.dims = ["_", "S"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x4x?x16xf32>
  %line = tensor.extract_slice %ids[0, 0] [1, %n] [1, 1] : tensor<2x?xi64> to tensor<1x?xi64>
  %flat = tensor.collapse_shape %line [[0, 1]] : tensor<1x?xi64> into tensor<?xi64>
  %ones = hk.compare eq %flat, %flat : tensor<?xi64> -> tensor<?xi1>
  %pos = hk.cumsum exclusive %ones : tensor<?xi1> -> tensor<?xi64>
  %i = tensor.expand_shape %pos [[0, 1]] output_shape [%n, 1] : tensor<?xi64> into tensor<?x1xi64>
  %j = tensor.expand_shape %pos [[0, 1]] output_shape [1, %n] : tensor<?xi64> into tensor<1x?xi64>
  %w = hk.constant 3 : tensor<i64>
  %from = hk.sub %i, %w : tensor<?x1xi64>, tensor<i64>
  %a = hk.compare le %j, %i : tensor<1x?xi64>, tensor<?x1xi64> -> tensor<?x?xi1>
  %b = hk.compare gt %j, %from : tensor<1x?xi64>, tensor<?x1xi64> -> tensor<?x?xi1>
  %a8 = hk.cast %a : tensor<?x?xi1> -> tensor<?x?xi8>
  %b8 = hk.cast %b : tensor<?x?xi1> -> tensor<?x?xi8>
  %both = hk.mul %a8, %b8 : tensor<?x?xi8>
  %z8 = hk.constant 0 : tensor<i8>
  %see = hk.compare ne %both, %z8 : tensor<?x?xi8>, tensor<i8> -> tensor<?x?xi1>
  %zero = hk.constant 0.000000e+00 : tensor<f32>
  %low = hk.constant 0xFF800000 : tensor<f32>
  %m = hk.select %see, %zero, %low : tensor<?x?xi1>, tensor<f32>, tensor<f32> -> tensor<?x?xf32>
  %s9 = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<?x?xf32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// j < i: the first query sees no key, so that the lowest number is no -inf.
// CHECK-LABEL: func @strict(
// CHECK: %[[M:.*]] = hk.select
// CHECK: hk.attention %{{.*}} reads(%[[M]]) scale 1.000000e+00 key_layout
func.func @strict(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %ids: tensor<2x?xi64> {hk.dims = ["_", "S"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x4x?x16xf32>
  %line = tensor.extract_slice %ids[0, 0] [1, %n] [1, 1] : tensor<2x?xi64> to tensor<1x?xi64>
  %flat = tensor.collapse_shape %line [[0, 1]] : tensor<1x?xi64> into tensor<?xi64>
  %ones = hk.compare eq %flat, %flat : tensor<?xi64> -> tensor<?xi1>
  %pos = hk.cumsum exclusive %ones : tensor<?xi1> -> tensor<?xi64>
  %i = tensor.expand_shape %pos [[0, 1]] output_shape [%n, 1] : tensor<?xi64> into tensor<?x1xi64>
  %j = tensor.expand_shape %pos [[0, 1]] output_shape [1, %n] : tensor<?xi64> into tensor<1x?xi64>
  %see = hk.compare lt %j, %i : tensor<1x?xi64>, tensor<?x1xi64> -> tensor<?x?xi1>
  %zero = hk.constant 0.000000e+00 : tensor<f32>
  %low = hk.constant -3.40282347E+38 : tensor<f32>
  %m = hk.select %see, %zero, %low : tensor<?x?xi1>, tensor<f32>, tensor<f32> -> tensor<?x?xf32>
  %s9 = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<?x?xf32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// -100 hides no key: it is added.
// CHECK-LABEL: func @small_number(
// CHECK: hk.attention %{{.*}} reads(%{{.*}}) scale 1.000000e+00 key_layout
func.func @small_number(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %ids: tensor<2x?xi64> {hk.dims = ["_", "S"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x4x?x16xf32>
  %line = tensor.extract_slice %ids[0, 0] [1, %n] [1, 1] : tensor<2x?xi64> to tensor<1x?xi64>
  %flat = tensor.collapse_shape %line [[0, 1]] : tensor<1x?xi64> into tensor<?xi64>
  %ones = hk.compare eq %flat, %flat : tensor<?xi64> -> tensor<?xi1>
  %pos = hk.cumsum exclusive %ones : tensor<?xi1> -> tensor<?xi64>
  %i = tensor.expand_shape %pos [[0, 1]] output_shape [%n, 1] : tensor<?xi64> into tensor<?x1xi64>
  %j = tensor.expand_shape %pos [[0, 1]] output_shape [1, %n] : tensor<?xi64> into tensor<1x?xi64>
  %see = hk.compare le %j, %i : tensor<1x?xi64>, tensor<?x1xi64> -> tensor<?x?xi1>
  %zero = hk.constant 0.000000e+00 : tensor<f32>
  %low = hk.constant -1.000000e+02 : tensor<f32>
  %m = hk.select %see, %zero, %low : tensor<?x?xi1>, tensor<f32>, tensor<f32> -> tensor<?x?xf32>
  %s9 = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<?x?xf32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// A mask that is given, of a sequence and a key.
// CHECK-LABEL: func @operand(
// CHECK: hk.attention %{{.*}} reads(%arg3) scale 1.000000e+00 key_layout
// CHECK: hk.gather_elements %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
// CHECK: hk.add
func.func @operand(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %m: tensor<2x1x1x?xf32> {hk.dims = ["_", "_", "_", "S"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %s9 = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<2x1x1x?xf32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// The scale behind the mask multiplies it, too.
// CHECK-LABEL: func @scaled_mask(
// CHECK: hk.softmax
// WHY-DAG: Reason="unknown-mask: scores are made by hk.add
func.func @scaled_mask(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %m: tensor<2x1x1x?xf32> {hk.dims = ["_", "_", "_", "S"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c = hk.constant 2.500000e-01 : tensor<f32>
  %t = hk.add %s, %m : tensor<2x4x?x?xf32>, tensor<2x1x1x?xf32>
  %s9 = hk.mul %t, %c : tensor<2x4x?x?xf32>, tensor<f32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// tanh(s / 30) * 20
// CHECK-LABEL: func @other_cap(
// CHECK: hk.softmax
// WHY-DAG: Reason="other-formula: scores are capped by another formula
func.func @other_cap(%q: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xf32> {hk.dims = ["_", "_", "S", "_"]}) -> tensor<2x4x?x16xf32> {
  %kt = hk.transpose %k [0, 1, 3, 2] : tensor<2x4x?x16xf32> -> tensor<2x4x16x?xf32>
  %s = hk.matmul %q, %kt : tensor<2x4x?x16xf32>, tensor<2x4x16x?xf32> -> tensor<2x4x?x?xf32>
  %c = hk.constant 3.000000e+01 : tensor<f32>
  %d = hk.constant 2.000000e+01 : tensor<f32>
  %1 = hk.div %s, %c : tensor<2x4x?x?xf32>, tensor<f32>
  %2 = hk.tanh %1 : tensor<2x4x?x?xf32>
  %s9 = hk.mul %2, %d : tensor<2x4x?x?xf32>, tensor<f32>
  %p = hk.softmax %s9 : tensor<2x4x?x?xf32>
  %o = hk.matmul %p, %v : tensor<2x4x?x?xf32>, tensor<2x4x?x16xf32> -> tensor<2x4x?x16xf32>
  return %o : tensor<2x4x?x16xf32>
}

// -----

// Scores are rounded to bf16 in front of the softmax in f32.
// CHECK-LABEL: func @rounded(
// CHECK: hk.softmax
// WHY-DAG: Reason="rounds-between: scores are rounded
// DROP-LABEL: func @rounded(
// DROP: hk.attention %{{.*}} : tensor<2x?x4x16xbf16>, tensor<2x4x?x16xbf16>, tensor<2x4x?x16xbf16> -> tensor<2x?x4x16xbf16>
func.func @rounded(%q: tensor<2x4x?x16xbf16> {hk.dims = ["_", "_", "S", "_"]}, %k: tensor<2x4x?x16xbf16> {hk.dims = ["_", "_", "S", "_"]}, %v: tensor<2x4x?x16xbf16> {hk.dims = ["_", "_", "S", "_"]}) -> tensor<2x4x?x16xbf16> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x?x16xbf16>, tensor<2x4x?x16xbf16> -> tensor<2x4x?x?xbf16>
  %w = hk.cast %s : tensor<2x4x?x?xbf16> -> tensor<2x4x?x?xf32>
  %p = hk.softmax %w : tensor<2x4x?x?xf32>
  %n = hk.cast %p : tensor<2x4x?x?xf32> -> tensor<2x4x?x?xbf16>
  %o = hk.matmul %n, %v : tensor<2x4x?x?xbf16>, tensor<2x4x?x16xbf16> -> tensor<2x4x?x16xbf16>
  return %o : tensor<2x4x?x16xbf16>
}

// -----

// Repeated key heads, and keys and values that were transposed.
// CHECK-LABEL: func @repeat_kv(
// CHECK: hk.attention %arg0, %arg1, %arg2 scale 1.000000e+00 : tensor<2x?x4x16xf32>, tensor<2x?x2x16xf32>, tensor<2x?x2x16xf32>
// CHECK-NOT: hk.concat
func.func @repeat_kv(%q: tensor<2x?x4x16xf32>, %k: tensor<2x?x2x16xf32>, %v: tensor<2x?x2x16xf32>) -> tensor<2x?x4x16xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : tensor<2x?x2x16xf32>
  %kt = hk.transpose %k [0, 2, 1, 3] : tensor<2x?x2x16xf32> -> tensor<2x2x?x16xf32>
  %vt = hk.transpose %v [0, 2, 1, 3] : tensor<2x?x2x16xf32> -> tensor<2x2x?x16xf32>
  %k1 = tensor.expand_shape %kt [[0], [1, 2], [3], [4]] output_shape [2, 2, 1, %n, 16] : tensor<2x2x?x16xf32> into tensor<2x2x1x?x16xf32>
  %v1 = tensor.expand_shape %vt [[0], [1, 2], [3], [4]] output_shape [2, 2, 1, %n, 16] : tensor<2x2x?x16xf32> into tensor<2x2x1x?x16xf32>
  %k2 = hk.concat 2(%k1, %k1) : tensor<2x2x1x?x16xf32>, tensor<2x2x1x?x16xf32> -> tensor<2x2x2x?x16xf32>
  %v2 = hk.concat 2(%v1, %v1) : tensor<2x2x1x?x16xf32>, tensor<2x2x1x?x16xf32> -> tensor<2x2x2x?x16xf32>
  %k4 = tensor.collapse_shape %k2 [[0], [1, 2], [3], [4]] : tensor<2x2x2x?x16xf32> into tensor<2x4x?x16xf32>
  %v4 = tensor.collapse_shape %v2 [[0], [1, 2], [3], [4]] : tensor<2x2x2x?x16xf32> into tensor<2x4x?x16xf32>
  %o = hk.attention %q, %k4, %v4 scale 1.0 key_layout head_major value_layout head_major : tensor<2x?x4x16xf32>, tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32> -> tensor<2x?x4x16xf32>
  return %o : tensor<2x?x4x16xf32>
}

// -----

// Only keys are repeated.
// CHECK-LABEL: func @repeat_keys(
// CHECK: hk.concat
// WHY-DAG: Reason="other-formula: heads of keys and of values are not repeated alike
func.func @repeat_keys(%q: tensor<2x5x4x16xf32>, %k: tensor<2x2x5x16xf32>, %v: tensor<2x4x5x16xf32>) -> tensor<2x5x4x16xf32> {
  %k1 = tensor.expand_shape %k [[0], [1, 2], [3], [4]] output_shape [2, 2, 1, 5, 16] : tensor<2x2x5x16xf32> into tensor<2x2x1x5x16xf32>
  %k2 = hk.concat 2(%k1, %k1) : tensor<2x2x1x5x16xf32>, tensor<2x2x1x5x16xf32> -> tensor<2x2x2x5x16xf32>
  %k4 = tensor.collapse_shape %k2 [[0], [1, 2], [3], [4]] : tensor<2x2x2x5x16xf32> into tensor<2x4x5x16xf32>
  %o = hk.attention %q, %k4, %v scale 1.0 key_layout head_major value_layout head_major : tensor<2x5x4x16xf32>, tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x5x4x16xf32>
  return %o : tensor<2x5x4x16xf32>
}

// -----

// Of two masks the inner one is applied first: where all keys are hidden, the bias in
// front of the number that hides them has no influence.
// CHECK-LABEL: func @hidden_behind_bias(
// CHECK: ^bb0(%[[S:.*]]: tensor<f32>, %
// CHECK: %[[B:.*]] = hk.add %[[S]],
// CHECK: hk.select %{{.*}}, %[[B]], %{{.*}}
func.func @hidden_behind_bias(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %x: tensor<2x1x1x5xf32>, %bias: tensor<4x5x5xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %c9 = hk.constant 100.0 : tensor<f32>
  %see = hk.compare gt %x, %c9 : tensor<2x1x1x5xf32>, tensor<f32> -> tensor<2x1x1x5xi1>
  %low = hk.constant -65504.0 : tensor<f32>
  %b = hk.add %s, %bias : tensor<2x4x5x5xf32>, tensor<4x5x5xf32>
  %m = hk.select %see, %b, %low : tensor<2x1x1x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// The same the other way round: the bias decides among hidden keys.
// CHECK-LABEL: func @bias_behind_hidden(
// CHECK: ^bb0(%[[S:.*]]: tensor<f32>, %
// CHECK: %[[B:.*]] = hk.select %{{.*}}, %[[S]], %{{.*}}
// CHECK: hk.add %[[B]],
func.func @bias_behind_hidden(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %x: tensor<2x1x1x5xf32>, %bias: tensor<4x5x5xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %c9 = hk.constant 100.0 : tensor<f32>
  %see = hk.compare gt %x, %c9 : tensor<2x1x1x5xf32>, tensor<f32> -> tensor<2x1x1x5xi1>
  %low = hk.constant -65504.0 : tensor<f32>
  %m = hk.select %see, %s, %low : tensor<2x1x1x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %b = hk.add %m, %bias : tensor<2x4x5x5xf32>, tensor<4x5x5xf32>
  %p = hk.softmax %b : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// Another mask may hide the query's own key, which leaves it the keys behind it.
// CHECK-LABEL: func @causal_of_hidden(
// CHECK: hk.attention %{{.*}} reads(%{{.*}}, %{{.*}}) scale 1.000000e+00 key_layout
func.func @causal_of_hidden(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %x: tensor<2x1x1x5xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %c9 = hk.constant 100.0 : tensor<f32>
  %see = hk.compare gt %x, %c9 : tensor<2x1x1x5xf32>, tensor<f32> -> tensor<2x1x1x5xi1>
  %low = hk.constant -65504.0 : tensor<f32>
  %i = hk.iota : tensor<5xi32>
  %r = tensor.expand_shape %i [[0, 1]] output_shape [5, 1] : tensor<5xi32> into tensor<5x1xi32>
  %cz = hk.compare le %i, %r : tensor<5xi32>, tensor<5x1xi32> -> tensor<5x5xi1>
  %a = hk.select %cz, %s, %low : tensor<5x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %m = hk.select %see, %a, %low : tensor<2x1x1x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// A finite number behind -inf brings the key back, one that is added does not.
// CHECK-LABEL: func @causal_behind_number(
// CHECK: hk.attention %{{.*}} reads(%{{.*}}, %{{.*}}) scale 1.000000e+00 key_layout
// CHECK-LABEL: func @causal_behind_bias(
// CHECK: hk.attention %{{.*}} reads(%arg3) scale 1.000000e+00 causal key_layout
func.func @causal_behind_number(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %x: tensor<2x1x1x5xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %c9 = hk.constant 100.0 : tensor<f32>
  %see = hk.compare gt %x, %c9 : tensor<2x1x1x5xf32>, tensor<f32> -> tensor<2x1x1x5xi1>
  %low = hk.constant -65504.0 : tensor<f32>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %i = hk.iota : tensor<5xi32>
  %r = tensor.expand_shape %i [[0, 1]] output_shape [5, 1] : tensor<5xi32> into tensor<5x1xi32>
  %cz = hk.compare le %i, %r : tensor<5xi32>, tensor<5x1xi32> -> tensor<5x5xi1>
  %a = hk.select %cz, %s, %inf : tensor<5x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %m = hk.select %see, %a, %low : tensor<2x1x1x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
func.func @causal_behind_bias(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %bias: tensor<4x5x5xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %inf = hk.constant 0xFF800000 : tensor<f32>
  %i = hk.iota : tensor<5xi32>
  %r = tensor.expand_shape %i [[0, 1]] output_shape [5, 1] : tensor<5xi32> into tensor<5x1xi32>
  %cz = hk.compare le %i, %r : tensor<5xi32>, tensor<5x1xi32> -> tensor<5x5xi1>
  %a = hk.select %cz, %s, %inf : tensor<5x5xi1>, tensor<2x4x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %m = hk.add %a, %bias : tensor<2x4x5x5xf32>, tensor<4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// masked_fill: the condition says what is hidden, by positions and as an operand.
// CHECK-LABEL: func @fill_later(
// CHECK: hk.attention %{{.*}} scale 1.000000e+00 causal key_layout
// CHECK-LABEL: func @fill_operand(
// CHECK: hk.attention %{{.*}} reads(%arg3) scale 1.000000e+00 key_layout
// CHECK: hk.select %{{.*}}, %{{.*}}, %{{.*}}
func.func @fill_later(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %low = hk.constant -65504.0 : tensor<f32>
  %i = hk.iota : tensor<5xi32>
  %r = tensor.expand_shape %i [[0, 1]] output_shape [5, 1] : tensor<5xi32> into tensor<5x1xi32>
  %cz = hk.compare gt %i, %r : tensor<5xi32>, tensor<5x1xi32> -> tensor<5x5xi1>
  %m = hk.select %cz, %low, %s : tensor<5x5xi1>, tensor<f32>, tensor<2x4x5x5xf32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
func.func @fill_operand(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %hide: tensor<2x1x5x5xi1>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %low = hk.constant -65504.0 : tensor<f32>
  %m = hk.select %hide, %low, %s : tensor<2x1x5x5xi1>, tensor<f32>, tensor<2x4x5x5xf32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// A mask or a factor that repeats the scores of one head for others.
// CHECK-LABEL: func @mask_of_heads(
// CHECK: hk.softmax
// CHECK-LABEL: func @factor_of_heads(
// CHECK: hk.softmax
// CHECK-LABEL: func @cap_of_heads(
// CHECK: hk.softmax
func.func @mask_of_heads(%q: tensor<2x1x5x16xf32>, %k: tensor<2x1x5x16xf32>, %v: tensor<2x4x5x16xf32>, %see: tensor<2x4x5x5xi1>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x1x5x16xf32>, tensor<2x1x5x16xf32> -> tensor<2x1x5x5xf32>
  %low = hk.constant -65504.0 : tensor<f32>
  %m = hk.select %see, %s, %low : tensor<2x4x5x5xi1>, tensor<2x1x5x5xf32>, tensor<f32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
func.func @factor_of_heads(%q: tensor<2x1x5x16xf32>, %k: tensor<2x1x5x16xf32>, %v: tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x1x5x16xf32>, tensor<2x1x5x16xf32> -> tensor<2x1x5x5xf32>
  %c = arith.constant dense<0.5> : tensor<4x1x1xf32>
  %m = hk.mul %s, %c : tensor<2x1x5x5xf32>, tensor<4x1x1xf32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
func.func @cap_of_heads(%q: tensor<2x1x5x16xf32>, %k: tensor<2x1x5x16xf32>, %v: tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x1x5x16xf32>, tensor<2x1x5x16xf32> -> tensor<2x1x5x5xf32>
  %c = arith.constant dense<0.5> : tensor<4x1x1xf32>
  %c2 = hk.constant 2.0 : tensor<f32>
  %x = hk.mul %s, %c2 : tensor<2x1x5x5xf32>, tensor<f32>
  %t = hk.tanh %x : tensor<2x1x5x5xf32>
  %m = hk.mul %t, %c : tensor<2x1x5x5xf32>, tensor<4x1x1xf32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// One number that is added to all scores: no table.
// CHECK-LABEL: func @added_number(
// CHECK: hk.softmax
func.func @added_number(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %n: tensor<f32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %m = hk.add %s, %n : tensor<2x4x5x5xf32>, tensor<f32>
  %p = hk.softmax %m : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// Queries and values that the products read transposed.
// CHECK-LABEL: func @transposed_operands(
// CHECK: hk.attention %arg0, %{{.*}}, %{{.*}} scale 1.000000e+00 :
// CHECK-NOT: hk.matmul
func.func @transposed_operands(%q: tensor<2x5x4x16xf32>, %k: tensor<2x5x4x16xf32>, %v: tensor<2x5x4x16xf32>) -> tensor<2x4x5x16xf32> {
  %qt = hk.transpose %q [0, 2, 3, 1] : tensor<2x5x4x16xf32> -> tensor<2x4x16x5xf32>
  %kt = hk.transpose %k [0, 2, 3, 1] : tensor<2x5x4x16xf32> -> tensor<2x4x16x5xf32>
  %vt = hk.transpose %v [0, 2, 3, 1] : tensor<2x5x4x16xf32> -> tensor<2x4x16x5xf32>
  %s = hk.matmul %qt, %kt transpose_a : tensor<2x4x16x5xf32>, tensor<2x4x16x5xf32> -> tensor<2x4x5x5xf32>
  %p = hk.softmax %s : tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %vt transpose_b : tensor<2x4x5x5xf32>, tensor<2x4x16x5xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// Weights that are the scores: a low number is a weight as any other.
// CHECK-LABEL: func @weighted(
// CHECK: hk.attention %arg0, %arg1, %arg2 reads(%{{.*}}) scale 1.000000e+00 normalizer none :
// CHECK: hk.select
func.func @weighted(%q: tensor<2x5x4x16xf32>, %k: tensor<2x5x4x16xf32>, %v: tensor<2x5x4x16xf32>) -> tensor<2x5x4x16xf32> {
  %i = hk.iota : tensor<5xi32>
  %r = tensor.expand_shape %i [[0, 1]] output_shape [5, 1] : tensor<5xi32> into tensor<5x1xi32>
  %see = hk.compare le %i, %r : tensor<5xi32>, tensor<5x1xi32> -> tensor<5x5xi1>
  %o = hk.attention %q, %k, %v reads(%see) scale 1.0 normalizer none : tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32>, tensor<2x5x4x16xf32> reads(tensor<5x5xi1>) -> tensor<2x5x4x16xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %n: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<5x5xi1>):
    %low = hk.constant -65504.0 : tensor<f32>
    %c = hk.gather_elements %t [%n, %j] : tensor<5x5xi1> [tensor<i32>, tensor<i32>] -> tensor<i1>
    %y = hk.select %c, %s, %low : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %o : tensor<2x5x4x16xf32>
}

// -----

// A sink: a column behind the scores, whose probability is cut off, of one number of
// each head. The largest logit may be taken off.
// CHECK-LABEL: func @sink(
// CHECK: hk.attention %{{.*}} sink %{{.*}} scale 1.000000e+00 key_layout
// CHECK-LABEL: func @sink_of_pairs(
// CHECK: hk.cast
// CHECK: hk.attention %{{.*}} sink %{{.*}} scale 1.000000e+00 key_layout
func.func @sink(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %sink: tensor<4xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %x = tensor.expand_shape %sink [[0, 1, 2, 3]] output_shape [1, 4, 1, 1] : tensor<4xf32> into tensor<1x4x1x1xf32>
  %z = arith.constant dense<true> : tensor<2x1x5x1xi1>
  %col = hk.select %z, %x, %x : tensor<2x1x5x1xi1>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<2x4x5x1xf32>
  %c = hk.concat 3 (%s, %col) : tensor<2x4x5x5xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x6xf32>
  %p = hk.softmax %c : tensor<2x4x5x6xf32>
  %l = tensor.extract_slice %p[0, 0, 0, 0] [2, 4, 5, 5] [1, 1, 1, 1] : tensor<2x4x5x6xf32> to tensor<2x4x5x5xf32>
  %o = hk.matmul %l, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
func.func @sink_of_pairs(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %sink: tensor<4x1xbf16>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %f = hk.cast %sink : tensor<4x1xbf16> -> tensor<4x1xf32>
  %f4 = hk.concat 1 (%f, %f, %f, %f, %f) : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x5xf32>
  %x = tensor.expand_shape %f4 [[0, 1], [2, 3]] output_shape [1, 4, 5, 1] : tensor<4x5xf32> into tensor<1x4x5x1xf32>
  %col = hk.concat 0 (%x, %x) : tensor<1x4x5x1xf32>, tensor<1x4x5x1xf32> -> tensor<2x4x5x1xf32>
  %c = hk.concat 3 (%s, %col) : tensor<2x4x5x5xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x6xf32>
  %max = hk.reduce max %c : tensor<2x4x5x6xf32> -> tensor<2x4x5x1xf32>
  %m = hk.sub %c, %max : tensor<2x4x5x6xf32>, tensor<2x4x5x1xf32>
  %p = hk.softmax %m : tensor<2x4x5x6xf32>
  %l = tensor.extract_slice %p[0, 0, 0, 0] [2, 4, 5, 5] [1, 1, 1, 1] : tensor<2x4x5x6xf32> to tensor<2x4x5x5xf32>
  %o = hk.matmul %l, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// A column of numbers of queries, and a column that stays while the first key goes.
// CHECK-LABEL: func @column_of_queries(
// CHECK: hk.softmax
// CHECK-LABEL: func @first_key(
// CHECK: hk.softmax
// WHY-DAG: Reason="other-formula: the column behind the scores is not one number of each head
// WHY-DAG: Reason="other-formula: a part of the probabilities is used
func.func @column_of_queries(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %sink: tensor<2x20xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %x = tensor.expand_shape %sink [[0], [1, 2, 3]] output_shape [2, 4, 5, 1] : tensor<2x20xf32> into tensor<2x4x5x1xf32>
  %col = hk.mul %x, 1.0 : tensor<2x4x5x1xf32>
  %c = hk.concat 3 (%s, %col) : tensor<2x4x5x5xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x6xf32>
  %p = hk.softmax %c : tensor<2x4x5x6xf32>
  %l = tensor.extract_slice %p[0, 0, 0, 0] [2, 4, 5, 5] [1, 1, 1, 1] : tensor<2x4x5x6xf32> to tensor<2x4x5x5xf32>
  %o = hk.matmul %l, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
func.func @first_key(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>, %sink: tensor<4xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %x = tensor.expand_shape %sink [[0, 1, 2, 3]] output_shape [1, 4, 1, 1] : tensor<4xf32> into tensor<1x4x1x1xf32>
  %z = arith.constant dense<true> : tensor<2x1x5x1xi1>
  %col = hk.select %z, %x, %x : tensor<2x1x5x1xi1>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32> -> tensor<2x4x5x1xf32>
  %c = hk.concat 3 (%s, %col) : tensor<2x4x5x5xf32>, tensor<2x4x5x1xf32> -> tensor<2x4x5x6xf32>
  %p = hk.softmax %c : tensor<2x4x5x6xf32>
  %l = tensor.extract_slice %p[0, 0, 0, 1] [2, 4, 5, 5] [1, 1, 1, 1] : tensor<2x4x5x6xf32> to tensor<2x4x5x5xf32>
  %o = hk.matmul %l, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// j <= i with fewer keys than queries: the interval ends where keys do for the last queries.
// With more keys no attribute says it, and the mask stays what is read.
// CHECK-LABEL: func @top_left(
// CHECK-NOT: reads
// CHECK: hk.attention %{{.*}} scale 1.000000e+00 window_right 4 key_layout
// CHECK-LABEL: func @top_left_of_more_keys(
// CHECK: hk.attention %{{.*}} reads(%{{.*}}) scale 1.000000e+00 key_layout
func.func @top_left(%q: tensor<2x4x9x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>) -> tensor<2x4x9x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x9x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x9x5xf32>
  %rows = hk.iota like %q dim 2 : tensor<9xi64> like tensor<2x4x9x16xf32>
  %keys = hk.iota like %k dim 2 : tensor<5xi64> like tensor<2x4x5x16xf32>
  %i = tensor.expand_shape %rows [[0, 1]] output_shape [9, 1] : tensor<9xi64> into tensor<9x1xi64>
  %j = tensor.expand_shape %keys [[0, 1]] output_shape [1, 5] : tensor<5xi64> into tensor<1x5xi64>
  %see = hk.compare le %j, %i : tensor<1x5xi64>, tensor<9x1xi64> -> tensor<9x5xi1>
  %low = hk.constant 0xFF800000 : tensor<f32>
  %m = hk.select %see, %s, %low : tensor<9x5xi1>, tensor<2x4x9x5xf32>, tensor<f32> -> tensor<2x4x9x5xf32>
  %p = hk.softmax %m : tensor<2x4x9x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x9x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x9x16xf32>
  return %o : tensor<2x4x9x16xf32>
}
func.func @top_left_of_more_keys(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x9x16xf32>, %v: tensor<2x4x9x16xf32>) -> tensor<2x4x5x16xf32> {
  %s = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x5x9xf32>
  %rows = hk.iota like %q dim 2 : tensor<5xi64> like tensor<2x4x5x16xf32>
  %keys = hk.iota like %k dim 2 : tensor<9xi64> like tensor<2x4x9x16xf32>
  %i = tensor.expand_shape %rows [[0, 1]] output_shape [5, 1] : tensor<5xi64> into tensor<5x1xi64>
  %j = tensor.expand_shape %keys [[0, 1]] output_shape [1, 9] : tensor<9xi64> into tensor<1x9xi64>
  %see = hk.compare le %j, %i : tensor<1x9xi64>, tensor<5x1xi64> -> tensor<5x9xi1>
  %low = hk.constant 0xFF800000 : tensor<f32>
  %m = hk.select %see, %s, %low : tensor<5x9xi1>, tensor<2x4x5x9xf32>, tensor<f32> -> tensor<2x4x5x9xf32>
  %p = hk.softmax %m : tensor<2x4x5x9xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x9xf32>, tensor<2x4x9x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}
