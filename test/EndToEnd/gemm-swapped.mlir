// Products of some hundred rows on sm_90a, whose rows are the columns of the
// instruction. The host's kernels are checked here with the same calls;
// benchmarks/gpu/gemm.py makes them on a GPU.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=65
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=113 --data=nan
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=300
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=67
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=97
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=197 --data=inf
// RUN: hk-run %t.so --check=%s --function=short --dim=x.0=80
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=130 --dim=r.0=130 --data=nan
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=255 --dim=r.0=255
// RUN: hk-run %t.so --check=%s --function=columns4 --dim=x.0=150
// RUN: hk-run %t.so --check=%s --function=columns4 --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=columns1 --dim=x.0=101
// RUN: hk-run %t.so --check=%s --function=deep
// RUN: hk-run %t.so --check=%s --function=deeper --data=nan
// RUN: hk-run %t.so --check=%s --function=deep_bias --data=nan
// RUN: hk-run %t.so --check=%s --function=deep_residual
// RUN: hk-run %t.so --check=%s --function=deep_f32
// RUN: hk-run %t.so --check=%s --function=pairs80
// RUN: hk-run %t.so --check=%s --function=pairs96
// RUN: hk-run %t.so --check=%s --function=pairs104
// RUN: hk-run %t.so --check=%s --function=pairs152
// RUN: hk-run %t.so --check=%s --function=batched
// RUN: hk-run %t.so --check=%s --function=shared
// RUN: hk-run %t.so --check=%s --function=slices
// RUN: hk-run %t.so --check=%s --function=rows8
// RUN: hk-run %t.so --check=%s --function=rows8 --data=nan
// RUN: hk-run %t.so --check=%s --function=rows8_one
// RUN: hk-run %t.so --check=%s --function=rows8_two
// RUN: hk-run %t.so --check=%s --function=rows8_wide
// RUN: hk-run %t.so --check=%s --function=rows8_deep
// RUN: hk-run %t.so --check=%s --function=rows8_deeper
// RUN: hk-run %t.so --check=%s --function=rows8_residual
// RUN: hk-run %t.so --check=%s --function=batched8
// RUN: hk-run %t.so --check=%s --function=slices8

module attributes {hk.gemm_loop = "swapped"} {
func.func @edge(%x: tensor<?x72xbf16>, %w: tensor<264x72xbf16>) -> tensor<?x264xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x72xbf16>, tensor<264x72xbf16> -> tensor<?x264xbf16>
  return %0 : tensor<?x264xbf16>
}
func.func @wide(%x: tensor<?x264xbf16>, %w: tensor<5000x264xbf16>) -> tensor<?x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<5000x264xbf16> -> tensor<?x5000xbf16>
  return %0 : tensor<?x5000xbf16>
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
func.func @columns4(%x: tensor<?x264xbf16>, %w: tensor<1100x264xbf16>, %b: tensor<1100xf32>) -> tensor<?x1100xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1100x264xbf16> -> tensor<?x1100xbf16>
  %1 = hk.add %0, %b : tensor<?x1100xbf16>, tensor<1100xf32>
  return %1 : tensor<?x1100xbf16>
}
func.func @columns1(%x: tensor<?x264xbf16>, %w: tensor<1101x264xbf16>) -> tensor<?x1101xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<1101x264xbf16> -> tensor<?x1101xf32>
  return %0 : tensor<?x1101xf32>
}
// So few columns and so much k that blocks of a cluster share it.
func.func @deep(%x: tensor<97x2056xbf16>, %w: tensor<520x2056xbf16>) -> tensor<97x520xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<97x2056xbf16>, tensor<520x2056xbf16> -> tensor<97x520xbf16>
  return %0 : tensor<97x520xbf16>
}
func.func @deeper(%x: tensor<150x4104xbf16>, %w: tensor<1000x4104xbf16>) -> tensor<150x1000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<150x4104xbf16>, tensor<1000x4104xbf16> -> tensor<150x1000xbf16>
  return %0 : tensor<150x1000xbf16>
}
// The parts that blocks of a cluster add go through an epilogue, too.
func.func @deep_bias(%x: tensor<67x4104xf16>, %w: tensor<520x4104xf16>, %b: tensor<520xf32>) -> tensor<67x520xf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<67x4104xf16>, tensor<520x4104xf16> -> tensor<67x520xf16>
  %1 = hk.add %0, %b : tensor<67x520xf16>, tensor<520xf32>
  %2 = hk.silu %1 : tensor<67x520xf16> -> tensor<67x520xf16>
  return %2 : tensor<67x520xf16>
}
func.func @deep_residual(%x: tensor<255x4096xbf16>, %w: tensor<200x4096xbf16>, %r: tensor<255x200xbf16>) -> tensor<255x200xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<255x4096xbf16>, tensor<200x4096xbf16> -> tensor<255x200xbf16>
  %1 = hk.add %0, %r : tensor<255x200xbf16>
  return %1 : tensor<255x200xbf16>
}
func.func @deep_f32(%x: tensor<129x2056xbf16>, %w: tensor<331x2056xbf16>) -> tensor<129x331xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<129x2056xbf16>, tensor<331x2056xbf16> -> tensor<129x331xf32>
  return %0 : tensor<129x331xf32>
}
// Two warpgroups of columns, in tiles of the number of rows that fits.
func.func @pairs80(%x: tensor<129x72xbf16>, %w: tensor<5000x72xbf16>) -> tensor<129x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<129x72xbf16>, tensor<5000x72xbf16> -> tensor<129x5000xbf16>
  return %0 : tensor<129x5000xbf16>
}
func.func @pairs96(%x: tensor<255x72xbf16>, %w: tensor<5000x72xbf16>) -> tensor<255x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<255x72xbf16>, tensor<5000x72xbf16> -> tensor<255x5000xbf16>
  return %0 : tensor<255x5000xbf16>
}
func.func @pairs104(%x: tensor<301x72xbf16>, %w: tensor<5000x72xbf16>) -> tensor<301x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<301x72xbf16>, tensor<5000x72xbf16> -> tensor<301x5000xbf16>
  return %0 : tensor<301x5000xbf16>
}
func.func @pairs152(%x: tensor<399x72xbf16>, %w: tensor<5000x72xbf16>) -> tensor<399x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<399x72xbf16>, tensor<5000x72xbf16> -> tensor<399x5000xbf16>
  return %0 : tensor<399x5000xbf16>
}
func.func @batched(%x: tensor<3x70x136xbf16>, %w: tensor<3x520x136xbf16>) -> tensor<3x70x520xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x70x136xbf16>, tensor<3x520x136xbf16> -> tensor<3x70x520xbf16>
  return %0 : tensor<3x70x520xbf16>
}
func.func @shared(%x: tensor<3x70x136xbf16>, %w: tensor<520x136xbf16>) -> tensor<3x70x520xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x70x136xbf16>, tensor<520x136xbf16> -> tensor<3x70x520xf32>
  return %0 : tensor<3x70x520xf32>
}
func.func @slices(%x: tensor<2x85x600xbf16>, %w: tensor<2x512x600xbf16>) -> tensor<6x2x85x512xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 6 : tensor<2x85x600xbf16>, tensor<2x512x600xbf16> -> tensor<6x2x85x512xf32>
  return %0 : tensor<6x2x85x512xf32>
}
// fp8: the products of a stage are added behind those of the next one, of an odd and of an even number of stages, of one
// and of two; with more than 128 rows in front of them. Blocks of a cluster have four to nine each, or as many as 26.
func.func @rows8(%x: tensor<67x592xf8E4M3FN>, %w: tensor<1000x592xf8E4M3FN>, %s: tensor<67x1xf32>, %t: tensor<1000x1xf32>) -> tensor<67x1000xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<67x592xf8E4M3FN>, tensor<1000x592xf8E4M3FN> scales (tensor<67x1xf32>, tensor<1000x1xf32>) -> tensor<67x1000xbf16>
  return %0 : tensor<67x1000xbf16>
}
func.func @rows8_one(%x: tensor<100x128xf8E4M3FN>, %w: tensor<520x128xf8E4M3FN>, %s: tensor<100x1xf32>, %t: tensor<520x1xf32>) -> tensor<100x520xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<100x128xf8E4M3FN>, tensor<520x128xf8E4M3FN> scales (tensor<100x1xf32>, tensor<520x1xf32>) -> tensor<100x520xbf16>
  return %0 : tensor<100x520xbf16>
}
func.func @rows8_two(%x: tensor<79x144xf8E4M3FN>, %w: tensor<5000x144xf8E4M3FN>, %s: tensor<79x1xf32>, %t: tensor<5000x1xf32>) -> tensor<79x5000xf32> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<79x144xf8E4M3FN>, tensor<5000x144xf8E4M3FN> scales (tensor<79x1xf32>, tensor<5000x1xf32>) -> tensor<79x5000xf32>
  return %0 : tensor<79x5000xf32>
}
func.func @rows8_wide(%x: tensor<301x400xf8E4M3FN>, %w: tensor<5000x400xf8E4M3FN>, %s: tensor<301x1xf32>, %t: tensor<5000x1xf32>) -> tensor<301x5000xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<301x400xf8E4M3FN>, tensor<5000x400xf8E4M3FN> scales (tensor<301x1xf32>, tensor<5000x1xf32>) -> tensor<301x5000xbf16>
  return %0 : tensor<301x5000xbf16>
}
func.func @rows8_deep(%x: tensor<97x2064xf8E4M3FN>, %w: tensor<520x2064xf8E4M3FN>, %s: tensor<97x1xf32>, %t: tensor<520x1xf32>) -> tensor<97x520xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<97x2064xf8E4M3FN>, tensor<520x2064xf8E4M3FN> scales (tensor<97x1xf32>, tensor<520x1xf32>) -> tensor<97x520xbf16>
  return %0 : tensor<97x520xbf16>
}
func.func @rows8_deeper(%x: tensor<150x13328xf8E4M3FN>, %w: tensor<264x13328xf8E4M3FN>, %s: tensor<150x1xf32>, %t: tensor<264x1xf32>) -> tensor<150x264xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<150x13328xf8E4M3FN>, tensor<264x13328xf8E4M3FN> scales (tensor<150x1xf32>, tensor<264x1xf32>) -> tensor<150x264xbf16>
  return %0 : tensor<150x264xbf16>
}
func.func @rows8_residual(%x: tensor<70x272xf8E4M3FN>, %w: tensor<1096x272xf8E4M3FN>, %s: tensor<70x1xf32>, %t: tensor<1096x1xf32>, %r: tensor<70x1096xbf16>) -> tensor<70x1096xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<70x272xf8E4M3FN>, tensor<1096x272xf8E4M3FN> scales (tensor<70x1xf32>, tensor<1096x1xf32>) -> tensor<70x1096xbf16>
  %1 = hk.add %0, %r : tensor<70x1096xbf16>
  return %1 : tensor<70x1096xbf16>
}
func.func @batched8(%x: tensor<3x70x144xf8E4M3FN>, %w: tensor<3x520x144xf8E4M3FN>) -> tensor<3x70x520xf32> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<3x70x144xf8E4M3FN>, tensor<3x520x144xf8E4M3FN> -> tensor<3x70x520xf32>
  return %0 : tensor<3x70x520xf32>
}
func.func @slices8(%x: tensor<85x1040xf8E4M3FN>, %w: tensor<512x1040xf8E4M3FN>) -> tensor<6x85x512xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 6 accumulation tensor_core : tensor<85x1040xf8E4M3FN>, tensor<512x1040xf8E4M3FN> -> tensor<6x85x512xf32>
  return %0 : tensor<6x85x512xf32>
}
}
