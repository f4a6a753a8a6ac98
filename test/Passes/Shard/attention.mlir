// One product makes queries, keys and values: each segment is cut by itself, the
// caches with the heads that are written into them.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s
// RUN: hk-opt %s --hk-shard=mesh=tp=4 | FileCheck %s --check-prefix=FOUR
// RUN: not hk-opt %s --hk-shard=mesh=tp=3 2>&1 | FileCheck %s --check-prefix=THREE

// CHECK: hk.weight @wqkv.tp "wqkv" slices [#hk.weight_slice<"tp" dim 0 sizes[64, 32, 32] parts[2, 2, 2]>] : tensor<64x64xbf16>
// Two key heads for four ranks: neighbours have a copy of one.
// FOUR: hk.weight @wqkv.tp "wqkv" slices [#hk.weight_slice<"tp" dim 0 sizes[64, 32, 32] parts[4, 2, 2]>] : tensor<48x64xbf16>
// THREE: error: its 2 key heads, each with 2 of the queries', cannot be shared by 3 ranks of axis "tp"; 2 or 4 can
// THREE: note: the product that would be cut
hk.weight @wqkv "wqkv" : tensor<128x64xbf16>
hk.weight @wo "wo" : tensor<64x64xbf16>
hk.weight @cos "cos" : tensor<32x8xf32>
hk.weight @sin "sin" : tensor<32x8xf32>

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: tensor<1x32x1x16xbf16> {hk.state}, %{{.*}}: tensor<1x32x1x16xbf16> {hk.state}) -> (tensor<?x64xbf16>, tensor<1x32x1x16xbf16>, tensor<1x32x1x16xbf16>)
// CHECK: tensor.expand_shape %{{.*}} output_shape [%{{.*}}, 4, 16] : tensor<?x64xbf16> into tensor<?x4x16xbf16>
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [%{{.*}}, 2, 16]
// CHECK: tensor.extract_slice %{{.*}}[0, 2, 0] [%{{.*}}, 1, 16]
// CHECK: tensor.extract_slice %{{.*}}[0, 3, 0] [%{{.*}}, 1, 16]
// CHECK: hk.kv_cache_write %{{.*}} : tensor<?x1x16xbf16>, tensor<?xi32>, tensor<1x32x1x16xbf16>
// CHECK: hk.attention {{.*}} : tensor<?x2x16xbf16>, tensor<1x32x1x16xbf16>, tensor<1x32x1x16xbf16>
// CHECK: %[[D:.*]] = hk.matmul %{{.*}} : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xbf16>
// CHECK: hk.all_reduce sum %[[D]] axis "tp"
// FOUR: hk.attention {{.*}} : tensor<?x1x16xbf16>, tensor<1x32x1x16xbf16>, tensor<1x32x1x16xbf16>
func.func @layer(%x: tensor<?x64xbf16>, %slots: tensor<?xi32>, %len: tensor<1xi32>,
    %kc: tensor<1x32x2x16xbf16> {hk.state}, %vc: tensor<1x32x2x16xbf16> {hk.state})
    -> (tensor<?x64xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %w = hk.weight_ref @wqkv : tensor<128x64xbf16>
  %wo = hk.weight_ref @wo : tensor<64x64xbf16>
  %cos = hk.weight_ref @cos : tensor<32x8xf32>
  %sin = hk.weight_ref @sin : tensor<32x8xf32>
  %qkv = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xbf16>
  %h = tensor.expand_shape %qkv [[0], [1, 2]] output_shape [%t, 8, 16] : tensor<?x128xbf16> into tensor<?x8x16xbf16>
  %q = tensor.extract_slice %h[0, 0, 0] [%t, 4, 16] [1, 1, 1] : tensor<?x8x16xbf16> to tensor<?x4x16xbf16>
  %k = tensor.extract_slice %h[0, 4, 0] [%t, 2, 16] [1, 1, 1] : tensor<?x8x16xbf16> to tensor<?x2x16xbf16>
  %v = tensor.extract_slice %h[0, 6, 0] [%t, 2, 16] [1, 1, 1] : tensor<?x8x16xbf16> to tensor<?x2x16xbf16>
  %qr = hk.rope neox %q, %cos, %sin positions %slots : tensor<?x4x16xbf16>, tensor<32x8xf32>, tensor<32x8xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %slots : tensor<?x2x16xbf16>, tensor<32x8xf32>, tensor<32x8xf32> positions tensor<?xi32>
  %kn = hk.kv_cache_write %kr, %slots into %kc : tensor<?x2x16xbf16>, tensor<?xi32>, tensor<1x32x2x16xbf16>
  %vn = hk.kv_cache_write %v, %slots into %vc : tensor<?x2x16xbf16>, tensor<?xi32>, tensor<1x32x2x16xbf16>
  %o = hk.attention %qr, %kn, %vn kv_lens %len scale 0.25 causal : tensor<?x4x16xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16> kv_lens tensor<1xi32> -> tensor<?x4x16xbf16>
  %f = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x4x16xbf16> into tensor<?x64xbf16>
  %p = hk.matmul %f, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %y = hk.add %x, %p : tensor<?x64xbf16>
  return %y, %kn, %vn : tensor<?x64xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16>
}
