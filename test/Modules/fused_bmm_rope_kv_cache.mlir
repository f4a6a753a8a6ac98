// The decode step of latent attention before its attention: queries times the keys' weights, head
// by head, beside their rotated parts; latent keys beside their rotated part, written into a cache.
// The product reads its operand and writes its result where the tokens are, not the heads.
// HK-LAUNCHES: 2
// HK-ARGS: --range=pos=iota --range=slots=iota:3
// HK-DIMS: q.0=1 qp.0=1 kn.0=1 kp.0=1 pos.0=1 slots.0=1
// HK-DIMS: q.0=11 qp.0=11 kn.0=11 kp.0=11 pos.0=11 slots.0=11
// HK-DIMS: q.0=0 qp.0=0 kn.0=0 kp.0=0 pos.0=0 slots.0=0

func.func @latent(%q: tensor<?x4x32xbf16> {hk.dims = ["B", "_", "_"]}, %w: tensor<4x64x32xbf16>, %qp: tensor<?x4x16xbf16> {hk.dims = ["B", "_", "_"]}, %kn: tensor<?x1x64xbf16> {hk.dims = ["B", "_", "_"]}, %kp: tensor<?x1x16xbf16> {hk.dims = ["B", "_", "_"]}, %cos: tensor<64x8xf32>, %sin: tensor<64x8xf32>, %pos: tensor<?xi32> {hk.dims = ["B"]}, %slots: tensor<?xi32> {hk.dims = ["B"]}, %cache: tensor<4x16x1x80xbf16> {hk.state}) -> (tensor<?x4x80xbf16>, tensor<4x16x1x80xbf16>) {
  %qt = hk.transpose %q [1, 0, 2] : tensor<?x4x32xbf16> -> tensor<4x?x32xbf16>
  %p = hk.matmul %qt, %w transpose_b : tensor<4x?x32xbf16>, tensor<4x64x32xbf16> -> tensor<4x?x64xbf16>
  %a = hk.transpose %p [1, 0, 2] : tensor<4x?x64xbf16> -> tensor<?x4x64xbf16>
  %qr = hk.rope neox %qp, %cos, %sin positions %pos : tensor<?x4x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%a, %qr) : tensor<?x4x64xbf16>, tensor<?x4x16xbf16> -> tensor<?x4x80xbf16>
  %kr = hk.rope neox %kp, %cos, %sin positions %pos : tensor<?x1x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%kn, %kr) : tensor<?x1x64xbf16>, tensor<?x1x16xbf16> -> tensor<?x1x80xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x1x80xbf16>, tensor<?xi32>, tensor<4x16x1x80xbf16>
  return %qo, %c : tensor<?x4x80xbf16>, tensor<4x16x1x80xbf16>
}
func.func @key_per_head(%q: tensor<?x2x40xbf16> {hk.dims = ["B", "_", "_"]}, %w: tensor<2x72x40xbf16>, %qp: tensor<?x2x8xbf16> {hk.dims = ["B", "_", "_"]}, %kn: tensor<?x2x72xbf16> {hk.dims = ["B", "_", "_"]}, %kp: tensor<?x2x8xbf16> {hk.dims = ["B", "_", "_"]}, %cos: tensor<64x4xf32>, %sin: tensor<64x4xf32>, %pos: tensor<?xi32> {hk.dims = ["B"]}, %slots: tensor<?xi32> {hk.dims = ["B"]}, %cache: tensor<4x16x2x80xbf16> {hk.state}) -> (tensor<?x2x80xbf16>, tensor<4x16x2x80xbf16>) {
  %qt = hk.transpose %q [1, 0, 2] : tensor<?x2x40xbf16> -> tensor<2x?x40xbf16>
  %p = hk.matmul %qt, %w transpose_b : tensor<2x?x40xbf16>, tensor<2x72x40xbf16> -> tensor<2x?x72xbf16>
  %a = hk.transpose %p [1, 0, 2] : tensor<2x?x72xbf16> -> tensor<?x2x72xbf16>
  %qr = hk.rope gptj %qp, %cos, %sin positions %pos : tensor<?x2x8xbf16>, tensor<64x4xf32>, tensor<64x4xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%a, %qr) : tensor<?x2x72xbf16>, tensor<?x2x8xbf16> -> tensor<?x2x80xbf16>
  %kr = hk.rope gptj %kp, %cos, %sin positions %pos : tensor<?x2x8xbf16>, tensor<64x4xf32>, tensor<64x4xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%kn, %kr) : tensor<?x2x72xbf16>, tensor<?x2x8xbf16> -> tensor<?x2x80xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x2x80xbf16>, tensor<?xi32>, tensor<4x16x2x80xbf16>
  return %qo, %c : tensor<?x2x80xbf16>, tensor<4x16x2x80xbf16>
}
func.func @odd(%q: tensor<?x3x13xbf16> {hk.dims = ["B", "_", "_"]}, %w: tensor<3x20x13xbf16>, %qp: tensor<?x3x6xbf16> {hk.dims = ["B", "_", "_"]}, %kn: tensor<?x1x20xbf16> {hk.dims = ["B", "_", "_"]}, %kp: tensor<?x1x6xbf16> {hk.dims = ["B", "_", "_"]}, %cos: tensor<64x3xf32>, %sin: tensor<64x3xf32>, %pos: tensor<?xi32> {hk.dims = ["B"]}, %slots: tensor<?xi32> {hk.dims = ["B"]}, %cache: tensor<4x16x1x26xbf16> {hk.state}) -> (tensor<?x3x26xbf16>, tensor<4x16x1x26xbf16>) {
  %qt = hk.transpose %q [1, 0, 2] : tensor<?x3x13xbf16> -> tensor<3x?x13xbf16>
  %p = hk.matmul %qt, %w transpose_b : tensor<3x?x13xbf16>, tensor<3x20x13xbf16> -> tensor<3x?x20xbf16>
  %a = hk.transpose %p [1, 0, 2] : tensor<3x?x20xbf16> -> tensor<?x3x20xbf16>
  %qr = hk.rope neox %qp, %cos, %sin positions %pos : tensor<?x3x6xbf16>, tensor<64x3xf32>, tensor<64x3xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%a, %qr) : tensor<?x3x20xbf16>, tensor<?x3x6xbf16> -> tensor<?x3x26xbf16>
  %kr = hk.rope neox %kp, %cos, %sin positions %pos : tensor<?x1x6xbf16>, tensor<64x3xf32>, tensor<64x3xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%kn, %kr) : tensor<?x1x20xbf16>, tensor<?x1x6xbf16> -> tensor<?x1x26xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x1x26xbf16>, tensor<?xi32>, tensor<4x16x1x26xbf16>
  return %qo, %c : tensor<?x3x26xbf16>, tensor<4x16x1x26xbf16>
}
func.func @fp4_weights(%q: tensor<?x2x64xbf16> {hk.dims = ["B", "_", "_"]}, %w: tensor<2x64x64xf4E2M1FN>, %ws: tensor<2x64x2xf8E8M0FNU>, %qp: tensor<?x2x16xbf16> {hk.dims = ["B", "_", "_"]}, %kn: tensor<?x1x64xbf16> {hk.dims = ["B", "_", "_"]}, %kp: tensor<?x1x16xbf16> {hk.dims = ["B", "_", "_"]}, %cos: tensor<64x8xf32>, %sin: tensor<64x8xf32>, %pos: tensor<?xi32> {hk.dims = ["B"]}, %slots: tensor<?xi32> {hk.dims = ["B"]}, %cache: tensor<4x16x1x80xbf16> {hk.state}) -> (tensor<?x2x80xbf16>, tensor<4x16x1x80xbf16>) {
  %qt = hk.transpose %q [1, 0, 2] : tensor<?x2x64xbf16> -> tensor<2x?x64xbf16>
  %p = hk.matmul %qt, %w scales (none, %ws) transpose_b : tensor<2x?x64xbf16>, tensor<2x64x64xf4E2M1FN> scales (none, tensor<2x64x2xf8E8M0FNU>) -> tensor<2x?x64xbf16>
  %a = hk.transpose %p [1, 0, 2] : tensor<2x?x64xbf16> -> tensor<?x2x64xbf16>
  %qr = hk.rope neox %qp, %cos, %sin positions %pos : tensor<?x2x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%a, %qr) : tensor<?x2x64xbf16>, tensor<?x2x16xbf16> -> tensor<?x2x80xbf16>
  %kr = hk.rope neox %kp, %cos, %sin positions %pos : tensor<?x1x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%kn, %kr) : tensor<?x1x64xbf16>, tensor<?x1x16xbf16> -> tensor<?x1x80xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x1x80xbf16>, tensor<?xi32>, tensor<4x16x1x80xbf16>
  return %qo, %c : tensor<?x2x80xbf16>, tensor<4x16x1x80xbf16>
}
func.func @fp8_weights_and_cache(%q: tensor<?x2x64xbf16> {hk.dims = ["B", "_", "_"]}, %w: tensor<2x64x64xf8E4M3FN>, %ws: tensor<1xf32>, %qp: tensor<?x2x16xbf16> {hk.dims = ["B", "_", "_"]}, %kn: tensor<?x1x64xbf16> {hk.dims = ["B", "_", "_"]}, %kp: tensor<?x1x16xbf16> {hk.dims = ["B", "_", "_"]}, %cos: tensor<64x8xf32>, %sin: tensor<64x8xf32>, %pos: tensor<?xi32> {hk.dims = ["B"]}, %slots: tensor<?xi32> {hk.dims = ["B"]}, %cs: tensor<1xf32>, %cache: tensor<4x16x1x80xf8E4M3FN> {hk.state}) -> (tensor<?x2x80xbf16>, tensor<4x16x1x80xf8E4M3FN>) {
  %qt = hk.transpose %q [1, 0, 2] : tensor<?x2x64xbf16> -> tensor<2x?x64xbf16>
  %p = hk.matmul %qt, %w scales (none, %ws) transpose_b : tensor<2x?x64xbf16>, tensor<2x64x64xf8E4M3FN> scales (none, tensor<1xf32>) -> tensor<2x?x64xbf16>
  %a = hk.transpose %p [1, 0, 2] : tensor<2x?x64xbf16> -> tensor<?x2x64xbf16>
  %qr = hk.rope neox %qp, %cos, %sin positions %pos : tensor<?x2x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %qo = hk.concat 2 (%a, %qr) : tensor<?x2x64xbf16>, tensor<?x2x16xbf16> -> tensor<?x2x80xbf16>
  %kr = hk.rope neox %kp, %cos, %sin positions %pos : tensor<?x1x16xbf16>, tensor<64x8xf32>, tensor<64x8xf32> positions tensor<?xi32>
  %k = hk.concat 2 (%kn, %kr) : tensor<?x1x64xbf16>, tensor<?x1x16xbf16> -> tensor<?x1x80xbf16>
  %kq = hk.quantize_static %k, %cs : tensor<?x1x80xbf16>, tensor<1xf32> -> tensor<?x1x80xf8E4M3FN>
  %c = hk.kv_cache_write %kq, %slots into %cache : tensor<?x1x80xf8E4M3FN>, tensor<?xi32>, tensor<4x16x1x80xf8E4M3FN>
  return %qo, %c : tensor<?x2x80xbf16>, tensor<4x16x1x80xf8E4M3FN>
}
