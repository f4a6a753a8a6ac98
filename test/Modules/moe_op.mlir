// The first product of a mixture of experts: a row of the result for each of the top_k
// experts of a token, at its flat id. `sorted` holds flat ids, blocks of them of one
// expert, -1 (or any number that is no id) in empty places.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=1 weights.0=1 sorted.0=32 experts.0=2
// HK-DIMS: x.0=7 weights.0=7 sorted.0=80 experts.0=5
// HK-DIMS: x.0=64 weights.0=64 sorted.0=176 experts.0=11
// HK-DIMS: x.0=0 weights.0=0 sorted.0=0 experts.0=0
// HK-DIMS: x.0=7 weights.0=7 sorted.0=37 experts.0=3 --range=experts=2:2
// HK-DIMS: @whole x.0=64 sorted.0=100 experts.0=7 --range=experts=-1:3
// HK-DIMS: @weighted x.0=20 weights.0=20 sorted.0=64 experts.0=4 --range=experts=-1:4
// HK-DIMS: @whole @f32 x.0=9 sorted.0=40 experts.0=3 --data=nan
// HK-DIMS-HOST: @whole @two x.0=300 sorted.0=700 experts.0=44

func.func @whole(%x: tensor<?x128xbf16>, %w: tensor<4x136x128xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x128xbf16>, tensor<4x136x128xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
// Matrices [K, N]; one expert to a token.
func.func @two(%x: tensor<?x72xf16>, %w: tensor<8x72x40xf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted block 32 : tensor<?x72xf16>, tensor<8x72x40xf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xf16>
  return %y : tensor<?x40xf16>
}
func.func @f32(%x: tensor<?x40xf32>, %w: tensor<4x24x40xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x24xf32> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 64 top_k 4 : tensor<?x40xf32>, tensor<4x24x40xf32> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
func.func @odd(%x: tensor<?x13xbf16>, %w: tensor<8x35x13xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x35xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x13xbf16>, tensor<8x35x13xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x35xbf16>
  return %y : tensor<?x35xbf16>
}
func.func @depth_one(%x: tensor<?x1xbf16>, %w: tensor<4x64x1xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x64xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x1xbf16>, tensor<4x64x1xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
func.func @few(%x: tensor<?x8xbf16>, %w: tensor<2x4x8xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x4xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 128 : tensor<?x8xbf16>, tensor<2x4x8xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x4xbf16>
  return %y : tensor<?x4xbf16>
}
func.func @block_of_one(%x: tensor<?x24xbf16>, %w: tensor<4x16x24xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x16xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 1 top_k 2 : tensor<?x24xbf16>, tensor<4x16x24xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}
// Times the router's weight in front of the rounding.
func.func @weighted(%x: tensor<?x72xbf16> {hk.dims = ["T", "_"]}, %weights: tensor<?x2xf32> {hk.dims = ["T", "_"]}, %w: tensor<4x72x72xbf16>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x72x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x72xf32>
  %c0 = arith.constant 0 : index
  %flat = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %column = tensor.expand_shape %flat [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %o = hk.mul %y, %column : tensor<?x72xf32>, tensor<?x1xf32> -> tensor<?x72xbf16>
  return %o : tensor<?x72xbf16>
}
// One scale of the rows, one of each expert.
func.func @fp8_per_tensor(%x: tensor<?x72xf8E4M3FN>, %xs: tensor<1xf32>, %w: tensor<4x40x72xf8E4M3FN>, %ws: tensor<4xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, none) blocks %experts order %sorted group_scale %ws transpose_b block 16 top_k 2 : tensor<?x72xf8E4M3FN>, tensor<4x40x72xf8E4M3FN> scales (tensor<1xf32>, none) groups tensor<?xi32> order tensor<?xi32> group_scale tensor<4xf32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
// Scales of 1x128 and 128x128 blocks.
func.func @fp8_blocks(%x: tensor<?x200xf8E4M3FN>, %xs: tensor<?x2xf32>, %w: tensor<4x136x200xf8E4M3FN>, %ws: tensor<4x2x2xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%xs, %ws) blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x200xf8E4M3FN>, tensor<4x136x200xf8E4M3FN> scales (tensor<?x2xf32>, tensor<4x2x2xf32>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
// Weights of int8 with a scale per column, read as bf16.
func.func @int8_weights(%x: tensor<?x72xbf16>, %w: tensor<4x40x72xi8>, %ws: tensor<4x40x1xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xbf16> {
  %d = hk.dequantize %w, %ws : tensor<4x40x72xi8>, tensor<4x40x1xf32> -> tensor<4x40x72xbf16>
  %y = hk.grouped_matmul %x, %d blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x72xbf16>, tensor<4x40x72xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
// With a scale per 64 of k.
func.func @int8_weights_grouped(%x: tensor<?x128xbf16>, %w: tensor<4x40x128xi8>, %ws: tensor<4x40x2xf32>, %sorted: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x40xbf16> {
  %d = hk.dequantize %w, %ws group 64 : tensor<4x40x128xi8>, tensor<4x40x2xf32> -> tensor<4x40x128xbf16>
  %y = hk.grouped_matmul %x, %d blocks %experts order %sorted transpose_b block 16 top_k 2 : tensor<?x128xbf16>, tensor<4x40x128xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
