// Attention over dense and ragged keys: causal, windows, soft cap, sink.
// HK-LAUNCHES: 1
// HK-DIMS: -

func.func @causal(%q: tensor<2x33x4x64xbf16>, %k: tensor<2x47x2x64xbf16>, %v: tensor<2x47x2x64xbf16>) -> tensor<2x33x4x64xbf16> {
  %o = hk.attention %q, %k, %v scale 0.125 causal : tensor<2x33x4x64xbf16>, tensor<2x47x2x64xbf16>, tensor<2x47x2x64xbf16> -> tensor<2x33x4x64xbf16>
  return %o : tensor<2x33x4x64xbf16>
}
func.func @window_softcap_lse(%q: tensor<1x70x2x128xbf16>, %k: tensor<1x70x2x128xbf16>, %v: tensor<1x70x2x128xbf16>) -> (tensor<1x70x2x128xbf16>, tensor<1x70x2xf32>) {
  %o, %lse = hk.attention %q, %k, %v scale 0.088 causal window_left 16 softcap 30.0 : tensor<1x70x2x128xbf16>, tensor<1x70x2x128xbf16>, tensor<1x70x2x128xbf16> -> tensor<1x70x2x128xbf16>, tensor<1x70x2xf32>
  return %o, %lse : tensor<1x70x2x128xbf16>, tensor<1x70x2xf32>
}
func.func @not_causal_f16(%q: tensor<1x5x3x80xf16>, %k: tensor<1x129x3x80xf16>, %v: tensor<1x129x3x80xf16>) -> tensor<1x5x3x80xf16> {
  %o = hk.attention %q, %k, %v scale 0.1 : tensor<1x5x3x80xf16>, tensor<1x129x3x80xf16>, tensor<1x129x3x80xf16> -> tensor<1x5x3x80xf16>
  return %o : tensor<1x5x3x80xf16>
}
func.func @ragged_f16(%q: tensor<40x4x64xf16>, %k: tensor<40x4x64xf16>, %v: tensor<40x4x64xf16>, %bounds: tensor<4xi32>) -> tensor<40x4x64xf16> {
  %o = hk.attention %q, %k, %v q_offsets %bounds kv_offsets %bounds scale 0.125 causal : tensor<40x4x64xf16>, tensor<40x4x64xf16>, tensor<40x4x64xf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<40x4x64xf16>
  return %o : tensor<40x4x64xf16>
}
