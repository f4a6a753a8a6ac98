// A product of experts and GELU by tanh, before the rounding.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 sorted.0=32 experts.0=2
// HK-DIMS: x.0=7 weights.0=7 sorted.0=80 experts.0=5
// HK-DIMS: x.0=64 weights.0=64 sorted.0=176 experts.0=11
// HK-DIMS: x.0=0 weights.0=0 sorted.0=0 experts.0=0
// HK-DIMS: x.0=7 weights.0=7 sorted.0=37 experts.0=3 --range=experts=-1:2
// HK-DATA: normal,huge,nan

func.func @bf16(%x: tensor<?x72xbf16>, %w: tensor<4x40x72xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x40x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xf32>
  %o = hk.gelu_tanh %y : tensor<?x40xf32> -> tensor<?x40xbf16>
  return %o : tensor<?x40xbf16>
}
func.func @f16(%x: tensor<?x40xf16>, %w: tensor<4x136x40xf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x136xf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x40xf16>, tensor<4x136x40xf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x136xf32>
  %o = hk.gelu_tanh %y : tensor<?x136xf32> -> tensor<?x136xf16>
  return %o : tensor<?x136xf16>
}
func.func @f32(%x: tensor<?x24xf32>, %w: tensor<4x40x24xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xf32> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x24xf32>, tensor<4x40x24xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xf32>
  %o = hk.gelu_tanh %y : tensor<?x40xf32>
  return %o : tensor<?x40xf32>
}
// With the router's weight there is no activation.
func.func @weighted(%x: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %weights: tensor<?x2xf32> {hk.dims = ["T", "_"]}, %w: tensor<4x40x72xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x40x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xf32>
  %c0 = arith.constant 0 : index
  %flat = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %column = tensor.expand_shape %flat [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %o = hk.mul %y, %column : tensor<?x40xf32>, tensor<?x1xf32> -> tensor<?x40xbf16>
  return %o : tensor<?x40xbf16>
}
func.func @int8_weights(%x: tensor<?x72xbf16>, %w: tensor<4x40x72xi8>, %ws: tensor<4x40x1xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xbf16> {
  %d = hk.dequantize %w, %ws : tensor<4x40x72xi8>, tensor<4x40x1xf32> -> tensor<4x40x72xbf16>
  %y = hk.grouped_matmul %x, %d blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x40x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xf32>
  %o = hk.gelu_tanh %y : tensor<?x40xf32> -> tensor<?x40xbf16>
  return %o : tensor<?x40xbf16>
}
