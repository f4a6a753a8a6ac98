// What a product computes where it reads an operand, and what it does not.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func.func @widened_weights
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.dequantize
// CHECK: hk.matmul
func.func @widened_weights(%x: tensor<?x256xbf16>, %w: tensor<512x256xi8>, %s: tensor<512x4xf32>) -> tensor<?x512xbf16> {
  %0 = hk.dequantize %w, %s {group_size = 64 : i64} : tensor<512x256xi8>, tensor<512x4xf32> -> tensor<512x256xbf16>
  %1 = hk.matmul %x, %0 {transpose_b} : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// Both results of the quantisation are read by the product.
// CHECK-LABEL: func.func @quantised_rows
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.quantize per_group
// CHECK: hk.matmul
func.func @quantised_rows(%x: tensor<?x256xbf16>, %w: tensor<512x256xf8E4M3FNUZ>, %ws: tensor<1xf32>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize per_group %x {group_size = 128 : i64} : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FNUZ>, tensor<?x2xf32>
  %1 = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xf8E4M3FNUZ>, tensor<512x256xf8E4M3FNUZ> scales (tensor<?x2xf32>, tensor<1xf32>) -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @quantised_and_returned
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
// REMARK: hk.quantize_mx is needed elsewhere as well
func.func @quantised_and_returned(%x: tensor<?x256xbf16>, %w: tensor<512x256xf4E2M1FN>, %ws: tensor<512x8xf8E8M0FNU>) -> (tensor<?x512xbf16>, tensor<?x256xf4E2M1FN>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x256xbf16> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  %1 = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xf4E2M1FN>, tensor<512x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  return %1, %q : tensor<?x512xbf16>, tensor<?x256xf4E2M1FN>
}

// A scale per token needs the whole row.
// CHECK-LABEL: func.func @quantised_per_token
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
// REMARK: hk.quantize has other groups than the product's scales along k
func.func @quantised_per_token(%x: tensor<?x256xbf16>, %w: tensor<512x256xi8>, %ws: tensor<1xf32>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize per_token %x : tensor<?x256xbf16> -> tensor<?x256xi8>, tensor<?x1xf32>
  %1 = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xi8>, tensor<512x256xi8> scales (tensor<?x1xf32>, tensor<1xf32>) -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @quantised_columns
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
// REMARK: hk.quantize_mx is taken in along k of the rows of a left operand only
func.func @quantised_columns(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize_mx even %w : tensor<512x256xbf16> -> tensor<512x256xf4E2M1FN>, tensor<512x8xf8E8M0FNU>
  %1 = hk.matmul %x, %q scales (none, %s) {transpose_b} : tensor<?x256xbf16>, tensor<512x256xf4E2M1FN> scales (none, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @a_square
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
// REMARK: hk.dequantize makes no operand, or both
func.func @a_square(%w: tensor<64x64xi8>, %s: tensor<64x1xf32>) -> tensor<64x64xbf16> {
  %0 = hk.dequantize %w, %s : tensor<64x64xi8>, tensor<64x1xf32> -> tensor<64x64xbf16>
  %1 = hk.matmul %0, %0 {transpose_b} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %1 : tensor<64x64xbf16>
}
