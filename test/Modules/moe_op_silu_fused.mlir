// A product of experts and SiLU of the first half of its columns times the second, which
// are rounded before.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 sorted.0=32 experts.0=2
// HK-DIMS: x.0=7 weights.0=7 sorted.0=80 experts.0=5
// HK-DIMS: x.0=64 weights.0=64 sorted.0=176 experts.0=11
// HK-DIMS: x.0=0 weights.0=0 sorted.0=0 experts.0=0
// HK-DIMS: x.0=7 weights.0=7 sorted.0=37 experts.0=3 --range=experts=-1:2
// HK-DATA: normal,huge,nan

func.func @bf16(%x: tensor<?x72xbf16>, %w: tensor<4x128x72xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x64xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x128x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x128xbf16>
  %o = hk.gated_activation silu %y : tensor<?x128xbf16> -> tensor<?x64xbf16>
  return %o : tensor<?x64xbf16>
}
func.func @f16(%x: tensor<?x40xf16>, %w: tensor<4x144x40xf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x72xf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x40xf16>, tensor<4x144x40xf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x144xf16>
  %o = hk.gated_activation silu %y : tensor<?x144xf16> -> tensor<?x72xf16>
  return %o : tensor<?x72xf16>
}
func.func @f32(%x: tensor<?x24xf32>, %w: tensor<4x64x24xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xf32> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x24xf32>, tensor<4x64x24xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %o = hk.gated_activation silu %y : tensor<?x64xf32> -> tensor<?x32xf32>
  return %o : tensor<?x32xf32>
}
func.func @odd(%x: tensor<?x13xbf16>, %w: tensor<4x66x13xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x33xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x13xbf16>, tensor<4x66x13xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x66xbf16>
  %o = hk.gated_activation silu %y : tensor<?x66xbf16> -> tensor<?x33xbf16>
  return %o : tensor<?x33xbf16>
}
// Matrices [K, N].
func.func @by_k(%x: tensor<?x40xbf16>, %w: tensor<4x40x128xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x64xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted block 16 top_k 2 : tensor<?x40xbf16>, tensor<4x40x128xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x128xbf16>
  %o = hk.gated_activation silu %y : tensor<?x128xbf16> -> tensor<?x64xbf16>
  return %o : tensor<?x64xbf16>
}
// The weight comes before the activation.
func.func @weighted(%x: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %weights: tensor<?x2xf32> {hk.dims = ["T", "_"]}, %w: tensor<4x64x72xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x64x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xf32>
  %c0 = arith.constant 0 : index
  %flat = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %column = tensor.expand_shape %flat [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %s = hk.mul %y, %column : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xbf16>
  %o = hk.gated_activation silu %s : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}
func.func @int8_weights(%x: tensor<?x128xbf16>, %w: tensor<4x64x128xi8>, %ws: tensor<4x64x2xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xbf16> {
  %d = hk.dequantize %w, %ws group 64 : tensor<4x64x128xi8>, tensor<4x64x2xf32> -> tensor<4x64x128xbf16>
  %y = hk.grouped_matmul %x, %d blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x128xbf16>, tensor<4x64x128xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %o = hk.gated_activation silu %y : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}
func.func @fp8(%x: tensor<?x72xf8E4M3FN>, %xs: tensor<?x1xf32>, %w: tensor<4x64x72xf8E4M3FN>, %ws: tensor<4x64x1xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x32xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xf8E4M3FN>, tensor<4x64x72xf8E4M3FN> scales (tensor<?x1xf32>, tensor<4x64x1xf32>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %o = hk.gated_activation silu %y : tensor<?x64xbf16> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}
