// Rotary embedding: both styles, partial, shared or own angles, gradient.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=iota
// HK-DIMS: x.0=33
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DATA: normal,nan

func.func @neox(%x: tensor<?x4x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x4x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> -> tensor<?x4x64xbf16>
  return %y : tensor<?x4x64xbf16>
}
func.func @gptj_partial(%x: tensor<?x2x80xf16>, %cos: tensor<64x16xf16>, %sin: tensor<64x16xf16>, %pos: tensor<?xi32>) -> tensor<?x2x80xf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos : tensor<?x2x80xf16>, tensor<64x16xf16>, tensor<64x16xf16> positions tensor<?xi32> -> tensor<?x2x80xf16>
  return %y : tensor<?x2x80xf16>
}
func.func @neox_nope_first_inverse(%x: tensor<?x2x96xbf16>, %cos: tensor<64x24xbf16>, %sin: tensor<64x24xbf16>, %pos: tensor<?xi32>) -> tensor<?x2x96xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos {nope_first, inverse} : tensor<?x2x96xbf16>, tensor<64x24xbf16>, tensor<64x24xbf16> positions tensor<?xi32> -> tensor<?x2x96xbf16>
  return %y : tensor<?x2x96xbf16>
}
