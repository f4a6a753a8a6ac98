// RMS norm + MXFP4 quantisation; ragged last block; residual, a second norm, and gated
// activations in place of the norm.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=4 p.1=4
// HK-DIMS: x.0=1 p.1=1
// HK-DIMS: x.0=0 p.1=0
// HK-DIMS-HOST: @norm_200 x.0=1031
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @norm_256(%x: tensor<?x256xbf16>, %w: tensor<256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x256xf32> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  return %q, %s : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
}
func.func @norm_200(%x: tensor<?x200xf16>, %w: tensor<200xf16>) -> (tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x200xf16>, tensor<200xf16> -> tensor<?x200xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x200xf32> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
}
func.func @add_norm_7168(%x: tensor<?x7168xbf16>, %r: tensor<?x7168xbf16>, %w: tensor<7168xbf16>) -> (tensor<?x7168xf4E2M1FN>, tensor<?x224xf8E8M0FNU>, tensor<?x7168xbf16>, tensor<?x7168xbf16>) {
  %a = hk.add %x, %r : tensor<?x7168xbf16>, tensor<?x7168xbf16> -> tensor<?x7168xf32>
  %res = hk.cast %a : tensor<?x7168xf32> -> tensor<?x7168xbf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x7168xf32>, tensor<7168xbf16> -> tensor<?x7168xf32>
  %o = hk.cast %y : tensor<?x7168xf32> -> tensor<?x7168xbf16>
  %q, %s = hk.quantize_mx even %y : tensor<?x7168xf32> -> tensor<?x7168xf4E2M1FN>, tensor<?x224xf8E8M0FNU>
  return %q, %s, %o, %res : tensor<?x7168xf4E2M1FN>, tensor<?x224xf8E8M0FNU>, tensor<?x7168xbf16>, tensor<?x7168xbf16>
}
func.func @quant_4(%x: tensor<?x4xbf16>) -> (tensor<?x4xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x4xbf16> -> tensor<?x4xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x4xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @quant_28(%x: tensor<?x28xf32>) -> (tensor<?x28xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x28xf32> -> tensor<?x28xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x28xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @quant_40(%x: tensor<?x40xf16>) -> (tensor<?x40xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x40xf16> -> tensor<?x40xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x40xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}
func.func @quant_68(%x: tensor<?x68xbf16>) -> (tensor<?x68xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x68xbf16> -> tensor<?x68xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x68xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}
func.func @quant_200(%x: tensor<?x200xbf16>) -> (tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x200xbf16> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
}
func.func @quant_1024(%x: tensor<?x1024xf32>) -> (tensor<?x1024xf4E2M1FN>, tensor<?x32xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x1024xf32> -> tensor<?x1024xf4E2M1FN>, tensor<?x32xf8E8M0FNU>
  return %q, %s : tensor<?x1024xf4E2M1FN>, tensor<?x32xf8E8M0FNU>
}
// Activation and product in f32, quantised at once.
func.func @silu_mul_704(%x: tensor<?x1408xbf16>) -> (tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x1408xbf16> -> tensor<?x704xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x704xf32> -> tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>
  return %q, %s : tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>
}
func.func @gelu_tanh_mul_40(%x: tensor<?x80xf16>) -> (tensor<?x40xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %y = hk.gated_activation gelu_tanh %x : tensor<?x80xf16> -> tensor<?x40xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x40xf32> -> tensor<?x40xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x40xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}
func.func @swiglu_oai_mul_2880(%x: tensor<?x5760xbf16>) -> (tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>) {
  %y = hk.gated_activation swiglu_oai %x {limit = 7.0 : f32} : tensor<?x5760xbf16> -> tensor<?x2880xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x2880xf32> -> tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>
  return %q, %s : tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>
}
// A norm of a second input of the same tokens, not quantised.
func.func @second_norm(%x: tensor<?x1536xbf16>, %k_rows: tensor<?x512xbf16>, %w: tensor<1536xbf16>, %v: tensor<512xbf16>) -> (tensor<?x1536xf4E2M1FN>, tensor<?x48xf8E8M0FNU>, tensor<?x1x512xbf16>) {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x1536xbf16>
  %k = tensor.expand_shape %k_rows [[0], [1, 2]] output_shape [%t, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16> -> tensor<?x1536xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x1536xf32> -> tensor<?x1536xf4E2M1FN>, tensor<?x48xf8E8M0FNU>
  %z = hk.rms_norm %k, %v epsilon 1.0e-05 : tensor<?x1x512xbf16>, tensor<512xbf16> -> tensor<?x1x512xbf16>
  return %q, %s, %z : tensor<?x1536xf4E2M1FN>, tensor<?x48xf8E8M0FNU>, tensor<?x1x512xbf16>
}
// Heads flattened; blocks start again at each.
func.func @flattened(%x: tensor<?x5x72xbf16>) -> (tensor<?x360xf4E2M1FN>, tensor<?x15xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x5x72xbf16> -> tensor<?x5x72xf4E2M1FN>, tensor<?x5x3xf8E8M0FNU>
  %qf = tensor.collapse_shape %q [[0], [1, 2]] : tensor<?x5x72xf4E2M1FN> into tensor<?x360xf4E2M1FN>
  %sf = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x5x3xf8E8M0FNU> into tensor<?x15xf8E8M0FNU>
  return %qf, %sf : tensor<?x360xf4E2M1FN>, tensor<?x15xf8E8M0FNU>
}
// The slices of a product split along K are summed here.
func.func @slices_act_mul(%p: tensor<4x?x512xf32>) -> (tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>) {
  %x = hk.sum_slices %p : tensor<4x?x512xf32> -> tensor<?x512xf32>
  %y = hk.gated_activation silu %x : tensor<?x512xf32> -> tensor<?x256xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x256xf32> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  return %q, %s : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
}
func.func @transposed_scales(%x: tensor<?x704xf16>) -> (tensor<?x704xf4E2M1FN>, tensor<22x?xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x704xf16> -> tensor<?x704xf4E2M1FN>, tensor<?x22xf8E8M0FNU>
  %st = hk.transpose %s [1, 0] : tensor<?x22xf8E8M0FNU> -> tensor<22x?xf8E8M0FNU>
  return %q, %st : tensor<?x704xf4E2M1FN>, tensor<22x?xf8E8M0FNU>
}
// Scales in the order of the scaled matrix instructions of gfx950, in tiles of 32 rows
// and 8 columns: row 16 a + l and column 8 c + 4 b + d of a tile go to place
// 256 c + 64 d + 4 l + 2 b + a.
func.func @shuffled_scales(%x: tensor<?x32x1024xbf16>) -> (tensor<?x32x512xf4E2M1FN>, tensor<?x512xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x32x1024xbf16>
  %y = hk.gated_activation silu %x : tensor<?x32x1024xbf16> -> tensor<?x32x512xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x32x512xf32> -> tensor<?x32x512xf4E2M1FN>, tensor<?x32x16xf8E8M0FNU>
  %e = tensor.expand_shape %s [[0], [1, 2], [3, 4, 5]] output_shape [%t, 2, 16, 2, 2, 4] : tensor<?x32x16xf8E8M0FNU> into tensor<?x2x16x2x2x4xf8E8M0FNU>
  %p = hk.transpose %e [0, 3, 5, 2, 4, 1] : tensor<?x2x16x2x2x4xf8E8M0FNU> -> tensor<?x2x4x16x2x2xf8E8M0FNU>
  %f = tensor.collapse_shape %p [[0], [1, 2, 3, 4, 5]] : tensor<?x2x4x16x2x2xf8E8M0FNU> into tensor<?x512xf8E8M0FNU>
  return %q, %f : tensor<?x32x512xf4E2M1FN>, tensor<?x512xf8E8M0FNU>
}
// Slices summed; the first columns normalised and quantised, the next normalised, the
// last as they are.
func.func @slices_norm(%p: tensor<3x?x192xf32>, %w: tensor<96xbf16>, %v: tensor<64xbf16>) -> (tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>, tensor<?x64xbf16>, tensor<?x32xbf16>) {
  %x = hk.sum_slices %p : tensor<3x?x192xf32> -> tensor<?x192xbf16>
  %c1_t = arith.constant 1 : index
  %t = tensor.dim %p, %c1_t : tensor<3x?x192xf32>
  %a = tensor.extract_slice %x[0, 0] [%t, 96] [1, 1] : tensor<?x192xbf16> to tensor<?x96xbf16>
  %b = tensor.extract_slice %x[0, 96] [%t, 64] [1, 1] : tensor<?x192xbf16> to tensor<?x64xbf16>
  %c = tensor.extract_slice %x[0, 160] [%t, 32] [1, 1] : tensor<?x192xbf16> to tensor<?x32xbf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x96xbf16>, tensor<96xbf16> -> tensor<?x96xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x96xf32> -> tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  %z = hk.rms_norm %b, %v epsilon 1.0e-06 : tensor<?x64xbf16>, tensor<64xbf16> -> tensor<?x64xbf16>
  %pe = hk.copy %c : tensor<?x32xbf16>
  return %q, %s, %z, %pe : tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>, tensor<?x64xbf16>, tensor<?x32xbf16>
}
// Columns of scales of 1 (byte 127) up to a multiple of 8, in the order of gfx950.
func.func @shuffled_padded_scales(%x: tensor<?x32x160xbf16>) -> (tensor<?x32x160xf4E2M1FN>, tensor<?x256xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x32x160xbf16>
  %q, %s = hk.quantize_mx ocp %x : tensor<?x32x160xbf16> -> tensor<?x32x160xf4E2M1FN>, tensor<?x32x5xf8E8M0FNU>
  %s8 = hk.pad %s {value = 1.0 : f32} : tensor<?x32x5xf8E8M0FNU> -> tensor<?x32x8xf8E8M0FNU>
  %e = tensor.expand_shape %s8 [[0], [1, 2], [3, 4]] output_shape [%t, 2, 16, 2, 4] : tensor<?x32x8xf8E8M0FNU> into tensor<?x2x16x2x4xf8E8M0FNU>
  %p = hk.transpose %e [0, 4, 2, 3, 1] : tensor<?x2x16x2x4xf8E8M0FNU> -> tensor<?x4x16x2x2xf8E8M0FNU>
  %f = tensor.collapse_shape %p [[0], [1, 2, 3, 4]] : tensor<?x4x16x2x2xf8E8M0FNU> into tensor<?x256xf8E8M0FNU>
  return %q, %f : tensor<?x32x160xf4E2M1FN>, tensor<?x256xf8E8M0FNU>
}
