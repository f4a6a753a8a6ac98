// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: @experts
func.func @experts(%x: tensor<?x64xf8E4M3FN>, %w: tensor<8x32x64xf8E4M3FN>, %xs: tensor<?x1xf32>, %ws: tensor<8x32x1xf32>, %e: tensor<?xi32>, %o: tensor<?xi32>) -> tensor<?x32xbf16> {
  // CHECK: hk.grouped_matmul %{{.*}}, %{{.*}} scales(%{{.*}}, %{{.*}}) blocks %{{.*}} order %{{.*}} transpose_b block 16 top_k 2 : tensor<?x64xf8E4M3FN>, tensor<8x32x64xf8E4M3FN> scales(tensor<?x1xf32>, tensor<8x32x1xf32>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x32xbf16>
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) blocks %e order %o transpose_b block 16 top_k 2 : tensor<?x64xf8E4M3FN>, tensor<8x32x64xf8E4M3FN> scales (tensor<?x1xf32>, tensor<8x32x1xf32>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// CHECK-LABEL: @groups
func.func @groups(%x: tensor<?x64xbf16>, %w: tensor<8x64x32xbf16>, %b: tensor<9xi32>, %c: tensor<8x32xf32>, %s: tensor<8xf32>) -> tensor<?x32xbf16> {
  // CHECK: hk.grouped_matmul %{{.*}}, %{{.*}} bounds %{{.*}} bias %{{.*}} group_scale %{{.*}} : tensor<?x64xbf16>, tensor<8x64x32xbf16> groups tensor<9xi32> bias tensor<8x32xf32> group_scale tensor<8xf32> -> tensor<?x32xbf16>
  %y = hk.grouped_matmul %x, %w bounds %b bias %c group_scale %s : tensor<?x64xbf16>, tensor<8x64x32xbf16> groups tensor<9xi32> bias tensor<8x32xf32> group_scale tensor<8xf32> -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// CHECK-LABEL: @sums_of_fp8
func.func @sums_of_fp8(%x: tensor<?x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<8x512x256xf8E4M3FN>, %ws: tensor<8x4x2xf32>, %b: tensor<9xi32>) -> tensor<?x512xbf16> {
  // CHECK: hk.grouped_matmul %{{.*}}, %{{.*}} scales(%{{.*}}, %{{.*}}) bounds %{{.*}} transpose_b accumulation tensor_core :
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) bounds %b transpose_b accumulation tensor_core : tensor<?x256xf8E4M3FN>, tensor<8x512x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<8x4x2xf32>) groups tensor<9xi32> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// CHECK-LABEL: @gradient
func.func @gradient(%x: tensor<?x64xbf16>, %d: tensor<?x32xbf16>, %l: tensor<8xi32>) -> tensor<8x64x32xf32> {
  // CHECK: hk.grouped_matmul %{{.*}}, %{{.*}} lengths %{{.*}} along_k : tensor<?x64xbf16>, tensor<?x32xbf16> groups tensor<8xi32> -> tensor<8x64x32xf32>
  %y = hk.grouped_matmul %x, %d lengths %l along_k : tensor<?x64xbf16>, tensor<?x32xbf16> groups tensor<8xi32> -> tensor<8x64x32xf32>
  return %y : tensor<8x64x32xf32>
}

// CHECK-LABEL: @alternating
func.func @alternating(%x: tensor<?x64xbf16>) -> tensor<?x32xbf16> {
  // CHECK: hk.gated_activation swiglu_oai %{{.*}} limit 7.000000e+00 interleaved : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %y = hk.gated_activation swiglu_oai %x limit 7.0 interleaved : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}
