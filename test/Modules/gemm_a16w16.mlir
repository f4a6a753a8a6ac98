// bf16 and f16 products with bias, activation and residual in the epilogue.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1
// HK-DIMS: x.0=37
// HK-DIMS: x.0=130
// HK-DIMS: x.0=0

func.func @nt(%x: tensor<?x136xbf16>, %w: tensor<200x136xbf16>) -> tensor<?x200xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x136xbf16>, tensor<200x136xbf16> -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}
func.func @nn_odd(%x: tensor<?x13xf16>, %w: tensor<13x31xf16>) -> tensor<?x31xf32> {
  %y = hk.matmul %x, %w : tensor<?x13xf16>, tensor<13x31xf16> -> tensor<?x31xf32>
  return %y : tensor<?x31xf32>
}
func.func @bias_silu_residual(%x: tensor<?x256xbf16>, %w: tensor<128x256xbf16>, %b: tensor<128xbf16>, %r: tensor<?x128xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<128x256xbf16> -> tensor<?x128xbf16>
  %z = hk.add %y, %b : tensor<?x128xbf16>, tensor<128xbf16>
  %s = hk.silu %z : tensor<?x128xbf16>
  %o = hk.add %s, %r : tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
func.func @gated(%x: tensor<?x64xbf16>, %w: tensor<256x64xbf16>) -> tensor<?x128xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<256x64xbf16> -> tensor<?x256xbf16>
  %o = hk.gated_activation silu %y : tensor<?x256xbf16> -> tensor<?x128xbf16>
  return %o : tensor<?x128xbf16>
}
