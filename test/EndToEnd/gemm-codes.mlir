// Few rows times 4-bit weights. The host's kernels are checked here with the same
// calls; on a GPU hk.gemm_loop asks for the loop that streams the codes.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=awq --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=awq --dim=x.0=0 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=awq --dim=x.0=8 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=awq --dim=x.0=9 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=awq --dim=x.0=130 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=tail --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=tail --dim=x.0=16 --range=w=0:15 --range=z=0:15 --data=nan
// RUN: hk-run %t.so --check=%s --function=tail --dim=x.0=33 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=halves --dim=x.0=7 --range=w=0:15 --range=z=-128:127
// RUN: hk-run %t.so --check=%s --function=halves --dim=x.0=40 --range=w=0:15 --range=z=-128:127
// RUN: hk-run %t.so --check=%s --function=signed --dim=x.0=1 --range=w=-8:7
// RUN: hk-run %t.so --check=%s --function=signed --dim=x.0=20 --range=w=-8:7 --data=inf
// RUN: hk-run %t.so --check=%s --function=signed_zero --dim=x.0=5 --range=w=-8:7 --range=z=-8:7
// RUN: hk-run %t.so --check=%s --function=signed_zero --dim=x.0=17 --range=w=-8:7 --range=z=-8:7
// RUN: hk-run %t.so --check=%s --function=float_scale --dim=x.0=3 --range=w=-8:7 --range=z=-8:7
// RUN: hk-run %t.so --check=%s --function=float_scale --dim=x.0=12 --range=w=-8:7 --range=z=-8:7
// RUN: hk-run %t.so --check=%s --function=minimum --dim=x.0=1 --range=w=0:15
// RUN: hk-run %t.so --check=%s --function=minimum --dim=x.0=9 --range=w=0:15
// RUN: hk-run %t.so --check=%s --function=fixed_zero --dim=x.0=2 --range=w=0:15
// RUN: hk-run %t.so --check=%s --function=fixed_zero --dim=x.0=16 --range=w=0:15
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=12  --data=nan
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=32
// Scales up to 2 alone take a way of their own.
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=9 --data=tiny
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=20 --data=equal
// RUN: hk-run %t.so --check=%s --function=fp4 --dim=x.0=5 --data=huge
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=14 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=40 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=long --dim=x.0=1 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=long --dim=x.0=16 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=long --dim=x.0=32 --range=w=0:15 --range=z=0:15
// RUN: hk-run %t.so --check=%s --function=longer --dim=x.0=1 --range=w=-8:7
// RUN: hk-run %t.so --check=%s --function=longer --dim=x.0=13 --range=w=-8:7

module attributes {hk.gemm_loop = "skinny_codes"} {
func.func @awq(%x: tensor<?x256xbf16>, %w: tensor<136x256xui4>, %s: tensor<136x2xbf16>, %z: tensor<136x2xui4>) -> tensor<?x136xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<136x256xui4>, tensor<136x2xbf16>, tensor<136x2xui4> -> tensor<136x256xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xbf16>, tensor<136x256xbf16> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @tail(%x: tensor<?x320xbf16>, %w: tensor<37x320xui4>, %s: tensor<37x10xbf16>, %z: tensor<37x10xui4>) -> tensor<?x37xbf16> {
  %d = hk.dequantize %w, %s, %z group 32 : tensor<37x320xui4>, tensor<37x10xbf16>, tensor<37x10xui4> -> tensor<37x320xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x320xbf16>, tensor<37x320xbf16> -> tensor<?x37xbf16>
  return %y : tensor<?x37xbf16>
}
func.func @halves(%x: tensor<?x160xf16>, %w: tensor<1001x160xui4>, %s: tensor<1001x5xf16>, %z: tensor<1001x5xi8>, %b: tensor<1001xf32>) -> tensor<?x1001xf16> {
  %d = hk.dequantize %w, %s, %z group 32 : tensor<1001x160xui4>, tensor<1001x5xf16>, tensor<1001x5xi8> -> tensor<1001x160xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x160xf16>, tensor<1001x160xf16> -> tensor<?x1001xf16>
  %a = hk.add %y, %b : tensor<?x1001xf16>, tensor<1001xf32>
  return %a : tensor<?x1001xf16>
}
func.func @signed(%x: tensor<?x320xbf16>, %w: tensor<72x320xi4>, %s: tensor<72x5xbf16>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %s group 64 : tensor<72x320xi4>, tensor<72x5xbf16> -> tensor<72x320xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x320xbf16>, tensor<72x320xbf16> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @signed_zero(%x: tensor<?x384xf16>, %w: tensor<72x384xi4>, %s: tensor<72x6xf16>, %z: tensor<72x6xi4>) -> tensor<?x72xf16> {
  %d = hk.dequantize %w, %s, %z group 64 : tensor<72x384xi4>, tensor<72x6xf16>, tensor<72x6xi4> -> tensor<72x384xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x384xf16>, tensor<72x384xf16> -> tensor<?x72xf16>
  return %y : tensor<?x72xf16>
}
func.func @float_scale(%x: tensor<?x256xbf16>, %w: tensor<72x256xi4>, %s: tensor<72x2xf32>, %z: tensor<72x2xi4>) -> tensor<?x72xf32> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<72x256xi4>, tensor<72x2xf32>, tensor<72x2xi4> -> tensor<72x256xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xbf16>, tensor<72x256xbf16> -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}
func.func @minimum(%x: tensor<?x160xbf16>, %w: tensor<40x160xui4>, %s: tensor<40x5xf16>, %z: tensor<40x5xf16>) -> tensor<?x40xbf16> {
  %d = hk.dequantize %w, %s, %z offset group 32 : tensor<40x160xui4>, tensor<40x5xf16>, tensor<40x5xf16> -> tensor<40x160xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x160xbf16>, tensor<40x160xbf16> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @fixed_zero(%x: tensor<?x128xf16>, %w: tensor<40x128xui4>, %s: tensor<40x4xf16>) -> tensor<?x40xf16> {
  %z = hk.constant 8 : tensor<1xi8>
  %d = hk.dequantize %w, %s, %z group 32 : tensor<40x128xui4>, tensor<40x4xf16>, tensor<1xi8> -> tensor<40x128xf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x128xf16>, tensor<40x128xf16> -> tensor<?x40xf16>
  return %y : tensor<?x40xf16>
}
func.func @fp4(%x: tensor<?x288xbf16>, %w: tensor<136x288xf4E2M1FN>, %s: tensor<136x9xf8E8M0FNU>) -> tensor<?x136xbf16> {
  %d = hk.dequantize %w, %s : tensor<136x288xf4E2M1FN>, tensor<136x9xf8E8M0FNU> -> tensor<136x288xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x288xbf16>, tensor<136x288xbf16> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @gate(%x: tensor<?x256xbf16>, %w: tensor<144x256xui4>, %s: tensor<144x2xbf16>, %z: tensor<144x2xui4>) -> tensor<?x72xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<144x256xui4>, tensor<144x2xbf16>, tensor<144x2xui4> -> tensor<144x256xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x256xbf16>, tensor<144x256xbf16> -> tensor<?x144xbf16>
  %a = hk.gated_activation silu %y : tensor<?x144xbf16> -> tensor<?x72xbf16>
  return %a : tensor<?x72xbf16>
}
func.func @long(%x: tensor<?x5120xbf16>, %w: tensor<520x5120xui4>, %s: tensor<520x40xbf16>, %z: tensor<520x40xui4>) -> tensor<?x520xbf16> {
  %d = hk.dequantize %w, %s, %z group 128 : tensor<520x5120xui4>, tensor<520x40xbf16>, tensor<520x40xui4> -> tensor<520x5120xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x5120xbf16>, tensor<520x5120xbf16> -> tensor<?x520xbf16>
  return %y : tensor<?x520xbf16>
}
func.func @longer(%x: tensor<?x14336xbf16>, %w: tensor<264x14336xi4>, %s: tensor<264x112xbf16>) -> tensor<?x264xbf16> {
  %d = hk.dequantize %w, %s group 128 : tensor<264x14336xi4>, tensor<264x112xbf16> -> tensor<264x14336xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<?x14336xbf16>, tensor<264x14336xbf16> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
}
