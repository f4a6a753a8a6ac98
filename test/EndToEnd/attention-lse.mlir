// Only the log-sum-exp is read: of one attention, and of two whose combination is one launch.
// RUN: hk-compile %s --target=host,gfx942 -o %t.so
// RUN: hk-run %t.so --function=one --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=combined --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=one --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=combined --poison --check=%s | FileCheck %s
// CHECK: all within their bounds

func.func @one(%q: tensor<9x4x64xbf16>, %k: tensor<33x2x64xbf16>, %v: tensor<33x2x64xbf16>) -> tensor<9x4xf32> {
  %x, %a = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<33x2x64xbf16>, tensor<33x2x64xbf16> -> tensor<9x4x64xbf16>, tensor<9x4xf32>
  return %a : tensor<9x4xf32>
}
func.func @combined(%q: tensor<9x4x64xbf16>, %k: tensor<33x2x64xbf16>, %v: tensor<33x2x64xbf16>, %n: tensor<9x2x64xbf16>, %m: tensor<9x2x64xbf16>) -> tensor<9x4xf32> {
  %x, %a = hk.attention %q, %k, %v scale 0.125 : tensor<9x4x64xbf16>, tensor<33x2x64xbf16>, tensor<33x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %y, %b = hk.attention %q, %n, %m scale 0.125 causal : tensor<9x4x64xbf16>, tensor<9x2x64xbf16>, tensor<9x2x64xbf16> -> tensor<9x4x64xf32>, tensor<9x4xf32>
  %o, %l = hk.attention_combine %x, %a, %y, %b : tensor<9x4x64xf32>, tensor<9x4xf32>, tensor<9x4x64xf32>, tensor<9x4xf32> -> tensor<9x4x64xbf16>, tensor<9x4xf32>
  return %l : tensor<9x4xf32>
}
