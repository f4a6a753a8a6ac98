// RUN: hk-opt -hk-assign-target=target=gfx942 -hk-fuse -hk-outline -hk-select-tiles %s | FileCheck %s
// RUN: hk-opt -hk-assign-target=target=gfx942 -hk-fuse -hk-outline -hk-select-tiles -hk-select-tiles %s | FileCheck %s
// RUN: not hk-opt -hk-select-tiles %s 2>&1 | FileCheck %s --check-prefix=NONE

// One kernel for two launches; its last variant has no condition, and selecting
// again adds none.
// CHECK: hk.kernel @softmax
// CHECK: hk.variant @v0 #hk.row_tile
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: hk.launch_dims if %[[TRUE]]
// CHECK-NOT: hk.variant
// CHECK: hk.kernel @matmul gemm
// CHECK: hk.variant @v0 #hk.gemm_tile
// CHECK: func.func @f
// NONE: error: module has no target; run hk-assign-target
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.softmax %x : tensor<?x64xbf16>
  %1 = hk.matmul %0, %w : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %2 = hk.softmax %1 : tensor<?x64xbf16>
  return %2 : tensor<?x64xbf16>
}
