// Products of one input become one with concatenated weights; what they were are views of it.
// RUN: hk-opt %s --hk-merge-products --canonicalize | FileCheck %s
// RUN: hk-opt %s --hk-merge-products --canonicalize --hk-fold-weights | FileCheck %s --check-prefix=FOLD

// FOLD: hk.weight @folded{{.*}} from ["q", "k"] {

hk.weight @q "q" : tensor<64x32xbf16>
hk.weight @k "k" : tensor<32x32xbf16>
hk.weight @v "v" : tensor<32x32xf16>
hk.weight @g "g" : tensor<96x32xbf16>
hk.weight @u "u" : tensor<96x32xbf16>
hk.weight @bq "bq" : tensor<64xbf16>
hk.weight @bk "bk" : tensor<32xbf16>
hk.weight @q8 "q8" : tensor<256x128xf8E4M3FN>
hk.weight @k8 "k8" : tensor<128x128xf8E4M3FN>
hk.weight @sq "sq" : tensor<2x1xf32>
hk.weight @sk "sk" : tensor<1x1xf32>
hk.weight @sr "sr" : tensor<128x1xf32>
hk.weight @c0 "c0" : tensor<64x128xui4>
hk.weight @c1 "c1" : tensor<32x128xui4>
hk.weight @s0 "s0" : tensor<64x4xf16>
hk.weight @s1 "s1" : tensor<32x4xf16>
hk.weight @s2 "s2" : tensor<32x2xf16>
hk.weight @m0 "m0" : tensor<64x4xf16>
hk.weight @m1 "m1" : tensor<32x4xf16>

// @v has another type, so its product stays.
// CHECK-LABEL: func @projections(
// CHECK: %[[W:.*]] = hk.concat 0({{.*}}) : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<96x32xbf16>
// CHECK: %[[P:.*]] = hk.matmul %arg0, %[[W]] transpose_b : tensor<?x32xbf16>, tensor<96x32xbf16> -> tensor<?x96xbf16>
// CHECK: %[[B:.*]] = hk.concat 0({{.*}}) : tensor<64xbf16>, tensor<32xbf16> -> tensor<96xbf16>
// CHECK: %[[S:.*]] = hk.add %[[P]], %[[B]]
// CHECK: %[[Q:.*]] = tensor.extract_slice %[[S]][0, 0] {{.*}} to tensor<?x64xbf16>
// CHECK: %[[K:.*]] = tensor.extract_slice %[[S]][0, 64] {{.*}} to tensor<?x32xbf16>
// CHECK: hk.softmax %[[Q]]
// CHECK: hk.softmax %[[K]]
// CHECK: hk.matmul
// CHECK-NOT: hk.matmul
func.func @projections(%x: tensor<?x32xbf16>) -> (tensor<?x64xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %wq = hk.weight_ref @q : tensor<64x32xbf16>
  %q = hk.matmul %x, %wq transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xbf16>
  %bq = hk.weight_ref @bq : tensor<64xbf16>
  %q1 = hk.add %q, %bq : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
  %q2 = hk.softmax %q1 : tensor<?x64xbf16>
  %wk = hk.weight_ref @k : tensor<32x32xbf16>
  %k = hk.matmul %x, %wk transpose_b : tensor<?x32xbf16>, tensor<32x32xbf16> -> tensor<?x32xbf16>
  %bk = hk.weight_ref @bk : tensor<32xbf16>
  %k1 = hk.add %k, %bk : tensor<?x32xbf16>, tensor<32xbf16> -> tensor<?x32xbf16>
  %k2 = hk.softmax %k1 : tensor<?x32xbf16>
  %wv = hk.weight_ref @v : tensor<32x32xf16>
  %v = hk.matmul %x, %wv transpose_b : tensor<?x32xbf16>, tensor<32x32xf16> -> tensor<?x32xbf16>
  %v1 = hk.softmax %v : tensor<?x32xbf16>
  return %q2, %k2, %v1 : tensor<?x64xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>
}

// The up projection comes first here, the gate is still the first half.
// CHECK-LABEL: func @gate(
// CHECK: %[[G:.*]] = hk.weight_ref @g
// CHECK: %[[U:.*]] = hk.weight_ref @u
// CHECK: %[[W:.*]] = hk.concat 0(%[[G]], %[[U]])
// CHECK: %[[P:.*]] = hk.matmul %arg0, %[[W]]
// CHECK-DAG: %[[HU:.*]] = tensor.extract_slice %[[P]][0, 96] {{.*}} to tensor<?x96xbf16>
// CHECK-DAG: %[[HG:.*]] = tensor.extract_slice %[[P]][0, 0] {{.*}} to tensor<?x96xbf16>
// CHECK: %[[A:.*]] = hk.silu %[[HG]]
// CHECK: hk.mul %[[HU]], %[[A]]
func.func @gate(%x: tensor<?x32xbf16>) -> tensor<?x96xbf16> {
  %wu = hk.weight_ref @u : tensor<96x32xbf16>
  %u = hk.matmul %x, %wu transpose_b : tensor<?x32xbf16>, tensor<96x32xbf16> -> tensor<?x96xbf16>
  %wg = hk.weight_ref @g : tensor<96x32xbf16>
  %g = hk.matmul %x, %wg transpose_b : tensor<?x32xbf16>, tensor<96x32xbf16> -> tensor<?x96xbf16>
  %a = hk.silu %g : tensor<?x96xbf16>
  %y = hk.mul %u, %a : tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// One row of scales for 128 columns; in @scales_differ one of them has a row for each column.
// CHECK-LABEL: func @scales(
// CHECK: %[[W:.*]] = hk.concat 0({{.*}}) : tensor<256x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>
// CHECK: %[[S:.*]] = hk.concat 0({{.*}}) : tensor<2x1xf32>, tensor<1x1xf32> -> tensor<3x1xf32>
// CHECK: hk.matmul %arg0, %[[W]] scales(%arg1, %[[S]]) transpose_b
func.func @scales(%x: tensor<4x128xf8E4M3FN>, %s: tensor<4x1xf32>) -> (tensor<4x256xbf16>, tensor<4x128xbf16>) {
  %wq = hk.weight_ref @q8 : tensor<256x128xf8E4M3FN>
  %sq = hk.weight_ref @sq : tensor<2x1xf32>
  %q = hk.matmul %x, %wq scales (%s, %sq) transpose_b : tensor<4x128xf8E4M3FN>, tensor<256x128xf8E4M3FN> scales (tensor<4x1xf32>, tensor<2x1xf32>) -> tensor<4x256xbf16>
  %wk = hk.weight_ref @k8 : tensor<128x128xf8E4M3FN>
  %sk = hk.weight_ref @sk : tensor<1x1xf32>
  %k = hk.matmul %x, %wk scales (%s, %sk) transpose_b : tensor<4x128xf8E4M3FN>, tensor<128x128xf8E4M3FN> scales (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x128xbf16>
  %0 = hk.softmax %q : tensor<4x256xbf16>
  %1 = hk.softmax %k : tensor<4x128xbf16>
  return %0, %1 : tensor<4x256xbf16>, tensor<4x128xbf16>
}
// CHECK-LABEL: func @scales_differ(
// CHECK-NOT: hk.concat
func.func @scales_differ(%x: tensor<4x128xf8E4M3FN>, %s: tensor<4x1xf32>) -> (tensor<4x256xbf16>, tensor<4x128xbf16>) {
  %wq = hk.weight_ref @q8 : tensor<256x128xf8E4M3FN>
  %sq = hk.weight_ref @sq : tensor<2x1xf32>
  %q = hk.matmul %x, %wq scales (%s, %sq) transpose_b : tensor<4x128xf8E4M3FN>, tensor<256x128xf8E4M3FN> scales (tensor<4x1xf32>, tensor<2x1xf32>) -> tensor<4x256xbf16>
  %wk = hk.weight_ref @k8 : tensor<128x128xf8E4M3FN>
  %sk = hk.weight_ref @sr : tensor<128x1xf32>
  %k = hk.matmul %x, %wk scales (%s, %sk) transpose_b : tensor<4x128xf8E4M3FN>, tensor<128x128xf8E4M3FN> scales (tensor<4x1xf32>, tensor<128x1xf32>) -> tensor<4x128xbf16>
  %0 = hk.softmax %q : tensor<4x256xbf16>
  %1 = hk.softmax %k : tensor<4x128xbf16>
  return %0, %1 : tensor<4x256xbf16>, tensor<4x128xbf16>
}

// A result of the function, an epilogue, another product: a view would cost a launch.
// CHECK-LABEL: func @alone(
// CHECK-NOT: hk.concat
func.func @alone(%x: tensor<4x32xbf16>, %r: tensor<4x96xbf16>) -> (tensor<4x64xbf16>, tensor<4x96xbf16>, tensor<4x4xbf16>) {
  %wq = hk.weight_ref @q : tensor<64x32xbf16>
  %q = hk.matmul %x, %wq transpose_b : tensor<4x32xbf16>, tensor<64x32xbf16> -> tensor<4x64xbf16>
  %wg = hk.weight_ref @g : tensor<96x32xbf16>
  %g = hk.matmul %x, %wg transpose_b : tensor<4x32xbf16>, tensor<96x32xbf16> -> tensor<4x96xbf16>
  %y = hk.add %g, %r : tensor<4x96xbf16>
  %wk = hk.weight_ref @k : tensor<32x32xbf16>
  %k = hk.matmul %x, %wk transpose_b : tensor<4x32xbf16>, tensor<32x32xbf16> -> tensor<4x32xbf16>
  %z = hk.matmul %k, %x transpose_b : tensor<4x32xbf16>, tensor<4x32xbf16> -> tensor<4x4xbf16>
  return %q, %y, %z : tensor<4x64xbf16>, tensor<4x96xbf16>, tensor<4x4xbf16>
}

// Codes, scales and what is added stay apart; the values are never made.
// CHECK-LABEL: func @quantised(
// CHECK: %[[C:.*]] = hk.concat 0({{.*}}) : tensor<64x128xui4>, tensor<32x128xui4> -> tensor<96x128xui4>
// CHECK: %[[S:.*]] = hk.concat 0({{.*}}) : tensor<64x4xf16>, tensor<32x4xf16> -> tensor<96x4xf16>
// CHECK: %[[M:.*]] = hk.concat 0({{.*}}) : tensor<64x4xf16>, tensor<32x4xf16> -> tensor<96x4xf16>
// CHECK: %[[D:.*]] = hk.dequantize %[[C]], %[[S]], %[[M]] offset group 32
// CHECK: hk.matmul %arg0, %[[D]] transpose_b
// CHECK-NOT: hk.matmul
func.func @quantised(%x: tensor<?x128xf32>) -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %c0 = hk.weight_ref @c0 : tensor<64x128xui4>
  %s0 = hk.weight_ref @s0 : tensor<64x4xf16>
  %m0 = hk.weight_ref @m0 : tensor<64x4xf16>
  %d0 = hk.dequantize %c0, %s0, %m0 offset group 32 : tensor<64x128xui4>, tensor<64x4xf16>, tensor<64x4xf16> -> tensor<64x128xf32>
  %y0 = hk.matmul %x, %d0 transpose_b : tensor<?x128xf32>, tensor<64x128xf32> -> tensor<?x64xf32>
  %r0 = hk.softmax %y0 : tensor<?x64xf32>
  %c1 = hk.weight_ref @c1 : tensor<32x128xui4>
  %s1 = hk.weight_ref @s1 : tensor<32x4xf16>
  %m1 = hk.weight_ref @m1 : tensor<32x4xf16>
  %d1 = hk.dequantize %c1, %s1, %m1 offset group 32 : tensor<32x128xui4>, tensor<32x4xf16>, tensor<32x4xf16> -> tensor<32x128xf32>
  %y1 = hk.matmul %x, %d1 transpose_b : tensor<?x128xf32>, tensor<32x128xf32> -> tensor<?x32xf32>
  %r1 = hk.softmax %y1 : tensor<?x32xf32>
  return %r0, %r1 : tensor<?x64xf32>, tensor<?x32xf32>
}

// One constant zero point serves all; a group of another size, or other zero points, do not.
// CHECK-LABEL: func @zero_points(
// CHECK: %[[Z:.*]] = hk.constant 8 : tensor<1xi8>
// CHECK: %[[C:.*]] = hk.concat 0
// CHECK: %[[S:.*]] = hk.concat 0
// CHECK: hk.dequantize %[[C]], %[[S]], %[[Z]] group 32
// CHECK: hk.dequantize {{.*}} group 64
func.func @zero_points(%x: tensor<?x128xf32>) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>) {
  %z = hk.constant 8 : tensor<1xi8>
  %c0 = hk.weight_ref @c0 : tensor<64x128xui4>
  %s0 = hk.weight_ref @s0 : tensor<64x4xf16>
  %d0 = hk.dequantize %c0, %s0, %z group 32 : tensor<64x128xui4>, tensor<64x4xf16>, tensor<1xi8> -> tensor<64x128xf32>
  %y0 = hk.matmul %x, %d0 transpose_b : tensor<?x128xf32>, tensor<64x128xf32> -> tensor<?x64xf32>
  %r0 = hk.softmax %y0 : tensor<?x64xf32>
  %c1 = hk.weight_ref @c1 : tensor<32x128xui4>
  %s1 = hk.weight_ref @s1 : tensor<32x4xf16>
  %d1 = hk.dequantize %c1, %s1, %z group 32 : tensor<32x128xui4>, tensor<32x4xf16>, tensor<1xi8> -> tensor<32x128xf32>
  %y1 = hk.matmul %x, %d1 transpose_b : tensor<?x128xf32>, tensor<32x128xf32> -> tensor<?x32xf32>
  %r1 = hk.softmax %y1 : tensor<?x32xf32>
  %s2 = hk.weight_ref @s2 : tensor<32x2xf16>
  %d2 = hk.dequantize %c1, %s2, %z group 64 : tensor<32x128xui4>, tensor<32x2xf16>, tensor<1xi8> -> tensor<32x128xf32>
  %y2 = hk.matmul %x, %d2 transpose_b : tensor<?x128xf32>, tensor<32x128xf32> -> tensor<?x32xf32>
  %r2 = hk.softmax %y2 : tensor<?x32xf32>
  return %r0, %r1, %r2 : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}
