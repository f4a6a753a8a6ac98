// What benchmarks/gpu/attention.py times: MASK_B_Hq_Hk_Sq_Sk_D_Dv. Decode steps are
// those with one query.
func.func @causal_4_32_8_4096_4096_128_128(%q: tensor<4x4096x32x128xbf16>, %k: tensor<4x4096x8x128xbf16>, %v: tensor<4x4096x8x128xbf16>) -> tensor<4x4096x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<4x4096x32x128xbf16>, tensor<4x4096x8x128xbf16>, tensor<4x4096x8x128xbf16> -> tensor<4x4096x32x128xbf16>
  return %0 : tensor<4x4096x32x128xbf16>
}
func.func @causal_2_64_8_8192_8192_128_128(%q: tensor<2x8192x64x128xbf16>, %k: tensor<2x8192x8x128xbf16>, %v: tensor<2x8192x8x128xbf16>) -> tensor<2x8192x64x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<2x8192x64x128xbf16>, tensor<2x8192x8x128xbf16>, tensor<2x8192x8x128xbf16> -> tensor<2x8192x64x128xbf16>
  return %0 : tensor<2x8192x64x128xbf16>
}
func.func @causal_8_16_16_1024_1024_128_128(%q: tensor<8x1024x16x128xbf16>, %k: tensor<8x1024x16x128xbf16>, %v: tensor<8x1024x16x128xbf16>) -> tensor<8x1024x16x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<8x1024x16x128xbf16>, tensor<8x1024x16x128xbf16>, tensor<8x1024x16x128xbf16> -> tensor<8x1024x16x128xbf16>
  return %0 : tensor<8x1024x16x128xbf16>
}
func.func @causal_1_32_32_8192_8192_128_128(%q: tensor<1x8192x32x128xbf16>, %k: tensor<1x8192x32x128xbf16>, %v: tensor<1x8192x32x128xbf16>) -> tensor<1x8192x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16> -> tensor<1x8192x32x128xbf16>
  return %0 : tensor<1x8192x32x128xbf16>
}
func.func @causal_4_16_16_2048_2048_128_128(%q: tensor<4x2048x16x128xbf16>, %k: tensor<4x2048x16x128xbf16>, %v: tensor<4x2048x16x128xbf16>) -> tensor<4x2048x16x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<4x2048x16x128xbf16>, tensor<4x2048x16x128xbf16>, tensor<4x2048x16x128xbf16> -> tensor<4x2048x16x128xbf16>
  return %0 : tensor<4x2048x16x128xbf16>
}
func.func @full_4_16_16_2048_2048_64_64(%q: tensor<4x2048x16x64xbf16>, %k: tensor<4x2048x16x64xbf16>, %v: tensor<4x2048x16x64xbf16>) -> tensor<4x2048x16x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125000 : tensor<4x2048x16x64xbf16>, tensor<4x2048x16x64xbf16>, tensor<4x2048x16x64xbf16> -> tensor<4x2048x16x64xbf16>
  return %0 : tensor<4x2048x16x64xbf16>
}
func.func @causal_4_16_16_4096_4096_64_64(%q: tensor<4x4096x16x64xbf16>, %k: tensor<4x4096x16x64xbf16>, %v: tensor<4x4096x16x64xbf16>) -> tensor<4x4096x16x64xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.125000 causal : tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16> -> tensor<4x4096x16x64xbf16>
  return %0 : tensor<4x4096x16x64xbf16>
}
func.func @full_1_32_32_8192_8192_128_128(%q: tensor<1x8192x32x128xbf16>, %k: tensor<1x8192x32x128xbf16>, %v: tensor<1x8192x32x128xbf16>) -> tensor<1x8192x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16> -> tensor<1x8192x32x128xbf16>
  return %0 : tensor<1x8192x32x128xbf16>
}
func.func @full_1_32_32_8192_8192_192_128(%q: tensor<1x8192x32x192xbf16>, %k: tensor<1x8192x32x192xbf16>, %v: tensor<1x8192x32x128xbf16>) -> tensor<1x8192x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.072169 : tensor<1x8192x32x192xbf16>, tensor<1x8192x32x192xbf16>, tensor<1x8192x32x128xbf16> -> tensor<1x8192x32x128xbf16>
  return %0 : tensor<1x8192x32x128xbf16>
}
func.func @causal_1_32_32_8192_8192_192_128(%q: tensor<1x8192x32x192xbf16>, %k: tensor<1x8192x32x192xbf16>, %v: tensor<1x8192x32x128xbf16>) -> tensor<1x8192x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.072169 causal : tensor<1x8192x32x192xbf16>, tensor<1x8192x32x192xbf16>, tensor<1x8192x32x128xbf16> -> tensor<1x8192x32x128xbf16>
  return %0 : tensor<1x8192x32x128xbf16>
}
func.func @full_2_16_16_4096_4096_256_256(%q: tensor<2x4096x16x256xbf16>, %k: tensor<2x4096x16x256xbf16>, %v: tensor<2x4096x16x256xbf16>) -> tensor<2x4096x16x256xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.062500 : tensor<2x4096x16x256xbf16>, tensor<2x4096x16x256xbf16>, tensor<2x4096x16x256xbf16> -> tensor<2x4096x16x256xbf16>
  return %0 : tensor<2x4096x16x256xbf16>
}
func.func @causal_2_16_16_4096_4096_256_256(%q: tensor<2x4096x16x256xbf16>, %k: tensor<2x4096x16x256xbf16>, %v: tensor<2x4096x16x256xbf16>) -> tensor<2x4096x16x256xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.062500 causal : tensor<2x4096x16x256xbf16>, tensor<2x4096x16x256xbf16>, tensor<2x4096x16x256xbf16> -> tensor<2x4096x16x256xbf16>
  return %0 : tensor<2x4096x16x256xbf16>
}
func.func @causal_2_16_16_4096_4096_96_96(%q: tensor<2x4096x16x96xbf16>, %k: tensor<2x4096x16x96xbf16>, %v: tensor<2x4096x16x96xbf16>) -> tensor<2x4096x16x96xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.102062 causal : tensor<2x4096x16x96xbf16>, tensor<2x4096x16x96xbf16>, tensor<2x4096x16x96xbf16> -> tensor<2x4096x16x96xbf16>
  return %0 : tensor<2x4096x16x96xbf16>
}
func.func @decode_1_64_8_1_65536_128_128(%q: tensor<1x1x64x128xbf16>, %k: tensor<1x65536x8x128xbf16>, %v: tensor<1x65536x8x128xbf16>) -> tensor<1x1x64x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<1x1x64x128xbf16>, tensor<1x65536x8x128xbf16>, tensor<1x65536x8x128xbf16> -> tensor<1x1x64x128xbf16>
  return %0 : tensor<1x1x64x128xbf16>
}
func.func @decode_64_32_8_1_4096_128_128(%q: tensor<64x1x32x128xbf16>, %k: tensor<64x4096x8x128xbf16>, %v: tensor<64x4096x8x128xbf16>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<64x1x32x128xbf16>, tensor<64x4096x8x128xbf16>, tensor<64x4096x8x128xbf16> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}
func.func @decode_8_32_8_1_8192_128_128(%q: tensor<8x1x32x128xbf16>, %k: tensor<8x8192x8x128xbf16>, %v: tensor<8x8192x8x128xbf16>) -> tensor<8x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<8x1x32x128xbf16>, tensor<8x8192x8x128xbf16>, tensor<8x8192x8x128xbf16> -> tensor<8x1x32x128xbf16>
  return %0 : tensor<8x1x32x128xbf16>
}
// Pages of 16 keys.
func.func @paged_64_32_8_1_4096_128_128(%q: tensor<64x1x32x128xbf16>, %k: tensor<16384x16x8x128xbf16>, %v: tensor<16384x16x8x128xbf16>, %n: tensor<64xi32>, %t: tensor<64x256xi32>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 : tensor<64x1x32x128xbf16>, tensor<16384x16x8x128xbf16>, tensor<16384x16x8x128xbf16> kv_lens tensor<64xi32> block_table tensor<64x256xi32> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}
