// Attention by the warp-specialised loop of sm_90a. The host's kernels are checked
// here with the same calls; benchmarks/gpu/attention.py makes them on a GPU. Numbers
// of queries and keys are no multiples of a tile, sequences are empty, there are
// more queries than keys, data is not a number.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=200 --dim=k.1=333 --dim=v.1=333
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=300 --dim=k.1=150 --dim=v.1=150
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=64 --dim=k.1=1 --dim=v.1=1
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=100 --dim=k.1=0 --dim=v.1=0
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=0 --dim=k.1=9 --dim=v.1=9
// RUN: hk-run %t.so --check=%s --function=causal --dim=q.1=129 --dim=k.1=161 --dim=v.1=161 --data=nan
// RUN: hk-run %t.so --check=%s --function=short --dim=q.1=257
// RUN: hk-run %t.so --check=%s --function=full64 --dim=q.1=129 --dim=k.1=321 --dim=v.1=321
// RUN: hk-run %t.so --check=%s --function=full64 --dim=q.1=70 --dim=k.1=65 --dim=v.1=65 --data=huge
// RUN: hk-run %t.so --check=%s --function=full80 --dim=q.1=130 --dim=k.1=170 --dim=v.1=170
// RUN: hk-run %t.so --check=%s --function=wide192 --dim=q.1=130 --dim=k.1=140 --dim=v.1=140
// RUN: hk-run %t.so --check=%s --function=wide256 --dim=q.0=150 --dim=k.0=200 --dim=v.0=200
// RUN: hk-run %t.so --check=%s --function=cap256 --dim=q.0=150 --dim=k.0=200 --dim=v.0=200
// RUN: hk-run %t.so --check=%s --function=negative --dim=q.0=70 --dim=k.0=130 --dim=v.0=130
// RUN: hk-run %t.so --check=%s --function=zero --dim=q.0=70 --dim=k.0=130 --dim=v.0=130
// RUN: hk-run %t.so --check=%s --function=cache --dim=q.1=70
// RUN: hk-run %t.so --check=%s --function=ragged --dim=q.0=500 --dim=k.0=700 --dim=v.0=700 --dim=qo.0=6 --dim=ko.0=6
// RUN: hk-run %t.so --check=%s --function=ragged --dim=q.0=300 --dim=k.0=128 --dim=v.0=128 --dim=qo.0=4 --dim=ko.0=4
// RUN: hk-run %t.so --check=%s --function=packed --dim=q.0=400 --dim=k.0=400 --dim=v.0=400 --dim=o.0=5
// RUN: hk-run %t.so --check=%s --function=many --dim=q.1=200 --dim=k.1=333 --dim=v.1=333
// RUN: hk-run %t.so --check=%s --function=many --dim=q.1=256 --dim=k.1=65 --dim=v.1=65 --data=huge
// RUN: hk-run %t.so --check=%s --function=many --dim=q.1=150 --dim=k.1=260 --dim=v.1=260 --data=nan
// RUN: hk-run %t.so --check=%s --function=many_cached --dim=q.1=140 --range=n=0:300
// RUN: hk-run %t.so --check=%s --function=many_full --dim=q.1=197 --dim=k.1=197 --dim=v.1=197
// RUN: hk-run %t.so --check=%s --function=many_full --dim=q.1=130 --dim=k.1=400 --dim=v.1=400 --data=huge
// RUN: hk-run %t.so --check=%s --function=many_ragged --dim=q.0=500 --dim=k.0=700 --dim=v.0=700 --dim=qo.0=5 --dim=ko.0=5

func.func @causal(%q: tensor<2x?x4x128xbf16>, %k: tensor<2x?x2x128xbf16>, %v: tensor<2x?x2x128xbf16>) -> (tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v scale 0.0884 causal : tensor<2x?x4x128xbf16>, tensor<2x?x2x128xbf16>, tensor<2x?x2x128xbf16> -> tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>
  return %0, %1 : tensor<2x?x4x128xbf16>, tensor<2x?x4xf32>
}
// Keys of a known number, one head per key head.
func.func @short(%q: tensor<1x?x3x128xbf16>, %k: tensor<1x300x3x128xbf16>, %v: tensor<1x300x3x128xbf16>) -> tensor<1x?x3x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.0884 causal : tensor<1x?x3x128xbf16>, tensor<1x300x3x128xbf16>, tensor<1x300x3x128xbf16> -> tensor<1x?x3x128xbf16>
  return %0 : tensor<1x?x3x128xbf16>
}
func.func @full64(%q: tensor<1x?x3x64xf16>, %k: tensor<1x?x3x64xf16>, %v: tensor<1x?x3x64xf16>) -> tensor<1x?x3x64xf16> {
  %0 = hk.attention %q, %k, %v scale 0.125 : tensor<1x?x3x64xf16>, tensor<1x?x3x64xf16>, tensor<1x?x3x64xf16> -> tensor<1x?x3x64xf16>
  return %0 : tensor<1x?x3x64xf16>
}
// Head sizes between the panels of 64 columns.
func.func @full80(%q: tensor<1x?x2x80xbf16>, %k: tensor<1x?x2x80xbf16>, %v: tensor<1x?x2x72xbf16>) -> tensor<1x?x2x72xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.112 window_left 100 window_right 20 : tensor<1x?x2x80xbf16>, tensor<1x?x2x80xbf16>, tensor<1x?x2x72xbf16> -> tensor<1x?x2x72xbf16>
  return %0 : tensor<1x?x2x72xbf16>
}
func.func @wide192(%q: tensor<1x?x2x192xbf16>, %k: tensor<1x?x2x192xbf16>, %v: tensor<1x?x2x128xbf16>, %s: tensor<2xf32>) -> (tensor<1x?x2x128xbf16>, tensor<1x?x2xf32>) {
  %0, %1 = hk.attention %q, %k, %v sink %s scale 0.0722 causal : tensor<1x?x2x192xbf16>, tensor<1x?x2x192xbf16>, tensor<1x?x2x128xbf16> sink tensor<2xf32> -> tensor<1x?x2x128xbf16>, tensor<1x?x2xf32>
  return %0, %1 : tensor<1x?x2x128xbf16>, tensor<1x?x2xf32>
}
func.func @wide256(%q: tensor<?x2x256xbf16>, %k: tensor<?x1x256xbf16>, %v: tensor<?x1x256xbf16>) -> tensor<?x2x256xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.0625 causal : tensor<?x2x256xbf16>, tensor<?x1x256xbf16>, tensor<?x1x256xbf16> -> tensor<?x2x256xbf16>
  return %0 : tensor<?x2x256xbf16>
}
func.func @cap256(%q: tensor<?x2x256xf16>, %k: tensor<?x1x256xf16>, %v: tensor<?x1x256xf16>) -> tensor<?x2x256xf16> {
  %0 = hk.attention %q, %k, %v scale 0.0625 causal window_left 64 softcap 20.0 : tensor<?x2x256xf16>, tensor<?x1x256xf16>, tensor<?x1x256xf16> -> tensor<?x2x256xf16>
  return %0 : tensor<?x2x256xf16>
}
// The softmax takes maxima of scores before the scale, so a scale that is not positive
// is a case of its own.
func.func @negative(%q: tensor<?x2x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>) -> (tensor<?x2x64xbf16>, tensor<?x2xf32>) {
  %0, %1 = hk.attention %q, %k, %v scale -0.125 : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>, tensor<?x2xf32>
  return %0, %1 : tensor<?x2x64xbf16>, tensor<?x2xf32>
}
func.func @zero(%q: tensor<?x2x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>) -> (tensor<?x2x64xbf16>, tensor<?x2xf32>) {
  %0, %1 = hk.attention %q, %k, %v scale 0.0 causal : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16> -> tensor<?x2x64xbf16>, tensor<?x2xf32>
  return %0, %1 : tensor<?x2x64xbf16>, tensor<?x2xf32>
}
func.func @cache(%q: tensor<3x?x4x128xbf16>, %k: tensor<3x400x1x128xbf16>, %v: tensor<3x400x1x128xbf16>, %n: tensor<3xi32>, %s: tensor<4xf32>) -> (tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v kv_lens %n sink %s scale 0.0884 causal window_left 150 softcap 30.0 : tensor<3x?x4x128xbf16>, tensor<3x400x1x128xbf16>, tensor<3x400x1x128xbf16> kv_lens tensor<3xi32> sink tensor<4xf32> -> tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>
  return %0, %1 : tensor<3x?x4x128xbf16>, tensor<3x?x4xf32>
}
func.func @ragged(%q: tensor<?x4x128xbf16>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>) -> (tensor<?x4x128xbf16>, tensor<?x4xf32>) {
  %0, %1 = hk.attention %q, %k, %v q_offsets %qo kv_offsets %ko scale 0.0884 causal : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x128xbf16>, tensor<?x4xf32>
  return %0, %1 : tensor<?x4x128xbf16>, tensor<?x4xf32>
}
func.func @packed(%q: tensor<?x4x64xf16>, %k: tensor<?x1x64xf16>, %v: tensor<?x1x64xf16>, %o: tensor<?xi32>) -> tensor<?x4x64xf16> {
  %0 = hk.attention %q, %k, %v q_offsets %o kv_offsets %o scale 0.125 causal window_left 40 softcap 15.0 : tensor<?x4x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x4x64xf16>
  return %0 : tensor<?x4x64xf16>
}
// As many heads as fill the units with tiles of 256 queries: four warpgroups, which keep
// what they subtract from scores while sums stay small.
func.func @many(%q: tensor<2x?x64x64xbf16>, %k: tensor<2x?x16x64xbf16>, %v: tensor<2x?x16x64xbf16>, %s: tensor<64xf32>) -> (tensor<2x?x64x64xbf16>, tensor<2x?x64xf32>) {
  %0, %1 = hk.attention %q, %k, %v sink %s scale 0.125 causal : tensor<2x?x64x64xbf16>, tensor<2x?x16x64xbf16>, tensor<2x?x16x64xbf16> sink tensor<64xf32> -> tensor<2x?x64x64xbf16>, tensor<2x?x64xf32>
  return %0, %1 : tensor<2x?x64x64xbf16>, tensor<2x?x64xf32>
}
func.func @many_cached(%q: tensor<3x?x40x56xbf16>, %k: tensor<3x300x40x56xbf16>, %v: tensor<3x300x40x40xbf16>, %n: tensor<3xi32>) -> (tensor<3x?x40x40xbf16>, tensor<3x?x40xf32>) {
  %0, %1 = hk.attention %q, %k, %v kv_lens %n scale 0.5 causal : tensor<3x?x40x56xbf16>, tensor<3x300x40x56xbf16>, tensor<3x300x40x40xbf16> kv_lens tensor<3xi32> -> tensor<3x?x40x40xbf16>, tensor<3x?x40xf32>
  return %0, %1 : tensor<3x?x40x40xbf16>, tensor<3x?x40xf32>
}
func.func @many_full(%q: tensor<4x?x32x64xf16>, %k: tensor<4x?x32x64xf16>, %v: tensor<4x?x32x64xf16>) -> tensor<4x?x32x64xf16> {
  %0 = hk.attention %q, %k, %v scale 1.0 : tensor<4x?x32x64xf16>, tensor<4x?x32x64xf16>, tensor<4x?x32x64xf16> -> tensor<4x?x32x64xf16>
  return %0 : tensor<4x?x32x64xf16>
}
func.func @many_ragged(%q: tensor<?x20x64xf16>, %k: tensor<?x5x64xf16>, %v: tensor<?x5x64xf16>, %qo: tensor<?xi32>, %ko: tensor<?xi32>) -> (tensor<?x20x64xf16>, tensor<?x20xf32>) {
  %0, %1 = hk.attention %q, %k, %v q_offsets %qo kv_offsets %ko scale 0.3 causal : tensor<?x20x64xf16>, tensor<?x5x64xf16>, tensor<?x5x64xf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x20x64xf16>, tensor<?x20xf32>
  return %0, %1 : tensor<?x20x64xf16>, tensor<?x20xf32>
}
