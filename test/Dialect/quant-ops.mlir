// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @quantize
func.func @quantize(%x: tensor<?x4096xbf16>, %one: tensor<1xf32>, %s: tensor<?x32xf32>) {
  // CHECK: hk.quantize per_group %{{.*}} : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  %q0, %s0 = hk.quantize per_group %x : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  // CHECK: hk.quantize per_token %{{.*}} amax_floor 1.000000e-10 limit 1.000000e+02
  %q1, %s1 = hk.quantize per_token %x amax_floor 1.0e-10 limit 100.0 : tensor<?x4096xbf16> -> tensor<?x4096xi8>, tensor<?x1xf32>
  // CHECK: hk.quantize per_group %{{.*}} group 100 : {{.*}} tensor<?x41xf32>
  %q2, %s2 = hk.quantize per_group %x group 100 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FNUZ>, tensor<?x41xf32>
  // CHECK: hk.quantize per_group %{{.*}} power_of_two
  %q5, %s5 = hk.quantize per_group %x power_of_two : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  // CHECK: hk.quantize_static %{{.*}}, %{{.*}} : tensor<?x4096xbf16>, tensor<1xf32> -> tensor<?x4096xf8E5M2>
  %q3 = hk.quantize_static %x, %one : tensor<?x4096xbf16>, tensor<1xf32> -> tensor<?x4096xf8E5M2>
  // CHECK: hk.quantize_mx even
  %q4, %s4 = hk.quantize_mx even %x : tensor<?x4096xbf16> -> tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}} : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32> -> tensor<?x4096xbf16>
  %0 = hk.dequantize %q0, %s0 : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32> -> tensor<?x4096xbf16>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}} : tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU> -> tensor<?x4096xf32>
  %1 = hk.dequantize %q4, %s4 : tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU> -> tensor<?x4096xf32>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}} : tensor<?x4096xi8>, tensor<1xf32> -> tensor<?x4096xf16>
  %2 = hk.dequantize %q1, %one : tensor<?x4096xi8>, tensor<1xf32> -> tensor<?x4096xf16>
  return
}

// CHECK-LABEL: func @reencode
func.func @reencode(%a: tensor<?x64xf8E4M3FN>) {
  // CHECK: hk.reencode %{{.*}} : tensor<?x64xf8E4M3FN> -> tensor<?x64xf8E4M3FNUZ>
  %0 = hk.reencode %a : tensor<?x64xf8E4M3FN> -> tensor<?x64xf8E4M3FNUZ>
  // CHECK: hk.reencode %{{.*}} : tensor<?x64xf8E4M3FNUZ> -> tensor<?x64xf8E4M3FN>
  %1 = hk.reencode %0 : tensor<?x64xf8E4M3FNUZ> -> tensor<?x64xf8E4M3FN>
  return
}

// CHECK-LABEL: func @zero_points
func.func @zero_points(%u: tensor<64x96xui4>, %i: tensor<64x96xi4>, %b: tensor<64x96xi8>, %s: tensor<64x4xf16>, %z: tensor<64x4xui4>, %f: tensor<64x4xbf16>, %one: tensor<1xf32>, %oz: tensor<1xi8>) {
  // CHECK: hk.dequantize %{{.*}}, %{{.*}}, %{{.*}} group 24 : tensor<64x96xui4>, tensor<64x4xf16>, tensor<64x4xui4> -> tensor<64x96xbf16>
  %0 = hk.dequantize %u, %s, %z group 24 : tensor<64x96xui4>, tensor<64x4xf16>, tensor<64x4xui4> -> tensor<64x96xbf16>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}}, %{{.*}} group 24 : tensor<64x96xi4>, tensor<64x4xf16>, tensor<64x4xbf16> -> tensor<64x96xf32>
  %1 = hk.dequantize %i, %s, %f group 24 : tensor<64x96xi4>, tensor<64x4xf16>, tensor<64x4xbf16> -> tensor<64x96xf32>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x96xi8>, tensor<1xf32>, tensor<1xi8> -> tensor<64x96xf16>
  %2 = hk.dequantize %b, %one, %oz : tensor<64x96xi8>, tensor<1xf32>, tensor<1xi8> -> tensor<64x96xf16>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}} : tensor<64x96xi4>, tensor<1xf32> -> tensor<64x96xf16>
  %3 = hk.dequantize %i, %one : tensor<64x96xi4>, tensor<1xf32> -> tensor<64x96xf16>
  // CHECK: hk.dequantize %{{.*}}, %{{.*}}, %{{.*}} offset group 24 : tensor<64x96xui4>, tensor<64x4xf16>, tensor<64x4xbf16> -> tensor<64x96xf32>
  %6 = hk.dequantize %u, %s, %f offset group 24 : tensor<64x96xui4>, tensor<64x4xf16>, tensor<64x4xbf16> -> tensor<64x96xf32>
  // CHECK: hk.cast %{{.*}} : tensor<64x96xui4> -> tensor<64x96xi8>
  %4 = hk.cast %u : tensor<64x96xui4> -> tensor<64x96xi8>
  // CHECK: hk.constant dense<[15, 0]> : tensor<2xui4>
  %5 = hk.constant dense<[15, 0]> : tensor<2xui4>
  return
}
