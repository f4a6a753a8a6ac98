// A slice of odd columns beside a rotary embedding of neighbours: the embedding's pairs are whole vectors of
// a product's columns, so the slice is not stored by the product's kernel.
// RUN: hk-compile %s --target=host,gfx942 -o %t.so
// RUN: hk-run %t.so --dim=x.0=5 --dim=p.0=5 --check=%s --poison | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --dim=x.0=5 --dim=p.0=5 --check=%s --poison | FileCheck %s
// CHECK: all within their bounds
func.func @heads(%x: tensor<?x48xbf16>, %w: tensor<48x24xbf16>, %cos: tensor<16x6xf32>, %sin: tensor<16x6xf32>, %p: tensor<?xi32>) -> (tensor<?x1x12xbf16>, tensor<?x3xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x48xbf16>
  %y = hk.matmul %x, %w : tensor<?x48xbf16>, tensor<48x24xbf16> -> tensor<?x24xbf16>
  %a = tensor.extract_slice %y[0, 0] [%t, 12] [1, 1] : tensor<?x24xbf16> to tensor<?x12xbf16>
  %h = tensor.expand_shape %a [[0], [1, 2]] output_shape [%t, 1, 12] : tensor<?x12xbf16> into tensor<?x1x12xbf16>
  %r = hk.rope gptj %h, %cos, %sin positions %p : tensor<?x1x12xbf16>, tensor<16x6xf32>, tensor<16x6xf32> positions tensor<?xi32>
  %b = tensor.extract_slice %y[0, 15] [%t, 3] [1, 1] : tensor<?x24xbf16> to tensor<?x3xbf16>
  %n = hk.neg %b : tensor<?x3xbf16>
  return %r, %n : tensor<?x1x12xbf16>, tensor<?x3xbf16>
}
