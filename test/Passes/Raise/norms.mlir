// Norms out of means and roots, and what only looks like one.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// The mean by division, the root's reciprocal, the weight in front.
// CHECK-LABEL: func @rms_norm(
// CHECK-NEXT: %[[Y:.*]] = hk.rms_norm %arg0, %arg1 epsilon 9.99999997E-7 : tensor<?x64xf32>, tensor<64xf32>
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %e, %2 : tensor<f32>, tensor<?x1xf32> -> tensor<?x1xf32>
  %4 = hk.sqrt %3 : tensor<?x1xf32>
  %5 = hk.reciprocal %4 : tensor<?x1xf32>
  %6 = hk.mul %x, %5 : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
  %7 = hk.mul %w, %6 : tensor<64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %7 : tensor<?x64xf32>
}

// -----

// In f32, rounded, then times the weight: Llama.
// CHECK-LABEL: func @rounded_before_weight(
// CHECK-NEXT: hk.rms_norm %arg0, %arg1 epsilon 9.99999997E-7 round_before_weight : tensor<?x64xbf16>, tensor<64xbf16>
func.func @rounded_before_weight(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %n = hk.constant 1.562500e-02 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %f = hk.cast %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  %0 = hk.mul %f, %f : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.mul %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.rsqrt %3 : tensor<?x1xf32>
  %5 = hk.mul %f, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  %6 = hk.cast %5 : tensor<?x64xf32> -> tensor<?x64xbf16>
  %7 = hk.mul %w, %6 : tensor<64xbf16>, tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %7 : tensor<?x64xbf16>
}

// -----

// x * r * (1 + w) in f32, rounded once: Gemma.
// CHECK-LABEL: func @offset(
// CHECK-NEXT: hk.rms_norm %arg0, %arg1 epsilon 9.99999997E-7 weight_offset 1.000000e+00 : tensor<?x64xbf16>, tensor<64xbf16>
func.func @offset(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %one = hk.constant 1.000000e+00 : tensor<f32>
  %f = hk.cast %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  %g = hk.cast %w : tensor<64xbf16> -> tensor<64xf32>
  %h = hk.add %g, %one : tensor<64xf32>, tensor<f32>
  %0 = hk.mul %f, %f : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.sqrt %3 : tensor<?x1xf32>
  %5 = hk.div %f, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  %6 = hk.mul %5, %h : tensor<?x64xf32>, tensor<64xf32>
  %7 = hk.cast %6 : tensor<?x64xf32> -> tensor<?x64xbf16>
  return %7 : tensor<?x64xbf16>
}

// -----

// A weight that something is taken off is a weight, with no offset of 1.
// CHECK-LABEL: func @weight_minus_one(
// CHECK: %[[W:.*]] = hk.rms_norm %arg0, %arg1 epsilon 9.99999997E-7 weight_offset -1.000000e+00
func.func @weight_minus_one(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %one = hk.constant -1.000000e+00 : tensor<f32>
  %h = hk.add %w, %one : tensor<64xf32>, tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.rsqrt %3 : tensor<?x1xf32>
  %5 = hk.mul %x, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  %6 = hk.mul %5, %h : tensor<?x64xf32>, tensor<64xf32>
  return %6 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func @l2_norm(
// CHECK-NEXT: hk.l2_norm %arg0 epsilon 9.99999997E-7 : tensor<?x64xf32>
func.func @l2_norm(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %3 = hk.add %1, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.rsqrt %3 : tensor<?x1xf32>
  %5 = hk.mul %x, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  return %5 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func @layer_norm(
// CHECK-NEXT: hk.layer_norm %arg0, %arg1, %arg2 epsilon 9.99999997E-7 : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>
func.func @layer_norm(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %s = hk.reduce sum %x : tensor<?x64xf32> -> tensor<?x1xf32>
  %m = hk.div %s, %n : tensor<?x1xf32>, tensor<f32>
  %d = hk.sub %x, %m : tensor<?x64xf32>, tensor<?x1xf32>
  %0 = hk.mul %d, %d : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.sqrt %3 : tensor<?x1xf32>
  %5 = hk.div %d, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  %6 = hk.mul %5, %w : tensor<?x64xf32>, tensor<64xf32>
  %7 = hk.add %6, %b : tensor<?x64xf32>, tensor<64xf32>
  return %7 : tensor<?x64xf32>
}

// -----

// The epsilon inside of the mean.
// CHECK-LABEL: func @epsilon_inside(
// CHECK-NOT: norm
// WHY-DAG: Reason="other-formula: no epsilon is added to the mean of the squares
func.func @epsilon_inside(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %p = hk.add %0, %e : tensor<?x64xf32>, tensor<f32>
  %1 = hk.reduce sum %p : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %4 = hk.rsqrt %2 : tensor<?x1xf32>
  %5 = hk.mul %x, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  return %5 : tensor<?x64xf32>
}

// -----

// The mean of 64 elements divided by 63.
// CHECK-LABEL: func @other_count(
// CHECK-NOT: norm
// WHY-DAG: Reason="other-formula: the sum of squares is multiplied by 0.015873, not by 1 / 64
func.func @other_count(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %n = hk.constant 6.300000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.rsqrt %3 : tensor<?x1xf32>
  %5 = hk.mul %x, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  return %5 : tensor<?x64xf32>
}

// -----

// The square of another tensor.
// CHECK-LABEL: func @other_row(
// CHECK-NOT: norm
// WHY-DAG: Reason="other-formula: what is reduced is not the square
func.func @other_row(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %0 = hk.mul %y, %y : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %2 = hk.div %1, %n : tensor<?x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1xf32>, tensor<f32>
  %4 = hk.rsqrt %3 : tensor<?x1xf32>
  %5 = hk.mul %x, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  return %5 : tensor<?x64xf32>
}

// -----

// Over two dims.
// CHECK-LABEL: func @two_dims(
// CHECK-NOT: norm
// WHY-DAG: Reason="other-axis: the mean is over 2 dims, not the last one
func.func @two_dims(%x: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  %n = hk.constant 6.400000e+01 : tensor<f32>
  %e = hk.constant 9.99999997E-7 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x4x16xf32>
  %1 = hk.reduce sum %0 dims 2 : tensor<?x4x16xf32> -> tensor<?x1x1xf32>
  %2 = hk.div %1, %n : tensor<?x1x1xf32>, tensor<f32>
  %3 = hk.add %2, %e : tensor<?x1x1xf32>, tensor<f32>
  %4 = hk.rsqrt %3 : tensor<?x1x1xf32>
  %5 = hk.mul %x, %4 : tensor<?x4x16xf32>, tensor<?x1x1xf32>
  return %5 : tensor<?x4x16xf32>
}

// -----

// The mean is rounded to bf16.
// CHECK-LABEL: func @rounded_mean(
// CHECK-NOT: norm
// WHY-DAG: Reason="rounds-between: the mean of the squares is rounded
func.func @rounded_mean(%x: tensor<?x64xbf16>) -> tensor<?x64xf32> {
  %n = hk.constant 6.400000e+01 : tensor<bf16>
  %e = hk.constant 1.001360e-05 : tensor<bf16>
  %f = hk.cast %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  %0 = hk.mul %f, %f : tensor<?x64xf32>
  %1 = hk.reduce sum %0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %c = hk.cast %1 : tensor<?x1xf32> -> tensor<?x1xbf16>
  %3 = hk.add %c, %e : tensor<?x1xbf16>, tensor<bf16>
  %4 = hk.rsqrt %3 : tensor<?x1xbf16> -> tensor<?x1xf32>
  %5 = hk.mul %f, %4 : tensor<?x64xf32>, tensor<?x1xf32>
  return %5 : tensor<?x64xf32>
}
