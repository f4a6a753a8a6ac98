// Positions that are divided part by part, of which a part is below zero: the
// quotient is the next smaller number, not that nearer to zero.
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// RUN: hk-run %t.so --check=%s --function=windows --dim=x.0=3
// RUN: hk-run %t.so --check=%s --function=behind --dim=x.0=3 --dim=w.0=3
// RUN: hk-run %t.so --check=%s --function=thirds --dim=x.0=3 --dim=w.0=3
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --check=%s --function=windows --dim=x.0=2
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --check=%s --function=behind --dim=x.0=2 --dim=w.0=2
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t.so --device=hip:0 --poison --check=%s --function=thirds --dim=x.0=2 --dim=w.0=2

// Blocks of a sequence beside those in front, heads in front of tokens: the
// columns of x have a stride of their own.
func.func @windows(%x: tensor<?x9x2x64xf32>) -> tensor<?x3x4x16x12xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x9x2x64xf32>
  %part = tensor.extract_slice %x[0, 0, 1, 0] [%n, 9, 1, 64] [1, 1, 1, 1] : tensor<?x9x2x64xf32> to tensor<?x9x64xf32>
  %flat = tensor.collapse_shape %part [[0], [1, 2]] : tensor<?x9x64xf32> into tensor<?x576xf32>
  %whole = hk.pad %flat value 0.0 : tensor<?x576xf32> -> tensor<?x1280xf32>
  %last = tensor.extract_slice %whole[0, 768] [%n, 256] [1, 1] : tensor<?x1280xf32> to tensor<?x256xf32>
  %first = tensor.extract_slice %whole[0, 0] [%n, 1024] [1, 1] : tensor<?x1280xf32> to tensor<?x1024xf32>
  %turned = hk.concat 1 (%last, %first) : tensor<?x256xf32>, tensor<?x1024xf32> -> tensor<?x1280xf32>
  %blocks = tensor.expand_shape %turned [[0], [1, 2, 3, 4]] output_shape [%n, 5, 4, 4, 16] : tensor<?x1280xf32> into tensor<?x5x4x4x16xf32>
  %a = tensor.extract_slice %blocks[0, 0, 0, 0, 0] [%n, 3, 4, 4, 16] [1, 1, 1, 1, 1] : tensor<?x5x4x4x16xf32> to tensor<?x3x4x4x16xf32>
  %b = tensor.extract_slice %blocks[0, 1, 0, 0, 0] [%n, 3, 4, 4, 16] [1, 1, 1, 1, 1] : tensor<?x5x4x4x16xf32> to tensor<?x3x4x4x16xf32>
  %c = tensor.extract_slice %blocks[0, 2, 0, 0, 0] [%n, 3, 4, 4, 16] [1, 1, 1, 1, 1] : tensor<?x5x4x4x16xf32> to tensor<?x3x4x4x16xf32>
  %near = hk.concat 2 (%a, %b, %c) : tensor<?x3x4x4x16xf32>, tensor<?x3x4x4x16xf32>, tensor<?x3x4x4x16xf32> -> tensor<?x3x12x4x16xf32>
  %y = hk.transpose %near [0, 1, 3, 4, 2] : tensor<?x3x12x4x16xf32> -> tensor<?x3x4x16x12xf32>
  return %y : tensor<?x3x4x16x12xf32>
}

// 64 i + j - 10 in steps of two: 32 i + (j - 10) / 2.
func.func @behind(%x: tensor<?x315x3xf32>, %w: tensor<?x10xf32>) -> tensor<?x64x10xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x315x3xf32>
  %part = tensor.extract_slice %x[0, 0, 0] [%n, 315, 2] [1, 1, 1] : tensor<?x315x3xf32> to tensor<?x315x2xf32>
  %flat = tensor.collapse_shape %part [[0], [1, 2]] : tensor<?x315x2xf32> into tensor<?x630xf32>
  %all = hk.concat 1 (%w, %flat) : tensor<?x10xf32>, tensor<?x630xf32> -> tensor<?x640xf32>
  %rows = tensor.expand_shape %all [[0], [1, 2]] output_shape [%n, 10, 64] : tensor<?x640xf32> into tensor<?x10x64xf32>
  %y = hk.transpose %rows [0, 2, 1] : tensor<?x10x64xf32> -> tensor<?x64x10xf32>
  return %y : tensor<?x64x10xf32>
}

// The same in steps of three, which is no shift.
func.func @thirds(%x: tensor<?x209x5xf32>, %w: tensor<?x9xf32>) -> tensor<?x12x53xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x209x5xf32>
  %part = tensor.extract_slice %x[0, 0, 1] [%n, 209, 3] [1, 1, 1] : tensor<?x209x5xf32> to tensor<?x209x3xf32>
  %flat = tensor.collapse_shape %part [[0], [1, 2]] : tensor<?x209x3xf32> into tensor<?x627xf32>
  %all = hk.concat 1 (%w, %flat) : tensor<?x9xf32>, tensor<?x627xf32> -> tensor<?x636xf32>
  %rows = tensor.expand_shape %all [[0], [1, 2]] output_shape [%n, 53, 12] : tensor<?x636xf32> into tensor<?x53x12xf32>
  %y = hk.transpose %rows [0, 2, 1] : tensor<?x53x12xf32> -> tensor<?x12x53xf32>
  return %y : tensor<?x12x53xf32>
}
