// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: @ranges
func.func @ranges(%q: tensor<?x64x128xf8E4M3FN>, %k: tensor<?x128xf8E4M3FN>, %w: tensor<?x64xf32>, %s: tensor<?x1xf32>, %b: tensor<?xi32>, %e: tensor<?xi32>) -> tensor<?x?xf32> {
  // CHECK: hk.mqa_logits %{{.*}}, %{{.*}}, %{{.*}} key_scales %{{.*}} starts %{{.*}} ends %{{.*}} : tensor<?x64x128xf8E4M3FN>, tensor<?x128xf8E4M3FN>, tensor<?x64xf32> key_scales tensor<?x1xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  %l = hk.mqa_logits %q, %k, %w key_scales %s starts %b ends %e : tensor<?x64x128xf8E4M3FN>, tensor<?x128xf8E4M3FN>, tensor<?x64xf32> key_scales tensor<?x1xf32> starts tensor<?xi32> ends tensor<?xi32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}

// CHECK-LABEL: @plain
func.func @plain(%q: tensor<3x5x67xf32>, %k: tensor<9x67xf32>, %w: tensor<3x5xf32>) -> tensor<3x9xf32> {
  // CHECK: hk.mqa_logits %{{.*}}, %{{.*}}, %{{.*}} : tensor<3x5x67xf32>, tensor<9x67xf32>, tensor<3x5xf32> -> tensor<3x9xf32>
  %l = hk.mqa_logits %q, %k, %w : tensor<3x5x67xf32>, tensor<9x67xf32>, tensor<3x5xf32> -> tensor<3x9xf32>
  return %l : tensor<3x9xf32>
}

// CHECK-LABEL: @paged
func.func @paged(%q: tensor<?x2x32x64xf8E4M3FNUZ>, %k: tensor<9x16x64xf8E4M3FNUZ>, %w: tensor<?x2x32xf32>, %n: tensor<?xi32>, %t: tensor<?x7xi32>) -> tensor<?x2x112xf32> {
  // CHECK: hk.mqa_logits %{{.*}}, %{{.*}}, %{{.*}} kv_lens %{{.*}} block_table %{{.*}} : tensor<?x2x32x64xf8E4M3FNUZ>, tensor<9x16x64xf8E4M3FNUZ>, tensor<?x2x32xf32> kv_lens tensor<?xi32> block_table tensor<?x7xi32> -> tensor<?x2x112xf32>
  %l = hk.mqa_logits %q, %k, %w kv_lens %n block_table %t : tensor<?x2x32x64xf8E4M3FNUZ>, tensor<9x16x64xf8E4M3FNUZ>, tensor<?x2x32xf32> kv_lens tensor<?xi32> block_table tensor<?x7xi32> -> tensor<?x2x112xf32>
  return %l : tensor<?x2x112xf32>
}
