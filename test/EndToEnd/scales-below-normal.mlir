// Quotients by computed scales below 2^-126: such a scale has few bits, so that the
// largest quotient lies up to half the limit of the type beyond it. It is cut as at
// any other scale and becomes neither NaN nor another code.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --function=whole --dim=x.0=70 --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=whole --dim=x.0=70 --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=whole --dim=x.0=70 --check=%s
// RUN: hk-run %t.so --function=odd --dim=x.0=70 --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=odd --dim=x.0=70 --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=odd --dim=x.0=70 --check=%s
// RUN: hk-run %t.so --function=int8 --dim=x.0=70 --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --function=int8 --dim=x.0=70 --check=%s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --poison --function=int8 --dim=x.0=70 --check=%s

func.func @whole(%x: tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf32>, tensor<?x64xf8E4M3FN>, tensor<?x1xf32>, tensor<?x64xf8E4M3FNUZ>, tensor<?x2xf32>, tensor<?x64xf8E5M2>, tensor<?x2xf32>) {
  %least = hk.constant dense<1.0e-42> : tensor<f32>
  %y = hk.mul %x, %least : tensor<?x64xf32>, tensor<f32>
  %q0, %s0 = hk.quantize per_group %y group 32 : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf32>
  %q1, %s1 = hk.quantize per_token %y : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x1xf32>
  %q2, %s2 = hk.quantize per_group %y group 32 : tensor<?x64xf32> -> tensor<?x64xf8E4M3FNUZ>, tensor<?x2xf32>
  %q3, %s3 = hk.quantize per_group %y group 32 : tensor<?x64xf32> -> tensor<?x64xf8E5M2>, tensor<?x2xf32>
  return %q0, %s0, %q1, %s1, %q2, %s2, %q3, %s3 : tensor<?x64xf8E4M3FN>, tensor<?x2xf32>, tensor<?x64xf8E4M3FN>, tensor<?x1xf32>, tensor<?x64xf8E4M3FNUZ>, tensor<?x2xf32>, tensor<?x64xf8E5M2>, tensor<?x2xf32>
}

func.func @odd(%x: tensor<?x50xf32>) -> (tensor<?x50xf8E4M3FN>, tensor<?x1xf32>, tensor<?x50xf8E4M3FNUZ>, tensor<?x1xf32>, tensor<?x50xf8E4M3FN>, tensor<?x7xf32>) {
  %least = hk.constant dense<1.0e-42> : tensor<f32>
  %y = hk.mul %x, %least : tensor<?x50xf32>, tensor<f32>
  %q0, %s0 = hk.quantize per_token %y : tensor<?x50xf32> -> tensor<?x50xf8E4M3FN>, tensor<?x1xf32>
  %q1, %s1 = hk.quantize per_token %y : tensor<?x50xf32> -> tensor<?x50xf8E4M3FNUZ>, tensor<?x1xf32>
  %q2, %s2 = hk.quantize per_group %y group 8 : tensor<?x50xf32> -> tensor<?x50xf8E4M3FN>, tensor<?x7xf32>
  return %q0, %s0, %q1, %s1, %q2, %s2 : tensor<?x50xf8E4M3FN>, tensor<?x1xf32>, tensor<?x50xf8E4M3FNUZ>, tensor<?x1xf32>, tensor<?x50xf8E4M3FN>, tensor<?x7xf32>
}

func.func @int8(%x: tensor<?x96xf32>) -> (tensor<?x96xi8>, tensor<?x3xf32>, tensor<?x96xi8>, tensor<?x1xf32>) {
  %least = hk.constant dense<1.0e-42> : tensor<f32>
  %y = hk.mul %x, %least : tensor<?x96xf32>, tensor<f32>
  %q0, %s0 = hk.quantize per_group %y group 32 : tensor<?x96xf32> -> tensor<?x96xi8>, tensor<?x3xf32>
  %q1, %s1 = hk.quantize per_token %y : tensor<?x96xf32> -> tensor<?x96xi8>, tensor<?x1xf32>
  return %q0, %s0, %q1, %s1 : tensor<?x96xi8>, tensor<?x3xf32>, tensor<?x96xi8>, tensor<?x1xf32>
}
