// On CDNA strides are constants of a kernel's text where all its launches pass the same ones; a stride in which they
// differ, or that only a call knows, is a word as everywhere else.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s

// Two launches of one kernel, one of them on rows that are further apart.
// CHECK-LABEL: ==== @silu for
// CHECK-NOT: decode.h
// CHECK: const i64 s0_0 = i64(words[
// CHECK: constexpr Stride<64> s1_0;
// CHECK: strided(row, s0_0)
// CHECK: strided(row, s1_0)
func.func @whole(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = hk.silu %x : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
func.func @part(%x: tensor<?x192xbf16>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x192xbf16>
  %s = tensor.extract_slice %x[0, 64] [%n, 64] [1, 1] : tensor<?x192xbf16> to tensor<?x64xbf16>
  %y = hk.silu %s : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// Halves of a byte count as bytes where all rows begin with one, and are read in the chip's shortest way.
// CHECK-LABEL: ==== @dequantize for
// CHECK: #include "kernels/device/decode.h"
// CHECK: constexpr Stride<64> s0_0;
// CHECK: addressOf<DType::I8>(p0, {{.*}}nearIndex<64>((c * 4))), 0)
// CHECK: unpackCodesOf<DType::F4E2M1FN, 8>(
func.func @codes(%x: tensor<?x64xf4E2M1FN>, %s: tensor<1xf32>) -> tensor<?x64xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x64xf4E2M1FN>, tensor<1xf32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// Tables with a row for each token: none is looked for.
// CHECK-LABEL: ==== @rope for
// CHECK-NOT: found
// CHECK: offsetOfRow(strided({{q[0-9]+}}, s1_0))
// CHECK-NOT: mostly
// CHECK-LABEL: ==== @rope_0 for
// CHECK: mostly
func.func @own_rows(%x: tensor<16x2x64xbf16>, %cos: tensor<16x32xf32>, %sin: tensor<16x32xf32>) -> tensor<16x2x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin : tensor<16x2x64xbf16>, tensor<16x32xf32>, tensor<16x32xf32>
  return %y : tensor<16x2x64xbf16>
}
func.func @table(%x: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>) -> tensor<?x2x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32>
  return %y : tensor<?x2x64xbf16>
}
