// Tensors whose rows, heads or columns lie in memory in another order in front of row-wise operators: read where they
// are. Two launches while a transpose needed all rows in one.
// HK-LAUNCHES: 1 @reduced=2
// HK-DIMS: x.0=9 g.1=9 x.1=9 z.1=9
// HK-DIMS: x.0=1 g.1=1 x.1=1 z.1=1
// HK-DIMS: x.0=0 g.1=0 x.1=0 z.1=0
// HK-DIMS: x.0=70 g.1=70 x.1=70 z.1=70
// HK-DATA: normal,nan,inf

// Heads in front of tokens, a gate that lies so.
func.func @heads(%x: tensor<?x3x72xf32>, %g: tensor<3x?x72xf32>) -> tensor<3x?x72xbf16> {
  %t = hk.transpose %x [1, 0, 2] : tensor<?x3x72xf32> -> tensor<3x?x72xf32>
  %m = hk.mul %t, %g : tensor<3x?x72xf32>
  %y = hk.cast %m : tensor<3x?x72xf32> -> tensor<3x?x72xbf16>
  return %y : tensor<3x?x72xbf16>
}
// A norm of heads of 33 elements, quantised.
func.func @normed(%x: tensor<?x4x33xbf16>, %w: tensor<33xbf16>) -> (tensor<4x?x33xi8>, tensor<4x?x1xf32>) {
  %t = hk.transpose %x [1, 0, 2] : tensor<?x4x33xbf16> -> tensor<4x?x33xbf16>
  %n = hk.rms_norm %t, %w epsilon 1.0e-06 : tensor<4x?x33xbf16>, tensor<33xbf16>
  %q, %s = hk.quantize per_token %n : tensor<4x?x33xbf16> -> tensor<4x?x33xi8>, tensor<4x?x1xf32>
  return %q, %s : tensor<4x?x33xi8>, tensor<4x?x1xf32>
}
// Columns.
func.func @columns(%x: tensor<?x40xf16>, %b: tensor<40x1xf16>) -> tensor<40x?xf32> {
  %t = hk.transpose %x [1, 0] : tensor<?x40xf16> -> tensor<40x?xf16>
  %m = hk.mul %t, %b : tensor<40x?xf16>, tensor<40x1xf16> -> tensor<40x?xf16>
  %y = hk.cast %m : tensor<40x?xf16> -> tensor<40x?xf32>
  return %y : tensor<40x?xf32>
}
// Images: channels in front, then an activation.
func.func @channels(%x: tensor<2x?x7x24xbf16>) -> tensor<2x24x?x7xbf16> {
  %t = hk.transpose %x [0, 3, 1, 2] : tensor<2x?x7x24xbf16> -> tensor<2x24x?x7xbf16>
  %y = hk.silu %t : tensor<2x24x?x7xbf16>
  return %y : tensor<2x24x?x7xbf16>
}
// Two operands that lie in other orders than the result, and than each other.
func.func @two(%x: tensor<?x5x16xf32>, %z: tensor<16x?x5xf32>) -> tensor<5x?x16xf32> {
  %t = hk.transpose %x [1, 0, 2] : tensor<?x5x16xf32> -> tensor<5x?x16xf32>
  %u = hk.transpose %z [2, 1, 0] : tensor<16x?x5xf32> -> tensor<5x?x16xf32>
  %y = hk.add %t, %u : tensor<5x?x16xf32>
  return %y : tensor<5x?x16xf32>
}
// Columns as the rows of a statistic stay apart.
func.func @reduced(%x: tensor<?x40xf32>) -> tensor<40x?xf32> {
  %t = hk.transpose %x [1, 0] : tensor<?x40xf32> -> tensor<40x?xf32>
  %y = hk.softmax %t : tensor<40x?xf32>
  return %y : tensor<40x?xf32>
}
