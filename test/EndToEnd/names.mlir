// A function may have any name MLIR has, two that differ by a suffix of ours included.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --function="a/b 'c\"; d" --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=layer.forward --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=layer.forward_run --check=%s | FileCheck %s
// CHECK: all within their bounds

func.func @"a/b 'c\22; d"(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = hk.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @layer.forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = hk.tanh %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @layer.forward_run(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = hk.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
