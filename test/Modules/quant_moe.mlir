// MXFP quantisation of activations and weights of experts, along the last or another
// axis, of lengths that are no multiple of 32; back again; fp8 with a given scale. Ties
// of elements go to even.
// HK-LAUNCHES: 1
// HK-ARGS: --range=expert=0:3
// HK-DIMS: x.0=5
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @fp4_up(%x: tensor<?x2880xbf16>) -> (tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x2880xbf16> -> tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>
  return %q, %s : tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU>
}
func.func @fp4_down(%x: tensor<?x200xf16>) -> (tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x200xf16> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
}
func.func @fp4_up_3d(%x: tensor<?x3x70xf32>) -> (tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x3x70xf32> -> tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>
  return %q, %s : tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU>
}
func.func @e4m3_up(%x: tensor<?x704xbf16>) -> (tensor<?x704xf8E4M3FN>, tensor<?x22xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x704xbf16> -> tensor<?x704xf8E4M3FN>, tensor<?x22xf8E8M0FNU>
  return %q, %s : tensor<?x704xf8E4M3FN>, tensor<?x22xf8E8M0FNU>
}
func.func @e4m3_down(%x: tensor<?x33xf32>) -> (tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x33xf32> -> tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}
func.func @e5m2_up(%x: tensor<?x200xf16>) -> (tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x200xf16> -> tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU>
}
func.func @e5m2_down(%x: tensor<?x2x64xbf16>) -> (tensor<?x2x64xf8E5M2>, tensor<?x2x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx floor %x : tensor<?x2x64xbf16> -> tensor<?x2x64xf8E5M2>, tensor<?x2x2xf8E8M0FNU>
  return %q, %s : tensor<?x2x64xf8E5M2>, tensor<?x2x2xf8E8M0FNU>
}
func.func @e5m2_even(%x: tensor<?x129xf32>) -> (tensor<?x129xf8E5M2>, tensor<?x5xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx even %x : tensor<?x129xf32> -> tensor<?x129xf8E5M2>, tensor<?x5xf8E8M0FNU>
  return %q, %s : tensor<?x129xf8E5M2>, tensor<?x5xf8E8M0FNU>
}
func.func @fp4_up_axis_1(%x: tensor<?x96x40xbf16>) -> (tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU>) {
  %t = hk.transpose %x [0, 2, 1] : tensor<?x96x40xbf16> -> tensor<?x40x96xbf16>
  %q, %s = hk.quantize_mx ceil %t : tensor<?x40x96xbf16> -> tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU>
  return %q, %s : tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU>
}
func.func @e4m3_down_axis_1(%x: tensor<?x50x24xf16>) -> (tensor<?x24x50xf8E4M3FN>, tensor<?x24x2xf8E8M0FNU>) {
  %t = hk.transpose %x [0, 2, 1] : tensor<?x50x24xf16> -> tensor<?x24x50xf16>
  %q, %s = hk.quantize_mx floor %t : tensor<?x24x50xf16> -> tensor<?x24x50xf8E4M3FN>, tensor<?x24x2xf8E8M0FNU>
  return %q, %s : tensor<?x24x50xf8E4M3FN>, tensor<?x24x2xf8E8M0FNU>
}
func.func @fp4_to_bf16(%x: tensor<?x2880xf4E2M1FN>, %s: tensor<?x90xf8E8M0FNU>) -> tensor<?x2880xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x2880xf4E2M1FN>, tensor<?x90xf8E8M0FNU> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}
func.func @fp4_to_f16(%x: tensor<?x3x70xf4E2M1FN>, %s: tensor<?x3x3xf8E8M0FNU>) -> tensor<?x3x70xf16> {
  %y = hk.dequantize %x, %s : tensor<?x3x70xf4E2M1FN>, tensor<?x3x3xf8E8M0FNU> -> tensor<?x3x70xf16>
  return %y : tensor<?x3x70xf16>
}
func.func @e4m3_to_bf16(%x: tensor<?x33xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x33xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x33xf8E4M3FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x33xbf16>
  return %y : tensor<?x33xbf16>
}
func.func @e5m2_to_f16(%x: tensor<?x200xf8E5M2>, %s: tensor<?x7xf8E8M0FNU>) -> tensor<?x200xf16> {
  %y = hk.dequantize %x, %s : tensor<?x200xf8E5M2>, tensor<?x7xf8E8M0FNU> -> tensor<?x200xf16>
  return %y : tensor<?x200xf16>
}
func.func @fp4_to_bf16_axis_1(%x: tensor<?x40x96xf4E2M1FN>, %s: tensor<?x40x3xf8E8M0FNU>) -> tensor<?x96x40xbf16> {
  %y = hk.dequantize %x, %s : tensor<?x40x96xf4E2M1FN>, tensor<?x40x3xf8E8M0FNU> -> tensor<?x40x96xbf16>
  %t = hk.transpose %y [0, 2, 1] : tensor<?x40x96xbf16> -> tensor<?x96x40xbf16>
  return %t : tensor<?x96x40xbf16>
}
func.func @static_e4m3(%x: tensor<?x1024xbf16>, %scale: tensor<1xf32>) -> tensor<?x1024xf8E4M3FN> {
  %q = hk.quantize_static %x, %scale : tensor<?x1024xbf16>, tensor<1xf32> -> tensor<?x1024xf8E4M3FN>
  return %q : tensor<?x1024xf8E4M3FN>
}
func.func @static_fnuz_experts(%x: tensor<?x7x50xf32>, %scale: tensor<1xf32>) -> tensor<?x7x50xf8E4M3FNUZ> {
  %q = hk.quantize_static %x, %scale : tensor<?x7x50xf32>, tensor<1xf32> -> tensor<?x7x50xf8E4M3FNUZ>
  return %q : tensor<?x7x50xf8E4M3FNUZ>
}
func.func @static_e4m3_f16(%x: tensor<?x75xf16>, %scale: tensor<1xf32>) -> tensor<?x75xf8E4M3FN> {
  %q = hk.quantize_static %x, %scale : tensor<?x75xf16>, tensor<1xf32> -> tensor<?x75xf8E4M3FN>
  return %q : tensor<?x75xf8E4M3FN>
}
// Activations smoothed by the factors of their expert.
func.func @smooth_of_expert(%x: tensor<?x200xbf16>, %xs: tensor<4x200xf32>, %expert: tensor<?xi32>) -> (tensor<?x200xi8>, tensor<?x1xf32>) {
  %f = hk.gather_rows %xs, %expert : tensor<4x200xf32>, tensor<?xi32> -> tensor<?x200xf32>
  %m = hk.mul %x, %f : tensor<?x200xbf16>, tensor<?x200xf32> -> tensor<?x200xf32>
  %q, %s = hk.quantize per_token %m : tensor<?x200xf32> -> tensor<?x200xi8>, tensor<?x1xf32>
  return %q, %s : tensor<?x200xi8>, tensor<?x1xf32>
}
// The scale's exponent as the OCP specification has it, and rounded up.
func.func @fp4_ocp(%x: tensor<?x70xbf16>) -> (tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ocp %x : tensor<?x70xbf16> -> tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x70xf4E2M1FN>, tensor<?x3xf8E8M0FNU>
}
func.func @e4m3_ocp_ceil(%x: tensor<?x64xf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ocp_ceil %x : tensor<?x64xf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}
func.func @e5m2_ocp(%x: tensor<?x33xf32>) -> (tensor<?x33xf8E5M2>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ocp %x : tensor<?x33xf32> -> tensor<?x33xf8E5M2>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x33xf8E5M2>, tensor<?x2xf8E8M0FNU>
}
