// Activations out of arithmetic, and what only looks like one.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: hk-opt %s --hk-raise=drop-roundings --split-input-file | FileCheck %s --check-prefix=DROP

// CHECK-LABEL: func @silu(
// CHECK-NEXT: hk.silu %arg0 : tensor<?x64xf32>
// CHECK-NEXT: return
func.func @silu(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = hk.sigmoid %x : tensor<?x64xf32>
  %1 = hk.mul %0, %x : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// The sigmoid of something else.
// CHECK-LABEL: func @gate(
// CHECK: hk.sigmoid
func.func @gate(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = hk.sigmoid %x : tensor<?x64xf32>
  %1 = hk.mul %0, %y : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// In bf16 the sigmoid is rounded first.
// CHECK-LABEL: func @rounded_silu(
// CHECK: hk.sigmoid
// WHY-DAG: Reason="rounds-between: the sigmoid is rounded
// DROP-LABEL: func @rounded_silu(
// DROP-NEXT: hk.silu %arg0 : tensor<?x64xbf16>
func.func @rounded_silu(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.sigmoid %x : tensor<?x64xbf16>
  %1 = hk.mul %0, %x : tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}

// -----

// CHECK-LABEL: func @gelu_erf(
// CHECK-NEXT: hk.gelu %arg0 : tensor<?x64xf32>
// CHECK-NEXT: return
func.func @gelu_erf(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %h = hk.constant 5.000000e-01 : tensor<f32>
  %one = hk.constant 1.000000e+00 : tensor<f32>
  %r = hk.constant 1.41421354 : tensor<f32>
  %0 = hk.div %x, %r : tensor<?x64xf32>, tensor<f32>
  %1 = hk.erf %0 : tensor<?x64xf32>
  %2 = hk.add %1, %one : tensor<?x64xf32>, tensor<f32>
  %3 = hk.mul %x, %2 : tensor<?x64xf32>
  %4 = hk.mul %3, %h : tensor<?x64xf32>, tensor<f32>
  return %4 : tensor<?x64xf32>
}

// -----

// GPT-2: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
// CHECK-LABEL: func @gelu_tanh(
// CHECK-NEXT: hk.gelu_tanh %arg0 : tensor<?x64xf32>
// CHECK-NEXT: return
func.func @gelu_tanh(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %h = hk.constant 5.000000e-01 : tensor<f32>
  %one = hk.constant 1.000000e+00 : tensor<f32>
  %k = hk.constant 4.471500e-02 : tensor<f32>
  %r = hk.constant 0.797884583 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %1 = hk.mul %0, %x : tensor<?x64xf32>
  %2 = hk.mul %1, %k : tensor<?x64xf32>, tensor<f32>
  %3 = hk.add %x, %2 : tensor<?x64xf32>
  %4 = hk.mul %3, %r : tensor<?x64xf32>, tensor<f32>
  %5 = hk.tanh %4 : tensor<?x64xf32>
  %6 = hk.add %5, %one : tensor<?x64xf32>, tensor<f32>
  %7 = hk.mul %x, %h : tensor<?x64xf32>, tensor<f32>
  %8 = hk.mul %7, %6 : tensor<?x64xf32>
  return %8 : tensor<?x64xf32>
}

// -----

// The factored form, x (1 + 0.044715 x^2).
// CHECK-LABEL: func @gelu_tanh_factored(
// CHECK-NEXT: hk.gelu_tanh %arg0 : tensor<?x64xf32>
func.func @gelu_tanh_factored(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %h = hk.constant 5.000000e-01 : tensor<f32>
  %one = hk.constant 1.000000e+00 : tensor<f32>
  %k = hk.constant 4.471500e-02 : tensor<f32>
  %r = hk.constant 0.797884583 : tensor<f32>
  %0 = hk.mul %x, %k : tensor<?x64xf32>, tensor<f32>
  %1 = hk.mul %0, %x : tensor<?x64xf32>
  %2 = hk.add %1, %one : tensor<?x64xf32>, tensor<f32>
  %3 = hk.mul %x, %r : tensor<?x64xf32>, tensor<f32>
  %4 = hk.mul %3, %2 : tensor<?x64xf32>
  %5 = hk.tanh %4 : tensor<?x64xf32>
  %6 = hk.add %5, %one : tensor<?x64xf32>, tensor<f32>
  %7 = hk.mul %6, %h : tensor<?x64xf32>, tensor<f32>
  %8 = hk.mul %7, %x : tensor<?x64xf32>
  return %8 : tensor<?x64xf32>
}

// -----

// erf of x, not of x / sqrt(2).
// CHECK-LABEL: func @erf_of_x(
// CHECK-NOT: hk.gelu
// WHY-DAG: Reason="other-formula: erf is not of x / sqrt(2)
func.func @erf_of_x(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %h = hk.constant 5.000000e-01 : tensor<f32>
  %one = hk.constant 1.000000e+00 : tensor<f32>
  %1 = hk.erf %x : tensor<?x64xf32>
  %2 = hk.add %1, %one : tensor<?x64xf32>, tensor<f32>
  %3 = hk.mul %x, %2 : tensor<?x64xf32>
  %4 = hk.mul %3, %h : tensor<?x64xf32>, tensor<f32>
  return %4 : tensor<?x64xf32>
}

// -----

// Another cubic.
// CHECK-LABEL: func @other_cubic(
// CHECK-NOT: hk.gelu
// WHY-DAG: Reason="other-formula: tanh is not of sqrt(2 / pi) (x + 0.044715 x^3)
func.func @other_cubic(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %h = hk.constant 5.000000e-01 : tensor<f32>
  %one = hk.constant 1.000000e+00 : tensor<f32>
  %k = hk.constant 4.500000e-02 : tensor<f32>
  %r = hk.constant 0.797884583 : tensor<f32>
  %0 = hk.mul %x, %x : tensor<?x64xf32>
  %1 = hk.mul %0, %x : tensor<?x64xf32>
  %2 = hk.mul %1, %k : tensor<?x64xf32>, tensor<f32>
  %3 = hk.add %x, %2 : tensor<?x64xf32>
  %4 = hk.mul %3, %r : tensor<?x64xf32>, tensor<f32>
  %5 = hk.tanh %4 : tensor<?x64xf32>
  %6 = hk.add %5, %one : tensor<?x64xf32>, tensor<f32>
  %7 = hk.mul %x, %h : tensor<?x64xf32>, tensor<f32>
  %8 = hk.mul %7, %6 : tensor<?x64xf32>
  return %8 : tensor<?x64xf32>
}

// -----

// A number that repeats its operand is more than a factor.
// CHECK-LABEL: func @repeating_half(
// CHECK: hk.erf
func.func @repeating_half(%x: tensor<1x5xf32>) -> tensor<3x5xf32> {
  %r = hk.constant 7.071067690849304e-01 : tensor<f32>
  %one = hk.constant 1.0 : tensor<f32>
  %half = arith.constant dense<0.5> : tensor<3x1xf32>
  %a = hk.mul %x, %r : tensor<1x5xf32>, tensor<f32>
  %b = hk.erf %a : tensor<1x5xf32>
  %c = hk.add %b, %one : tensor<1x5xf32>, tensor<f32>
  %d = hk.mul %x, %c : tensor<1x5xf32>
  %e = hk.mul %d, %half : tensor<1x5xf32>, tensor<3x1xf32> -> tensor<3x5xf32>
  return %e : tensor<3x5xf32>
}
