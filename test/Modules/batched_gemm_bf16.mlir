// A batch of products, with a shared or an own right operand.
// HK-LAUNCHES: 1
// HK-DIMS: x.1=5
// HK-DIMS: x.1=0

func.func @own(%x: tensor<3x?x72xbf16>, %w: tensor<3x48x72xbf16>) -> tensor<3x?x48xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<3x?x72xbf16>, tensor<3x48x72xbf16> -> tensor<3x?x48xbf16>
  return %y : tensor<3x?x48xbf16>
}
