// GPT-OSS' experts: with many rows their codes are decoded in registers, where products take
// them, with the gate and without.
func.func @up(%x: tensor<?x2880xbf16>, %w: tensor<128x5760x2880xf4E2M1FN>, %t: tensor<128x5760x90xf8E8M0FNU>, %bounds: tensor<129xi32>, %order: tensor<?xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %t) bounds %bounds order %order transpose_b top_k 4 : tensor<?x2880xbf16>, tensor<128x5760x2880xf4E2M1FN> scales (none, tensor<128x5760x90xf8E8M0FNU>) groups tensor<129xi32> order tensor<?xi32> -> tensor<?x5760xbf16>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x5760xbf16> -> tensor<?x2880xbf16>
  return %g : tensor<?x2880xbf16>
}
func.func @down(%x: tensor<?x2880xbf16>, %w: tensor<128x2880x2880xf4E2M1FN>, %t: tensor<128x2880x90xf8E8M0FNU>, %bounds: tensor<129xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %t) bounds %bounds transpose_b : tensor<?x2880xbf16>, tensor<128x2880x2880xf4E2M1FN> scales (none, tensor<128x2880x90xf8E8M0FNU>) groups tensor<129xi32> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}
