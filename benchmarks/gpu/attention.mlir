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
// Pages of 16 keys; sequences of 200 to 12,000 keys.
func.func @ragged_64_32_8_1_12288_128_128(%q: tensor<64x1x32x128xbf16>, %k: tensor<32768x16x8x128xbf16>, %v: tensor<32768x16x8x128xbf16>, %n: tensor<64xi32>, %t: tensor<64x768xi32>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 : tensor<64x1x32x128xbf16>, tensor<32768x16x8x128xbf16>, tensor<32768x16x8x128xbf16> kv_lens tensor<64xi32> block_table tensor<64x768xi32> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}
// The same of a number of sequences that only the call knows.
func.func @dynamic_64_32_8_1_12288_128_128(%q: tensor<?x1x32x128xbf16>, %k: tensor<32768x16x8x128xbf16>, %v: tensor<32768x16x8x128xbf16>, %n: tensor<?xi32>, %t: tensor<?x768xi32>) -> tensor<?x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 : tensor<?x1x32x128xbf16>, tensor<32768x16x8x128xbf16>, tensor<32768x16x8x128xbf16> kv_lens tensor<?xi32> block_table tensor<?x768xi32> -> tensor<?x1x32x128xbf16>
  return %0 : tensor<?x1x32x128xbf16>
}
// Caches of 8 bits: dense keys, and pages of 16.
func.func @fp8_64_32_8_1_4096_128_128(%q: tensor<64x1x32x128xbf16>, %k: tensor<64x4096x8x128xf8E4M3FN>, %v: tensor<64x4096x8x128xf8E4M3FN>, %ks: tensor<f32>, %vs: tensor<f32>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v k_scale %ks v_scale %vs scale 0.088388 : tensor<64x1x32x128xbf16>, tensor<64x4096x8x128xf8E4M3FN>, tensor<64x4096x8x128xf8E4M3FN> k_scale tensor<f32> v_scale tensor<f32> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}
func.func @fp8paged_64_32_8_1_4096_128_128(%q: tensor<64x1x32x128xbf16>, %k: tensor<16384x16x8x128xf8E4M3FN>, %v: tensor<16384x16x8x128xf8E4M3FN>, %n: tensor<64xi32>, %t: tensor<64x256xi32>, %ks: tensor<f32>, %vs: tensor<f32>) -> tensor<64x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t k_scale %ks v_scale %vs scale 0.088388 : tensor<64x1x32x128xbf16>, tensor<16384x16x8x128xf8E4M3FN>, tensor<16384x16x8x128xf8E4M3FN> kv_lens tensor<64xi32> block_table tensor<64x256xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<64x1x32x128xbf16>
  return %0 : tensor<64x1x32x128xbf16>
}
// Latent keys of 576 columns in pages of 64, whose first 512 are the values.
func.func @latent_128_128_1_1_8192_576_512(%q: tensor<128x1x128x576xbf16>, %k: tensor<16384x64x1x576xbf16>, %n: tensor<128xi32>, %t: tensor<128x128xi32>) -> tensor<128x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [16384, 64, 1, 512] [1, 1, 1, 1] : tensor<16384x64x1x576xbf16> to tensor<16384x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.041667 : tensor<128x1x128x576xbf16>, tensor<16384x64x1x576xbf16>, tensor<16384x64x1x512xbf16> kv_lens tensor<128xi32> block_table tensor<128x128xi32> -> tensor<128x1x128x512xbf16>
  return %0 : tensor<128x1x128x512xbf16>
}
func.func @latent_128_16_1_1_8192_576_512(%q: tensor<128x1x16x576xbf16>, %k: tensor<16384x64x1x576xbf16>, %n: tensor<128xi32>, %t: tensor<128x128xi32>) -> tensor<128x1x16x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [16384, 64, 1, 512] [1, 1, 1, 1] : tensor<16384x64x1x576xbf16> to tensor<16384x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.041667 : tensor<128x1x16x576xbf16>, tensor<16384x64x1x576xbf16>, tensor<16384x64x1x512xbf16> kv_lens tensor<128xi32> block_table tensor<128x128xi32> -> tensor<128x1x16x512xbf16>
  return %0 : tensor<128x1x16x512xbf16>
}
func.func @latent_32_128_1_1_4096_576_512(%q: tensor<32x1x128x576xbf16>, %k: tensor<2048x64x1x576xbf16>, %n: tensor<32xi32>, %t: tensor<32x64xi32>) -> tensor<32x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [2048, 64, 1, 512] [1, 1, 1, 1] : tensor<2048x64x1x576xbf16> to tensor<2048x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.041667 : tensor<32x1x128x576xbf16>, tensor<2048x64x1x576xbf16>, tensor<2048x64x1x512xbf16> kv_lens tensor<32xi32> block_table tensor<32x64xi32> -> tensor<32x1x128x512xbf16>
  return %0 : tensor<32x1x128x512xbf16>
}
func.func @latent_32_16_1_1_4096_576_512(%q: tensor<32x1x16x576xbf16>, %k: tensor<2048x64x1x576xbf16>, %n: tensor<32xi32>, %t: tensor<32x64xi32>) -> tensor<32x1x16x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [2048, 64, 1, 512] [1, 1, 1, 1] : tensor<2048x64x1x576xbf16> to tensor<2048x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.041667 : tensor<32x1x16x576xbf16>, tensor<2048x64x1x576xbf16>, tensor<2048x64x1x512xbf16> kv_lens tensor<32xi32> block_table tensor<32x64xi32> -> tensor<32x1x16x512xbf16>
  return %0 : tensor<32x1x16x512xbf16>
}
func.func @latent_1_128_1_1_65536_576_512(%q: tensor<1x1x128x576xbf16>, %k: tensor<1024x64x1x576xbf16>, %n: tensor<1xi32>, %t: tensor<1x1024xi32>) -> tensor<1x1x128x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [1024, 64, 1, 512] [1, 1, 1, 1] : tensor<1024x64x1x576xbf16> to tensor<1024x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.041667 : tensor<1x1x128x576xbf16>, tensor<1024x64x1x576xbf16>, tensor<1024x64x1x512xbf16> kv_lens tensor<1xi32> block_table tensor<1x1024xi32> -> tensor<1x1x128x512xbf16>
  return %0 : tensor<1x1x128x512xbf16>
}
func.func @latent_1_16_1_1_65536_576_512(%q: tensor<1x1x16x576xbf16>, %k: tensor<1024x64x1x576xbf16>, %n: tensor<1xi32>, %t: tensor<1x1024xi32>) -> tensor<1x1x16x512xbf16> {
  %v = tensor.extract_slice %k[0, 0, 0, 0] [1024, 64, 1, 512] [1, 1, 1, 1] : tensor<1024x64x1x576xbf16> to tensor<1024x64x1x512xbf16>
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.041667 : tensor<1x1x16x576xbf16>, tensor<1024x64x1x576xbf16>, tensor<1024x64x1x512xbf16> kv_lens tensor<1xi32> block_table tensor<1x1024xi32> -> tensor<1x1x16x512xbf16>
  return %0 : tensor<1x1x16x512xbf16>
}
// 512 new tokens of a sequence behind 16,384 in a cache: in one tensor of keys, and as
// segments, the cache in pages of 16.
func.func @causal_4_32_8_512_16896_128_128(%q: tensor<4x512x32x128xbf16>, %k: tensor<4x16896x8x128xbf16>, %v: tensor<4x16896x8x128xbf16>) -> tensor<4x512x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<4x512x32x128xbf16>, tensor<4x16896x8x128xbf16>, tensor<4x16896x8x128xbf16> -> tensor<4x512x32x128xbf16>
  return %0 : tensor<4x512x32x128xbf16>
}
func.func @extend_4_32_8_512_16896_128_128(%q: tensor<4x512x32x128xbf16>, %k: tensor<4x512x8x128xbf16>, %v: tensor<4x512x8x128xbf16>, %kc: tensor<4096x16x8x128xbf16>, %vc: tensor<4096x16x8x128xbf16>, %n: tensor<4xi32>, %t: tensor<4x1024xi32>) -> tensor<4x512x32x128xbf16> {
  %old, %old_lse = hk.attention %q, %kc, %vc kv_lens %n block_table %t scale 0.088388 : tensor<4x512x32x128xbf16>, tensor<4096x16x8x128xbf16>, tensor<4096x16x8x128xbf16> kv_lens tensor<4xi32> block_table tensor<4x1024xi32> -> tensor<4x512x32x128xf32>, tensor<4x512x32xf32>
  %new, %new_lse = hk.attention %q, %k, %v scale 0.088388 causal : tensor<4x512x32x128xbf16>, tensor<4x512x8x128xbf16>, tensor<4x512x8x128xbf16> -> tensor<4x512x32x128xf32>, tensor<4x512x32xf32>
  %0 = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<4x512x32x128xf32>, tensor<4x512x32xf32>, tensor<4x512x32x128xf32>, tensor<4x512x32xf32> -> tensor<4x512x32x128xbf16>
  return %0 : tensor<4x512x32x128xbf16>
}
func.func @extend_1_32_8_128_16512_128_128(%q: tensor<1x128x32x128xbf16>, %k: tensor<1x128x8x128xbf16>, %v: tensor<1x128x8x128xbf16>, %kc: tensor<1024x16x8x128xbf16>, %vc: tensor<1024x16x8x128xbf16>, %n: tensor<1xi32>, %t: tensor<1x1024xi32>) -> tensor<1x128x32x128xbf16> {
  %old, %old_lse = hk.attention %q, %kc, %vc kv_lens %n block_table %t scale 0.088388 : tensor<1x128x32x128xbf16>, tensor<1024x16x8x128xbf16>, tensor<1024x16x8x128xbf16> kv_lens tensor<1xi32> block_table tensor<1x1024xi32> -> tensor<1x128x32x128xf32>, tensor<1x128x32xf32>
  %new, %new_lse = hk.attention %q, %k, %v scale 0.088388 causal : tensor<1x128x32x128xbf16>, tensor<1x128x8x128xbf16>, tensor<1x128x8x128xbf16> -> tensor<1x128x32x128xf32>, tensor<1x128x32xf32>
  %0 = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<1x128x32x128xf32>, tensor<1x128x32xf32>, tensor<1x128x32x128xf32>, tensor<1x128x32xf32> -> tensor<1x128x32x128xbf16>
  return %0 : tensor<1x128x32x128xbf16>
}
func.func @extend64_4_32_8_512_16896_128_128(%q: tensor<4x512x32x128xbf16>, %k: tensor<4x512x8x128xbf16>, %v: tensor<4x512x8x128xbf16>, %kc: tensor<1024x64x8x128xbf16>, %vc: tensor<1024x64x8x128xbf16>, %n: tensor<4xi32>, %t: tensor<4x256xi32>) -> tensor<4x512x32x128xbf16> {
  %old, %old_lse = hk.attention %q, %kc, %vc kv_lens %n block_table %t scale 0.088388 : tensor<4x512x32x128xbf16>, tensor<1024x64x8x128xbf16>, tensor<1024x64x8x128xbf16> kv_lens tensor<4xi32> block_table tensor<4x256xi32> -> tensor<4x512x32x128xf32>, tensor<4x512x32xf32>
  %new, %new_lse = hk.attention %q, %k, %v scale 0.088388 causal : tensor<4x512x32x128xbf16>, tensor<4x512x8x128xbf16>, tensor<4x512x8x128xbf16> -> tensor<4x512x32x128xf32>, tensor<4x512x32xf32>
  %0 = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<4x512x32x128xf32>, tensor<4x512x32xf32>, tensor<4x512x32x128xf32>, tensor<4x512x32xf32> -> tensor<4x512x32x128xbf16>
  return %0 : tensor<4x512x32x128xbf16>
}
// One tensor of keys, in pages of a cache and dense.
func.func @prefill_4_32_8_512_16896_128_128(%q: tensor<4x512x32x128xbf16>, %k: tensor<4224x16x8x128xbf16>, %v: tensor<4224x16x8x128xbf16>, %n: tensor<4xi32>, %t: tensor<4x1056xi32>) -> tensor<4x512x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 causal : tensor<4x512x32x128xbf16>, tensor<4224x16x8x128xbf16>, tensor<4224x16x8x128xbf16> kv_lens tensor<4xi32> block_table tensor<4x1056xi32> -> tensor<4x512x32x128xbf16>
  return %0 : tensor<4x512x32x128xbf16>
}
func.func @prefill64_4_32_8_512_16896_128_128(%q: tensor<4x512x32x128xbf16>, %k: tensor<1056x64x8x128xbf16>, %v: tensor<1056x64x8x128xbf16>, %n: tensor<4xi32>, %t: tensor<4x264xi32>) -> tensor<4x512x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 causal : tensor<4x512x32x128xbf16>, tensor<1056x64x8x128xbf16>, tensor<1056x64x8x128xbf16> kv_lens tensor<4xi32> block_table tensor<4x264xi32> -> tensor<4x512x32x128xbf16>
  return %0 : tensor<4x512x32x128xbf16>
}
func.func @prefill_4_32_8_4096_4096_128_128(%q: tensor<4x4096x32x128xbf16>, %k: tensor<1024x16x8x128xbf16>, %v: tensor<1024x16x8x128xbf16>, %n: tensor<4xi32>, %t: tensor<4x256xi32>) -> tensor<4x4096x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 causal : tensor<4x4096x32x128xbf16>, tensor<1024x16x8x128xbf16>, tensor<1024x16x8x128xbf16> kv_lens tensor<4xi32> block_table tensor<4x256xi32> -> tensor<4x4096x32x128xbf16>
  return %0 : tensor<4x4096x32x128xbf16>
}
func.func @prefill64_4_32_8_4096_4096_128_128(%q: tensor<4x4096x32x128xbf16>, %k: tensor<256x64x8x128xbf16>, %v: tensor<256x64x8x128xbf16>, %n: tensor<4xi32>, %t: tensor<4x64xi32>) -> tensor<4x4096x32x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088388 causal : tensor<4x4096x32x128xbf16>, tensor<256x64x8x128xbf16>, tensor<256x64x8x128xbf16> kv_lens tensor<4xi32> block_table tensor<4x64xi32> -> tensor<4x4096x32x128xbf16>
  return %0 : tensor<4x4096x32x128xbf16>
}
func.func @causal_1_32_8_128_16512_128_128(%q: tensor<1x128x32x128xbf16>, %k: tensor<1x16512x8x128xbf16>, %v: tensor<1x16512x8x128xbf16>) -> tensor<1x128x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<1x128x32x128xbf16>, tensor<1x16512x8x128xbf16>, tensor<1x16512x8x128xbf16> -> tensor<1x128x32x128xbf16>
  return %0 : tensor<1x128x32x128xbf16>
}
// A prompt beside decode steps: in one launch, and each in its own.
func.func @pod_32_32_8_1_4096_128_128(%q: tensor<32x1x32x128xbf16>, %k: tensor<32x4096x8x128xbf16>, %v: tensor<32x4096x8x128xbf16>, %pq: tensor<1x4096x32x128xbf16>, %pk: tensor<1x4096x8x128xbf16>, %pv: tensor<1x4096x8x128xbf16>) -> (tensor<32x1x32x128xbf16>, tensor<1x4096x32x128xbf16>) {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<32x1x32x128xbf16>, tensor<32x4096x8x128xbf16>, tensor<32x4096x8x128xbf16> -> tensor<32x1x32x128xbf16>
  %1 = hk.attention %pq, %pk, %pv scale 0.088388 causal : tensor<1x4096x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16> -> tensor<1x4096x32x128xbf16>
  return %0, %1 : tensor<32x1x32x128xbf16>, tensor<1x4096x32x128xbf16>
}
func.func @decode_32_32_8_1_4096_128_128(%q: tensor<32x1x32x128xbf16>, %k: tensor<32x4096x8x128xbf16>, %v: tensor<32x4096x8x128xbf16>) -> tensor<32x1x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<32x1x32x128xbf16>, tensor<32x4096x8x128xbf16>, tensor<32x4096x8x128xbf16> -> tensor<32x1x32x128xbf16>
  return %0 : tensor<32x1x32x128xbf16>
}
func.func @causal_1_32_8_4096_4096_128_128(%q: tensor<1x4096x32x128xbf16>, %k: tensor<1x4096x8x128xbf16>, %v: tensor<1x4096x8x128xbf16>) -> tensor<1x4096x32x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088388 causal : tensor<1x4096x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16> -> tensor<1x4096x32x128xbf16>
  return %0 : tensor<1x4096x32x128xbf16>
}
// Gradients, with delta = sum(o * gradient).
func.func @backward_2_32_32_8192_8192_128_128(%q: tensor<2x8192x32x128xbf16>, %k: tensor<2x8192x32x128xbf16>, %v: tensor<2x8192x32x128xbf16>, %o: tensor<2x8192x32x128xbf16>, %do: tensor<2x8192x32x128xbf16>, %lse: tensor<2x8192x32xf32>) -> (tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>) {
  %of = hk.cast %o : tensor<2x8192x32x128xbf16> -> tensor<2x8192x32x128xf32>
  %df = hk.cast %do : tensor<2x8192x32x128xbf16> -> tensor<2x8192x32x128xf32>
  %m = hk.mul %of, %df : tensor<2x8192x32x128xf32>
  %r = hk.reduce sum %m : tensor<2x8192x32x128xf32> -> tensor<2x8192x32x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x8192x32x1xf32> into tensor<2x8192x32xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.088388 causal : tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32xf32> -> tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>
  return %dq, %dk, %dv : tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32x128xbf16>
}
func.func @backward_2_32_8_8192_8192_128_128(%q: tensor<2x8192x32x128xbf16>, %k: tensor<2x8192x8x128xbf16>, %v: tensor<2x8192x8x128xbf16>, %o: tensor<2x8192x32x128xbf16>, %do: tensor<2x8192x32x128xbf16>, %lse: tensor<2x8192x32xf32>) -> (tensor<2x8192x32x128xbf16>, tensor<2x8192x8x128xbf16>, tensor<2x8192x8x128xbf16>) {
  %of = hk.cast %o : tensor<2x8192x32x128xbf16> -> tensor<2x8192x32x128xf32>
  %df = hk.cast %do : tensor<2x8192x32x128xbf16> -> tensor<2x8192x32x128xf32>
  %m = hk.mul %of, %df : tensor<2x8192x32x128xf32>
  %r = hk.reduce sum %m : tensor<2x8192x32x128xf32> -> tensor<2x8192x32x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<2x8192x32x1xf32> into tensor<2x8192x32xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.088388 causal : tensor<2x8192x32x128xbf16>, tensor<2x8192x8x128xbf16>, tensor<2x8192x8x128xbf16>, tensor<2x8192x32x128xbf16>, tensor<2x8192x32xf32> -> tensor<2x8192x32x128xbf16>, tensor<2x8192x8x128xbf16>, tensor<2x8192x8x128xbf16>
  return %dq, %dk, %dv : tensor<2x8192x32x128xbf16>, tensor<2x8192x8x128xbf16>, tensor<2x8192x8x128xbf16>
}
func.func @backward_4_32_32_4096_4096_128_128(%q: tensor<4x4096x32x128xbf16>, %k: tensor<4x4096x32x128xbf16>, %v: tensor<4x4096x32x128xbf16>, %o: tensor<4x4096x32x128xbf16>, %do: tensor<4x4096x32x128xbf16>, %lse: tensor<4x4096x32xf32>) -> (tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>) {
  %of = hk.cast %o : tensor<4x4096x32x128xbf16> -> tensor<4x4096x32x128xf32>
  %df = hk.cast %do : tensor<4x4096x32x128xbf16> -> tensor<4x4096x32x128xf32>
  %m = hk.mul %of, %df : tensor<4x4096x32x128xf32>
  %r = hk.reduce sum %m : tensor<4x4096x32x128xf32> -> tensor<4x4096x32x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<4x4096x32x1xf32> into tensor<4x4096x32xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.088388 causal : tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>, tensor<4x4096x32xf32> -> tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>
  return %dq, %dk, %dv : tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>, tensor<4x4096x32x128xbf16>
}
func.func @backward_4_16_16_4096_4096_64_64(%q: tensor<4x4096x16x64xbf16>, %k: tensor<4x4096x16x64xbf16>, %v: tensor<4x4096x16x64xbf16>, %o: tensor<4x4096x16x64xbf16>, %do: tensor<4x4096x16x64xbf16>, %lse: tensor<4x4096x16xf32>) -> (tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>) {
  %of = hk.cast %o : tensor<4x4096x16x64xbf16> -> tensor<4x4096x16x64xf32>
  %df = hk.cast %do : tensor<4x4096x16x64xbf16> -> tensor<4x4096x16x64xf32>
  %m = hk.mul %of, %df : tensor<4x4096x16x64xf32>
  %r = hk.reduce sum %m : tensor<4x4096x16x64xf32> -> tensor<4x4096x16x1xf32>
  %delta = tensor.collapse_shape %r [[0], [1], [2, 3]] : tensor<4x4096x16x1xf32> into tensor<4x4096x16xf32>
  %dq, %dk, %dv = hk.attention_backward %q, %k, %v, %do, %lse, %delta scale 0.125000 causal : tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16xf32> -> tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>
  return %dq, %dk, %dv : tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>, tensor<4x4096x16x64xbf16>
}
