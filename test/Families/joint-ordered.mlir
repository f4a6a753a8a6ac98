// Kernels that each need what the one in front makes share a launch, in which later blocks wait
// for earlier ones, where that takes less than a launch and pays for zeroing their counters.
// RUN: hk-opt %s --hk-graph="target=gfx942 split-k=1" | FileCheck %s
// RUN: hk-opt %s --hk-graph="target=gfx942 split-k=1 order=false" | FileCheck %s --check-prefix=UNASKED
// RUN: hk-opt %s --hk-graph="target=host split-k=1" | FileCheck %s --check-prefix=HOST
// RUN: hk-opt %s --hk-graph="target=gfx942 split-k=1" --remarks-filter=hk-order-launches --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hk-compile %s --emit=mlir --target=gfx942 --split-k=1 --no-order-launches -o - | FileCheck %s --check-prefix=UNASKED
// RUN: hk-compile %s --emit=kernels --target=gfx942 --split-k=1 -o - | FileCheck %s --check-prefix=EMIT

// The joint kernel has an out more than its problems, in which blocks are counted.
// CHECK: hk.kernel @[[JOINT:matmul_[0-9]+_then_topk_then_sort_by_key]] {{ *}}joint inputs 4 shapes {{.*}}#hk.shape<[2]>]
// CHECK: hk.kernel @[[JOINT]]_0 {{ *}}gemm
// CHECK-NOT: hk.waits
// CHECK: hk.kernel @[[JOINT]]_1 {{ *}}rowwise
// CHECK-SAME: attributes {hk.waits}
// CHECK: hk.kernel @[[JOINT]]_2 {{ *}}routing
// CHECK-SAME: attributes {hk.waits}
// CHECK: hk.variant @v0 #hk.joint_tile<[#hk.gemm_tile<{{.*}}>, #hk.row_tile<{{.*}}>, #hk.routing_tile<{{.*}}>]>

// CHECK-LABEL: func.func @route(
// CHECK: hk.launch @zero_6_words outs(%[[WORDS:[a-z_0-9]+]] : memref<6xi32>)
// CHECK-COUNT-2: hk.launch @{{.*}}_then_softmax
// CHECK: hk.launch @[[JOINT]]
// CHECK-SAME: reads [false, {{.*}}, true]
// CHECK-NOT: hk.launch @
// UNASKED-NOT: _then_
// HOST-LABEL: func.func @route(
// HOST-COUNT-7: hk.launch @
// EMIT: #include "kernels/device/problems.h"
// EMIT: const Global<u32> order = global<u32>(words[
// EMIT-NEXT: block = numberedBlock(order, block, lds.as<OrderLds>());
// EMIT: const auto part0 = problem(
// EMIT: problem0::
// EMIT: const auto part1 = problem<true>(
// EMIT: problem1::
// EMIT: const auto part2 = problem<true>(
// EMIT: problem2::
// EMIT: runOrdered(order, 0, block, part0, part1, part2);
func.func @route(%x: tensor<?x256xbf16>, %w: tensor<64x256xbf16>, %s: tensor<256x256xbf16>) -> (tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>) {
  %0 = hk.matmul %x, %s transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %1 = hk.softmax %0 : tensor<?x256xbf16>
  %2 = hk.matmul %1, %s transpose_b : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %3 = hk.softmax %2 : tensor<?x256xbf16>
  %l = hk.matmul %3, %w transpose_b : tensor<?x256xbf16>, tensor<64x256xbf16> -> tensor<?x64xf32>
  %v, %i = hk.topk %l : tensor<?x64xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %e = tensor.collapse_shape %i [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %o, %p = hk.sort_by_key %e bins 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  return %v, %o, %p : tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>
}

// One launch less would cost one more.
// REMARK: NotOrdered | Category:hk-order-launches | Reason="costlier-fused: all waits of the function save {{[0-9.]+}} us and the launch that zeroes their counters takes 5.0"
// CHECK-LABEL: func.func @only_one(
// CHECK-COUNT-2: hk.launch @
// CHECK-NOT: hk.launch @
func.func @only_one(%x: tensor<?x256xbf16>, %w: tensor<64x256xbf16>) -> tensor<?x64xbf16> {
  %l = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<64x256xbf16> -> tensor<?x64xbf16>
  %n = hk.softmax %l : tensor<?x64xbf16>
  return %n : tensor<?x64xbf16>
}

// Blocks of a product have so much LDS that few of those that normalise would fit beside each
// other.
// REMARK: NotOrdered | Category:hk-order-launches | Reason="costlier-fused: one launch of blocks of
// CHECK-LABEL: func.func @many_rows(
// CHECK-NOT: _then_
// CHECK: return
func.func @many_rows(%x: tensor<4096x8192xbf16>, %w: tensor<8192x8192xbf16>, %g: tensor<8192xbf16>) -> tensor<4096x8192xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x8192xbf16>, tensor<8192x8192xbf16> -> tensor<4096x8192xbf16>
  %1 = hk.rms_norm %0, %g epsilon 1.0e-05 : tensor<4096x8192xbf16>, tensor<8192xbf16>
  %2 = hk.matmul %1, %w transpose_b : tensor<4096x8192xbf16>, tensor<8192x8192xbf16> -> tensor<4096x8192xbf16>
  %3 = hk.rms_norm %2, %g epsilon 1.0e-05 : tensor<4096x8192xbf16>, tensor<8192xbf16>
  return %3 : tensor<4096x8192xbf16>
}

// Products do not wait: neither reads its operands through what another block has just written.
// CHECK-LABEL: func.func @products(
// CHECK-COUNT-3: hk.launch @
func.func @products(%x: tensor<8x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<8x256xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8x256xbf16>, tensor<256x256xbf16> -> tensor<8x256xbf16>
  %1 = hk.matmul %0, %w transpose_b : tensor<8x256xbf16>, tensor<256x256xbf16> -> tensor<8x256xbf16>
  %2 = hk.matmul %1, %w transpose_b : tensor<8x256xbf16>, tensor<256x256xbf16> -> tensor<8x256xbf16>
  return %2 : tensor<8x256xbf16>
}
