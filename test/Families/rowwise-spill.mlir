// How many registers a kernel needs only its code tells: one that spills is planned again
// with the next tile. Here sixteen operands, their strides and the constants of a sine need
// more scalar registers than there are, whatever the block; one element at a time fits.
// RUN: hk-compile %s --target=gfx950 --explain -o %t.so | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=a0.0=1 --check=%s | FileCheck %s --check-prefix=NUMBERS

// CHECK: 1 launches
// CHECK: #hk.row_tile<rows = 1, threads = 256, vec = 1, slots = 0>
// CHECK-COUNT-2: not used (registers-exceeded): {{.*}}: its kernel spills
// NUMBERS: all within their bounds
func.func @f(%a0: tensor<?x131072xbf16>, %a1: tensor<?x131072xbf16>, %a2: tensor<?x131072xbf16>, %a3: tensor<?x131072xbf16>, %a4: tensor<?x131072xbf16>, %a5: tensor<?x131072xbf16>, %a6: tensor<?x131072xbf16>, %a7: tensor<?x131072xbf16>, %a8: tensor<?x131072xbf16>, %a9: tensor<?x131072xbf16>, %a10: tensor<?x131072xbf16>, %a11: tensor<?x131072xbf16>, %a12: tensor<?x131072xbf16>, %a13: tensor<?x131072xbf16>, %a14: tensor<?x131072xbf16>, %a15: tensor<?x131072xbf16>) -> tensor<?x131072xbf16> {
  %s1 = hk.add %a0, %a1 : tensor<?x131072xbf16>
  %s2 = hk.add %s1, %a2 : tensor<?x131072xbf16>
  %s3 = hk.add %s2, %a3 : tensor<?x131072xbf16>
  %s4 = hk.add %s3, %a4 : tensor<?x131072xbf16>
  %s5 = hk.add %s4, %a5 : tensor<?x131072xbf16>
  %s6 = hk.add %s5, %a6 : tensor<?x131072xbf16>
  %s7 = hk.add %s6, %a7 : tensor<?x131072xbf16>
  %s8 = hk.add %s7, %a8 : tensor<?x131072xbf16>
  %s9 = hk.add %s8, %a9 : tensor<?x131072xbf16>
  %s10 = hk.add %s9, %a10 : tensor<?x131072xbf16>
  %s11 = hk.add %s10, %a11 : tensor<?x131072xbf16>
  %s12 = hk.add %s11, %a12 : tensor<?x131072xbf16>
  %s13 = hk.add %s12, %a13 : tensor<?x131072xbf16>
  %s14 = hk.add %s13, %a14 : tensor<?x131072xbf16>
  %s15 = hk.add %s14, %a15 : tensor<?x131072xbf16>
  %t0 = hk.sin %s15 : tensor<?x131072xbf16>
  %t1 = hk.softmax %t0 : tensor<?x131072xbf16>
  return %t1 : tensor<?x131072xbf16>
}
