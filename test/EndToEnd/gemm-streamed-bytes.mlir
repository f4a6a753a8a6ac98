// Few rows times 8-bit weights beside rows of 16 bits. The host's kernels are checked here with
// the same calls; on a GPU hk.gemm_loop asks for the loop that streams a tile of codes, whose
// clusters share k.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=9 --data=nan
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=16 --data=inf
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=70
// k ends within a stage, and groups of 160 within parts.
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=2
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=16 --data=inf
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=31
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=64 --data=equal
// Scales from 2^122 on, for which integers are decoded in another way.
// RUN: %python -c "import numpy as n; n.save('%t.npy', n.random.default_rng(0).uniform(4e36, 8e36, (700, 8)).astype('f4'))"
// RUN: hk-run %t.so --function=groups --dim=x.0=4 --range=w=-1:1 --input=s=%t.npy --check=%s
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=5
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=48
// RUN: hk-run %t.so --check=%s --function=half_zeros --dim=x.0=3
// RUN: hk-run %t.so --check=%s --function=half_zeros --dim=x.0=20
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=1 --data=nan
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=17
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=64
// RUN: hk-run %t.so --check=%s --function=wide_fp8 --dim=x.0=7
// RUN: hk-run %t.so --check=%s --function=wide_fp8 --dim=x.0=30 --data=inf
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=16 --data=nan
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=25
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=40
// RUN: hk-run %t.so --check=%s --function=gated_blocks --dim=x.0=6
// RUN: hk-run %t.so --check=%s --function=gated_blocks --dim=x.0=18
// RUN: hk-run %t.so --check=%s --function=outer --dim=x.0=8
// RUN: hk-run %t.so --check=%s --function=outer --dim=x.0=63
// RUN: hk-run %t.so --check=%s --function=half --dim=x.0=4
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=40

module attributes {hk.gemm_loop = "streamed_codes"} {
func.func @columns(%x: tensor<?x1296xbf16>, %w: tensor<300x1296xi8>, %s: tensor<300x1xf32>) -> tensor<?x300xbf16> {
  %d = hk.dequantize %w, %s group 1296 : tensor<300x1296xi8>, tensor<300x1xf32> -> tensor<300x1296xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1296xbf16>, tensor<300x1296xbf16> -> tensor<?x300xbf16>
  return %y : tensor<?x300xbf16>
}
func.func @groups(%x: tensor<?x1200xbf16>, %w: tensor<700x1200xi8>, %s: tensor<700x8xbf16>) -> tensor<?x700xbf16> {
  %d = hk.dequantize %w, %s group 160 : tensor<700x1200xi8>, tensor<700x8xbf16> -> tensor<700x1200xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1200xbf16>, tensor<700x1200xbf16> -> tensor<?x700xbf16>
  return %y : tensor<?x700xbf16>
}
func.func @zeros(%x: tensor<?x2048xbf16>, %w: tensor<130x2048xi8>, %s: tensor<130x16xbf16>, %z: tensor<130x16xi8>) -> tensor<?x130xf32> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<130x2048xi8>, tensor<130x16xbf16>, tensor<130x16xi8> -> tensor<130x2048xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x2048xbf16>, tensor<130x2048xbf16> -> tensor<?x130xf32>
  return %y : tensor<?x130xf32>
}
func.func @half_zeros(%x: tensor<?x640xbf16>, %w: tensor<100x640xi8>, %s: tensor<100x5xf16>, %z: tensor<100x5xi8>) -> tensor<?x100xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<100x640xi8>, tensor<100x5xf16>, tensor<100x5xi8> -> tensor<100x640xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x640xbf16>, tensor<100x640xbf16> -> tensor<?x100xbf16>
  return %y : tensor<?x100xbf16>
}
func.func @fp8(%x: tensor<?x1024xbf16>, %w: tensor<240x1024xf8E4M3FN>, %s: tensor<240x1xf32>, %b: tensor<240xf32>) -> tensor<?x240xbf16> {
  %d = hk.dequantize %w, %s group 1024 : tensor<240x1024xf8E4M3FN>, tensor<240x1xf32> -> tensor<240x1024xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1024xbf16>, tensor<240x1024xbf16> -> tensor<?x240xbf16>
  %a = hk.add %y, %b : tensor<?x240xbf16>, tensor<240xf32>
  return %a : tensor<?x240xbf16>
}
func.func @wide_fp8(%x: tensor<?x400xf16>, %w: tensor<64x400xf8E5M2>, %s: tensor<64x4xf32>) -> tensor<?x64xf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<64x400xf8E5M2>, tensor<64x4xf32> -> tensor<64x400xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x400xf16>, tensor<64x400xf16> -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}
func.func @blocks(%x: tensor<?x1168xbf16>, %w: tensor<328x1168xf8E4M3FN>, %s: tensor<3x10xf32>) -> tensor<?x328xbf16> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<?x1168xbf16>, tensor<328x1168xf8E4M3FN> scales (none, tensor<3x10xf32>) -> tensor<?x328xbf16>
  return %y : tensor<?x328xbf16>
}
func.func @gated_blocks(%x: tensor<?x512xbf16>, %w: tensor<200x512xf8E4M3FN>, %s: tensor<2x4xf32>) -> tensor<?x100xbf16> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<?x512xbf16>, tensor<200x512xf8E4M3FN> scales (none, tensor<2x4xf32>) -> tensor<?x200xbf16>
  %g = hk.gated_activation silu %y : tensor<?x200xbf16> -> tensor<?x100xbf16>
  return %g : tensor<?x100xbf16>
}
func.func @outer(%x: tensor<?x768xbf16>, %w: tensor<96x768xf8E4M3FN>, %s: tensor<96x1xf32>) -> tensor<?x96xbf16> {
  %y = hk.matmul %x, %w scales (none, %s) transpose_b : tensor<?x768xbf16>, tensor<96x768xf8E4M3FN> scales (none, tensor<96x1xf32>) -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @half(%x: tensor<?x768xf16>, %w: tensor<96x768xi8>, %s: tensor<96x1xf16>) -> tensor<?x96xf16> {
  %d = hk.dequantize %w, %s group 768 : tensor<96x768xi8>, tensor<96x1xf16> -> tensor<96x768xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x768xf16>, tensor<96x768xf16> -> tensor<?x96xf16>
  return %y : tensor<?x96xf16>
}
func.func @gate(%x: tensor<?x256xbf16>, %w: tensor<480x256xi8>, %s: tensor<480x2xbf16>) -> tensor<?x240xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<480x256xi8>, tensor<480x2xbf16> -> tensor<480x256xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xbf16>, tensor<480x256xbf16> -> tensor<?x480xbf16>
  %g = hk.gated_activation silu %y : tensor<?x480xbf16> -> tensor<?x240xbf16>
  return %g : tensor<?x240xbf16>
}
}
