// The warp-specialised products of sm_90a. The host's kernels are checked here
// with the same calls; benchmarks/gpu/gemm.py makes them on a GPU. Sizes are no
// multiples of a tile, k is shorter than a stage, data is not a number.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=300 --data=nan
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=300 --data=inf
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=257
// RUN: hk-run %t.so --check=%s --function=short --dim=x.0=200
// RUN: hk-run %t.so --check=%s --function=short --dim=x.0=130 --data=huge
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=270 --dim=r.0=270
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=3 --dim=r.0=3 --data=nan
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=700 --dim=r.0=700
// RUN: hk-run %t.so --check=%s --function=residual_batches
// RUN: hk-run %t.so --check=%s --function=gated_residual --dim=x.0=400 --dim=r.0=400
// RUN: hk-run %t.so --check=%s --function=columns4 --dim=x.0=140
// RUN: hk-run %t.so --check=%s --function=columns1 --dim=x.0=140
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=270
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=140 --data=inf
// RUN: hk-run %t.so --check=%s --function=gate_halves --dim=x.0=600
// RUN: hk-run %t.so --check=%s --function=quantize --dim=x.0=150
// RUN: hk-run %t.so --check=%s --function=quantize --dim=x.0=150 --data=nan
// RUN: hk-run %t.so --check=%s --function=batched
// RUN: hk-run %t.so --check=%s --function=shared
// RUN: hk-run %t.so --check=%s --function=slices
// RUN: hk-run %t.so --check=%s --function=int8 --dim=x.0=300 --range=x=-128:128 --range=w=-128:128
// RUN: hk-run %t.so --check=%s --function=int8_rows --dim=x.0=300 --dim=s.0=300 --range=x=-128:128 --range=w=-128:128
// RUN: hk-run %t.so --check=%s --function=rows8 --dim=x.0=140 --dim=s.0=140
// RUN: hk-run %t.so --check=%s --function=blocks8 --dim=x.0=140 --dim=s.0=140
// RUN: hk-run %t.so --check=%s --function=blocks8 --dim=x.0=1 --dim=s.0=1
// RUN: hk-run %t.so --check=%s --function=blocks8 --dim=x.0=700 --dim=s.0=700
// RUN: hk-run %t.so --check=%s --function=rows8_halves
// RUN: hk-run %t.so --check=%s --function=blocks8_halves
// RUN: hk-run %t.so --check=%s --function=blocks8_deep --dim=x.0=131 --dim=s.0=131
// RUN: hk-run %t.so --check=%s --function=blocks8_deep --dim=x.0=1 --dim=s.0=1
// RUN: hk-run %t.so --check=%s --function=quantize32 --dim=x.0=150
// RUN: hk-run %t.so --check=%s --function=quantize32 --dim=x.0=150 --data=nan
// Tiles of 224 columns, whose last box covers half of the one before, and five
// blocks that share B, of which four bring it.
// RUN: hk-run %t.so --check=%s --function=boxes224
// RUN: hk-run %t.so --check=%s --function=slab224
// RUN: hk-run %t.so --check=%s --function=five
// Slices with scales of A that end with the first of four.
// RUN: hk-run %t.so --check=%s --function=slices_blocks8
// Right operands with k in front, which come as panels of 64 columns.
// RUN: hk-run %t.so --check=%s --function=k_first --dim=x.0=300
// RUN: hk-run %t.so --check=%s --function=k_first --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=k_first --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=k_first --dim=x.0=130 --data=nan
// RUN: hk-run %t.so --check=%s --function=k_first_batches --dim=x.1=200
// RUN: hk-run %t.so --check=%s --function=k_first_gate --dim=x.0=270

module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @edge(%x: tensor<?x72xbf16>, %w: tensor<264x72xbf16>) -> tensor<?x264xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x72xbf16>, tensor<264x72xbf16> -> tensor<?x264xbf16>
  return %0 : tensor<?x264xbf16>
}
func.func @wide(%x: tensor<?x1032xbf16>, %w: tensor<2200x1032xbf16>) -> tensor<?x2200xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x1032xbf16>, tensor<2200x1032xbf16> -> tensor<?x2200xbf16>
  return %0 : tensor<?x2200xbf16>
}
func.func @short(%x: tensor<?x8xf16>, %w: tensor<1000x8xf16>) -> tensor<?x1000xf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x8xf16>, tensor<1000x8xf16> -> tensor<?x1000xf16>
  return %0 : tensor<?x1000xf16>
}
func.func @residual(%x: tensor<?x264xbf16>, %w: tensor<1096x264xbf16>, %r: tensor<?x1096xbf16>) -> tensor<?x1096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1096x264xbf16> -> tensor<?x1096xbf16>
  %1 = hk.add %0, %r : tensor<?x1096xbf16>
  return %1 : tensor<?x1096xbf16>
}
func.func @residual_batches(%x: tensor<3x270x136xbf16>, %w: tensor<3x520x136xbf16>, %r: tensor<3x270x520xf16>) -> tensor<3x270x520xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x270x136xbf16>, tensor<3x520x136xbf16> -> tensor<3x270x520xbf16>
  %1 = hk.add %0, %r : tensor<3x270x520xbf16>, tensor<3x270x520xf16>
  return %1 : tensor<3x270x520xbf16>
}
func.func @gated_residual(%x: tensor<?x264xbf16>, %w: tensor<800x264xbf16>, %r: tensor<?x400xbf16>) -> tensor<?x400xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<800x264xbf16> -> tensor<?x800xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x800xbf16> -> tensor<?x400xbf16>
  %2 = hk.add %1, %r : tensor<?x400xbf16>
  return %2 : tensor<?x400xbf16>
}
func.func @columns4(%x: tensor<?x264xbf16>, %w: tensor<1100x264xbf16>, %b: tensor<1100xf32>) -> tensor<?x1100xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1100x264xbf16> -> tensor<?x1100xbf16>
  %1 = hk.add %0, %b : tensor<?x1100xbf16>, tensor<1100xf32>
  return %1 : tensor<?x1100xbf16>
}
func.func @columns1(%x: tensor<?x264xbf16>, %w: tensor<1101x264xbf16>) -> tensor<?x1101xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1101x264xbf16> -> tensor<?x1101xf32>
  return %0 : tensor<?x1101xf32>
}
func.func @gate(%x: tensor<?x264xbf16>, %w: tensor<800x264xbf16>) -> tensor<?x400xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<800x264xbf16> -> tensor<?x800xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x800xbf16> -> tensor<?x400xbf16>
  return %1 : tensor<?x400xbf16>
}
// 69 x 3 tiles of 128 columns and 256 rows: nine behind three rounds of 66 clusters, of which the last has columns of its
// second half outside of the result.
func.func @gate_halves(%x: tensor<?x24xbf16>, %w: tensor<17616x24xbf16>) -> tensor<?x8808xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x24xbf16>, tensor<17616x24xbf16> -> tensor<?x17616xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x17616xbf16> -> tensor<?x8808xbf16>
  return %1 : tensor<?x8808xbf16>
}
func.func @quantize(%x: tensor<?x264xbf16>, %w: tensor<1152x264xbf16>) -> (tensor<?x1152xf8E4M3FN>, tensor<?x9xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1152x264xbf16> -> tensor<?x1152xbf16>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<?x1152xbf16> -> tensor<?x1152xf8E4M3FN>, tensor<?x9xf32>
  return %q, %s : tensor<?x1152xf8E4M3FN>, tensor<?x9xf32>
}
func.func @batched(%x: tensor<3x270x136xbf16>, %w: tensor<3x520x136xbf16>) -> tensor<3x270x520xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x270x136xbf16>, tensor<3x520x136xbf16> -> tensor<3x270x520xbf16>
  return %0 : tensor<3x270x520xbf16>
}
func.func @shared(%x: tensor<3x270x136xbf16>, %w: tensor<520x136xbf16>) -> tensor<3x270x520xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x270x136xbf16>, tensor<520x136xbf16> -> tensor<3x270x520xf32>
  return %0 : tensor<3x270x520xf32>
}
func.func @slices(%x: tensor<2x300x600xbf16>, %w: tensor<2x512x600xbf16>) -> tensor<6x2x300x512xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 6 : tensor<2x300x600xbf16>, tensor<2x512x600xbf16> -> tensor<6x2x300x512xf32>
  return %0 : tensor<6x2x300x512xf32>
}
func.func @int8(%x: tensor<?x400xi8>, %w: tensor<1000x400xi8>) -> tensor<?x1000xi32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x400xi8>, tensor<1000x400xi8> -> tensor<?x1000xi32>
  return %0 : tensor<?x1000xi32>
}
func.func @int8_rows(%x: tensor<?x400xi8>, %w: tensor<1000x400xi8>, %s: tensor<?x1xf32>, %t: tensor<1000x1xf32>) -> tensor<?x1000xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b : tensor<?x400xi8>, tensor<1000x400xi8> scales (tensor<?x1xf32>, tensor<1000x1xf32>) -> tensor<?x1000xbf16>
  return %0 : tensor<?x1000xbf16>
}
// fp8 in the sums that the loop makes.
func.func @rows8(%x: tensor<?x400xf8E4M3FN>, %w: tensor<1000x400xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<1000x1xf32>) -> tensor<?x1000xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<1000x400xf8E4M3FN> scales (tensor<?x1xf32>, tensor<1000x1xf32>) -> tensor<?x1000xbf16>
  return %0 : tensor<?x1000xbf16>
}
func.func @blocks8(%x: tensor<?x400xf8E4M3FN>, %w: tensor<1096x400xf8E4M3FN>, %s: tensor<?x4xf32>, %t: tensor<9x4xf32>) -> tensor<?x1096xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<1096x400xf8E4M3FN> scales (tensor<?x4xf32>, tensor<9x4xf32>) -> tensor<?x1096xbf16>
  return %0 : tensor<?x1096xbf16>
}
// 46 x 2 tiles of 192 columns and 256 rows with scales along k: 26 behind a round of 66 clusters, of which the last have
// 16 columns of their second half.
func.func @rows8_halves(%x: tensor<500x144xf8E4M3FN>, %w: tensor<8752x144xf8E4M3FN>, %s: tensor<500x1xf32>, %t: tensor<8752x1xf32>) -> tensor<500x8752xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<500x144xf8E4M3FN>, tensor<8752x144xf8E4M3FN> scales (tensor<500x1xf32>, tensor<8752x1xf32>) -> tensor<500x8752xbf16>
  return %0 : tensor<500x8752xbf16>
}
func.func @blocks8_halves(%x: tensor<500x256xf8E4M3FN>, %w: tensor<8752x256xf8E4M3FN>, %s: tensor<500x2xf32>, %t: tensor<69x2xf32>) -> tensor<500x8752xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<500x256xf8E4M3FN>, tensor<8752x256xf8E4M3FN> scales (tensor<500x2xf32>, tensor<69x2xf32>) -> tensor<500x8752xbf16>
  return %0 : tensor<500x8752xbf16>
}
func.func @blocks8_deep(%x: tensor<?x8592xf8E4M3FN>, %w: tensor<264x8592xf8E4M3FN>, %s: tensor<?x68xf32>, %t: tensor<3x68xf32>) -> tensor<?x264xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x8592xf8E4M3FN>, tensor<264x8592xf8E4M3FN> scales (tensor<?x68xf32>, tensor<3x68xf32>) -> tensor<?x264xbf16>
  return %0 : tensor<?x264xbf16>
}
func.func @quantize32(%x: tensor<?x264xbf16>, %w: tensor<1152x264xbf16>) -> (tensor<?x1152xf8E4M3FN>, tensor<?x36xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1152x264xbf16> -> tensor<?x1152xbf16>
  %q, %s = hk.quantize per_group %0 group 32 : tensor<?x1152xbf16> -> tensor<?x1152xf8E4M3FN>, tensor<?x36xf32>
  return %q, %s : tensor<?x1152xf8E4M3FN>, tensor<?x36xf32>
}
func.func @boxes224(%x: tensor<256x72xbf16>, %w: tensor<14720x72xbf16>) -> tensor<256x14720xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<256x72xbf16>, tensor<14720x72xbf16> -> tensor<256x14720xbf16>
  return %0 : tensor<256x14720xbf16>
}
func.func @slab224(%x: tensor<250x72xbf16>, %w: tensor<14700x72xbf16>) -> tensor<250x14700xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<250x72xbf16>, tensor<14700x72xbf16> -> tensor<250x14700xbf16>
  return %0 : tensor<250x14700xbf16>
}
func.func @slices_blocks8(%x: tensor<130x2560xf8E4M3FN>, %w: tensor<264x2560xf8E4M3FN>, %s: tensor<130x20xf32>, %t: tensor<3x20xf32>) -> tensor<4x130x264xf32> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b k_slices 4 accumulation tensor_core : tensor<130x2560xf8E4M3FN>, tensor<264x2560xf8E4M3FN> scales (tensor<130x20xf32>, tensor<3x20xf32>) -> tensor<4x130x264xf32>
  return %0 : tensor<4x130x264xf32>
}
func.func @five(%x: tensor<300x1032xbf16>, %w: tensor<5632x1032xbf16>) -> tensor<300x5632xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<300x1032xbf16>, tensor<5632x1032xbf16> -> tensor<300x5632xbf16>
  return %0 : tensor<300x5632xbf16>
}
func.func @k_first(%x: tensor<?x200xf16>, %w: tensor<200x328xf16>, %b: tensor<328xf16>) -> tensor<?x328xf16> {
  %0 = hk.matmul %x, %w : tensor<?x200xf16>, tensor<200x328xf16> -> tensor<?x328xf16>
  %1 = hk.add %0, %b : tensor<?x328xf16>, tensor<328xf16>
  return %1 : tensor<?x328xf16>
}
func.func @k_first_batches(%x: tensor<3x?x136xbf16>, %w: tensor<3x136x72xbf16>) -> tensor<3x?x72xf32> {
  %0 = hk.matmul %x, %w : tensor<3x?x136xbf16>, tensor<3x136x72xbf16> -> tensor<3x?x72xf32>
  return %0 : tensor<3x?x72xf32>
}
func.func @k_first_gate(%x: tensor<?x192xbf16>, %g: tensor<192x264xbf16>, %u: tensor<192x264xbf16>) -> tensor<?x264xbf16> {
  %0 = hk.matmul %x, %g : tensor<?x192xbf16>, tensor<192x264xbf16> -> tensor<?x264xbf16>
  %1 = hk.matmul %x, %u : tensor<?x192xbf16>, tensor<192x264xbf16> -> tensor<?x264xbf16>
  %2 = hk.silu %0 : tensor<?x264xbf16>
  %3 = hk.mul %2, %1 : tensor<?x264xbf16>
  return %3 : tensor<?x264xbf16>
}
}
