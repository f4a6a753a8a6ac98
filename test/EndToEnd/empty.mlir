// Static sizes of 0: a kernel whose results have no elements is none, and one that
// reads no elements compiles for every chip.
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --info | FileCheck %s --check-prefix=INFO
// RUN: hk-run %t.so --function=softmax --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=sum --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=product --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=sum --check=%s | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=topk --check=%s | FileCheck %s
// CHECK: all within their bounds
// INFO: "sections"
// INFO: "name": "softmax"
// INFO-NEXT: "launches": 0
// INFO: "name": "sum"
// INFO-NEXT: "launches": 1

func.func @softmax(%x: tensor<4x0xf32>) -> tensor<4x0xf32> {
  %y = hk.softmax %x : tensor<4x0xf32> -> tensor<4x0xf32>
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
  %v, %i = hk.topk %x ties lowest_index order by_value : tensor<0x64xf32> -> tensor<0x4xf32>, tensor<0x4xi32>
  return %v, %i : tensor<0x4xf32>, tensor<0x4xi32>
}
