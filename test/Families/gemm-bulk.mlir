// Products whose operands the copy engine of sm_90a brings: which loop, what it
// is told, and what refuses it.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --cache-dir=%t.cache -o %t.so | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=AMD

// AMD-NOT: loop = {{warp_specialised|skinny|register_cells}}
// EXPLAIN-DAG: (unaligned): {{.*}} warp_specialised: rows of the left operand begin at multiples of 2 bytes, not of 16
// EXPLAIN-DAG: (unsupported-shape): {{.*}} warp_specialised: the rows of the left operand do not run along k
// EXPLAIN-DAG: (unsupported-shape): {{.*}} warp_specialised: the rows of a right operand of 8 bits do not run along k
// EXPLAIN-DAG: (disabled): {{.*}} warp_specialised: the chip sums fp8 products of 128 of k with 14 bits, a strict product with those of f32; `accumulation tensor_core` allows it

// As many blocks as the chip has units, in clusters.
// CHECK-LABEL: hk.kernel @matmul gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 128, bn = 256, bk = 64, wm = 2, wn = 1, stages = 4, splitK = 1, loop = warp_specialised, cluster = 2> threads 384 lds 230592
// CHECK: hk.launch_dims if %true grid(%c132, %c1, %c1)
// TEXT: #include "kernels/gemm/sm90/warp_specialised.h"
// TEXT: using Product_v0 = WarpSpecialised<GemmProblem<
// TEXT: false, KScale::None, 128, 256, 64, 2, 1, 4, 1>, 2, true>;
// TEXT: HK_MAPPED_KERNEL({{.*}}, 6, 3, Product_v0::kThreads, Product_v0::Shared)
// TEXT: Product_v0::run(args, maps, block, lds, StoreRounded<bf16>{});
func.func @plain(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

// Tiles of 224 columns where those fill the last round.
// CHECK-LABEL: hk.kernel @matmul_{{[0-9]+}} gemm
// CHECK: #hk.gemm_tile<bm = 128, bn = 224, {{.*}}loop = warp_specialised, cluster = 2>
// TEXT: false, KScale::None, 128, 224, 64, 2, 1, 4, 1>, 2, true>;
// TEXT: Product_v0::run(args, maps, block, lds, StoreRounded<bf16>{});
func.func @last_round(%x: tensor<256x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<256x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<256x4096xbf16>, tensor<28672x4096xbf16> -> tensor<256x28672xbf16>
  return %0 : tensor<256x28672xbf16>
}

// Three hundred rows are five blocks of a cluster, which read B once.
// CHECK-LABEL: hk.kernel @matmul_{{[0-9]+}} gemm
// CHECK: #hk.gemm_tile<bm = 64, bn = 256, {{.*}}loop = warp_specialised, cluster = 5> threads 256
// CHECK: hk.launch_dims if %true grid(%c100, %c1, %c1)
// TEXT: false, KScale::None, 64, 256, 64, 1, 1, 5, 1>, 5, true>;
func.func @five(%x: tensor<300x3000xbf16>, %w: tensor<5000x3000xbf16>) -> tensor<300x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<300x3000xbf16>, tensor<5000x3000xbf16> -> tensor<300x5000xbf16>
  return %0 : tensor<300x5000xbf16>
}

// Few rows: k over the blocks of a cluster; then tiles of growing height.
// CHECK-LABEL: hk.kernel @matmul_{{[0-9]+}} gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, {{.*}}loop = skinny, cluster = 2>
// CHECK: hk.variant @v{{.*}} #hk.gemm_tile<bm = 64, {{.*}}loop = skinny
// CHECK: hk.variant @v{{.*}} #hk.gemm_tile<bm = 128, bn = 256, {{.*}}loop = warp_specialised, cluster = 2>
// TEXT: Skinny<GemmProblem<
// TEXT: WarpSpecialised<GemmProblem<
func.func @rows(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<?x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<4096x4096xbf16> -> tensor<?x4096xbf16>
  return %0 : tensor<?x4096xbf16>
}

// Rows of B of a tile fill the last round of blocks: 64 tiles of 80 on two blocks
// each, 256 of 112 on 132 units.
// CHECK-LABEL: hk.kernel @matmul_{{[0-9]+}} gemm
// CHECK: hk.variant @v{{.*}} #hk.gemm_tile<bm = 64, bn = 80, bk = 64, wm = 1, wn = 2, {{.*}}loop = skinny, cluster = 2> threads 288
func.func @eighty(%x: tensor<64x8192xbf16>, %w: tensor<5120x8192xbf16>) -> tensor<64x5120xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<64x8192xbf16>, tensor<5120x8192xbf16> -> tensor<64x5120xbf16>
  return %0 : tensor<64x5120xbf16>
}
// CHECK-LABEL: hk.kernel @matmul_gated_activation gemm
// CHECK: hk.variant @v{{.*}} #hk.gemm_tile<bm = 64, bn = 112, {{.*}}loop = skinny>
// CHECK: hk.launch_dims if %true grid(%c256, %c1, %c1)
func.func @hundred(%x: tensor<64x8192xbf16>, %w: tensor<28672x8192xbf16>) -> tensor<64x14336xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<64x8192xbf16>, tensor<28672x8192xbf16> -> tensor<64x28672xbf16>
  %1 = hk.gated_activation silu %0 : tensor<64x28672xbf16> -> tensor<64x14336xbf16>
  return %1 : tensor<64x14336xbf16>
}

// Vectors are read where the sums are, and the copy engine stores the result.
// CHECK-LABEL: hk.kernel @matmul_add gemm
// CHECK: loop = warp_specialised, cluster = 2>
// TEXT: struct Boxes {
// TEXT-NEXT: using BoxElement = bf16;
// TEXT: Vec<float, 2> two(
// TEXT: HK_MAPPED_KERNEL({{.*}}, 7, 3, Product_v0::kThreads, Product_v0::Shared)
// TEXT: Product_v0::run(args, maps, block, lds, Boxes{words});
func.func @bias(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %b: tensor<4096xf32>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %1 = hk.add %0, %b : tensor<4096x4096xbf16>, tensor<4096xf32>
  return %1 : tensor<4096x4096xbf16>
}

// Another matrix that lies like the result comes by the copy engine, too; any
// other is read by vectors of a row, and so are two.
// TEXT: struct Boxes {
// TEXT-NEXT: using BoxElement = bf16;
// TEXT-NEXT: using ReadElement = f16;
// TEXT: in.read
// TEXT: HK_MAPPED_KERNEL({{.*}}, 8, 4, Product_v0::kThreads, Product_v0::Shared)
// TEXT: Product_v0::run(args, maps, block, lds, Boxes{words});
func.func @residual_like(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %r: tensor<4096x4096xf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %1 = hk.add %0, %r : tensor<4096x4096xbf16>, tensor<4096x4096xf16>
  return %1 : tensor<4096x4096xbf16>
}
// TEXT: Product_v0::run(args, maps, block, lds, Epilogue{words});
func.func @residual(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %r: tensor<4096x4096xf32>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %1 = hk.add %0, %r : tensor<4096x4096xbf16>, tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xbf16>
}
// TEXT: Product_v0::run(args, maps, block, lds, Epilogue{words});
func.func @two_residuals(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %r: tensor<4096x4096xbf16>, %q: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %1 = hk.add %0, %r : tensor<4096x4096xbf16>
  %2 = hk.add %1, %q : tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}

// A right operand of 16 bits may have k in front: the instruction transposes it.
// CHECK-LABEL: hk.kernel @matmul_{{[0-9]+}} gemm
// CHECK: tensor<4096x8192xbf16>
// CHECK: loop = warp_specialised
func.func @right_columns(%x: tensor<4096x4096xbf16>, %w: tensor<4096x8192xbf16>) -> tensor<4096x8192xbf16> {
  %0 = hk.matmul %x, %w : tensor<4096x4096xbf16>, tensor<4096x8192xbf16> -> tensor<4096x8192xbf16>
  return %0 : tensor<4096x8192xbf16>
}

// What cannot be described by a map goes through registers; so do fp8 products,
// unless the module asks for fewer bits.
// CHECK-LABEL: hk.kernel @matmul_{{[0-9]+}} gemm
// CHECK-NOT: loop =
// CHECK: hk.launch @matmul
func.func @unaligned(%x: tensor<4096x4097xbf16>, %w: tensor<4096x4097xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4097xbf16>, tensor<4096x4097xbf16> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}
func.func @left_columns(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %0 = hk.matmul %x, %w transpose_a transpose_b : tensor<512x512xbf16>, tensor<512x512xbf16> -> tensor<512x512xbf16>
  return %0 : tensor<512x512xbf16>
}
func.func @bytes_in_columns(%x: tensor<512x512xi8>, %w: tensor<512x512xi8>) -> tensor<512x512xi32> {
  %0 = hk.matmul %x, %w : tensor<512x512xi8>, tensor<512x512xi8> -> tensor<512x512xi32>
  return %0 : tensor<512x512xi32>
}
func.func @fp8(%x: tensor<512x512xf8E4M3FN>, %w: tensor<512x512xf8E4M3FN>) -> tensor<512x512xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<512x512xf8E4M3FN>, tensor<512x512xf8E4M3FN> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
// The sums that the chip's instructions make, by leave of the graph.
// CHECK: accumulation tensor_core
// CHECK: loop = warp_specialised
func.func @fp8_tensor_core(%x: tensor<4096x4096xf8E4M3FN>, %w: tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

// So little that its rows are not padded (hk-pad-depth).
func.func @unaligned_small(%x: tensor<100x257xbf16>, %w: tensor<200x257xbf16>) -> tensor<100x200xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<100x257xbf16>, tensor<200x257xbf16> -> tensor<100x200xbf16>
  return %0 : tensor<100x200xbf16>
}
