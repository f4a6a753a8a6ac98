// RMS norm + MXFP4 quantisation; ragged last block; residual, a second norm, and gated
// activations in place of the norm.
// HK-LAUNCHES: 1 @gelu_mul_34=2
// HK-DIMS: x.0=4 p.1=4
// HK-DIMS: x.0=1 p.1=1
// HK-DIMS: x.0=0 p.1=0
// HK-DIMS-HOST: @norm_200 x.0=1031
// HK-DIMS-HOST: @add_norm_7168 @silu_mul_28672 x.0=64
// HK-DIMS-HOST: @flattened x.0=10000
// HK-DIMS-HOST: @quant_20 x.0=280
// HK-DIMS-HOST: @quant_40 x.0=160
// HK-DIMS-HOST: @quant_4 @quant_28 @quant_32 @quant_64 @quant_68 @quant_1024 @silu_mul_4 @silu_mul_14 @silu_mul_16 @gelu_mul_34 x.0=128
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
  %a = hk.add %x, %r : tensor<?x7168xbf16> -> tensor<?x7168xf32>
  %res = hk.cast %a : tensor<?x7168xf32> -> tensor<?x7168xbf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x7168xf32>, tensor<7168xbf16>
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
  %y = hk.gated_activation swiglu_oai %x limit 7.0 : tensor<?x5760xbf16> -> tensor<?x2880xf32>
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
  %z = hk.rms_norm %k, %v epsilon 1.0e-05 : tensor<?x1x512xbf16>, tensor<512xbf16>
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
  %z = hk.rms_norm %b, %v epsilon 1.0e-06 : tensor<?x64xbf16>, tensor<64xbf16>
  %pe = hk.copy %c : tensor<?x32xbf16>
  return %q, %s, %z, %pe : tensor<?x96xf4E2M1FN>, tensor<?x3xf8E8M0FNU>, tensor<?x64xbf16>, tensor<?x32xbf16>
}
// Columns of scales of 1 (byte 127) up to a multiple of 8, in the order of gfx950.
func.func @shuffled_padded_scales(%x: tensor<?x32x160xbf16>) -> (tensor<?x32x160xf4E2M1FN>, tensor<?x256xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x32x160xbf16>
  %q, %s = hk.quantize_mx ocp %x : tensor<?x32x160xbf16> -> tensor<?x32x160xf4E2M1FN>, tensor<?x32x5xf8E8M0FNU>
  %s8 = hk.pad %s value 1.0 : tensor<?x32x5xf8E8M0FNU> -> tensor<?x32x8xf8E8M0FNU>
  %e = tensor.expand_shape %s8 [[0], [1, 2], [3, 4]] output_shape [%t, 2, 16, 2, 4] : tensor<?x32x8xf8E8M0FNU> into tensor<?x2x16x2x4xf8E8M0FNU>
  %p = hk.transpose %e [0, 4, 2, 3, 1] : tensor<?x2x16x2x4xf8E8M0FNU> -> tensor<?x4x16x2x2xf8E8M0FNU>
  %f = tensor.collapse_shape %p [[0], [1, 2, 3, 4]] : tensor<?x4x16x2x2xf8E8M0FNU> into tensor<?x256xf8E8M0FNU>
  return %q, %f : tensor<?x32x160xf4E2M1FN>, tensor<?x256xf8E8M0FNU>
}
// Rows of 256 that lie 2112 apart.
func.func @strided_2112(%x: tensor<?x2112xbf16>, %w: tensor<256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x2112xbf16>
  %a = tensor.extract_slice %x[0, 1792] [%t, 256] [1, 1] : tensor<?x2112xbf16> to tensor<?x256xbf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x256xf32> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  return %q, %s : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
}
func.func @quant_20(%x: tensor<?x20xf16>) -> (tensor<?x20xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x20xf16> -> tensor<?x20xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x20xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @quant_32(%x: tensor<?x32xbf16>) -> (tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @quant_64(%x: tensor<?x64xf32>) -> (tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}
func.func @silu_mul_4(%x: tensor<?x8xf16>) -> (tensor<?x4xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x8xf16> -> tensor<?x4xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x4xf32> -> tensor<?x4xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x4xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @silu_mul_14(%x: tensor<?x28xbf16>) -> (tensor<?x14xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x28xbf16> -> tensor<?x14xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x14xf32> -> tensor<?x14xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x14xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @silu_mul_16(%x: tensor<?x32xf16>) -> (tensor<?x16xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x32xf16> -> tensor<?x16xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x16xf32> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @gelu_mul_34(%x: tensor<?x68xf32>) -> (tensor<?x34xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %y = hk.gated_activation gelu %x : tensor<?x68xf32> -> tensor<?x34xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x34xf32> -> tensor<?x34xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x34xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}
func.func @gelu_mul_512(%x: tensor<?x1024xbf16>) -> (tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>) {
  %y = hk.gated_activation gelu %x : tensor<?x1024xbf16> -> tensor<?x512xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x512xf32> -> tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>
  return %q, %s : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>
}
func.func @relu_mul_32(%x: tensor<?x64xf16>) -> (tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %y = hk.gated_activation relu %x : tensor<?x64xf16> -> tensor<?x32xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %q, %s : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
func.func @silu_mul_28672(%x: tensor<?x57344xbf16>) -> (tensor<?x28672xf4E2M1FN>, tensor<?x896xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x57344xbf16> -> tensor<?x28672xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x28672xf32> -> tensor<?x28672xf4E2M1FN>, tensor<?x896xf8E8M0FNU>
  return %q, %s : tensor<?x28672xf4E2M1FN>, tensor<?x896xf8E8M0FNU>
}
func.func @silu_mul_4096_ceil(%x: tensor<?x8192xf16>) -> (tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x8192xf16> -> tensor<?x4096xf32>
  %q, %s = hk.quantize_mx ceil %y : tensor<?x4096xf32> -> tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf4E2M1FN>, tensor<?x128xf8E8M0FNU>
}
// A residual, the norm itself, and the norm of a second input.
func.func @add_two_inputs_and_norm(%x: tensor<?x256xf16>, %k_rows: tensor<?x200xf16>, %r: tensor<?x256xf16>, %w: tensor<256xf16>, %v: tensor<200xf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>, tensor<?x256xf16>, tensor<?x256xf16>, tensor<?x1x200xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x256xf16>
  %a = hk.add %x, %r : tensor<?x256xf16> -> tensor<?x256xf32>
  %res = hk.cast %a : tensor<?x256xf32> -> tensor<?x256xf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x256xf32>, tensor<256xf16>
  %o = hk.cast %y : tensor<?x256xf32> -> tensor<?x256xf16>
  %q, %s = hk.quantize_mx even %y : tensor<?x256xf32> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  %z2 = hk.rms_norm %k_rows, %v epsilon 1.0e-05 : tensor<?x200xf16>, tensor<200xf16>
  %z = tensor.expand_shape %z2 [[0], [1, 2]] output_shape [%t, 1, 200] : tensor<?x200xf16> into tensor<?x1x200xf16>
  return %q, %s, %o, %res, %z : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>, tensor<?x256xf16>, tensor<?x256xf16>, tensor<?x1x200xf16>
}
// The latents of DeepSeek.
func.func @slices_norm_1536(%p: tensor<14x?x2112xf32>, %w: tensor<1536xbf16>, %v: tensor<512xbf16>) -> (tensor<?x1536xf4E2M1FN>, tensor<?x48xf8E8M0FNU>, tensor<?x512xbf16>, tensor<?x64xbf16>) {
  %x = hk.sum_slices %p : tensor<14x?x2112xf32> -> tensor<?x2112xbf16>
  %c1 = arith.constant 1 : index
  %t = tensor.dim %p, %c1 : tensor<14x?x2112xf32>
  %a = tensor.extract_slice %x[0, 0] [%t, 1536] [1, 1] : tensor<?x2112xbf16> to tensor<?x1536xbf16>
  %b = tensor.extract_slice %x[0, 1536] [%t, 512] [1, 1] : tensor<?x2112xbf16> to tensor<?x512xbf16>
  %e = tensor.extract_slice %x[0, 2048] [%t, 64] [1, 1] : tensor<?x2112xbf16> to tensor<?x64xbf16>
  %y = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x1536xbf16>, tensor<1536xbf16> -> tensor<?x1536xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x1536xf32> -> tensor<?x1536xf4E2M1FN>, tensor<?x48xf8E8M0FNU>
  %z = hk.rms_norm %b, %v epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  %pe = hk.copy %e : tensor<?x64xbf16>
  return %q, %s, %z, %pe : tensor<?x1536xf4E2M1FN>, tensor<?x48xf8E8M0FNU>, tensor<?x512xbf16>, tensor<?x64xbf16>
}
func.func @slices_1_gelu(%p: tensor<1x?x128xf32>) -> (tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>) {
  %x = hk.sum_slices %p : tensor<1x?x128xf32> -> tensor<?x128xf32>
  %y = hk.gated_activation gelu_tanh %x : tensor<?x128xf32> -> tensor<?x64xf32>
  %q, %s = hk.quantize_mx even %y : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
}
// Scales rounded up, of at least that of 1e-10: a block of zeros has byte 92, not 0.
func.func @ceil_with_floor(%x: tensor<?x320xbf16>) -> (tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>) {
  %floor = hk.constant 1.0e-10 : tensor<f32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x320xbf16>
  %a = hk.abs %x : tensor<?x320xbf16> -> tensor<?x320xf32>
  %m = hk.max %a, %floor : tensor<?x320xf32>, tensor<f32>
  %unused, %e = hk.quantize_mx ceil %m : tensor<?x320xf32> -> tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
  %s0 = hk.cast %e : tensor<?x10xf8E8M0FNU> -> tensor<?x10xf32>
  %s = tensor.expand_shape %s0 [[0], [1, 2]] output_shape [%t, 10, 1] : tensor<?x10xf32> into tensor<?x10x1xf32>
  %g = tensor.expand_shape %x [[0], [1, 2]] output_shape [%t, 10, 32] : tensor<?x320xbf16> into tensor<?x10x32xbf16>
  %r = hk.div %g, %s : tensor<?x10x32xbf16>, tensor<?x10x1xf32> -> tensor<?x10x32xf32>
  %q3 = hk.cast %r : tensor<?x10x32xf32> -> tensor<?x10x32xf4E2M1FN>
  %q = tensor.collapse_shape %q3 [[0], [1, 2]] : tensor<?x10x32xf4E2M1FN> into tensor<?x320xf4E2M1FN>
  return %q, %e : tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
}
// Zeros: codes 0, byte 0.
func.func @zero_blocks(%x: tensor<?x70xf16>) -> (tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<f16>
  %z = hk.select %no, %x, %zero : tensor<i1>, tensor<?x70xf16>, tensor<f16> -> tensor<?x70xf16>
  %q, %s = hk.quantize_mx even %z : tensor<?x70xf16> -> tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}
// 256 rows and 64 columns of scales, as a scaled product of gfx950 wants them.
func.func @all_shuffled_tiles(%x: tensor<?x256x4096xbf16>) -> (tensor<?x256x2048xf4E2M1FN>, tensor<?x16384xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x256x4096xbf16>
  %a = tensor.extract_slice %x[0, 0, 0] [%t, 256, 2048] [1, 1, 1] : tensor<?x256x4096xbf16> to tensor<?x256x2048xbf16>
  %q, %s = hk.quantize_mx even %a : tensor<?x256x2048xbf16> -> tensor<?x256x2048xf4E2M1FN>, tensor<?x256x64xf8E8M0FNU>
  %e = tensor.expand_shape %s [[0], [1, 2, 3], [4, 5, 6]] output_shape [%t, 8, 2, 16, 8, 2, 4] : tensor<?x256x64xf8E8M0FNU> into tensor<?x8x2x16x8x2x4xf8E8M0FNU>
  %p = hk.transpose %e [0, 1, 4, 6, 3, 5, 2] : tensor<?x8x2x16x8x2x4xf8E8M0FNU> -> tensor<?x8x8x4x16x2x2xf8E8M0FNU>
  %f = tensor.collapse_shape %p [[0], [1, 2, 3, 4, 5, 6]] : tensor<?x8x8x4x16x2x2xf8E8M0FNU> into tensor<?x16384xf8E8M0FNU>
  return %q, %f : tensor<?x256x2048xf4E2M1FN>, tensor<?x16384xf8E8M0FNU>
}
