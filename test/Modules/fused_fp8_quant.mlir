// Residual + RMS norm + quantisation in one kernel, per group, token and tensor; a norm
// of a second input beside it; a gated norm, q and k of latent attention.
// HK-LAUNCHES: 1 @gelu_mul_group=2 @slices_1=2
// HK-DIMS: x.0=3 p.1=3
// HK-DIMS: x.0=1 p.1=1
// HK-DIMS: x.0=0 p.1=0
// HK-DIMS: @add_two_inputs_and_norm x.0=32
// HK-DIMS-HOST: @group_7168 @silu_mul_group @transposed_scales @add_two_inputs_and_norm x.0=256
// HK-DIMS-HOST: @slices_act_mul @slices_1 p.1=2048
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @group_7168(%x: tensor<?x7168xbf16>, %r: tensor<?x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>, tensor<?x7168xbf16>) {
  %s = hk.add %x, %r : tensor<?x7168xbf16> -> tensor<?x7168xf32>
  %res = hk.cast %s : tensor<?x7168xf32> -> tensor<?x7168xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x7168xf32>, tensor<7168xbf16>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x7168xf32> -> tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>
  return %q, %scale, %res : tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>, tensor<?x7168xbf16>
}
// The sum and the norm rounded, as a pipeline of three kernels has them; UE8M0 scales.
func.func @rounded_group_ue8m0(%x: tensor<?x1536xbf16>, %r: tensor<?x1536xbf16>, %w: tensor<1536xbf16>) -> (tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>, tensor<?x1536xbf16>, tensor<?x1536xbf16>) {
  %s = hk.add %x, %r : tensor<?x1536xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 power_of_two : tensor<?x1536xbf16> -> tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>
  return %q, %scale, %s, %y : tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>, tensor<?x1536xbf16>, tensor<?x1536xbf16>
}
// The latent of q is quantised, that of k is not; own inputs, of the same tokens.
func.func @two_inputs(%x: tensor<?x1536xf16>, %k_rows: tensor<?x512xf16>, %w: tensor<1536xf16>, %v: tensor<512xf16>) -> (tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>, tensor<?x1x512xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x1536xf16>
  %k = tensor.expand_shape %k_rows [[0], [1, 2]] output_shape [%t, 1, 512] : tensor<?x512xf16> into tensor<?x1x512xf16>
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x1536xf16>, tensor<1536xf16> -> tensor<?x1536xf32>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x1536xf32> -> tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>
  %z = hk.rms_norm %k, %v epsilon 1.0e-05 : tensor<?x1x512xf16>, tensor<512xf16>
  return %q, %scale, %z : tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>, tensor<?x1x512xf16>
}
func.func @per_token(%x: tensor<?x512xbf16>, %w: tensor<512xbf16>) -> (tensor<?x512xf8E4M3FN>, tensor<?x1xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xf32>
  %q, %scale = hk.quantize per_token %y : tensor<?x512xf32> -> tensor<?x512xf8E4M3FN>, tensor<?x1xf32>
  return %q, %scale : tensor<?x512xf8E4M3FN>, tensor<?x1xf32>
}
func.func @per_token_smooth_int8(%x: tensor<?x4096xbf16>, %r: tensor<?x4096xbf16>, %w: tensor<4096xbf16>, %xs: tensor<4096xf32>) -> (tensor<?x4096xi8>, tensor<?x1xf32>, tensor<?x4096xbf16>) {
  %s = hk.add %x, %r : tensor<?x4096xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xf32>
  %m = hk.mul %y, %xs : tensor<?x4096xf32>, tensor<4096xf32>
  %q, %scale = hk.quantize per_token %m : tensor<?x4096xf32> -> tensor<?x4096xi8>, tensor<?x1xf32>
  return %q, %scale, %s : tensor<?x4096xi8>, tensor<?x1xf32>, tensor<?x4096xbf16>
}
func.func @per_tensor_fnuz(%x: tensor<?x2880xbf16>, %w: tensor<2880xbf16>, %scale: tensor<1xf32>) -> tensor<?x2880xf8E4M3FNUZ> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x2880xbf16>, tensor<2880xbf16>
  %q = hk.quantize_static %y, %scale : tensor<?x2880xbf16>, tensor<1xf32> -> tensor<?x2880xf8E4M3FNUZ>
  return %q : tensor<?x2880xf8E4M3FNUZ>
}
// Per head norm(o) * w * silu(z), flattened and quantised.
func.func @gated(%x: tensor<?x8x128xbf16>, %z: tensor<?x8x128xbf16>, %w: tensor<128xbf16>) -> (tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x8x128xbf16>, tensor<128xbf16> -> tensor<?x8x128xf32>
  %g = hk.silu %z : tensor<?x8x128xbf16> -> tensor<?x8x128xf32>
  %y = hk.mul %n, %g : tensor<?x8x128xf32>
  %f = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x8x128xf32> into tensor<?x1024xf32>
  %q, %s = hk.quantize per_group %f amax_floor 1.0e-10 : tensor<?x1024xf32> -> tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x8xf32>
}
func.func @silu_mul_group(%x: tensor<?x2816xbf16>) -> (tensor<?x1408xf8E4M3FN>, tensor<?x11xf32>) {
  %y = hk.gated_activation silu %x : tensor<?x2816xbf16> -> tensor<?x1408xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x1408xf32> -> tensor<?x1408xf8E4M3FN>, tensor<?x11xf32>
  return %q, %s : tensor<?x1408xf8E4M3FN>, tensor<?x11xf32>
}
// The scales column by column, and the norm beside the codes.
func.func @transposed_scales(%x: tensor<?x1536xbf16>, %w: tensor<1536xbf16>) -> (tensor<?x1536xf8E4M3FN>, tensor<12x?xf32>, tensor<?x1536xbf16>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16> -> tensor<?x1536xf32>
  %o = hk.cast %y : tensor<?x1536xf32> -> tensor<?x1536xbf16>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x1536xf32> -> tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>
  %st = hk.transpose %s [1, 0] : tensor<?x12xf32> -> tensor<12x?xf32>
  return %q, %st, %o : tensor<?x1536xf8E4M3FN>, tensor<12x?xf32>, tensor<?x1536xbf16>
}
func.func @tail_200(%x: tensor<?x200xf16>, %w: tensor<200xf16>) -> (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x200xf16>, tensor<200xf16> -> tensor<?x200xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x200xf32> -> tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s : tensor<?x200xf8E4M3FN>, tensor<?x2xf32>
}
// Per token, with a bound of the scale.
func.func @upper_bound(%x: tensor<?x512xbf16>, %w: tensor<512xbf16>, %ub: tensor<1xf32>) -> (tensor<?x512xi8>, tensor<?x1xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xf32>
  %floor = hk.constant 1.0e-12 : tensor<f32>
  %limit = hk.constant 127.0 : tensor<f32>
  %amax = hk.reduce absmax %y : tensor<?x512xf32> -> tensor<?x1xf32>
  %low = hk.max %amax, %floor : tensor<?x1xf32>, tensor<f32>
  %top = hk.min %low, %ub : tensor<?x1xf32>, tensor<1xf32>
  %s = hk.div %top, %limit : tensor<?x1xf32>, tensor<f32>
  %q = hk.quantize_static %y, %s : tensor<?x512xf32>, tensor<?x1xf32> -> tensor<?x512xi8>
  return %q, %s : tensor<?x512xi8>, tensor<?x1xf32>
}
// Heads flattened; groups start again at each.
func.func @flattened(%x: tensor<?x3x200xbf16>) -> (tensor<?x600xf8E4M3FNUZ>, tensor<?x6xf32>) {
  %q, %s = hk.quantize per_group %x amax_floor 1.0e-10 : tensor<?x3x200xbf16> -> tensor<?x3x200xf8E4M3FNUZ>, tensor<?x3x2xf32>
  %qf = tensor.collapse_shape %q [[0], [1, 2]] : tensor<?x3x200xf8E4M3FNUZ> into tensor<?x600xf8E4M3FNUZ>
  %sf = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x3x2xf32> into tensor<?x6xf32>
  return %qf, %sf : tensor<?x600xf8E4M3FNUZ>, tensor<?x6xf32>
}
// The slices of a product split along K are summed here: gated, or normalised.
func.func @slices_act_mul(%p: tensor<4x?x1024xf32>) -> (tensor<?x512xf8E4M3FN>, tensor<?x4xf32>) {
  %x = hk.sum_slices %p : tensor<4x?x1024xf32> -> tensor<?x1024xf32>
  %y = hk.gated_activation silu %x : tensor<?x1024xf32> -> tensor<?x512xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x512xf32> -> tensor<?x512xf8E4M3FN>, tensor<?x4xf32>
  return %q, %s : tensor<?x512xf8E4M3FN>, tensor<?x4xf32>
}
func.func @slices_norm(%p: tensor<14x?x2112xf32>, %w: tensor<1536xbf16>, %v: tensor<512xbf16>) -> (tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>, tensor<?x512xbf16>, tensor<?x64xbf16>) {
  %x = hk.sum_slices %p : tensor<14x?x2112xf32> -> tensor<?x2112xbf16>
  %c1_t = arith.constant 1 : index
  %t = tensor.dim %p, %c1_t : tensor<14x?x2112xf32>
  %a = tensor.extract_slice %x[0, 0] [%t, 1536] [1, 1] : tensor<?x2112xbf16> to tensor<?x1536xbf16>
  %b = tensor.extract_slice %x[0, 1536] [%t, 512] [1, 1] : tensor<?x2112xbf16> to tensor<?x512xbf16>
  %c = tensor.extract_slice %x[0, 2048] [%t, 64] [1, 1] : tensor<?x2112xbf16> to tensor<?x64xbf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16> -> tensor<?x1536xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x1536xf32> -> tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>
  %z = hk.rms_norm %b, %v epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  %pe = hk.copy %c : tensor<?x64xbf16>
  return %q, %s, %z, %pe : tensor<?x1536xf8E4M3FN>, tensor<?x12xf32>, tensor<?x512xbf16>, tensor<?x64xbf16>
}
func.func @silu_mul_static(%x: tensor<?x1408xbf16>, %scale: tensor<1xf32>) -> tensor<?x704xf8E4M3FNUZ> {
  %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xf32>
  %q = hk.quantize_static %y, %scale : tensor<?x704xf32>, tensor<1xf32> -> tensor<?x704xf8E4M3FNUZ>
  return %q : tensor<?x704xf8E4M3FNUZ>
}
// All that the kernel gives at once: codes, scales column by column, the norm itself, the sum
// with the residual, and the norm of a second input.
func.func @add_two_inputs_and_norm(%x: tensor<?x128xbf16>, %k_rows: tensor<?x7168xbf16>, %r: tensor<?x128xbf16>, %w: tensor<128xbf16>, %v: tensor<7168xbf16>) -> (tensor<?x128xf8E4M3FN>, tensor<1x?xf32>, tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x1x7168xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %s = hk.add %x, %r : tensor<?x128xbf16> -> tensor<?x128xf32>
  %res = hk.cast %s : tensor<?x128xf32> -> tensor<?x128xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x128xf32>, tensor<128xbf16>
  %o = hk.cast %y : tensor<?x128xf32> -> tensor<?x128xbf16>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x128xf32> -> tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
  %st = hk.transpose %scale [1, 0] : tensor<?x1xf32> -> tensor<1x?xf32>
  %z2 = hk.rms_norm %k_rows, %v epsilon 1.0e-05 : tensor<?x7168xbf16>, tensor<7168xbf16>
  %z = tensor.expand_shape %z2 [[0], [1, 2]] output_shape [%t, 1, 7168] : tensor<?x7168xbf16> into tensor<?x1x7168xbf16>
  return %q, %st, %o, %res, %z : tensor<?x128xf8E4M3FN>, tensor<1x?xf32>, tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x1x7168xbf16>
}
// The norm is not rounded before its quantisation.
func.func @per_tensor_unrounded(%x: tensor<?x640xf16>, %r: tensor<?x640xf16>, %w: tensor<640xf16>, %scale: tensor<1xf32>) -> (tensor<?x640xf8E4M3FN>, tensor<?x640xf16>) {
  %s = hk.add %x, %r : tensor<?x640xf16> -> tensor<?x640xf32>
  %res = hk.cast %s : tensor<?x640xf32> -> tensor<?x640xf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x640xf32>, tensor<640xf16>
  %q = hk.quantize_static %y, %scale : tensor<?x640xf32>, tensor<1xf32> -> tensor<?x640xf8E4M3FN>
  return %q, %res : tensor<?x640xf8E4M3FN>, tensor<?x640xf16>
}
// Dynamic, with the norm in the type of the input beside the codes.
func.func @per_token_and_norm(%x: tensor<?x1245xf16>, %r: tensor<?x1245xf16>, %w: tensor<1245xf16>) -> (tensor<?x1245xf8E4M3FNUZ>, tensor<?x1xf32>, tensor<?x1245xf16>, tensor<?x1245xf16>) {
  %s = hk.add %x, %r : tensor<?x1245xf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x1245xf16>, tensor<1245xf16> -> tensor<?x1245xf32>
  %o = hk.cast %y : tensor<?x1245xf32> -> tensor<?x1245xf16>
  %q, %scale = hk.quantize per_token %y : tensor<?x1245xf32> -> tensor<?x1245xf8E4M3FNUZ>, tensor<?x1xf32>
  return %q, %scale, %o, %s : tensor<?x1245xf8E4M3FNUZ>, tensor<?x1xf32>, tensor<?x1245xf16>, tensor<?x1245xf16>
}
func.func @per_token_int8(%x: tensor<?x768xf32>, %w: tensor<768xf32>) -> (tensor<?x768xi8>, tensor<?x1xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x768xf32>, tensor<768xf32>
  %q, %scale = hk.quantize per_token %y : tensor<?x768xf32> -> tensor<?x768xi8>, tensor<?x1xf32>
  return %q, %scale : tensor<?x768xi8>, tensor<?x1xf32>
}
func.func @per_token_smooth_fp8(%x: tensor<?x409xbf16>, %w: tensor<409xbf16>, %xs: tensor<409xf32>) -> (tensor<?x409xf8E4M3FN>, tensor<?x1xf32>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x409xbf16>, tensor<409xbf16> -> tensor<?x409xf32>
  %m = hk.mul %y, %xs : tensor<?x409xf32>, tensor<409xf32>
  %q, %scale = hk.quantize per_token %m : tensor<?x409xf32> -> tensor<?x409xf8E4M3FN>, tensor<?x1xf32>
  return %q, %scale : tensor<?x409xf8E4M3FN>, tensor<?x1xf32>
}
// Smoothed, in int8, with a bound of the largest magnitude.
func.func @smooth_upper_bound(%x: tensor<?x512xf16>, %w: tensor<512xf16>, %xs: tensor<512xf32>, %ub: tensor<1xf32>) -> (tensor<?x512xi8>, tensor<?x1xf32>) {
  %floor = hk.constant 1.0e-12 : tensor<f32>
  %limit = hk.constant 127.0 : tensor<f32>
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xf16>, tensor<512xf16> -> tensor<?x512xf32>
  %m = hk.mul %y, %xs : tensor<?x512xf32>, tensor<512xf32>
  %amax = hk.reduce absmax %m : tensor<?x512xf32> -> tensor<?x1xf32>
  %low = hk.max %amax, %floor : tensor<?x1xf32>, tensor<f32>
  %top = hk.min %low, %ub : tensor<?x1xf32>, tensor<1xf32>
  %s = hk.div %top, %limit : tensor<?x1xf32>, tensor<f32>
  %q = hk.quantize_static %m, %s : tensor<?x512xf32>, tensor<?x1xf32> -> tensor<?x512xi8>
  return %q, %s : tensor<?x512xi8>, tensor<?x1xf32>
}
// As vLLM has it: scales of at least 1 / (512 * 448), rounded up to powers of two.
func.func @gated_ue8m0(%x: tensor<?x3x128xbf16>, %z: tensor<?x3x128xbf16>, %w: tensor<128xf32>) -> (tensor<?x384xf8E4M3FN>, tensor<?x3xf32>) {
  %n = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x3x128xbf16>, tensor<128xf32> -> tensor<?x3x128xf32>
  %g = hk.silu %z : tensor<?x3x128xbf16> -> tensor<?x3x128xf32>
  %y = hk.mul %n, %g : tensor<?x3x128xf32>
  %f = tensor.collapse_shape %y [[0], [1, 2]] : tensor<?x3x128xf32> into tensor<?x384xf32>
  %q, %s = hk.quantize per_group %f amax_floor 0.001953125 power_of_two : tensor<?x384xf32> -> tensor<?x384xf8E4M3FN>, tensor<?x3xf32>
  return %q, %s : tensor<?x384xf8E4M3FN>, tensor<?x3xf32>
}
// Of the last group only what there is counts.
func.func @gelu_mul_group(%x: tensor<?x400xf16>) -> (tensor<?x200xf8E4M3FNUZ>, tensor<?x2xf32>) {
  %y = hk.gated_activation gelu %x : tensor<?x400xf16> -> tensor<?x200xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x200xf32> -> tensor<?x200xf8E4M3FNUZ>, tensor<?x2xf32>
  return %q, %s : tensor<?x200xf8E4M3FNUZ>, tensor<?x2xf32>
}
func.func @gelu_tanh_mul_group(%x: tensor<?x1024xbf16>) -> (tensor<?x512xf8E4M3FN>, tensor<?x4xf32>) {
  %y = hk.gated_activation gelu_tanh %x : tensor<?x1024xbf16> -> tensor<?x512xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x512xf32> -> tensor<?x512xf8E4M3FN>, tensor<?x4xf32>
  return %q, %s : tensor<?x512xf8E4M3FN>, tensor<?x4xf32>
}
// A product that was not split.
func.func @slices_1(%p: tensor<1x?x300xf32>) -> (tensor<?x150xf8E4M3FN>, tensor<?x2xf32>) {
  %x = hk.sum_slices %p : tensor<1x?x300xf32> -> tensor<?x300xf32>
  %y = hk.gated_activation gelu_tanh %x : tensor<?x300xf32> -> tensor<?x150xf32>
  %q, %s = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x150xf32> -> tensor<?x150xf8E4M3FN>, tensor<?x2xf32>
  return %q, %s : tensor<?x150xf8E4M3FN>, tensor<?x2xf32>
}
func.func @two_inputs_7168(%x: tensor<?x7168xbf16>, %k_rows: tensor<?x7168xbf16>, %w: tensor<7168xbf16>, %v: tensor<7168xbf16>) -> (tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>, tensor<?x1x7168xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x7168xbf16>
  %k = tensor.expand_shape %k_rows [[0], [1, 2]] output_shape [%t, 1, 7168] : tensor<?x7168xbf16> into tensor<?x1x7168xbf16>
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x7168xbf16>, tensor<7168xbf16> -> tensor<?x7168xf32>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x7168xf32> -> tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>
  %z = hk.rms_norm %k, %v epsilon 1.0e-06 : tensor<?x1x7168xbf16>, tensor<7168xbf16>
  return %q, %scale, %z : tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>, tensor<?x1x7168xbf16>
}
func.func @two_inputs_128(%x: tensor<?x128xf16>, %k_rows: tensor<?x128xf16>, %w: tensor<128xf16>, %v: tensor<128xf16>) -> (tensor<?x128xf8E4M3FNUZ>, tensor<?x1xf32>, tensor<?x1x128xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x128xf16>
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x128xf16>, tensor<128xf16> -> tensor<?x128xf32>
  %q, %scale = hk.quantize per_group %y amax_floor 1.0e-10 : tensor<?x128xf32> -> tensor<?x128xf8E4M3FNUZ>, tensor<?x1xf32>
  %z2 = hk.rms_norm %k_rows, %v epsilon 1.0e-06 : tensor<?x128xf16>, tensor<128xf16>
  %z = tensor.expand_shape %z2 [[0], [1, 2]] output_shape [%t, 1, 128] : tensor<?x128xf16> into tensor<?x1x128xf16>
  return %q, %scale, %z : tensor<?x128xf8E4M3FNUZ>, tensor<?x1xf32>, tensor<?x1x128xf16>
}
