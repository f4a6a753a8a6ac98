// A compute unit draws only so much of the memory's rate, and the longest of sequences of
// different length ends last: where units would idle, keys are cut.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split | FileCheck %s --check-prefix=AMD
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-split | FileCheck %s --check-prefix=AMD

// 64 key heads for 132 units.
// CHECK-LABEL: func @few
// CHECK: hk.attention {{.*}} kv_slices
// CHECK: hk.attention_combine
func.func @few(%q: tensor<8x1x32x128xbf16>, %k: tensor<8x8192x8x128xbf16>, %v: tensor<8x8192x8x128xbf16>) -> tensor<8x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088 : tensor<8x1x32x128xbf16>, tensor<8x8192x8x128xbf16>, tensor<8x8192x8x128xbf16> -> tensor<8x1x32x128xbf16>
  return %0 : tensor<8x1x32x128xbf16>
}

// 512 of one length.
// CHECK-LABEL: func @many
// CHECK-NOT: hk.attention_combine
func.func @many(%q: tensor<64x1x32x128xbf16>, %k: tensor<64x4096x8x128xbf16>, %v: tensor<64x4096x8x128xbf16>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088 : tensor<64x1x32x128xbf16>, tensor<64x4096x8x128xbf16>, tensor<64x4096x8x128xbf16> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}

// 512 of lengths that the device knows.
// CHECK-LABEL: func @lengths
// CHECK: hk.attention {{.*}} kv_slices
func.func @lengths(%q: tensor<64x1x32x128xbf16>, %k: tensor<64x12288x8x128xbf16>, %v: tensor<64x12288x8x128xbf16>, %n: tensor<64xi32>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.088 : tensor<64x1x32x128xbf16>, tensor<64x12288x8x128xbf16>, tensor<64x12288x8x128xbf16> kv_lens tensor<64xi32> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}

// 64 new queries of 8 heads a key head over a cache: 4 tiles of 128 rows a key head. On sm_90a
// clusters of blocks share the keys.
// CHECK-LABEL: func @chunk
// CHECK-NOT: hk.attention_combine
// AMD-LABEL: func @chunk
// AMD: hk.attention {{.*}} kv_slices
// AMD: hk.attention_combine
func.func @chunk(%q: tensor<64x32x128xbf16>, %k: tensor<1x8192x4x128xbf16>, %v: tensor<1x8192x4x128xbf16>, %n: tensor<1xi32>) -> tensor<64x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.088 causal : tensor<64x32x128xbf16>, tensor<1x8192x4x128xbf16>, tensor<1x8192x4x128xbf16> kv_lens tensor<1xi32> -> tensor<64x32x128xbf16>
  return %0 : tensor<64x32x128xbf16>
}
