// The blocks of a launch have one number of threads. Few rows take another one than many where
// no number is quick for both; each variant says for which sizes.
// RUN: hk-opt %s --hk-graph="target=gfx942 split-k=1" | FileCheck %s

// CHECK: hk.kernel @[[JOINT:.*]] joint inputs 4 shapes
// CHECK-NOT: threads
// CHECK-SAME: {
// CHECK: hk.variant @v0 #hk.joint_tile<{{.*}}> threads 128
// CHECK: %[[MOST:.*]] = arith.constant 512 : index
// CHECK: arith.cmpi ule, %{{.*}}, %[[MOST]]
// CHECK: hk.launch_dims if
// CHECK: hk.variant @v1 #hk.joint_tile<{{.*}}> threads 512
// CHECK-LABEL: func.func @router(
// CHECK: hk.launch @[[JOINT]]
// CHECK-NOT: hk.launch @
func.func @router(%x: tensor<?x1024xbf16>, %r: tensor<32x1024xbf16>, %w: tensor<2048x1024xbf16>) -> (tensor<?x32xf32>, tensor<?x1024xbf16>) {
  %l = hk.matmul %x, %r transpose_b : tensor<?x1024xbf16>, tensor<32x1024xbf16> -> tensor<?x32xf32>
  %h = hk.matmul %x, %w transpose_b : tensor<?x1024xbf16>, tensor<2048x1024xbf16> -> tensor<?x2048xbf16>
  %g = hk.gated_activation silu %h : tensor<?x2048xbf16> -> tensor<?x1024xbf16>
  return %l, %g : tensor<?x32xf32>, tensor<?x1024xbf16>
}
