// Rotary embedding in every form: both pairings, any even part of a head, angles of a
// pair or of an element, positions with offsets, by a dim, in ragged sequences, of an
// image or a video, from angles, for q and k at once, and gradients.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=-2:66 --range=off=-3:3 --range=pos3=0:63 --range=far=0:1048576 --range=near=0:63 --range=token=0:30 --range=grid=1:4
// HK-DIMS: x.0=33 pos3.1=33 grid.1=33 far.0=33 token.0=33 pos.0=33 near.0=33 many.0=12 --range=cu=bounds:33 --range=many=bounds:33
// HK-DIMS: x.0=1 pos3.1=1 grid.1=1 far.0=1 token.0=1 pos.0=1 near.0=1 many.0=3 --range=cu=bounds:1 --range=many=bounds:1
// HK-DIMS: x.0=0 pos3.1=0 grid.1=0 far.0=0 token.0=0 pos.0=0 near.0=0 many.0=2 --range=cu=bounds:0 --range=many=bounds:0
// HK-DIMS-HOST: @ragged @ragged_many x.0=1024 many.0=58 --range=cu=bounds:1024 --range=many=bounds:1024
// HK-DIMS-HOST: @two_channels x.0=8192 pos.0=8192
// HK-DATA: normal,nan,inf

func.func @neox(%x: tensor<?x4x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x4x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  return %y : tensor<?x4x64xbf16>
}
func.func @gptj_partial(%x: tensor<?x2x80xf16>, %cos: tensor<64x16xf16>, %sin: tensor<64x16xf16>, %pos: tensor<?xi32>) -> tensor<?x2x80xf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos : tensor<?x2x80xf16>, tensor<64x16xf16>, tensor<64x16xf16> positions tensor<?xi32>
  return %y : tensor<?x2x80xf16>
}
func.func @neox_partial_r6(%x: tensor<?x2x10xf32>, %cos: tensor<64x3xf32>, %sin: tensor<64x3xf32>, %pos: tensor<?xi64>) -> tensor<?x2x10xf32> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x2x10xf32>, tensor<64x3xf32>, tensor<64x3xf32> positions tensor<?xi64>
  return %y : tensor<?x2x10xf32>
}
func.func @gptj_nope_first_r10(%x: tensor<?x3x24xbf16>, %cos: tensor<64x5xbf16>, %sin: tensor<64x5xbf16>, %pos: tensor<?xi32>) -> tensor<?x3x24xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos nope_first : tensor<?x3x24xbf16>, tensor<64x5xbf16>, tensor<64x5xbf16> positions tensor<?xi32>
  return %y : tensor<?x3x24xbf16>
}
func.func @neox_offsets_own_angles(%x: tensor<?x8x64xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> tensor<?x8x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos offsets %off angle_per_element : tensor<?x8x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32> offsets tensor<?xi32>
  return %y : tensor<?x8x64xbf16>
}
func.func @gptj_own_angles(%x: tensor<?x8x128xbf16>, %cos: tensor<64x128xf32>, %sin: tensor<64x128xf32>, %pos: tensor<?xi32>) -> tensor<?x8x128xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos angle_per_element : tensor<?x8x128xbf16>, tensor<64x128xf32>, tensor<64x128xf32> positions tensor<?xi32>
  return %y : tensor<?x8x128xbf16>
}
func.func @neox_nope_first_inverse(%x: tensor<?x2x96xbf16>, %cos: tensor<64x24xbf16>, %sin: tensor<64x24xbf16>, %pos: tensor<?xi32>) -> tensor<?x2x96xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos nope_first inverse : tensor<?x2x96xbf16>, tensor<64x24xbf16>, tensor<64x24xbf16> positions tensor<?xi32>
  return %y : tensor<?x2x96xbf16>
}
func.func @neox_own_angles_inverse(%x: tensor<?x2x64xbf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>) -> tensor<?x2x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos angle_per_element inverse : tensor<?x2x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %y : tensor<?x2x64xbf16>
}
func.func @gptj_own_angles_inverse(%x: tensor<?x2x64xf32>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>) -> tensor<?x2x64xf32> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos angle_per_element inverse : tensor<?x2x64xf32>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %y : tensor<?x2x64xf32>
}
func.func @sbhd_from_angles(%x: tensor<?x2x8x64xbf16>, %freqs: tensor<64x32xf32>) -> tensor<?x2x8x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32>
  %y = hk.rope neox %x, %cos, %sin : tensor<?x2x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32>
  return %y : tensor<?x2x8x64xbf16>
}
func.func @two_channels_from_angles(%x: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %freqs: tensor<64x64xbf16>, %pos: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>) {
  %cos = hk.cos %freqs : tensor<64x64xbf16> -> tensor<64x64xf32>
  %sin = hk.sin %freqs : tensor<64x64xbf16> -> tensor<64x64xf32>
  %q = hk.rope gptj %x, %cos, %sin positions %pos angle_per_element : tensor<?x8x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  %r = hk.rope gptj %k, %cos, %sin positions %pos angle_per_element : tensor<?x2x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %q, %r : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>
}
func.func @two_channels(%x: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>) {
  %q = hk.rope neox %x, %cos, %sin positions %pos offsets %off : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %r = hk.rope neox %k, %cos, %sin positions %pos offsets %off : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> offsets tensor<?xi32>
  return %q, %r : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>
}
func.func @ragged(%x: tensor<?x4x64xbf16>, %freqs: tensor<64x32xf32>, %cu: tensor<4xi32>) -> tensor<?x4x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32>
  %y = hk.rope neox %x, %cos, %sin bounds %cu : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> bounds tensor<4xi32>
  return %y : tensor<?x4x64xbf16>
}
func.func @ragged_constant(%x: tensor<?x4x64xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>) -> tensor<?x4x64xbf16> {
  %cu = hk.constant dense<[0, 7, 7, 8, 30]> : tensor<5xi64>
  %y = hk.rope gptj %x, %cos, %sin bounds %cu inverse : tensor<?x4x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> bounds tensor<5xi64>
  return %y : tensor<?x4x64xbf16>
}
func.func @image_4_8(%x: tensor<?x32x2x64xf16>, %cosh: tensor<6x32xf16>, %sinh: tensor<6x32xf16>, %cosw: tensor<9x32xf16>, %sinw: tensor<9x32xf16>) -> tensor<?x32x2x64xf16> {
  %c0 = arith.constant 0 : index
  %b = tensor.dim %x, %c0 : tensor<?x32x2x64xf16>
  %e = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [%b, 4, 8, 2, 64] : tensor<?x32x2x64xf16> into tensor<?x4x8x2x64xf16>
  %first = tensor.extract_slice %e[0, 0, 0, 0, 0] [%b, 4, 8, 2, 32] [1, 1, 1, 1, 1] : tensor<?x4x8x2x64xf16> to tensor<?x4x8x2x32xf16>
  %second = tensor.extract_slice %e[0, 0, 0, 0, 32] [%b, 4, 8, 2, 32] [1, 1, 1, 1, 1] : tensor<?x4x8x2x64xf16> to tensor<?x4x8x2x32xf16>
  %u = hk.rope neox %first, %cosh, %sinh position_dim 1 angle_per_element : tensor<?x4x8x2x32xf16>, tensor<6x32xf16>, tensor<6x32xf16>
  %v = hk.rope neox %second, %cosw, %sinw position_dim 2 angle_per_element : tensor<?x4x8x2x32xf16>, tensor<9x32xf16>, tensor<9x32xf16>
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
  %u = hk.rope neox %first, %cosh, %sinh position_dim 1 angle_per_element : tensor<?x3x5x2x12xf32>, tensor<5x12xf32>, tensor<5x12xf32>
  %v = hk.rope neox %second, %cosw, %sinw position_dim 2 angle_per_element : tensor<?x3x5x2x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>
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
  %y = hk.rope neox %x, %cost, %sint : tensor<?x4x64xbf16>, tensor<?x32xf32>, tensor<?x32xf32>
  return %y : tensor<?x4x64xbf16>
}
// [S, B, H, D] with cached cosines of the model's type, half of a head rotated.
func.func @sbhd_cached_partial(%x: tensor<?x2x8x64xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>) -> tensor<?x2x8x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin : tensor<?x2x8x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16>
  return %y : tensor<?x2x8x64xbf16>
}
// A position and an offset, which may be negative, per token and batch entry.
func.func @sbhd_positions_offsets(%x: tensor<?x2x4x64xbf16>, %k: tensor<?x2x2x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?x2xi64>, %off: tensor<?x2xi64>) -> (tensor<?x2x4x64xbf16>, tensor<?x2x2x64xbf16>) {
  %y = hk.rope gptj %x, %cos, %sin positions %pos offsets %off : tensor<?x2x4x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?x2xi64> offsets tensor<?x2xi64>
  %z = hk.rope gptj %k, %cos, %sin positions %pos offsets %off : tensor<?x2x2x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?x2xi64> offsets tensor<?x2xi64>
  return %y, %z : tensor<?x2x4x64xbf16>, tensor<?x2x2x64xbf16>
}
// The result as [B, S, H, D].
func.func @transposed_output(%x: tensor<?x3x2x64xf16>, %freqs: tensor<64x64xf32>) -> tensor<3x?x2x64xf16> {
  %cos = hk.cos %freqs : tensor<64x64xf32>
  %sin = hk.sin %freqs : tensor<64x64xf32>
  %y = hk.rope neox %x, %cos, %sin angle_per_element : tensor<?x3x2x64xf16>, tensor<64x64xf32>, tensor<64x64xf32>
  %z = hk.transpose %y [1, 0, 2, 3] : tensor<?x3x2x64xf16> -> tensor<3x?x2x64xf16>
  return %z : tensor<3x?x2x64xf16>
}
// Angles computed from positions up to 2^20.
func.func @angles_from_positions(%x: tensor<?x2x64xf32>, %inv: tensor<32xf32>, %far: tensor<?x1xi32>) -> tensor<?x2x64xf32> {
  %p = hk.cast %far : tensor<?x1xi32> -> tensor<?x1xf32>
  %a = hk.mul %p, %inv : tensor<?x1xf32>, tensor<32xf32> -> tensor<?x32xf32>
  %cos = hk.cos %a : tensor<?x32xf32>
  %sin = hk.sin %a : tensor<?x32xf32>
  %y = hk.rope neox %x, %cos, %sin : tensor<?x2x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>
  return %y : tensor<?x2x64xf32>
}
// Three positions per token (time, row, column), whose frequencies alternate.
func.func @sections_interleaved(%x: tensor<?x4x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos3: tensor<3x?xi32>) -> tensor<?x4x64xbf16> {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x4x64xbf16>
  %row = hk.constant dense<[false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, false, false, false, false, false, false, false]> : tensor<32xi1>
  %column = hk.constant dense<[false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, false, false, false, false, false, false]> : tensor<32xi1>
  %p0 = tensor.extract_slice %pos3[0, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %p1 = tensor.extract_slice %pos3[1, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %p2 = tensor.extract_slice %pos3[2, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %cos0 = hk.gather_rows %cos, %p0 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %cos1 = hk.gather_rows %cos, %p1 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %cos2 = hk.gather_rows %cos, %p2 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %cosa = hk.select %row, %cos1, %cos0 : tensor<32xi1>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %cosb = hk.select %column, %cos2, %cosa : tensor<32xi1>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %sin0 = hk.gather_rows %sin, %p0 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %sin1 = hk.gather_rows %sin, %p1 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %sin2 = hk.gather_rows %sin, %p2 : tensor<64x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
  %sina = hk.select %row, %sin1, %sin0 : tensor<32xi1>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %sinb = hk.select %column, %sin2, %sina : tensor<32xi1>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  %y = hk.rope neox %x, %cosb, %sinb : tensor<?x4x64xbf16>, tensor<?x32xf32>, tensor<?x32xf32>
  return %y : tensor<?x4x64xbf16>
}
// A video [B, F * H * W, N, C]: adjacent pairs, whose angles are those of the frame, the
// row and the column, one band of frequencies after the other.
func.func @video_2_3_4(%x: tensor<?x24x2x128xf32>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>) -> tensor<?x24x2x128xf32> {
  %c0_b = arith.constant 0 : index
  %b = tensor.dim %x, %c0_b : tensor<?x24x2x128xf32>
  %e = tensor.expand_shape %x [[0], [1, 2, 3], [4], [5]] output_shape [%b, 2, 3, 4, 2, 128] : tensor<?x24x2x128xf32> into tensor<?x2x3x4x2x128xf32>
  %s0 = tensor.extract_slice %e[0, 0, 0, 0, 0, 0] [%b, 2, 3, 4, 2, 44] [1, 1, 1, 1, 1, 1] : tensor<?x2x3x4x2x128xf32> to tensor<?x2x3x4x2x44xf32>
  %cos0 = tensor.extract_slice %cos[0, 0] [64, 22] [1, 1] : tensor<64x64xf32> to tensor<64x22xf32>
  %sin0 = tensor.extract_slice %sin[0, 0] [64, 22] [1, 1] : tensor<64x64xf32> to tensor<64x22xf32>
  %r0 = hk.rope gptj %s0, %cos0, %sin0 position_dim 1 : tensor<?x2x3x4x2x44xf32>, tensor<64x22xf32>, tensor<64x22xf32>
  %s1 = tensor.extract_slice %e[0, 0, 0, 0, 0, 44] [%b, 2, 3, 4, 2, 42] [1, 1, 1, 1, 1, 1] : tensor<?x2x3x4x2x128xf32> to tensor<?x2x3x4x2x42xf32>
  %cos1 = tensor.extract_slice %cos[0, 22] [64, 21] [1, 1] : tensor<64x64xf32> to tensor<64x21xf32>
  %sin1 = tensor.extract_slice %sin[0, 22] [64, 21] [1, 1] : tensor<64x64xf32> to tensor<64x21xf32>
  %r1 = hk.rope gptj %s1, %cos1, %sin1 position_dim 2 : tensor<?x2x3x4x2x42xf32>, tensor<64x21xf32>, tensor<64x21xf32>
  %s2 = tensor.extract_slice %e[0, 0, 0, 0, 0, 86] [%b, 2, 3, 4, 2, 42] [1, 1, 1, 1, 1, 1] : tensor<?x2x3x4x2x128xf32> to tensor<?x2x3x4x2x42xf32>
  %cos2 = tensor.extract_slice %cos[0, 43] [64, 21] [1, 1] : tensor<64x64xf32> to tensor<64x21xf32>
  %sin2 = tensor.extract_slice %sin[0, 43] [64, 21] [1, 1] : tensor<64x64xf32> to tensor<64x21xf32>
  %r2 = hk.rope gptj %s2, %cos2, %sin2 position_dim 3 : tensor<?x2x3x4x2x42xf32>, tensor<64x21xf32>, tensor<64x21xf32>
  %y = hk.concat 5 (%r0, %r1, %r2) : tensor<?x2x3x4x2x44xf32>, tensor<?x2x3x4x2x42xf32>, tensor<?x2x3x4x2x42xf32> -> tensor<?x2x3x4x2x128xf32>
  %z = tensor.collapse_shape %y [[0], [1, 2, 3], [4], [5]] : tensor<?x2x3x4x2x128xf32> into tensor<?x24x2x128xf32>
  return %z : tensor<?x24x2x128xf32>
}
// Grid sizes per batch entry, here repeated per token; a token's number in the whole
// sequence is an argument (ranks hold parts of it). What lies behind the grid is not
// rotated.
func.func @video_grid(%x: tensor<?x20x2x40xf32>, %cos: tensor<64x20xf32>, %sin: tensor<64x20xf32>, %token: tensor<?x20xi32>, %grid: tensor<3x?x20xi32>) -> tensor<?x20x2x40xf32> {
  %c0_b = arith.constant 0 : index
  %b = tensor.dim %x, %c0_b : tensor<?x20x2x40xf32>
  %none = hk.constant -1 : tensor<i32>
  %f = tensor.extract_slice %grid[0, 0, 0] [1, %b, 20] [1, 1, 1] : tensor<3x?x20xi32> to tensor<?x20xi32>
  %h = tensor.extract_slice %grid[1, 0, 0] [1, %b, 20] [1, 1, 1] : tensor<3x?x20xi32> to tensor<?x20xi32>
  %w = tensor.extract_slice %grid[2, 0, 0] [1, %b, 20] [1, 1, 1] : tensor<3x?x20xi32> to tensor<?x20xi32>
  %th = hk.div %token, %w : tensor<?x20xi32>
  %thw = hk.mul %th, %w : tensor<?x20xi32>
  %pw = hk.sub %token, %thw : tensor<?x20xi32>
  %pf0 = hk.div %th, %h : tensor<?x20xi32>
  %tfh = hk.mul %pf0, %h : tensor<?x20xi32>
  %ph0 = hk.sub %th, %tfh : tensor<?x20xi32>
  %inside = hk.compare lt %pf0, %f : tensor<?x20xi32> -> tensor<?x20xi1>
  %p0 = hk.select %inside, %pf0, %none : tensor<?x20xi1>, tensor<?x20xi32>, tensor<i32> -> tensor<?x20xi32>
  %p1 = hk.select %inside, %ph0, %none : tensor<?x20xi1>, tensor<?x20xi32>, tensor<i32> -> tensor<?x20xi32>
  %p2 = hk.select %inside, %pw, %none : tensor<?x20xi1>, tensor<?x20xi32>, tensor<i32> -> tensor<?x20xi32>
  %s0 = tensor.extract_slice %x[0, 0, 0, 0] [%b, 20, 2, 16] [1, 1, 1, 1] : tensor<?x20x2x40xf32> to tensor<?x20x2x16xf32>
  %cos0 = tensor.extract_slice %cos[0, 0] [64, 8] [1, 1] : tensor<64x20xf32> to tensor<64x8xf32>
  %sin0 = tensor.extract_slice %sin[0, 0] [64, 8] [1, 1] : tensor<64x20xf32> to tensor<64x8xf32>
  %r0 = hk.rope gptj %s0, %cos0, %sin0 positions %p0 : tensor<?x20x2x16xf32>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?x20xi32>
  %s1 = tensor.extract_slice %x[0, 0, 0, 16] [%b, 20, 2, 12] [1, 1, 1, 1] : tensor<?x20x2x40xf32> to tensor<?x20x2x12xf32>
  %cos1 = tensor.extract_slice %cos[0, 8] [64, 6] [1, 1] : tensor<64x20xf32> to tensor<64x6xf32>
  %sin1 = tensor.extract_slice %sin[0, 8] [64, 6] [1, 1] : tensor<64x20xf32> to tensor<64x6xf32>
  %r1 = hk.rope gptj %s1, %cos1, %sin1 positions %p1 : tensor<?x20x2x12xf32>, tensor<64x6xf32>, tensor<64x6xf32> positions tensor<?x20xi32>
  %s2 = tensor.extract_slice %x[0, 0, 0, 28] [%b, 20, 2, 12] [1, 1, 1, 1] : tensor<?x20x2x40xf32> to tensor<?x20x2x12xf32>
  %cos2 = tensor.extract_slice %cos[0, 14] [64, 6] [1, 1] : tensor<64x20xf32> to tensor<64x6xf32>
  %sin2 = tensor.extract_slice %sin[0, 14] [64, 6] [1, 1] : tensor<64x20xf32> to tensor<64x6xf32>
  %r2 = hk.rope gptj %s2, %cos2, %sin2 positions %p2 : tensor<?x20x2x12xf32>, tensor<64x6xf32>, tensor<64x6xf32> positions tensor<?x20xi32>
  %y = hk.concat 3 (%r0, %r1, %r2) : tensor<?x20x2x16xf32>, tensor<?x20x2x12xf32>, tensor<?x20x2x12xf32> -> tensor<?x20x2x40xf32>
  return %y : tensor<?x20x2x40xf32>
}
// The other combinations of pairing, angles and what is not rotated.
func.func @neox_own_angles_partial(%x: tensor<?x3x96xbf16>, %cos: tensor<64x40xbf16>, %sin: tensor<64x40xbf16>, %pos: tensor<?xi32>) -> tensor<?x3x96xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos angle_per_element : tensor<?x3x96xbf16>, tensor<64x40xbf16>, tensor<64x40xbf16> positions tensor<?xi32>
  return %y : tensor<?x3x96xbf16>
}
func.func @neox_own_angles_nope_first(%x: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x2x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos angle_per_element nope_first : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  return %y : tensor<?x2x64xbf16>
}
func.func @neox_nope_first(%x: tensor<?x2x64xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?xi32>) -> tensor<?x2x64xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos nope_first : tensor<?x2x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  return %y : tensor<?x2x64xbf16>
}
func.func @gptj_own_angles_partial(%x: tensor<?x2x64xf16>, %cos: tensor<64x32xf16>, %sin: tensor<64x32xf16>, %pos: tensor<?xi64>) -> tensor<?x2x64xf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos angle_per_element : tensor<?x2x64xf16>, tensor<64x32xf16>, tensor<64x32xf16> positions tensor<?xi64>
  return %y : tensor<?x2x64xf16>
}
func.func @gptj_own_angles_nope_first(%x: tensor<?x2x96xbf16>, %cos: tensor<64x24xf32>, %sin: tensor<64x24xf32>, %pos: tensor<?xi32>) -> tensor<?x2x96xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos angle_per_element nope_first : tensor<?x2x96xbf16>, tensor<64x24xf32>, tensor<64x24xf32> positions tensor<?xi32>
  return %y : tensor<?x2x96xbf16>
}
func.func @gptj_nope_first_own_angles_inverse(%x: tensor<?x3x40xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?xi32>) -> tensor<?x3x40xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos angle_per_element nope_first inverse : tensor<?x3x40xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  return %y : tensor<?x3x40xbf16>
}
// Parts of heads as Phi-2, Qwen3-Next and GLM-4 have them, and a head of 192.
func.func @neox_32_of_80(%x: tensor<?x4x80xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?xi32>) -> tensor<?x4x80xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x80xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  return %y : tensor<?x4x80xbf16>
}
func.func @neox_64_of_256(%x: tensor<?x2x256xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>) -> tensor<?x2x256xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x2x256xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  return %y : tensor<?x2x256xbf16>
}
func.func @gptj_64_of_128(%x: tensor<?x2x128xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>) -> tensor<?x2x128xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos : tensor<?x2x128xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  return %y : tensor<?x2x128xbf16>
}
func.func @neox_192(%x: tensor<?x2x192xf16>, %cos: tensor<64x96xf32>, %sin: tensor<64x96xf32>, %pos: tensor<?xi32>) -> tensor<?x2x192xf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x2x192xf16>, tensor<64x96xf32>, tensor<64x96xf32> positions tensor<?xi32>
  return %y : tensor<?x2x192xf16>
}
// Positions per token and batch entry, without offsets; the first half of a head is kept.
func.func @sbhd_positions(%x: tensor<?x2x4x64xbf16>, %k: tensor<?x2x1x64xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?x2xi32>) -> (tensor<?x2x4x64xbf16>, tensor<?x2x1x64xbf16>) {
  %y = hk.rope neox %x, %cos, %sin positions %pos nope_first : tensor<?x2x4x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?x2xi32>
  %z = hk.rope neox %k, %cos, %sin positions %pos nope_first : tensor<?x2x1x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?x2xi32>
  return %y, %z : tensor<?x2x4x64xbf16>, tensor<?x2x1x64xbf16>
}
// q and k, two views of one tensor, whose position is that in the sequence.
func.func @sbhd_two_channels_cached(%x: tensor<?x2x8x64xf16>, %cos: tensor<64x64xf16>, %sin: tensor<64x64xf16>) -> (tensor<?x2x4x64xf16>, tensor<?x2x2x64xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x2x8x64xf16>
  %q = tensor.extract_slice %x[0, 0, 0, 0] [%t, 2, 4, 64] [1, 1, 1, 1] : tensor<?x2x8x64xf16> to tensor<?x2x4x64xf16>
  %k = tensor.extract_slice %x[0, 0, 4, 0] [%t, 2, 2, 64] [1, 1, 1, 1] : tensor<?x2x8x64xf16> to tensor<?x2x2x64xf16>
  %y = hk.rope gptj %q, %cos, %sin angle_per_element : tensor<?x2x4x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>
  %z = hk.rope gptj %k, %cos, %sin angle_per_element : tensor<?x2x2x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>
  return %y, %z : tensor<?x2x4x64xf16>, tensor<?x2x2x64xf16>
}
func.func @gptj_from_angles_nope_first(%x: tensor<?x2x3x48xbf16>, %freqs: tensor<64x12xbf16>) -> tensor<?x2x3x48xbf16> {
  %cos = hk.cos %freqs : tensor<64x12xbf16> -> tensor<64x12xf32>
  %sin = hk.sin %freqs : tensor<64x12xbf16> -> tensor<64x12xf32>
  %y = hk.rope gptj %x, %cos, %sin nope_first : tensor<?x2x3x48xbf16>, tensor<64x12xf32>, tensor<64x12xf32>
  return %y : tensor<?x2x3x48xbf16>
}
// Gradients, from the angles.
func.func @neox_from_angles_inverse(%x: tensor<?x2x4x64xbf16>, %freqs: tensor<64x32xf32>) -> tensor<?x2x4x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32>
  %y = hk.rope neox %x, %cos, %sin inverse : tensor<?x2x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32>
  return %y : tensor<?x2x4x64xbf16>
}
func.func @gptj_from_angles_inverse(%x: tensor<?x2x4x64xbf16>, %freqs: tensor<64x32xf32>) -> tensor<?x2x4x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x32xf32>
  %sin = hk.sin %freqs : tensor<64x32xf32>
  %y = hk.rope gptj %x, %cos, %sin inverse : tensor<?x2x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32>
  return %y : tensor<?x2x4x64xbf16>
}
// Any number of sequences, some of them empty; an angle per element.
func.func @ragged_many(%x: tensor<?x2x64xbf16>, %freqs: tensor<64x64xf32>, %many: tensor<?xi32>) -> tensor<?x2x64xbf16> {
  %cos = hk.cos %freqs : tensor<64x64xf32>
  %sin = hk.sin %freqs : tensor<64x64xf32>
  %y = hk.rope gptj %x, %cos, %sin bounds %many angle_per_element : tensor<?x2x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> bounds tensor<?xi32>
  return %y : tensor<?x2x64xbf16>
}
// Every product and every sum rounded to bf16, as kernels compute that do not widen.
func.func @bf16_arithmetic(%x: tensor<?x4x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %near: tensor<?xi32>) -> tensor<?x4x64xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x4x64xbf16>
  %cg = hk.gather_rows %cos, %near : tensor<64x32xbf16>, tensor<?xi32> -> tensor<?x32xbf16>
  %c = tensor.expand_shape %cg [[0], [1, 2]] output_shape [%t, 1, 32] : tensor<?x32xbf16> into tensor<?x1x32xbf16>
  %sg = hk.gather_rows %sin, %near : tensor<64x32xbf16>, tensor<?xi32> -> tensor<?x32xbf16>
  %s = tensor.expand_shape %sg [[0], [1, 2]] output_shape [%t, 1, 32] : tensor<?x32xbf16> into tensor<?x1x32xbf16>
  %a = tensor.extract_slice %x[0, 0, 0] [%t, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %b = tensor.extract_slice %x[0, 0, 32] [%t, 4, 32] [1, 1, 1] : tensor<?x4x64xbf16> to tensor<?x4x32xbf16>
  %ac = hk.mul %a, %c : tensor<?x4x32xbf16>, tensor<?x1x32xbf16>
  %bs = hk.mul %b, %s : tensor<?x4x32xbf16>, tensor<?x1x32xbf16>
  %first = hk.sub %ac, %bs : tensor<?x4x32xbf16>
  %bc = hk.mul %b, %c : tensor<?x4x32xbf16>, tensor<?x1x32xbf16>
  %as = hk.mul %a, %s : tensor<?x4x32xbf16>, tensor<?x1x32xbf16>
  %second = hk.add %bc, %as : tensor<?x4x32xbf16>
  %y = hk.concat 2 (%first, %second) : tensor<?x4x32xbf16>, tensor<?x4x32xbf16> -> tensor<?x4x64xbf16>
  return %y : tensor<?x4x64xbf16>
}
func.func @image_bf16_4_6(%x: tensor<?x24x3x48xbf16>, %cosh: tensor<4x24xbf16>, %sinh: tensor<4x24xbf16>, %cosw: tensor<6x24xbf16>, %sinw: tensor<6x24xbf16>) -> tensor<?x24x3x48xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x24x3x48xbf16>
  %e = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [%t, 4, 6, 3, 48] : tensor<?x24x3x48xbf16> into tensor<?x4x6x3x48xbf16>
  %t2 = tensor.dim %e, %c0 : tensor<?x4x6x3x48xbf16>
  %first = tensor.extract_slice %e[0, 0, 0, 0, 0] [%t2, 4, 6, 3, 24] [1, 1, 1, 1, 1] : tensor<?x4x6x3x48xbf16> to tensor<?x4x6x3x24xbf16>
  %second = tensor.extract_slice %e[0, 0, 0, 0, 24] [%t2, 4, 6, 3, 24] [1, 1, 1, 1, 1] : tensor<?x4x6x3x48xbf16> to tensor<?x4x6x3x24xbf16>
  %u = hk.rope neox %first, %cosh, %sinh position_dim 1 angle_per_element : tensor<?x4x6x3x24xbf16>, tensor<4x24xbf16>, tensor<4x24xbf16>
  %v = hk.rope neox %second, %cosw, %sinw position_dim 2 angle_per_element : tensor<?x4x6x3x24xbf16>, tensor<6x24xbf16>, tensor<6x24xbf16>
  %y = hk.concat 4 (%u, %v) : tensor<?x4x6x3x24xbf16>, tensor<?x4x6x3x24xbf16> -> tensor<?x4x6x3x48xbf16>
  %z = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<?x4x6x3x48xbf16> into tensor<?x24x3x48xbf16>
  return %z : tensor<?x24x3x48xbf16>
}
