// Static sizes of 0: a kernel whose results have no elements is none, and one that
// reads no elements compiles for every chip.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --info | FileCheck %s --check-prefix=INFO
// RUN: hk-run %t.so --function=softmax --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=sum --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=product --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=turned --random=1 --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=sum --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=topk --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=viewed --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=narrow --dim=x.0=3 --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=narrow --dim=x.0=3 --poison --check=%s | FileCheck %s
// CHECK: all within their bounds
// INFO: "sections"
// INFO: "name": "softmax"
// INFO-NEXT: "launches": 0
// INFO: "name": "sum"
// INFO-NEXT: "launches": 1

func.func @softmax(%x: tensor<4x0xf32>) -> tensor<4x0xf32> {
  %y = hk.softmax %x : tensor<4x0xf32>
  return %y : tensor<4x0xf32>
}
func.func @sum(%x: tensor<4x0xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
  %y = hk.reduce sum %x : tensor<4x0xf32> -> tensor<4x1xf32>
  %z = hk.reduce max %x : tensor<4x0xf32> -> tensor<4x1xf32>
  return %y, %z : tensor<4x1xf32>, tensor<4x1xf32>
}
func.func @product(%x: tensor<4x8xbf16>, %w: tensor<8x0xbf16>) -> tensor<4x0xf32> {
  %y = hk.matmul %x, %w : tensor<4x8xbf16>, tensor<8x0xbf16> -> tensor<4x0xf32>
  return %y : tensor<4x0xf32>
}
func.func @topk(%x: tensor<0x64xf32>) -> (tensor<0x4xf32>, tensor<0x4xi32>) {
  %v, %i = hk.topk %x : tensor<0x64xf32> -> tensor<0x4xf32>, tensor<0x4xi32>
  return %v, %i : tensor<0x4xf32>, tensor<0x4xi32>
}
// Statistics of rows that are columns of no elements.
func.func @turned(%x: tensor<2x0x4xf32>) -> tensor<2x1x4xf32> {
  %t = hk.transpose %x [0, 2, 1] : tensor<2x0x4xf32> -> tensor<2x4x0xf32>
  %m = hk.reduce max %t : tensor<2x4x0xf32> -> tensor<2x4x1xf32>
  %d = hk.sub %t, %m : tensor<2x4x0xf32>, tensor<2x4x1xf32>
  %e = hk.exp %d : tensor<2x4x0xf32>
  %s = hk.reduce sum %e : tensor<2x4x0xf32> -> tensor<2x4x1xf32>
  %l = hk.log %s : tensor<2x4x1xf32>
  %y = hk.add %l, %m : tensor<2x4x1xf32>
  %c = tensor.collapse_shape %y [[0], [1, 2]] : tensor<2x4x1xf32> into tensor<2x4xf32>
  %z = tensor.expand_shape %c [[0], [1, 2]] output_shape [2, 1, 4] : tensor<2x4xf32> into tensor<2x1x4xf32>
  return %z : tensor<2x1x4xf32>
}
// A result that is a view of what no kernel makes.
func.func @viewed(%x: tensor<0x6xf32>) -> (tensor<0xf32>, tensor<0x2x3xf32>) {
  %y = hk.neg %x : tensor<0x6xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<0x6xf32> into tensor<0xf32>
  %e = tensor.expand_shape %y [[0], [1, 2]] output_shape [0, 2, 3] : tensor<0x6xf32> into tensor<0x2x3xf32>
  return %c, %e : tensor<0xf32>, tensor<0x2x3xf32>
}
// Rows of one column and of none in one kernel.
func.func @narrow(%x: tensor<?x1xf32>) -> (tensor<?x1xbf16>, tensor<?x0xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1xf32>
  %a = hk.abs %x : tensor<?x1xf32>
  %none = tensor.extract_slice %a[0, 0] [%n, 0] [1, 1] : tensor<?x1xf32> to tensor<?x0xf32>
  %y = hk.neg %a : tensor<?x1xf32> -> tensor<?x1xbf16>
  %z = hk.exp %none : tensor<?x0xf32>
  return %y, %z : tensor<?x1xbf16>, tensor<?x0xf32>
}
