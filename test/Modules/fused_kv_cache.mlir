// RoPE of q and k, and the write of k and v into a paged cache, in one launch: every
// layout of the cache, any head and block size, scaled fp8, and the forms of latent
// attention.
// HK-LAUNCHES: 1
// HK-ARGS: --range=pos=iota --range=off=-2:2 --range=slots=iota:3 --range=tail=-1:3 --range=own=iota --range=skipped=iota:-4
// HK-DIMS: q.0=11 ko.1=11
// HK-DIMS: q.0=1 ko.1=1
// HK-DIMS: q.0=0 ko.1=0
// HK-DIMS-HOST: @paged @vllm_f16 q.0=2048
// HK-DIMS-HOST: @latent @gpt_oss_64_8 q.0=256
// HK-DATA: normal,equal,huge,nan,inf

func.func @paged(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xbf16> {hk.state}, %vc: tensor<4x16x2x64xbf16> {hk.state})
    -> (tensor<?x8x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %k2 = hk.kv_cache_write %kr, %slots into %kc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  return %qr, %k2, %v2 : tensor<?x8x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>
}
func.func @head_major_offsets(%q: tensor<?x4x128xbf16>, %k: tensor<?x4x128xbf16>, %v: tensor<?x4x128xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>, %off: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<2x4x32x128xbf16> {hk.state}, %vc: tensor<2x4x32x128xbf16> {hk.state})
    -> (tensor<?x4x128xbf16>, tensor<?x4x128xbf16>, tensor<2x4x32x128xbf16>, tensor<2x4x32x128xbf16>) {
  %qr = hk.rope gptj %q, %cos, %sin positions %pos offsets %off : tensor<?x4x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32> offsets tensor<?xi32>
  %kr = hk.rope gptj %k, %cos, %sin positions %pos offsets %off : tensor<?x4x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32> offsets tensor<?xi32>
  %k2 = hk.kv_cache_write %kr, %slots into %kc layout head_major : tensor<?x4x128xbf16>, tensor<?xi32>, tensor<2x4x32x128xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc layout head_major : tensor<?x4x128xbf16>, tensor<?xi32>, tensor<2x4x32x128xbf16>
  return %qr, %kr, %k2, %v2 : tensor<?x4x128xbf16>, tensor<?x4x128xbf16>, tensor<2x4x32x128xbf16>, tensor<2x4x32x128xbf16>
}
func.func @vllm_f16(%q: tensor<?x8x64xf16>, %k: tensor<?x2x64xf16>, %v: tensor<?x2x64xf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi64>, %slots: tensor<?xi64>, %kc: tensor<4x2x8x16x8xf16> {hk.state}, %vc: tensor<4x2x64x16xf16> {hk.state})
    -> (tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<4x2x8x16x8xf16>, tensor<4x2x64x16xf16>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x64xf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi64>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x2x64xf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi64>
  %k2 = hk.kv_cache_write %kr, %slots into %kc layout key_chunks : tensor<?x2x64xf16>, tensor<?xi64>, tensor<4x2x8x16x8xf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc layout transposed : tensor<?x2x64xf16>, tensor<?xi64>, tensor<4x2x64x16xf16>
  return %qr, %kr, %k2, %v2 : tensor<?x8x64xf16>, tensor<?x2x64xf16>, tensor<4x2x8x16x8xf16>, tensor<4x2x64x16xf16>
}
func.func @shuffled_values(%q: tensor<?x4x64xbf16>, %k: tensor<?x1x64xbf16>, %v: tensor<?x1x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<2x1x8x16x8xbf16> {hk.state}, %vc: tensor<2x1x2x64x8xbf16> {hk.state})
    -> (tensor<?x4x64xbf16>, tensor<?x1x64xbf16>, tensor<2x1x8x16x8xbf16>, tensor<2x1x2x64x8xbf16>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x4x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x1x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %k2 = hk.kv_cache_write %kr, %slots into %kc layout key_chunks : tensor<?x1x64xbf16>, tensor<?xi32>, tensor<2x1x8x16x8xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc layout value_chunks : tensor<?x1x64xbf16>, tensor<?xi32>, tensor<2x1x2x64x8xbf16>
  return %qr, %kr, %k2, %v2 : tensor<?x4x64xbf16>, tensor<?x1x64xbf16>, tensor<2x1x8x16x8xbf16>, tensor<2x1x2x64x8xbf16>
}
func.func @odd_sizes(%q: tensor<?x3x80xf32>, %k: tensor<?x1x80xf32>, %v: tensor<?x1x80xf32>, %cos: tensor<64x12xf32>, %sin: tensor<64x12xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<5x7x1x80xf32> {hk.state}, %vc: tensor<5x1x80x7xf32> {hk.state})
    -> (tensor<?x3x80xf32>, tensor<?x1x80xf32>, tensor<5x7x1x80xf32>, tensor<5x1x80x7xf32>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x3x80xf32>, tensor<64x12xf32>, tensor<64x12xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x1x80xf32>, tensor<64x12xf32>, tensor<64x12xf32> positions tensor<?xi32>
  %k2 = hk.kv_cache_write %kr, %slots into %kc : tensor<?x1x80xf32>, tensor<?xi32>, tensor<5x7x1x80xf32>
  %v2 = hk.kv_cache_write %v, %slots into %vc layout transposed : tensor<?x1x80xf32>, tensor<?xi32>, tensor<5x1x80x7xf32>
  return %qr, %kr, %k2, %v2 : tensor<?x3x80xf32>, tensor<?x1x80xf32>, tensor<5x7x1x80xf32>, tensor<5x1x80x7xf32>
}
func.func @odd_head_major(%q: tensor<?x2x20xbf16>, %k: tensor<?x2x20xbf16>, %v: tensor<?x2x20xbf16>, %cos: tensor<64x5xf32>, %sin: tensor<64x5xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<3x2x5x20xbf16> {hk.state}, %vc: tensor<3x2x5x20xbf16> {hk.state})
    -> (tensor<?x2x20xbf16>, tensor<?x2x20xbf16>, tensor<3x2x5x20xbf16>, tensor<3x2x5x20xbf16>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos nope_first : tensor<?x2x20xbf16>, tensor<64x5xf32>, tensor<64x5xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %pos nope_first : tensor<?x2x20xbf16>, tensor<64x5xf32>, tensor<64x5xf32> positions tensor<?xi32>
  %k2 = hk.kv_cache_write %kr, %slots into %kc layout head_major : tensor<?x2x20xbf16>, tensor<?xi32>, tensor<3x2x5x20xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc layout head_major : tensor<?x2x20xbf16>, tensor<?xi32>, tensor<3x2x5x20xbf16>
  return %qr, %kr, %k2, %v2 : tensor<?x2x20xbf16>, tensor<?x2x20xbf16>, tensor<3x2x5x20xbf16>, tensor<3x2x5x20xbf16>
}
func.func @fp8(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xf8E4M3FN> {hk.state}, %vc: tensor<4x16x2x64xf8E4M3FN> {hk.state})
    -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<4x16x2x64xf8E4M3FN>, tensor<4x16x2x64xf8E4M3FN>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x2x64xbf16> -> tensor<?x2x64xf32>
  %kr = hk.rope neox %k32, %cos, %sin positions %pos : tensor<?x2x64xf32>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x2x64xf32>, tensor<1xf32> -> tensor<?x2x64xf8E4M3FN>
  %vq = hk.quantize_static %v, %vs : tensor<?x2x64xbf16>, tensor<1xf32> -> tensor<?x2x64xf8E4M3FN>
  %ko = hk.cast %kr : tensor<?x2x64xf32> -> tensor<?x2x64xbf16>
  %k2 = hk.kv_cache_write %kq, %slots into %kc : tensor<?x2x64xf8E4M3FN>, tensor<?xi32>, tensor<4x16x2x64xf8E4M3FN>
  %v2 = hk.kv_cache_write %vq, %slots into %vc : tensor<?x2x64xf8E4M3FN>, tensor<?xi32>, tensor<4x16x2x64xf8E4M3FN>
  return %qr, %ko, %k2, %v2 : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<4x16x2x64xf8E4M3FN>, tensor<4x16x2x64xf8E4M3FN>
}
func.func @fp8_fnuz_vllm(%q: tensor<?x8x128xbf16>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi32>, %kc: tensor<2x2x8x16x16xf8E4M3FNUZ> {hk.state}, %vc: tensor<2x2x128x16xf8E4M3FNUZ> {hk.state})
    -> (tensor<?x8x128xbf16>, tensor<2x2x8x16x16xf8E4M3FNUZ>, tensor<2x2x128x16xf8E4M3FNUZ>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x2x128xbf16> -> tensor<?x2x128xf32>
  %kr = hk.rope neox %k32, %cos, %sin positions %pos : tensor<?x2x128xf32>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x2x128xf32>, tensor<1xf32> -> tensor<?x2x128xf8E4M3FNUZ>
  %vq = hk.quantize_static %v, %vs : tensor<?x2x128xbf16>, tensor<1xf32> -> tensor<?x2x128xf8E4M3FNUZ>
  %k2 = hk.kv_cache_write %kq, %slots into %kc layout key_chunks : tensor<?x2x128xf8E4M3FNUZ>, tensor<?xi32>, tensor<2x2x8x16x16xf8E4M3FNUZ>
  %v2 = hk.kv_cache_write %vq, %slots into %vc layout transposed : tensor<?x2x128xf8E4M3FNUZ>, tensor<?xi32>, tensor<2x2x128x16xf8E4M3FNUZ>
  return %qr, %k2, %v2 : tensor<?x8x128xbf16>, tensor<2x2x8x16x16xf8E4M3FNUZ>, tensor<2x2x128x16xf8E4M3FNUZ>
}
func.func @latent(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %k: tensor<?x1x512xbf16>, %kp: tensor<?x1x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %slots: tensor<?xi32>, %kc: tensor<4x16x1x576xf8E4M3FN> {hk.state})
    -> (tensor<?x16x576xbf16>, tensor<?x1x64xbf16>, tensor<4x16x1x576xf8E4M3FN>) {
  %qr = hk.rope gptj %qp, %cos, %sin positions %pos : tensor<?x16x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope gptj %kp, %cos, %sin positions %pos : tensor<?x1x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%q, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %kl = hk.concat 2 (%k, %kr) : tensor<?x1x512xbf16>, tensor<?x1x64xbf16> -> tensor<?x1x576xbf16>
  %kq = hk.quantize_static %kl, %ks : tensor<?x1x576xbf16>, tensor<1xf32> -> tensor<?x1x576xf8E4M3FN>
  %c2 = hk.kv_cache_write %kq, %slots into %kc : tensor<?x1x576xf8E4M3FN>, tensor<?xi32>, tensor<4x16x1x576xf8E4M3FN>
  return %qo, %kr, %c2 : tensor<?x16x576xbf16>, tensor<?x1x64xbf16>, tensor<4x16x1x576xf8E4M3FN>
}
func.func @norm_rope_fp8(%q: tensor<?x768xbf16>, %qw: tensor<64xbf16>, %kw: tensor<64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xf8E4M3FN> {hk.state}, %vc: tensor<4x16x2x64xf8E4M3FN> {hk.state})
    -> (tensor<?x8x64xbf16>, tensor<4x16x2x64xf8E4M3FN>, tensor<4x16x2x64xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q, %c0 : tensor<?x768xbf16>
  %a0 = tensor.extract_slice %q[0, 0] [%t, 512] [1, 1] : tensor<?x768xbf16> to tensor<?x512xbf16>
  %a = tensor.expand_shape %a0 [[0], [1, 2]] output_shape [%t, 8, 64] : tensor<?x512xbf16> into tensor<?x8x64xbf16>
  %b0 = tensor.extract_slice %q[0, 512] [%t, 128] [1, 1] : tensor<?x768xbf16> to tensor<?x128xbf16>
  %b = tensor.expand_shape %b0 [[0], [1, 2]] output_shape [%t, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  %e0 = tensor.extract_slice %q[0, 640] [%t, 128] [1, 1] : tensor<?x768xbf16> to tensor<?x128xbf16>
  %e = tensor.expand_shape %e0 [[0], [1, 2]] output_shape [%t, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  %qn = hk.rms_norm %a, %qw epsilon 1.0e-06 : tensor<?x8x64xbf16>, tensor<64xbf16>
  %kn = hk.rms_norm %b, %kw epsilon 1.0e-06 : tensor<?x2x64xbf16>, tensor<64xbf16>
  %qr = hk.rope neox %qn, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %kn, %cos, %sin positions %pos : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32> -> tensor<?x2x64xf32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x2x64xf32>, tensor<1xf32> -> tensor<?x2x64xf8E4M3FN>
  %vq = hk.quantize_static %e, %vs : tensor<?x2x64xbf16>, tensor<1xf32> -> tensor<?x2x64xf8E4M3FN>
  %k2 = hk.kv_cache_write %kq, %slots into %kc : tensor<?x2x64xf8E4M3FN>, tensor<?xi32>, tensor<4x16x2x64xf8E4M3FN>
  %v2 = hk.kv_cache_write %vq, %slots into %vc : tensor<?x2x64xf8E4M3FN>, tensor<?xi32>, tensor<4x16x2x64xf8E4M3FN>
  return %qr, %k2, %v2 : tensor<?x8x64xbf16>, tensor<4x16x2x64xf8E4M3FN>, tensor<4x16x2x64xf8E4M3FN>
}
// Keys that were rotated before, at positions of -1, and zeros for the attention to add to.
func.func @zeros_and_tail(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %tail: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xbf16> {hk.state}, %vc: tensor<4x16x2x64xbf16> {hk.state})
    -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x8x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>) {
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<bf16>
  %qr = hk.rope neox %q, %cos, %sin positions %tail : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %tail : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %z = hk.select %no, %q, %zero : tensor<i1>, tensor<?x8x64xbf16>, tensor<bf16> -> tensor<?x8x64xbf16>
  %k2 = hk.kv_cache_write %kr, %slots into %kc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  return %qr, %kr, %z, %k2, %v2 : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<?x8x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>
}
// Latent attention with a query in fp8 without a scale and the rotated part beside it.
func.func @latent_fp8_query(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %k: tensor<?x1x512xbf16>, %kp: tensor<?x1x64xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi64>, %slots: tensor<?xi64>, %kc: tensor<4x1x16x576xbf16> {hk.state})
    -> (tensor<?x16x576xf8E4M3FN>, tensor<?x16x64xbf16>, tensor<?x1x64xbf16>, tensor<4x1x16x576xbf16>) {
  %qr = hk.rope neox %qp, %cos, %sin positions %pos angle_per_element : tensor<?x16x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi64>
  %kr = hk.rope neox %kp, %cos, %sin positions %pos angle_per_element : tensor<?x1x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi64>
  %qc = hk.concat 2 (%q, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %q8 = hk.cast %qc : tensor<?x16x576xbf16> -> tensor<?x16x576xf8E4M3FN>
  %kl = hk.concat 2 (%k, %kr) : tensor<?x1x512xbf16>, tensor<?x1x64xbf16> -> tensor<?x1x576xbf16>
  %c2 = hk.kv_cache_write %kl, %slots into %kc layout head_major : tensor<?x1x576xbf16>, tensor<?xi64>, tensor<4x1x16x576xbf16>
  return %q8, %qr, %kr, %c2 : tensor<?x16x576xf8E4M3FN>, tensor<?x16x64xbf16>, tensor<?x1x64xbf16>, tensor<4x1x16x576xbf16>
}
// Nothing rotated: the plain write, in the layouts of flash attention and of vLLM.
func.func @copy_128_16(%q: tensor<?x256xbf16>, %v: tensor<?x2x128xbf16>, %slots: tensor<?xi64>, %kc: tensor<3x16x2x128xbf16> {hk.state}, %vc: tensor<3x16x2x128xbf16> {hk.state}) -> (tensor<3x16x2x128xbf16>, tensor<3x16x2x128xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q, %c0 : tensor<?x256xbf16>
  %k = tensor.expand_shape %q [[0], [1, 2]] output_shape [%t, 2, 128] : tensor<?x256xbf16> into tensor<?x2x128xbf16>
  %k2 = hk.kv_cache_write %k, %slots into %kc : tensor<?x2x128xbf16>, tensor<?xi64>, tensor<3x16x2x128xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc : tensor<?x2x128xbf16>, tensor<?xi64>, tensor<3x16x2x128xbf16>
  return %k2, %v2 : tensor<3x16x2x128xbf16>, tensor<3x16x2x128xbf16>
}
func.func @copy_vllm_fp8(%q: tensor<?x1x64xf16>, %v: tensor<?x1x64xf16>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi64>, %kc: tensor<2x1x4x8x16xf8E4M3FNUZ> {hk.state}, %vc: tensor<2x1x64x8xf8E4M3FNUZ> {hk.state}) -> (tensor<2x1x4x8x16xf8E4M3FNUZ>, tensor<2x1x64x8xf8E4M3FNUZ>) {
  %kq = hk.quantize_static %q, %ks : tensor<?x1x64xf16>, tensor<1xf32> -> tensor<?x1x64xf8E4M3FNUZ>
  %vq = hk.quantize_static %v, %vs : tensor<?x1x64xf16>, tensor<1xf32> -> tensor<?x1x64xf8E4M3FNUZ>
  %k2 = hk.kv_cache_write %kq, %slots into %kc layout key_chunks : tensor<?x1x64xf8E4M3FNUZ>, tensor<?xi64>, tensor<2x1x4x8x16xf8E4M3FNUZ>
  %v2 = hk.kv_cache_write %vq, %slots into %vc layout transposed : tensor<?x1x64xf8E4M3FNUZ>, tensor<?xi64>, tensor<2x1x64x8xf8E4M3FNUZ>
  return %k2, %v2 : tensor<2x1x4x8x16xf8E4M3FNUZ>, tensor<2x1x64x8xf8E4M3FNUZ>
}
// The rotated keys of a token without a slot are not written either, as AITER has it: a
// tensor that is written in part is a state. `own` counts the tokens.
func.func @skipped_tokens(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %own: tensor<?xi32>, %skipped: tensor<?xi32>, %ko: tensor<1x?x2x64xbf16> {hk.state}, %kc: tensor<4x16x2x64xbf16> {hk.state}, %vc: tensor<4x16x2x64xbf16> {hk.state})
    -> (tensor<?x8x64xbf16>, tensor<1x?x2x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>) {
  %zero = hk.constant 0 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %pos : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %has = hk.compare ge %skipped, %zero : tensor<?xi32>, tensor<i32> -> tensor<?xi1>
  %row = hk.select %has, %own, %none : tensor<?xi1>, tensor<?xi32>, tensor<i32> -> tensor<?xi32>
  %ko2 = hk.kv_cache_write %kr, %row into %ko : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<1x?x2x64xbf16>
  %k2 = hk.kv_cache_write %kr, %skipped into %kc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  %v2 = hk.kv_cache_write %v, %skipped into %vc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  return %qr, %ko2, %k2, %v2 : tensor<?x8x64xbf16>, tensor<1x?x2x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>
}
// Tokens that are all decoded: the rotated part of the query beside it, and zeros for what
// attention adds up.
func.func @latent_zeros(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %k: tensor<?x1x512xbf16>, %kp: tensor<?x1x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<64x1x1x576xbf16> {hk.state})
    -> (tensor<?x16x576xbf16>, tensor<?x16x64xbf16>, tensor<?x1x64xbf16>, tensor<?x16x512xbf16>, tensor<64x1x1x576xbf16>) {
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<bf16>
  %qr = hk.rope gptj %qp, %cos, %sin positions %pos : tensor<?x16x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope gptj %kp, %cos, %sin positions %pos : tensor<?x1x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%q, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %kl = hk.concat 2 (%k, %kr) : tensor<?x1x512xbf16>, tensor<?x1x64xbf16> -> tensor<?x1x576xbf16>
  %z = hk.select %no, %q, %zero : tensor<i1>, tensor<?x16x512xbf16>, tensor<bf16> -> tensor<?x16x512xbf16>
  %c2 = hk.kv_cache_write %kl, %slots into %kc : tensor<?x1x576xbf16>, tensor<?xi32>, tensor<64x1x1x576xbf16>
  return %qo, %qr, %kr, %z, %c2 : tensor<?x16x576xbf16>, tensor<?x16x64xbf16>, tensor<?x1x64xbf16>, tensor<?x16x512xbf16>, tensor<64x1x1x576xbf16>
}
// Chunks of 16 bytes, of D in the keys and of the block in the values.
func.func @fp8_shuffled_values(%q: tensor<?x4x128xbf16>, %k: tensor<?x2x128xbf16>, %v: tensor<?x2x128xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi64>, %kc: tensor<2x2x8x32x16xf8E4M3FN> {hk.state}, %vc: tensor<2x2x2x128x16xf8E4M3FN> {hk.state}) -> (tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<2x2x8x32x16xf8E4M3FN>, tensor<2x2x2x128x16xf8E4M3FN>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x4x128xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x2x128xbf16> -> tensor<?x2x128xf32>
  %kr = hk.rope neox %k32, %cos, %sin positions %pos : tensor<?x2x128xf32>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x2x128xf32>, tensor<1xf32> -> tensor<?x2x128xf8E4M3FN>
  %vq = hk.quantize_static %v, %vs : tensor<?x2x128xbf16>, tensor<1xf32> -> tensor<?x2x128xf8E4M3FN>
  %ko = hk.cast %kr : tensor<?x2x128xf32> -> tensor<?x2x128xbf16>
  %k2 = hk.kv_cache_write %kq, %slots into %kc layout key_chunks : tensor<?x2x128xf8E4M3FN>, tensor<?xi64>, tensor<2x2x8x32x16xf8E4M3FN>
  %v2 = hk.kv_cache_write %vq, %slots into %vc layout value_chunks : tensor<?x2x128xf8E4M3FN>, tensor<?xi64>, tensor<2x2x2x128x16xf8E4M3FN>
  return %qr, %ko, %k2, %v2 : tensor<?x4x128xbf16>, tensor<?x2x128xbf16>, tensor<2x2x8x32x16xf8E4M3FN>, tensor<2x2x2x128x16xf8E4M3FN>
}
// Codes without scales; an angle per element.
func.func @fp8_unscaled_own_angles(%q: tensor<?x4x64xbf16>, %k: tensor<?x4x64xbf16>, %v: tensor<?x4x64xbf16>, %cos: tensor<64x64xbf16>, %sin: tensor<64x64xbf16>, %pos: tensor<?xi32>, %slots: tensor<?xi64>, %kc: tensor<4x16x4x64xf8E4M3FN> {hk.state}, %vc: tensor<4x16x4x64xf8E4M3FN> {hk.state}) -> (tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<4x16x4x64xf8E4M3FN>, tensor<4x16x4x64xf8E4M3FN>) {
  %qr = hk.rope gptj %q, %cos, %sin positions %pos angle_per_element : tensor<?x4x64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x4x64xbf16> -> tensor<?x4x64xf32>
  %kr = hk.rope gptj %k32, %cos, %sin positions %pos angle_per_element : tensor<?x4x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16> positions tensor<?xi32>
  %kq = hk.cast %kr : tensor<?x4x64xf32> -> tensor<?x4x64xf8E4M3FN>
  %vq = hk.cast %v : tensor<?x4x64xbf16> -> tensor<?x4x64xf8E4M3FN>
  %ko = hk.cast %kr : tensor<?x4x64xf32> -> tensor<?x4x64xbf16>
  %k2 = hk.kv_cache_write %kq, %slots into %kc : tensor<?x4x64xf8E4M3FN>, tensor<?xi64>, tensor<4x16x4x64xf8E4M3FN>
  %v2 = hk.kv_cache_write %vq, %slots into %vc : tensor<?x4x64xf8E4M3FN>, tensor<?xi64>, tensor<4x16x4x64xf8E4M3FN>
  return %qr, %ko, %k2, %v2 : tensor<?x4x64xbf16>, tensor<?x4x64xbf16>, tensor<4x16x4x64xf8E4M3FN>, tensor<4x16x4x64xf8E4M3FN>
}
// The heads of GPT-OSS.
func.func @gpt_oss_64_8(%q: tensor<?x64x64xbf16>, %k: tensor<?x8x64xbf16>, %v: tensor<?x8x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi64>, %kc: tensor<4x16x8x64xf8E4M3FNUZ> {hk.state}, %vc: tensor<4x16x8x64xf8E4M3FNUZ> {hk.state}) -> (tensor<?x64x64xbf16>, tensor<?x8x64xbf16>, tensor<4x16x8x64xf8E4M3FNUZ>, tensor<4x16x8x64xf8E4M3FNUZ>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x8x64xbf16> -> tensor<?x8x64xf32>
  %kr = hk.rope neox %k32, %cos, %sin positions %pos : tensor<?x8x64xf32>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x8x64xf32>, tensor<1xf32> -> tensor<?x8x64xf8E4M3FNUZ>
  %vq = hk.quantize_static %v, %vs : tensor<?x8x64xbf16>, tensor<1xf32> -> tensor<?x8x64xf8E4M3FNUZ>
  %ko = hk.cast %kr : tensor<?x8x64xf32> -> tensor<?x8x64xbf16>
  %k2 = hk.kv_cache_write %kq, %slots into %kc : tensor<?x8x64xf8E4M3FNUZ>, tensor<?xi64>, tensor<4x16x8x64xf8E4M3FNUZ>
  %v2 = hk.kv_cache_write %vq, %slots into %vc : tensor<?x8x64xf8E4M3FNUZ>, tensor<?xi64>, tensor<4x16x8x64xf8E4M3FNUZ>
  return %qr, %ko, %k2, %v2 : tensor<?x64x64xbf16>, tensor<?x8x64xbf16>, tensor<4x16x8x64xf8E4M3FNUZ>, tensor<4x16x8x64xf8E4M3FNUZ>
}
func.func @fp8_half_rotated(%q: tensor<?x4x128xf16>, %k: tensor<?x1x128xf16>, %v: tensor<?x1x128xf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>, %ks: tensor<1xf32>, %vs: tensor<1xf32>, %slots: tensor<?xi64>, %kc: tensor<2x32x1x128xf8E4M3FN> {hk.state}, %vc: tensor<2x32x1x128xf8E4M3FN> {hk.state}) -> (tensor<?x4x128xf16>, tensor<?x1x128xf16>, tensor<2x32x1x128xf8E4M3FN>, tensor<2x32x1x128xf8E4M3FN>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos nope_first : tensor<?x4x128xf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x1x128xf16> -> tensor<?x1x128xf32>
  %kr = hk.rope neox %k32, %cos, %sin positions %pos nope_first : tensor<?x1x128xf32>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %kq = hk.quantize_static %kr, %ks : tensor<?x1x128xf32>, tensor<1xf32> -> tensor<?x1x128xf8E4M3FN>
  %vq = hk.quantize_static %v, %vs : tensor<?x1x128xf16>, tensor<1xf32> -> tensor<?x1x128xf8E4M3FN>
  %ko = hk.cast %kr : tensor<?x1x128xf32> -> tensor<?x1x128xf16>
  %k2 = hk.kv_cache_write %kq, %slots into %kc : tensor<?x1x128xf8E4M3FN>, tensor<?xi64>, tensor<2x32x1x128xf8E4M3FN>
  %v2 = hk.kv_cache_write %vq, %slots into %vc : tensor<?x1x128xf8E4M3FN>, tensor<?xi64>, tensor<2x32x1x128xf8E4M3FN>
  return %qr, %ko, %k2, %v2 : tensor<?x4x128xf16>, tensor<?x1x128xf16>, tensor<2x32x1x128xf8E4M3FN>, tensor<2x32x1x128xf8E4M3FN>
}
// Latents of which some were rotated before (positions of -1), in scaled codes.
func.func @latent_tail(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %k: tensor<?x1x512xbf16>, %kp: tensor<?x1x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %tail: tensor<?xi32>, %ks: tensor<1xf32>, %slots: tensor<?xi32>, %kc: tensor<2x1x32x576xf8E4M3FN> {hk.state}) -> (tensor<?x16x576xbf16>, tensor<?x1x64xbf16>, tensor<2x1x32x576xf8E4M3FN>) {
  %qr = hk.rope neox %qp, %cos, %sin positions %tail : tensor<?x16x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %kp32 = hk.cast %kp : tensor<?x1x64xbf16> -> tensor<?x1x64xf32>
  %kr = hk.rope neox %kp32, %cos, %sin positions %tail : tensor<?x1x64xf32>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %k32 = hk.cast %k : tensor<?x1x512xbf16> -> tensor<?x1x512xf32>
  %qo = hk.concat 2 (%q, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %kl = hk.concat 2 (%k32, %kr) : tensor<?x1x512xf32>, tensor<?x1x64xf32> -> tensor<?x1x576xf32>
  %kq = hk.quantize_static %kl, %ks : tensor<?x1x576xf32>, tensor<1xf32> -> tensor<?x1x576xf8E4M3FN>
  %ko = hk.cast %kr : tensor<?x1x64xf32> -> tensor<?x1x64xbf16>
  %c2 = hk.kv_cache_write %kq, %slots into %kc layout head_major : tensor<?x1x576xf8E4M3FN>, tensor<?xi32>, tensor<2x1x32x576xf8E4M3FN>
  return %qo, %ko, %c2 : tensor<?x16x576xbf16>, tensor<?x1x64xbf16>, tensor<2x1x32x576xf8E4M3FN>
}
func.func @latent_8_heads(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %k: tensor<?x8x512xbf16>, %kp: tensor<?x8x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>, %slots: tensor<?xi64>, %kc: tensor<2x16x8x576xbf16> {hk.state}) -> (tensor<?x16x576xbf16>, tensor<?x8x64xbf16>, tensor<2x16x8x576xbf16>) {
  %qr = hk.rope gptj %qp, %cos, %sin positions %pos : tensor<?x16x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %kr = hk.rope gptj %kp, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %qo = hk.concat 2 (%q, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %kl = hk.concat 2 (%k, %kr) : tensor<?x8x512xbf16>, tensor<?x8x64xbf16> -> tensor<?x8x576xbf16>
  %c2 = hk.kv_cache_write %kl, %slots into %kc : tensor<?x8x576xbf16>, tensor<?xi64>, tensor<2x16x8x576xbf16>
  return %qo, %kr, %c2 : tensor<?x16x576xbf16>, tensor<?x8x64xbf16>, tensor<2x16x8x576xbf16>
}
