// Operators with partial results, and those that combine them.
// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @products
func.func @products(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>, %b: tensor<8x?x256xi8>, %bw: tensor<256x64xi8>) {
  // CHECK: hk.matmul %{{.*}}, %{{.*}} transpose_b k_slices 4 : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<4x?x512xf32>
  %0 = hk.matmul %x, %w transpose_b k_slices 4 : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<4x?x512xf32>
  // CHECK: hk.sum_slices %{{.*}} : tensor<4x?x512xf32> -> tensor<?x512xbf16>
  %1 = hk.sum_slices %0 : tensor<4x?x512xf32> -> tensor<?x512xbf16>
  // CHECK: -> tensor<3x8x?x64xi32>
  %2 = hk.matmul %b, %bw k_slices 3 : tensor<8x?x256xi8>, tensor<256x64xi8> -> tensor<3x8x?x64xi32>
  // CHECK: hk.sum_slices %{{.*}} : tensor<3x8x?x64xi32> -> tensor<8x?x64xf32>
  %3 = hk.sum_slices %2 : tensor<3x8x?x64xi32> -> tensor<8x?x64xf32>
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<?x4x64xbf16>, %k: tensor<1x512x2x64xbf16>, %v: tensor<1x512x2x32xbf16>, %n: tensor<1xi32>, %s: tensor<4xf32>) {
  // CHECK: hk.attention {{.*}} causal kv_slices 4 : {{.*}} -> tensor<4x?x4x32xf32>, tensor<4x?x4xf32>
  %p, %l = hk.attention %q, %k, %v kv_lens %n scale 0.125 causal kv_slices 4 : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x32xbf16> kv_lens tensor<1xi32> -> tensor<4x?x4x32xf32>, tensor<4x?x4xf32>
  // CHECK: hk.attention_combine %{{.*}}, %{{.*}} : tensor<4x?x4x32xf32>, tensor<4x?x4xf32> -> tensor<?x4x32xbf16>
  %0 = hk.attention_combine %p, %l : tensor<4x?x4x32xf32>, tensor<4x?x4xf32> -> tensor<?x4x32xbf16>
  // CHECK: hk.attention_combine %{{.*}}, %{{.*}} sink %{{.*}} : {{.*}} sink tensor<4xf32> -> tensor<?x4x32xf32>, tensor<?x4xf32>
  %1, %2 = hk.attention_combine %p, %l sink %s : tensor<4x?x4x32xf32>, tensor<4x?x4xf32> sink tensor<4xf32> -> tensor<?x4x32xf32>, tensor<?x4xf32>
  // Slices of the keys beside a segment of them.
  // CHECK: hk.attention {{.*}} past window_left 5 : {{.*}} -> tensor<?x4x32xf32>, tensor<?x4xf32>
  %3, %4 = hk.attention %q, %k, %v kv_lens %n scale 0.125 past window_left 5 : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x32xbf16> kv_lens tensor<1xi32> -> tensor<?x4x32xf32>, tensor<?x4xf32>
  // CHECK: hk.attention_combine %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x?x4x32xf32>, tensor<4x?x4xf32>, tensor<?x4x32xf32>, tensor<?x4xf32> -> tensor<?x4x32xf32>
  %5 = hk.attention_combine %p, %l, %3, %4 : tensor<4x?x4x32xf32>, tensor<4x?x4xf32>, tensor<?x4x32xf32>, tensor<?x4xf32> -> tensor<?x4x32xf32>
  return
}
