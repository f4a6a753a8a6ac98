// Keys that no query belongs to, and results of the first tokens only: other numbers of rows
// than the rest, which take launches of their own.
// HK-LAUNCHES: 3
// HK-ARGS: --range=pos=iota --range=slots=iota:3
// HK-DIMS: q.0=7 pos.0=7 k.0=11 v.0=11 kpos.0=11 slots.0=11 decoded.0=3 --range=kpos=-1:6 @more_keys_than_queries
// HK-DIMS: q.0=1 pos.0=1 k.0=4 v.0=4 kpos.0=4 slots.0=4 --range=kpos=-1:-1 @more_keys_than_queries
// HK-DIMS: q.0=0 pos.0=0 k.0=0 v.0=0 kpos.0=0 slots.0=0 @more_keys_than_queries
// HK-DIMS: q.0=11 decoded.0=3 @first_tokens_decoded
// HK-DIMS: q.0=4 decoded.0=4 @first_tokens_decoded
// HK-DIMS: q.0=5 decoded.0=0 @first_tokens_decoded
// HK-DATA: normal,nan

// The keys behind those of the queries have positions of -1.
func.func @more_keys_than_queries(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %v: tensor<?x2x64xbf16>, %cos: tensor<64x32xf32>, %sin: tensor<64x32xf32>, %pos: tensor<?xi32>, %kpos: tensor<?xi32>, %slots: tensor<?xi32>, %kc: tensor<4x16x2x64xbf16> {hk.state}, %vc: tensor<4x16x2x64xbf16> {hk.state}) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>) {
  %qr = hk.rope neox %q, %cos, %sin positions %pos : tensor<?x8x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %kr = hk.rope neox %k, %cos, %sin positions %kpos : tensor<?x2x64xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<?xi32>
  %k2 = hk.kv_cache_write %kr, %slots into %kc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  %v2 = hk.kv_cache_write %v, %slots into %vc : tensor<?x2x64xbf16>, tensor<?xi32>, tensor<4x16x2x64xbf16>
  return %qr, %kr, %k2, %v2 : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>, tensor<4x16x2x64xbf16>, tensor<4x16x2x64xbf16>
}
// As many tokens as `decoded` has elements are decoded: the rotated part of their queries is
// a result of its own, with zeros for what attention adds up.
func.func @first_tokens_decoded(%q: tensor<?x16x512xbf16>, %qp: tensor<?x16x64xbf16>, %k: tensor<?x1x512xbf16>, %kp: tensor<?x1x64xbf16>, %cos: tensor<64x32xbf16>, %sin: tensor<64x32xbf16>, %pos: tensor<?xi32>, %slots: tensor<?xi32>, %decoded: tensor<?xi32>, %kc: tensor<4x16x1x576xbf16> {hk.state}) -> (tensor<?x16x576xbf16>, tensor<?x1x64xbf16>, tensor<?x16x64xbf16>, tensor<?x16x512xbf16>, tensor<4x16x1x576xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %decoded, %c0 : tensor<?xi32>
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<bf16>
  %qr = hk.rope gptj %qp, %cos, %sin positions %pos : tensor<?x16x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %kr = hk.rope gptj %kp, %cos, %sin positions %pos : tensor<?x1x64xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16> positions tensor<?xi32>
  %qo = hk.concat 2 (%q, %qr) : tensor<?x16x512xbf16>, tensor<?x16x64xbf16> -> tensor<?x16x576xbf16>
  %kl = hk.concat 2 (%k, %kr) : tensor<?x1x512xbf16>, tensor<?x1x64xbf16> -> tensor<?x1x576xbf16>
  %c2 = hk.kv_cache_write %kl, %slots into %kc : tensor<?x1x576xbf16>, tensor<?xi32>, tensor<4x16x1x576xbf16>
  %dq = tensor.extract_slice %qr[0, 0, 0] [%n, 16, 64] [1, 1, 1] : tensor<?x16x64xbf16> to tensor<?x16x64xbf16>
  %dqo = hk.copy %dq : tensor<?x16x64xbf16>
  %q0 = tensor.extract_slice %q[0, 0, 0] [%n, 16, 512] [1, 1, 1] : tensor<?x16x512xbf16> to tensor<?x16x512xbf16>
  %z = hk.select %no, %q0, %zero : tensor<i1>, tensor<?x16x512xbf16>, tensor<bf16> -> tensor<?x16x512xbf16>
  return %qo, %kr, %dqo, %z, %c2 : tensor<?x16x576xbf16>, tensor<?x1x64xbf16>, tensor<?x16x64xbf16>, tensor<?x16x512xbf16>, tensor<4x16x1x576xbf16>
}
