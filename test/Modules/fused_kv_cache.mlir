// RoPE of q and k, and the write of k and v into a paged cache, in one launch.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=iota --range=slots=iota:3
// HK-DIMS: q.0=11
// HK-DIMS: q.0=1
// HK-DIMS: q.0=0

func.func @paged(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xbf16> {hk.state}, %vc: tensor<4x16x2x64xbf16> {hk.state})
    -> (tensor<?x8x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> -> tensor<?x8x64xbf16>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> -> tensor<?x2x64xbf16>
  %k2 = hk.kv_cache_write %kr, %slots into %kc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  return %qr, %k2, %v2 : tensor<?x8x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>
}
