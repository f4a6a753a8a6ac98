// What follows an attention element by element is computed where its kernel stores the
// result: one launch. What needs more stays a kernel of its own, with a reason.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-normalize --hk-fuse --hk-outline | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --emit=mlir -o /dev/null --explain | FileCheck %s --check-prefix=WHY
// RUN: hk-compile %s --target=sm_90a --emit=mlir -o /dev/null --explain | FileCheck %s --check-prefix=SM90

// The gate is half of a head of a product's columns, both are read as rows of all heads.
// CHECK-LABEL: func.func @gate
// CHECK-COUNT-1: hk.launch @attention_sigmoid_mul
// CHECK-NOT: hk.launch
// CHECK: return
func.func @gate(%q: tensor<?x4x64xbf16>, %k: tensor<?x16x2x64xbf16>, %v: tensor<?x16x2x64xbf16>, %offsets: tensor<?xi32>, %lens: tensor<?xi32>, %table: tensor<?x?xi32>, %both: tensor<?x4x128xbf16>) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %q, %c0 : tensor<?x4x64xbf16>
  %o = hk.attention %q, %k, %v q_offsets %offsets kv_lens %lens block_table %table scale 0.125 causal : tensor<?x4x64xbf16>, tensor<?x16x2x64xbf16>, tensor<?x16x2x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %half = tensor.extract_slice %both[0, 0, 64] [%n, 4, 64] [1, 1, 1] : tensor<?x4x128xbf16> to tensor<?x4x64xbf16>
  %g = tensor.collapse_shape %half [[0], [1, 2]] : tensor<?x4x64xbf16> into tensor<?x256xbf16>
  %s = hk.sigmoid %g : tensor<?x256xbf16> -> tensor<?x256xbf16>
  %y = hk.mul %flat, %s : tensor<?x256xbf16>, tensor<?x256xbf16> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}

// Sequences and tokens are joined, too; the result in its own order is stored beside.
// CHECK-LABEL: func.func @quantised
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @quantised(%q: tensor<?x7x4x64xbf16>, %k: tensor<?x70x2x64xbf16>, %v: tensor<?x70x2x64xbf16>, %scale: tensor<1xf32>) -> (tensor<?x256xf8E4M3FN>, tensor<?x7x4x64xbf16>) {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<?x7x4x64xbf16>, tensor<?x70x2x64xbf16>, tensor<?x70x2x64xbf16> -> tensor<?x7x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<?x7x4x64xbf16> into tensor<?x256xbf16>
  %y = hk.quantize_static %flat, %scale : tensor<?x256xbf16>, tensor<1xf32> -> tensor<?x256xf8E4M3FN>
  return %y, %o : tensor<?x256xf8E4M3FN>, tensor<?x7x4x64xbf16>
}

// A transpose between operators.
// CHECK-LABEL: func.func @turned
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @turned(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>, %gate: tensor<4x9x64xbf16>, %more: tensor<9x256xbf16>) -> tensor<9x256xf32> {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %t = hk.transpose %o [1, 0, 2] : tensor<9x4x64xbf16> -> tensor<4x9x64xbf16>
  %s = hk.silu %gate : tensor<4x9x64xbf16> -> tensor<4x9x64xbf16>
  %m = hk.mul %t, %s : tensor<4x9x64xbf16>
  %b = hk.transpose %m [1, 0, 2] : tensor<4x9x64xbf16> -> tensor<9x4x64xbf16>
  %flat = tensor.collapse_shape %b [[0], [1, 2]] : tensor<9x4x64xbf16> into tensor<9x256xbf16>
  %a = hk.add %flat, %more : tensor<9x256xbf16>
  %c = hk.cast %a : tensor<9x256xbf16> -> tensor<9x256xf32>
  return %c : tensor<9x256xf32>
}

// Other columns of the row, a part of the result, other elements of it: not here.
// WHY-DAG: not fused (needs-whole-row): hk.rms_norm / join hk.attention: hk.rms_norm needs other columns of its row
// CHECK-LABEL: func.func @normed
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @normed(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>, %w: tensor<256xbf16>) -> tensor<9x256xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<9x4x64xbf16> into tensor<9x256xbf16>
  %n = hk.rms_norm %flat, %w epsilon 1.0e-05 : tensor<9x256xbf16>, tensor<256xbf16>
  return %n : tensor<9x256xbf16>
}
// As much is read in front of the gate as behind it, and twice as much behind the cast.
// WHY-DAG: not fused (costlier-fused): hk.cast / join hk.attention: hk.cast is computed by the kernel of whole rows that follows
// CHECK-LABEL: func.func @gated_rows
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @gated_rows(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>, %gate: tensor<9x256xf32>) -> (tensor<9x256xf8E4M3FN>, tensor<9x1xf32>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<9x4x64xbf16> into tensor<9x256xbf16>
  %c = hk.cast %flat : tensor<9x256xbf16> -> tensor<9x256xf32>
  %m = hk.mul %c, %gate : tensor<9x256xf32>
  %y, %s = hk.quantize per_token %m : tensor<9x256xf32> -> tensor<9x256xf8E4M3FN>, tensor<9x1xf32>
  return %y, %s : tensor<9x256xf8E4M3FN>, tensor<9x1xf32>
}
// Scales of columns of one head are computed where its result is stored, and so is what stands in front.
// CHECK-LABEL: func.func @grouped
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @grouped(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>, %gate: tensor<9x256xf32>) -> (tensor<9x256xf8E4M3FN>, tensor<9x8xf32>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<9x4x64xbf16> into tensor<9x256xbf16>
  %c = hk.cast %flat : tensor<9x256xbf16> -> tensor<9x256xf32>
  %m = hk.mul %c, %gate : tensor<9x256xf32>
  %y, %s = hk.quantize per_group %m group 32 : tensor<9x256xf32> -> tensor<9x256xf8E4M3FN>, tensor<9x8xf32>
  return %y, %s : tensor<9x256xf8E4M3FN>, tensor<9x8xf32>
}
// Those of two heads are not: each head is another tile's.
// WHY-DAG: not fused (needs-whole-row): hk.quantize / join hk.attention: hk.quantize needs other columns of its row, which are in other tiles: 128 columns share a scale, which have to divide a head
// CHECK-LABEL: func.func @two_heads
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @two_heads(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>) -> (tensor<9x256xf8E4M3FN>, tensor<9x2xf32>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<9x4x64xbf16> into tensor<9x256xbf16>
  %y, %s = hk.quantize per_group %flat : tensor<9x256xbf16> -> tensor<9x256xf8E4M3FN>, tensor<9x2xf32>
  return %y, %s : tensor<9x256xf8E4M3FN>, tensor<9x2xf32>
}
// What reads the codes is not computed there, nor are codes of 4 bits.
// WHY-DAG: not fused (not-an-epilogue): hk.dequantize / join hk.attention: hk.dequantize stands behind a quantisation
// CHECK-LABEL: func.func @behind
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @behind(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>) -> tensor<9x4x64xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %y, %s = hk.quantize per_group %o group 64 : tensor<9x4x64xbf16> -> tensor<9x4x64xi8>, tensor<9x4x1xf32>
  %z = hk.dequantize %y, %s group 64 : tensor<9x4x64xi8>, tensor<9x4x1xf32> -> tensor<9x4x64xbf16>
  return %z : tensor<9x4x64xbf16>
}
// WHY-DAG: not fused (unsupported-dtype): hk.quantize_mx / join hk.attention: hk.quantize_mx makes elements of less than 8 bits
// CHECK-LABEL: func.func @four_bits
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @four_bits(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>) -> (tensor<9x4x64xf4E2M1FN>, tensor<9x4x2xf8E8M0FNU>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %y, %s = hk.quantize_mx even %o : tensor<9x4x64xbf16> -> tensor<9x4x64xf4E2M1FN>, tensor<9x4x2xf8E8M0FNU>
  return %y, %s : tensor<9x4x64xf4E2M1FN>, tensor<9x4x2xf8E8M0FNU>
}
// Waves that share a row have 128 columns of it each.
// WHY-DAG: not fused (unsupported-shape): hk.quantize / join hk.attention: hk.quantize has scales of 256 columns, but waves share a row: 128 columns each
// CHECK-LABEL: func.func @shared_rows
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @shared_rows(%q: tensor<2x1x16x576xbf16>, %kv: tensor<2x90x1x576xbf16>) -> (tensor<2x1x16x512xf8E4M3FN>, tensor<2x1x16x2xf32>) {
  %o = hk.attention %q, %kv, %kv scale 0.05 causal : tensor<2x1x16x576xbf16>, tensor<2x90x1x576xbf16>, tensor<2x90x1x576xbf16> -> tensor<2x1x16x512xbf16>
  %y, %s = hk.quantize per_group %o group 256 : tensor<2x1x16x512xbf16> -> tensor<2x1x16x512xf8E4M3FN>, tensor<2x1x16x2xf32>
  return %y, %s : tensor<2x1x16x512xf8E4M3FN>, tensor<2x1x16x2xf32>
}
// Lanes that put parts of a row together are a power of two.
// SM90-DAG: not fused (unsupported-shape): hk.quantize / join hk.attention: hk.quantize has scales of 48 columns; the loop that the copy engine feeds
// CHECK-LABEL: func.func @thirds
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @thirds(%q: tensor<1x128x4x48xbf16>, %k: tensor<1x128x2x48xbf16>, %v: tensor<1x128x2x48xbf16>) -> (tensor<1x128x4x48xi8>, tensor<1x128x4x1xf32>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<1x128x4x48xbf16>, tensor<1x128x2x48xbf16>, tensor<1x128x2x48xbf16> -> tensor<1x128x4x48xbf16>
  %y, %s = hk.quantize per_token %o : tensor<1x128x4x48xbf16> -> tensor<1x128x4x48xi8>, tensor<1x128x4x1xf32>
  return %y, %s : tensor<1x128x4x48xi8>, tensor<1x128x4x1xf32>
}
// WHY-DAG: not fused (unsupported-shape): hk.mul / join hk.attention: tensor.extract_slice takes a part of the attention
// CHECK-LABEL: func.func @halves
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @halves(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>) -> tensor<9x4x32xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>
  %a = tensor.extract_slice %o[0, 0, 0] [9, 4, 32] [1, 1, 1] : tensor<9x4x64xbf16> to tensor<9x4x32xbf16>
  %b = tensor.extract_slice %o[0, 0, 32] [9, 4, 32] [1, 1, 1] : tensor<9x4x64xbf16> to tensor<9x4x32xbf16>
  %m = hk.mul %a, %b : tensor<9x4x32xbf16>
  return %m : tensor<9x4x32xbf16>
}
// WHY-DAG: not fused (not-an-epilogue): hk.mul / join hk.attention: hk.mul reads other elements of the attention than its own
// CHECK-LABEL: func.func @crossed
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @crossed(%q: tensor<4x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>) -> tensor<4x4x64xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<4x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<4x4x64xbf16>
  %s = hk.sigmoid %o : tensor<4x4x64xbf16>
  %t = hk.transpose %s [1, 0, 2] : tensor<4x4x64xbf16>
  %m = hk.mul %s, %t : tensor<4x4x64xbf16>
  return %m : tensor<4x4x64xbf16>
}
// WHY-DAG: not fused (not-an-epilogue): hk.mul / join hk.attention: hk.mul reads something else of the attention kernel than its result
// CHECK-LABEL: func.func @of_sums
// CHECK-COUNT-2: hk.launch
// CHECK: return
func.func @of_sums(%q: tensor<9x4x64xbf16>, %k: tensor<70x2x64xbf16>, %v: tensor<70x2x64xbf16>, %r: tensor<9x4xf32>) -> (tensor<9x4x64xbf16>, tensor<9x4xf32>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<70x2x64xbf16>, tensor<70x2x64xbf16> -> tensor<9x4x64xbf16>, tensor<9x4xf32>
  %m = hk.mul %lse, %r : tensor<9x4xf32>
  return %o, %m : tensor<9x4x64xbf16>, tensor<9x4xf32>
}
// What combines slices of the keys takes it in.
// CHECK-LABEL: func.func @sliced
// CHECK-COUNT-2: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @sliced(%q: tensor<9x4x64xbf16>, %k: tensor<700x2x64xbf16>, %v: tensor<700x2x64xbf16>, %gate: tensor<9x4x64xbf16>) -> tensor<9x4x64xbf16> {
  %p, %l = hk.attention %q, %k, %v scale 0.125 kv_slices 3 : tensor<9x4x64xbf16>, tensor<700x2x64xbf16>, tensor<700x2x64xbf16> -> tensor<3x9x4x64xf32>, tensor<3x9x4xf32>
  %o = hk.attention_combine %p, %l : tensor<3x9x4x64xf32>, tensor<3x9x4xf32> -> tensor<9x4x64xbf16>
  %m = hk.mul %o, %gate : tensor<9x4x64xbf16>
  return %m : tensor<9x4x64xbf16>
}

// On sm_90a a launch of its own is quicker behind many queries of large heads, as measured.
// SM90-DAG: 2 launches in @many, 1 launches in @few
// SM90-DAG: not fused (costlier-fused): hk.mul / join hk.attention: hk.mul is quicker in a launch of its own
// CHECK-LABEL: func.func @many
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @many(%q: tensor<1x4096x4x128xbf16>, %k: tensor<1x4096x2x128xbf16>, %v: tensor<1x4096x2x128xbf16>, %gate: tensor<1x4096x4x128xbf16>) -> tensor<1x4096x4x128xbf16> {
  %o = hk.attention %q, %k, %v scale 0.1 causal : tensor<1x4096x4x128xbf16>, tensor<1x4096x2x128xbf16>, tensor<1x4096x2x128xbf16> -> tensor<1x4096x4x128xbf16>
  %m = hk.mul %o, %gate : tensor<1x4096x4x128xbf16>
  return %m : tensor<1x4096x4x128xbf16>
}
// CHECK-LABEL: func.func @few
// CHECK-COUNT-1: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @few(%q: tensor<4x64x8x128xbf16>, %k: tensor<4x1024x2x128xbf16>, %v: tensor<4x1024x2x128xbf16>, %gate: tensor<4x64x8x128xbf16>) -> tensor<4x64x8x128xbf16> {
  %o = hk.attention %q, %k, %v scale 0.1 causal : tensor<4x64x8x128xbf16>, tensor<4x1024x2x128xbf16>, tensor<4x1024x2x128xbf16> -> tensor<4x64x8x128xbf16>
  %m = hk.mul %o, %gate : tensor<4x64x8x128xbf16>
  return %m : tensor<4x64x8x128xbf16>
}
// What stands in front of a transpose that the attention takes in is no epilogue.
// CHECK-LABEL: func.func @scaled
// CHECK-COUNT-2: hk.launch
// CHECK-NOT: hk.launch
// CHECK: return
func.func @scaled(%x: tensor<1x4x9x64xbf16>, %s: tensor<1x4x9x64xbf16>, %k: tensor<1x70x2x64xbf16>, %v: tensor<1x70x2x64xbf16>) -> tensor<1x4x9x64xbf16> {
  %m = hk.mul %x, %s : tensor<1x4x9x64xbf16>
  %q = hk.transpose %m [0, 2, 1, 3] : tensor<1x4x9x64xbf16> -> tensor<1x9x4x64xbf16>
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<1x9x4x64xbf16>, tensor<1x70x2x64xbf16>, tensor<1x70x2x64xbf16> -> tensor<1x9x4x64xbf16>
  %t = hk.transpose %o [0, 2, 1, 3] : tensor<1x9x4x64xbf16> -> tensor<1x4x9x64xbf16>
  return %t : tensor<1x4x9x64xbf16>
}
