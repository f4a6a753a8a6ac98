// Rotary embedding in every form: both pairings, any even part of a head, angles of a
// pair or of an element, positions with offsets, by a dim, in ragged sequences, of an
// image, from angles, for q and k at once, and gradients.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=-2:66 --range=off=-3:3 --range=pos3=0:63 --range=cu=iota
// HK-DIMS: x.0=33 pos3.1=33
// HK-DIMS: x.0=1 pos3.1=1
// HK-DIMS: x.0=0 pos3.1=0
// HK-DATA: normal,nan

func.func @neox(%x: tensor<?x4x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x4x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> -> tensor<?x4x64xbf16>
  return %y : tensor<?x4x64xbf16>
}
func.func @gptj_partial(%x: tensor<?x2x80xf16>, %cos: tensor<64x16xf16>, %sin: tensor<64x16xf16>, %pos: tensor<?xi32>) -> tensor<?x2x80xf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos : tensor<?x2x80xf16>, tensor<64x16xf16>, tensor<64x16xf16> positions tensor<?xi32> -> tensor<?x2x80xf16>
  return %y : tensor<?x2x80xf16>
}
func.func @neox_partial_r6(%x: tensor<?x2x10xf32>, %cos: tensor<64x3xf32>, %sin: tensor<64x3xf32>, %pos: tensor<?xi64>) -> tensor<?x2x10xf32> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x2x10xf32>, tensor<64x3xf32>, tensor<64x3xf32> positions tensor<?xi64> -> tensor<?x2x10xf32>
  return %y : tensor<?x2x10xf32>
}
func.func @gptj_nope_first_r10(%x: tensor<?x3x24xbf16>, %cos: tensor<64x5xbf16>, %sin: tensor<64x5xbf16>, %pos: tensor<?xi32>) -> tensor<?x3x24xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos {nope_first} : tensor<?x3x24xbf16>, tensor<64x5xbf16>, tensor<64x5xbf16> positions tensor<?xi32> -> tensor<?x3x24xbf16>
  return %y : tensor<?x3x24xbf16>
}
func.func @neox_offsets_own_angles(%x: tensor<?x8x64xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> tensor<?x8x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos offsets %off {angle_per_element} : tensor<?x8x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32> offsets tensor<?xi32> -> tensor<?x8x64xbf16>
  return %y : tensor<?x8x64xbf16>
}
func.func @gptj_own_angles(%x: tensor<?x8x128xbf16>, %cos: tensor<64x128xf32>, %sin: tensor<64x128xf32>, %pos: tensor<?xi32>) -> tensor<?x8x128xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos {angle_per_element} : tensor<?x8x128xbf16>, tensor<64x128xf32>, tensor<64x128xf32> positions tensor<?xi32> -> tensor<?x8x128xbf16>
  return %y : tensor<?x8x128xbf16>
}
func.func @neox_nope_first_inverse(%x: tensor<?x2x96xbf16>, %cos: tensor<64x24xbf16>, %sin: tensor<64x24xbf16>, %pos: tensor<?xi32>) -> tensor<?x2x96xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos {nope_first, inverse} : tensor<?x2x96xbf16>, tensor<64x24xbf16>, tensor<64x24xbf16> positions tensor<?xi32> -> tensor<?x2x96xbf16>
  return %y : tensor<?x2x96xbf16>
}
func.func @neox_own_angles_inverse(%x: tensor<?x2x64xbf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>) -> tensor<?x2x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos {angle_per_element, inverse} : tensor<?x2x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32> -> tensor<?x2x64xbf16>
  return %y : tensor<?x2x64xbf16>
}
func.func @gptj_own_angles_inverse(%x: tensor<?x2x64xf32>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>) -> tensor<?x2x64xf32> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos {angle_per_element, inverse} : tensor<?x2x64xf32>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32> -> tensor<?x2x64xf32>
  return %y : tensor<?x2x64xf32>
}
func.func @sbhd_from_angles(%x: tensor<?x2x8x64xbf16>, %freqs: tensor<64x32xf32>) -> tensor<?x2x8x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32> -> tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32> -> tensor<64x32xf32>
  %y = hk.rope neox %x, %cos, %sin : tensor<?x2x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> -> tensor<?x2x8x64xbf16>
  return %y : tensor<?x2x8x64xbf16>
}
func.func @two_channels_from_angles(%x: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %freqs: tensor<64x64xbf16>, %pos: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>) {
  %cos = hk.cos %freqs : tensor<64x64xbf16> -> tensor<64x64xf32>
  %sin = hk.sin %freqs : tensor<64x64xbf16> -> tensor<64x64xf32>
  %q = hk.rope gptj %x, %cos, %sin positions %pos {angle_per_element} : tensor<?x8x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32> -> tensor<?x8x64xbf16>
  %r = hk.rope gptj %k, %cos, %sin positions %pos {angle_per_element} : tensor<?x2x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32> -> tensor<?x2x64xbf16>
  return %q, %r : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>
}
func.func @two_channels(%x: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>) {
  %q = hk.rope neox %x, %cos, %sin positions %pos offsets %off : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> offsets tensor<?xi32> -> tensor<?x8x64xbf16>
  %r = hk.rope neox %k, %cos, %sin positions %pos offsets %off : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> offsets tensor<?xi32> -> tensor<?x2x64xbf16>
  return %q, %r : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>
}
func.func @ragged(%x: tensor<?x4x64xbf16>, %freqs: tensor<64x32xf32>, %cu: tensor<4xi32>) -> tensor<?x4x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32> -> tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32> -> tensor<64x32xf32>
  %y = hk.rope neox %x, %cos, %sin bounds %cu : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> bounds tensor<4xi32> -> tensor<?x4x64xbf16>
  return %y : tensor<?x4x64xbf16>
}
func.func @ragged_constant(%x: tensor<?x4x64xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>) -> tensor<?x4x64xbf16> {
  %cu = hk.constant dense<[0, 7, 7, 8, 30]> : tensor<5xi64>
  %y = hk.rope gptj %x, %cos, %sin bounds %cu {inverse} : tensor<?x4x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> bounds tensor<5xi64> -> tensor<?x4x64xbf16>
  return %y : tensor<?x4x64xbf16>
}
func.func @image_4_8(%x: tensor<?x32x2x64xf16>, %cosh: tensor<6x32xf16>, %sinh: tensor<6x32xf16>, %cosw: tensor<9x32xf16>, %sinw: tensor<9x32xf16>) -> tensor<?x32x2x64xf16> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x32x2x64xf16>
  %e = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [%b, 4, 8, 2, 64] : tensor<?x32x2x64xf16> into tensor<?x4x8x2x64xf16>
  %first = tensor.extract_slice %e[0, 0, 0, 0, 0] [%b, 4, 8, 2, 32] [1, 1, 1, 1, 1] : tensor<?x4x8x2x64xf16> to tensor<?x4x8x2x32xf16>
  %second = tensor.extract_slice %e[0, 0, 0, 0, 32] [%b, 4, 8, 2, 32] [1, 1, 1, 1, 1] : tensor<?x4x8x2x64xf16> to tensor<?x4x8x2x32xf16>
  %u = hk.rope neox %first, %cosh, %sinh {angle_per_element, position_dim = 1 : i64} : tensor<?x4x8x2x32xf16>, tensor<6x32xf16>, tensor<6x32xf16> -> tensor<?x4x8x2x32xf16>
  %v = hk.rope neox %second, %cosw, %sinw {angle_per_element, position_dim = 2 : i64} : tensor<?x4x8x2x32xf16>, tensor<9x32xf16>, tensor<9x32xf16> -> tensor<?x4x8x2x32xf16>
  %y = hk.concat 4 (%u, %v) : tensor<?x4x8x2x32xf16>, tensor<?x4x8x2x32xf16> -> tensor<?x4x8x2x64xf16>
  %z = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<?x4x8x2x64xf16> into tensor<?x32x2x64xf16>
  return %z : tensor<?x32x2x64xf16>
}
func.func @image_3_5(%x: tensor<?x15x2x24xf32>, %cosh: tensor<5x12xf32>, %sinh: tensor<5x12xf32>, %cosw: tensor<6x12xf32>, %sinw: tensor<6x12xf32>) -> tensor<?x15x2x24xf32> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x15x2x24xf32>
  %e = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [%b, 3, 5, 2, 24] : tensor<?x15x2x24xf32> into tensor<?x3x5x2x24xf32>
  %first = tensor.extract_slice %e[0, 0, 0, 0, 0] [%b, 3, 5, 2, 12] [1, 1, 1, 1, 1] : tensor<?x3x5x2x24xf32> to tensor<?x3x5x2x12xf32>
  %second = tensor.extract_slice %e[0, 0, 0, 0, 12] [%b, 3, 5, 2, 12] [1, 1, 1, 1, 1] : tensor<?x3x5x2x24xf32> to tensor<?x3x5x2x12xf32>
  %u = hk.rope neox %first, %cosh, %sinh {angle_per_element, position_dim = 1 : i64} : tensor<?x3x5x2x12xf32>, tensor<5x12xf32>, tensor<5x12xf32> -> tensor<?x3x5x2x12xf32>
  %v = hk.rope neox %second, %cosw, %sinw {angle_per_element, position_dim = 2 : i64} : tensor<?x3x5x2x12xf32>, tensor<6x12xf32>, tensor<6x12xf32> -> tensor<?x3x5x2x12xf32>
  %y = hk.concat 4 (%u, %v) : tensor<?x3x5x2x12xf32>, tensor<?x3x5x2x12xf32> -> tensor<?x3x5x2x24xf32>
  %z = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<?x3x5x2x24xf32> into tensor<?x15x2x24xf32>
  return %z : tensor<?x15x2x24xf32>
}
func.func @sections(%x: tensor<?x4x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos3: tensor<3x?xi32>) -> tensor<?x4x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x64xbf16>
  %p0 = tensor.extract_slice %pos3[0, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %cos0 = hk.gather_rows %cos, %p0 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %coss0 = tensor.extract_slice %cos0[0, 0] [%t, 8] [1, 1] : tensor<?x32xf32> to tensor<?x8xf32>
  %p1 = tensor.extract_slice %pos3[1, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %cos1 = hk.gather_rows %cos, %p1 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %coss1 = tensor.extract_slice %cos1[0, 8] [%t, 12] [1, 1] : tensor<?x32xf32> to tensor<?x12xf32>
  %p2 = tensor.extract_slice %pos3[2, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %cos2 = hk.gather_rows %cos, %p2 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %coss2 = tensor.extract_slice %cos2[0, 20] [%t, 12] [1, 1] : tensor<?x32xf32> to tensor<?x12xf32>
  %cost = hk.concat 1 (%coss0, %coss1, %coss2) : tensor<?x8xf32>, tensor<?x12xf32>, tensor<?x12xf32> -> tensor<?x32xf32>
  %sin0 = hk.gather_rows %sin, %p0 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %sins0 = tensor.extract_slice %sin0[0, 0] [%t, 8] [1, 1] : tensor<?x32xf32> to tensor<?x8xf32>
  %sin1 = hk.gather_rows %sin, %p1 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %sins1 = tensor.extract_slice %sin1[0, 8] [%t, 12] [1, 1] : tensor<?x32xf32> to tensor<?x12xf32>
  %sin2 = hk.gather_rows %sin, %p2 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %sins2 = tensor.extract_slice %sin2[0, 20] [%t, 12] [1, 1] : tensor<?x32xf32> to tensor<?x12xf32>
  %sint = hk.concat 1 (%sins0, %sins1, %sins2) : tensor<?x8xf32>, tensor<?x12xf32>, tensor<?x12xf32> -> tensor<?x32xf32>
  %y = hk.rope neox %x, %cost, %sint : tensor<?x4x64xbf16>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x4x64xbf16>
  return %y : tensor<?x4x64xbf16>
}
