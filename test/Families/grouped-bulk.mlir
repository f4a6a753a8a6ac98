// Products of groups on sm_90a: which loop and tile, and what refuses the copy engine.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --cache-dir=%t.cache -o %t.so | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN-DAG: (unsupported-shape): {{.*}} warp_specialised: the rows of a right operand of 8 bits do not run along k
// EXPLAIN-DAG: (unsupported-shape): {{.*}} warp_specialised: groups of k begin anywhere
// EXPLAIN-DAG: (unsupported-shape): {{.*}} warp_specialised: the number of groups is not known, or 0
// EXPLAIN-DAG: (disabled): {{.*}} warp_specialised: the chip sums fp8 products of 128 of k with 14 bits, a strict product with those of f32; `accumulation tensor_core` allows it
// EXPLAIN-DAG: (unsupported-shape): {{.*}} warp_specialised: the columns of a pair alternate

// A row or two: rows of B come straight into registers, by eight waves in two blocks of a unit. Few
// rows to an expert: tiles of 64 rows; more: of 128, of which two neighbours along the columns
// share the rows of A. No tile shares B with a neighbour along the rows, whose expert may be another.
// CHECK-LABEL: hk.kernel @grouped_matmul gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 16, bk = 64, wm = 1, wn = 8, stages = 1, {{.*}}loop = skinny> threads 256 lds 11392
// CHECK: arith.minui %{{.*}}, %c264
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 64, {{.*}}, wm = 1, {{.*}}loop = warp_specialised> threads 256
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 128, bn = 256, {{.*}}loop = warp_specialised, cluster = 2> threads 384
// CHECK: hk.launch @grouped_matmul
// TEXT: #include "kernels/gemm/sm90/grouped_few.h"
// TEXT: using Product_v0 = GroupedSkinny<GemmProblem<
// TEXT: GroupProblem<GroupForm::Bounds, false, 1, 1>, true>;
// TEXT: GroupProblem<GroupForm::Bounds, false, 1, 1>, 2>;
// TEXT: HK_EARLY_KERNEL({{.*}}_v0, {{[0-9]+}}, Product_v0::kThreads, Product_v0::kBlocks, Product_v0::Shared)
func.func @bounds(%x: tensor<?x4096xbf16>, %w: tensor<8x4096x4096xbf16>, %bounds: tensor<9xi32>) -> tensor<?x4096xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x4096xbf16>, tensor<8x4096x4096xbf16> groups tensor<9xi32> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// Two blocks of 64 places of one expert fill a tile of 128 rows. Rows that an order names come to
// each block by themselves.
// CHECK-LABEL: hk.kernel @grouped_matmul_0 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 64, {{.*}}loop = warp_specialised> threads 256
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 128, {{.*}}loop = warp_specialised> threads 384
// CHECK: hk.launch @grouped_matmul_0
// TEXT: GroupedWarpSpecialised<GemmProblem<
// TEXT: GroupProblem<GroupForm::Blocks, true, 64, 2>, 1>;
func.func @sorted(%x: tensor<?x2048xbf16>, %w: tensor<128x768x2048xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x768xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block 64 top_k 2 : tensor<?x2048xbf16>, tensor<128x768x2048xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x768xbf16>
  return %y : tensor<?x768xbf16>
}

// Blocks of 128 do.
// CHECK-LABEL: hk.kernel @grouped_matmul_1 gemm
// CHECK: bm = 128, {{.*}}loop = warp_specialised> threads 384
func.func @sorted_wide(%x: tensor<?x2048xbf16>, %w: tensor<128x768x2048xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x768xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block 128 top_k 2 : tensor<?x2048xbf16>, tensor<128x768x2048xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x768xbf16>
  return %y : tensor<?x768xbf16>
}

// Rows of a 16-bit matrix may run along its columns.
// CHECK-LABEL: hk.kernel @grouped_matmul_2 gemm
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 128, {{.*}}loop = warp_specialised> threads 384
// CHECK: hk.launch @grouped_matmul_2
func.func @columns(%x: tensor<?x4096xbf16>, %w: tensor<8x4096x4096xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x4096xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order block 64 : tensor<?x4096xbf16>, tensor<8x4096x4096xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// fp8 with scales along k, and halves of a pair, each with one scale of its columns. One or two
// rows in all come straight into registers.
// CHECK-LABEL: hk.kernel @grouped_matmul_gated_activation gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 16, {{.*}}loop = skinny>
// CHECK: hk.variant @v2 #hk.gemm_tile<bm = 64, bn = 128, bk = 128, {{.*}}loop = warp_specialised> threads 256
// CHECK: hk.variant @v3 #hk.gemm_tile<bm = 160, bn = 128, bk = 128, wm = 1, wn = 2, {{.*}}loop = warp_specialised> threads 384
// CHECK: hk.variant @v4 #hk.gemm_tile<bm = 128, bn = 128, bk = 128, {{.*}}loop = warp_specialised> threads 384
// CHECK: hk.launch @grouped_matmul_gated_activation
// TEXT: true, KScale::Both, 64, 128, 128
func.func @fp8_gate(%x: tensor<?x7168xf8E4M3FN>, %s: tensor<?x56xf32>, %w: tensor<256x4096x7168xf8E4M3FN>, %t: tensor<256x32x56xf32>, %bounds: tensor<257xi32>, %order: tensor<?xi32>) -> tensor<?x2048xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 8 accumulation tensor_core : tensor<?x7168xf8E4M3FN>, tensor<256x4096x7168xf8E4M3FN> scales (tensor<?x56xf32>, tensor<256x32x56xf32>) groups tensor<257xi32> order tensor<?xi32> -> tensor<?x4096xbf16>
  %g = hk.gated_activation silu %y : tensor<?x4096xbf16> -> tensor<?x2048xbf16>
  return %g : tensor<?x2048xbf16>
}

// 4-bit codes of few rows are multiplied by 12 waves, beside which one asks for them and one stores, also where the columns
// of a pair alternate.
// CHECK-LABEL: hk.kernel @grouped_matmul_gated_activation_3 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 32, {{.*}}loop = skinny_codes> threads 480
// CHECK: hk.launch @grouped_matmul_gated_activation_3
// TEXT: GroupedSkinnyCodes<GemmProblem<
func.func @mxfp4_gate(%x: tensor<?x2880xbf16>, %w: tensor<128x5760x2880xf4E2M1FN>, %s: tensor<128x5760x90xf8E8M0FNU>, %bounds: tensor<129xi32>, %order: tensor<?xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds order %order transpose_b top_k 4 : tensor<?x2880xbf16>, tensor<128x5760x2880xf4E2M1FN> scales (none, tensor<128x5760x90xf8E8M0FNU>) groups tensor<129xi32> order tensor<?xi32> -> tensor<?x5760xbf16>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x5760xbf16> -> tensor<?x2880xbf16>
  return %g : tensor<?x2880xbf16>
}

// What refuses it.
// CHECK-LABEL: hk.kernel @grouped_matmul_4 gemm
// CHECK-NOT: loop =
// CHECK: hk.launch @grouped_matmul_4
func.func @fp8_columns(%x: tensor<?x256xf8E4M3FN>, %w: tensor<8x256x256xf8E4M3FN>, %sizes: tensor<8xi32>) -> tensor<?x256xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes accumulation tensor_core : tensor<?x256xf8E4M3FN>, tensor<8x256x256xf8E4M3FN> groups tensor<8xi32> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @along_k(%x: tensor<?x256xbf16>, %z: tensor<?x512xbf16>, %sizes: tensor<8xi32>) -> tensor<8x256x512xbf16> {
  %y = hk.grouped_matmul %x, %z lengths %sizes along_k : tensor<?x256xbf16>, tensor<?x512xbf16> groups tensor<8xi32> -> tensor<8x256x512xbf16>
  return %y : tensor<8x256x512xbf16>
}
func.func @some_groups(%x: tensor<?x256xbf16>, %w: tensor<?x256x256xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x256xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block 64 : tensor<?x256xbf16>, tensor<?x256x256xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @scales(%x: tensor<?x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<8x256x256xf8E4M3FN>, %ws: tensor<8x2x2xf32>, %sizes: tensor<8xi32>) -> tensor<?x256xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) lengths %sizes transpose_b : tensor<?x256xf8E4M3FN>, tensor<8x256x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<8x2x2xf32>) groups tensor<8xi32> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @alternate(%x: tensor<?x256xbf16>, %w: tensor<8x256x256xbf16>, %sizes: tensor<8xi32>) -> tensor<?x128xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes transpose_b : tensor<?x256xbf16>, tensor<8x256x256xbf16> groups tensor<8xi32> -> tensor<?x256xbf16>
  %g = hk.gated_activation silu %y interleaved : tensor<?x256xbf16> -> tensor<?x128xbf16>
  return %g : tensor<?x128xbf16>
}

// One token of four experts has 240 tiles of 48 rows of B, two have as many of 96, for the 264 places of
// blocks that take stages. Of groups by lengths it fills the units in tiles of 128 columns; in tiles of 64, of which a block has two, it would wait for the
// end of each.
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[128, 2880, 2880]>
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 64, bn = 128, bk = 64, {{.*}}loop = warp_specialised> threads 256
func.func @lengths_of_four(%x: tensor<?x2880xbf16>, %w: tensor<128x2880x2880xbf16>, %sizes: tensor<128xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes transpose_b : tensor<?x2880xbf16>, tensor<128x2880x2880xbf16> groups tensor<128xi32> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[128, 2880, 2880]>
// CHECK: hk.variant @v2 #hk.gemm_tile<bm = 8, bn = 48, bk = 64, wm = 3, wn = 1, {{.*}}loop = skinny> threads 128
// CHECK: arith.minui %{{.*}}, %c264
// CHECK: hk.variant @v3 #hk.gemm_tile<bm = 8, bn = 96, bk = 64, wm = 3, wn = 1, {{.*}}loop = skinny> threads 128
func.func @token_of_four(%x: tensor<?x2880xbf16>, %w: tensor<128x2880x2880xbf16>, %bounds: tensor<129xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x2880xbf16>, tensor<128x2880x2880xbf16> groups tensor<129xi32> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}

// Of one expert there are too few of those, and of 16 rows: tiles of 32, of which a wave draws twice as
// much.
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[16, 5120, 8192]>
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 32, bk = 64, wm = 1, wn = 8, {{.*}}loop = skinny> threads 256
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 64, bn = 128, bk = 64, {{.*}}loop = warp_specialised> threads 256
func.func @token_of_one(%x: tensor<?x8192xbf16>, %w: tensor<16x5120x8192xbf16>, %bounds: tensor<17xi32>) -> tensor<?x5120xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x8192xbf16>, tensor<16x5120x8192xbf16> groups tensor<17xi32> -> tensor<?x5120xbf16>
  return %y : tensor<?x5120xbf16>
}

// fp8 with scales of rows, which an order names, so no cluster shares them: wide swapped tiles where a group
// has 33 to 128.
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[256, 2048, 7168]>
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 160, bn = 256, bk = 128, wm = 1, wn = 2, {{.*}}loop = warp_specialised> threads 384
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 128, bn = 128, bk = 128, {{.*}}loop = warp_specialised> threads 384
func.func @fp8_named(%x: tensor<?x7168xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<256x2048x7168xf8E4M3FN>, %t: tensor<256x2048x1xf32>, %bounds: tensor<257xi32>, %order: tensor<?xi32>) -> tensor<?x2048xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 8 accumulation tensor_core : tensor<?x7168xf8E4M3FN>, tensor<256x2048x7168xf8E4M3FN> scales (tensor<?x1xf32>, tensor<256x2048x1xf32>) groups tensor<257xi32> order tensor<?xi32> -> tensor<?x2048xbf16>
  return %y : tensor<?x2048xbf16>
}
