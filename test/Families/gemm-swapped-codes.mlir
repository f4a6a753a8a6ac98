// Some hundred rows times codes on sm_90a: decoded in front of the warpgroups that multiply.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s

// CHECK-LABEL: hk.kernel @dequantize_matmul
// CHECK: hk.variant {{.*}}bm = 128, bn = 128, {{.*}}loop = swapped
// CHECK: hk.launch
func.func @nibbles(%x: tensor<128x4096xbf16>, %w: tensor<14336x4096xui4>, %s: tensor<14336x32xbf16>, %z: tensor<14336x32xui4>) -> tensor<128x14336xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<14336x4096xui4>, tensor<14336x32xbf16>, tensor<14336x32xui4> -> tensor<14336x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<128x4096xbf16>, tensor<14336x4096xbf16> -> tensor<128x14336xbf16>
  return %y : tensor<128x14336xbf16>
}

// Few columns: the blocks of a cluster share k.
// CHECK-LABEL: hk.kernel @dequantize_matmul_0
// CHECK: hk.variant {{.*}}loop = swapped, cluster = {{[24]}}
// CHECK: hk.launch
func.func @bytes(%x: tensor<128x14336xbf16>, %w: tensor<4096x14336xi8>, %s: tensor<4096x1xf32>) -> tensor<128x4096xbf16> {
  %d = hk.dequantize %w, %s group 14336 : tensor<4096x14336xi8>, tensor<4096x1xf32> -> tensor<4096x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<128x14336xbf16>, tensor<4096x14336xbf16> -> tensor<128x4096xbf16>
  return %y : tensor<128x4096xbf16>
}

// Scales of sums along k: one warpgroup decodes, as those that fold need registers.
// CHECK-LABEL: hk.kernel @matmul
// CHECK: hk.variant {{.*}}bm = 128, bn = 128, {{.*}}, {{.*}}loop = swapped
func.func @blocks(%x: tensor<128x4096xbf16>, %w: tensor<14336x4096xf8E4M3FN>, %s: tensor<112x32xf32>) -> tensor<128x14336xbf16> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<128x4096xbf16>, tensor<14336x4096xf8E4M3FN> scales (none, tensor<112x32xf32>) -> tensor<128x14336xbf16>
  return %y : tensor<128x14336xbf16>
}

// A gate: tiles of up to 128 rows, of which more would spill.
// CHECK-LABEL: hk.kernel @dequantize_matmul_gated_activation
// CHECK: hk.variant {{.*}}bm = 128, bn = 128, {{.*}}loop = swapped
func.func @gate(%x: tensor<256x4096xbf16>, %w: tensor<28672x4096xi4>, %s: tensor<28672x32xbf16>) -> tensor<256x14336xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<28672x4096xi4>, tensor<28672x32xbf16> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<256x4096xbf16>, tensor<28672x4096xbf16> -> tensor<256x28672xbf16>
  %g = hk.gated_activation silu %y : tensor<256x28672xbf16> -> tensor<256x14336xbf16>
  return %g : tensor<256x14336xbf16>
}
