// The f32 products of sm_90a in cells of registers. The host's kernels are
// checked here with the same calls; benchmarks/gpu/gemm.py makes them on a GPU.
// Sizes are no multiples of a tile or of a stage, data is not a number.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=47
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=300 --data=nan
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=300 --data=inf
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=517
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=1300
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=1300 --data=huge
// RUN: hk-run %t.so --check=%s --function=tall --dim=x.0=8200
// RUN: hk-run %t.so --check=%s --function=short --dim=x.0=200
// RUN: hk-run %t.so --check=%s --function=short --dim=x.0=200 --data=nan
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=270 --dim=r.0=270
// RUN: hk-run %t.so --check=%s --function=columns4 --dim=x.0=140
// RUN: hk-run %t.so --check=%s --function=columns1 --dim=x.0=1300
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=270
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1040 --data=inf
// RUN: hk-run %t.so --check=%s --function=quantize --dim=x.0=150
// RUN: hk-run %t.so --check=%s --function=batched
// RUN: hk-run %t.so --check=%s --function=shared
// RUN: hk-run %t.so --check=%s --function=slices
// RUN: hk-run %t.so --check=%s --function=part --dim=x.0=70

module attributes {hk.gemm_loop = "register_cells"} {
func.func @edge(%x: tensor<?x76xf32>, %w: tensor<268x76xf32>) -> tensor<?x268xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x76xf32>, tensor<268x76xf32> -> tensor<?x268xf32>
  return %0 : tensor<?x268xf32>
}
func.func @wide(%x: tensor<?x300xf32>, %w: tensor<3072x300xf32>) -> tensor<?x3072xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x300xf32>, tensor<3072x300xf32> -> tensor<?x3072xf32>
  return %0 : tensor<?x3072xf32>
}
func.func @tall(%x: tensor<?x64xf32>, %w: tensor<400x64xf32>) -> tensor<?x400xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x64xf32>, tensor<400x64xf32> -> tensor<?x400xf32>
  return %0 : tensor<?x400xf32>
}
func.func @short(%x: tensor<?x4xf32>, %w: tensor<1000x4xf32>) -> tensor<?x1000xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x4xf32>, tensor<1000x4xf32> -> tensor<?x1000xf32>
  return %0 : tensor<?x1000xf32>
}
func.func @residual(%x: tensor<?x264xf32>, %w: tensor<1096x264xf32>, %r: tensor<?x1096xf32>) -> tensor<?x1096xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xf32>, tensor<1096x264xf32> -> tensor<?x1096xf32>
  %1 = hk.add %0, %r : tensor<?x1096xf32>
  return %1 : tensor<?x1096xf32>
}
func.func @columns4(%x: tensor<?x264xf32>, %w: tensor<1100x264xf32>, %b: tensor<1100xf32>) -> tensor<?x1100xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xf32>, tensor<1100x264xf32> -> tensor<?x1100xf32>
  %1 = hk.add %0, %b : tensor<?x1100xf32>, tensor<1100xf32>
  return %1 : tensor<?x1100xf32>
}
func.func @columns1(%x: tensor<?x264xf32>, %w: tensor<1101x264xf32>) -> tensor<?x1101xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xf32>, tensor<1101x264xf32> -> tensor<?x1101xbf16>
  return %0 : tensor<?x1101xbf16>
}
func.func @gate(%x: tensor<?x264xf32>, %w: tensor<2200x264xf32>) -> tensor<?x1100xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xf32>, tensor<2200x264xf32> -> tensor<?x2200xf32>
  %1 = hk.gated_activation silu %0 : tensor<?x2200xf32> -> tensor<?x1100xf32>
  return %1 : tensor<?x1100xf32>
}
func.func @quantize(%x: tensor<?x264xf32>, %w: tensor<1152x264xf32>) -> (tensor<?x1152xf8E4M3FN>, tensor<?x9xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xf32>, tensor<1152x264xf32> -> tensor<?x1152xf32>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<?x1152xf32> -> tensor<?x1152xf8E4M3FN>, tensor<?x9xf32>
  return %q, %s : tensor<?x1152xf8E4M3FN>, tensor<?x9xf32>
}
func.func @batched(%x: tensor<3x270x136xf32>, %w: tensor<3x520x136xf32>) -> tensor<3x270x520xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x270x136xf32>, tensor<3x520x136xf32> -> tensor<3x270x520xf32>
  return %0 : tensor<3x270x520xf32>
}
func.func @shared(%x: tensor<3x270x136xf32>, %w: tensor<520x136xf32>) -> tensor<3x270x520xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x270x136xf32>, tensor<520x136xf32> -> tensor<3x270x520xf32>
  return %0 : tensor<3x270x520xf32>
}
func.func @slices(%x: tensor<2x300x600xf32>, %w: tensor<2x512x600xf32>) -> tensor<6x2x300x512xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 6 : tensor<2x300x600xf32>, tensor<2x512x600xf32> -> tensor<6x2x300x512xf32>
  return %0 : tensor<6x2x300x512xf32>
}
// A part of the columns of x: rows are farther apart than k.
func.func @part(%x: tensor<?x400xf32>, %w: tensor<264x96xf32>) -> tensor<?x264xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x400xf32>
  %p = tensor.extract_slice %x[0, 200] [%m, 96] [1, 1] : tensor<?x400xf32> to tensor<?x96xf32>
  %0 = hk.matmul %p, %w transpose_b : tensor<?x96xf32>, tensor<264x96xf32> -> tensor<?x264xf32>
  return %0 : tensor<?x264xf32>
}
}
