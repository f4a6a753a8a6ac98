// RUN: hk-opt -hk-fuse %s | FileCheck %s

module attributes {hk.target = #hk.target<"host">} {

// Every result gets memory of its own: an argument is copied, a value returned
// twice is written twice, a view of it is written in its shape. One kernel.
// CHECK-LABEL: func @results
// CHECK: %[[R:.*]]:4 = hk.fused rowwise ins(%arg0 :
// CHECK: %[[S:.*]] = hk.silu
// CHECK: %[[V:.*]] = tensor.extract_slice %[[S]]
// CHECK: %[[C:.*]] = hk.copy
// CHECK: hk.yield %[[S]], %[[C]], %[[S]], %[[V]]
// CHECK: return %[[R]]#1, %[[R]]#0, %[[R]]#2, %[[R]]#3
// CHECK-NOT: hk.copy
func.func @results(%x: tensor<8x64xbf16>) -> (tensor<8x64xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>, tensor<8x32xbf16>) {
  %0 = hk.silu %x : tensor<8x64xbf16>
  %1 = tensor.extract_slice %0[0, 32] [8, 32] [1, 1] : tensor<8x64xbf16> to tensor<8x32xbf16>
  return %x, %0, %0, %1 : tensor<8x64xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>, tensor<8x32xbf16>
}

// A weight that is returned is copied too.
// CHECK-LABEL: func @weight
// CHECK: %[[W:.*]] = hk.weight_ref @w
// CHECK: hk.fused rowwise ins(%[[W]] :
// CHECK: hk.copy
hk.weight @w "w" : tensor<4xf32>
func.func @weight() -> tensor<4xf32> {
  %0 = hk.weight_ref @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A constant is part of every kernel that uses it.
// CHECK-LABEL: func @constant
// CHECK-NOT: hk.constant
// CHECK: hk.fused rowwise ins(%arg0 :
// CHECK: %[[C:.*]] = hk.constant 2.000000e+00
// CHECK: hk.mul %{{.*}}, %[[C]]
// CHECK: hk.fused rowwise
// CHECK: hk.constant 2.000000e+00
func.func @constant(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %c = hk.constant 2.0 : tensor<f32>
  %0 = hk.mul %x, %c : tensor<8x16xf32>, tensor<f32>
  %1 = hk.matmul %0, %w : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %2 = hk.softmax %1 : tensor<8x16xf32>
  %3 = hk.mul %2, %c : tensor<8x16xf32>, tensor<f32>
  return %3 : tensor<8x16xf32>
}

// What nobody uses is not computed.
// CHECK-LABEL: func @dead
// CHECK-NOT: hk.exp
func.func @dead(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = hk.exp %x : tensor<8x16xf32>
  %1 = hk.silu %x : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
}
