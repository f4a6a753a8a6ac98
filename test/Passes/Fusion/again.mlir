// What is fused already stays as it is. Its results were not to be returned, so they are copied.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-fuse | FileCheck %s

// CHECK-COUNT-1: hk.fused gemm
// CHECK: hk.fused rowwise
// CHECK-NEXT: ^bb0
// CHECK-NEXT: hk.copy
// CHECK-NOT: hk.fused
func.func @f(%x: tensor<8x256xbf16>, %w: tensor<512x256xbf16>) -> tensor<8x512xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<8x256xbf16>, tensor<512x256xbf16> -> tensor<8x512xbf16>
  %z = hk.silu %y : tensor<8x512xbf16>
  return %z : tensor<8x512xbf16>
}
