// Soft caps on AMD: a wave whose scores are all far below the cap takes a shorter way to the same bits,
// so scores here lie on both sides, in every tile, in some, and in none.
// RUN: hk-compile %s --target=gfx942,gfx950 -o %t.so
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=near --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=near --poison --data=nan --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=some --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=some --poison --data=nan --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=far --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --function=near --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --function=near --poison --data=nan --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --function=some --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --function=some --poison --data=nan --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --function=far --poison --check=%s | FileCheck %s
// CHECK: all within their bounds
func.func @near(%q: tensor<1x70x4x128xbf16>, %k: tensor<1x90x2x128xbf16>, %v: tensor<1x90x2x128xbf16>) -> (tensor<1x70x4x128xbf16>, tensor<1x70x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v scale 0.0884 causal softcap 1.5 : tensor<1x70x4x128xbf16>, tensor<1x90x2x128xbf16>, tensor<1x90x2x128xbf16> -> tensor<1x70x4x128xbf16>, tensor<1x70x4xf32>
  return %0, %1 : tensor<1x70x4x128xbf16>, tensor<1x70x4xf32>
}
func.func @some(%q: tensor<1x70x4x128xbf16>, %k: tensor<1x390x2x128xbf16>, %v: tensor<1x390x2x128xbf16>) -> (tensor<1x70x4x128xbf16>, tensor<1x70x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v scale 0.0884 causal softcap 7.5 : tensor<1x70x4x128xbf16>, tensor<1x390x2x128xbf16>, tensor<1x390x2x128xbf16> -> tensor<1x70x4x128xbf16>, tensor<1x70x4xf32>
  return %0, %1 : tensor<1x70x4x128xbf16>, tensor<1x70x4xf32>
}
func.func @far(%q: tensor<1x70x4x64xf16>, %k: tensor<1x390x2x64xf16>, %v: tensor<1x390x2x64xf16>) -> (tensor<1x70x4x64xf16>, tensor<1x70x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v scale -0.125 window_left 90 softcap 50.0 : tensor<1x70x4x64xf16>, tensor<1x390x2x64xf16>, tensor<1x390x2x64xf16> -> tensor<1x70x4x64xf16>, tensor<1x70x4xf32>
  return %0, %1 : tensor<1x70x4x64xf16>, tensor<1x70x4xf32>
}
