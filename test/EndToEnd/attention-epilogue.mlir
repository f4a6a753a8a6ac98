// What follows attention is computed where each path stores its results: a gate, sums,
// casts and static quantisation, of rows as the result has them, of all heads joined, of
// all sequences joined, or turned.
// RUN: split-file %s %t
// RUN: hk-compile %t/model.mlir -o %t/m.so --target=host,gfx942,gfx950 --split-keys=1
// RUN: hk-run %t/m.so --info | FileCheck %s --check-prefix=LAUNCHES
// RUN: hk-run %t/m.so --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_STRICT_RACES=1 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// LAUNCHES-COUNT-30: "launches": 1,
// LAUNCHES-NOT: "launches"
// CHECK-COUNT-12: all within their bounds

//--- calls
--function=decode --dim=q.0=3 --dim=lens.0=3 --dim=table.0=3 --dim=gate.0=3 --range=lens=0:112 --range=table=-1:19
--function=decode --dim=q.0=1 --dim=lens.0=1 --dim=table.0=1 --dim=gate.0=1 --range=lens=100:112 --range=table=0:19
--function=ragged --dim=q.0=75 --dim=k.0=90 --dim=off.0=4 --dim=koff.0=4 --dim=gate.0=75
--function=ragged --dim=q.0=1 --dim=k.0=1 --dim=off.0=2 --dim=koff.0=2 --dim=gate.0=1
--function=prefill --dim=q.0=2
--function=turned
--function=segments --range=lens=0:60 --range=table=0:9
--function=latent --dim=q.0=2 --dim=lens.0=2 --dim=table.0=2 --range=lens=30:96 --range=table=0:9
--function=slopes
--function=vector --dim=q.0=5 --dim=k.0=33 --dim=more.0=5
--function=narrow --dim=q.0=33 --dim=k.0=70 --dim=gate.0=33
--function=columns

//--- model.mlir
// A decode step: waves have keys of their own.
func.func @decode(%q: tensor<?x1x8x64xbf16>, %k: tensor<20x16x2x64xbf16>, %v: tensor<20x16x2x64xbf16>, %lens: tensor<?xi32>, %table: tensor<?x7xi32>, %gate: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %lens block_table %table scale 0.125 causal : tensor<?x1x8x64xbf16>, tensor<20x16x2x64xbf16>, tensor<20x16x2x64xbf16> kv_lens tensor<?xi32> block_table tensor<?x7xi32> -> tensor<?x1x8x64xbf16>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<?x1x8x64xbf16> into tensor<?x512xbf16>
  %s = hk.sigmoid %gate : tensor<?x512xbf16> -> tensor<?x512xbf16>
  %y = hk.mul %flat, %s : tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
// Seven heads of 40 columns; the gate is the last of three parts of a head.
func.func @ragged(%q: tensor<?x7x40xf16>, %k: tensor<?x1x40xf16>, %v: tensor<?x1x40xf16>, %off: tensor<?xi32>, %koff: tensor<?xi32>, %gate: tensor<?x7x120xf16>) -> (tensor<?x280xf16>, tensor<?x7xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %q, %c0 : tensor<?x7x40xf16>
  %o, %lse = hk.attention %q, %k, %v q_offsets %off kv_offsets %koff scale 0.2 causal : tensor<?x7x40xf16>, tensor<?x1x40xf16>, tensor<?x1x40xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x7x40xf16>, tensor<?x7xf32>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x7x40xf16> into tensor<?x280xf16>
  %part = tensor.extract_slice %gate[0, 0, 80] [%n, 7, 40] [1, 1, 1] : tensor<?x7x120xf16> to tensor<?x7x40xf16>
  %g = tensor.collapse_shape %part [[0], [1, 2]] : tensor<?x7x40xf16> into tensor<?x280xf16>
  %s = hk.silu %g : tensor<?x280xf16> -> tensor<?x280xf16>
  %y = hk.mul %flat, %s : tensor<?x280xf16>
  return %y, %lse : tensor<?x280xf16>, tensor<?x7xf32>
}
// Both the codes and the result that they are of are stored.
func.func @prefill(%q: tensor<?x150x4x128xbf16>, %k: tensor<?x150x2x128xbf16>, %v: tensor<?x150x2x128xbf16>, %scale: tensor<1xf32>) -> (tensor<?x512xf8E4M3FN>, tensor<?x150x4x128xbf16>) {
  %o = hk.attention %q, %k, %v scale 0.09 causal : tensor<?x150x4x128xbf16>, tensor<?x150x2x128xbf16>, tensor<?x150x2x128xbf16> -> tensor<?x150x4x128xbf16>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<?x150x4x128xbf16> into tensor<?x512xbf16>
  %y = hk.quantize_static %flat, %scale : tensor<?x512xbf16>, tensor<1xf32> -> tensor<?x512xf8E4M3FN>
  return %y, %o : tensor<?x512xf8E4M3FN>, tensor<?x150x4x128xbf16>
}
func.func @turned(%q: tensor<2x4x70x64xf16>, %k: tensor<2x2x90x64xf16>, %v: tensor<2x2x90x64xf16>, %gate: tensor<2x4x70x64xf16>, %more: tensor<140x256xf16>) -> tensor<140x256xf32> {
  %x = hk.transpose %q [0, 2, 1, 3] : tensor<2x4x70x64xf16> -> tensor<2x70x4x64xf16>
  %y = hk.transpose %k [0, 2, 1, 3] : tensor<2x2x90x64xf16> -> tensor<2x90x2x64xf16>
  %z = hk.transpose %v [0, 2, 1, 3] : tensor<2x2x90x64xf16> -> tensor<2x90x2x64xf16>
  %o = hk.attention %x, %y, %z scale 0.125 : tensor<2x70x4x64xf16>, tensor<2x90x2x64xf16>, tensor<2x90x2x64xf16> -> tensor<2x70x4x64xf16>
  %t = hk.transpose %o [0, 2, 1, 3] : tensor<2x70x4x64xf16> -> tensor<2x4x70x64xf16>
  %s = hk.silu %gate : tensor<2x4x70x64xf16> -> tensor<2x4x70x64xf16>
  %m = hk.mul %t, %s : tensor<2x4x70x64xf16>
  %b = hk.transpose %m [0, 2, 1, 3] : tensor<2x4x70x64xf16> -> tensor<2x70x4x64xf16>
  %flat = tensor.collapse_shape %b [[0, 1], [2, 3]] : tensor<2x70x4x64xf16> into tensor<140x256xf16>
  %a = hk.add %flat, %more : tensor<140x256xf16>
  %c = hk.cast %a : tensor<140x256xf16> -> tensor<140x256xf32>
  return %c : tensor<140x256xf32>
}
func.func @segments(%q: tensor<2x17x4x64xbf16>, %k: tensor<10x16x2x64xbf16>, %v: tensor<10x16x2x64xbf16>, %table: tensor<2x4xi32>, %lens: tensor<2xi32>, %nk: tensor<2x17x2x64xbf16>, %nv: tensor<2x17x2x64xbf16>, %gate: tensor<2x17x256xbf16>) -> tensor<2x17x256xbf16> {
  %p0, %l0 = hk.attention %q, %k, %v kv_lens %lens block_table %table scale 0.125 : tensor<2x17x4x64xbf16>, tensor<10x16x2x64xbf16>, tensor<10x16x2x64xbf16> kv_lens tensor<2xi32> block_table tensor<2x4xi32> -> tensor<2x17x4x64xf32>, tensor<2x17x4xf32>
  %p1, %l1 = hk.attention %q, %nk, %nv scale 0.125 causal : tensor<2x17x4x64xbf16>, tensor<2x17x2x64xbf16>, tensor<2x17x2x64xbf16> -> tensor<2x17x4x64xf32>, tensor<2x17x4xf32>
  %o = hk.attention_combine %p0, %l0, %p1, %l1 : tensor<2x17x4x64xf32>, tensor<2x17x4xf32>, tensor<2x17x4x64xf32>, tensor<2x17x4xf32> -> tensor<2x17x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x17x4x64xbf16> into tensor<2x17x256xbf16>
  %s = hk.sigmoid %gate : tensor<2x17x256xbf16> -> tensor<2x17x256xbf16>
  %y = hk.mul %flat, %s : tensor<2x17x256xbf16>
  return %y : tensor<2x17x256xbf16>
}
// Values are columns of the keys.
func.func @latent(%q: tensor<?x1x16x576xbf16>, %kv: tensor<10x16x1x576xbf16>, %lens: tensor<?xi32>, %table: tensor<?x6xi32>, %scale: tensor<1xf32>) -> tensor<?x1x16x512xf8E4M3FNUZ> {
  %c0 = arith.constant 0 : index
  %o = hk.attention %q, %kv, %kv kv_lens %lens block_table %table scale 0.05 causal : tensor<?x1x16x576xbf16>, tensor<10x16x1x576xbf16>, tensor<10x16x1x576xbf16> kv_lens tensor<?xi32> block_table tensor<?x6xi32> -> tensor<?x1x16x512xbf16>
  %y = hk.quantize_static %o, %scale : tensor<?x1x16x512xbf16>, tensor<1xf32> -> tensor<?x1x16x512xf8E4M3FNUZ>
  return %y : tensor<?x1x16x512xf8E4M3FNUZ>
}
// A region and an epilogue.
func.func @slopes(%q: tensor<1x33x4x64xbf16>, %k: tensor<1x40x4x64xbf16>, %v: tensor<1x40x4x64xbf16>, %slopes: tensor<4xf32>, %gate: tensor<1x33x4x64xbf16>) -> tensor<1x33x4x64xbf16> {
  %o = hk.attention %q, %k, %v reads (%slopes) scale 0.125 causal : tensor<1x33x4x64xbf16>, tensor<1x40x4x64xbf16>, tensor<1x40x4x64xbf16> reads (tensor<4xf32>) -> tensor<1x33x4x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %table: tensor<4xf32>):
    %slope = hk.gather_elements %table [%h] : tensor<4xf32> [tensor<i32>] -> tensor<f32>
    %at = hk.cast %j : tensor<i32> -> tensor<f32>
    %bias = hk.mul %slope, %at : tensor<f32>
    %t = hk.add %s, %bias : tensor<f32>
    hk.yield %t : tensor<f32>
  }
  %y = hk.mul %o, %gate : tensor<1x33x4x64xbf16>
  return %y : tensor<1x33x4x64xbf16>
}
// Rows of 7 elements; a value for each row.
func.func @vector(%q: tensor<?x3x33xf32>, %k: tensor<?x3x33xf32>, %v: tensor<?x3x7xf32>, %more: tensor<?x1x1xf32>, %scale: tensor<f32>) -> tensor<?x21xi8> {
  %o = hk.attention %q, %k, %v scale 0.2 : tensor<?x3x33xf32>, tensor<?x3x33xf32>, tensor<?x3x7xf32> -> tensor<?x3x7xf32>
  %a = hk.mul %o, %more : tensor<?x3x7xf32>, tensor<?x1x1xf32> -> tensor<?x3x7xf32>
  %flat = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x3x7xf32> into tensor<?x21xf32>
  %y = hk.quantize_static %flat, %scale : tensor<?x21xf32>, tensor<f32> -> tensor<?x21xi8>
  return %y : tensor<?x21xi8>
}
// Keys and values of 8 bits with scales.
func.func @narrow(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xf8E4M3FNUZ>, %v: tensor<?x2x64xf8E4M3FNUZ>, %ks: tensor<f32>, %vs: tensor<f32>, %gate: tensor<?x4x64xbf16>) -> tensor<?x4x64xf32> {
  %o = hk.attention %q, %k, %v k_scale %ks v_scale %vs scale 0.125 causal : tensor<?x4x64xbf16>, tensor<?x2x64xf8E4M3FNUZ>, tensor<?x2x64xf8E4M3FNUZ> k_scale tensor<f32> v_scale tensor<f32> -> tensor<?x4x64xf32>
  %y = hk.mul %o, %gate : tensor<?x4x64xf32>, tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
  return %y : tensor<?x4x64xf32>
}
// A vector of columns that all rows share, and one of heads.
func.func @columns(%q: tensor<3x1x6x80xbf16>, %k: tensor<3x50x3x80xbf16>, %v: tensor<3x50x3x80xbf16>, %c: tensor<480xbf16>, %h: tensor<6x1xf32>) -> tensor<3x480xbf16> {
  %o = hk.attention %q, %k, %v scale 0.1 : tensor<3x1x6x80xbf16>, tensor<3x50x3x80xbf16>, tensor<3x50x3x80xbf16> -> tensor<3x1x6x80xbf16>
  %m = hk.mul %o, %h : tensor<3x1x6x80xbf16>, tensor<6x1xf32> -> tensor<3x1x6x80xbf16>
  %flat = tensor.collapse_shape %m [[0, 1], [2, 3]] : tensor<3x1x6x80xbf16> into tensor<3x480xbf16>
  %y = hk.add %flat, %c : tensor<3x480xbf16>, tensor<480xbf16> -> tensor<3x480xbf16>
  return %y : tensor<3x480xbf16>
}
