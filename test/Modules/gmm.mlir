// Products of groups of rows: group g has the next sizes[g] rows and a matrix of its own.
// Forward, and the gradient of the matrices, in which the groups are of k.
// HK-LAUNCHES: 1 @turned=2 @turned_in_order=2
// HK-DIMS: x.0=1 x.1=1 dy.0=1 dy.1=1 ones.0=1 w.1=5 w.2=1 order.0=2
// HK-DIMS: x.0=37 x.1=37 dy.0=37 dy.1=37 ones.0=37 w.1=72 w.2=37 order.0=70
// HK-DIMS: @forward @bounds @gradient x.0=64 dy.0=64
// HK-DIMS: x.0=0 x.1=0 dy.0=0 dy.1=0 ones.0=0 w.1=0 w.2=0 order.0=0
// HK-DIMS: @any_sizes x.0=7 x.1=0 w.1=9 w.2=0
// HK-DIMS: @forward @bias_f16 @gradient x.0=40 dy.0=40 --range=sizes=0:5
// HK-DIMS: @forward @gradient x.0=33 dy.0=33 --range=sizes=-3:1
// HK-DIMS: @forward @gradient x.0=9 dy.0=9 --data=nan
// HK-DIMS: @turned @gradient_turned x.1=150 dy.0=150
// HK-DIMS-HOST: @forward @gradient x.0=700 dy.0=700

func.func @forward(%x: tensor<?x72xbf16>, %w: tensor<4x72x40xbf16>, %sizes: tensor<4xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes : tensor<?x72xbf16>, tensor<4x72x40xbf16> groups tensor<4xi32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
// That of the rows is the same product with the matrices transposed.
func.func @transposed(%x: tensor<?x128xbf16>, %w: tensor<4x136x128xbf16>, %sizes: tensor<4xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes transpose_b : tensor<?x128xbf16>, tensor<4x136x128xbf16> groups tensor<4xi32> -> tensor<?x136xbf16>
  return %y : tensor<?x136xbf16>
}
func.func @bias_f16(%x: tensor<?x13xf16>, %w: tensor<3x13x35xf16>, %b: tensor<3x35xf16>, %sizes: tensor<3xi32>) -> tensor<?x35xf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes bias %b : tensor<?x13xf16>, tensor<3x13x35xf16> groups tensor<3xi32> bias tensor<3x35xf16> -> tensor<?x35xf16>
  return %y : tensor<?x35xf16>
}
func.func @bounds(%x: tensor<?x40xf32>, %w: tensor<8x24x40xf32>, %offsets: tensor<9xi32>) -> tensor<?x24xf32> {
  %y = hk.grouped_matmul %x, %w bounds %offsets transpose_b : tensor<?x40xf32>, tensor<8x24x40xf32> groups tensor<9xi32> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}
func.func @small(%x: tensor<?x2xbf16>, %w: tensor<4x2x3xbf16>, %sizes: tensor<4xi32>) -> tensor<?x3xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes : tensor<?x2xbf16>, tensor<4x2x3xbf16> groups tensor<4xi32> -> tensor<?x3xbf16>
  return %y : tensor<?x3xbf16>
}
func.func @many_groups(%x: tensor<?x16xbf16>, %w: tensor<300x16x16xbf16>, %offsets: tensor<301xi32>) -> tensor<?x16xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %offsets : tensor<?x16xbf16>, tensor<300x16x16xbf16> groups tensor<301xi32> -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}
func.func @any_sizes(%x: tensor<?x?xbf16> {hk.dims = ["M", "K"]}, %w: tensor<4x?x?xbf16> {hk.dims = ["_", "N", "K"]}, %sizes: tensor<4xi32>) -> tensor<?x?xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes transpose_b : tensor<?x?xbf16>, tensor<4x?x?xbf16> groups tensor<4xi32> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
func.func @gradient(%x: tensor<?x72xbf16> {hk.dims = ["M", "_"]}, %dy: tensor<?x40xbf16> {hk.dims = ["M", "_"]}, %sizes: tensor<4xi32>) -> tensor<4x72x40xbf16> {
  %d = hk.grouped_matmul %x, %dy lengths %sizes along_k : tensor<?x72xbf16>, tensor<?x40xbf16> groups tensor<4xi32> -> tensor<4x72x40xbf16>
  return %d : tensor<4x72x40xbf16>
}
// The rows as [K, M] in memory.
func.func @gradient_transposed(%x: tensor<24x?xf16> {hk.dims = ["_", "M"]}, %dy: tensor<?x40xf16> {hk.dims = ["M", "_"]}, %offsets: tensor<6xi32>) -> tensor<5x24x40xf16> {
  %d = hk.grouped_matmul %x, %dy bounds %offsets transpose_a along_k : tensor<24x?xf16>, tensor<?x40xf16> groups tensor<6xi32> -> tensor<5x24x40xf16>
  return %d : tensor<5x24x40xf16>
}
func.func @gradient_both(%x: tensor<24x?xbf16> {hk.dims = ["_", "M"]}, %dy: tensor<40x?xbf16> {hk.dims = ["_", "M"]}, %sizes: tensor<2xi32>) -> tensor<2x24x40xf32> {
  %d = hk.grouped_matmul %x, %dy lengths %sizes transpose_a transpose_b along_k : tensor<24x?xbf16>, tensor<40x?xbf16> groups tensor<2xi32> -> tensor<2x24x40xf32>
  return %d : tensor<2x24x40xf32>
}
// Added to what is there, after it is rounded.
func.func @gradient_accumulated(%x: tensor<?x24xbf16> {hk.dims = ["M", "_"]}, %dy: tensor<?x40xbf16> {hk.dims = ["M", "_"]}, %sizes: tensor<4xi32>, %old: tensor<4x24x40xbf16>) -> tensor<4x24x40xbf16> {
  %d = hk.grouped_matmul %x, %dy lengths %sizes along_k : tensor<?x24xbf16>, tensor<?x40xbf16> groups tensor<4xi32> -> tensor<4x24x40xbf16>
  %s = hk.add %old, %d : tensor<4x24x40xbf16>
  return %s : tensor<4x24x40xbf16>
}
// That of the bias: sums of the rows of each group, with a column of ones.
func.func @gradient_of_bias(%dy: tensor<?x40xbf16> {hk.dims = ["M", "_"]}, %ones: tensor<?x1xbf16> {hk.dims = ["M", "_"]}, %sizes: tensor<4xi32>) -> tensor<4x40x1xf32> {
  %d = hk.grouped_matmul %dy, %ones lengths %sizes along_k : tensor<?x40xbf16>, tensor<?x1xbf16> groups tensor<4xi32> -> tensor<4x40x1xf32>
  return %d : tensor<4x40x1xf32>
}
// Operands that lie as their transposes. Matrices are as far apart as their dim in memory says. Rows of
// groups, which begin anywhere, are transposed by a kernel of their own.
func.func @turned(%x: tensor<8x?xbf16>, %w: tensor<40x4x8xbf16>, %sizes: tensor<4xi32>) -> tensor<?x40xbf16> {
  %rows = hk.transpose %x [1, 0] : tensor<8x?xbf16> -> tensor<?x8xbf16>
  %matrices = hk.transpose %w [1, 0, 2] : tensor<40x4x8xbf16> -> tensor<4x40x8xbf16>
  %y = hk.grouped_matmul %rows, %matrices lengths %sizes transpose_b : tensor<?x8xbf16>, tensor<4x40x8xbf16> groups tensor<4xi32> -> tensor<?x40xbf16>
  return %y : tensor<?x40xbf16>
}
func.func @gradient_turned(%x: tensor<8x?xbf16> {hk.dims = ["_", "T"]}, %dy: tensor<?x24xbf16> {hk.dims = ["T", "_"]}, %sizes: tensor<4xi32>) -> tensor<4x8x24xbf16> {
  %rows = hk.transpose %x [1, 0] : tensor<8x?xbf16> -> tensor<?x8xbf16>
  %y = hk.grouped_matmul %rows, %dy lengths %sizes along_k : tensor<?x8xbf16>, tensor<?x24xbf16> groups tensor<4xi32> -> tensor<4x8x24xbf16>
  return %y : tensor<4x8x24xbf16>
}
func.func @turned_in_order(%x: tensor<64x?xf16>, %w: tensor<4x40x64xf16>, %sizes: tensor<4xi32>, %order: tensor<?xi32>) -> tensor<?x40xf32> {
  %rows = hk.transpose %x [1, 0] : tensor<64x?xf16> -> tensor<?x64xf16>
  %y = hk.grouped_matmul %rows, %w lengths %sizes order %order transpose_b top_k 2 : tensor<?x64xf16>, tensor<4x40x64xf16> groups tensor<4xi32> order tensor<?xi32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
