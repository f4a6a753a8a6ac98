// q, k and v taken out of one projection, all heads of each after another; q and k are
// rotated. Head h of k starts at column (QH + h) * D.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=0:70 --range=off=-3:3 --range=slots=iota:2
// HK-DIMS: qkv.0=32
// HK-DIMS: qkv.0=1
// HK-DIMS: qkv.0=0
// HK-DIMS-HOST: qkv.0=4
// HK-DIMS-HOST: qkv.0=16
// HK-DATA: normal,nan

func.func @neox_gqa(%qkv: tensor<?x3072xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>) -> (tensor<?x16x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4x128xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x3072xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 2048] [1, 1] : tensor<?x3072xbf16> to tensor<?x2048xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 16, 128] : tensor<?x2048xbf16> into tensor<?x16x128xbf16>
  %q = hk.rope neox %q1, %cos, %sin positions %pos : tensor<?x16x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 2048] [%t, 512] [1, 1] : tensor<?x3072xbf16> to tensor<?x512xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  %k = hk.rope neox %k1, %cos, %sin positions %pos : tensor<?x4x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 2560] [%t, 512] [1, 1] : tensor<?x3072xbf16> to tensor<?x512xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  return %q, %k, %v1 : tensor<?x16x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4x128xbf16>
}
func.func @gptj_offsets(%qkv: tensor<?x640xf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> (tensor<?x8x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x640xf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 512] [1, 1] : tensor<?x640xf16> to tensor<?x512xf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 8, 64] : tensor<?x512xf16> into tensor<?x8x64xf16>
  %q = hk.rope gptj %q1, %cos, %sin positions %pos offsets %off : tensor<?x8x64xf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 512] [%t, 64] [1, 1] : tensor<?x640xf16> to tensor<?x64xf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 1, 64] : tensor<?x64xf16> into tensor<?x1x64xf16>
  %k = hk.rope gptj %k1, %cos, %sin positions %pos offsets %off : tensor<?x1x64xf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 576] [%t, 64] [1, 1] : tensor<?x640xf16> to tensor<?x64xf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 1, 64] : tensor<?x64xf16> into tensor<?x1x64xf16>
  return %q, %k, %v1 : tensor<?x8x64xf16>, tensor<?x1x64xf16>, tensor<?x1x64xf16>
}
func.func @neox_nope_first(%qkv: tensor<?x1536xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>) -> (tensor<?x4x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4x128xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x1536xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 512] [1, 1] : tensor<?x1536xbf16> to tensor<?x512xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  %q = hk.rope neox %q1, %cos, %sin positions %pos nope_first : tensor<?x4x128xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 512] [%t, 512] [1, 1] : tensor<?x1536xbf16> to tensor<?x512xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  %k = hk.rope neox %k1, %cos, %sin positions %pos nope_first : tensor<?x4x128xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 1024] [%t, 512] [1, 1] : tensor<?x1536xbf16> to tensor<?x512xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xbf16> into tensor<?x4x128xbf16>
  return %q, %k, %v1 : tensor<?x4x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4x128xbf16>
}
func.func @gptj_nope_own_angles(%qkv: tensor<?x384xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>) -> (tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x384xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  %q = hk.rope gptj %q1, %cos, %sin positions %pos angle_per_element : tensor<?x2x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 128] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  %k = hk.rope gptj %k1, %cos, %sin positions %pos angle_per_element : tensor<?x2x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 256] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  return %q, %k, %v1 : tensor<?x2x64xbf16>, tensor<?x2x64xbf16>, tensor<?x2x64xbf16>
}
func.func @odd_80(%qkv: tensor<?x400xf32>, %cos: tensor<64x12xf32>, %sin: tensor<64x12xf32>, %pos: tensor<?xi32>) -> (tensor<?x3x80xf32>, tensor<?x1x80xf32>, tensor<?x1x80xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x400xf32>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 240] [1, 1] : tensor<?x400xf32> to tensor<?x240xf32>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 3, 80] : tensor<?x240xf32> into tensor<?x3x80xf32>
  %q = hk.rope neox %q1, %cos, %sin positions %pos : tensor<?x3x80xf32>, tensor<64x12xf32>, tensor<64x12xf32> positions tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 240] [%t, 80] [1, 1] : tensor<?x400xf32> to tensor<?x80xf32>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 1, 80] : tensor<?x80xf32> into tensor<?x1x80xf32>
  %k = hk.rope neox %k1, %cos, %sin positions %pos : tensor<?x1x80xf32>, tensor<64x12xf32>, tensor<64x12xf32> positions tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 320] [%t, 80] [1, 1] : tensor<?x400xf32> to tensor<?x80xf32>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 1, 80] : tensor<?x80xf32> into tensor<?x1x80xf32>
  return %q, %k, %v1 : tensor<?x3x80xf32>, tensor<?x1x80xf32>, tensor<?x1x80xf32>
}
// Heads interleaved per key head, three queries with their gates before k and v: norms
// of q and k, a part of a head rotated, and the cache written.
func.func @norm_gate_cache(%qkv: tensor<?x2048xbf16>, %qw: tensor<128xbf16>, %kw: tensor<128xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<3x2x16x128xbf16> {hk.state}, %vc: tensor<3x2x16x128xbf16> {hk.state})
    -> (tensor<?x6x128xbf16>, tensor<?x6x128xbf16>, tensor<?x2x128xbf16>, tensor<3x2x16x128xbf16>, tensor<3x2x16x128xbf16>) {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0_t : tensor<?x2048xbf16>
  %g = tensor.expand_shape %qkv [[0], [1, 2]] output_shape [%t, 2, 1024] : tensor<?x2048xbf16> into tensor<?x2x1024xbf16>
  %qg0 = tensor.extract_slice %g[0, 0, 0] [%t, 2, 768] [1, 1, 1] : tensor<?x2x1024xbf16> to tensor<?x2x768xbf16>
  %qg = tensor.expand_shape %qg0 [[0], [1], [2, 3]] output_shape [%t, 2, 3, 256] : tensor<?x2x768xbf16> into tensor<?x2x3x256xbf16>
  %q0 = tensor.extract_slice %qg[0, 0, 0, 0] [%t, 2, 3, 128] [1, 1, 1, 1] : tensor<?x2x3x256xbf16> to tensor<?x2x3x128xbf16>
  %gate0 = tensor.extract_slice %qg[0, 0, 0, 128] [%t, 2, 3, 128] [1, 1, 1, 1] : tensor<?x2x3x256xbf16> to tensor<?x2x3x128xbf16>
  %k0 = tensor.extract_slice %g[0, 0, 768] [%t, 2, 128] [1, 1, 1] : tensor<?x2x1024xbf16> to tensor<?x2x128xbf16>
  %v = tensor.extract_slice %g[0, 0, 896] [%t, 2, 128] [1, 1, 1] : tensor<?x2x1024xbf16> to tensor<?x2x128xbf16>
  %q1 = tensor.collapse_shape %q0 [[0], [1, 2], [3]] : tensor<?x2x3x128xbf16> into tensor<?x6x128xbf16>
  %gate = tensor.collapse_shape %gate0 [[0], [1, 2], [3]] : tensor<?x2x3x128xbf16> into tensor<?x6x128xbf16>
  %qn = hk.rms_norm %q1, %qw epsilon 1.0e-06 : tensor<?x6x128xbf16>, tensor<128xbf16>
  %kn = hk.rms_norm %k0, %kw epsilon 1.0e-06 : tensor<?x2x128xbf16>, tensor<128xbf16>
  %q = hk.rope neox %qn, %cos, %sin positions %pos : tensor<?x6x128xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  %k = hk.rope neox %kn, %cos, %sin positions %pos : tensor<?x2x128xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  %k2 = hk.kv_cache_write %k, %slots into %kc layout head_major : tensor<?x2x128xbf16>, tensor<?xi32>, tensor<3x2x16x128xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc layout head_major : tensor<?x2x128xbf16>, tensor<?xi32>, tensor<3x2x16x128xbf16>
  return %q, %gate, %k, %k2, %v2 : tensor<?x6x128xbf16>, tensor<?x6x128xbf16>, tensor<?x2x128xbf16>, tensor<3x2x16x128xbf16>, tensor<3x2x16x128xbf16>
}
// Query heads, key and value of a group side by side, as GPT-NeoX and Megatron store them.
func.func @interleaved_groups(%qkv: tensor<?x960xbf16>, %cos: tensor<64x40xbf16>, %sin: tensor<64x40xbf16>, %pos: tensor<?xi32>) -> (tensor<?x8x80xbf16>, tensor<?x2x80xbf16>, tensor<?x2x80xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x960xbf16>
  %g = tensor.expand_shape %qkv [[0], [1, 2, 3]] output_shape [%t, 2, 6, 80] : tensor<?x960xbf16> into tensor<?x2x6x80xbf16>
  %q0 = tensor.extract_slice %g[0, 0, 0, 0] [%t, 2, 4, 80] [1, 1, 1, 1] : tensor<?x2x6x80xbf16> to tensor<?x2x4x80xbf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2], [3]] : tensor<?x2x4x80xbf16> into tensor<?x8x80xbf16>
  %k0 = tensor.extract_slice %g[0, 0, 4, 0] [%t, 2, 1, 80] [1, 1, 1, 1] : tensor<?x2x6x80xbf16> to tensor<?x2x1x80xbf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2], [3]] : tensor<?x2x1x80xbf16> into tensor<?x2x80xbf16>
  %v0 = tensor.extract_slice %g[0, 0, 5, 0] [%t, 2, 1, 80] [1, 1, 1, 1] : tensor<?x2x6x80xbf16> to tensor<?x2x1x80xbf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2], [3]] : tensor<?x2x1x80xbf16> into tensor<?x2x80xbf16>
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x80xbf16>, tensor<64x40xbf16>, tensor<64x40xbf16> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x2x80xbf16>, tensor<64x40xbf16>, tensor<64x40xbf16> positions tensor<?xi32>
  %vo = hk.copy %v : tensor<?x2x80xbf16>
  return %qr, %kr, %vo : tensor<?x8x80xbf16>, tensor<?x2x80xbf16>, tensor<?x2x80xbf16>
}
func.func @neox_own_angles(%qkv: tensor<?x1152xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi64>) -> (tensor<?x16x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x1152xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 1024] [1, 1] : tensor<?x1152xbf16> to tensor<?x1024xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 16, 64] : tensor<?x1024xbf16> into tensor<?x16x64xbf16>
  %q = hk.rope neox %q1, %cos, %sin positions %pos angle_per_element : tensor<?x16x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi64>
  %k0 = tensor.extract_slice %qkv[0, 1024] [%t, 64] [1, 1] : tensor<?x1152xbf16> to tensor<?x64xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 1, 64] : tensor<?x64xbf16> into tensor<?x1x64xbf16>
  %k = hk.rope neox %k1, %cos, %sin positions %pos angle_per_element : tensor<?x1x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi64>
  %v0 = tensor.extract_slice %qkv[0, 1088] [%t, 64] [1, 1] : tensor<?x1152xbf16> to tensor<?x64xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 1, 64] : tensor<?x64xbf16> into tensor<?x1x64xbf16>
  return %q, %k, %v1 : tensor<?x16x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xbf16>
}
func.func @neox_own_angles_nope_first_offsets(%qkv: tensor<?x1024xf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> (tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x128xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x1024xf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 512] [1, 1] : tensor<?x1024xf16> to tensor<?x512xf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 4, 128] : tensor<?x512xf16> into tensor<?x4x128xf16>
  %q = hk.rope neox %q1, %cos, %sin positions %pos offsets %off angle_per_element nope_first : tensor<?x4x128xf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 512] [%t, 256] [1, 1] : tensor<?x1024xf16> to tensor<?x256xf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 2, 128] : tensor<?x256xf16> into tensor<?x2x128xf16>
  %k = hk.rope neox %k1, %cos, %sin positions %pos offsets %off angle_per_element nope_first : tensor<?x2x128xf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32> offsets tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 768] [%t, 256] [1, 1] : tensor<?x1024xf16> to tensor<?x256xf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 2, 128] : tensor<?x256xf16> into tensor<?x2x128xf16>
  return %q, %k, %v1 : tensor<?x4x128xf16>, tensor<?x2x128xf16>, tensor<?x2x128xf16>
}
func.func @gptj_nope_first(%qkv: tensor<?x1024xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x1024xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 512] [1, 1] : tensor<?x1024xbf16> to tensor<?x512xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %q = hk.rope gptj %q1, %cos, %sin positions %pos nope_first : tensor<?x8x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 512] [%t, 256] [1, 1] : tensor<?x1024xbf16> to tensor<?x256xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %k = hk.rope gptj %k1, %cos, %sin positions %pos nope_first : tensor<?x4x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 768] [%t, 256] [1, 1] : tensor<?x1024xbf16> to tensor<?x256xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  return %q, %k, %v1 : tensor<?x8x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>
}
func.func @gptj_own_angles_nope_first_offsets(%qkv: tensor<?x384xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>, %off: tensor<?xi32>) -> (tensor<?x1x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x128xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x384xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 1, 128] : tensor<?x128xbf16> into tensor<?x1x128xbf16>
  %q = hk.rope gptj %q1, %cos, %sin positions %pos offsets %off angle_per_element nope_first : tensor<?x1x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32> offsets tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 128] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 1, 128] : tensor<?x128xbf16> into tensor<?x1x128xbf16>
  %k = hk.rope gptj %k1, %cos, %sin positions %pos offsets %off angle_per_element nope_first : tensor<?x1x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32> offsets tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 256] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 1, 128] : tensor<?x128xbf16> into tensor<?x1x128xbf16>
  return %q, %k, %v1 : tensor<?x1x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x128xbf16>
}
func.func @neox_nope_last(%qkv: tensor<?x4608xbf16>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>, %pos: tensor<?xi32>) -> (tensor<?x64x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkv, %c0 : tensor<?x4608xbf16>
  %q0 = tensor.extract_slice %qkv[0, 0] [%t, 4096] [1, 1] : tensor<?x4608xbf16> to tensor<?x4096xbf16>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%t, 64, 64] : tensor<?x4096xbf16> into tensor<?x64x64xbf16>
  %q = hk.rope neox %q1, %cos, %sin positions %pos : tensor<?x64x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  %k0 = tensor.extract_slice %qkv[0, 4096] [%t, 256] [1, 1] : tensor<?x4608xbf16> to tensor<?x256xbf16>
  %k1 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %k = hk.rope neox %k1, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  %v0 = tensor.extract_slice %qkv[0, 4352] [%t, 256] [1, 1] : tensor<?x4608xbf16> to tensor<?x256xbf16>
  %v1 = tensor.expand_shape %v0 [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  return %q, %k, %v1 : tensor<?x64x64xbf16>, tensor<?x4x64xbf16>, tensor<?x4x64xbf16>
}
