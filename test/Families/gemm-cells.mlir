// Products of f32 on sm_90a, whose lanes sum cells of results: which tile, by
// the units that it keeps busy, and what has another loop.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --cache-dir=%t.cache -o %t.so | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=AMD

// AMD-NOT: loop =
// EXPLAIN-DAG: (unsupported-dtype): {{.*}} warp_specialised: f32 is multiplied without matrix instructions
// EXPLAIN-DAG: (unaligned): hk.matmul / copy the left operand straight into LDS: its rows begin at multiples of 8 bytes, not of 16
// EXPLAIN-DAG: (unsupported-shape): hk.matmul / copy the right operand straight into LDS: its rows do not run along k: it is transposed in registers; store it with k as the last dim

// Two tiles of 48 rows for every unit, where 128 rows would leave 12 units idle
// and give the others more.
// CHECK-LABEL: hk.kernel @matmul gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 48, bn = 128, bk = 32, wm = 1, wn = 4, stages = 4, splitK = 1, loop = register_cells> threads 128 lds 94208
// CHECK: hk.launch_dims if %true grid(%c24, %c11, %c1)
// TEXT: #include "kernels/gemm/sm90/register_cells.h"
// TEXT: using Product_v0 = RegisterCells<GemmProblem<
func.func @few_tiles(%x: tensor<517x768xf32>, %w: tensor<3072x768xf32>) -> tensor<517x3072xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<517x768xf32>, tensor<3072x768xf32> -> tensor<517x3072xf32>
  return %0 : tensor<517x3072xf32>
}

// CHECK-LABEL: hk.kernel @matmul_0 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 128, bn = 128, bk = 32, wm = 2, wn = 2, stages = 3, splitK = 1, loop = register_cells> threads 128 lds 101376
func.func @many_tiles(%x: tensor<8192x768xf32>, %w: tensor<3072x768xf32>) -> tensor<8192x3072xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8192x768xf32>, tensor<3072x768xf32> -> tensor<8192x3072xf32>
  return %0 : tensor<8192x3072xf32>
}

// Rows of 66 elements pass through registers.
// CHECK-LABEL: hk.kernel @matmul_1 gemm
// CHECK-NOT: loop =
// CHECK: hk.launch @matmul_1
func.func @unaligned(%x: tensor<512x66xf32>, %w: tensor<512x66xf32>) -> tensor<512x512xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<512x66xf32>, tensor<512x66xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// So does an operand whose rows do not run along k.
// CHECK-LABEL: hk.kernel @matmul_2 gemm
// CHECK-NOT: loop =
// CHECK: hk.launch @matmul_2
func.func @transposed(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = hk.matmul %x, %w : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
