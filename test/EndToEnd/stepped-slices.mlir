// Slices with a step in the last dim or of one column, which memory has no
// layout for: of a vector, of chosen rows with and without their dim, and of
// what a product or an attention makes.
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// RUN: hk-run %t.so --function=vector --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=rows --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=of_product --dim=x.0=5 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=some_rows --dim=x.0=5 --dim=y.0=3 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=none --dim=x.0=3 --poison --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=column --dim=x.0=3 --dim=y.1=5 --poison --check=%s | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --check=%s --function=rows | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --check=%s --function=of_product --dim=x.0=5 | FileCheck %s
// CHECK: all within their bounds

func.func @vector(%x: tensor<130xf32>) -> (tensor<43xf32>, tensor<65xf32>) {
  %s = tensor.extract_slice %x[1] [43] [3] : tensor<130xf32> to tensor<43xf32>
  %i = hk.iota : tensor<130xf32>
  %e = tensor.extract_slice %i[0] [65] [2] : tensor<130xf32> to tensor<65xf32>
  %y = hk.mul %e, 0.125 : tensor<65xf32>
  return %s, %y : tensor<43xf32>, tensor<65xf32>
}
func.func @rows(%x: tensor<3x16x130xbf16>) -> (tensor<16x65xbf16>, tensor<65xbf16>, tensor<5x65xbf16>) {
  %a = tensor.extract_slice %x[2, 0, 1] [1, 16, 65] [1, 1, 2] : tensor<3x16x130xbf16> to tensor<16x65xbf16>
  %b = tensor.extract_slice %x[1, 3, 0] [1, 1, 65] [1, 1, 2] : tensor<3x16x130xbf16> to tensor<65xbf16>
  %n = hk.neg %x : tensor<3x16x130xbf16>
  %c = tensor.extract_slice %n[1, 1, 0] [1, 5, 65] [1, 3, 2] : tensor<3x16x130xbf16> to tensor<5x65xbf16>
  %d = hk.exp %c : tensor<5x65xbf16>
  return %a, %b, %d : tensor<16x65xbf16>, tensor<65xbf16>, tensor<5x65xbf16>
}
func.func @of_product(%x: tensor<?x32xbf16>, %w: tensor<64x32xbf16>) -> (tensor<?x32xbf16>, tensor<?x10xf32>, tensor<?x2x32xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xbf16>
  %p = hk.matmul %x, %w transpose_b : tensor<?x32xbf16>, tensor<64x32xbf16> -> tensor<?x64xf32>
  %even = tensor.extract_slice %p[0, 0] [%n, 32] [1, 2] : tensor<?x64xf32> to tensor<?x32xf32>
  %odd = tensor.extract_slice %p[0, 1] [%n, 32] [1, 2] : tensor<?x64xf32> to tensor<?x32xf32>
  %t = hk.tanh %even : tensor<?x32xf32>
  %y = hk.mul %t, %odd : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xbf16>
  %some = tensor.extract_slice %p[0, 24] [%n, 10] [1, 2] : tensor<?x64xf32> to tensor<?x10xf32>
  %h = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 16] : tensor<?x32xbf16> into tensor<?x2x16xbf16>
  %v = tensor.expand_shape %p [[0], [1, 2]] output_shape [%n, 2, 32] : tensor<?x64xf32> into tensor<?x2x32xf32>
  %o = hk.attention %h, %h, %v scale 0.25 causal : tensor<?x2x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x32xf32> -> tensor<?x2x32xbf16>
  %oe = tensor.extract_slice %o[0, 0, 0] [%n, 2, 16] [1, 1, 2] : tensor<?x2x32xbf16> to tensor<?x2x16xbf16>
  %oo = tensor.extract_slice %o[0, 0, 1] [%n, 2, 16] [1, 1, 2] : tensor<?x2x32xbf16> to tensor<?x2x16xbf16>
  %on = hk.neg %oo : tensor<?x2x16xbf16>
  %z = hk.concat 2 (%on, %oe) : tensor<?x2x16xbf16>, tensor<?x2x16xbf16> -> tensor<?x2x32xbf16>
  return %y, %some, %z : tensor<?x32xbf16>, tensor<?x10xf32>, tensor<?x2x32xbf16>
}
// As many rows as another argument has.
func.func @some_rows(%x: tensor<?x33xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %y, %c0 : tensor<?x8xf32>
  %s = tensor.extract_slice %x[0, 11] [%n, 8] [1, 2] : tensor<?x33xf32> to tensor<?x8xf32>
  %z = hk.add %s, %y : tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}
func.func @none(%x: tensor<?x2x20xf32>) -> (tensor<?x0x6xf32>, tensor<?xf32>, tensor<0x0xf32>, tensor<0x0xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x20xf32>
  %s = tensor.extract_slice %x[0, 0, 0] [%n, 0, 6] [1, 2, 3] : tensor<?x2x20xf32> to tensor<?x0x6xf32>
  %y = hk.exp %s : tensor<?x0x6xf32>
  %r = hk.reduce sum %y dims 2 : tensor<?x0x6xf32> -> tensor<?x1x1xf32>
  %z = tensor.collapse_shape %r [[0, 1, 2]] : tensor<?x1x1xf32> into tensor<?xf32>
  %i = tensor.extract_slice %x[0, 0, 1] [0, 0, 1] [2, 1, 1] : tensor<?x2x20xf32> to tensor<0x0xf32>
  %u = hk.concat 0 (%i, %i) : tensor<0x0xf32>, tensor<0x0xf32> -> tensor<0x0xf32>
  return %y, %z, %i, %u : tensor<?x0x6xf32>, tensor<?xf32>, tensor<0x0xf32>, tensor<0x0xf32>
}
func.func @column(%x: tensor<?x8x4xf32>, %y: tensor<1x?x2xbf16>) -> (tensor<?x3xf32>, tensor<8xf32>, tensor<?xbf16>, tensor<f32>, tensor<?x1xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8x4xf32>
  %e = hk.exp %x : tensor<?x8x4xf32>
  %a = tensor.extract_slice %e[0, 2, 3] [%n, 3, 1] [1, 2, 1] : tensor<?x8x4xf32> to tensor<?x3xf32>
  %b = tensor.extract_slice %x[1, 0, 2] [1, 8, 1] [1, 1, 1] : tensor<?x8x4xf32> to tensor<8xf32>
  %d = tensor.extract_slice %y[0, 0, 1] [1, %n, 1] [1, 1, 1] : tensor<1x?x2xbf16> to tensor<?xbf16>
  %s = tensor.extract_slice %e[0, 1, 2] [1, 1, 1] [1, 1, 1] : tensor<?x8x4xf32> to tensor<f32>
  %o = tensor.extract_slice %x[0, 2, 0] [%n, 1, 1] [1, 2, 1] : tensor<?x8x4xf32> to tensor<?x1xf32>
  return %a, %b, %d, %s, %o : tensor<?x3xf32>, tensor<8xf32>, tensor<?xbf16>, tensor<f32>, tensor<?x1xf32>
}
