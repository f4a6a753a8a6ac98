// An operator that only moves elements keeps infinities of f8E5M2, which a
// conversion to the type saturates. Rows of 16 are stored whole, of 13 in part.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --data=inf --poison --check=%s --function=whole | FileCheck %s
// RUN: hk-run %t.so --data=inf --poison --check=%s --function=part | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --data=inf --poison --check=%s --function=whole | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --data=inf --poison --check=%s --function=part | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --data=inf --poison --check=%s --function=part | FileCheck %s
// CHECK: all within their bounds

func.func @whole(%x: tensor<8x16xf8E5M2>, %i: tensor<5xi32>) -> (tensor<16x8xf8E5M2>, tensor<5x16xf8E5M2>, tensor<8x20xf8E5M2>) {
  %t = hk.transpose %x [1, 0] : tensor<8x16xf8E5M2> -> tensor<16x8xf8E5M2>
  %g = hk.gather_rows %x, %i : tensor<8x16xf8E5M2>, tensor<5xi32> -> tensor<5x16xf8E5M2>
  %p = hk.pad %x : tensor<8x16xf8E5M2> -> tensor<8x20xf8E5M2>
  return %t, %g, %p : tensor<16x8xf8E5M2>, tensor<5x16xf8E5M2>, tensor<8x20xf8E5M2>
}
func.func @part(%x: tensor<40x13xf8E5M2>, %w: tensor<40x13xf32>) -> (tensor<40x13xf8E5M2>, tensor<80x13xf8E5M2>, tensor<40x13xf8E5M2>) {
  %c = hk.copy %x : tensor<40x13xf8E5M2>
  %y = hk.cast %w : tensor<40x13xf32> -> tensor<40x13xf8E5M2>
  %z = hk.concat 0 (%x, %y) : tensor<40x13xf8E5M2>, tensor<40x13xf8E5M2> -> tensor<80x13xf8E5M2>
  return %c, %z, %y : tensor<40x13xf8E5M2>, tensor<80x13xf8E5M2>, tensor<40x13xf8E5M2>
}
