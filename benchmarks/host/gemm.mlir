// Square products, weights stored [N, K].
func.func @bf16(%x: tensor<768x768xbf16>, %w: tensor<768x768xbf16>) -> tensor<768x768xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<768x768xbf16>, tensor<768x768xbf16> -> tensor<768x768xbf16>
  return %y : tensor<768x768xbf16>
}
func.func @f32(%x: tensor<768x768xf32>, %w: tensor<768x768xf32>) -> tensor<768x768xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<768x768xf32>, tensor<768x768xf32> -> tensor<768x768xf32>
  return %y : tensor<768x768xf32>
}
// A decode step of a small model: the weights are read once.
func.func @decode(%x: tensor<1x256xbf16>, %w: tensor<1408x256xbf16>) -> tensor<1x1408xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<1x256xbf16>, tensor<1408x256xbf16> -> tensor<1x1408xbf16>
  return %y : tensor<1x1408xbf16>
}
