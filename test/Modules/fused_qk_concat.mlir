// The parts without and with rotary embedding of q and of k, put together. The two
// share no input, only the number of tokens; some functions rotate the second parts.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=iota --range=off=-3:3
// HK-DIMS: q1.0=8
// HK-DIMS: q1.0=1
// HK-DIMS: q1.0=0
// HK-DIMS-HOST: q1.0=32
// HK-DATA: normal,nan,inf

func.func @mha_64_64(%q1: tensor<?x4x64xbf16>, %q2: tensor<?x4x64xbf16>, %k1_rows: tensor<?x256xbf16>, %k2_rows: tensor<?x256xbf16>) -> (tensor<?x4x128xbf16>, tensor<?x4x128xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x4x64xbf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %q = hk.concat 2 (%q1, %q2) : tensor<?x4x64xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x128xbf16>
  %k = hk.concat 2 (%k1, %k2) : tensor<?x4x64xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x128xbf16>
  return %q, %k : tensor<?x4x128xbf16>, tensor<?x4x128xbf16>
}
func.func @mla_512_64(%q1: tensor<?x16x512xf16>, %q2: tensor<?x16x64xf16>, %k1_rows: tensor<?x512xf16>, %k2_rows: tensor<?x64xf16>) -> (tensor<?x16x576xf16>, tensor<?x1x576xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x16x512xf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 1, 512] : tensor<?x512xf16> into tensor<?x1x512xf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 1, 64] : tensor<?x64xf16> into tensor<?x1x64xf16>
  %q = hk.concat 2 (%q1, %q2) : tensor<?x16x512xf16>, tensor<?x16x64xf16> -> tensor<?x16x576xf16>
  %k = hk.concat 2 (%k1, %k2) : tensor<?x1x512xf16>, tensor<?x1x64xf16> -> tensor<?x1x576xf16>
  return %q, %k : tensor<?x16x576xf16>, tensor<?x1x576xf16>
}
func.func @odd_13_7(%q1: tensor<?x3x13xf32>, %q2: tensor<?x3x7xf32>, %k1_rows: tensor<?x13xf32>, %k2_rows: tensor<?x7xf32>) -> (tensor<?x3x20xf32>, tensor<?x1x20xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x3x13xf32>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 1, 13] : tensor<?x13xf32> into tensor<?x1x13xf32>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 1, 7] : tensor<?x7xf32> into tensor<?x1x7xf32>
  %q = hk.concat 2 (%q1, %q2) : tensor<?x3x13xf32>, tensor<?x3x7xf32> -> tensor<?x3x20xf32>
  %k = hk.concat 2 (%k1, %k2) : tensor<?x1x13xf32>, tensor<?x1x7xf32> -> tensor<?x1x20xf32>
  return %q, %k : tensor<?x3x20xf32>, tensor<?x1x20xf32>
}
func.func @rope(%q1: tensor<?x8x512xbf16>, %q2: tensor<?x8x128xbf16>, %k1_rows: tensor<?x512xbf16>, %k2_rows: tensor<?x128xbf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi64>) -> (tensor<?x8x640xbf16>, tensor<?x1x640xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x8x512xbf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 1, 128] : tensor<?x128xbf16> into tensor<?x1x128xbf16>
  %qr = hk.rope gptj %q2, %cos, %sin positions %pos : tensor<?x8x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi64>
  %q = hk.concat 2 (%q1, %qr) : tensor<?x8x512xbf16>, tensor<?x8x128xbf16> -> tensor<?x8x640xbf16>
  %kr = hk.rope gptj %k2, %cos, %sin positions %pos : tensor<?x1x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi64>
  %k = hk.concat 2 (%k1, %kr) : tensor<?x1x512xbf16>, tensor<?x1x128xbf16> -> tensor<?x1x640xbf16>
  return %q, %k : tensor<?x8x640xbf16>, tensor<?x1x640xbf16>
}
func.func @rope_own_angles(%q1: tensor<?x4x512xf16>, %q2: tensor<?x4x64xf16>, %k1_rows: tensor<?x2048xf16>, %k2_rows: tensor<?x256xf16>, %cos: tensor<64x64xf16>, %sin: tensor<64x64xf16>, %pos: tensor<?xi32>) -> (tensor<?x4x576xf16>, tensor<?x4x576xf16>) {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %q1, %c0_t : tensor<?x4x512xf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 4, 512] : tensor<?x2048xf16> into tensor<?x4x512xf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xf16> into tensor<?x4x64xf16>
  %qr = hk.rope neox %q2, %cos, %sin positions %pos angle_per_element : tensor<?x4x64xf16>, tensor<64x64xf16>, tensor<64x64xf16> positions tensor<?xi32>
  %q = hk.concat 2 (%q1, %qr) : tensor<?x4x512xf16>, tensor<?x4x64xf16> -> tensor<?x4x576xf16>
  %kr = hk.rope neox %k2, %cos, %sin positions %pos angle_per_element : tensor<?x4x64xf16>, tensor<64x64xf16>, tensor<64x64xf16> positions tensor<?xi32>
  %k = hk.concat 2 (%k1, %kr) : tensor<?x4x512xf16>, tensor<?x4x64xf16> -> tensor<?x4x576xf16>
  return %q, %k : tensor<?x4x576xf16>, tensor<?x4x576xf16>
}
// Parts of rows that hold more: the operands have strides of their own.
func.func @slices(%q1: tensor<?x2x96xbf16>, %k1_rows: tensor<?x100xbf16>) -> (tensor<?x2x80xbf16>, tensor<?x1x80xbf16>) {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %q1, %c0_t : tensor<?x2x96xbf16>
  %qa = tensor.extract_slice %q1[0, 0, 0] [%t, 2, 64] [1, 1, 1] : tensor<?x2x96xbf16> to tensor<?x2x64xbf16>
  %qb = tensor.extract_slice %q1[0, 0, 80] [%t, 2, 16] [1, 1, 1] : tensor<?x2x96xbf16> to tensor<?x2x16xbf16>
  %k0 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 1, 100] : tensor<?x100xbf16> into tensor<?x1x100xbf16>
  %ka = tensor.extract_slice %k0[0, 0, 0] [%t, 1, 64] [1, 1, 1] : tensor<?x1x100xbf16> to tensor<?x1x64xbf16>
  %kb = tensor.extract_slice %k0[0, 0, 84] [%t, 1, 16] [1, 1, 1] : tensor<?x1x100xbf16> to tensor<?x1x16xbf16>
  %q = hk.concat 2 (%qa, %qb) : tensor<?x2x64xbf16>, tensor<?x2x16xbf16> -> tensor<?x2x80xbf16>
  %k = hk.concat 2 (%ka, %kb) : tensor<?x1x64xbf16>, tensor<?x1x16xbf16> -> tensor<?x1x80xbf16>
  return %q, %k : tensor<?x2x80xbf16>, tensor<?x1x80xbf16>
}
func.func @mla_512_128_bf16(%q1: tensor<?x16x512xbf16>, %q2: tensor<?x16x128xbf16>, %k1_rows: tensor<?x2048xbf16>, %k2_rows: tensor<?x512xbf16>) -> (tensor<?x16x640xbf16>, tensor<?x4x640xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x16x512xbf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 4, 512] : tensor<?x2048xbf16> into tensor<?x4x512xbf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  %q = hk.concat 2 (%q1, %q2) : tensor<?x16x512xbf16>, tensor<?x16x128xbf16> -> tensor<?x16x640xbf16>
  %k = hk.concat 2 (%k1, %k2) : tensor<?x4x512xbf16>, tensor<?x4x128xbf16> -> tensor<?x4x640xbf16>
  return %q, %k : tensor<?x16x640xbf16>, tensor<?x4x640xbf16>
}
func.func @rope_neox(%q1: tensor<?x16x512xbf16>, %q2: tensor<?x16x64xbf16>, %k1_rows: tensor<?x512xbf16>, %k2_rows: tensor<?x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>) -> (tensor<?x16x576xbf16>, tensor<?x1x576xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x16x512xbf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 1, 512] : tensor<?x512xbf16> into tensor<?x1x512xbf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 1, 64] : tensor<?x64xbf16> into tensor<?x1x64xbf16>
  %qr = hk.rope neox %q2, %cos, %sin positions %pos : tensor<?x16x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %kr = hk.rope neox %k2, %cos, %sin positions %pos : tensor<?x1x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %q = hk.concat 2 (%q1, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %k = hk.concat 2 (%k1, %kr) : tensor<?x1x512xbf16>, tensor<?x1x64xbf16> -> tensor<?x1x576xbf16>
  return %q, %k : tensor<?x16x576xbf16>, tensor<?x1x576xbf16>
}
func.func @rope_gptj_own_angles(%q1: tensor<?x8x512xbf16>, %q2: tensor<?x8x64xbf16>, %k1_rows: tensor<?x2048xbf16>, %k2_rows: tensor<?x256xbf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>) -> (tensor<?x8x576xbf16>, tensor<?x4x576xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x8x512xbf16>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 4, 512] : tensor<?x2048xbf16> into tensor<?x4x512xbf16>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %qr = hk.rope gptj %q2, %cos, %sin positions %pos angle_per_element : tensor<?x8x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  %kr = hk.rope gptj %k2, %cos, %sin positions %pos angle_per_element : tensor<?x4x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  %q = hk.concat 2 (%q1, %qr) : tensor<?x8x512xbf16>, tensor<?x8x64xbf16> -> tensor<?x8x576xbf16>
  %k = hk.concat 2 (%k1, %kr) : tensor<?x4x512xbf16>, tensor<?x4x64xbf16> -> tensor<?x4x576xbf16>
  return %q, %k : tensor<?x8x576xbf16>, tensor<?x4x576xbf16>
}
func.func @rope_offsets_nope_first(%q1: tensor<?x2x40xf32>, %q2: tensor<?x2x24xf32>, %k1_rows: tensor<?x80xf32>, %k2_rows: tensor<?x48xf32>, %cos: tensor<64x6xf32>, %sin: tensor<64x6xf32>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> (tensor<?x2x64xf32>, tensor<?x2x64xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q1, %c0 : tensor<?x2x40xf32>
  %k1 = tensor.expand_shape %k1_rows [[0], [1, 2]] output_shape [%t, 2, 40] : tensor<?x80xf32> into tensor<?x2x40xf32>
  %k2 = tensor.expand_shape %k2_rows [[0], [1, 2]] output_shape [%t, 2, 24] : tensor<?x48xf32> into tensor<?x2x24xf32>
  %qr = hk.rope gptj %q2, %cos, %sin positions %pos offsets %off nope_first : tensor<?x2x24xf32>, tensor<64x6xf32>, tensor<64x6xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %kr = hk.rope gptj %k2, %cos, %sin positions %pos offsets %off nope_first : tensor<?x2x24xf32>, tensor<64x6xf32>, tensor<64x6xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %q = hk.concat 2 (%q1, %qr) : tensor<?x2x40xf32>, tensor<?x2x24xf32> -> tensor<?x2x64xf32>
  %k = hk.concat 2 (%k1, %kr) : tensor<?x2x40xf32>, tensor<?x2x24xf32> -> tensor<?x2x64xf32>
  return %q, %k : tensor<?x2x64xf32>, tensor<?x2x64xf32>
}
