// Slices of elements of 4 bits that begin with the second element of a byte: loaded
// one by one or as vectors, in front of a row-wise kernel, of a concatenation, and
// of rows of an odd number of elements, also in part.
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// RUN: hk-run %t.so --function=cast --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=kept --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=joined --dim=x.0=3 --dim=z.0=3 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=steps --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=odd_rows --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=even_of_odd --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=even_row_of_odd --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=cast --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=kept --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --function=joined --dim=x.0=3 --dim=z.0=3 --poison --check=%s | FileCheck %s
// CHECK: all within their bounds

func.func @cast(%x: tensor<?x10xi4>) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x10xi4>
  %s = tensor.extract_slice %x[0, 3] [%d, 5] [1, 1] : tensor<?x10xi4> to tensor<?x5xi4>
  %y = hk.cast %s : tensor<?x5xi4> -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}
func.func @kept(%x: tensor<?x10xui4>) -> tensor<?x6xui4> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x10xui4>
  %s = tensor.extract_slice %x[0, 3] [%d, 6] [1, 1] : tensor<?x10xui4> to tensor<?x6xui4>
  return %s : tensor<?x6xui4>
}
func.func @joined(%x: tensor<?x4xi4>, %z: tensor<?x6xi4>) -> tensor<?x6xi4> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xi4>
  %s = tensor.extract_slice %x[0, 0] [%d, 3] [1, 1] : tensor<?x4xi4> to tensor<?x3xi4>
  %u = tensor.extract_slice %z[0, 3] [%d, 3] [1, 1] : tensor<?x6xi4> to tensor<?x3xi4>
  %y = hk.concat 1 (%s, %u) : tensor<?x3xi4>, tensor<?x3xi4> -> tensor<?x6xi4>
  return %y : tensor<?x6xi4>
}
func.func @steps(%x: tensor<?x16xi4>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x16xi4>
  %s = tensor.extract_slice %x[0, 1] [%d, 8] [1, 2] : tensor<?x16xi4> to tensor<?x8xi4>
  %y = hk.cast %s : tensor<?x8xi4> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @odd_rows(%x: tensor<?x30xi4>) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x30xi4>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%d, 6, 5] : tensor<?x30xi4> into tensor<?x6x5xi4>
  %s = tensor.extract_slice %e[0, 1, 0] [%d, 1, 5] [1, 1, 1] : tensor<?x6x5xi4> to tensor<?x5xi4>
  %y = hk.cast %s : tensor<?x5xi4> -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}
func.func @even_of_odd(%x: tensor<?x30xi4>) -> tensor<?x6x4xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x30xi4>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%d, 6, 5] : tensor<?x30xi4> into tensor<?x6x5xi4>
  %s = tensor.extract_slice %e[0, 0, 0] [%d, 6, 4] [1, 1, 1] : tensor<?x6x5xi4> to tensor<?x6x4xi4>
  %y = hk.cast %s : tensor<?x6x4xi4> -> tensor<?x6x4xf32>
  return %y : tensor<?x6x4xf32>
}
func.func @even_row_of_odd(%x: tensor<?x30xi4>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x30xi4>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%d, 6, 5] : tensor<?x30xi4> into tensor<?x6x5xi4>
  %s = tensor.extract_slice %e[0, 1, 0] [%d, 1, 4] [1, 1, 1] : tensor<?x6x5xi4> to tensor<?x4xi4>
  %y = hk.cast %s : tensor<?x4xi4> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
