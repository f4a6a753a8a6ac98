// The products and the attention that benchmarks/gpu/operators.py times.

func.func @matmul_4096(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %c = hk.matmul %a, %b transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %c : tensor<4096x4096xbf16>
}
func.func @matmul_8192(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %c = hk.matmul %a, %b transpose_b : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
  return %c : tensor<8192x8192xbf16>
}
func.func @attention_8192(%q: tensor<1x8192x32x128xbf16>, %k: tensor<1x8192x8x128xbf16>, %v: tensor<1x8192x8x128xbf16>) -> tensor<1x8192x32x128xbf16> {
  %o = hk.attention %q, %k, %v scale 0.08838834764 causal : tensor<1x8192x32x128xbf16>, tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16> -> tensor<1x8192x32x128xbf16>
  return %o : tensor<1x8192x32x128xbf16>
}
