// A lane of streamed_codes decodes 16 neighbours of 8 bits with one scale: groups that are no
// multiple of 16 are decoded elsewhere.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s

// CHECK-LABEL: hk.kernel @dequantize_matmul
// CHECK-NOT: streamed_codes
// CHECK-LABEL: hk.kernel @dequantize_matmul_0
// CHECK: hk.variant {{.*}}loop = streamed_codes
func.func @of_136(%x: tensor<8x4080xbf16>, %w: tensor<28672x4080xi8>, %s: tensor<28672x30xbf16>) -> tensor<8x28672xbf16> {
  %d = hk.dequantize %w, %s group 136 : tensor<28672x4080xi8>, tensor<28672x30xbf16> -> tensor<28672x4080xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<8x4080xbf16>, tensor<28672x4080xbf16> -> tensor<8x28672xbf16>
  return %y : tensor<8x28672xbf16>
}
func.func @of_144(%x: tensor<8x4032xbf16>, %w: tensor<28672x4032xi8>, %s: tensor<28672x28xbf16>) -> tensor<8x28672xbf16> {
  %d = hk.dequantize %w, %s group 144 : tensor<28672x4032xi8>, tensor<28672x28xbf16> -> tensor<28672x4032xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<8x4032xbf16>, tensor<28672x4032xbf16> -> tensor<8x28672xbf16>
  return %y : tensor<8x28672xbf16>
}
