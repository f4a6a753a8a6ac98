// What joins a product, and why the rest does not.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-fuse | FileCheck %s --check-prefix=TINY

// Bias over columns, activation, residual, cast: one kernel.
// CHECK-LABEL: func.func @pointwise
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.matmul
// CHECK-NOT: hk.fused
// CHECK: hk.cast
// CHECK-NOT: hk.fused
func.func @pointwise(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>, %b: tensor<512xbf16>, %r: tensor<?x512xbf16>) -> tensor<?x512xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %1 = hk.add %0, %b : tensor<?x512xbf16>, tensor<512xbf16>
  %2 = hk.silu %1 : tensor<?x512xbf16>
  %3 = hk.add %2, %r : tensor<?x512xbf16>
  %4 = hk.cast %3 : tensor<?x512xbf16> -> tensor<?x512xf32>
  return %4 : tensor<?x512xf32>
}

// The gate, and a quantisation in groups of 128 behind it. On tiny no tile has
// 128 columns.
// CHECK-LABEL: func.func @gate
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.gated_activation
// CHECK-NOT: hk.fused
// CHECK: hk.quantize
// CHECK-NOT: hk.fused
// TINY-LABEL: func.func @gate
// TINY: hk.fused {{ *}}gemm
// TINY: hk.gated_activation
// TINY: hk.fused {{ *}}rowwise
// TINY: hk.quantize
func.func @gate(%x: tensor<?x256xbf16>, %w: tensor<1024x256xbf16>) -> (tensor<?x512xf8E4M3FNUZ>, tensor<?x4xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<1024x256xbf16> -> tensor<?x1024xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x1024xbf16> -> tensor<?x512xbf16>
  %q, %s = hk.quantize per_group %1 group 128 : tensor<?x512xbf16> -> tensor<?x512xf8E4M3FNUZ>, tensor<?x4xf32>
  return %q, %s : tensor<?x512xf8E4M3FNUZ>, tensor<?x4xf32>
}

// CHECK-LABEL: func.func @norm
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.fused {{ *}}rowwise
// REMARK: needs-whole-row: hk.rms_norm needs other columns of its row, which a product's epilogue has for quantisations only
func.func @norm(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>, %g: tensor<512xbf16>) -> tensor<?x512xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %1 = hk.rms_norm %0, %g epsilon 1.0e-05 : tensor<?x512xbf16>, tensor<512xbf16>
  return %1 : tensor<?x512xbf16>
}

// CHECK-LABEL: func.func @escapes
// REMARK: result-escapes: hk.gated_activation halves columns that are also used elsewhere
func.func @escapes(%x: tensor<?x256xbf16>, %w: tensor<1024x256xbf16>) -> (tensor<?x512xbf16>, tensor<?x1024xbf16>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<1024x256xbf16> -> tensor<?x1024xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x1024xbf16> -> tensor<?x512xbf16>
  return %1, %0 : tensor<?x512xbf16>, tensor<?x1024xbf16>
}

// CHECK-LABEL: func.func @groups_of_16
// REMARK: unsupported-shape: hk.quantize has groups of 16 columns; products quantise groups of 32, 64 and 128
func.func @groups_of_16(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>) -> (tensor<?x512xi8>, tensor<?x32xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %q, %s = hk.quantize per_group %0 group 16 : tensor<?x512xbf16> -> tensor<?x512xi8>, tensor<?x32xf32>
  return %q, %s : tensor<?x512xi8>, tensor<?x32xf32>
}

// CHECK-LABEL: func.func @microscaling
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.quantize_mx
// CHECK-NOT: hk.fused
func.func @microscaling(%x: tensor<?x256xbf16>, %w: tensor<512x256xbf16>) -> (tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %q, %s = hk.quantize_mx even %0 : tensor<?x512xbf16> -> tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>
  return %q, %s : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>
}

// Halves of whole blocks of scales, or not.
// CHECK-LABEL: func.func @gate_of_blocks
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.gated_activation
// CHECK-NOT: hk.fused
func.func @gate_of_blocks(%x: tensor<?x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<512x256xf8E4M3FN>, %ws: tensor<4x2xf32>) -> tensor<?x256xbf16> {
  %0 = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<4x2xf32>) -> tensor<?x512xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x512xbf16> -> tensor<?x256xbf16>
  return %1 : tensor<?x256xbf16>
}

// CHECK-LABEL: func.func @gate_of_parts_of_blocks
// REMARK: unsupported-shape: hk.gated_activation of a product with scales along k needs halves of whole blocks of 128 columns
func.func @gate_of_parts_of_blocks(%x: tensor<?x256xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<384x256xf8E4M3FN>, %ws: tensor<3x2xf32>) -> tensor<?x192xbf16> {
  %0 = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x256xf8E4M3FN>, tensor<384x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<3x2xf32>) -> tensor<?x384xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x384xbf16> -> tensor<?x192xbf16>
  return %1 : tensor<?x192xbf16>
}

// Pairs of neighbours are in one vector of columns, those of halves are not.
// CHECK-LABEL: func.func @rotated
// CHECK: hk.fused {{ *}}gemm
// CHECK-NOT: hk.fused
// CHECK: hk.rope
// CHECK-NOT: hk.fused
// CHECK: hk.transpose
// CHECK-NOT: hk.fused
// CHECK-LABEL: func.func @rotated_halves
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.fused {{ *}}rowwise
// REMARK: not-an-epilogue: hk.rope pairs columns that are not neighbours behind a slice of a product
// CHECK-LABEL: func.func @rotated_odd
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.fused {{ *}}rowwise
// REMARK: unsupported-shape: hk.rope has pairs that a vector of the product's columns would cut
func.func @rotated(%x: tensor<?x64xbf16>, %w: tensor<96x64xbf16>, %t: tensor<48x4xf32>, %pos: tensor<?xi32>) -> tensor<4x?x8xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 4, 24] : tensor<?x96xbf16> into tensor<?x4x24xbf16>
  %s = tensor.extract_slice %h[0, 0, 16] [%n, 4, 8] [1, 1, 1] : tensor<?x4x24xbf16> to tensor<?x4x8xbf16>
  %r = hk.rope gptj %s, %t, %t positions %pos : tensor<?x4x8xbf16>, tensor<48x4xf32>, tensor<48x4xf32> positions tensor<?xi32>
  %z = hk.transpose %r [1, 0, 2] : tensor<?x4x8xbf16> -> tensor<4x?x8xbf16>
  return %z : tensor<4x?x8xbf16>
}
func.func @rotated_halves(%x: tensor<?x64xbf16>, %w: tensor<96x64xbf16>, %t: tensor<48x4xf32>, %pos: tensor<?xi32>) -> tensor<?x12x8xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 12, 8] : tensor<?x96xbf16> into tensor<?x12x8xbf16>
  %r = hk.rope neox %h, %t, %t positions %pos : tensor<?x12x8xbf16>, tensor<48x4xf32>, tensor<48x4xf32> positions tensor<?xi32>
  return %r : tensor<?x12x8xbf16>
}
func.func @rotated_odd(%x: tensor<?x64xbf16>, %w: tensor<85x64xbf16>, %t: tensor<48x4xf32>, %pos: tensor<?xi32>) -> tensor<?x5x16xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<85x64xbf16> -> tensor<?x85xbf16>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 5, 17] : tensor<?x85xbf16> into tensor<?x5x17xbf16>
  %s = tensor.extract_slice %h[0, 0, 1] [%n, 5, 16] [1, 1, 1] : tensor<?x5x17xbf16> to tensor<?x5x16xbf16>
  %r = hk.rope gptj %s, %t, %t positions %pos : tensor<?x5x16xbf16>, tensor<48x4xf32>, tensor<48x4xf32> positions tensor<?xi32>
  return %r : tensor<?x5x16xbf16>
}

// A slice that cuts a vector of columns goes first; what needs whole vectors is a launch of its own.
// CHECK-LABEL: func.func @cut_vectors
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.sigmoid
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.quantize
// REMARK: unsupported-shape: hk.quantize shares its kernel with slices of the product that cut its vectors of 8 columns
func.func @cut_vectors(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<64x3xbf16>, tensor<64x64xi8>, tensor<64x2xf32>) {
  %y = hk.matmul %x, %w transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %a = tensor.extract_slice %y[0, 2] [64, 3] [1, 1] : tensor<64x64xbf16> to tensor<64x3xbf16>
  %s = hk.sigmoid %a : tensor<64x3xbf16>
  %z = hk.silu %y : tensor<64x64xbf16>
  %q, %c = hk.quantize per_group %z group 32 : tensor<64x64xbf16> -> tensor<64x64xi8>, tensor<64x2xf32>
  return %s, %q, %c : tensor<64x3xbf16>, tensor<64x64xi8>, tensor<64x2xf32>
}

// CHECK-LABEL: func.func @best_of_groups
// CHECK: hk.fused {{ *}}gemm
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.topk
// REMARK: needs-whole-row: hk.topk needs other columns of its row, not of parts of it
func.func @best_of_groups(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x4x1xi32> {
  %y = hk.matmul %x, %w transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xbf16>
  %e = tensor.expand_shape %y [[0], [1, 2]] output_shape [64, 4, 16] : tensor<64x64xbf16> into tensor<64x4x16xbf16>
  %v, %i = hk.topk %e : tensor<64x4x16xbf16> -> tensor<64x4x1xbf16>, tensor<64x4x1xi32>
  return %i : tensor<64x4x1xi32>
}
