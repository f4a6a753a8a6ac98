// The gather of last tokens moves in front of a model's head, and hk.has_row makes rows
// outside zero behind it. What others read, or what takes as many rows as there are,
// stays.
// RUN: hk-opt %s --hk-gather-first --split-input-file | FileCheck %s

// A sum whose other reader keeps it, a norm, the product, a soft cap.
// CHECK-LABEL: func @head(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[R:.*]]: tensor<?x64xbf16>, %{{.*}}: tensor<64xbf16>, %{{.*}}: tensor<64x1000xbf16>, %[[I:.*]]: tensor<?xi32>
// CHECK: %[[S:.*]] = hk.add %[[X]], %[[R]]
// CHECK: %[[G:.*]] = hk.gather_rows %[[S]], %[[I]] : tensor<?x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
// CHECK: %[[N:.*]] = hk.rms_norm %[[G]]
// CHECK: %[[P:.*]] = hk.matmul %[[N]]
// CHECK: hk.div
// CHECK: hk.tanh
// CHECK: %[[M:.*]] = hk.mul
// CHECK: %[[OK:.*]] = hk.has_row %[[S]], %[[I]] : tensor<?x64xbf16>, tensor<?xi32> -> tensor<?xi1>
// CHECK: %[[C:.*]] = tensor.expand_shape %[[OK]]
// CHECK: %[[Y:.*]] = hk.select %[[C]], %[[M]], %{{.*}} -> tensor<?x1000xf32>
// CHECK: return %[[Y]], %[[S]]
func.func @head(%x: tensor<?x64xbf16>, %r: tensor<?x64xbf16>, %w: tensor<64xbf16>, %head: tensor<64x1000xbf16>,
                %last: tensor<?xi32>) -> (tensor<?x1000xf32>, tensor<?x64xbf16>) {
  %s = hk.add %x, %r : tensor<?x64xbf16>
  %n = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %p = hk.matmul %n, %head : tensor<?x64xbf16>, tensor<64x1000xbf16> -> tensor<?x1000xf32>
  %d = hk.div %p, 30.0 : tensor<?x1000xf32>
  %t = hk.tanh %d : tensor<?x1000xf32>
  %m = hk.mul %t, 30.0 : tensor<?x1000xf32>
  %y = hk.gather_rows %m, %last : tensor<?x1000xf32>, tensor<?xi32> -> tensor<?x1000xf32>
  return %y, %s : tensor<?x1000xf32>, tensor<?x64xbf16>
}

// -----

// Both sides of a sum that nothing else reads are gathered, and must have as many rows;
// a scale per row goes with its rows; a quantiser has two results.
// CHECK-LABEL: func @quantised(
// CHECK: hk.guard eq
// CHECK-DAG: %[[A:.*]] = hk.gather_rows %arg0, %arg3
// CHECK-DAG: %[[B:.*]] = hk.gather_rows %arg1, %arg3
// CHECK: hk.add %[[A]], %[[B]]
// CHECK: %[[Q:.*]], %[[S:.*]] = hk.quantize per_token
// CHECK: hk.matmul %[[Q]], %arg2 scales(%[[S]], none)
// CHECK: hk.has_row
// CHECK: hk.select
func.func @quantised(%x: tensor<?x64xbf16>, %r: tensor<?x64xbf16>, %w: tensor<64x96xf8E4M3FN>,
                     %last: tensor<?xi32>) -> tensor<?x96xbf16> {
  %s = hk.add %x, %r : tensor<?x64xbf16>
  %q, %scale = hk.quantize per_token %s : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x1xf32>
  %p = hk.matmul %q, %w scales(%scale, none) : tensor<?x64xf8E4M3FN>, tensor<64x96xf8E4M3FN> scales(tensor<?x1xf32>, none) -> tensor<?x96xbf16>
  %y = hk.gather_rows %p, %last : tensor<?x96xbf16>, tensor<?xi32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// -----

// CHECK-LABEL: func @all_rows_are_read(
// CHECK: hk.matmul
// CHECK: hk.gather_rows
// CHECK-NOT: hk.has_row
func.func @all_rows_are_read(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %last: tensor<?xi32>)
    -> (tensor<?x96xbf16>, tensor<?x96xbf16>) {
  %p = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x96xbf16> -> tensor<?x96xbf16>
  %y = hk.gather_rows %p, %last : tensor<?x96xbf16>, tensor<?xi32> -> tensor<?x96xbf16>
  return %y, %p : tensor<?x96xbf16>, tensor<?x96xbf16>
}

// -----

// Each row is taken twice.
// CHECK-LABEL: func @more_rows(
// CHECK: hk.matmul
// CHECK: hk.gather_rows
// CHECK-NOT: hk.has_row
func.func @more_rows(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %scores: tensor<?x8xf32>) -> tensor<?x96xbf16> {
  %v, %ids = hk.topk %scores : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %all = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %b = hk.reduce sum %scores : tensor<?x8xf32> -> tensor<?x1xf32>
  %p = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x96xbf16> -> tensor<?x96xbf16>
  %s = hk.mul %p, %b : tensor<?x96xbf16>, tensor<?x1xf32> -> tensor<?x96xbf16>
  %y = hk.gather_rows %s, %all : tensor<?x96xbf16>, tensor<?xi32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// -----

// A norm alone costs less than what it would read again.
// CHECK-LABEL: func @no_product(
// CHECK: hk.rms_norm
// CHECK: hk.gather_rows
// CHECK-NOT: hk.has_row
func.func @no_product(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>, %last: tensor<?xi32>) -> tensor<?x64xbf16> {
  %n = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  %y = hk.gather_rows %n, %last : tensor<?x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// The rows of the right operand are not those of the result.
// CHECK-LABEL: func @columns(
// CHECK: hk.gather_rows
// CHECK-NOT: hk.has_row
func.func @columns(%x: tensor<?x8xbf16>, %w: tensor<?x8xbf16>, %ids: tensor<?xi32>) -> tensor<?x8xbf16> {
  %t = hk.matmul %x, %w transpose_a : tensor<?x8xbf16>, tensor<?x8xbf16> -> tensor<8x8xbf16>
  %y = hk.gather_rows %t, %ids : tensor<8x8xbf16>, tensor<?xi32> -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}
