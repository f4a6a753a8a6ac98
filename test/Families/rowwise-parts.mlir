// What only some lanes of a row need, and what they all have.
// RUN: hk-compile %s --target=gfx950 --emit=kernels -o - | FileCheck %s
// RUN: hk-compile %s --target=gfx950 --explain --emit=mlir -o - | FileCheck %s --check-prefix=TILE

// Of heads that are rotated in part the statistic is asked for in front of the parts,
// where all lanes of a head can exchange their elements.
// CHECK-LABEL: @rms_norm_rope_etc for gfx950
// CHECK-NOT: HK_EACH_VECTOR
// CHECK: segmentReduce<Sum, 8, 8>
// CHECK: < 16) {
// CHECK-NOT: segmentReduce
// CHECK-NOT: HK_EACH_VECTOR
// CHECK: storeExact
func.func @partial(%x: tensor<?x4x64xbf16>, %cos: tensor<64x8xf32>, %sin: tensor<64x8xf32>, %pos: tensor<?xi32>, %gate: tensor<?x256xbf16>, %w: tensor<64xbf16>) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x64xbf16>
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x4x64xbf16>, tensor<64xbf16>
  %a = tensor.extract_slice %n[0, 0, 0] [%t, 4, 16] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x16xbf16>
  %b = tensor.extract_slice %n[0, 0, 16] [%t, 4, 48] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x48xbf16>
  %r = hk.rope neox %a, %cos, %sin positions %pos : tensor<?x4x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%r, %b) : tensor<?x4x16xbf16>, tensor<?x4x48xbf16> -> tensor<?x4x64xbf16>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %m = hk.mul %f, %gate : tensor<?x256xbf16>
  return %m : tensor<?x256xbf16>
}

// The ten scales of a row that are cast for a graph's own quotient leave its chunks whole.
// TILE: @quantize_mx_cast_div rowwise: {{.*}}vec = 16
func.func @own_quotient(%x: tensor<?x320xbf16>) -> (tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x320xbf16>
  %unused, %e = hk.quantize_mx ceil %x : tensor<?x320xbf16> -> tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
  %s0 = hk.cast %e : tensor<?x10xf8E8M0FNU> -> tensor<?x10xf32>
  %s = tensor.expand_shape %s0 [[0], [1, 2]] output_shape [%t, 10, 1] : tensor<?x10xf32> into tensor<?x10x1xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 10, 32] : tensor<?x320xbf16> into tensor<?x10x32xbf16>
  %r = hk.div %g, %s : tensor<?x10x32xbf16>, tensor<?x10x1xf32> -> tensor<?x10x32xf32>
  %q3 = hk.cast %r : tensor<?x10x32xf32> -> tensor<?x10x32xf4E2M1FN>
  %q = tensor.collapse_shape %q3 [[0], [1, 2]] : tensor<?x10x32xf4E2M1FN> into tensor<?x320xf4E2M1FN>
  return %q, %e : tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
}

// Heads of which a part is rotated are stored by a loop for each part, in which all lanes
// go one way.
// CHECK-LABEL: @rope_concat for gfx950
// CHECK-NOT: Vec<float, 8> {{v[0-9]+}} = 0;
// CHECK: difference<8>
// CHECK-NOT: Vec<float, 8> {{v[0-9]+}} = 0;
// CHECK: HK_EACH_SLOT(s, c, Piece<i32, 2, 32, true>
// CHECK-NOT: difference
// CHECK-LABEL: @rope_concat_0 for gfx950
func.func @parted(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>) -> tensor<?x16x576xbf16> {
  %r = hk.rope neox %qp, %cos, %sin positions %pos : tensor<?x16x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %y = hk.concat 2 (%r, %q) : tensor<?x16x64xbf16>, tensor<?x16x512xbf16> -> tensor<?x16x576xbf16>
  return %y : tensor<?x16x576xbf16>
}
// Too short a row for lanes of its own for each part.
// CHECK: if ((c * 8) < 16)
func.func @short(%q: tensor<?x64xbf16>, %qp: tensor<?x1x16xbf16>, %cos: tensor<64x8xbf16>, %sin: tensor<64x8xbf16>, %pos: tensor<?xi32>) -> tensor<?x80xbf16> {
  %r = hk.rope neox %qp, %cos, %sin positions %pos : tensor<?x1x16xbf16>, tensor<64x8xbf16>, tensor<64x8xbf16> positions tensor<?xi32>
  %f = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x1x16xbf16> into tensor<?x16xbf16>
  %y = hk.concat 1 (%f, %q) : tensor<?x16xbf16>, tensor<?x64xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// Angles that are computed are those of all heads of a token that a thread has.
// CHECK-LABEL: @cos_sin_rope for gfx950
// CHECK: = cos<8>
// CHECK: HK_EACH_SLOT(s, c, Piece<i32, 4, 4, true>
// CHECK-NOT: cos<
// CHECK: storeExact
func.func @angles(%x: tensor<?x4x64xbf16>, %freqs: tensor<64x32xf32>) -> tensor<?x4x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32>
  %y = hk.rope neox %x, %cos, %sin : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32>
  return %y : tensor<?x4x64xbf16>
}

// A thread that has both vectors of a pair normalises each once; the statistic is that of
// eight lanes with a vector each.
// CHECK-LABEL: @rms_norm_rope for gfx950
// CHECK-COUNT-2: Sum::apply<float>(segmentReduce<Sum, 4, 4>({{.*}}), segmentReduce<Sum, 4, 4>({{.*}}))
// CHECK-NOT: segmentReduce
// CHECK: storeExact
func.func @normed_pairs(%x: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %w: tensor<64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x8x64xbf16>, tensor<64xbf16>
  %m = hk.rms_norm %k, %w epsilon 1.0e-06 : tensor<?x2x64xbf16>, tensor<64xbf16>
  %y = hk.rope neox %n, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %z = hk.rope neox %m, %cos, %sin positions %pos : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  return %y, %z : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>
}

// Halves that are swapped are read from another slot of the thread.
// CHECK-LABEL: @softmax_neg_etc for gfx950
// CHECK: expNegative
// CHECK-NOT: expNegative
// CHECK: keep0[(s + 1) % 2]
// CHECK-NOT: expNegative
// CHECK: storeNearest
func.func @swapped(%x: tensor<?x4x64xbf16>) -> (tensor<?x4x64xi8>, tensor<?x4x1xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x64xbf16>
  %n = hk.softmax %x : tensor<?x4x64xbf16>
  %a = tensor.extract_slice %n[0, 0, 0] [%t, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %b = tensor.extract_slice %n[0, 0, 32] [%t, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %m = hk.neg %b : tensor<?x4x32xbf16>
  %k = hk.concat 2 (%m, %a) : tensor<?x4x32xbf16>, tensor<?x4x32xbf16> -> tensor<?x4x64xbf16>
  %q, %s = hk.quantize per_token %k : tensor<?x4x64xbf16> -> tensor<?x4x64xi8>, tensor<?x4x1xf32>
  return %q, %s : tensor<?x4x64xi8>, tensor<?x4x1xf32>
}
