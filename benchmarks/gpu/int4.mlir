// A product with 4-bit integers (groups of 128, zero points) and the same with bf16:
// hk-compile --target=host,sm_90a -o int4.so, then for M of 1, 16 and 512
// hk-run int4.so --function=w4 --device=cuda:0 --bench=40 --dim=x.0=M.
func.func @w4(%x: tensor<?x4096xbf16> {hk.name = "x"}, %w: tensor<14336x4096xui4> {hk.name = "w"}, %s: tensor<14336x32xbf16> {hk.name = "s"}, %z: tensor<14336x32xui4> {hk.name = "z"}) -> tensor<?x14336xbf16> {
  %b = hk.dequantize %w, %s, %z group 128 : tensor<14336x4096xui4>, tensor<14336x32xbf16>, tensor<14336x32xui4> -> tensor<14336x4096xbf16>
  %y = hk.matmul %x, %b transpose_b : tensor<?x4096xbf16>, tensor<14336x4096xbf16> -> tensor<?x14336xbf16>
  return %y : tensor<?x14336xbf16>
}
func.func @w16(%x: tensor<?x4096xbf16> {hk.name = "x"}, %w: tensor<14336x4096xbf16> {hk.name = "w"}) -> tensor<?x14336xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<14336x4096xbf16> -> tensor<?x14336xbf16>
  return %y : tensor<?x14336xbf16>
}
