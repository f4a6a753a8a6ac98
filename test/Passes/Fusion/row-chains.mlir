// RUN: hk-opt -hk-fuse %s | FileCheck %s
// RUN: hk-opt -hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {hk.target = #hk.target<"gfx942">} {

// Chains that one kernel computes.
// CHECK-LABEL: func @gated_norm_quantize
// CHECK-COUNT-1: hk.fused rowwise
func.func @gated_norm_quantize(%x: tensor<?x8x128xbf16>, %z: tensor<?x8x128xbf16>, %w: tensor<128xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x8x128xbf16>, tensor<128xbf16> -> tensor<?x8x128xf32>
  %g = hk.silu %z : tensor<?x8x128xbf16> -> tensor<?x8x128xf32>
  %y = hk.mul %n, %g : tensor<?x8x128xf32>
  %f = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x8x128xf32> into tensor<?x1024xf32>
  %q, %s = hk.quantize per_group %f : tensor<?x1024xf32> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}

// Slices that a transpose puts in front of a sum are those of the same row: the
// weighted results of a token's experts.
// CHECK-LABEL: func @sum_of_experts
// CHECK-COUNT-1: hk.fused rowwise
// CHECK-NOT: hk.fused
func.func @sum_of_experts(%y: tensor<?x72xbf16>, %place: tensor<?x4xi32>, %w: tensor<?x4x1xf32>, %r: tensor<?x72xbf16>, %n: tensor<72xbf16>) -> (tensor<?x72xbf16>, tensor<?x72xbf16>) {
  %e = hk.gather_rows %y, %place : tensor<?x72xbf16>, tensor<?x4xi32> -> tensor<?x4x72xbf16>
  %m = hk.mul %e, %w : tensor<?x4x72xbf16>, tensor<?x4x1xf32> -> tensor<?x4x72xf32>
  %s = hk.transpose %m [1, 0, 2] : tensor<?x4x72xf32> -> tensor<4x?x72xf32>
  %o = hk.sum_slices %s : tensor<4x?x72xf32> -> tensor<?x72xbf16>
  %u = hk.add %o, %r : tensor<?x72xbf16>
  %q = hk.rms_norm %u, %n epsilon 1.0e-05 : tensor<?x72xbf16>, tensor<72xbf16>
  return %u, %q : tensor<?x72xbf16>, tensor<?x72xbf16>
}

// What is needed elsewhere as well is stored in its own order, by a kernel that
// has other rows than the sum.
// CHECK-LABEL: func @sum_and_slices
// CHECK-COUNT-2: hk.fused rowwise
func.func @sum_and_slices(%x: tensor<?x4x72xf32>) -> (tensor<?x72xbf16>, tensor<4x?x72xf32>) {
  %m = hk.exp %x : tensor<?x4x72xf32>
  %s = hk.transpose %m [1, 0, 2] : tensor<?x4x72xf32> -> tensor<4x?x72xf32>
  %o = hk.sum_slices %s : tensor<4x?x72xf32> -> tensor<?x72xbf16>
  return %o, %s : tensor<?x72xbf16>, tensor<4x?x72xf32>
}

// CHECK-LABEL: func @two_norms
// CHECK-COUNT-1: hk.fused rowwise
func.func @two_norms(%x: tensor<?x512xbf16>, %v: tensor<512xbf16>, %w: tensor<512xbf16>) -> (tensor<?x512xbf16>, tensor<?x512xbf16>) {
  %0 = hk.rms_norm %x, %v epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  %1 = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  return %0, %1 : tensor<?x512xbf16>, tensor<?x512xbf16>
}

// CHECK-LABEL: func @gated_activation_mx
// CHECK-COUNT-1: hk.fused rowwise
func.func @gated_activation_mx(%x: tensor<?x1408xbf16>) -> (tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x704xf32> -> tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>
  return %q, %s : tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>
}

// CHECK-LABEL: func @norm_pad_quantize
// CHECK-COUNT-1: hk.fused rowwise
func.func @norm_pad_quantize(%x: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x3072xf8E4M3FN>, tensor<?x24xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x2880xbf16>, tensor<2880xbf16>
  %p = hk.pad %y : tensor<?x2880xbf16> -> tensor<?x3072xbf16>
  %q, %s = hk.quantize per_group %p : tensor<?x3072xbf16> -> tensor<?x3072xf8E4M3FN>, tensor<?x24xf32>
  return %q, %s : tensor<?x3072xf8E4M3FN>, tensor<?x24xf32>
}

// CHECK-LABEL: func @norm_rope_write
// CHECK-COUNT-1: hk.fused rowwise
func.func @norm_rope_write(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %w: tensor<64xbf16>, %c: tensor<512x32xf32>, %p: tensor<?xi32>, %ks: tensor<1xf32>, %slots: tensor<?xi32>, %kc: tensor<?x2x16x64xf8E4M3FN> {hk.state}) -> (tensor<?x8x64xbf16>, tensor<?x2x16x64xf8E4M3FN>) {
  %qn = hk.rms_norm %q, %w epsilon 1.0e-06 : tensor<?x8x64xbf16>, tensor<64xbf16>
  %kn = hk.rms_norm %k, %w epsilon 1.0e-06 : tensor<?x2x64xbf16>, tensor<64xbf16>
  %qr = hk.rope neox %qn, %c, %c positions %p : tensor<?x8x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %kn, %c, %c positions %p : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32> -> tensor<?x2x64xf32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x2x64xf32>, tensor<1xf32> -> tensor<?x2x64xf8E4M3FN>
  %k2 = hk.kv_cache_write %kq, %slots into %kc layout head_major : tensor<?x2x64xf8E4M3FN>, tensor<?xi32>, tensor<?x2x16x64xf8E4M3FN>
  return %qr, %k2 : tensor<?x8x64xbf16>, tensor<?x2x16x64xf8E4M3FN>
}

// CHECK-LABEL: func @router
// CHECK-COUNT-1: hk.fused rowwise
// CHECK-COUNT-1: hk.fused routing
// CHECK-NOT: hk.fused
func.func @router(%x: tensor<?x128xf32>) -> (tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<129xi32>) {
  %p = hk.softmax %x : tensor<?x128xf32>
  %v, %i = hk.topk %p : tensor<?x128xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %s = hk.reduce sum %v : tensor<?x4xf32> -> tensor<?x1xf32>
  %w = hk.div %v, %s : tensor<?x4xf32>, tensor<?x1xf32>
  %flat = tensor.collapse_shape %i [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %counts = hk.histogram %flat : tensor<?xi32> -> tensor<128xi32>
  %sorted, %place = hk.sort_by_key %flat bins 128 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %flat block 16 : tensor<128xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<129xi32>
  return %w, %sorted, %experts, %blocks : tensor<?x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<129xi32>
}

// Near misses. A norm along the other axis needs all rows.
// CHECK-LABEL: func @wrong_axis
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: wrong_axis
// REMARK: row-dims-differ
func.func @wrong_axis(%x: tensor<?x128xbf16>) -> tensor<128x?xbf16> {
  %0 = hk.silu %x : tensor<?x128xbf16>
  %1 = hk.transpose %0 [1, 0] : tensor<?x128xbf16> -> tensor<128x?xbf16>
  %2 = hk.l2_norm %1 epsilon 1.0e-06 : tensor<128x?xbf16> loc("wrong_axis")
  return %2 : tensor<128x?xbf16>
}

// Heads become tokens: a row of the second norm lies in a part of a row of the first.
// CHECK-LABEL: func @reshape_across_rows
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: reshape_across_rows
// REMARK: row-dims-differ
func.func @reshape_across_rows(%x: tensor<?x8x64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x8x64xbf16>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<?x8x64xbf16> into tensor<?x64xbf16>
  %2 = hk.softmax %1 : tensor<?x64xbf16> loc("reshape_across_rows")
  return %2 : tensor<?x64xbf16>
}

// A part of the row that is too long to reduce in place.
// CHECK-LABEL: func @long_part
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: long_part
// REMARK: needs-whole-row
func.func @long_part(%x: tensor<?x2x4096xbf16>) -> (tensor<?x8192xbf16>) {
  %0 = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x2x4096xbf16>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<?x2x4096xbf16> into tensor<?x8192xbf16>
  %2 = hk.softmax %1 : tensor<?x8192xbf16> loc("long_part")
  return %2 : tensor<?x8192xbf16>
}

// A row with a dim of one before it is a row, however long.
// CHECK-LABEL: func @one_long_part
// CHECK-COUNT-1: hk.fused rowwise
// CHECK-NOT: hk.fused
// CHECK: return
func.func @one_long_part(%x: tensor<?x1x4096xbf16>) -> (tensor<?x4096xbf16>) {
  %0 = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x1x4096xbf16>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<?x1x4096xbf16> into tensor<?x4096xbf16>
  %2 = hk.softmax %1 : tensor<?x4096xbf16>
  return %2 : tensor<?x4096xbf16>
}

// The cache that was written is read again.
// CHECK-LABEL: func @read_written
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: read_written
// REMARK: state-read-and-written
func.func @read_written(%k: tensor<16x2x8xf32>, %s: tensor<16xi32>, %c: tensor<16x1x2x8xf32> {hk.state}) -> (tensor<16x1x2x8xf32>, tensor<16x1x2x8xf32>) {
  %0 = hk.kv_cache_write %k, %s into %c : tensor<16x2x8xf32>, tensor<16xi32>, tensor<16x1x2x8xf32>
  %1 = hk.abs %0 : tensor<16x1x2x8xf32> loc("read_written")
  return %0, %1 : tensor<16x1x2x8xf32>, tensor<16x1x2x8xf32>
}
}
