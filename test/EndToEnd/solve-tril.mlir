// The inverse of I + A of chunks against f64, where A is of normalised keys, as it is in a
// layer: sizes of flash-linear-attention's tests. On the host, then as code objects in the
// emulator, which is slow: few tokens.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: %python %S/Inputs/solve_tril.py %t.so %t.host host 1x63x1x16 2x500x4x32 2x1000x5x64 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 %python %S/Inputs/solve_tril.py %t.so %t.942 hip:0 1x63x1x16 1x100x4x32 1x130x5x64 | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 %python %S/Inputs/solve_tril.py %t.so %t.950 hip:0 1x63x1x16 1x100x4x32 1x130x5x64 | FileCheck %s
// CHECK: all agree
func.func @c16(%a: tensor<?x?x1x16xf32> {hk.name = "a"}) -> (tensor<?x?x1x16xf32> {hk.name = "x"}) {
  %x = hk.solve_tril %a : tensor<?x?x1x16xf32> -> tensor<?x?x1x16xf32>
  return %x : tensor<?x?x1x16xf32>
}
func.func @c32(%a: tensor<?x?x4x32xf32> {hk.name = "a"}) -> (tensor<?x?x4x32xf32> {hk.name = "x"}) {
  %x = hk.solve_tril %a : tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32>
  return %x : tensor<?x?x4x32xf32>
}
func.func @c64(%a: tensor<?x?x5x64xf32> {hk.name = "a"}) -> (tensor<?x?x5x64xf32> {hk.name = "x"}) {
  %x = hk.solve_tril %a : tensor<?x?x5x64xf32> -> tensor<?x?x5x64xf32>
  return %x : tensor<?x?x5x64xf32>
}
