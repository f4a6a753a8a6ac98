// Products of which only some columns are cut.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s

// CHECK-DAG: hk.weight @merged.tp "merged" slices [#hk.weight_slice<"tp" dim 0 sizes[64, 32] parts[2, 1]>] : tensor<64x64xbf16>
// CHECK-DAG: hk.weight @first "first" : tensor<16x64xbf16>
// CHECK-DAG: hk.weight @second.tp "second" slices [#hk.weight_slice<"tp" dim 0 sizes[64] parts[2]>] : tensor<32x16xbf16>
hk.weight @merged "merged" : tensor<96x64xbf16>
hk.weight @norm "norm" : tensor<32xbf16>
hk.weight @out "out" : tensor<64x64xbf16>
hk.weight @wide "wide" : tensor<64x96xbf16>
hk.weight @low "low" : tensor<64x32xbf16>
hk.weight @first "first" : tensor<16x64xbf16>
hk.weight @second "second" : tensor<64x16xbf16>

// A norm needs the last 32 columns whole; each rank computes them, and its part of the others. Behind the norm is
// another product, whose columns are cut.
// CHECK-LABEL: func.func @one_piece_whole(
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
// CHECK: tensor.extract_slice %{{.*}}[0, 32] [%{{.*}}, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
// CHECK: hk.rms_norm {{.*}} : tensor<?x32xbf16>
// CHECK: hk.matmul {{.*}} : tensor<?x32xbf16>, tensor<32x32xbf16> -> tensor<?x32xbf16>
// CHECK-NOT: hk.all_gather
// CHECK: hk.all_reduce
func.func @one_piece_whole(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %wm = hk.weight_ref @merged : tensor<96x64xbf16>
  %wn = hk.weight_ref @norm : tensor<32xbf16>
  %wl = hk.weight_ref @low : tensor<64x32xbf16>
  %wo = hk.weight_ref @out : tensor<64x64xbf16>
  %m = hk.matmul %x, %wm transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %a = tensor.extract_slice %m[0, 0] [%t, 64] [1, 1] : tensor<?x96xbf16> to tensor<?x64xbf16>
  %b = tensor.extract_slice %m[0, 64] [%t, 32] [1, 1] : tensor<?x96xbf16> to tensor<?x32xbf16>
  %n = hk.rms_norm %b, %wn epsilon 1.0e-06 : tensor<?x32xbf16>, tensor<32xbf16>
  %l = hk.matmul %n, %wl transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xbf16>
  %s = hk.silu %l : tensor<?x64xbf16>
  %g = hk.mul %a, %s : tensor<?x64xbf16>
  %y = hk.matmul %g, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// Two products of low rank: if the first were cut, a sum would stand between them, and its whole result beside parts.
// CHECK-LABEL: func.func @low_rank(
// CHECK: hk.matmul {{.*}} : tensor<?x64xbf16>, tensor<16x64xbf16> -> tensor<?x16xbf16>
// CHECK: hk.matmul {{.*}} : tensor<?x16xbf16>, tensor<32x16xbf16> -> tensor<?x32xbf16>
// CHECK: hk.matmul
// CHECK: hk.all_reduce
// CHECK-NOT: hk.all_
func.func @low_rank(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %w1 = hk.weight_ref @first : tensor<16x64xbf16>
  %w2 = hk.weight_ref @second : tensor<64x16xbf16>
  %wo = hk.weight_ref @out : tensor<64x64xbf16>
  %f = hk.matmul %x, %w1 transpose_b : tensor<?x64xbf16>, tensor<16x64xbf16> -> tensor<?x16xbf16>
  %s = hk.matmul %f, %w2 transpose_b : tensor<?x16xbf16>, tensor<64x16xbf16> -> tensor<?x64xbf16>
  %g = hk.sigmoid %s : tensor<?x64xbf16>
  %y = hk.matmul %g, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// What it meets cannot be a part, so it would have to be gathered: it is not cut.
// CHECK-LABEL: func.func @beside_whole(
// CHECK-NOT: hk.all_
func.func @beside_whole(%x: tensor<?x64xbf16>, %r: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %wo = hk.weight_ref @out : tensor<64x64xbf16>
  %p = hk.matmul %x, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %g = hk.mul %p, %r : tensor<?x64xbf16>
  %y = hk.matmul %g, %wo transpose_b : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// Columns that each rank has whole are no term of a sum over the ranks.
// CHECK-LABEL: func.func @whole_in_a_sum(
// CHECK: hk.matmul {{.*}} : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xbf16>
// CHECK-NOT: hk.all_reduce
func.func @whole_in_a_sum(%x: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x32xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %wm = hk.weight_ref @merged : tensor<96x64xbf16>
  %wn = hk.weight_ref @norm : tensor<32xbf16>
  %ww = hk.weight_ref @wide : tensor<64x96xbf16>
  %m = hk.matmul %x, %wm transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %b = tensor.extract_slice %m[0, 64] [%t, 32] [1, 1] : tensor<?x96xbf16> to tensor<?x32xbf16>
  %n = hk.rms_norm %b, %wn epsilon 1.0e-06 : tensor<?x32xbf16>, tensor<32xbf16>
  %y = hk.matmul %m, %ww transpose_b : tensor<?x96xbf16>, tensor<64x96xbf16> -> tensor<?x64xbf16>
  return %y, %n : tensor<?x64xbf16>, tensor<?x32xbf16>
}
