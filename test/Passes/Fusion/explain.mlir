// Why operators are in one launch, and why not: a line for each.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s

// CHECK: target gfx942: {{[0-9]+}} base operators, 1 launches in @one_launch, 2 launches in @wrong_axis, 1 launches in @reshape_across_rows, 2 launches in @long_part, 2 launches in @read_written, 2 launches in @other_rows, 2 launches in @escapes, 1 launches in @taken_in

// CHECK-DAG: fused: hk.rms_norm / join hk.add: it reads what that makes, saves 8192 bytes at {{.*}}, and at 1 more place
// CHECK-DAG: fused: hk.silu / merge with hk.add: both read the same operand
// CHECK-DAG: fused: hk.softmax / share a launch with hk.add: their rows are the same, and neither needs the other
func.func @one_launch(%x: tensor<8x512xbf16>, %r: tensor<8x512xbf16>, %v: tensor<512xbf16>, %w: tensor<512xbf16>, %z: tensor<8x96xf32>)
    -> (tensor<8x512xbf16>, tensor<8x512xbf16>, tensor<8x512xbf16>, tensor<8x96xf32>) {
  %s = hk.add %x, %r : tensor<8x512xbf16>
  %0 = hk.rms_norm %s, %v epsilon 1.0e-06 : tensor<8x512xbf16>, tensor<512xbf16>
  %1 = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<8x512xbf16>, tensor<512xbf16>
  %2 = hk.silu %x : tensor<8x512xbf16>
  %3 = hk.softmax %z : tensor<8x96xf32>
  return %0, %1, %2, %3 : tensor<8x512xbf16>, tensor<8x512xbf16>, tensor<8x512xbf16>, tensor<8x96xf32>
}

// CHECK-DAG: fused: hk.transpose / join hk.silu: it reads what that makes
// CHECK-DAG: not fused (row-dims-differ): hk.l2_norm / join hk.silu: hk.transpose has other rows than the rest of the kernel: all dims in one row, not [16, 128] at
func.func @wrong_axis(%x: tensor<16x128xbf16>) -> tensor<128x16xbf16> {
  %0 = hk.silu %x : tensor<16x128xbf16>
  %1 = hk.transpose %0 [1, 0] : tensor<16x128xbf16> -> tensor<128x16xbf16>
  %2 = hk.l2_norm %1 epsilon 1.0e-06 : tensor<128x16xbf16>
  return %2 : tensor<128x16xbf16>
}

// CHECK-DAG: fused: hk.softmax / join hk.l2_norm: it reads what that makes, saves 8192 bytes at "{{.*}}":{{[0-9]+}}:8, the other at {{[0-9]+}}:8
func.func @reshape_across_rows(%x: tensor<4x8x64xbf16>) -> tensor<32x64xbf16> {
  %0 = hk.l2_norm %x epsilon 1.0e-06 : tensor<4x8x64xbf16>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<4x8x64xbf16> into tensor<32x64xbf16>
  %2 = hk.softmax %1 : tensor<32x64xbf16>
  return %2 : tensor<32x64xbf16>
}

// CHECK-DAG: not fused (needs-whole-row): hk.softmax / join hk.l2_norm: hk.l2_norm reduces 4096 elements, a part of the row; at most 1024 is supported
func.func @long_part(%x: tensor<16x2x4096xbf16>) -> tensor<16x8192xbf16> {
  %0 = hk.l2_norm %x epsilon 1.0e-06 : tensor<16x2x4096xbf16>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<16x2x4096xbf16> into tensor<16x8192xbf16>
  %2 = hk.softmax %1 : tensor<16x8192xbf16>
  return %2 : tensor<16x8192xbf16>
}

// CHECK-DAG: not fused (state-read-and-written): hk.abs / join hk.kv_cache_write: workgroups that read the state would race with those that overwrite it
func.func @read_written(%k: tensor<16x2x8xf32>, %s: tensor<16xi32>, %c: tensor<16x1x2x8xf32> {hk.state}) -> (tensor<16x1x2x8xf32>, tensor<16x1x2x8xf32>) {
  %0 = hk.kv_cache_write %k, %s into %c : tensor<16x2x8xf32>, tensor<16xi32>, tensor<16x1x2x8xf32>
  %1 = hk.abs %0 : tensor<16x1x2x8xf32>
  return %0, %1 : tensor<16x1x2x8xf32>, tensor<16x1x2x8xf32>
}

// CHECK-DAG: not fused (row-dims-differ): hk.silu / share a launch with hk.silu: hk.silu has other rows than the rest of the kernel: [? of argument 1 dim 0, 64], not [? of argument 0 dim 0, 64]; nothing shows that these sizes are equal
func.func @other_rows(%a: tensor<?x64xbf16>, %b: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %0 = hk.silu %a : tensor<?x64xbf16>
  %1 = hk.silu %b : tensor<?x64xbf16>
  return %0, %1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// CHECK-DAG: not fused (other-family): hk.cumsum / join hk.exp: hk.cumsum is computed by a kernel of family scan at {{[^,]*}}, the other at {{[0-9:]+$}}
// CHECK-DAG: not fused (result-escapes): hk.cumsum / take in hk.exp: hk.exp is needed elsewhere as well
func.func @escapes(%a: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %0 = hk.exp %a : tensor<16x32xf32>
  %1 = hk.cumsum inclusive %0 : tensor<16x32xf32>
  return %0, %1 : tensor<16x32xf32>, tensor<16x32xf32>
}

// CHECK-DAG: fused: hk.cumsum / take in hk.exp: nothing else reads what that makes
func.func @taken_in(%a: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %0 = hk.exp %a : tensor<16x32xf32>
  %1 = hk.cumsum inclusive %0 : tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}
