// A quantisation whose scales are of columns of one head ends an attention: groups of a part of a
// head, heads of 128 in groups of 128, of every path, of rows that see no keys (scale 1) and
// of NaN, whose scale is NaN. Where slices of keys are combined, that kernel quantises.
// RUN: split-file %s %t
// RUN: hk-compile %t/model.mlir -o %t/m.so --target=host,gfx942,gfx950 --split-keys=1
// RUN: hk-run %t/m.so --info | FileCheck %s --check-prefix=LAUNCHES
// RUN: hk-run %t/m.so --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 HK_EMU_STRICT_RACES=1 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx950 HK_EMU_STRICT_RACES=1 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --poison --calls=%t/calls | FileCheck %s
// RUN: hk-compile %t/copied.mlir -o %t/copied.so --target=sm_90a --split-keys=1 --explain 2>&1 | FileCheck %s --check-prefix=COPIED
// COPIED: 1 launches in @few, 1 launches in @many
// COPIED-DAG: waves = 8, stages = 2, splitKv = 1, heads = 4, cluster = 6>
// COPIED-DAG: waves = 20, stages = 2, splitKv = 1>
// LAUNCHES-COUNT-10: "launches": 1,
// LAUNCHES: "launches": 2,
// LAUNCHES-COUNT-10: "launches": 1,
// LAUNCHES: "launches": 2,
// LAUNCHES-COUNT-10: "launches": 1,
// LAUNCHES: "launches": 2,
// CHECK-COUNT-19: all within their bounds

//--- calls
--function=prefill --dim=q.0=2
--function=prefill --dim=q.0=1 --data=nan
--function=prefill --dim=q.0=1 --data=inf
--function=ragged --dim=q.0=75 --dim=k.0=90 --dim=off.0=4 --dim=koff.0=4
--function=ragged --dim=q.0=1 --dim=k.0=1 --dim=off.0=2 --dim=koff.0=2
--function=ragged --dim=q.0=75 --dim=k.0=90 --dim=off.0=4 --dim=koff.0=4 --data=tiny
--function=decode --dim=q.0=3 --dim=lens.0=3 --dim=table.0=3 --dim=gate.0=3 --range=lens=0:60 --range=table=-1:19
--function=decode --dim=q.0=2 --dim=lens.0=2 --dim=table.0=2 --dim=gate.0=2 --range=lens=0:0 --range=table=0:19
--function=decode --dim=q.0=2 --dim=lens.0=2 --dim=table.0=2 --dim=gate.0=2 --range=lens=100:112 --range=table=0:19 --data=nan
--function=heads
--function=microscaled
--function=microscaled --data=nan
--function=segments --range=lens=0:60 --range=table=0:9
--function=latent --dim=q.0=2 --dim=lens.0=2 --dim=table.0=2 --range=lens=0:96 --range=table=0:9
--function=vector --dim=q.0=5 --dim=k.0=33
--function=vector --dim=q.0=5 --dim=k.0=33 --data=nan
--function=f32
--function=behind
--function=sliced

//--- model.mlir
// A head of 128 is a group; the result is stored beside.
func.func @prefill(%q: tensor<?x150x4x128xbf16>, %k: tensor<?x150x2x128xbf16>, %v: tensor<?x150x2x128xbf16>) -> (tensor<?x512xf8E4M3FN>, tensor<?x4xf32>, tensor<?x150x4x128xbf16>) {
  %o = hk.attention %q, %k, %v scale 0.09 causal : tensor<?x150x4x128xbf16>, tensor<?x150x2x128xbf16>, tensor<?x150x2x128xbf16> -> tensor<?x150x4x128xbf16>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<?x150x4x128xbf16> into tensor<?x512xbf16>
  %y, %s = hk.quantize per_group %flat : tensor<?x512xbf16> -> tensor<?x512xf8E4M3FN>, tensor<?x4xf32>
  return %y, %s, %o : tensor<?x512xf8E4M3FN>, tensor<?x4xf32>, tensor<?x150x4x128xbf16>
}
// Five groups of 8 in heads of 40, whose log-sum-exps are stored, too.
func.func @ragged(%q: tensor<?x7x40xf16>, %k: tensor<?x1x40xf16>, %v: tensor<?x1x40xf16>, %off: tensor<?xi32>, %koff: tensor<?xi32>) -> (tensor<?x280xi8>, tensor<?x35xf32>, tensor<?x7xf32>) {
  %o, %lse = hk.attention %q, %k, %v q_offsets %off kv_offsets %koff scale 0.2 causal : tensor<?x7x40xf16>, tensor<?x1x40xf16>, tensor<?x1x40xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x7x40xf16>, tensor<?x7xf32>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x7x40xf16> into tensor<?x280xf16>
  %y, %s = hk.quantize per_group %flat group 8 amax_floor 1.0e-5 : tensor<?x280xf16> -> tensor<?x280xi8>, tensor<?x35xf32>
  return %y, %s, %lse : tensor<?x280xi8>, tensor<?x35xf32>, tensor<?x7xf32>
}
// A decode step behind a gate: waves have keys of their own.
func.func @decode(%q: tensor<?x1x8x64xbf16>, %k: tensor<20x16x2x64xbf16>, %v: tensor<20x16x2x64xbf16>, %lens: tensor<?xi32>, %table: tensor<?x7xi32>, %gate: tensor<?x512xbf16>) -> (tensor<?x512xf8E4M3FNUZ>, tensor<?x16xf32>) {
  %o = hk.attention %q, %k, %v kv_lens %lens block_table %table scale 0.125 causal : tensor<?x1x8x64xbf16>, tensor<20x16x2x64xbf16>, tensor<20x16x2x64xbf16> kv_lens tensor<?xi32> block_table tensor<?x7xi32> -> tensor<?x1x8x64xbf16>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<?x1x8x64xbf16> into tensor<?x512xbf16>
  %g = hk.sigmoid %gate : tensor<?x512xbf16> -> tensor<?x512xbf16>
  %m = hk.mul %flat, %g : tensor<?x512xbf16>
  %y, %s = hk.quantize per_group %m group 32 power_of_two : tensor<?x512xbf16> -> tensor<?x512xf8E4M3FNUZ>, tensor<?x16xf32>
  return %y, %s : tensor<?x512xf8E4M3FNUZ>, tensor<?x16xf32>
}
// A scale for each head, whose 96 columns are three fragments; heads lie in front of tokens.
func.func @heads(%q: tensor<2x4x37x96xbf16>, %k: tensor<2x41x2x96xbf16>, %v: tensor<2x41x2x96xbf16>) -> (tensor<2x4x37x96xi8>, tensor<2x4x37x1xf32>) {
  %x = hk.transpose %q [0, 2, 1, 3] : tensor<2x4x37x96xbf16> -> tensor<2x37x4x96xbf16>
  %o = hk.attention %x, %k, %v scale 0.1 : tensor<2x37x4x96xbf16>, tensor<2x41x2x96xbf16>, tensor<2x41x2x96xbf16> -> tensor<2x37x4x96xbf16>
  %t = hk.transpose %o [0, 2, 1, 3] : tensor<2x37x4x96xbf16> -> tensor<2x4x37x96xbf16>
  %c = hk.silu %t : tensor<2x4x37x96xbf16> -> tensor<2x4x37x96xbf16>
  %y, %s = hk.quantize per_token %c : tensor<2x4x37x96xbf16> -> tensor<2x4x37x96xi8>, tensor<2x4x37x1xf32>
  return %y, %s : tensor<2x4x37x96xi8>, tensor<2x4x37x1xf32>
}
func.func @microscaled(%q: tensor<1x70x2x64xf16>, %k: tensor<1x90x2x64xf16>, %v: tensor<1x90x2x64xf16>) -> (tensor<70x128xf8E4M3FN>, tensor<70x4xf8E8M0FNU>) {
  %o = hk.attention %q, %k, %v scale 0.1 causal window_left 9 : tensor<1x70x2x64xf16>, tensor<1x90x2x64xf16>, tensor<1x90x2x64xf16> -> tensor<1x70x2x64xf16>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<1x70x2x64xf16> into tensor<70x128xf16>
  %y, %s = hk.quantize_mx even %flat : tensor<70x128xf16> -> tensor<70x128xf8E4M3FN>, tensor<70x4xf8E8M0FNU>
  return %y, %s : tensor<70x128xf8E4M3FN>, tensor<70x4xf8E8M0FNU>
}
func.func @segments(%q: tensor<2x17x4x64xbf16>, %k: tensor<10x16x2x64xbf16>, %v: tensor<10x16x2x64xbf16>, %table: tensor<2x4xi32>, %lens: tensor<2xi32>, %nk: tensor<2x17x2x64xbf16>, %nv: tensor<2x17x2x64xbf16>) -> (tensor<2x17x256xf8E4M3FN>, tensor<2x17x4xf32>) {
  %p0, %l0 = hk.attention %q, %k, %v kv_lens %lens block_table %table scale 0.125 : tensor<2x17x4x64xbf16>, tensor<10x16x2x64xbf16>, tensor<10x16x2x64xbf16> kv_lens tensor<2xi32> block_table tensor<2x4xi32> -> tensor<2x17x4x64xf32>, tensor<2x17x4xf32>
  %p1, %l1 = hk.attention %q, %nk, %nv scale 0.125 causal : tensor<2x17x4x64xbf16>, tensor<2x17x2x64xbf16>, tensor<2x17x2x64xbf16> -> tensor<2x17x4x64xf32>, tensor<2x17x4xf32>
  %o = hk.attention_combine %p0, %l0, %p1, %l1 : tensor<2x17x4x64xf32>, tensor<2x17x4xf32>, tensor<2x17x4x64xf32>, tensor<2x17x4xf32> -> tensor<2x17x4x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x17x4x64xbf16> into tensor<2x17x256xbf16>
  %y, %s = hk.quantize per_group %flat group 64 : tensor<2x17x256xbf16> -> tensor<2x17x256xf8E4M3FN>, tensor<2x17x4xf32>
  return %y, %s : tensor<2x17x256xf8E4M3FN>, tensor<2x17x4xf32>
}
// Values are columns of the keys; a wave has 128 of a row.
func.func @latent(%q: tensor<?x1x16x576xbf16>, %kv: tensor<10x16x1x576xbf16>, %lens: tensor<?xi32>, %table: tensor<?x6xi32>) -> (tensor<?x1x16x512xf8E4M3FN>, tensor<?x1x16x4xf32>) {
  %o = hk.attention %q, %kv, %kv kv_lens %lens block_table %table scale 0.05 causal : tensor<?x1x16x576xbf16>, tensor<10x16x1x576xbf16>, tensor<10x16x1x576xbf16> kv_lens tensor<?xi32> block_table tensor<?x6xi32> -> tensor<?x1x16x512xbf16>
  %y, %s = hk.quantize per_group %o : tensor<?x1x16x512xbf16> -> tensor<?x1x16x512xf8E4M3FN>, tensor<?x1x16x4xf32>
  return %y, %s : tensor<?x1x16x512xf8E4M3FN>, tensor<?x1x16x4xf32>
}
// Rows of no multiple of 16 bytes, of 210 columns in groups of 7.
func.func @vector(%q: tensor<?x3x33xf32>, %k: tensor<?x3x33xf32>, %v: tensor<?x3x70xf32>) -> (tensor<?x210xi8>, tensor<?x30xf32>) {
  %o = hk.attention %q, %k, %v scale 0.2 : tensor<?x3x33xf32>, tensor<?x3x33xf32>, tensor<?x3x70xf32> -> tensor<?x3x70xf32>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<?x3x70xf32> into tensor<?x210xf32>
  %y, %s = hk.quantize per_group %flat group 7 : tensor<?x210xf32> -> tensor<?x210xi8>, tensor<?x30xf32>
  return %y, %s : tensor<?x210xi8>, tensor<?x30xf32>
}
// Groups of fewer columns than lanes store at a time, of heads that fill no fragment.
func.func @f32(%q: tensor<1x40x2x60xf32>, %k: tensor<1x50x1x60xf32>, %v: tensor<1x50x1x60xf32>) -> (tensor<1x40x2x60xf8E5M2>, tensor<1x40x2x30xf32>) {
  %o = hk.attention %q, %k, %v scale 0.2 causal : tensor<1x40x2x60xf32>, tensor<1x50x1x60xf32>, tensor<1x50x1x60xf32> -> tensor<1x40x2x60xf32>
  %y, %s = hk.quantize per_group %o group 2 : tensor<1x40x2x60xf32> -> tensor<1x40x2x60xf8E5M2>, tensor<1x40x2x30xf32>
  return %y, %s : tensor<1x40x2x60xf8E5M2>, tensor<1x40x2x30xf32>
}
// Loads of LDS behind which so many others are issued that clang leaves out their wait.
func.func @behind(%q: tensor<1x40x2x44xf32>, %k: tensor<1x50x1x44xf32>, %v: tensor<1x50x1x44xf32>) -> (tensor<40x88xf8E5M2>, tensor<40x2xf32>) {
  %o = hk.attention %q, %k, %v scale 0.2 causal : tensor<1x40x2x44xf32>, tensor<1x50x1x44xf32>, tensor<1x50x1x44xf32> -> tensor<1x40x2x44xf32>
  %flat = tensor.collapse_shape %o [[0, 1], [2, 3]] : tensor<1x40x2x44xf32> into tensor<40x88xf32>
  %y, %s = hk.quantize per_group %flat group 44 : tensor<40x88xf32> -> tensor<40x88xf8E5M2>, tensor<40x2xf32>
  return %y, %s : tensor<40x88xf8E5M2>, tensor<40x2xf32>
}
func.func @sliced(%q: tensor<3x8x128xbf16>, %k: tensor<700x2x128xbf16>, %v: tensor<700x2x128xbf16>) -> (tensor<3x1024xf8E4M3FN>, tensor<3x8xf32>) {
  %p, %l = hk.attention %q, %k, %v scale 0.125 kv_slices 3 : tensor<3x8x128xbf16>, tensor<700x2x128xbf16>, tensor<700x2x128xbf16> -> tensor<3x3x8x128xf32>, tensor<3x3x8xf32>
  %o = hk.attention_combine %p, %l : tensor<3x3x8x128xf32>, tensor<3x3x8xf32> -> tensor<3x8x128xbf16>
  %flat = tensor.collapse_shape %o [[0], [1, 2]] : tensor<3x8x128xbf16> into tensor<3x1024xbf16>
  %y, %s = hk.quantize per_group %flat : tensor<3x1024xbf16> -> tensor<3x1024xf8E4M3FN>, tensor<3x8xf32>
  return %y, %s : tensor<3x1024xf8E4M3FN>, tensor<3x8xf32>
}

//--- copied.mlir
// The loops that the copy engine feeds: blocks of a cluster that put a row together, and rows of one warp.
func.func @few(%q: tensor<1x64x8x128xbf16>, %k: tensor<1x1024x2x128xbf16>, %v: tensor<1x1024x2x128xbf16>) -> (tensor<1x64x1024xf8E4M3FN>, tensor<1x64x8xf32>) {
  %o = hk.attention %q, %k, %v scale 0.0884 causal : tensor<1x64x8x128xbf16>, tensor<1x1024x2x128xbf16>, tensor<1x1024x2x128xbf16> -> tensor<1x64x8x128xbf16>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<1x64x8x128xbf16> into tensor<1x64x1024xbf16>
  %y, %s = hk.quantize per_group %flat : tensor<1x64x1024xbf16> -> tensor<1x64x1024xf8E4M3FN>, tensor<1x64x8xf32>
  return %y, %s : tensor<1x64x1024xf8E4M3FN>, tensor<1x64x8xf32>
}
func.func @many(%q: tensor<4x2048x16x64xbf16>, %k: tensor<4x2048x16x64xbf16>, %v: tensor<4x2048x16x64xbf16>) -> (tensor<4x2048x1024xf8E4M3FN>, tensor<4x2048x16xf32>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<4x2048x16x64xbf16>, tensor<4x2048x16x64xbf16>, tensor<4x2048x16x64xbf16> -> tensor<4x2048x16x64xbf16>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<4x2048x16x64xbf16> into tensor<4x2048x1024xbf16>
  %y, %s = hk.quantize per_group %flat group 64 : tensor<4x2048x1024xbf16> -> tensor<4x2048x1024xf8E4M3FN>, tensor<4x2048x16xf32>
  return %y, %s : tensor<4x2048x1024xf8E4M3FN>, tensor<4x2048x16xf32>
}
