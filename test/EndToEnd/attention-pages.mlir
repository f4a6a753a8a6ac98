// Attention by the warp-specialised loop of sm_90a to keys in pages of a cache and to several
// segments of the keys, as attention-bulk.mlir: boxes smaller than a page and as large, pages in
// any order, some missing, lengths of 0 and 1 and behind what the table holds, more queries than
// keys, segments without keys, scales that differ.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=200 --range=n=0:400 --range=t=distinct:79
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=64 --range=n=1:1 --range=t=distinct:79
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=300 --range=n=100:150 --range=t=-1:79
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=100 --range=n=0:0 --range=t=distinct:79
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=129 --range=n=390:400 --range=t=distinct:40
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=129 --range=n=161:170 --range=t=distinct:79 --data=nan
// RUN: hk-run %t.so --check=%s --function=pages16 --dim=q.1=70 --range=n=100:330 --range=t=-3:-1
// RUN: hk-run %t.so --check=%s --function=pages64 --dim=q.0=500 --dim=o.0=5 --dim=n.0=4 --dim=t.0=4 --range=n=0:512 --range=t=distinct:39
// RUN: hk-run %t.so --check=%s --function=pages64 --dim=q.0=400 --dim=o.0=4 --dim=n.0=3 --dim=t.0=3 --range=n=0:300 --range=t=-2:39
// RUN: hk-run %t.so --check=%s --function=pages24 --dim=q.1=130 --range=n=0:384 --range=t=distinct:31
// RUN: hk-run %t.so --check=%s --function=pages256 --dim=q.1=140 --range=n=200:1024 --range=t=distinct:7
// RUN: hk-run %t.so --check=%s --function=heads_first --dim=q.0=150 --range=t=distinct:19
// RUN: hk-run %t.so --check=%s --function=table --dim=q.0=500 --dim=o.0=5 --dim=to.0=5 --dim=t.0=60 --range=to=bounds:60 --range=t=-1:49
// RUN: hk-run %t.so --check=%s --function=extend --dim=q.1=200 --dim=k.1=200 --dim=v.1=200 --range=n=0:400 --range=t=distinct:79
// RUN: hk-run %t.so --check=%s --function=extend --dim=q.1=130 --dim=k.1=60 --dim=v.1=60 --range=n=0:0 --range=t=distinct:79
// RUN: hk-run %t.so --check=%s --function=extend --dim=q.1=64 --dim=k.1=1 --dim=v.1=1 --range=n=1:300 --range=t=-1:79
// RUN: hk-run %t.so --check=%s --function=extend --dim=q.1=129 --dim=k.1=129 --dim=v.1=129 --range=n=100:300 --range=t=distinct:79 --data=huge
// RUN: hk-run %t.so --check=%s --function=prompt --dim=q.0=600 --dim=k.0=600 --dim=v.0=600 --dim=o.0=6 --dim=n.0=5 --dim=t.0=5 --range=n=0:400 --range=t=distinct:149
// RUN: hk-run %t.so --check=%s --function=prompt --dim=q.0=300 --dim=k.0=300 --dim=v.0=300 --dim=o.0=3 --dim=n.0=2 --dim=t.0=2 --range=n=300:480 --range=t=-1:149
// RUN: hk-run %t.so --check=%s --function=past --dim=q.1=150 --range=n=0:400 --range=t=distinct:79
// RUN: hk-run %t.so --check=%s --function=three --dim=q.0=200 --dim=k.0=333 --dim=w.0=200
// RUN: hk-run %t.so --check=%s --function=three --dim=q.0=129 --dim=k.0=1 --dim=w.0=130 --data=huge
// RUN: hk-run %t.so --check=%s --function=scales --dim=q.0=150 --dim=k.0=200 --dim=w.0=150
// RUN: hk-run %t.so --check=%s --function=wide --dim=q.0=150 --range=n=0:320 --range=t=distinct:29
// RUN: hk-run %t.so --check=%s --function=pod --range=n=0:400
// RUN: hk-run %t.so --check=%s --function=pod_pages --range=n=0:400 --range=m=300:400 --range=t=distinct:149 --range=u=distinct:149

func.func @pages16(%q: tensor<3x?x4x128xbf16>, %k: tensor<80x16x2x128xbf16>, %v: tensor<80x16x2x128xbf16>, %n: tensor<3xi32>, %t: tensor<3x25xi32>) -> (tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0884 causal : tensor<3x?x4x128xbf16>, tensor<80x16x2x128xbf16>, tensor<80x16x2x128xbf16> kv_lens tensor<3xi32> block_table tensor<3x25xi32> -> tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>
  return %0, %1 : tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>
}
// Sequences of different numbers of queries; a window, a soft cap, a sink.
func.func @pages64(%q: tensor<?x4x64xf16>, %k: tensor<40x64x1x64xf16>, %v: tensor<40x64x1x64xf16>, %o: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x8xi32>, %s: tensor<4xf32>) -> (tensor<?x4x64xf16>, tensor<?x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v q_offsets %o kv_lens %n block_table %t sink %s scale 0.125 causal window_left 150 softcap 30.0 : tensor<?x4x64xf16>, tensor<40x64x1x64xf16>, tensor<40x64x1x64xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x8xi32> sink tensor<4xf32> -> tensor<?x4x64xf16>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4x64xf16>, tensor<?x4xf32>
}
// Boxes of 8 rows, three a page, 24 a tile.
func.func @pages24(%q: tensor<2x?x2x64xbf16>, %k: tensor<32x24x2x64xbf16>, %v: tensor<32x24x2x64xbf16>, %n: tensor<2xi32>, %t: tensor<2x16xi32>) -> tensor<2x?x2x64xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.125 : tensor<2x?x2x64xbf16>, tensor<32x24x2x64xbf16>, tensor<32x24x2x64xbf16> kv_lens tensor<2xi32> block_table tensor<2x16xi32> -> tensor<2x?x2x64xbf16>
  return %0 : tensor<2x?x2x64xbf16>
}
// A page is two tiles.
func.func @pages256(%q: tensor<2x?x2x128xf16>, %k: tensor<8x256x1x128xf16>, %v: tensor<8x256x1x128xf16>, %n: tensor<2xi32>, %t: tensor<2x4xi32>) -> tensor<2x?x2x128xf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0884 causal : tensor<2x?x2x128xf16>, tensor<8x256x1x128xf16>, tensor<8x256x1x128xf16> kv_lens tensor<2xi32> block_table tensor<2x4xi32> -> tensor<2x?x2x128xf16>
  return %0 : tensor<2x?x2x128xf16>
}
// One sequence, every page full.
func.func @heads_first(%q: tensor<?x4x128xbf16>, %k: tensor<20x2x32x128xbf16>, %v: tensor<20x32x2x128xbf16>, %t: tensor<1x10xi32>) -> tensor<?x4x128xbf16> {
  %0 = hk.attention %q, %k, %v block_table %t scale 0.0884 causal key_layout head_major : tensor<?x4x128xbf16>, tensor<20x2x32x128xbf16>, tensor<20x32x2x128xbf16> block_table tensor<1x10xi32> -> tensor<?x4x128xbf16>
  return %0 : tensor<?x4x128xbf16>
}
// A table of one dim.
func.func @table(%q: tensor<?x4x96xbf16>, %k: tensor<50x16x4x96xbf16>, %v: tensor<50x16x4x96xbf16>, %o: tensor<?xi32>, %t: tensor<?xi32>, %to: tensor<?xi32>) -> tensor<?x4x96xbf16> {
  %0 = hk.attention %q, %k, %v q_offsets %o block_table %t table_offsets %to scale 0.1 : tensor<?x4x96xbf16>, tensor<50x16x4x96xbf16>, tensor<50x16x4x96xbf16> q_offsets tensor<?xi32> block_table tensor<?xi32> table_offsets tensor<?xi32> -> tensor<?x4x96xbf16>
  return %0 : tensor<?x4x96xbf16>
}
func.func @extend(%q: tensor<3x?x4x128xbf16>, %k: tensor<3x?x2x128xbf16>, %v: tensor<3x?x2x128xbf16>, %kc: tensor<80x16x2x128xbf16>, %vc: tensor<80x16x2x128xbf16>, %n: tensor<3xi32>, %t: tensor<3x25xi32>, %s: tensor<4xf32>) -> (tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>) {
  %x, %a = hk.attention %q, %kc, %vc kv_lens %n block_table %t scale 0.0884 : tensor<3x?x4x128xbf16>, tensor<80x16x2x128xbf16>, tensor<80x16x2x128xbf16> kv_lens tensor<3xi32> block_table tensor<3x25xi32> -> tensor<3x?x4x128xf32>, tensor<3x?x4xf32>
  %y, %b = hk.attention %q, %k, %v scale 0.0884 causal : tensor<3x?x4x128xbf16>, tensor<3x?x2x128xbf16>, tensor<3x?x2x128xbf16> -> tensor<3x?x4x128xf32>, tensor<3x?x4xf32>
  %0, %1 = hk.attention_combine %x, %a, %y, %b sink %s : tensor<3x?x4x128xf32>, tensor<3x?x4xf32>, tensor<3x?x4x128xf32>, tensor<3x?x4xf32> sink tensor<4xf32> -> tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>
  return %0, %1 : tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>
}
// The cache's lengths count the new tokens; in f16 the maximum makes room between segments.
func.func @prompt(%q: tensor<?x8x64xf16>, %k: tensor<?x2x64xf16>, %v: tensor<?x2x64xf16>, %kc: tensor<150x16x2x64xf16>, %vc: tensor<150x16x2x64xf16>, %o: tensor<?xi32>, %n: tensor<?xi32>, %t: tensor<?x30xi32>) -> (tensor<?x8x64xf16>, tensor<?x8xf32>) {
  %x, %a = hk.attention %q, %kc, %vc q_offsets %o kv_lens %n block_table %t scale 0.125 past window_left 200 : tensor<?x8x64xf16>, tensor<150x16x2x64xf16>, tensor<150x16x2x64xf16> q_offsets tensor<?xi32> kv_lens tensor<?xi32> block_table tensor<?x30xi32> -> tensor<?x8x64xf32>, tensor<?x8xf32>
  %y, %b = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.125 causal window_left 200 : tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x8x64xf32>, tensor<?x8xf32>
  %0, %1 = hk.attention_combine %x, %a, %y, %b : tensor<?x8x64xf32>, tensor<?x8xf32>, tensor<?x8x64xf32>, tensor<?x8xf32> -> tensor<?x8x64xf16>, tensor<?x8xf32>
  return %0, %1 : tensor<?x8x64xf16>, tensor<?x8xf32>
}
func.func @past(%q: tensor<3x?x4x128xbf16>, %k: tensor<80x16x2x128xbf16>, %v: tensor<80x16x2x128xbf16>, %n: tensor<3xi32>, %t: tensor<3x25xi32>) -> tensor<3x?x4x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0884 past : tensor<3x?x4x128xbf16>, tensor<80x16x2x128xbf16>, tensor<80x16x2x128xbf16> kv_lens tensor<3xi32> block_table tensor<3x25xi32> -> tensor<3x?x4x128xbf16>
  return %0 : tensor<3x?x4x128xbf16>
}
func.func @three(%q: tensor<?x4x64xf16>, %k: tensor<?x2x64xf16>, %v: tensor<2x130x64xf16>, %w: tensor<?x2x64xf16>) -> tensor<?x4x64xf16> {
  %z = hk.transpose %v [1, 0, 2] : tensor<2x130x64xf16> -> tensor<130x2x64xf16>
  %x, %a = hk.attention %q, %k, %k scale 0.125 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %y, %b = hk.attention %q, %z, %z scale 0.125 softcap 20.0 : tensor<?x4x64xf16>, tensor<130x2x64xf16>, tensor<130x2x64xf16> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %u, %c = hk.attention %q, %w, %w scale 0.1 causal : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16> -> tensor<?x4x64xf32>, tensor<?x4xf32>
  %o = hk.attention_combine %x, %a, %y, %b, %u, %c : tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x64xf32>, tensor<?x4xf32>, tensor<?x4x64xf32>, tensor<?x4xf32> -> tensor<?x4x64xf16>
  return %o : tensor<?x4x64xf16>
}
func.func @scales(%q: tensor<?x2x128xbf16>, %k: tensor<?x1x128xbf16>, %w: tensor<?x1x128xbf16>) -> (tensor<?x2x128xbf16>, tensor<?x2xf32>) {
  %x, %a = hk.attention %q, %k, %k scale -0.0884 : tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x128xbf16> -> tensor<?x2x128xf32>, tensor<?x2xf32>
  %y, %b = hk.attention %q, %w, %w scale 0.2 causal : tensor<?x2x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x128xbf16> -> tensor<?x2x128xf32>, tensor<?x2xf32>
  %o, %l = hk.attention_combine %x, %a, %y, %b : tensor<?x2x128xf32>, tensor<?x2xf32>, tensor<?x2x128xf32>, tensor<?x2xf32> -> tensor<?x2x128xbf16>, tensor<?x2xf32>
  return %o, %l : tensor<?x2x128xbf16>, tensor<?x2xf32>
}
func.func @wide(%q: tensor<?x2x256xbf16>, %k: tensor<30x32x1x256xbf16>, %v: tensor<30x32x1x256xbf16>, %n: tensor<1xi32>, %t: tensor<1x10xi32>) -> tensor<?x2x256xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0625 causal : tensor<?x2x256xbf16>, tensor<30x32x1x256xbf16>, tensor<30x32x1x256xbf16> kv_lens tensor<1xi32> block_table tensor<1x10xi32> -> tensor<?x2x256xbf16>
  return %0 : tensor<?x2x256xbf16>
}
// A prompt beside decode steps, one launch on sm_90a.
func.func @pod(%q: tensor<3x1x8x128xbf16>, %k: tensor<3x400x2x128xbf16>, %v: tensor<3x400x2x128xbf16>, %n: tensor<3xi32>, %pq: tensor<1x300x8x128xbf16>, %pk: tensor<1x300x2x128xbf16>, %pv: tensor<1x300x2x128xbf16>) -> (tensor<3x1x8x128xbf16>, tensor<1x300x8x128xbf16>) {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.088 : tensor<3x1x8x128xbf16>, tensor<3x400x2x128xbf16>, tensor<3x400x2x128xbf16> kv_lens tensor<3xi32> -> tensor<3x1x8x128xbf16>
  %1 = hk.attention %pq, %pk, %pv scale 0.088 causal : tensor<1x300x8x128xbf16>, tensor<1x300x2x128xbf16>, tensor<1x300x2x128xbf16> -> tensor<1x300x8x128xbf16>
  return %0, %1 : tensor<3x1x8x128xbf16>, tensor<1x300x8x128xbf16>
}
func.func @pod_pages(%q: tensor<5x1x8x64xf16>, %k: tensor<150x16x2x64xf16>, %v: tensor<150x16x2x64xf16>, %n: tensor<5xi32>, %t: tensor<5x25xi32>, %pq: tensor<2x200x8x64xf16>, %m: tensor<2xi32>, %u: tensor<2x25xi32>) -> (tensor<5x1x8x64xf16>, tensor<2x200x8x64xf16>) {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.125 : tensor<5x1x8x64xf16>, tensor<150x16x2x64xf16>, tensor<150x16x2x64xf16> kv_lens tensor<5xi32> block_table tensor<5x25xi32> -> tensor<5x1x8x64xf16>
  %1 = hk.attention %pq, %k, %v kv_lens %m block_table %u scale 0.125 causal : tensor<2x200x8x64xf16>, tensor<150x16x2x64xf16>, tensor<150x16x2x64xf16> kv_lens tensor<2xi32> block_table tensor<2x25xi32> -> tensor<2x200x8x64xf16>
  return %0, %1 : tensor<5x1x8x64xf16>, tensor<2x200x8x64xf16>
}
