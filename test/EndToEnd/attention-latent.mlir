// Attention to latent keys, whose first columns are the values, by the loop of sm_90a for
// them. The host's kernels are checked here with the same calls; benchmarks/gpu/attention.py
// makes them on a GPU. Lengths are no multiples of a tile, 0 and 1; pages come in any order
// and some are missing; there are 16, 64 and 128 heads, one query or several.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=pages --range=n=0:320 --range=t=-1:11
// RUN: hk-run %t.so --check=%s --function=pages --range=n=64:64 --range=t=0:11
// RUN: hk-run %t.so --check=%s --function=pages --range=n=1:1 --range=t=0:11
// RUN: hk-run %t.so --check=%s --function=small --range=n=0:96 --range=t=-1:23
// RUN: hk-run %t.so --check=%s --function=small --range=n=96:96 --range=t=0:23
// RUN: hk-run %t.so --check=%s --function=tokens --range=n=0:160 --range=t=0:9
// RUN: hk-run %t.so --check=%s --function=dense --dim=k.1=197
// RUN: hk-run %t.so --check=%s --function=dense --dim=k.1=1
// RUN: hk-run %t.so --check=%s --function=dense --dim=k.1=0
// RUN: hk-run %t.so --check=%s --function=dense --dim=k.1=130 --data=nan
// RUN: hk-run %t.so --check=%s --function=dense --dim=k.1=128 --data=huge
// RUN: hk-run %t.so --check=%s --function=ragged --dim=q.0=9 --dim=k.0=400 --dim=o.0=4 --dim=ko.0=4
// RUN: hk-run %t.so --check=%s --function=window --range=n=0:256
// RUN: hk-run %t.so --check=%s --function=same --dim=k.1=100
// RUN: hk-run %t.so --check=%s --function=slices --range=n=0:700
// RUN: hk-run %t.so --check=%s --function=runs --range=n=0:900 --range=t=0:59

func.func @pages(%q: tensor<4x1x128x576xbf16>, %k: tensor<12x64x1x576xbf16>, %n: tensor<4xi32>, %t: tensor<4x5xi32>) -> (tensor<4x1x128x512xbf16>, tensor<4x1x128xf32>) {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [12, 64, 1, 512] [1, 1, 1, 1] : tensor<12x64x1x576xbf16> to tensor<12x64x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 : tensor<4x1x128x576xbf16>, tensor<12x64x1x576xbf16>, tensor<12x64x1x512xbf16> kv_lens tensor<4xi32> block_table tensor<4x5xi32> -> tensor<4x1x128x512xbf16>, tensor<4x1x128xf32>
  return %0, %1 : tensor<4x1x128x512xbf16>, tensor<4x1x128xf32>
}
// Pages smaller than a tile are a box each.
func.func @small(%q: tensor<3x1x64x576xf16>, %k: tensor<24x16x1x576xf16>, %n: tensor<3xi32>, %t: tensor<3x6xi32>) -> tensor<3x1x64x512xf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [24, 16, 1, 512] [1, 1, 1, 1] : tensor<24x16x1x576xf16> to tensor<24x16x1x512xf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 : tensor<3x1x64x576xf16>, tensor<24x16x1x576xf16>, tensor<24x16x1x512xf16> kv_lens tensor<3xi32> block_table tensor<3x6xi32> -> tensor<3x1x64x512xf16>
  return %0 : tensor<3x1x64x512xf16>
}
// Several tokens of a sequence, whose heads fill a tile; pages of 48 and 64 keys meet in boxes of 16.
func.func @tokens(%q: tensor<3x4x16x576xbf16>, %k: tensor<10x48x1x576xbf16>, %n: tensor<3xi32>, %t: tensor<3x4xi32>) -> (tensor<3x4x16x512xbf16>, tensor<3x4x16xf32>) {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [10, 48, 1, 512] [1, 1, 1, 1] : tensor<10x48x1x576xbf16> to tensor<10x48x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 causal : tensor<3x4x16x576xbf16>, tensor<10x48x1x576xbf16>, tensor<10x48x1x512xbf16> kv_lens tensor<3xi32> block_table tensor<3x4xi32> -> tensor<3x4x16x512xbf16>, tensor<3x4x16xf32>
  return %0, %1 : tensor<3x4x16x512xbf16>, tensor<3x4x16xf32>
}
// 40 heads of two tokens: rows of tiles begin within a token. The second key head's keys are between the first one's.
func.func @dense(%q: tensor<2x2x80x576xbf16>, %k: tensor<2x?x2x576xbf16>, %s: tensor<80xf32>) -> (tensor<2x2x80x512xbf16>, tensor<2x2x80xf32>) {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %k, %c1 : tensor<2x?x2x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [2, %d, 2, 512] [1, 1, 1, 1] : tensor<2x?x2x576xbf16> to tensor<2x?x2x512xbf16>
  %0, %1 = hk.attention %q, %k, %v sink %s scale 0.0417 causal : tensor<2x2x80x576xbf16>, tensor<2x?x2x576xbf16>, tensor<2x?x2x512xbf16> sink tensor<80xf32> -> tensor<2x2x80x512xbf16>, tensor<2x2x80xf32>
  return %0, %1 : tensor<2x2x80x512xbf16>, tensor<2x2x80xf32>
}
func.func @ragged(%q: tensor<?x32x576xbf16>, %k: tensor<?x1x576xbf16>, %o: tensor<?xi32>, %ko: tensor<?xi32>) -> (tensor<?x32x512xbf16>, tensor<?x32xf32>) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %k, %c0 : tensor<?x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0] [%d, 1, 512] [1, 1, 1] : tensor<?x1x576xbf16> to tensor<?x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v q_offsets %o kv_offsets %ko scale 0.0417 causal : tensor<?x32x576xbf16>, tensor<?x1x576xbf16>, tensor<?x1x512xbf16> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> -> tensor<?x32x512xbf16>, tensor<?x32xf32>
  return %0, %1 : tensor<?x32x512xbf16>, tensor<?x32xf32>
}
// Smaller keys, a soft cap, a window, a scale below 0.
func.func @window(%q: tensor<3x2x64x384xf16>, %k: tensor<3x256x1x384xf16>, %n: tensor<3xi32>) -> tensor<3x2x64x256xf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [3, 256, 1, 256] [1, 1, 1, 1] : tensor<3x256x1x384xf16> to tensor<3x256x1x256xf16>
  %0 = hk.attention %q, %k, %v kv_lens %n scale -0.05 causal window_left 90 softcap 20.0 : tensor<3x2x64x384xf16>, tensor<3x256x1x384xf16>, tensor<3x256x1x256xf16> kv_lens tensor<3xi32> -> tensor<3x2x64x256xf16>
  return %0 : tensor<3x2x64x256xf16>
}
// All columns of keys are values.
func.func @same(%q: tensor<2x1x64x512xbf16>, %k: tensor<2x?x1x512xbf16>) -> tensor<2x1x64x512xbf16> {
  %0 = hk.attention %q, %k, %k scale 0.0442 : tensor<2x1x64x512xbf16>, tensor<2x?x1x512xbf16>, tensor<2x?x1x512xbf16> -> tensor<2x1x64x512xbf16>
  return %0 : tensor<2x1x64x512xbf16>
}
// Slices that are a dim of the grid, and parts of equal runs.
func.func @slices(%q: tensor<2x1x128x576xbf16>, %k: tensor<2x700x1x576xbf16>, %n: tensor<2xi32>, %o: tensor<3xi32>) -> tensor<2x128x512xbf16> {
  %x = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x1x128x576xbf16> into tensor<2x128x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [2, 700, 1, 512] [1, 1, 1, 1] : tensor<2x700x1x576xbf16> to tensor<2x700x1x512xbf16>
  %0, %1 = hk.attention %x, %k, %v q_offsets %o kv_lens %n scale 0.0417 kv_slices 3 : tensor<2x128x576xbf16>, tensor<2x700x1x576xbf16>, tensor<2x700x1x512xbf16> q_offsets tensor<3xi32> kv_lens tensor<2xi32> -> tensor<3x2x128x512xf32>, tensor<3x2x128xf32>
  %2 = hk.attention_combine %0, %1 : tensor<3x2x128x512xf32>, tensor<3x2x128xf32> -> tensor<2x128x512xbf16>
  return %2 : tensor<2x128x512xbf16>
}
func.func @runs(%q: tensor<4x2x64x576xbf16>, %k: tensor<60x64x1x576xbf16>, %n: tensor<4xi32>, %t: tensor<4x15xi32>) -> (tensor<4x2x64x512xbf16>, tensor<4x2x64xf32>) {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [60, 64, 1, 512] [1, 1, 1, 1] : tensor<60x64x1x576xbf16> to tensor<60x64x1x512xbf16>
  %0, %1 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.0417 causal kv_slices 5 : tensor<4x2x64x576xbf16>, tensor<60x64x1x576xbf16>, tensor<60x64x1x512xbf16> kv_lens tensor<4xi32> block_table tensor<4x15xi32> -> tensor<5x4x2x64x512xf32>, tensor<5x4x2x64xf32>
  %2, %3 = hk.attention_combine %0, %1 : tensor<5x4x2x64x512xf32>, tensor<5x4x2x64xf32> -> tensor<4x2x64x512xbf16>, tensor<4x2x64xf32>
  return %2, %3 : tensor<4x2x64x512xbf16>, tensor<4x2x64xf32>
}
