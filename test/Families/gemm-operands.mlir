// What a product computes where it reads an operand, and what it does not.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse | FileCheck %s

// CHECK-LABEL: func.func @widened_weights
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.dequantize
// CHECK: hk.matmul
func.func @widened_weights(%x: tensor<?x256xbf16>, %w: tensor<512x256xi8>, %s: tensor<512x4xf32>) -> tensor<?x512xbf16> {
  %0 = hk.dequantize %w, %s group 64 : tensor<512x256xi8>, tensor<512x4xf32> -> tensor<512x256xbf16>
  %1 = hk.matmul %x, %0 transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// Integers of 4 bits with zero points are decoded there, too.
// CHECK-LABEL: func.func @int4_weights
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.dequantize
// CHECK: hk.matmul
func.func @int4_weights(%x: tensor<?x256xbf16>, %w: tensor<512x256xui4>, %s: tensor<512x4xf16>, %z: tensor<512x4xui4>) -> tensor<?x512xbf16> {
  %0 = hk.dequantize %w, %s, %z group 64 : tensor<512x256xui4>, tensor<512x4xf16>, tensor<512x4xui4> -> tensor<512x256xbf16>
  %1 = hk.matmul %x, %0 transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// A constant zero point is a part of the decoder, a constant scale is not.
// CHECK-LABEL: func.func @constants
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.constant 8
// CHECK: hk.dequantize
// CHECK: hk.matmul
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.dequantize
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.dequantize
// CHECK: hk.matmul
func.func @constants(%x: tensor<?x256xbf16>, %w: tensor<512x256xui4>, %s: tensor<512x4xf16>, %q: tensor<512x256xi8>) -> (tensor<?x512xbf16>, tensor<?x512xbf16>) {
  %z = hk.constant 8 : tensor<1xi8>
  %0 = hk.dequantize %w, %s, %z group 64 : tensor<512x256xui4>, tensor<512x4xf16>, tensor<1xi8> -> tensor<512x256xbf16>
  %1 = hk.matmul %x, %0 transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %t = hk.constant 0.5 : tensor<1xf32>
  %2 = hk.dequantize %q, %t : tensor<512x256xi8>, tensor<1xf32> -> tensor<512x256xbf16>
  %3 = hk.matmul %x, %2 transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  return %1, %3 : tensor<?x512xbf16>, tensor<?x512xbf16>
}

// Halves of 3 columns would part a byte.
// CHECK-LABEL: func.func @int4_gate
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.gated_activation
func.func @int4_gate(%x: tensor<?x64xbf16>, %w: tensor<64x6xui4>, %s: tensor<1xf32>) -> tensor<?x3xbf16> {
  %0 = hk.dequantize %w, %s : tensor<64x6xui4>, tensor<1xf32> -> tensor<64x6xbf16>
  %1 = hk.matmul %x, %0 : tensor<?x64xbf16>, tensor<64x6xbf16> -> tensor<?x6xbf16>
  %2 = hk.gated_activation silu %1 : tensor<?x6xbf16> -> tensor<?x3xbf16>
  return %2 : tensor<?x3xbf16>
}

// Both results of the quantisation are read by the product.
// CHECK-LABEL: func.func @quantised_rows
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.quantize per_group
// CHECK: hk.matmul
func.func @quantised_rows(%x: tensor<?x256xbf16>, %w: tensor<512x256xf8E4M3FNUZ>, %ws: tensor<1xf32>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize per_group %x group 128 : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FNUZ>, tensor<?x2xf32>
  %1 = hk.matmul %q, %w scales (%s, %ws) transpose_b : tensor<?x256xf8E4M3FNUZ>, tensor<512x256xf8E4M3FNUZ> scales (tensor<?x2xf32>, tensor<1xf32>) -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @quantised_and_returned
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
func.func @quantised_and_returned(%x: tensor<?x256xbf16>, %w: tensor<512x256xf4E2M1FN>, %ws: tensor<512x8xf8E8M0FNU>) -> (tensor<?x512xbf16>, tensor<?x256xf4E2M1FN>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x256xbf16> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  %1 = hk.matmul %q, %w scales (%s, %ws) transpose_b : tensor<?x256xf4E2M1FN>, tensor<512x256xf4E2M1FN> scales (tensor<?x8xf8E8M0FNU>, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  return %1, %q : tensor<?x512xbf16>, tensor<?x256xf4E2M1FN>
}

// A scale per token needs the whole row.
// CHECK-LABEL: func.func @quantised_per_token
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
func.func @quantised_per_token(%x: tensor<?x256xbf16>, %w: tensor<512x256xi8>, %ws: tensor<1xf32>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize per_token %x : tensor<?x256xbf16> -> tensor<?x256xi8>, tensor<?x1xf32>
  %1 = hk.matmul %q, %w scales (%s, %ws) transpose_b : tensor<?x256xi8>, tensor<512x256xi8> scales (tensor<?x1xf32>, tensor<1xf32>) -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @quantised_columns
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
func.func @quantised_columns(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize_mx even %w : tensor<512x256xbf16> -> tensor<512x256xf4E2M1FN>, tensor<512x8xf8E8M0FNU>
  %1 = hk.matmul %x, %q scales (none, %s) transpose_b : tensor<?x256xbf16>, tensor<512x256xf4E2M1FN> scales (none, tensor<512x8xf8E8M0FNU>) -> tensor<?x512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @a_square
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}gemm
func.func @a_square(%w: tensor<64x64xi8>, %s: tensor<64x1xf32>) -> tensor<64x64xbf16> {
  %0 = hk.dequantize %w, %s : tensor<64x64xi8>, tensor<64x1xf32> -> tensor<64x64xbf16>
  %1 = hk.matmul %0, %0 transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %1 : tensor<64x64xbf16>
}
