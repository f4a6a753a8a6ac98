// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @norms
func.func @norms(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>, %h: tensor<?x16x128xf16>) {
  // CHECK: hk.rms_norm %{{.*}}, %{{.*}} epsilon 9.99999974E-6 : tensor<?x64xbf16>, tensor<64xbf16>
  %0 = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  // CHECK: hk.rms_norm %{{.*}}, %{{.*}} epsilon 0.000000e+00 weight_offset 1.000000e+00 round_before_weight :
  %1 = hk.rms_norm %x, %w epsilon 0.0 weight_offset 1.0 round_before_weight : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xf32>
  // CHECK: hk.rms_norm %{{.*}} epsilon 1.000000e+00 : tensor<?x64xbf16>
  %2 = hk.rms_norm %x epsilon 1.0 : tensor<?x64xbf16>
  // CHECK: hk.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon
  %3 = hk.layer_norm %x, %w, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>
  // CHECK: hk.l2_norm %{{.*}} epsilon 9.99999997E-7 : tensor<?x16x128xf16>
  %4 = hk.l2_norm %h epsilon 1.0e-06 : tensor<?x16x128xf16>
  // CHECK: hk.softmax %{{.*}} : tensor<?x64xbf16> -> tensor<?x64xf32>
  %5 = hk.softmax %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  return
}
