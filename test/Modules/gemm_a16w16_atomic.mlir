// Few rows and a long k: the cost model cuts k into slices on the GPUs. Two launches
// and no atomics: the same result every time.
// HK-LAUNCHES: 2
// HK-DIMS: -

func.func @f32(%x: tensor<2x4096xbf16>, %w: tensor<64x4096xbf16>) -> tensor<2x64xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<2x4096xbf16>, tensor<64x4096xbf16> -> tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}
func.func @bias(%x: tensor<5x4096xbf16>, %w: tensor<32x4096xbf16>, %b: tensor<32xbf16>) -> tensor<5x32xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<5x4096xbf16>, tensor<32x4096xbf16> -> tensor<5x32xbf16>
  %z = hk.add %y, %b : tensor<5x32xbf16>, tensor<32xbf16>
  return %z : tensor<5x32xbf16>
}
