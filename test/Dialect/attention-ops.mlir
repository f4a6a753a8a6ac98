// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<?x4x64xbf16>, %c: tensor<1x512x2x64xbf16>, %n: tensor<1xi32>,
    %dq: tensor<2x?x8x64xf16>, %dk: tensor<2x?x2x64xf16>, %dv: tensor<2x?x2x32xf16>,
    %k: tensor<?x4x64xbf16>, %o: tensor<?xi32>, %pages: tensor<?x16x2x64xbf16>,
    %table: tensor<?x?xi32>, %lens: tensor<?xi32>, %sink: tensor<8xf32>) {
  // CHECK: hk.attention %{{.*}}, %{{.*}}, %{{.*}} kv_lens %{{.*}} scale 1.250000e-01 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  %0 = hk.attention %q, %c, %c kv_lens %n scale 0.125 causal : tensor<?x4x64xbf16>, tensor<1x512x2x64xbf16>, tensor<1x512x2x64xbf16> kv_lens tensor<1xi32> -> tensor<?x4x64xbf16>
  // CHECK: hk.attention %{{.*}}, %{{.*}}, %{{.*}} sink %{{.*}} scale {{.*}} window_left 128 window_right 0 softcap 3.000000e+01 : {{.*}} sink tensor<8xf32> -> tensor<2x?x8x32xf16>, tensor<2x?x8xf32>
  %1, %lse = hk.attention %dq, %dk, %dv sink %sink scale 0.125 window_left 128 window_right 0 softcap 30.0 : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x32xf16> sink tensor<8xf32> -> tensor<2x?x8x32xf16>, tensor<2x?x8xf32>
  // CHECK: q_offsets %{{.*}} kv_offsets %{{.*}} scale {{.*}} q_offsets tensor<?xi32> kv_offsets tensor<?xi32>
  %2 = hk.attention %q, %k, %k q_offsets %o kv_offsets %o scale 0.125 causal : tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xbf16>
  // CHECK: kv_lens %{{.*}} block_table %{{.*}} scale
  %3 = hk.attention %q, %pages, %pages q_offsets %o kv_lens %lens block_table %table scale 0.125 : tensor<?x4x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x4x64xbf16>
  return
}

// CHECK-LABEL: func @write
func.func @write(%k: tensor<?x2x64xbf16>, %slots: tensor<?xi32>, %cache: tensor<1x512x2x64xbf16>) -> tensor<1x512x2x64xbf16> {
  // CHECK: hk.kv_cache_write %{{.*}}, %{{.*}} into %{{.*}} : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x512x2x64xbf16>
  return %c : tensor<1x512x2x64xbf16>
}

// CHECK-LABEL: func @write_chunks
func.func @write_chunks(%k: tensor<?x2x64xbf16>, %slots: tensor<?xi32>, %cache: tensor<?x2x8x16x8xbf16>) -> tensor<?x2x8x16x8xbf16> {
  // CHECK: hk.kv_cache_write %{{.*}}, %{{.*}} into %{{.*}} layout key_chunks : tensor<?x2x64xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache layout key_chunks : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<?x2x8x16x8xbf16>
  return %c : tensor<?x2x8x16x8xbf16>
}
