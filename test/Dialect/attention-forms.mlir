// RUN: hk-opt %s | hk-opt | FileCheck %s
// Scores by region, scales, layouts and ragged tables.

// CHECK-LABEL: func @score
func.func @score(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x2x64xf16>, %bias: tensor<8x?x?xf32>) -> tensor<2x?x8x64xf16> {
  // CHECK: hk.attention %{{.*}}, %{{.*}}, %{{.*}} reads(%{{.*}}) scale 1.250000e-01 causal : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16> reads(tensor<8x?x?xf32>) -> tensor<2x?x8x64xf16> score {
  // CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>, %{{.*}}: tensor<i32>, %[[H:.*]]: tensor<i32>, %[[I:.*]]: tensor<i32>, %[[J:.*]]: tensor<i32>, %{{.*}}: tensor<i32>, %{{.*}}: tensor<i32>, %[[T:.*]]: tensor<8x?x?xf32>):
  // CHECK-NEXT: hk.gather_elements %[[T]][%[[H]], %[[I]], %[[J]]] : tensor<8x?x?xf32>[tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
  %0 = hk.attention %q, %k, %k reads (%bias) scale 0.125 causal : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16> reads (tensor<8x?x?xf32>) -> tensor<2x?x8x64xf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<8x?x?xf32>):
    %x = hk.gather_elements %t [%h, %i, %j] : tensor<8x?x?xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %0 : tensor<2x?x8x64xf16>
}

// CHECK-LABEL: func @dropout
func.func @dropout(%q: tensor<7x4x16xf32>, %k: tensor<9x2x16xf32>, %seed: tensor<i64>) -> tensor<7x4x16xf32> {
  // CHECK: hk.attention {{.*}} normalizer none : {{.*}} -> tensor<7x4x16xf32> weight {
  %0 = hk.attention %q, %k, %k reads (%seed) scale 1.0 normalizer none : tensor<7x4x16xf32>, tensor<9x2x16xf32>, tensor<9x2x16xf32> reads (tensor<i64>) -> tensor<7x4x16xf32> weight {
  ^bb0(%b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<i64>):
    %c = hk.cast %j : tensor<i32> -> tensor<i64>
    // CHECK: hk.philox %{{.*}}, %{{.*}} : tensor<i64>, tensor<i64> -> tensor<f32>
    %u = hk.philox %t, %c : tensor<i64>, tensor<i64> -> tensor<f32>
    hk.yield %u : tensor<f32>
  }
  return %0 : tensor<7x4x16xf32>
}

// CHECK-LABEL: func @scales
func.func @scales(%q: tensor<2x64x8x64xi8>, %k: tensor<2x200x2x64xi8>, %v: tensor<2x200x2x64xf8E4M3FN>,
    %qs: tensor<2x2x8x1xf32>, %ks: tensor<2x2x2x1xf32>, %vs: tensor<2x1x2x64xf32>) -> tensor<2x64x8x64xbf16> {
  // CHECK: hk.attention %{{.*}}, %{{.*}}, %{{.*}} q_scale %{{.*}} k_scale %{{.*}} v_scale %{{.*}} scale 1.000000e+00 p_type f8E4M3FN q_block 32 k_block 128 : {{.*}} q_scale tensor<2x2x8x1xf32> k_scale tensor<2x2x2x1xf32> v_scale tensor<2x1x2x64xf32> -> tensor<2x64x8x64xbf16>
  %0 = hk.attention %q, %k, %v q_scale %qs k_scale %ks v_scale %vs scale 1.0 p_type f8E4M3FN q_block 32 k_block 128 : tensor<2x64x8x64xi8>, tensor<2x200x2x64xi8>, tensor<2x200x2x64xf8E4M3FN> q_scale tensor<2x2x8x1xf32> k_scale tensor<2x2x2x1xf32> v_scale tensor<2x1x2x64xf32> -> tensor<2x64x8x64xbf16>
  return %0 : tensor<2x64x8x64xbf16>
}

// CHECK-LABEL: func @caches
func.func @caches(%q: tensor<?x8x64xbf16>, %o: tensor<?xi32>, %k: tensor<?x2x8x16x8xbf16>, %v: tensor<?x2x64x16xbf16>,
    %vc: tensor<?x2x2x64x8xbf16>, %n: tensor<?xi32>, %t: tensor<?x?xi32>, %s: tensor<?x1x2x64xbf16>, %x: tensor<?xi32>,
    %ks: tensor<?x8xf32>, %hk: tensor<?x2x16x64xbf16>, %kt: tensor<?x2x16x1xf32>, %one: tensor<1x2xf32>) {
  // CHECK: scale 1.250000e-01 key_layout key_chunks value_layout transposed :
  %0 = hk.attention %q, %k, %v q_offsets %o kv_lens %n block_table %t scale 0.125 key_layout key_chunks value_layout transposed : tensor<?x8x64xbf16>, tensor<?x2x8x16x8xbf16>, tensor<?x2x64x16xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x8x64xbf16>
  // CHECK: key_layout key_chunks value_layout value_chunks :
  %1 = hk.attention %q, %k, %vc q_offsets %o kv_lens %n block_table %t scale 0.125 key_layout key_chunks value_layout value_chunks : tensor<?x8x64xbf16>, tensor<?x2x8x16x8xbf16>, tensor<?x2x2x64x8xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x8x64xbf16>
  // CHECK: block_table %{{.*}} table_offsets %{{.*}} scale
  %2 = hk.attention %q, %s, %s q_offsets %o block_table %x table_offsets %o scale 0.125 : tensor<?x8x64xbf16>, tensor<?x1x2x64xbf16>, tensor<?x1x2x64xbf16> q_offsets tensor<?xi32> block_table tensor<?xi32> table_offsets tensor<?xi32> -> tensor<?x8x64xbf16>
  // CHECK: k_scale %{{.*}} v_scale %{{.*}} scale {{.*}} key_layout head_major value_layout head_major
  %3 = hk.attention %q, %hk, %hk q_offsets %o kv_lens %n block_table %t k_scale %kt v_scale %one scale 0.125 key_layout head_major value_layout head_major : tensor<?x8x64xbf16>, tensor<?x2x16x64xbf16>, tensor<?x2x16x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> k_scale tensor<?x2x16x1xf32> v_scale tensor<1x2xf32> -> tensor<?x8x64xbf16>
  return
}
