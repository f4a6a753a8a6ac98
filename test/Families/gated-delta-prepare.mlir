// Where products multiply by warpgroups, one computes all that a chunk needs no
// other chunk for: of the same keys and factors, if nothing else reads the
// matrices, in 16 bits, chunks of 64 and sizes of 64 or 128. The steps stand by,
// on vector units.
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s
// RUN: hk-compile %s --target=sm_90a -o %t.so
// RUN: hk-compile %s --target=gfx942 --emit=kernels -o - | FileCheck %s --check-prefix=AMD

// AMD-NOT: ChunkPrepareWarpgroup

// CHECK-LABEL: @chunk_kkt_solve_tril_etc for sm_90a
// CHECK: Global<const u8> keyAt(
// CHECK: using Kernel0_v0 = ChunkKkt<kSpec0, GatedDeltaTile{128, 1, 8, 0}>;
// CHECK: Global<const u8> valueAt(
// CHECK: Global<u8> wAt(
// CHECK: NoAddress uAt(
// CHECK: using Kernel2_v0 = ChunkWU<kSpec2, GatedDeltaTile{128, 1, 8, 0}>;
// CHECK: using Together = ChunkPrepareWarpgroup<kSpec0, kSpec2, GatedDeltaTile{128, 1, 8, 4}>;
// CHECK-NEXT: Together::runOr(
func.func @prepared(%k: tensor<1x?x1x64xbf16>, %v: tensor<1x?x2x128xbf16>, %b: tensor<1x?x2xf32>) -> (tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>) {
  %a = hk.chunk_kkt %k beta %b chunk 64 : tensor<1x?x1x64xbf16> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %a : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  %w, %u = hk.chunk_wu %k, %v, %x beta %b : tensor<1x?x1x64xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x64xbf16> beta tensor<1x?x2xf32> -> tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
  %n = hk.neg %u : tensor<1x?x2x128xbf16>
  return %w, %n : tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
}

// Keys and values that are computed where they are read, eight at a time.
// CHECK-LABEL: @mul_chunk_kkt_etc for sm_90a
// CHECK: NoAddress keyAt(
// CHECK: Vec<float, 8> key(
// CHECK: NoAddress keyAt(
// CHECK: NoAddress valueAt(
// CHECK: using Together = ChunkPrepareWarpgroup
func.func @computed(%k: tensor<1x?x1x64xf16>, %v: tensor<1x?x2x64xf16>) -> (tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>) {
  %c = hk.constant 0.125 : tensor<f16>
  %k1 = hk.mul %k, %c : tensor<1x?x1x64xf16>, tensor<f16>
  %v1 = hk.mul %v, %c : tensor<1x?x2x64xf16>, tensor<f16>
  %a = hk.chunk_kkt %k1 chunk 64 : tensor<1x?x1x64xf16> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %a : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xf16>
  %w, %u = hk.chunk_wu %k1, %v1, %x : tensor<1x?x1x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16> -> tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>
  return %w, %u : tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>
}

// The inverse is a result.
// CHECK-LABEL: @chunk_kkt_solve_tril_chunk_wu for sm_90a
// CHECK: ChunkWUMatrix<kSpec2, GatedDeltaTile{128, 1, 8, 4}>
// CHECK-NOT: ChunkPrepareWarpgroup
func.func @inverse(%k: tensor<1x?x1x64xbf16>, %v: tensor<1x?x2x128xbf16>) -> (tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>) {
  %a = hk.chunk_kkt %k chunk 64 : tensor<1x?x1x64xbf16> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %a : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  %w, %u = hk.chunk_wu %k, %v, %x : tensor<1x?x1x64xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x64xbf16> -> tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
  return %x, %w, %u : tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
}

// Corrections of other keys.
// CHECK-LABEL: @chunk_kkt_solve_tril_chunk_wu_0 for sm_90a
// CHECK-NOT: ChunkPrepareWarpgroup
func.func @two_keys(%k: tensor<1x?x1x64xbf16>, %k2: tensor<1x?x1x64xbf16>, %v: tensor<1x?x2x128xbf16>) -> (tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>) {
  %a = hk.chunk_kkt %k chunk 64 : tensor<1x?x1x64xbf16> -> tensor<1x?x2x64xf32>
  %x = hk.solve_tril %a : tensor<1x?x2x64xf32> -> tensor<1x?x2x64xbf16>
  %w, %u = hk.chunk_wu %k2, %v, %x : tensor<1x?x1x64xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x64xbf16> -> tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
  return %w, %u : tensor<1x?x2x64xbf16>, tensor<1x?x2x128xbf16>
}
