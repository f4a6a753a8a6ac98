// Few rows times 4-bit weights of which a block has all of k. The host's kernels are
// checked here with the same calls; on a GPU hk.gemm_loop asks for the loop that streams
// a tile of codes.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=0 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=8 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=16 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=25 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=groups --dim=x.0=70 --range=w=0:15 --range=z=0:15
// Groups of 160 and parts of 128; the last stage is not whole.
// RUN: hk-run %t.so --check=%s --function=uneven --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=uneven --dim=x.0=16 --range=w=0:15 --range=z=0:15 --data=nan
// RUN: hk-run %t.so --check=%s --function=long_groups --dim=x.0=9 --range=w=-8:7
// RUN: hk-run %t.so --check=%s --function=signed_zero --dim=x.0=5 --range=w=-8:7 --range=z=-8:7
// RUN: hk-run %t.so --check=%s --function=signed_zero --dim=x.0=17 --range=w=-8:7 --range=z=-8:7 --data=inf
// Scales from 2^122 on, for which integers are decoded in another way.
// RUN: %python -c "import numpy as n; n.save('%t.npy', n.random.default_rng(0).uniform(4e36, 8e36, (700, 10)).astype('f4'))"
// RUN: hk-run %t.so --function=groups --dim=x.0=4 --range=w=7:8 --range=z=7:7 --input=s=%t.npy --check=%s
// RUN: hk-run %t.so --check=%s --function=rows --dim=x.0=3 --range=w=0:15
// RUN: hk-run %t.so --check=%s --function=rows --dim=x.0=31 --range=w=0:15
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=12 --data=nan
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=32
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=9 --data=tiny
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=5 --data=huge
// RUN: hk-run %t.so --check=%s --function=fp4_words --dim=x.0=2
// RUN: hk-run %t.so --check=%s --function=fp4_words --dim=x.0=16 --data=equal
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=14 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=40 --range=w=0:15 --range=z=0:15

module attributes {hk.gemm_loop = "streamed_codes"} {
func.func @groups(%x: tensor<?x1280xbf16>, %w: tensor<700x1280xui4>, %s: tensor<700x10xbf16>, %z: tensor<700x10xui4>) -> tensor<?x700xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<700x1280xui4>, tensor<700x10xbf16>, tensor<700x10xui4> -> tensor<700x1280xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x1280xbf16>, tensor<700x1280xbf16> -> tensor<?x700xbf16>
  return %y : tensor<?x700xbf16>
}
func.func @uneven(%x: tensor<?x960xbf16>, %w: tensor<37x960xui4>, %s: tensor<37x6xbf16>, %z: tensor<37x6xui4>) -> tensor<?x37xbf16> {
  %d = hk.dequantize %w, %s, %z group 160 : tensor<37x960xui4>, tensor<37x6xbf16>, tensor<37x6xui4> -> tensor<37x960xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x960xbf16>, tensor<37x960xbf16> -> tensor<?x37xbf16>
  return %y : tensor<?x37xbf16>
}
func.func @long_groups(%x: tensor<?x4096xbf16>, %w: tensor<300x4096xi4>, %s: tensor<300x16xbf16>) -> tensor<?x300xbf16> {
  %d = hk.dequantize %w, %s group 256 : tensor<300x4096xi4>, tensor<300x16xbf16> -> tensor<300x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x4096xbf16>, tensor<300x4096xbf16> -> tensor<?x300xbf16>
  return %y : tensor<?x300xbf16>
}
func.func @signed_zero(%x: tensor<?x512xf16>, %w: tensor<1001x512xi4>, %s: tensor<1001x4xf16>, %z: tensor<1001x4xi4>, %b: tensor<1001xf32>) -> tensor<?x1001xf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<1001x512xi4>, tensor<1001x4xf16>, tensor<1001x4xi4> -> tensor<1001x512xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x512xf16>, tensor<1001x512xf16> -> tensor<?x1001xf16>
  %a = hk.add %y, %b : tensor<?x1001xf16>, tensor<1001xf32>
  return %a : tensor<?x1001xf16>
}
func.func @rows(%x: tensor<?x416xbf16>, %w: tensor<224x416xui4>, %s: tensor<224x1xbf16>) -> tensor<?x224xf32> {
  %d = hk.dequantize %w, %s group 416 : tensor<224x416xui4>, tensor<224x1xbf16> -> tensor<224x416xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x416xbf16>, tensor<224x416xbf16> -> tensor<?x224xf32>
  return %y : tensor<?x224xf32>
}
func.func @fp4(%x: tensor<?x288xbf16>, %w: tensor<136x288xf4E2M1FN>, %s: tensor<136x9xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %d = hk.dequantize %w, %s : tensor<136x288xf4E2M1FN>, tensor<136x9xf8E8M0FNU> -> tensor<136x288xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x288xbf16>, tensor<136x288xbf16> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @fp4_words(%x: tensor<?x4096xbf16>, %w: tensor<456x4096xf4E2M1FN>, %s: tensor<456x128xf8E8M0FNU>) -> tensor<?x456xbf16> {
  %d = hk.dequantize %w, %s : tensor<456x4096xf4E2M1FN>, tensor<456x128xf8E8M0FNU> -> tensor<456x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x4096xbf16>, tensor<456x4096xbf16> -> tensor<?x456xbf16>
  return %y : tensor<?x456xbf16>
}
func.func @gate(%x: tensor<?x256xbf16>, %w: tensor<480x256xui4>, %s: tensor<480x2xbf16>, %z: tensor<480x2xui4>) -> tensor<?x240xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<480x256xui4>, tensor<480x2xbf16>, tensor<480x2xui4> -> tensor<480x256xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xbf16>, tensor<480x256xbf16> -> tensor<?x480xbf16>
  %g = hk.gated_activation silu %y : tensor<?x480xbf16> -> tensor<?x240xbf16>
  return %g : tensor<?x240xbf16>
}
}
