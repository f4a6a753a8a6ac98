// Residual kept in f32 before the norm, result padded with zeros to a multiple of 256,
// also quantised: the scales of the padding are those of zeros.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS: x.0=5
// HK-DIMS-HOST: @add_bf16_640 x.0=8192
// HK-DIMS-HOST: @add_bf16_2880 @f32_4 x.0=256
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @f32_4(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> tensor<?x256xf32> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x4xf32>, tensor<4xf32>
  %p = hk.pad %y : tensor<?x4xf32> -> tensor<?x256xf32>
  return %p : tensor<?x256xf32>
}
func.func @add_f16_16(%x: tensor<?x16xf16>, %r: tensor<?x16xf16>, %w: tensor<16xf16>) -> (tensor<?x256xf16>, tensor<?x16xf16>) {
  %s = hk.add %x, %r : tensor<?x16xf16> -> tensor<?x16xf32>
  %res = hk.cast %s : tensor<?x16xf32> -> tensor<?x16xf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x16xf32>, tensor<16xf16> -> tensor<?x16xf16>
  %p = hk.pad %y : tensor<?x16xf16> -> tensor<?x256xf16>
  return %p, %res : tensor<?x256xf16>, tensor<?x16xf16>
}
func.func @bf16_320(%x: tensor<?x320xbf16>, %w: tensor<320xbf16>) -> tensor<?x512xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x320xbf16>, tensor<320xbf16>
  %p = hk.pad %y : tensor<?x320xbf16> -> tensor<?x512xbf16>
  return %p : tensor<?x512xbf16>
}
func.func @add_bf16_640(%x: tensor<?x640xbf16>, %r: tensor<?x640xbf16>, %w: tensor<640xbf16>) -> (tensor<?x768xbf16>, tensor<?x640xbf16>) {
  %s = hk.add %x, %r : tensor<?x640xbf16> -> tensor<?x640xf32>
  %res = hk.cast %s : tensor<?x640xf32> -> tensor<?x640xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x640xf32>, tensor<640xbf16> -> tensor<?x640xbf16>
  %p = hk.pad %y : tensor<?x640xbf16> -> tensor<?x768xbf16>
  return %p, %res : tensor<?x768xbf16>, tensor<?x640xbf16>
}
func.func @add_bf16_2880(%x: tensor<?x2880xbf16>, %r: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x3072xbf16>, tensor<?x2880xbf16>) {
  %s = hk.add %x, %r : tensor<?x2880xbf16> -> tensor<?x2880xf32>
  %res = hk.cast %s : tensor<?x2880xf32> -> tensor<?x2880xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xf32>, tensor<2880xbf16> -> tensor<?x2880xbf16>
  %p = hk.pad %y : tensor<?x2880xbf16> -> tensor<?x3072xbf16>
  return %p, %res : tensor<?x3072xbf16>, tensor<?x2880xbf16>
}
func.func @add_f32_2880(%x: tensor<?x2880xf32>, %r: tensor<?x2880xf32>, %w: tensor<2880xf32>) -> (tensor<?x2880xf32>, tensor<?x2880xf32>) {
  %s = hk.add %x, %r : tensor<?x2880xf32>
  %res = hk.cast %s : tensor<?x2880xf32> -> tensor<?x2880xf32>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xf32>, tensor<2880xf32>
  %p = hk.pad %y : tensor<?x2880xf32>
  return %p, %res : tensor<?x2880xf32>, tensor<?x2880xf32>
}
func.func @quantised(%x: tensor<?x2880xbf16>, %r: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x3072xf8E4M3FN>, tensor<?x24xf32>, tensor<?x2880xbf16>) {
  %s = hk.add %x, %r : tensor<?x2880xbf16> -> tensor<?x2880xf32>
  %res = hk.cast %s : tensor<?x2880xf32> -> tensor<?x2880xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xf32>, tensor<2880xbf16>
  %p = hk.pad %y : tensor<?x2880xf32> -> tensor<?x3072xf32>
  %q, %scale = hk.quantize per_group %p amax_floor 1.0e-10 : tensor<?x3072xf32> -> tensor<?x3072xf8E4M3FN>, tensor<?x24xf32>
  return %q, %scale, %res : tensor<?x3072xf8E4M3FN>, tensor<?x24xf32>, tensor<?x2880xbf16>
}
// In MXFP4: the blocks of the padding are zeros with scale byte 0.
func.func @mxfp4(%x: tensor<?x2880xbf16>, %r: tensor<?x2880xbf16>, %w: tensor<2880xbf16>) -> (tensor<?x3072xf4E2M1FN>, tensor<?x96xf8E8M0FNU>, tensor<?x2880xbf16>) {
  %s = hk.add %x, %r : tensor<?x2880xbf16> -> tensor<?x2880xf32>
  %res = hk.cast %s : tensor<?x2880xf32> -> tensor<?x2880xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x2880xf32>, tensor<2880xbf16>
  %p = hk.pad %y : tensor<?x2880xf32> -> tensor<?x3072xf32>
  %q, %scale = hk.quantize_mx even %p : tensor<?x3072xf32> -> tensor<?x3072xf4E2M1FN>, tensor<?x96xf8E8M0FNU>
  return %q, %scale, %res : tensor<?x3072xf4E2M1FN>, tensor<?x96xf8E8M0FNU>, tensor<?x2880xbf16>
}
// Of every other column.
func.func @strided_320(%x: tensor<?x640xf16>, %w: tensor<320xf16>) -> tensor<?x512xf16> {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x640xf16>
  %s = tensor.extract_slice %x[0, 1] [%t, 320] [1, 2] : tensor<?x640xf16> to tensor<?x320xf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x320xf16>, tensor<320xf16>
  %p = hk.pad %y : tensor<?x320xf16> -> tensor<?x512xf16>
  return %p : tensor<?x512xf16>
}
// Padded with a number other than 0, where no vector ends.
func.func @padded_rows_of_ones(%x: tensor<?x37xbf16>) -> tensor<?x50xbf16> {
  %p = hk.pad %x value 1.0 : tensor<?x37xbf16> -> tensor<?x50xbf16>
  return %p : tensor<?x50xbf16>
}
// Neither a residual nor padding.
func.func @f16_640_unpadded(%x: tensor<?x640xf16>, %w: tensor<640xf16>) -> tensor<?x640xf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x640xf16>, tensor<640xf16>
  %p = hk.pad %y : tensor<?x640xf16>
  return %p : tensor<?x640xf16>
}
func.func @add_bf16_4(%x: tensor<?x4xbf16>, %r: tensor<?x4xbf16>, %w: tensor<4xbf16>) -> (tensor<?x256xbf16>, tensor<?x4xbf16>) {
  %s = hk.add %x, %r : tensor<?x4xbf16> -> tensor<?x4xf32>
  %res = hk.cast %s : tensor<?x4xf32> -> tensor<?x4xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x4xf32>, tensor<4xbf16> -> tensor<?x4xbf16>
  %p = hk.pad %y : tensor<?x4xbf16> -> tensor<?x256xbf16>
  return %p, %res : tensor<?x256xbf16>, tensor<?x4xbf16>
}
// Operands with strides of their own: part of a longer row, every third column.
func.func @add_strided_320(%x: tensor<?x700xbf16>, %r: tensor<?x960xbf16>, %w: tensor<320xbf16>) -> (tensor<?x512xbf16>, tensor<?x320xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x700xbf16>
  %a = tensor.extract_slice %x[0, 17] [%t, 320] [1, 1] : tensor<?x700xbf16> to tensor<?x320xbf16>
  %t2 = tensor.dim %r, %c0 : tensor<?x960xbf16>
  %b = tensor.extract_slice %r[0, 2] [%t2, 320] [1, 3] : tensor<?x960xbf16> to tensor<?x320xbf16>
  %s = hk.add %a, %b : tensor<?x320xbf16> -> tensor<?x320xf32>
  %res = hk.cast %s : tensor<?x320xf32> -> tensor<?x320xbf16>
  %y = hk.rms_norm %s, %w epsilon 1.0e-06 : tensor<?x320xf32>, tensor<320xbf16> -> tensor<?x320xbf16>
  %p = hk.pad %y : tensor<?x320xbf16> -> tensor<?x512xbf16>
  return %p, %res : tensor<?x512xbf16>, tensor<?x320xbf16>
}
