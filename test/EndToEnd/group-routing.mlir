// A gate that writes its groups of experts in primitives becomes one launch, and gives
// what the interpreter computes from the graph as it was written: with scores of few values, most of which are equal, and all equal, NaN
// and infinite, for odd counts of tokens.
// RUN: hk-compile %s -o %t.so --target=host,gfx942 --explain | FileCheck %s --check-prefix=LAUNCHES
// LAUNCHES: 1 launches in @gate, 1 launches in @ties, 1 launches in @zeros

// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=255 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=0 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=7 --data=equal | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=7 --data=nan | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=ties --dim=x.0=1 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=ties --dim=x.0=333 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=ties --dim=x.0=33 --data=equal | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=ties --dim=x.0=33 --data=nan | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=ties --dim=x.0=33 --data=inf | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=101 | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=9 --data=nan | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=9 --data=inf | FileCheck %s
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=9 --data=huge | FileCheck %s

// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=gate --dim=x.0=7 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=ties --dim=x.0=33 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=ties --dim=x.0=3 --data=nan | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=zeros --dim=x.0=17 | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=zeros --dim=x.0=5 --data=inf | FileCheck %s
// CHECK: all within their bounds

// DeepSeek-V3: 8 of 256 experts, from 4 of 8 groups; a bias that only selects.
func.func @gate(%x: tensor<?x256xf32> {hk.name = "x"}, %bias: tensor<256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x256xf32>
  %numbers = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %p = hk.sigmoid %x : tensor<?x256xf32>
  %c = hk.add %p, %bias : tensor<?x256xf32>, tensor<256xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 32] : tensor<?x256xf32> into tensor<?x8x32xf32>
  %v, %i = hk.topk %g : tensor<?x8x32xf32> -> tensor<?x8x2xf32>, tensor<?x8x2xi32>
  %s = hk.reduce sum %v : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 4] : tensor<?x4xi32> into tensor<?x1x4xi32>
  %hits = hk.compare eq %ids, %numbers : tensor<?x1x4xi32>, tensor<8x1xi32> -> tensor<?x8x4xi1>
  %ones = hk.cast %hits : tensor<?x8x4xi1> -> tensor<?x8x4xf32>
  %count = hk.reduce sum %ones : tensor<?x8x4xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare ne %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0xFF800000 : tensor<?x8x1xi1>, tensor<?x8x32xf32> -> tensor<?x8x32xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x32xf32> into tensor<?x256xf32>
  %t, %chosen = hk.topk %f : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %own = hk.gather_last %p, %chosen : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
  %sum = hk.reduce sum %own : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = hk.div %own, %sum : tensor<?x8xf32>, tensor<?x1xf32>
  %y = hk.mul %w, 2.5 : tensor<?x8xf32>
  return %y, %chosen : tensor<?x8xf32>, tensor<?x8xi32>
}
// Scores that are small integers; the hits lie the other way round, as a one-hot of
// the last dim has them.
func.func @ties(%x: tensor<?x64xf32> {hk.name = "x"}) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %numbers = hk.constant dense<[[[0, 1, 2, 3]]]> : tensor<1x1x4xi32>
  %c = hk.round %x : tensor<?x64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 4, 16] : tensor<?x64xf32> into tensor<?x4x16xf32>
  %v, %i = hk.topk %g : tensor<?x4x16xf32> -> tensor<?x4x2xf32>, tensor<?x4x2xi32>
  %s = hk.reduce sum %v : tensor<?x4x2xf32> -> tensor<?x4x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x4x1xf32> into tensor<?x4xf32>
  %b, %best = hk.topk %r : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 2, 1] : tensor<?x2xi32> into tensor<?x2x1xi32>
  %hits = hk.compare eq %ids, %numbers : tensor<?x2x1xi32>, tensor<1x1x4xi32> -> tensor<?x2x4xi1>
  %ones = hk.cast %hits : tensor<?x2x4xi1> -> tensor<?x2x4xf32>
  %columns = hk.transpose %ones [0, 2, 1] : tensor<?x2x4xf32> -> tensor<?x4x2xf32>
  %any = hk.reduce max %columns : tensor<?x4x2xf32> -> tensor<?x4x1xf32>
  %goes = hk.compare eq %any, 0.0 : tensor<?x4x1xf32> -> tensor<?x4x1xi1>
  %k = hk.select %goes, 0xFF800000, %g : tensor<?x4x1xi1>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x4x16xf32> into tensor<?x64xf32>
  %t, %chosen = hk.topk %f : tensor<?x64xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  return %t, %chosen : tensor<?x6xf32>, tensor<?x6xi32>
}
// Elements of other groups become 0, and more are taken than the groups have that are
// larger: the first zeros of the row, wherever they are.
func.func @zeros(%x: tensor<?x64xf32> {hk.name = "x"}) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %numbers = hk.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>
  %q = hk.round %x : tensor<?x64xf32>
  %c = hk.relu %q : tensor<?x64xf32>
  %g = tensor.expand_shape %c [[0], [1, 2]] output_shape [%n, 8, 8] : tensor<?x64xf32> into tensor<?x8x8xf32>
  %s = hk.reduce max %g : tensor<?x8x8xf32> -> tensor<?x8x1xf32>
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x8x1xf32> into tensor<?x8xf32>
  %b, %best = hk.topk %r : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %ids = tensor.expand_shape %best [[0], [1, 2]] output_shape [%n, 1, 2] : tensor<?x2xi32> into tensor<?x1x2xi32>
  %hits = hk.compare eq %ids, %numbers : tensor<?x1x2xi32>, tensor<8x1xi32> -> tensor<?x8x2xi1>
  %ones = hk.cast %hits : tensor<?x8x2xi1> -> tensor<?x8x2xf32>
  %count = hk.reduce sum %ones : tensor<?x8x2xf32> -> tensor<?x8x1xf32>
  %stays = hk.compare gt %count, 0.0 : tensor<?x8x1xf32> -> tensor<?x8x1xi1>
  %k = hk.select %stays, %g, 0.0 : tensor<?x8x1xi1>, tensor<?x8x8xf32> -> tensor<?x8x8xf32>
  %f = tensor.collapse_shape %k [[0], [1, 2]] : tensor<?x8x8xf32> into tensor<?x64xf32>
  %t, %chosen = hk.topk %f : tensor<?x64xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  return %t, %chosen : tensor<?x8xf32>, tensor<?x8xi32>
}
