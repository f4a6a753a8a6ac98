// Scores of 10^9 on AMD: the largest less its rounded self must not be a power of 2^100.
// RUN: hk-compile %s --target=gfx942,gfx950 -o %t.so
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --data=huge --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t.so --device=hip:0 --data=huge --check=%s | FileCheck %s
// CHECK: all within their bounds
func.func @far(%q: tensor<1x70x3x112xf16>, %k: tensor<1x64x3x112xf16>, %v: tensor<1x64x3x128xf16>) -> (tensor<1x70x3x128xbf16>, tensor<1x70x3xf32>) {
  %o, %l = hk.attention %q, %k, %v scale 0.0945 causal window_left 5 : tensor<1x70x3x112xf16>, tensor<1x64x3x112xf16>, tensor<1x64x3x128xf16> -> tensor<1x70x3x128xbf16>, tensor<1x70x3xf32>
  return %o, %l : tensor<1x70x3x128xbf16>, tensor<1x70x3xf32>
}
