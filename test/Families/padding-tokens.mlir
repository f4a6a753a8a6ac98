// Tokens behind the last offset belong to no sequence, as in the padded batches that
// engines capture in graphs: their results are those of tokens that see nothing, on
// memory that was NaN before, and no state changes for them.
// RUN: hk-compile %s -o %t.so --target=host,gfx942
// DEFINE: %{host} = hk-run %t.so --poison --shuffle=3 --check=%s
// DEFINE: %{emu} = env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_STRICT_RACES=1 hk-run %t.so --poison --check=%s --device=hip:0
// RUN: echo '--function=ragged --dim=q.0=61 --dim=k.0=90 --dim=qo.0=4 --range=qo=bounds:40 --range=ko=bounds:90' > %t.calls
// RUN: echo '--function=ragged --dim=q.0=9 --dim=k.0=20 --dim=qo.0=4 --range=qo=bounds:0 --range=ko=bounds:20' >> %t.calls
// RUN: echo '--function=ragged --dim=q.0=9 --dim=k.0=20 --dim=qo.0=1 --range=qo=bounds:0 --range=ko=bounds:0' >> %t.calls
// RUN: echo '--function=ragged --dim=q.0=0 --dim=k.0=20 --dim=qo.0=1' >> %t.calls
// RUN: echo '--function=ragged --dim=q.0=64 --dim=k.0=90 --dim=qo.0=3 --range=qo=bounds:64 --range=ko=bounds:90' >> %t.calls
// RUN: echo '--function=paged --dim=q.0=8 --dim=qo.0=6 --dim=lens.0=5 --dim=table.0=5 --range=qo=iota --range=lens=1:64 --range=table=0:19' >> %t.calls
// RUN: echo '--function=paged --dim=q.0=33 --dim=qo.0=3 --dim=lens.0=2 --dim=table.0=2 --range=qo=bounds:17 --range=lens=17:64 --range=table=0:19' >> %t.calls
// RUN: echo '--function=vector --dim=q.0=13 --dim=k.0=30 --dim=qo.0=3 --range=qo=bounds:7 --range=ko=bounds:30' >> %t.calls
// RUN: echo '--function=sliced --dim=q.0=13 --dim=qo.0=3 --range=qo=bounds:7 --range=lens=500:512 --range=table=0:15' >> %t.calls
// RUN: echo '--function=conv --dim=x.0=67 --dim=cu.0=5 --dim=lines.0=4 --range=cu=bounds:60 --range=lines=iota:1' >> %t.calls
// RUN: echo '--function=conv --dim=x.0=67 --dim=cu.0=5 --dim=lines.0=4 --range=cu=bounds:0 --range=lines=iota:1 --data=nan' >> %t.calls
// RUN: echo '--function=conv --dim=x.0=5 --dim=cu.0=1 --dim=lines.0=0 --range=cu=bounds:0' >> %t.calls
// RUN: echo '--function=conv --dim=x.0=3 --dim=cu.0=3 --dim=lines.0=2 --range=cu=bounds:2 --range=lines=iota:3' >> %t.calls
// RUN: echo '--function=blocks --dim=x.0=50 --dim=cu.0=4 --dim=table.0=3 --dim=computed.0=3 --range=cu=bounds:41 --range=table=iota --range=computed=0:9' >> %t.calls
// RUN: %{host} --calls=%t.calls | FileCheck %s
// RUN: %{emu} --calls=%t.calls | FileCheck %s
// CHECK-COUNT-14: all within their bounds

func.func @ragged(%q: tensor<?x4x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>) -> (tensor<?x4x64xbf16>, tensor<?x4xf32>) {
  %o, %l = hk.attention %q, %k, %v q_offsets %qo kv_offsets %ko scale 0.125 {causal} : tensor<?x4x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xbf16>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x64xbf16>, tensor<?x4xf32>
}
func.func @paged(%q: tensor<?x8x64xf16>, %k: tensor<20x16x2x64xf16>, %v: tensor<20x16x2x64xf16>, %qo: tensor<?xi32>, %lens: tensor<?xi32>, %table: tensor<?x4xi32>, %sink: tensor<8xf32>) -> (tensor<?x8x64xf16>, tensor<?x8xf32>) {
  %o, %l = hk.attention %q, %k, %v q_offsets %qo kv_lens %lens block_table %table sink %sink scale 0.125 {causal, window_left = 20 : i64} : tensor<?x8x64xf16>, tensor<20x16x2x64xf16>, tensor<20x16x2x64xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x4xi32> sink tensor<8xf32> -> tensor<?x8x64xf16>, tensor<?x8xf32>
  return %o, %l : tensor<?x8x64xf16>, tensor<?x8xf32>
}
func.func @vector(%q: tensor<?x4x33xf32>, %k: tensor<?x2x33xf32>, %qo: tensor<?xi32>, %ko: tensor<?xi32>) -> tensor<?x4x33xf32> {
  %o = hk.attention %q, %k, %k q_offsets %qo kv_offsets %ko scale 0.125 : tensor<?x4x33xf32>, tensor<?x2x33xf32>, tensor<?x2x33xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x33xf32>
  return %o : tensor<?x4x33xf32>
}
func.func @sliced(%q: tensor<?x4x64xbf16>, %k: tensor<16x64x2x64xbf16>, %v: tensor<16x64x2x64xbf16>, %qo: tensor<?xi32>, %lens: tensor<2xi32>, %table: tensor<2x8xi32>) -> (tensor<3x?x4x64xf32>, tensor<3x?x4xf32>) {
  %o, %l = hk.attention %q, %k, %v q_offsets %qo kv_lens %lens block_table %table scale 0.125 {causal, kv_slices = 3 : i64} : tensor<?x4x64xbf16>, tensor<16x64x2x64xbf16>, tensor<16x64x2x64xbf16> q_offsets tensor<?xi32> kv_lens tensor<2xi32> block_table tensor<2x8xi32> -> tensor<3x?x4x64xf32>, tensor<3x?x4xf32>
  return %o, %l : tensor<3x?x4x64xf32>, tensor<3x?x4xf32>
}
func.func @conv(%x: tensor<?x48xbf16>, %w: tensor<48x4xbf16>, %b: tensor<48xbf16>, %cu: tensor<?xi32>, %state: tensor<9x3x48xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x48xbf16>, tensor<9x3x48xbf16>) {
  %y, %s = hk.causal_conv1d channel_last %x, %w bias %b offsets %cu state %state indices %lines : tensor<?x48xbf16>, tensor<48x4xbf16> bias tensor<48xbf16> offsets tensor<?xi32> state tensor<9x3x48xbf16> indices tensor<?xi32> -> tensor<?x48xbf16>, tensor<9x3x48xbf16>
  %z = hk.silu %y : tensor<?x48xbf16> -> tensor<?x48xbf16>
  return %z, %s : tensor<?x48xbf16>, tensor<9x3x48xbf16>
}
func.func @blocks(%x: tensor<?x48xbf16>, %w: tensor<48x4xbf16>, %cu: tensor<?xi32>, %state: tensor<24x3x48xbf16> {hk.state}, %table: tensor<?x8xi32>, %computed: tensor<?xi32>) -> (tensor<?x48xbf16>, tensor<24x3x48xbf16>) {
  %y, %s = hk.causal_conv1d channel_last %x, %w offsets %cu state %state indices %table computed %computed {block = 16 : i64} : tensor<?x48xbf16>, tensor<48x4xbf16> offsets tensor<?xi32> state tensor<24x3x48xbf16> indices tensor<?x8xi32> computed tensor<?xi32> -> tensor<?x48xbf16>, tensor<24x3x48xbf16>
  return %y, %s : tensor<?x48xbf16>, tensor<24x3x48xbf16>
}
