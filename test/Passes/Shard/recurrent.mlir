// A layer with the gated delta rule: its convolution is cut in the segments of queries, keys and values, the rule by key
// heads with their value heads, both states with them. Its norm reads heads joined with tokens in one dim, of which no
// part is what a rank has; it gets them side by side.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s
// RUN: hk-opt %s --hk-shard=mesh=tp=4 | FileCheck %s --check-prefix=FOUR
// RUN: not hk-opt %s --hk-shard=mesh=tp=3 2>&1 | FileCheck %s --check-prefix=THREE

// CHECK: hk.weight @up.tp "up" slices [#hk.weight_slice<"tp" dim 0 sizes[128] parts[2]>] : tensor<64x64xbf16>
// CHECK: hk.weight @in.tp "in" slices [#hk.weight_slice<"tp" dim 0 sizes[32, 32, 128, 128] parts[2, 2, 2, 2]>] : tensor<160x64xbf16>
// CHECK: hk.weight @gates.tp "gates" slices [#hk.weight_slice<"tp" dim 0 sizes[4, 4] parts[2, 2]>] : tensor<4x64xbf16>
// CHECK: hk.weight @conv.tp "conv" slices [#hk.weight_slice<"tp" dim 0 sizes[32, 32, 128] parts[2, 2, 2]>] : tensor<96x4xbf16>
// CHECK: hk.weight @decay.tp "decay" slices [#hk.weight_slice<"tp" dim 0 sizes[4] parts[2]>] : tensor<2xf32>
// CHECK: hk.weight @norm "norm" : tensor<32xbf16>
// CHECK: hk.weight @out.tp "out" slices [#hk.weight_slice<"tp" dim 1 sizes[128] parts[2]>] : tensor<64x64xbf16>
// Two key heads for four ranks: neighbours have copies of one, and of its channels.
// FOUR: hk.weight @in.tp "in" slices [#hk.weight_slice<"tp" dim 0 sizes[32, 32, 128, 128] parts[2, 2, 4, 4]>] : tensor<96x64xbf16>
// FOUR: hk.weight @conv.tp "conv" slices [#hk.weight_slice<"tp" dim 0 sizes[32, 32, 128] parts[2, 2, 4]>] : tensor<64x4xbf16>
// THREE: error: its 2 key heads, each with 2 of the values', cannot be shared by 3 ranks of axis "tp"; 2 or 4 can
// THREE: note: the product that would be cut
hk.weight @up "up" : tensor<128x64xbf16>
hk.weight @in "in" : tensor<320x64xbf16>
hk.weight @gates "gates" : tensor<8x64xbf16>
hk.weight @conv "conv" : tensor<192x4xbf16>
hk.weight @decay "decay" : tensor<4xf32>
hk.weight @norm "norm" : tensor<32xbf16>
hk.weight @out "out" : tensor<64x128xbf16>

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: tensor<?x3x96xbf16> {hk.state}, %{{.*}}: tensor<?x2x16x32xf32> {hk.state}) -> (tensor<?x64xbf16>, tensor<?x3x96xbf16>, tensor<?x2x16x32xf32>)
// CHECK: hk.causal_conv1d channel_last {{.*}} -> tensor<?x96xbf16>, tensor<?x3x96xbf16>
// CHECK: hk.gated_delta_rule {{.*}} : tensor<?x1x16xbf16>, tensor<?x1x16xbf16>, tensor<?x2x32xbf16> decay tensor<?x2xf32> beta tensor<?x2xf32>
// CHECK-NOT: tensor.collapse_shape {{.*}} : tensor<?x2x32xbf16> into tensor<?x32xbf16>
// CHECK: hk.rms_norm {{.*}} : tensor<?x2x32xbf16>
// CHECK: %[[P:.*]] = hk.matmul %{{.*}} : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
// CHECK: hk.all_reduce sum %[[P]] axis "tp"
// CHECK-NOT: hk.all_
// FOUR: hk.causal_conv1d channel_last {{.*}} -> tensor<?x64xbf16>, tensor<?x3x64xbf16>
// FOUR: hk.gated_delta_rule {{.*}} : tensor<?x1x16xbf16>, tensor<?x1x16xbf16>, tensor<?x1x32xbf16> decay tensor<?x1xf32>
func.func @layer(%x: tensor<?x64xbf16>, %offsets: tensor<?xi32>, %lines: tensor<?xi32>,
    %cs: tensor<?x3x192xbf16> {hk.state}, %ss: tensor<?x4x16x32xf32> {hk.state})
    -> (tensor<?x64xbf16>, tensor<?x3x192xbf16>, tensor<?x4x16x32xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %win = hk.weight_ref @in : tensor<320x64xbf16>
  %wg = hk.weight_ref @gates : tensor<8x64xbf16>
  %wc = hk.weight_ref @conv : tensor<192x4xbf16>
  %wd = hk.weight_ref @decay : tensor<4xf32>
  %wn = hk.weight_ref @norm : tensor<32xbf16>
  %wo = hk.weight_ref @out : tensor<64x128xbf16>
  %p = hk.matmul %x, %win transpose_b : tensor<?x64xbf16>, tensor<320x64xbf16> -> tensor<?x320xbf16>
  %g = hk.matmul %x, %wg transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
  %qkv = tensor.extract_slice %p[0, 0] [%t, 192] [1, 1] : tensor<?x320xbf16> to tensor<?x192xbf16>
  %z = tensor.extract_slice %p[0, 192] [%t, 128] [1, 1] : tensor<?x320xbf16> to tensor<?x128xbf16>
  %y, %cn = hk.causal_conv1d channel_last %qkv, %wc offsets %offsets state %cs indices %lines : tensor<?x192xbf16>, tensor<192x4xbf16> offsets tensor<?xi32> state tensor<?x3x192xbf16> indices tensor<?xi32> -> tensor<?x192xbf16>, tensor<?x3x192xbf16>
  %s = hk.silu %y : tensor<?x192xbf16>
  %q1 = tensor.extract_slice %s[0, 0] [%t, 32] [1, 1] : tensor<?x192xbf16> to tensor<?x32xbf16>
  %k1 = tensor.extract_slice %s[0, 32] [%t, 32] [1, 1] : tensor<?x192xbf16> to tensor<?x32xbf16>
  %v1 = tensor.extract_slice %s[0, 64] [%t, 128] [1, 1] : tensor<?x192xbf16> to tensor<?x128xbf16>
  %q = tensor.expand_shape %q1 [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
  %k = tensor.expand_shape %k1 [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
  %v = tensor.expand_shape %v1 [[0], [1, 2]] output_shape [%t, 4, 32] : tensor<?x128xbf16> into tensor<?x4x32xbf16>
  %b1 = tensor.extract_slice %g[0, 0] [%t, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  %a1 = tensor.extract_slice %g[0, 4] [%t, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  %beta = hk.sigmoid %b1 : tensor<?x4xf32>
  %a2 = hk.softplus %a1 : tensor<?x4xf32>
  %decay = hk.mul %wd, %a2 : tensor<4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %o, %sn = hk.gated_delta_rule %q, %k, %v decay %decay beta %beta offsets %offsets state %ss indices %lines l2norm 1.0e-06 : tensor<?x2x16xbf16>, tensor<?x2x16xbf16>, tensor<?x4x32xbf16> decay tensor<?x4xf32> beta tensor<?x4xf32> offsets tensor<?xi32> state tensor<?x4x16x32xf32> indices tensor<?xi32> -> tensor<?x4x32xbf16>, tensor<?x4x16x32xf32>
  %zh = tensor.expand_shape %z [[0], [1, 2]] output_shape [%t, 4, 32] : tensor<?x128xbf16> into tensor<?x4x32xbf16>
  %or = tensor.collapse_shape %o [[0, 1], [2]] : tensor<?x4x32xbf16> into tensor<?x32xbf16>
  %zr = tensor.collapse_shape %zh [[0, 1], [2]] : tensor<?x4x32xbf16> into tensor<?x32xbf16>
  %n = hk.rms_norm %or, %wn epsilon 1.0e-06 : tensor<?x32xbf16>, tensor<32xbf16>
  %zs = hk.silu %zr : tensor<?x32xbf16>
  %nz = hk.mul %n, %zs : tensor<?x32xbf16>
  %nh = tensor.expand_shape %nz [[0, 1], [2]] output_shape [%t, 4, 32] : tensor<?x32xbf16> into tensor<?x4x32xbf16>
  %f = tensor.collapse_shape %nh [[0], [1, 2]] : tensor<?x4x32xbf16> into tensor<?x128xbf16>
  %r = hk.matmul %f, %wo transpose_b : tensor<?x128xbf16>, tensor<64x128xbf16> -> tensor<?x64xbf16>
  %e = hk.add %x, %r : tensor<?x64xbf16>
  return %e, %cn, %sn : tensor<?x64xbf16>, tensor<?x3x192xbf16>, tensor<?x4x16x32xf32>
}

// Rows that are joined with their elements before they are taken apart by tokens.
// CHECK-LABEL: func.func @flat(
// CHECK: %[[N:.*]] = hk.rms_norm {{.*}} : tensor<?x2x32xbf16>
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[N]] {{\[\[}}0], [1, 2]] : tensor<?x2x32xbf16> into tensor<?x64xbf16>
// CHECK-NEXT: hk.matmul %[[C]],
func.func @flat(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %wu = hk.weight_ref @up : tensor<128x64xbf16>
  %wn = hk.weight_ref @norm : tensor<32xbf16>
  %wo = hk.weight_ref @out : tensor<64x128xbf16>
  %u = hk.matmul %x, %wu transpose_b : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xbf16>
  %h = tensor.expand_shape %u [[0], [1, 2]] output_shape [%t, 4, 32] : tensor<?x128xbf16> into tensor<?x4x32xbf16>
  %r = tensor.collapse_shape %h [[0, 1], [2]] : tensor<?x4x32xbf16> into tensor<?x32xbf16>
  %n = hk.rms_norm %r, %wn epsilon 1.0e-06 : tensor<?x32xbf16>, tensor<32xbf16>
  %l = tensor.collapse_shape %n [[0, 1]] : tensor<?x32xbf16> into tensor<?xbf16>
  %f = tensor.expand_shape %l [[0, 1]] output_shape [%t, 128] : tensor<?xbf16> into tensor<?x128xbf16>
  %y = hk.matmul %f, %wo transpose_b : tensor<?x128xbf16>, tensor<64x128xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
