// RUN: hk-opt -hk-fuse %s | FileCheck %s

module attributes {hk.target = #hk.target<"host">} {

// A view between two members is cloned; its size comes from the region's own
// arguments.
// CHECK-LABEL: func @inside
// CHECK: %[[R:.*]] = hk.fused rowwise ins(%arg0, %arg1 : {{.*}})
// CHECK: ^bb0(%[[A:.*]]: tensor<?x64xbf16>, %[[B:.*]]: tensor<?x4x16xbf16>, %[[O:.*]]: tensor<?x4x16xbf16>):
// CHECK: %[[S:.*]] = hk.silu %[[A]]
// CHECK: %[[D:.*]] = tensor.dim %[[A]]
// CHECK: %[[E:.*]] = tensor.expand_shape %[[S]] {{.*}} output_shape [%[[D]], 4, 16]
// CHECK: %[[M:.*]] = hk.mul %[[E]], %[[B]]
// CHECK: hk.yield %[[M]]
// CHECK: return %[[R]]
func.func @inside(%x: tensor<?x64xbf16>, %y: tensor<?x4x16xbf16>) -> tensor<?x4x16xbf16> {
  %c0 = arith.constant 0 : index
  %0 = hk.silu %x : tensor<?x64xbf16>
  %d = tensor.dim %0, %c0 : tensor<?x64xbf16>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [%d, 4, 16] : tensor<?x64xbf16> into tensor<?x4x16xbf16>
  %2 = hk.mul %1, %y : tensor<?x4x16xbf16>
  return %2 : tensor<?x4x16xbf16>
}

// A view of another family's result that memory can hold stays outside.
// CHECK-LABEL: func @outside
// CHECK: %[[M:.*]] = hk.fused gemm
// CHECK: %[[S:.*]] = tensor.extract_slice %[[M]][0, 32] [8, 32] [1, 1]
// CHECK: hk.fused rowwise ins(%[[S]] : tensor<8x32xf32>)
// CHECK-NOT: extract_slice
// CHECK: return
func.func @outside(%x: tensor<8x16xf32>, %w: tensor<16x64xf32>) -> tensor<8x32xf32> {
  %0 = hk.matmul %x, %w : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
  %1 = tensor.extract_slice %0[0, 32] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  %2 = hk.softmax %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// Memory cannot hold a reshape across a slice: it goes into a kernel.
// CHECK-LABEL: func @across
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0
// CHECK: hk.fused rowwise ins(%[[S]] : tensor<8x4x8xf32>)
// CHECK: ^bb0(%[[A:.*]]: tensor<8x4x8xf32>,
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[A]]
// CHECK-NEXT: hk.silu %[[C]]
func.func @across(%x: tensor<8x4x16xf32>) -> tensor<8x32xf32> {
  %0 = tensor.extract_slice %x[0, 0, 0] [8, 4, 8] [1, 1, 1] : tensor<8x4x16xf32> to tensor<8x4x8xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<8x4x8xf32> into tensor<8x32xf32>
  %2 = hk.silu %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}

// A result that several kernels view is written once.
// CHECK-LABEL: func @shared
// CHECK: %[[M:.*]] = hk.fused gemm
// CHECK-DAG: tensor.expand_shape %[[M]]
// CHECK: return
func.func @shared(%x: tensor<8x16xf32>, %w: tensor<16x64xf32>, %v: tensor<4x16x8xf32>) -> (tensor<8x64xf32>, tensor<8x4x16xf32>) {
  %0 = hk.matmul %x, %w : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [8, 4, 16] : tensor<8x64xf32> into tensor<8x4x16xf32>
  %2 = hk.l2_norm %1 epsilon 1.0e-05 : tensor<8x4x16xf32>
  %3 = hk.softmax %0 : tensor<8x64xf32>
  return %3, %2 : tensor<8x64xf32>, tensor<8x4x16xf32>
}

// Rows and every second element of them: the rows are a view, the elements are read
// by the kernel.
// CHECK-LABEL: func @stepped
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0[1, 0] [4, 16] [2, 1]
// CHECK: hk.fused rowwise ins(%[[S]] : tensor<4x16xf32>)
// CHECK: ^bb0(%[[A:.*]]: tensor<4x16xf32>,
// CHECK-NEXT: %[[E:.*]] = tensor.extract_slice %[[A]][0, 1] [4, 8] [1, 2]
// CHECK-NEXT: hk.silu %[[E]]
func.func @stepped(%x: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tensor.extract_slice %x[1, 1] [4, 8] [2, 2] : tensor<8x16xf32> to tensor<4x8xf32>
  %1 = hk.silu %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
}
