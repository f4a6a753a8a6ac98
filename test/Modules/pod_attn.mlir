// Prefill and decode in one launch: queries of a prompt against its keys, and single queries of
// other sequences against theirs, which need nothing of each other.
// HK-LAUNCHES: 1
// HK-ARGS: --range=n=0:40 --range=t=0:15
// HK-DIMS: -

func.func @grouped(%q: tensor<3x1x4x64xbf16>, %k: tensor<3x40x2x64xbf16>, %v: tensor<3x40x2x64xbf16>, %pq: tensor<1x70x4x64xbf16>, %pk: tensor<1x70x2x64xbf16>, %pv: tensor<1x70x2x64xbf16>) -> (tensor<3x1x4x64xbf16>, tensor<1x70x4x64xbf16>) {
  %o = hk.attention %q, %k, %v scale 0.125 : tensor<3x1x4x64xbf16>, tensor<3x40x2x64xbf16>, tensor<3x40x2x64xbf16> -> tensor<3x1x4x64xbf16>
  %p = hk.attention %pq, %pk, %pv scale 0.125 causal : tensor<1x70x4x64xbf16>, tensor<1x70x2x64xbf16>, tensor<1x70x2x64xbf16> -> tensor<1x70x4x64xbf16>
  return %o, %p : tensor<3x1x4x64xbf16>, tensor<1x70x4x64xbf16>
}
func.func @paged_f16(%q: tensor<2x1x4x32xf16>, %k: tensor<16x8x1x32xf16>, %v: tensor<16x8x1x32xf16>, %n: tensor<2xi32>, %t: tensor<2x5xi32>, %pq: tensor<1x33x4x32xf16>, %pk: tensor<1x33x1x32xf16>, %pv: tensor<1x33x1x32xf16>) -> (tensor<2x1x4x32xf16>, tensor<1x33x4x32xf16>) {
  %o = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.25 causal : tensor<2x1x4x32xf16>, tensor<16x8x1x32xf16>, tensor<16x8x1x32xf16> kv_lens tensor<2xi32> block_table tensor<2x5xi32> -> tensor<2x1x4x32xf16>
  %p = hk.attention %pq, %pk, %pv scale 0.25 causal : tensor<1x33x4x32xf16>, tensor<1x33x1x32xf16>, tensor<1x33x1x32xf16> -> tensor<1x33x4x32xf16>
  return %o, %p : tensor<2x1x4x32xf16>, tensor<1x33x4x32xf16>
}
func.func @heads_of_128(%q: tensor<2x1x2x128xbf16>, %k: tensor<2x24x1x128xbf16>, %v: tensor<2x24x1x128xbf16>, %pq: tensor<1x40x2x128xbf16>, %pk: tensor<1x40x1x128xbf16>, %pv: tensor<1x40x1x128xbf16>) -> (tensor<2x1x2x128xbf16>, tensor<1x40x2x128xbf16>) {
  %o = hk.attention %q, %k, %v scale 0.088 : tensor<2x1x2x128xbf16>, tensor<2x24x1x128xbf16>, tensor<2x24x1x128xbf16> -> tensor<2x1x2x128xbf16>
  %p = hk.attention %pq, %pk, %pv scale 0.088 causal : tensor<1x40x2x128xbf16>, tensor<1x40x1x128xbf16>, tensor<1x40x1x128xbf16> -> tensor<1x40x2x128xbf16>
  return %o, %p : tensor<2x1x2x128xbf16>, tensor<1x40x2x128xbf16>
}
