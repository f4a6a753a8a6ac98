// Few rows times 4-bit codes on sm_90a: which loop and tile, by the number of rows.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT

// Every unit has a tile of 224 columns, all of k: no cluster. 64 rows are two tiles.
// CHECK-LABEL: hk.kernel @dequantize_matmul
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 16, bn = 224, bk = 4096, wm = 4, wn = 2, stages = 4, splitK = 1, loop = streamed_codes> threads 288 lds 184912
// CHECK: hk.variant @v1 #hk.gemm_tile<bm = 32, bn = 224, bk = 4096, wm = 4, wn = 2, stages = 4, splitK = 1, loop = streamed_codes> threads 288 lds 217680
// CHECK: hk.launch
// TEXT: StreamedCodes<GemmProblem<
// TEXT: args.b.decode =
// TEXT: SkinnyCodes<GemmProblem<
func.func @whole(%x: tensor<?x4096xbf16>, %w: tensor<28672x4096xui4>, %s: tensor<28672x32xbf16>, %z: tensor<28672x32xui4>) -> tensor<?x28672xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<28672x4096xui4>, tensor<28672x32xbf16>, tensor<28672x32xui4> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x4096xbf16>, tensor<28672x4096xbf16> -> tensor<?x28672xbf16>
  return %y : tensor<?x28672xbf16>
}

// Groups of 64 have more than a word for every 128 of k. Four blocks share a longer one.
// CHECK-LABEL: hk.kernel @dequantize_matmul_0
// CHECK: bm = 8, {{.*}}loop = skinny_codes, cluster = 4>
// CHECK: hk.launch @dequantize_matmul_0
func.func @shared(%x: tensor<8x14336xbf16>, %w: tensor<4096x14336xi4>, %s: tensor<4096x224xbf16>) -> tensor<8x4096xbf16> {
  %d = hk.dequantize %w, %s group 64 : tensor<4096x14336xi4>, tensor<4096x224xbf16> -> tensor<4096x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<8x14336xbf16>, tensor<4096x14336xbf16> -> tensor<8x4096xbf16>
  return %y : tensor<8x4096xbf16>
}

// 64 rows take two tiles of 32, which decode what blocks would decode 448 times.
// CHECK-LABEL: hk.kernel @dequantize_matmul_1
// CHECK: bm = 32, bn = 224, {{.*}}loop = streamed_codes
func.func @rows64(%x: tensor<64x4096xbf16>, %w: tensor<28672x4096xui4>, %s: tensor<28672x32xbf16>) -> tensor<64x28672xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<28672x4096xui4>, tensor<28672x32xbf16> -> tensor<28672x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<64x4096xbf16>, tensor<28672x4096xbf16> -> tensor<64x28672xbf16>
  return %y : tensor<64x28672xbf16>
}
