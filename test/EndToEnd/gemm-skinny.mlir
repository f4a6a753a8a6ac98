// Products of few rows on sm_90a. The host's kernels are checked here with the
// same calls; benchmarks/gpu/gemm.py makes them on a GPU.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=8
// RUN: hk-run %t.so --check=%s --function=edge --dim=x.0=9 --data=nan
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=16
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=64 --data=inf
// RUN: hk-run %t.so --check=%s --function=wide --dim=x.0=200
// RUN: hk-run %t.so --check=%s --function=short --dim=x.0=5
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=3 --dim=r.0=3
// RUN: hk-run %t.so --check=%s --function=residual --dim=x.0=40 --dim=r.0=40 --data=nan
// RUN: hk-run %t.so --check=%s --function=columns4 --dim=x.0=14
// RUN: hk-run %t.so --check=%s --function=columns1 --dim=x.0=14
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=60
// RUN: hk-run %t.so --check=%s --function=eighty --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=eighty --dim=x.0=64 --data=nan
// RUN: hk-run %t.so --check=%s --function=eighty2 --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=gate112 --dim=x.0=50
// RUN: hk-run %t.so --check=%s --function=batched
// RUN: hk-run %t.so --check=%s --function=shared
// RUN: hk-run %t.so --check=%s --function=slices
// RUN: hk-run %t.so --check=%s --function=int8 --dim=x.0=20 --range=x=-128:128 --range=w=-128:128
// RUN: hk-run %t.so --check=%s --function=int8_rows --dim=x.0=2 --dim=s.0=2 --range=x=-128:128 --range=w=-128:128
// RUN: hk-run %t.so --check=%s --function=rows8 --dim=x.0=20 --dim=s.0=20
// RUN: hk-run %t.so --check=%s --function=bytes112 --data=nan
// RUN: hk-run %t.so --check=%s --function=bytes112few --dim=x.0=1 --dim=s.0=1
// RUN: hk-run %t.so --check=%s --function=bytes112few --dim=x.0=13 --dim=s.0=13
// RUN: hk-run %t.so --check=%s --function=bytes112few --dim=x.0=31 --dim=s.0=31
// RUN: hk-run %t.so --check=%s --function=halves112 --dim=x.0=7 --data=inf
// RUN: hk-run %t.so --check=%s --function=halves112 --dim=x.0=16
// RUN: hk-run %t.so --check=%s --function=bytesGate112 --dim=x.0=5 --dim=s.0=5

module attributes {hk.gemm_loop = "skinny"} {
func.func @edge(%x: tensor<?x72xbf16>, %w: tensor<264x72xbf16>) -> tensor<?x264xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x72xbf16>, tensor<264x72xbf16> -> tensor<?x264xbf16>
  return %0 : tensor<?x264xbf16>
}
func.func @wide(%x: tensor<?x1032xbf16>, %w: tensor<5000x1032xbf16>) -> tensor<?x5000xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x1032xbf16>, tensor<5000x1032xbf16> -> tensor<?x5000xbf16>
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
func.func @gate(%x: tensor<?x264xbf16>, %w: tensor<800x264xbf16>) -> tensor<?x400xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<800x264xbf16> -> tensor<?x800xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x800xbf16> -> tensor<?x400xbf16>
  return %1 : tensor<?x400xbf16>
}
// Tiles of 80 and 112 rows of B, whose warpgroups have rows in common; the last
// ones end within n.
func.func @eighty(%x: tensor<?x72xbf16>, %w: tensor<10232x72xbf16>) -> tensor<?x10232xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x72xbf16>, tensor<10232x72xbf16> -> tensor<?x10232xbf16>
  return %0 : tensor<?x10232xbf16>
}
func.func @eighty2(%x: tensor<?x136xbf16>, %w: tensor<5112x136xbf16>) -> tensor<?x5112xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x136xbf16>, tensor<5112x136xbf16> -> tensor<?x5112xbf16>
  return %0 : tensor<?x5112xbf16>
}
func.func @gate112(%x: tensor<?x264xbf16>, %w: tensor<28656x264xbf16>) -> tensor<?x14328xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x264xbf16>, tensor<28656x264xbf16> -> tensor<?x28656xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x28656xbf16> -> tensor<?x14328xbf16>
  return %1 : tensor<?x14328xbf16>
}
func.func @batched(%x: tensor<3x7x136xbf16>, %w: tensor<3x520x136xbf16>) -> tensor<3x7x520xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x7x136xbf16>, tensor<3x520x136xbf16> -> tensor<3x7x520xbf16>
  return %0 : tensor<3x7x520xbf16>
}
func.func @shared(%x: tensor<3x7x136xbf16>, %w: tensor<520x136xbf16>) -> tensor<3x7x520xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<3x7x136xbf16>, tensor<520x136xbf16> -> tensor<3x7x520xf32>
  return %0 : tensor<3x7x520xf32>
}
func.func @slices(%x: tensor<2x5x600xbf16>, %w: tensor<2x512x600xbf16>) -> tensor<6x2x5x512xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 6 : tensor<2x5x600xbf16>, tensor<2x512x600xbf16> -> tensor<6x2x5x512xf32>
  return %0 : tensor<6x2x5x512xf32>
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
// Two blocks of 112 rows of weights share a unit; the last one has 104, and of x
// a tile has more rows than there are.
func.func @bytes112(%x: tensor<60x144xf8E4M3FN>, %w: tensor<28664x144xf8E4M3FN>, %s: tensor<60x1xf32>, %t: tensor<28664x1xf32>) -> tensor<60x28664xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<60x144xf8E4M3FN>, tensor<28664x144xf8E4M3FN> scales (tensor<60x1xf32>, tensor<28664x1xf32>) -> tensor<60x28664xbf16>
  return %0 : tensor<60x28664xbf16>
}
func.func @bytes112few(%x: tensor<?x400xf8E4M3FN>, %w: tensor<28664x400xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<28664x1xf32>) -> tensor<?x28664xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<28664x400xf8E4M3FN> scales (tensor<?x1xf32>, tensor<28664x1xf32>) -> tensor<?x28664xbf16>
  return %0 : tensor<?x28664xbf16>
}
func.func @halves112(%x: tensor<?x136xbf16>, %w: tensor<28664x136xbf16>) -> tensor<?x28664xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x136xbf16>, tensor<28664x136xbf16> -> tensor<?x28664xbf16>
  return %0 : tensor<?x28664xbf16>
}
func.func @bytesGate112(%x: tensor<?x144xf8E4M3FN>, %w: tensor<28656x144xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<28656x1xf32>) -> tensor<?x14328xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x144xf8E4M3FN>, tensor<28656x144xf8E4M3FN> scales (tensor<?x1xf32>, tensor<28656x1xf32>) -> tensor<?x28656xbf16>
  %1 = hk.gated_activation silu %0 : tensor<?x28656xbf16> -> tensor<?x14328xbf16>
  return %1 : tensor<?x14328xbf16>
}
}
