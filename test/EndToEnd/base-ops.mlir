// Base ops through the whole compiler on the host, compared with the reference
// interpreter, for ordinary and for extreme data; and a wrong source must differ.
//
// RUN: rm -rf %t && mkdir %t
// RUN: hk-compile %s -o %t/m.so --target=host
// RUN: %python %S/Inputs/sweep.py %t/m.so %s | FileCheck %s
// CHECK-NOT: FAILED
// CHECK: 75 of 75 calls agree
//
// RUN: sed -e 's/gated_activation silu/gated_activation gelu/' %s > %t/wrong.mlir
// RUN: not hk-run %t/m.so --function=chain --dim=x.0=13 --dim=r.0=13 --check=%t/wrong.mlir | FileCheck %s --check-prefix=WRONG
// WRONG: check @chain on host: DIFFERS

func.func @chain(%x: tensor<?x256xbf16>, %r: tensor<?x256xbf16>, %w: tensor<256xbf16>, %g: tensor<512x256xbf16>, %d: tensor<256x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x256xbf16>) {
  %s = hk.add %x, %r : tensor<?x256xbf16>, tensor<?x256xbf16> -> tensor<?x256xbf16>
  %n = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xbf16>
  %u = hk.matmul %n, %g {transpose_b} : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  %a = hk.gated_activation silu %u : tensor<?x512xbf16> -> tensor<?x256xbf16>
  %o = hk.matmul %a, %d {transpose_b} : tensor<?x256xbf16>, tensor<256x256xbf16> -> tensor<?x256xbf16>
  %y = hk.add %s, %o : tensor<?x256xbf16>, tensor<?x256xbf16> -> tensor<?x256xbf16>
  return %y, %s : tensor<?x256xbf16>, tensor<?x256xbf16>
}
func.func @points(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x64xf32>, tensor<?x64xf16>) {
  %a = hk.gelu %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %b = hk.gelu_tanh %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %c = hk.silu %x : tensor<?x64xf32> -> tensor<?x64xbf16>
  %d = hk.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %e = hk.tanh %x : tensor<?x64xf32> -> tensor<?x64xf16>
  return %a, %b, %c, %d, %e : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x64xf32>, tensor<?x64xf16>
}
func.func @limited(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x64xf32>) {
  %a = hk.softplus %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %b = hk.clamp %a min 0.5 max 7.0 : tensor<?x64xf32> -> tensor<?x64xbf16>
  %c = hk.clamp %x min 0xFF800000 max 1.5 : tensor<?x64xf32> -> tensor<?x64xf32>
  return %a, %b, %c : tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x64xf32>
}
func.func @quant(%x: tensor<?x300xbf16>) -> (tensor<?x300xf8E4M3FN>, tensor<?x3xf32>, tensor<?x300xi8>, tensor<?x1xf32>, tensor<?x300xf4E2M1FN>, tensor<?x10xf8E8M0FNU>) {
  %q, %s = hk.quantize per_group %x : tensor<?x300xbf16> -> tensor<?x300xf8E4M3FN>, tensor<?x3xf32>
  %p, %t = hk.quantize per_token %x : tensor<?x300xbf16> -> tensor<?x300xi8>, tensor<?x1xf32>
  %m, %e = hk.quantize_mx even %x : tensor<?x300xbf16> -> tensor<?x300xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
  return %q, %s, %p, %t, %m, %e : tensor<?x300xf8E4M3FN>, tensor<?x3xf32>, tensor<?x300xi8>, tensor<?x1xf32>, tensor<?x300xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
}
func.func @attn(%q: tensor<2x7x4x64xbf16>, %k: tensor<2x9x2x64xbf16>, %v: tensor<2x9x2x64xbf16>) -> (tensor<2x7x4x64xbf16>, tensor<2x7x4xf32>) {
  %o, %l = hk.attention %q, %k, %v scale 0.125 {causal} : tensor<2x7x4x64xbf16>, tensor<2x9x2x64xbf16>, tensor<2x9x2x64xbf16> -> tensor<2x7x4x64xbf16>, tensor<2x7x4xf32>
  return %o, %l : tensor<2x7x4x64xbf16>, tensor<2x7x4xf32>
}
func.func @move(%x: tensor<?x4x64xbf16>, %cos: tensor<32x32xf32>, %sin: tensor<32x32xf32>, %p: tensor<?xi32>, %cache: tensor<2x16x4x64xbf16> {hk.state}, %sl: tensor<?xi32>) -> (tensor<?x4x64xbf16>, tensor<4x?x64xbf16>, tensor<2x16x4x64xbf16>) {
  %r = hk.rope gptj %x, %cos, %sin positions %p : tensor<?x4x64xbf16>, tensor<32x32xf32>, tensor<32x32xf32> positions tensor<?xi32> -> tensor<?x4x64xbf16>
  %n = hk.l2_norm %r epsilon 1.0e-06 : tensor<?x4x64xbf16> -> tensor<?x4x64xbf16>
  %t = hk.transpose %x [1, 0, 2] : tensor<?x4x64xbf16> -> tensor<4x?x64xbf16>
  %c = hk.kv_cache_write %n, %sl into %cache : tensor<?x4x64xbf16>, tensor<?xi32>, tensor<2x16x4x64xbf16>
  return %n, %t, %c : tensor<?x4x64xbf16>, tensor<4x?x64xbf16>, tensor<2x16x4x64xbf16>
}
func.func @cat(%t: tensor<100x48xf16>, %i: tensor<?xi32>, %b: tensor<?x16xf16>, %w: tensor<96xf16>, %c: tensor<96xf16>) -> (tensor<?x96xf16>, tensor<?x96xi1>) {
  %e = hk.gather_rows %t, %i : tensor<100x48xf16>, tensor<?xi32> -> tensor<?x48xf16>
  %k = hk.concat 1 (%e, %b) : tensor<?x48xf16>, tensor<?x16xf16> -> tensor<?x64xf16>
  %p = hk.pad %k : tensor<?x64xf16> -> tensor<?x96xf16>
  %l = hk.layer_norm %p, %w, %c epsilon 1.0e-05 : tensor<?x96xf16>, tensor<96xf16>, tensor<96xf16> -> tensor<?x96xf16>
  %z = hk.constant dense<0.0> : tensor<f16>
  %m = hk.compare gt %l, %z : tensor<?x96xf16>, tensor<f16> -> tensor<?x96xi1>
  %s = hk.select %m, %l, %p : tensor<?x96xi1>, tensor<?x96xf16>, tensor<?x96xf16> -> tensor<?x96xf16>
  return %s, %m : tensor<?x96xf16>, tensor<?x96xi1>
}
func.func @scaled(%x: tensor<?x256xbf16>, %w: tensor<512x256xf8E4M3FN>, %ws: tensor<4x2xf32>) -> tensor<?x512xbf16> {
  %q, %s = hk.quantize per_group %x : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x2xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xf8E4M3FN>, tensor<512x256xf8E4M3FN> scales (tensor<?x2xf32>, tensor<4x2xf32>) -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
func.func @int8(%x: tensor<?x256xf32>, %w: tensor<512x256xi8>, %ws: tensor<512x1xf32>) -> (tensor<?x512xf32>, tensor<?x512xi32>) {
  %q, %s = hk.quantize per_token %x : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?x1xf32>
  %y = hk.matmul %q, %w scales (%s, %ws) {transpose_b} : tensor<?x256xi8>, tensor<512x256xi8> scales (tensor<?x1xf32>, tensor<512x1xf32>) -> tensor<?x512xf32>
  %z = hk.matmul %q, %w {transpose_b} : tensor<?x256xi8>, tensor<512x256xi8> -> tensor<?x512xi32>
  return %y, %z : tensor<?x512xf32>, tensor<?x512xi32>
}
func.func @unary(%x: tensor<?x37xf32>) -> (tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xi32>) {
  %a = hk.exp %x : tensor<?x37xf32> -> tensor<?x37xf32>
  %b = hk.abs %x : tensor<?x37xf32> -> tensor<?x37xf32>
  %c = hk.log %b : tensor<?x37xf32> -> tensor<?x37xf32>
  %d = hk.sin %x : tensor<?x37xf32> -> tensor<?x37xf32>
  %e = hk.erf %x : tensor<?x37xf32> -> tensor<?x37xf32>
  %f = hk.div %a, %x : tensor<?x37xf32>, tensor<?x37xf32> -> tensor<?x37xf32>
  %g = hk.rsqrt %b : tensor<?x37xf32> -> tensor<?x37xf32>
  %h = hk.sigmoid %x : tensor<?x37xf32> -> tensor<?x37xf32>
  %i = hk.cast %x : tensor<?x37xf32> -> tensor<?x37xi32>
  return %a, %c, %d, %e, %f, %g, %h, %i : tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xf32>, tensor<?x37xi32>
}
func.func @ragged(%q: tensor<10x4x64xf16>, %k: tensor<14x2x64xf16>, %v: tensor<14x2x64xf16>) -> tensor<10x4x64xf16> {
  %o = hk.attention %q, %k, %v scale 0.125 {causal, window_left = 5 : i64, softcap = 20.0 : f32} : tensor<10x4x64xf16>, tensor<14x2x64xf16>, tensor<14x2x64xf16> -> tensor<10x4x64xf16>
  return %o : tensor<10x4x64xf16>
}
func.func @batched(%a: tensor<3x5x96xf32>, %b: tensor<3x96x40xf32>, %c: tensor<96x7xf32>) -> (tensor<3x5x40xf32>, tensor<3x5x7xf32>) {
  %y = hk.matmul %a, %b : tensor<3x5x96xf32>, tensor<3x96x40xf32> -> tensor<3x5x40xf32>
  %z = hk.matmul %a, %c : tensor<3x5x96xf32>, tensor<96x7xf32> -> tensor<3x5x7xf32>
  return %y, %z : tensor<3x5x40xf32>, tensor<3x5x7xf32>
}
func.func @integers(%i: tensor<?x9xi32>, %j: tensor<9xi32>) -> (tensor<?x9xi32>, tensor<?x9xf32>) {
  %a = hk.mul %i, %j : tensor<?x9xi32>, tensor<9xi32> -> tensor<?x9xi32>
  %b = hk.div %a, %i : tensor<?x9xi32>, tensor<?x9xi32> -> tensor<?x9xi32>
  %c = hk.cast %a : tensor<?x9xi32> -> tensor<?x9xf32>
  return %b, %c : tensor<?x9xi32>, tensor<?x9xf32>
}
func.func @dequantized(%q: tensor<?x256xi8>, %s: tensor<?x2xf32>, %x: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %d = hk.dequantize %q, %s : tensor<?x256xi8>, tensor<?x2xf32> -> tensor<?x256xbf16>
  %y = hk.mul %d, %x : tensor<?x256xbf16>, tensor<?x256xbf16> -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
// Slices that pick rows and step over elements, on both sides of a norm.
func.func @stepped(%x: tensor<21x3x64xbf16>) -> (tensor<10x2x16xbf16>, tensor<7x1x32xf32>) {
  %0 = tensor.extract_slice %x[1, 0, 3] [10, 2, 16] [2, 2, 3] : tensor<21x3x64xbf16> to tensor<10x2x16xbf16>
  %1 = hk.l2_norm %0 epsilon 1.0e-06 : tensor<10x2x16xbf16> -> tensor<10x2x16xbf16>
  %2 = hk.l2_norm %x epsilon 1.0e-06 : tensor<21x3x64xbf16> -> tensor<21x3x64xf32>
  %3 = tensor.extract_slice %2[0, 1, 1] [7, 1, 32] [3, 1, 2] : tensor<21x3x64xf32> to tensor<7x1x32xf32>
  return %1, %3 : tensor<10x2x16xbf16>, tensor<7x1x32xf32>
}
