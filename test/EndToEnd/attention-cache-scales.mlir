// Caches of 8 bits with scales of the tensor, of each head and of each token, on every path: a
// prompt over dense keys, decode steps over dense, paged and ragged ones, latent keys. Keys and
// values have scales of different kinds (latent ones share theirs); e4m3 and int8 by turns.
// RUN: hk-compile %s --target=host -o %t.so
// RUN: hk-run %t.so --check=%s --poison --calls=%S/Inputs/attention-cache-scales.calls | FileCheck %s
// CHECK-COUNT-15: all within their bounds
func.func @prefill_e4m3_tensor_head(%q: tensor<2x9x4x32xbf16>, %k: tensor<2x21x2x32xf8E4M3FN>, %v: tensor<2x21x2x32xf8E4M3FN>, %ks: tensor<f32>, %vs: tensor<2x2xf32>) -> tensor<2x9x4x32xbf16> {
  %o = hk.attention %q, %k, %v k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x9x4x32xbf16>, tensor<2x21x2x32xf8E4M3FN>, tensor<2x21x2x32xf8E4M3FN> k_scale tensor<f32> v_scale tensor<2x2xf32> -> tensor<2x9x4x32xbf16>
  return %o : tensor<2x9x4x32xbf16>
}
func.func @prefill_int8_head_token(%q: tensor<2x9x4x32xbf16>, %k: tensor<2x21x2x32xi8>, %v: tensor<2x21x2x32xi8>, %ks: tensor<2x2xf32>, %vs: tensor<2x21x2x1xf32>) -> tensor<2x9x4x32xbf16> {
  %o = hk.attention %q, %k, %v k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x9x4x32xbf16>, tensor<2x21x2x32xi8>, tensor<2x21x2x32xi8> k_scale tensor<2x2xf32> v_scale tensor<2x21x2x1xf32> -> tensor<2x9x4x32xbf16>
  return %o : tensor<2x9x4x32xbf16>
}
func.func @prefill_e4m3_token_tensor(%q: tensor<2x9x4x32xbf16>, %k: tensor<2x21x2x32xf8E4M3FN>, %v: tensor<2x21x2x32xf8E4M3FN>, %ks: tensor<2x21x2x1xf32>, %vs: tensor<f32>) -> tensor<2x9x4x32xbf16> {
  %o = hk.attention %q, %k, %v k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x9x4x32xbf16>, tensor<2x21x2x32xf8E4M3FN>, tensor<2x21x2x32xf8E4M3FN> k_scale tensor<2x21x2x1xf32> v_scale tensor<f32> -> tensor<2x9x4x32xbf16>
  return %o : tensor<2x9x4x32xbf16>
}
func.func @decode_int8_tensor_head(%q: tensor<2x1x4x32xbf16>, %k: tensor<2x21x2x32xi8>, %v: tensor<2x21x2x32xi8>, %n: tensor<2xi32>, %ks: tensor<f32>, %vs: tensor<2x2xf32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x32xbf16>, tensor<2x21x2x32xi8>, tensor<2x21x2x32xi8> kv_lens tensor<2xi32> k_scale tensor<f32> v_scale tensor<2x2xf32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @decode_e4m3_head_token(%q: tensor<2x1x4x32xbf16>, %k: tensor<2x21x2x32xf8E4M3FN>, %v: tensor<2x21x2x32xf8E4M3FN>, %n: tensor<2xi32>, %ks: tensor<2x2xf32>, %vs: tensor<2x21x2x1xf32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x32xbf16>, tensor<2x21x2x32xf8E4M3FN>, tensor<2x21x2x32xf8E4M3FN> kv_lens tensor<2xi32> k_scale tensor<2x2xf32> v_scale tensor<2x21x2x1xf32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @decode_int8_token_tensor(%q: tensor<2x1x4x32xbf16>, %k: tensor<2x21x2x32xi8>, %v: tensor<2x21x2x32xi8>, %n: tensor<2xi32>, %ks: tensor<2x21x2x1xf32>, %vs: tensor<f32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x32xbf16>, tensor<2x21x2x32xi8>, tensor<2x21x2x32xi8> kv_lens tensor<2xi32> k_scale tensor<2x21x2x1xf32> v_scale tensor<f32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @paged_e4m3_tensor_head(%q: tensor<2x1x4x32xbf16>, %k: tensor<7x8x2x32xf8E4M3FN>, %v: tensor<7x8x2x32xf8E4M3FN>, %n: tensor<2xi32>, %t: tensor<2x3xi32>, %ks: tensor<f32>, %vs: tensor<2x2xf32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n block_table %t k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x32xbf16>, tensor<7x8x2x32xf8E4M3FN>, tensor<7x8x2x32xf8E4M3FN> kv_lens tensor<2xi32> block_table tensor<2x3xi32> k_scale tensor<f32> v_scale tensor<2x2xf32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @paged_int8_head_token(%q: tensor<2x1x4x32xbf16>, %k: tensor<7x8x2x32xi8>, %v: tensor<7x8x2x32xi8>, %n: tensor<2xi32>, %t: tensor<2x3xi32>, %ks: tensor<2x2xf32>, %vs: tensor<7x8x2x1xf32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n block_table %t k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x32xbf16>, tensor<7x8x2x32xi8>, tensor<7x8x2x32xi8> kv_lens tensor<2xi32> block_table tensor<2x3xi32> k_scale tensor<2x2xf32> v_scale tensor<7x8x2x1xf32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @paged_e4m3_token_tensor(%q: tensor<2x1x4x32xbf16>, %k: tensor<7x8x2x32xf8E4M3FN>, %v: tensor<7x8x2x32xf8E4M3FN>, %n: tensor<2xi32>, %t: tensor<2x3xi32>, %ks: tensor<7x8x2x1xf32>, %vs: tensor<f32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %v kv_lens %n block_table %t k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x32xbf16>, tensor<7x8x2x32xf8E4M3FN>, tensor<7x8x2x32xf8E4M3FN> kv_lens tensor<2xi32> block_table tensor<2x3xi32> k_scale tensor<7x8x2x1xf32> v_scale tensor<f32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @ragged_int8_tensor_head(%q: tensor<9x4x32xbf16>, %k: tensor<21x2x32xi8>, %v: tensor<21x2x32xi8>, %a: tensor<4xi32>, %b: tensor<4xi32>, %ks: tensor<f32>, %vs: tensor<3x2xf32>) -> tensor<9x4x32xbf16> {
  %o = hk.attention %q, %k, %v q_offsets %a kv_offsets %b k_scale %ks v_scale %vs scale 0.02 causal : tensor<9x4x32xbf16>, tensor<21x2x32xi8>, tensor<21x2x32xi8> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> k_scale tensor<f32> v_scale tensor<3x2xf32> -> tensor<9x4x32xbf16>
  return %o : tensor<9x4x32xbf16>
}
func.func @ragged_e4m3_head_token(%q: tensor<9x4x32xbf16>, %k: tensor<21x2x32xf8E4M3FN>, %v: tensor<21x2x32xf8E4M3FN>, %a: tensor<4xi32>, %b: tensor<4xi32>, %ks: tensor<3x2xf32>, %vs: tensor<21x2x1xf32>) -> tensor<9x4x32xbf16> {
  %o = hk.attention %q, %k, %v q_offsets %a kv_offsets %b k_scale %ks v_scale %vs scale 0.02 causal : tensor<9x4x32xbf16>, tensor<21x2x32xf8E4M3FN>, tensor<21x2x32xf8E4M3FN> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> k_scale tensor<3x2xf32> v_scale tensor<21x2x1xf32> -> tensor<9x4x32xbf16>
  return %o : tensor<9x4x32xbf16>
}
func.func @ragged_int8_token_tensor(%q: tensor<9x4x32xbf16>, %k: tensor<21x2x32xi8>, %v: tensor<21x2x32xi8>, %a: tensor<4xi32>, %b: tensor<4xi32>, %ks: tensor<21x2x1xf32>, %vs: tensor<f32>) -> tensor<9x4x32xbf16> {
  %o = hk.attention %q, %k, %v q_offsets %a kv_offsets %b k_scale %ks v_scale %vs scale 0.02 causal : tensor<9x4x32xbf16>, tensor<21x2x32xi8>, tensor<21x2x32xi8> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> k_scale tensor<21x2x1xf32> v_scale tensor<f32> -> tensor<9x4x32xbf16>
  return %o : tensor<9x4x32xbf16>
}
func.func @latent_e4m3_tensor_tensor(%q: tensor<2x1x4x48xbf16>, %k: tensor<2x21x1x48xf8E4M3FN>, %n: tensor<2xi32>, %ks: tensor<f32>, %vs: tensor<f32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %k kv_lens %n k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x48xbf16>, tensor<2x21x1x48xf8E4M3FN>, tensor<2x21x1x48xf8E4M3FN> kv_lens tensor<2xi32> k_scale tensor<f32> v_scale tensor<f32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @latent_int8_head_head(%q: tensor<2x1x4x48xbf16>, %k: tensor<2x21x1x48xi8>, %n: tensor<2xi32>, %ks: tensor<2x1xf32>, %vs: tensor<2x1xf32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %k kv_lens %n k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x48xbf16>, tensor<2x21x1x48xi8>, tensor<2x21x1x48xi8> kv_lens tensor<2xi32> k_scale tensor<2x1xf32> v_scale tensor<2x1xf32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
func.func @latent_e4m3_token_token(%q: tensor<2x1x4x48xbf16>, %k: tensor<2x21x1x48xf8E4M3FN>, %n: tensor<2xi32>, %ks: tensor<2x21x1x1xf32>, %vs: tensor<2x21x1x1xf32>) -> tensor<2x1x4x32xbf16> {
  %o = hk.attention %q, %k, %k kv_lens %n k_scale %ks v_scale %vs scale 0.02 causal : tensor<2x1x4x48xbf16>, tensor<2x21x1x48xf8E4M3FN>, tensor<2x21x1x48xf8E4M3FN> kv_lens tensor<2xi32> k_scale tensor<2x21x1x1xf32> v_scale tensor<2x21x1x1xf32> -> tensor<2x1x4x32xbf16>
  return %o : tensor<2x1x4x32xbf16>
}
