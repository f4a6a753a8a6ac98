// What almost fuses, of the operators for routing, convolutions, block scales and padding:
// the other axis, a state that is read and written.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s

// CHECK-DAG: fused: hk.pad, hk.softmax / join hk.l2_norm
func.func @pad_of_joined_rows(%x: tensor<4x8x64xbf16>) -> tensor<32x72xbf16> {
  %0 = hk.l2_norm %x epsilon 1.0e-06 : tensor<4x8x64xbf16>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<4x8x64xbf16> into tensor<32x64xbf16>
  %2 = hk.pad %1 value 1.0 : tensor<32x64xbf16> -> tensor<32x72xbf16>
  %3 = hk.softmax %2 : tensor<32x72xbf16>
  return %3 : tensor<32x72xbf16>
}

// CHECK-DAG: fused: hk.transpose / join hk.rms_norm
// CHECK-DAG: not fused (row-dims-differ): hk.quantize_mx / join hk.rms_norm: hk.transpose has other rows
func.func @mx_along_the_other_axis(%x: tensor<64x96xbf16>) -> (tensor<96x64xf4E2M1FN>, tensor<96x2xf8E8M0FNU>) {
  %0 = hk.rms_norm %x epsilon 1.0e-06 : tensor<64x96xbf16>
  %1 = hk.transpose %0 [1, 0] : tensor<64x96xbf16> -> tensor<96x64xbf16>
  %q, %s = hk.quantize_mx ocp %1 : tensor<96x64xbf16> -> tensor<96x64xf4E2M1FN>, tensor<96x2xf8E8M0FNU>
  return %q, %s : tensor<96x64xf4E2M1FN>, tensor<96x2xf8E8M0FNU>
}

// CHECK-DAG: not fused (unsupported-shape): hk.quantize / merge with hk.quantize_mx: elements of 4 bits beside groups of 3, an odd number
func.func @fp4_beside_odd_groups(%x: tensor<?x96xbf16>) -> (tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>, tensor<?x96xi8>, tensor<?x32xf32>) {
  %q, %s = hk.quantize_mx ocp_ceil %x : tensor<?x96xbf16> -> tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  %p, %t = hk.quantize per_group %x group 3 : tensor<?x96xbf16> -> tensor<?x96xi8>, tensor<?x32xf32>
  return %q, %s, %p, %t : tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>, tensor<?x96xi8>, tensor<?x32xf32>
}

// CHECK-DAG: not fused (not-an-epilogue): hk.neg / join hk.causal_conv1d: hk.neg does not read the convolution's result
func.func @windows_read(%x: tensor<8x3x64xbf16>, %w: tensor<64x4xbf16>, %c: tensor<8x3x64xbf16> {hk.state}) -> (tensor<8x3x64xbf16>, tensor<8x3x64xbf16>, tensor<8x3x64x3xbf16>) {
  %y, %s, %n = hk.causal_conv1d channel_last %x, %w state %c : tensor<8x3x64xbf16>, tensor<64x4xbf16> state tensor<8x3x64xbf16> -> tensor<8x3x64xbf16>, tensor<8x3x64xbf16> windows tensor<8x3x64x3xbf16>
  %m = hk.neg %n : tensor<8x3x64x3xbf16>
  return %y, %s, %m : tensor<8x3x64xbf16>, tensor<8x3x64xbf16>, tensor<8x3x64x3xbf16>
}

// CHECK-DAG: not fused (state-read-and-written): hk.abs / join hk.causal_conv1d: workgroups that read the state would race
func.func @conv_state_read(%x: tensor<8x1x64xbf16>, %w: tensor<64x4xbf16>, %c: tensor<8x3x64xbf16> {hk.state}) -> (tensor<8x1x64xbf16>, tensor<8x3x64xbf16>, tensor<8x3x64xbf16>) {
  %y, %s = hk.causal_conv1d channel_last %x, %w state %c : tensor<8x1x64xbf16>, tensor<64x4xbf16> state tensor<8x3x64xbf16> -> tensor<8x1x64xbf16>, tensor<8x3x64xbf16>
  %m = hk.abs %s : tensor<8x3x64xbf16>
  return %y, %s, %m : tensor<8x1x64xbf16>, tensor<8x3x64xbf16>, tensor<8x3x64xbf16>
}

// CHECK-DAG: not fused (state-read-and-written): hk.quantize_static / share a launch with hk.reencode: workgroups that read the state would race
func.func @state_read_before(%x: tensor<?x2x64xbf16>, %slots: tensor<?xi32>, %c: tensor<4x16x2x64xf8E4M3FN> {hk.state}, %one: tensor<1xf32>) -> (tensor<4x16x2x64xf8E4M3FN>, tensor<4x16x2x64xf8E4M3FNUZ>) {
  %old = hk.reencode %c : tensor<4x16x2x64xf8E4M3FN> -> tensor<4x16x2x64xf8E4M3FNUZ>
  %q = hk.quantize_static %x, %one : tensor<?x2x64xbf16>, tensor<1xf32> -> tensor<?x2x64xf8E4M3FN>
  %n = hk.kv_cache_write %q, %slots into %c : tensor<?x2x64xf8E4M3FN>, tensor<?xi32>, tensor<4x16x2x64xf8E4M3FN>
  return %n, %old : tensor<4x16x2x64xf8E4M3FN>, tensor<4x16x2x64xf8E4M3FNUZ>
}

// CHECK-DAG: not fused (unsupported-shape): hk.add / join hk.count_bits: hk.add has more than 16 elements
func.func @counts_before_blocks_read(%bits: tensor<4x?xi32>) -> (tensor<128xi32>, tensor<?x128xi32>) {
  %one = hk.constant 1 : tensor<i32>
  %c, %b = hk.count_bits %bits block 16 : tensor<4x?xi32> -> tensor<128xi32>, tensor<?x128xi32>
  %d = hk.add %b, %one : tensor<?x128xi32>, tensor<i32>
  return %c, %d : tensor<128xi32>, tensor<?x128xi32>
}

// CHECK-DAG: fused: hk.cast / join hk.topk
// CHECK-DAG: not fused (other-family): hk.sort_by_key / join hk.topk: hk.sort_by_key is computed by a kernel of family routing
func.func @sorted_by_the_best(%x: tensor<?x64xf32>) -> (tensor<?x2xi16>, tensor<?xi32>) {
  %v, %i = hk.topk %x : tensor<?x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %i16 = hk.cast %i : tensor<?x2xi32> -> tensor<?x2xi16>
  %flat = tensor.collapse_shape %i [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %o, %p = hk.sort_by_key %flat bins 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  return %i16, %o : tensor<?x2xi16>, tensor<?xi32>
}

// CHECK-DAG: not fused (row-dims-differ): hk.sum_slices / join hk.silu: hk.sum_slices has other rows
func.func @slices_summed_over_rows(%p: tensor<2x8x64xf32>) -> tensor<8x64xbf16> {
  %0 = hk.silu %p : tensor<2x8x64xf32>
  %n = hk.l2_norm %0 epsilon 1.0e-06 : tensor<2x8x64xf32>
  %1 = hk.sum_slices %n : tensor<2x8x64xf32> -> tensor<8x64xbf16>
  return %1 : tensor<8x64xbf16>
}
