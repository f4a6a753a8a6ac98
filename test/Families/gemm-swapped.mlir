// Products of some hundred rows on sm_90a: tiles whose rows are the columns of
// the instruction, and blocks that share k where there are few of them.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=mlir --explain -o %t.mlir 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: @matmul gemm: matmul; #hk.gemm_tile<bm = 80, bn = 64, bk = 64, wm = 1, wn = 1, stages = 12, splitK = 1, loop = swapped, cluster = 2>, LDS 227528 of 232448 bytes, 256 threads
// EXPLAIN: @matmul_0 gemm: matmul; #hk.gemm_tile<bm = 104, bn = 64, {{.*}}loop = swapped, cluster = 2>
// EXPLAIN: @matmul_1 gemm: matmul; #hk.gemm_tile<bm = 160, bn = 128, {{.*}}wn = 2, {{.*}}loop = swapped>, {{.*}} 384 threads

// CHECK-LABEL: hk.kernel @matmul gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 80, bn = 64, bk = 64, wm = 1, wn = 1, stages = 12, splitK = 1, loop = swapped, cluster = 2> threads 256
func.func @one_tile(%x: tensor<65x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<65x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<65x4096xbf16>, tensor<4096x4096xbf16> -> tensor<65x4096xbf16>
  return %0 : tensor<65x4096xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_0 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 104, bn = 64, {{.*}}loop = swapped, cluster = 2>
// CHECK: hk.launch_dims if %true grid(%c132, %c1, %c1)
func.func @shared_k(%x: tensor<197x7168xbf16>, %w: tensor<2112x7168xbf16>) -> tensor<197x2112xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<197x7168xbf16>, tensor<2112x7168xbf16> -> tensor<197x2112xbf16>
  return %0 : tensor<197x2112xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_1 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 160, bn = 128, {{.*}}loop = swapped>
func.func @two_groups(%x: tensor<320x5120xbf16>, %w: tensor<7168x5120xbf16>) -> tensor<320x7168xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<320x5120xbf16>, tensor<7168x5120xbf16> -> tensor<320x7168xbf16>
  return %0 : tensor<320x7168xbf16>
}

// CHECK-LABEL: hk.kernel @matmul_2 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 80, bn = 64, {{.*}}loop = swapped, cluster = 4>
func.func @few_columns(%x: tensor<128x4864xbf16>, %w: tensor<896x4864xbf16>) -> tensor<128x896xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<128x4864xbf16>, tensor<896x4864xbf16> -> tensor<128x896xbf16>
  return %0 : tensor<128x896xbf16>
}

// Short k, unknown numbers of rows and gates have other loops.
// CHECK-NOT: loop = swapped
func.func @short_k(%x: tensor<128x896xbf16>, %w: tensor<4864x896xbf16>) -> tensor<128x4864xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<128x896xbf16>, tensor<4864x896xbf16> -> tensor<128x4864xbf16>
  return %0 : tensor<128x4864xbf16>
}
func.func @dynamic(%x: tensor<?x7168xbf16>, %w: tensor<2112x7168xbf16>) -> tensor<?x2112xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x7168xbf16>, tensor<2112x7168xbf16> -> tensor<?x2112xbf16>
  return %0 : tensor<?x2112xbf16>
}
func.func @gate(%x: tensor<96x4096xbf16>, %w: tensor<6144x4096xbf16>) -> tensor<96x3072xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<96x4096xbf16>, tensor<6144x4096xbf16> -> tensor<96x6144xbf16>
  %1 = hk.gated_activation silu %0 : tensor<96x6144xbf16> -> tensor<96x3072xbf16>
  return %1 : tensor<96x3072xbf16>
}
