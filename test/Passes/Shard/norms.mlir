// A norm over the heads of all ranks, in front of attention: its squares are summed by parts, and queries and keys share
// one exchange of 16 bytes a row. Where ranks would have copies of a key head, and in front of a product, norms stay.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s
// RUN: hk-opt %s --hk-shard=mesh=tp=4 | FileCheck %s --check-prefix=FOUR
// RUN: hk-opt %s --hk-shard=mesh=ep=1,tp=2 | FileCheck %s
// RUN: hk-compile %s --mesh=tp=2 --target=sm_90a --explain | FileCheck %s --check-prefix=EXPLAIN

// CHECK: hk.weight @qn.tp "qn" slices [#hk.weight_slice<"tp" dim 0 sizes[64] parts[2]>] : tensor<32xbf16>
// CHECK: hk.weight @kn.tp "kn" slices [#hk.weight_slice<"tp" dim 0 sizes[32] parts[2]>] : tensor<16xbf16>
hk.weight @wq "wq" : tensor<64x64xbf16>
hk.weight @wk "wk" : tensor<32x64xbf16>
hk.weight @wv "wv" : tensor<32x64xbf16>
hk.weight @wo "wo" : tensor<64x64xbf16>
hk.weight @qn "qn" : tensor<64xbf16>
hk.weight @kn "kn" : tensor<32xbf16>
hk.weight @latent "latent" : tensor<64xbf16>
hk.weight @up "up" : tensor<96x64xbf16>
hk.weight @down "down" : tensor<64x96xbf16>

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: tensor<1x32x1x16xbf16> {hk.state}, %{{.*}}: tensor<1x32x1x16xbf16> {hk.state})
// CHECK: %[[Q:.*]] = hk.matmul %{{.*}} -> tensor<?x32xbf16>
// CHECK: %[[K:.*]] = hk.matmul %{{.*}} -> tensor<?x16xbf16>
// CHECK: %[[QS:.*]] = hk.reduce sum %{{.*}} : tensor<?x32xf32> -> tensor<?x1xf32>
// CHECK: %[[KS:.*]] = hk.reduce sum %{{.*}} : tensor<?x16xf32> -> tensor<?x1xf32>
// CHECK: %[[C:.*]] = hk.concat 1(%[[QS]], %[[KS]], %[[QS]], %[[KS]])
// CHECK: hk.constant dense<[1.562500e-02, 3.125000e-02, 1.562500e-02, 3.125000e-02]>
// CHECK: %[[M:.*]] = hk.mul %[[C]]
// CHECK: %[[A:.*]] = hk.all_reduce sum %[[M]] axis "tp" transport any_order : tensor<?x4xf32>
// CHECK: %[[E:.*]] = hk.add %[[A]]
// CHECK: %[[R:.*]] = hk.rsqrt %[[E]]
// CHECK: tensor.extract_slice %[[R]][0, 0]
// The queries' norm rounds once, the keys' before the weight, too.
// CHECK: %[[QN:.*]] = hk.mul %{{.*}} : tensor<?x32xf32>, tensor<?x1xf32>
// CHECK-NEXT: hk.mul %[[QN]], %{{.*}} : tensor<?x32xf32>, tensor<32xbf16> -> tensor<?x32xbf16>
// CHECK: tensor.extract_slice %[[R]][0, 1]
// CHECK: %[[KN:.*]] = hk.mul %{{.*}} : tensor<?x16xf32>, tensor<?x1xf32>
// CHECK-NEXT: %[[KR:.*]] = hk.cast %[[KN]] : tensor<?x16xf32> -> tensor<?x16xbf16>
// CHECK-NEXT: hk.mul %[[KR]], %{{.*}} : tensor<?x16xbf16>, tensor<16xbf16>
// CHECK: hk.attention {{.*}} : tensor<?x2x16xbf16>, tensor<1x32x1x16xbf16>
// CHECK: hk.all_reduce sum %{{.*}} : tensor<?x64xbf16>
// FOUR-LABEL: func.func @layer(
// FOUR-NOT: hk.all_{{reduce|gather}}
// FOUR: hk.rms_norm {{.*}} : tensor<?x64xbf16>
// FOUR: hk.rms_norm {{.*}} : tensor<?x32xbf16>
// FOUR-NOT: hk.all_{{reduce|gather}}
// FOUR-LABEL: func.func @mlp(
// FOUR: hk.all_reduce
// EXPLAIN: exchanged: hk.all_reduce over "tp": 16 bytes times its dynamic sizes a rank, transport any_order
// EXPLAIN: into the other ranks' memory
func.func @layer(%x: tensor<?x64xbf16>, %slots: tensor<?xi32>, %len: tensor<1xi32>,
    %kc: tensor<1x32x2x16xbf16> {hk.state}, %vc: tensor<1x32x2x16xbf16> {hk.state})
    -> (tensor<?x64xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %wq = hk.weight_ref @wq : tensor<64x64xbf16>
  %wk = hk.weight_ref @wk : tensor<32x64xbf16>
  %wv = hk.weight_ref @wv : tensor<32x64xbf16>
  %wo = hk.weight_ref @wo : tensor<64x64xbf16>
  %qn = hk.weight_ref @qn : tensor<64xbf16>
  %kn = hk.weight_ref @kn : tensor<32xbf16>
  %q = hk.matmul %x, %wq transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %qq = hk.rms_norm %q, %qn epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %k = hk.matmul %x, %wk transpose_b : tensor<?x64xbf16>, tensor<32x64xbf16> -> tensor<?x32xbf16>
  %kk = hk.rms_norm %k, %kn epsilon 1.0e-05 round_before_weight : tensor<?x32xbf16>, tensor<32xbf16>
  %v = hk.matmul %x, %wv transpose_b : tensor<?x64xbf16>, tensor<32x64xbf16> -> tensor<?x32xbf16>
  %qh = tensor.expand_shape %qq [[0], [1, 2]] output_shape [%t, 4, 16] : tensor<?x64xbf16> into tensor<?x4x16xbf16>
  %kh = tensor.expand_shape %kk [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
  %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
  %ks = hk.kv_cache_write %kh, %slots into %kc : tensor<?x2x16xbf16>, tensor<?xi32>, tensor<1x32x2x16xbf16>
  %vs = hk.kv_cache_write %vh, %slots into %vc : tensor<?x2x16xbf16>, tensor<?xi32>, tensor<1x32x2x16xbf16>
  %o = hk.attention %qh, %ks, %vs kv_lens %len scale 0.25 causal : tensor<?x4x16xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16> kv_lens tensor<1xi32> -> tensor<?x4x16xbf16>
  %f = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x4x16xbf16> into tensor<?x64xbf16>
  %p = hk.matmul %f, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %y = hk.add %x, %p : tensor<?x64xbf16>
  return %y, %ks, %vs : tensor<?x64xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16>
}

func.func @mlp(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %up = hk.weight_ref @up : tensor<96x64xbf16>
  %down = hk.weight_ref @down : tensor<64x96xbf16>
  %u = hk.matmul %x, %up transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %s = hk.silu %u : tensor<?x96xbf16>
  %y = hk.matmul %s, %down transpose_b : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @latents(
// CHECK: hk.rms_norm {{.*}} : tensor<?x64xbf16>
// CHECK-NOT: hk.rsqrt
func.func @latents(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %wq = hk.weight_ref @wq : tensor<64x64xbf16>
  %wo = hk.weight_ref @wo : tensor<64x64xbf16>
  %n = hk.weight_ref @latent : tensor<64xbf16>
  %q = hk.matmul %x, %wq transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %l = hk.rms_norm %q, %n epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %y = hk.matmul %l, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
