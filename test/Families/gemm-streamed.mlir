// Few rows times codes of 8 bits on sm_90a: which products streamed_codes takes.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s

// A scale for each column: k of any length.
// CHECK-LABEL: hk.kernel @dequantize_matmul
// CHECK: hk.variant {{.*}}loop = streamed_codes
// CHECK: hk.launch
func.func @columns(%x: tensor<16x28672xbf16>, %w: tensor<8192x28672xi8>, %s: tensor<8192x1xf32>) -> tensor<16x8192xbf16> {
  %d = hk.dequantize %w, %s group 28672 : tensor<8192x28672xi8>, tensor<8192x1xf32> -> tensor<8192x28672xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<16x28672xbf16>, tensor<8192x28672xbf16> -> tensor<16x8192xbf16>
  return %y : tensor<16x8192xbf16>
}

// Scales of sums along k.
// CHECK-LABEL: hk.kernel @matmul
// CHECK: hk.variant {{.*}}loop = streamed_codes
// CHECK: hk.launch
func.func @blocks(%x: tensor<16x4096xbf16>, %w: tensor<14336x4096xf8E4M3FN>, %s: tensor<112x32xf32>) -> tensor<16x14336xbf16> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<16x4096xbf16>, tensor<14336x4096xf8E4M3FN> scales (none, tensor<112x32xf32>) -> tensor<16x14336xbf16>
  return %y : tensor<16x14336xbf16>
}

// More than a word for every 128 of k, rows that begin elsewhere, and zero points that no word
// has room for beside the scale: another loop.
// CHECK-NOT: streamed_codes
func.func @short_groups(%x: tensor<16x4096xbf16>, %w: tensor<14336x4096xi8>, %s: tensor<14336x64xf32>) -> tensor<16x14336xbf16> {
  %d = hk.dequantize %w, %s group 64 : tensor<14336x4096xi8>, tensor<14336x64xf32> -> tensor<14336x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<16x4096xbf16>, tensor<14336x4096xbf16> -> tensor<16x14336xbf16>
  return %y : tensor<16x14336xbf16>
}
func.func @odd(%x: tensor<16x4104xbf16>, %w: tensor<14336x4104xi8>, %s: tensor<14336x1xf32>) -> tensor<16x14336xbf16> {
  %d = hk.dequantize %w, %s group 4104 : tensor<14336x4104xi8>, tensor<14336x1xf32> -> tensor<14336x4104xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<16x4104xbf16>, tensor<14336x4104xbf16> -> tensor<16x14336xbf16>
  return %y : tensor<16x14336xbf16>
}
func.func @wide_zeros(%x: tensor<16x4096xbf16>, %w: tensor<14336x4096xi8>, %s: tensor<14336x32xf32>, %z: tensor<14336x32xi8>) -> tensor<16x14336xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<14336x4096xi8>, tensor<14336x32xf32>, tensor<14336x32xi8> -> tensor<14336x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<16x4096xbf16>, tensor<14336x4096xbf16> -> tensor<16x14336xbf16>
  return %y : tensor<16x14336xbf16>
}
