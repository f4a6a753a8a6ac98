// Elements of 4 bits in row-wise kernels: read one by one and in vectors, moved, and
// widened; the rows of a table of codes.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --check=%s --function=embedding --dim=ids.0=9 --range=ids=-1:40 --range=table=0:15 --range=zero=0:15 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=embedding --dim=ids.0=0 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=moved --range=a=-8:7 --range=b=-8:7 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=widened --range=a=0:15 --range=q=-128:127 --range=z=-128:127 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=embedding --dim=ids.0=9 --range=ids=-1:40 --range=table=0:15 --range=zero=0:15 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=moved --range=a=-8:7 --range=b=-8:7 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=widened --range=a=0:15 --range=q=-128:127 --range=z=-128:127 | FileCheck %s
// CHECK: all within their bounds

func.func @embedding(%ids: tensor<?xi32>, %table: tensor<40x96xui4>, %scale: tensor<40x4xf16>, %zero: tensor<40x4xui4>) -> tensor<?x96xbf16> {
  %w = hk.dequantize %table, %scale, %zero group 24 : tensor<40x96xui4>, tensor<40x4xf16>, tensor<40x4xui4> -> tensor<40x96xbf16>
  %y = hk.gather_rows %w, %ids : tensor<40x96xbf16>, tensor<?xi32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @moved(%a: tensor<6x10xi4>, %b: tensor<6x4xi4>) -> (tensor<14x6xi4>, tensor<6x14xi8>) {
  %c = hk.concat 1 (%a, %b) : tensor<6x10xi4>, tensor<6x4xi4> -> tensor<6x14xi4>
  %t = hk.transpose %c [1, 0] : tensor<6x14xi4> -> tensor<14x6xi4>
  %w = hk.cast %c : tensor<6x14xi4> -> tensor<6x14xi8>
  return %t, %w : tensor<14x6xi4>, tensor<6x14xi8>
}
func.func @widened(%a: tensor<5x18xui4>, %q: tensor<5x30xi8>, %s: tensor<5x3xf32>, %z: tensor<5x3xi8>) -> (tensor<5x18xf32>, tensor<5x30xf32>) {
  %f = hk.cast %a : tensor<5x18xui4> -> tensor<5x18xf32>
  %d = hk.dequantize %q, %s, %z group 12 : tensor<5x30xi8>, tensor<5x3xf32>, tensor<5x3xi8> -> tensor<5x30xf32>
  return %f, %d : tensor<5x18xf32>, tensor<5x30xf32>
}
