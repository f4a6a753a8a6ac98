// Attention to the blocks of a cache with heads in front of tokens, also in queries and
// result: strides, no copies. One query per sequence or several, in slices of the keys.
// HK-COMPILE: --split-keys=3
// HK-LAUNCHES: 2
// HK-ARGS: --range=n=0:384 --range=t=0:23
// HK-DIMS: -
// HK-DATA: normal,equal

func.func @d64(%q: tensor<4x2x64xf16>, %k: tensor<4x1536x64xf16>, %v: tensor<4x1536x64xf16>, %n: tensor<2xi32>, %t: tensor<2x6xi32>) -> tensor<4x2x64xf16> {
  %q4 = tensor.expand_shape %q [[0], [1, 2], [3]] output_shape [4, 2, 1, 64] : tensor<4x2x64xf16> into tensor<4x2x1x64xf16>
  %x = hk.transpose %q4 [1, 2, 0, 3] : tensor<4x2x1x64xf16> -> tensor<2x1x4x64xf16>
  %k4 = tensor.expand_shape %k [[0], [1, 2], [3]] output_shape [4, 24, 64, 64] : tensor<4x1536x64xf16> into tensor<4x24x64x64xf16>
  %kt = hk.transpose %k4 [1, 2, 0, 3] : tensor<4x24x64x64xf16> -> tensor<24x64x4x64xf16>
  %v4 = tensor.expand_shape %v [[0], [1, 2], [3]] output_shape [4, 24, 64, 64] : tensor<4x1536x64xf16> into tensor<4x24x64x64xf16>
  %vt = hk.transpose %v4 [1, 2, 0, 3] : tensor<4x24x64x64xf16> -> tensor<24x64x4x64xf16>
  %o = hk.attention %x, %kt, %vt kv_lens %n block_table %t scale 0.125 : tensor<2x1x4x64xf16>, tensor<24x64x4x64xf16>, tensor<24x64x4x64xf16> kv_lens tensor<2xi32> block_table tensor<2x6xi32> -> tensor<2x1x4x64xf16>
  %y = hk.transpose %o [2, 0, 1, 3] : tensor<2x1x4x64xf16> -> tensor<4x2x1x64xf16>
  %r = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<4x2x1x64xf16> into tensor<4x2x64xf16>
  return %r : tensor<4x2x64xf16>
}
func.func @d128_16_rows(%q: tensor<3x16x128xf16>, %k: tensor<3x384x128xf16>, %v: tensor<3x384x128xf16>, %n: tensor<1xi32>, %t: tensor<1x25xi32>) -> tensor<3x16x128xf16> {
  %q4 = tensor.expand_shape %q [[0], [1, 2], [3]] output_shape [3, 1, 16, 128] : tensor<3x16x128xf16> into tensor<3x1x16x128xf16>
  %x = hk.transpose %q4 [1, 2, 0, 3] : tensor<3x1x16x128xf16> -> tensor<1x16x3x128xf16>
  %k4 = tensor.expand_shape %k [[0], [1, 2], [3]] output_shape [3, 24, 16, 128] : tensor<3x384x128xf16> into tensor<3x24x16x128xf16>
  %kt = hk.transpose %k4 [1, 2, 0, 3] : tensor<3x24x16x128xf16> -> tensor<24x16x3x128xf16>
  %v4 = tensor.expand_shape %v [[0], [1, 2], [3]] output_shape [3, 24, 16, 128] : tensor<3x384x128xf16> into tensor<3x24x16x128xf16>
  %vt = hk.transpose %v4 [1, 2, 0, 3] : tensor<3x24x16x128xf16> -> tensor<24x16x3x128xf16>
  %o = hk.attention %x, %kt, %vt kv_lens %n block_table %t scale 0.088 : tensor<1x16x3x128xf16>, tensor<24x16x3x128xf16>, tensor<24x16x3x128xf16> kv_lens tensor<1xi32> block_table tensor<1x25xi32> -> tensor<1x16x3x128xf16>
  %y = hk.transpose %o [2, 0, 1, 3] : tensor<1x16x3x128xf16> -> tensor<3x1x16x128xf16>
  %r = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<3x1x16x128xf16> into tensor<3x16x128xf16>
  return %r : tensor<3x16x128xf16>
}
func.func @d16(%q: tensor<8x3x16xf16>, %k: tensor<8x1536x16xf16>, %v: tensor<8x1536x16xf16>, %n: tensor<3xi32>, %t: tensor<3x7xi32>) -> tensor<8x3x16xf16> {
  %q4 = tensor.expand_shape %q [[0], [1, 2], [3]] output_shape [8, 3, 1, 16] : tensor<8x3x16xf16> into tensor<8x3x1x16xf16>
  %x = hk.transpose %q4 [1, 2, 0, 3] : tensor<8x3x1x16xf16> -> tensor<3x1x8x16xf16>
  %k4 = tensor.expand_shape %k [[0], [1, 2], [3]] output_shape [8, 24, 64, 16] : tensor<8x1536x16xf16> into tensor<8x24x64x16xf16>
  %kt = hk.transpose %k4 [1, 2, 0, 3] : tensor<8x24x64x16xf16> -> tensor<24x64x8x16xf16>
  %v4 = tensor.expand_shape %v [[0], [1, 2], [3]] output_shape [8, 24, 64, 16] : tensor<8x1536x16xf16> into tensor<8x24x64x16xf16>
  %vt = hk.transpose %v4 [1, 2, 0, 3] : tensor<8x24x64x16xf16> -> tensor<24x64x8x16xf16>
  %o = hk.attention %x, %kt, %vt kv_lens %n block_table %t scale 0.3 : tensor<3x1x8x16xf16>, tensor<24x64x8x16xf16>, tensor<24x64x8x16xf16> kv_lens tensor<3xi32> block_table tensor<3x7xi32> -> tensor<3x1x8x16xf16>
  %y = hk.transpose %o [2, 0, 1, 3] : tensor<3x1x8x16xf16> -> tensor<8x3x1x16xf16>
  %r = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<8x3x1x16xf16> into tensor<8x3x16xf16>
  return %r : tensor<8x3x16xf16>
}
func.func @d256_bf16(%q: tensor<4x1x256xbf16>, %k: tensor<4x768x256xbf16>, %v: tensor<4x768x256xbf16>, %n: tensor<1xi32>, %t: tensor<1x13xi32>) -> tensor<4x1x256xbf16> {
  %q4 = tensor.expand_shape %q [[0], [1, 2], [3]] output_shape [4, 1, 1, 256] : tensor<4x1x256xbf16> into tensor<4x1x1x256xbf16>
  %x = hk.transpose %q4 [1, 2, 0, 3] : tensor<4x1x1x256xbf16> -> tensor<1x1x4x256xbf16>
  %k4 = tensor.expand_shape %k [[0], [1, 2], [3]] output_shape [4, 24, 32, 256] : tensor<4x768x256xbf16> into tensor<4x24x32x256xbf16>
  %kt = hk.transpose %k4 [1, 2, 0, 3] : tensor<4x24x32x256xbf16> -> tensor<24x32x4x256xbf16>
  %v4 = tensor.expand_shape %v [[0], [1, 2], [3]] output_shape [4, 24, 32, 256] : tensor<4x768x256xbf16> into tensor<4x24x32x256xbf16>
  %vt = hk.transpose %v4 [1, 2, 0, 3] : tensor<4x24x32x256xbf16> -> tensor<24x32x4x256xbf16>
  %o = hk.attention %x, %kt, %vt kv_lens %n block_table %t scale 0.0625 : tensor<1x1x4x256xbf16>, tensor<24x32x4x256xbf16>, tensor<24x32x4x256xbf16> kv_lens tensor<1xi32> block_table tensor<1x13xi32> -> tensor<1x1x4x256xbf16>
  %y = hk.transpose %o [2, 0, 1, 3] : tensor<1x1x4x256xbf16> -> tensor<4x1x1x256xbf16>
  %r = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<4x1x1x256xbf16> into tensor<4x1x256xbf16>
  return %r : tensor<4x1x256xbf16>
}
func.func @grouped(%q: tensor<6x4x32xf16>, %k: tensor<2x1536x32xf16>, %v: tensor<2x1536x32xf16>, %n: tensor<2xi32>, %t: tensor<2x6xi32>) -> tensor<6x4x32xf16> {
  %q4 = tensor.expand_shape %q [[0], [1, 2], [3]] output_shape [6, 2, 2, 32] : tensor<6x4x32xf16> into tensor<6x2x2x32xf16>
  %x = hk.transpose %q4 [1, 2, 0, 3] : tensor<6x2x2x32xf16> -> tensor<2x2x6x32xf16>
  %k4 = tensor.expand_shape %k [[0], [1, 2], [3]] output_shape [2, 24, 64, 32] : tensor<2x1536x32xf16> into tensor<2x24x64x32xf16>
  %kt = hk.transpose %k4 [1, 2, 0, 3] : tensor<2x24x64x32xf16> -> tensor<24x64x2x32xf16>
  %v4 = tensor.expand_shape %v [[0], [1, 2], [3]] output_shape [2, 24, 64, 32] : tensor<2x1536x32xf16> into tensor<2x24x64x32xf16>
  %vt = hk.transpose %v4 [1, 2, 0, 3] : tensor<2x24x64x32xf16> -> tensor<24x64x2x32xf16>
  %o = hk.attention %x, %kt, %vt kv_lens %n block_table %t scale 0.125 : tensor<2x2x6x32xf16>, tensor<24x64x2x32xf16>, tensor<24x64x2x32xf16> kv_lens tensor<2xi32> block_table tensor<2x6xi32> -> tensor<2x2x6x32xf16>
  %y = hk.transpose %o [2, 0, 1, 3] : tensor<2x2x6x32xf16> -> tensor<6x2x2x32xf16>
  %r = tensor.collapse_shape %y [[0], [1, 2], [3]] : tensor<6x2x2x32xf16> into tensor<6x4x32xf16>
  return %r : tensor<6x4x32xf16>
}
func.func @whole(%q: tensor<5x2x64xf16>, %k: tensor<5x640x64xf16>, %v: tensor<5x640x64xf16>) -> tensor<5x2x64xf16> {
  %x = hk.transpose %q [1, 0, 2] : tensor<5x2x64xf16> -> tensor<2x5x64xf16>
  %y = hk.transpose %k [1, 0, 2] : tensor<5x640x64xf16> -> tensor<640x5x64xf16>
  %z = hk.transpose %v [1, 0, 2] : tensor<5x640x64xf16> -> tensor<640x5x64xf16>
  %o = hk.attention %x, %y, %z scale 0.125 causal : tensor<2x5x64xf16>, tensor<640x5x64xf16>, tensor<640x5x64xf16> -> tensor<2x5x64xf16>
  %r = hk.transpose %o [1, 0, 2] : tensor<2x5x64xf16> -> tensor<5x2x64xf16>
  return %r : tensor<5x2x64xf16>
}
