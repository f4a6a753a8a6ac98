// What the words of host kernels are made of: attention of bf16, which CPUs with AVX512_BF16
// multiply as pairs (odd heads, keys that some rows of a group see, numbers below 2^-126,
// NaN, infinity; scales of queries; f16, which is no pair), and products of f32 whose rows
// are multiplied where they lie or, a page apart, copied. The same on CPUs without pairs, and
// without multiply-adds.
// RUN: rm -rf %t && mkdir -p %t
// RUN: hk-compile %s -o %t/native.so --target=host --host-cpu=native
// RUN: hk-compile %s -o %t/v3.so --target=host --host-cpu=x86-64-v3
// RUN: hk-compile %s -o %t/v2.so --target=host --host-cpu=x86-64-v2
// RUN: bash -c 'check() { for f in causal odd scaled half rows distant_rows; do hk-run $1 --function=$f --dim=x.0=$2 --data=$3 --check=%s || exit 1; done; }; for data in normal tiny nan inf; do for rows in 3 41; do check %t/native.so $rows $data; done; done; check %t/v3.so 41 normal; check %t/v2.so 41 normal' | FileCheck %s
// CHECK-COUNT-60: all within their bounds

func.func @causal(%x: tensor<?x4x40xbf16>, %k: tensor<1x77x4x40xbf16>, %v: tensor<1x77x4x72xbf16>) -> tensor<1x?x4x72xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4x40xbf16>
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, %n, 4, 40] : tensor<?x4x40xbf16> into tensor<1x?x4x40xbf16>
  %o = hk.attention %q, %k, %v scale 0.2 causal : tensor<1x?x4x40xbf16>, tensor<1x77x4x40xbf16>, tensor<1x77x4x72xbf16> -> tensor<1x?x4x72xbf16>
  return %o : tensor<1x?x4x72xbf16>
}
func.func @odd(%x: tensor<?x6x33xbf16>, %k: tensor<1x150x2x33xbf16>, %v: tensor<1x150x2x33xbf16>) -> tensor<1x?x6x33xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x6x33xbf16>
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, %n, 6, 33] : tensor<?x6x33xbf16> into tensor<1x?x6x33xbf16>
  %o = hk.attention %q, %k, %v scale 0.2 : tensor<1x?x6x33xbf16>, tensor<1x150x2x33xbf16>, tensor<1x150x2x33xbf16> -> tensor<1x?x6x33xf32>
  return %o : tensor<1x?x6x33xf32>
}
func.func @scaled(%x: tensor<?x2x64xbf16>, %s: tensor<f32>, %k: tensor<1x50x2x64xi8>, %ks: tensor<f32>, %v: tensor<1x50x2x64xbf16>) -> tensor<1x?x2x64xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x64xbf16>
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, %n, 2, 64] : tensor<?x2x64xbf16> into tensor<1x?x2x64xbf16>
  %o = hk.attention %q, %k, %v q_scale %s k_scale %ks scale 0.01 : tensor<1x?x2x64xbf16>, tensor<1x50x2x64xi8>, tensor<1x50x2x64xbf16> q_scale tensor<f32> k_scale tensor<f32> -> tensor<1x?x2x64xbf16>
  return %o : tensor<1x?x2x64xbf16>
}
func.func @half(%x: tensor<?x2x64xf16>, %k: tensor<1x50x2x64xf16>, %v: tensor<1x50x2x64xf16>) -> tensor<1x?x2x64xf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x64xf16>
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, %n, 2, 64] : tensor<?x2x64xf16> into tensor<1x?x2x64xf16>
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<1x?x2x64xf16>, tensor<1x50x2x64xf16>, tensor<1x50x2x64xf16> -> tensor<1x?x2x64xf16>
  return %o : tensor<1x?x2x64xf16>
}
func.func @rows(%x: tensor<?x201xf32>, %w: tensor<70x201xf32>) -> tensor<?x70xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xf32>, tensor<70x201xf32> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @distant_rows(%x: tensor<?x1024xf32>, %w: tensor<70x1024xf32>) -> tensor<?x70xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x1024xf32>, tensor<70x1024xf32> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
