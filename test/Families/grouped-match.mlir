// What joins a product of groups, and what a launch of it looks like.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The weights' scales, the gate over alternating columns and the router's weight.
// CHECK-LABEL: func.func @first
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.dequantize
// CHECK-NOT: hk.fused
// CHECK: hk.grouped_matmul
// CHECK-NOT: hk.fused
// CHECK: hk.gated_activation
// CHECK-NOT: hk.fused
// CHECK: hk.mul
// CHECK-NOT: hk.fused
func.func @first(%x: tensor<?x64xbf16>, %w: tensor<8x64x64xi8>, %ws: tensor<8x64x1xf32>, %offsets: tensor<9xi32>, %order: tensor<?xi32> {hk.dims = ["P"]}, %r: tensor<?x1xf32> {hk.dims = ["P", "_"]}) -> tensor<?x32xbf16> {
  %d = hk.dequantize %w, %ws : tensor<8x64x64xi8>, tensor<8x64x1xf32> -> tensor<8x64x64xbf16>
  %y = hk.grouped_matmul %x, %d bounds %offsets order %order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x64xf32> -> tensor<?x32xf32>
  %o = hk.mul %g, %r : tensor<?x32xf32>, tensor<?x1xf32> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// Columns that alternate are rows of B that do: they must run along k.
// CHECK-LABEL: func.func @by_k
// CHECK: hk.grouped_matmul
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.gated_activation
// REMARK-DAG: hk.gated_activation whose columns alternate needs rows of B along k
func.func @by_k(%x: tensor<?x64xbf16>, %w: tensor<8x64x64xbf16>, %sizes: tensor<8xi32>) -> tensor<?x32xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<8xi32> -> tensor<?x64xbf16>
  %g = hk.gated_activation silu %y interleaved : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %g : tensor<?x32xbf16>
}

// The second product reads the first one's rows: another kernel.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: hk.fused {{ *}}gemm
func.func @two(%x: tensor<?x64xbf16>, %w: tensor<8x64x64xbf16>, %v: tensor<8x64x64xbf16>, %sizes: tensor<8xi32>) -> tensor<?x64xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<8xi32> -> tensor<?x64xbf16>
  %z = hk.grouped_matmul %y, %v lengths %sizes : tensor<?x64xbf16>, tensor<8x64x64xbf16> groups tensor<8xi32> -> tensor<?x64xbf16>
  return %z : tensor<?x64xbf16>
}
