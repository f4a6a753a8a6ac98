// RMS norm + MXFP4 quantisation; ragged last block.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=4
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,tiny,nan,inf

func.func @norm_256(%x: tensor<?x256xbf16>, %w: tensor<256xbf16>) -> (tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>) {
  %y = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xbf16>
  %q, %s = hk.quantize_mx even %y : tensor<?x256xbf16> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  return %q, %s : tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
}
func.func @quant_200(%x: tensor<?x200xbf16>) -> (tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x200xbf16> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
}
