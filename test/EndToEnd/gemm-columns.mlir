// Right operands [K, N] in the deep tile of gfx942 and gfx950: rows, columns and k that are no
// multiples of a tile, rows of columns at multiples of 16 and of 2 bytes, NaN and infinity.
// RUN: hk-compile %s --target=gfx942 --split-k=1 -o %t-gfx942.so --explain | FileCheck %s --check-prefix=TILE
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t-gfx942.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=0 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t-gfx942.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=1 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t-gfx942.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=33 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t-gfx942.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=70 --data=nan | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t-gfx942.so --device=hip:0 --check=%s --function=bytes --random=1 --dim=x.0=65 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t-gfx942.so --device=hip:0 --check=%s --function=odd --random=1 --dim=x.0=31 | FileCheck %s
// RUN: hk-compile %s --target=gfx950 --split-k=1 -o %t-gfx950.so --explain | FileCheck %s --check-prefix=TILE
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t-gfx950.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=0 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t-gfx950.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=1 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t-gfx950.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=33 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t-gfx950.so --device=hip:0 --check=%s --function=columns --random=1 --dim=x.0=70 --data=nan | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t-gfx950.so --device=hip:0 --check=%s --function=bytes --random=1 --dim=x.0=65 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 hk-run %t-gfx950.so --device=hip:0 --check=%s --function=odd --random=1 --dim=x.0=31 | FileCheck %s
// TILE-DAG: bm = 32, bn = 64, bk = 128, wm = 1, wn = 2
// TILE-DAG: bm = 32, bn = 64, bk = 256, wm = 1, wn = 2
// CHECK: all within their bounds
func.func @columns(%x: tensor<?x200xbf16> {hk.name = "x"}, %w: tensor<200x136xbf16>) -> tensor<?x136xbf16> {
  %0 = hk.matmul %x, %w : tensor<?x200xbf16>, tensor<200x136xbf16> -> tensor<?x136xbf16>
  return %0 : tensor<?x136xbf16>
}
func.func @bytes(%x: tensor<?x272xi8> {hk.name = "x"}, %w: tensor<272x80xi8>) -> tensor<?x80xi32> {
  %0 = hk.matmul %x, %w : tensor<?x272xi8>, tensor<272x80xi8> -> tensor<?x80xi32>
  return %0 : tensor<?x80xi32>
}
func.func @odd(%x: tensor<?x131xf16> {hk.name = "x"}, %w: tensor<131x67xf16>) -> tensor<?x67xf16> {
  %0 = hk.matmul %x, %w : tensor<?x131xf16>, tensor<131x67xf16> -> tensor<?x67xf16>
  return %0 : tensor<?x67xf16>
}
