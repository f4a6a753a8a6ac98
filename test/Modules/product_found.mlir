// Graphs with a product that were wrong once, as small as they get.
// HK-LAUNCHES: 2 @ones=1 @heads=1 @ones_behind=1 @below_normal=1
// HK-DIMS: x.0=7 w.0=24
// HK-DIMS: x.0=1 w.0=12
// HK-DIMS: x.0=0 w.0=13
// HK-DIMS: x.0=67 w.0=40
// HK-DATA: normal,nan,tiny

// Slices of one column, and of one column of each head, whose dim of size 1 a view takes away: only
// that column stores.
func.func @ones(%x: tensor<?x64xf32>, %w: tensor<4x64xf32>) -> (tensor<?x1x1xf32>, tensor<?x1x1xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>
  %a = tensor.extract_slice %y[0, 0] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %b = tensor.extract_slice %y[0, 1] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %c = tensor.extract_slice %y[0, 2] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %a1 = tensor.expand_shape %a [[0, 1], [2]] output_shape [%t, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
  %b1 = tensor.expand_shape %b [[0, 1], [2]] output_shape [%t, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
  %c1 = tensor.collapse_shape %c [[0, 1]] : tensor<?x1xf32> into tensor<?xf32>
  %s = hk.sigmoid %a1 : tensor<?x1x1xf32>
  %p = hk.softplus %b1 : tensor<?x1x1xf32>
  %q = hk.tanh %c1 : tensor<?xf32>
  return %s, %p, %q : tensor<?x1x1xf32>, tensor<?x1x1xf32>, tensor<?xf32>
}
func.func @heads(%x: tensor<?x64xf32>, %w: tensor<24x64xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<24x64xf32> -> tensor<?x24xf32>
  %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%t, 4, 6] : tensor<?x24xf32> into tensor<?x4x6xf32>
  %a = tensor.extract_slice %h[0, 0, 0] [%t, 4, 1] [1, 1, 1] : tensor<?x4x6xf32> to tensor<?x4x1xf32>
  %b = tensor.extract_slice %h[0, 0, 3] [%t, 4, 1] [1, 1, 1] : tensor<?x4x6xf32> to tensor<?x4x1xf32>
  %a1 = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x4x1xf32> into tensor<?x4xf32>
  %b1 = tensor.collapse_shape %b [[0], [1, 2]] : tensor<?x4x1xf32> into tensor<?x4xf32>
  %s = hk.sigmoid %a1 : tensor<?x4xf32>
  %p = hk.softplus %b1 : tensor<?x4xf32>
  return %s, %p : tensor<?x4xf32>, tensor<?x4xf32>
}
// Columns that are no longer the last dim.
func.func @ones_behind(%x: tensor<?x64xf32>, %w: tensor<8x64xf32>, %b: tensor<8xf32>) -> (tensor<?x8x1xf32>, tensor<?x8x1xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  %z = hk.add %y, %b : tensor<?x8xf32>, tensor<8xf32>
  %e = tensor.expand_shape %z [[0], [1, 2]] output_shape [%t, 8, 1] : tensor<?x8xf32> into tensor<?x8x1xf32>
  %s = hk.add %e, 1.0 : tensor<?x8x1xf32>
  return %s, %e : tensor<?x8x1xf32>, tensor<?x8x1xf32>
}
// Slices of as many columns as the call brings: a vector is cut.
func.func @dynamic(%x: tensor<?x64xf32>, %w: tensor<?x64xf32>) -> (tensor<?x3xf32>, tensor<?x5xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x?xf32>
  %a = tensor.extract_slice %y[0, 0] [%t, 3] [1, 1] : tensor<?x?xf32> to tensor<?x3xf32>
  %b = tensor.extract_slice %y[0, 7] [%t, 5] [1, 1] : tensor<?x?xf32> to tensor<?x5xf32>
  %s = hk.sigmoid %a : tensor<?x3xf32>
  %p = hk.softplus %b : tensor<?x5xf32>
  return %s, %p : tensor<?x3xf32>, tensor<?x5xf32>
}
// Slices that cut a vector, beside the choice of a column and beside a quantisation, which have their
// columns in whole vectors.
func.func @best(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x1xf32>, tensor<?x1xi32>, tensor<?x3xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %v, %i = hk.topk %y : tensor<?x64xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  %a = tensor.extract_slice %y[0, 2] [%t, 3] [1, 1] : tensor<?x64xf32> to tensor<?x3xf32>
  %s = hk.sigmoid %a : tensor<?x3xf32>
  return %v, %i, %s : tensor<?x1xf32>, tensor<?x1xi32>, tensor<?x3xf32>
}
func.func @best_after(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x3xf32>, tensor<?x1xf32>, tensor<?x1xi32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = tensor.extract_slice %y[0, 2] [%t, 3] [1, 1] : tensor<?x64xf32> to tensor<?x3xf32>
  %s = hk.sigmoid %a : tensor<?x3xf32>
  %z = hk.silu %y : tensor<?x64xf32>
  %v, %i = hk.topk %z : tensor<?x64xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %s, %v, %i : tensor<?x3xf32>, tensor<?x1xf32>, tensor<?x1xi32>
}
func.func @quantised(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x3xf32>, tensor<?x64xi8>, tensor<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = tensor.extract_slice %y[0, 2] [%t, 3] [1, 1] : tensor<?x64xf32> to tensor<?x3xf32>
  %s = hk.sigmoid %a : tensor<?x3xf32>
  %z = hk.silu %y : tensor<?x64xf32>
  %q, %c = hk.quantize per_group %z group 32 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>
  return %s, %q, %c : tensor<?x3xf32>, tensor<?x64xi8>, tensor<?x2xf32>
}
func.func @packed(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x3xf32>, tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = tensor.extract_slice %y[0, 2] [%t, 3] [1, 1] : tensor<?x64xf32> to tensor<?x3xf32>
  %s = hk.sigmoid %a : tensor<?x3xf32>
  %z = hk.silu %y : tensor<?x64xf32>
  %q, %c = hk.quantize_mx even %z : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  return %s, %q, %c : tensor<?x3xf32>, tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}
// Choices that are not among all columns of a row, or have another rank than the product's rows.
func.func @best_of_groups(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> (tensor<?x2x1xf32>, tensor<?x2x1xi32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf32>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %e = tensor.expand_shape %y [[0], [1, 2]] output_shape [%t, 2, 16] : tensor<?x32xf32> into tensor<?x2x16xf32>
  %v, %i = hk.topk %e : tensor<?x2x16xf32> -> tensor<?x2x1xf32>, tensor<?x2x1xi32>
  return %v, %i : tensor<?x2x1xf32>, tensor<?x2x1xi32>
}
func.func @best_of_batches(%x: tensor<?x1x64xf32>, %w: tensor<16x64xf32>) -> (tensor<?x1x2xf32>, tensor<?x1x2xi32>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x1x64xf32>, tensor<16x64xf32> -> tensor<?x1x16xf32>
  %v, %i = hk.topk %y : tensor<?x1x16xf32> -> tensor<?x1x2xf32>, tensor<?x1x2xi32>
  return %v, %i : tensor<?x1x2xf32>, tensor<?x1x2xi32>
}
func.func @best_of_one(%x: tensor<?x1x64xf32>, %w: tensor<1x64xf32>) -> (tensor<?x1x1xf32>, tensor<?x1x1xi32>) {
  %y = hk.matmul %x, %w transpose_b : tensor<?x1x64xf32>, tensor<1x64xf32> -> tensor<?x1x1xf32>
  %v, %i = hk.topk %y ties highest_index : tensor<?x1x1xf32> -> tensor<?x1x1xf32>, tensor<?x1x1xi32>
  return %v, %i : tensor<?x1x1xf32>, tensor<?x1x1xi32>
}
// With tiny numbers every partial sum is rounded to a multiple of 2^-149, which bounds must know.
func.func @below_normal(%x: tensor<?x64xf32>, %w: tensor<17x64xf16>) -> tensor<?x17xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<17x64xf16> -> tensor<?x17xf32>
  return %y : tensor<?x17xf32>
}
// Halves of a product joined in the other order: a tensor of the product's shape whose columns are
// not the product's, which nothing but a kernel behind it may read.
func.func @halves_swapped(%x: tensor<?x64xbf16>, %w: tensor<96x64xbf16>, %b: tensor<96xf32>) -> (tensor<?x96xbf16>, tensor<?x48xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %lo = tensor.extract_slice %y[0, 0] [%t, 48] [1, 1] : tensor<?x96xbf16> to tensor<?x48xbf16>
  %hi = tensor.extract_slice %y[0, 48] [%t, 48] [1, 1] : tensor<?x96xbf16> to tensor<?x48xbf16>
  %r = hk.concat 1 (%hi, %lo) : tensor<?x48xbf16>, tensor<?x48xbf16> -> tensor<?x96xbf16>
  %s = hk.add %r, %b : tensor<?x96xbf16>, tensor<96xf32>
  %g = hk.gated_activation silu %r : tensor<?x96xbf16> -> tensor<?x48xbf16>
  return %s, %g : tensor<?x96xbf16>, tensor<?x48xbf16>
}
// Codes times powers of two that f16 has no exponent for: a weight is infinite, or 0.
func.func @powers_in_f16(%x: tensor<?x64xf16>, %q: tensor<40x64xf4E2M1FN>, %s: tensor<40x2xf8E8M0FNU>) -> tensor<?x40xf32> {
  %w = hk.dequantize %q, %s group 32 : tensor<40x64xf4E2M1FN>, tensor<40x2xf8E8M0FNU> -> tensor<40x64xf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xf16>, tensor<40x64xf16> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
