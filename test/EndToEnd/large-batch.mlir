// More products than a grid's z counts (65535): the rest goes to y.
// RUN: hk-compile %s -o %t.so --target=gfx942
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --dim=a.0=70000 --dim=b.0=70000 --check=%s | FileCheck %s
// CHECK: all within their bounds
func.func @f(%a: tensor<?x1x8xbf16>, %b: tensor<?x8x8xbf16>) -> tensor<?x1x8xf32> {
  %y = hk.matmul %a, %b : tensor<?x1x8xbf16>, tensor<?x8x8xbf16> -> tensor<?x1x8xf32>
  return %y : tensor<?x1x8xf32>
}
