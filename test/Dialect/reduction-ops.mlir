// Round trip.
// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<?x64xbf16>, %y: tensor<2x3x4xf32>) {
  // CHECK: hk.reduce sum %{{.*}} : tensor<?x64xbf16> -> tensor<?x1xf32>
  %0 = hk.reduce sum %x : tensor<?x64xbf16> -> tensor<?x1xf32>
  // CHECK: hk.reduce max %{{.*}} dims 2 : tensor<?x64xbf16> -> tensor<1x1xbf16>
  %1 = hk.reduce max %x dims 2 : tensor<?x64xbf16> -> tensor<1x1xbf16>
  // CHECK: hk.reduce min %{{.*}} dims 2 : tensor<2x3x4xf32> -> tensor<2x1x1xf32>
  %2 = hk.reduce min %y dims 2 : tensor<2x3x4xf32> -> tensor<2x1x1xf32>
  // CHECK: hk.reduce absmax
  %3 = hk.reduce absmax %y dims 3 : tensor<2x3x4xf32> -> tensor<1x1x1xf32>
  return
}
