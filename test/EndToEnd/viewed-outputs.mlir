// A result that views what a kernel writes in two steps, beside another reader of the
// first step.
//
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950
// RUN: hk-run %t.so --check=%s --poison --dim=x.0=5
// RUN: hk-run %t.so --check=%s --poison --dim=x.0=0
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --poison --dim=x.0=33
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t.so --device=hip:0 --check=%s --poison --dim=x.0=1

func.func @viewed(%x: tensor<?x3x7xf32> {hk.dims = ["T", "_", "_"], hk.name = "x"}, %a: tensor<5x7xf32>, %b: tensor<3x15xf32>) -> (tensor<?x3xf32>, tensor<3x?x5xf32>, tensor<?x15xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x3x7xf32>
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x3x7xf32> into tensor<?x7xf32>
  %h = hk.matmul %rows, %a transpose_b : tensor<?x7xf32>, tensor<5x7xf32> -> tensor<?x5xf32>
  %s = hk.silu %h : tensor<?x5xf32>
  %heads = tensor.expand_shape %s [[0, 1], [2]] output_shape [%t, 3, 5] : tensor<?x5xf32> into tensor<?x3x5xf32>
  %flat = tensor.collapse_shape %heads [[0], [1, 2]] : tensor<?x3x5xf32> into tensor<?x15xf32>
  %y = hk.matmul %flat, %b transpose_b : tensor<?x15xf32>, tensor<3x15xf32> -> tensor<?x3xf32>
  %turned = hk.transpose %heads [1, 0, 2] : tensor<?x3x5xf32> -> tensor<3x?x5xf32>
  return %y, %turned, %flat : tensor<?x3xf32>, tensor<3x?x5xf32>, tensor<?x15xf32>
}
