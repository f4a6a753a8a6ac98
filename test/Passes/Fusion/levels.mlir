// RUN: hk-opt -hk-fuse %s | FileCheck %s
// RUN: hk-opt -hk-fuse=disable=true %s | FileCheck %s --check-prefix=APART
// RUN: hk-opt -hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --allow-empty

module attributes {hk.target = #hk.target<"host">} {

// The concat cannot join the silu: the product that it needs too comes between.
// CHECK-LABEL: func @fork
// CHECK: hk.fused rowwise
// CHECK: hk.silu
// CHECK: hk.fused gemm
// CHECK: hk.fused rowwise
// CHECK: hk.concat
// That another kernel runs between the two is no news.
// REMARK-NOT: would-cycle
func.func @fork(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.silu %x : tensor<?x64xbf16>
  %1 = hk.matmul %0, %w : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %2 = hk.concat 0 (%0, %1) : tensor<?x64xbf16>, tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %2 : tensor<?x64xbf16>
}

// Two branches of one input become one kernel, with their join.
// CHECK-LABEL: func @diamond
// CHECK-COUNT-1: hk.fused
// CHECK: hk.rms_norm
// CHECK: hk.silu
// CHECK: hk.mul
// CHECK-NOT: hk.fused
// CHECK: return
// APART-LABEL: func @diamond
// APART-COUNT-3: hk.fused rowwise
// APART: return
func.func @diamond(%x: tensor<?x64xf32>, %g: tensor<64xf32>) -> tensor<?x64xf32> {
  %0 = hk.rms_norm %x, %g epsilon 1.0e-05 : tensor<?x64xf32>, tensor<64xf32>
  %1 = hk.silu %x : tensor<?x64xf32>
  %2 = hk.mul %0, %1 : tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// Branches that share nothing are joined by the op that needs both: the earlier
// one is lifted to the level of the later.
// CHECK-LABEL: func @lift
// CHECK: hk.fused gemm
// CHECK: hk.fused rowwise
// CHECK-DAG: hk.softmax
// CHECK-DAG: hk.exp
// CHECK: hk.sub
// CHECK-NOT: hk.fused
// CHECK: return
func.func @lift(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %0 = hk.exp %y : tensor<?x64xf32>
  %1 = hk.matmul %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %2 = hk.softmax %1 : tensor<?x64xf32>
  %3 = hk.sub %0, %2 : tensor<?x64xf32>
  return %3 : tensor<?x64xf32>
}
}
