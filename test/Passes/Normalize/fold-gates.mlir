// RUN: hk-opt %s --hk-fold-gates | FileCheck %s

// The two halves, and a result of another type.
// CHECK-LABEL: func @halves(
// CHECK: %[[Y:.*]] = hk.gated_activation silu %arg0 round_before_up : tensor<?x64xbf16> -> tensor<?x32xf32>
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<?x64xbf16>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %g = tensor.extract_slice %x[0, 0] [%n, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
  %u = tensor.extract_slice %x[0, 32] [%n, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
  %a = hk.silu %g : tensor<?x32xbf16>
  %y = hk.mul %u, %a : tensor<?x32xbf16>, tensor<?x32xbf16> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func @second_half_is_the_gate(
// CHECK-NOT: gated_activation
func.func @second_half_is_the_gate(%x: tensor<4x64xf32>) -> tensor<4x32xf32> {
  %u = tensor.extract_slice %x[0, 0] [4, 32] [1, 1] : tensor<4x64xf32> to tensor<4x32xf32>
  %g = tensor.extract_slice %x[0, 32] [4, 32] [1, 1] : tensor<4x64xf32> to tensor<4x32xf32>
  %a = hk.relu %g : tensor<4x32xf32>
  %y = hk.mul %a, %u : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// CHECK-LABEL: func @fewer_rows(
// CHECK-NOT: gated_activation
func.func @fewer_rows(%x: tensor<4x64xf32>) -> tensor<2x32xf32> {
  %g = tensor.extract_slice %x[0, 0] [2, 32] [1, 1] : tensor<4x64xf32> to tensor<2x32xf32>
  %u = tensor.extract_slice %x[0, 32] [2, 32] [1, 1] : tensor<4x64xf32> to tensor<2x32xf32>
  %a = hk.gelu %g : tensor<2x32xf32>
  %y = hk.mul %a, %u : tensor<2x32xf32>
  return %y : tensor<2x32xf32>
}

// CHECK-LABEL: func @activation_is_read_again(
// CHECK-NOT: gated_activation
func.func @activation_is_read_again(%x: tensor<4x64xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %g = tensor.extract_slice %x[0, 0] [4, 32] [1, 1] : tensor<4x64xf32> to tensor<4x32xf32>
  %u = tensor.extract_slice %x[0, 32] [4, 32] [1, 1] : tensor<4x64xf32> to tensor<4x32xf32>
  %a = hk.gelu_tanh %g : tensor<4x32xf32>
  %y = hk.mul %a, %u : tensor<4x32xf32>
  return %a, %y : tensor<4x32xf32>, tensor<4x32xf32>
}

// CHECK-LABEL: func @another_activation(
// CHECK-NOT: gated_activation
func.func @another_activation(%x: tensor<4x64xf32>) -> tensor<4x32xf32> {
  %g = tensor.extract_slice %x[0, 0] [4, 32] [1, 1] : tensor<4x64xf32> to tensor<4x32xf32>
  %u = tensor.extract_slice %x[0, 32] [4, 32] [1, 1] : tensor<4x64xf32> to tensor<4x32xf32>
  %a = hk.tanh %g : tensor<4x32xf32>
  %y = hk.mul %a, %u : tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}
