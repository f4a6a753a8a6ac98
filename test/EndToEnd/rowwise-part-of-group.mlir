// A loop over the columns behind a gate ends within the group that its operand is quantised in: no lane of
// it has the group's other columns, so that each reduces the group for itself.
// RUN: hk-compile %s --target=gfx942,gfx950 -o %t.so
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=gate --dim=x.0=5 --check=%s --poison | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --function=gate --dim=x.0=5 --check=%s --poison | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=heads --dim=x.0=5 --check=%s --poison | FileCheck %s
// CHECK: all within their bounds
func.func @gate(%x: tensor<?x48xf16>) -> (tensor<?x1xf32>, tensor<?x24xbf16>) {
  %q, %s = hk.quantize per_group %x group 64 : tensor<?x48xf16> -> tensor<?x48xf8E5M2FNUZ>, tensor<?x1xf32>
  %d = hk.dequantize %q, %s group 64 : tensor<?x48xf8E5M2FNUZ>, tensor<?x1xf32> -> tensor<?x48xf16>
  %y = hk.gated_activation gelu %d : tensor<?x48xf16> -> tensor<?x24xbf16>
  return %s, %y : tensor<?x1xf32>, tensor<?x24xbf16>
}
// The same of heads, of which the loop ends within one.
func.func @heads(%x: tensor<?x3x8xf16>) -> tensor<?x12xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x3x8xf16>
  %n = hk.rms_norm %x epsilon 1.0e-06 : tensor<?x3x8xf16>
  %f = tensor.collapse_shape %n [[0], [1, 2]] : tensor<?x3x8xf16> into tensor<?x24xf16>
  %y = hk.gated_activation relu %f : tensor<?x24xf16> -> tensor<?x12xf32>
  return %y : tensor<?x12xf32>
}
