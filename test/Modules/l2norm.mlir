// L2 normalisation of heads, and its gradient as a chain of base operators.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=9
// HK-DIMS: x.0=0
// HK-DIMS: x.0=1
// HK-DIMS-HOST: @forward_60 x.0=63
// HK-DIMS-HOST: @forward_f32_64 @forward_f32_100 x.0=1000
// HK-DIMS-HOST: @forward_1024_to_f32 x.0=1024
// HK-DIMS-HOST: @backward_60 x.0=63 rstd.0=63 dy.0=63
// HK-DATA: normal,equal,huge,tiny,nan,inf

func.func @forward_128(%x: tensor<?x4x128xbf16>) -> tensor<?x4x128xbf16> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x4x128xbf16>
  return %y : tensor<?x4x128xbf16>
}
func.func @forward_60(%x: tensor<?x60xf32>) -> tensor<?x60xf32> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x60xf32>
  return %y : tensor<?x60xf32>
}
// The reciprocal norm beside it, as the gradient needs it.
func.func @forward_rstd(%x: tensor<?x4x100xbf16>) -> (tensor<?x4x100xbf16>, tensor<?x4x1xf32>) {
  %eps = hk.constant 1.0e-06 : tensor<f32>
  %sq = hk.mul %x, %x : tensor<?x4x100xbf16> -> tensor<?x4x100xf32>
  %sum = hk.reduce sum %sq : tensor<?x4x100xf32> -> tensor<?x4x1xf32>
  %e = hk.add %sum, %eps : tensor<?x4x1xf32>, tensor<f32>
  %rstd = hk.rsqrt %e : tensor<?x4x1xf32>
  %y = hk.mul %x, %rstd : tensor<?x4x100xbf16>, tensor<?x4x1xf32>
  return %y, %rstd : tensor<?x4x100xbf16>, tensor<?x4x1xf32>
}
// dx = rstd (dy - y sum(dy y)).
func.func @backward(%x: tensor<?x4x128xbf16>, %rstd: tensor<?x4x1xf32>, %dy: tensor<?x4x128xbf16>) -> tensor<?x4x128xbf16> {
  %p = hk.mul %dy, %x : tensor<?x4x128xbf16> -> tensor<?x4x128xf32>
  %s = hk.reduce sum %p : tensor<?x4x128xf32> -> tensor<?x4x1xf32>
  %ys = hk.mul %x, %s : tensor<?x4x128xbf16>, tensor<?x4x1xf32> -> tensor<?x4x128xf32>
  %d = hk.sub %dy, %ys : tensor<?x4x128xbf16>, tensor<?x4x128xf32> -> tensor<?x4x128xf32>
  %dx = hk.mul %d, %rstd : tensor<?x4x128xf32>, tensor<?x4x1xf32> -> tensor<?x4x128xbf16>
  return %dx : tensor<?x4x128xbf16>
}
func.func @forward_1024_to_f32(%x: tensor<?x5x1024xbf16>) -> tensor<?x5x1024xf32> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x5x1024xbf16> -> tensor<?x5x1024xf32>
  return %y : tensor<?x5x1024xf32>
}
func.func @forward_2048(%x: tensor<?x6x2048xf16>) -> tensor<?x6x2048xf16> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x6x2048xf16>
  return %y : tensor<?x6x2048xf16>
}
func.func @backward_60(%x: tensor<?x3x60xf32>, %rstd: tensor<?x3x1xf32>, %dy: tensor<?x3x60xf32>) -> tensor<?x3x60xf32> {
  %p = hk.mul %dy, %x : tensor<?x3x60xf32>
  %s = hk.reduce sum %p : tensor<?x3x60xf32> -> tensor<?x3x1xf32>
  %ys = hk.mul %x, %s : tensor<?x3x60xf32>, tensor<?x3x1xf32>
  %d = hk.sub %dy, %ys : tensor<?x3x60xf32>
  %dx = hk.mul %d, %rstd : tensor<?x3x60xf32>, tensor<?x3x1xf32>
  return %dx : tensor<?x3x60xf32>
}
func.func @backward_2048(%x: tensor<?x2x2048xf16>, %rstd: tensor<?x2x1xf32>, %dy: tensor<?x2x2048xf16>) -> tensor<?x2x2048xf16> {
  %p = hk.mul %dy, %x : tensor<?x2x2048xf16> -> tensor<?x2x2048xf32>
  %s = hk.reduce sum %p : tensor<?x2x2048xf32> -> tensor<?x2x1xf32>
  %ys = hk.mul %x, %s : tensor<?x2x2048xf16>, tensor<?x2x1xf32> -> tensor<?x2x2048xf32>
  %d = hk.sub %dy, %ys : tensor<?x2x2048xf16>, tensor<?x2x2048xf32> -> tensor<?x2x2048xf32>
  %dx = hk.mul %d, %rstd : tensor<?x2x2048xf32>, tensor<?x2x1xf32> -> tensor<?x2x2048xf16>
  return %dx : tensor<?x2x2048xf16>
}
// As other code of the gated delta rule has it: divided by the root, or by the root and
// a little.
func.func @divided_by_root(%x: tensor<?x2x128xbf16>) -> tensor<?x2x128xbf16> {
  %eps = hk.constant 1.0e-06 : tensor<f32>
  %sq = hk.mul %x, %x : tensor<?x2x128xbf16> -> tensor<?x2x128xf32>
  %sum = hk.reduce sum %sq : tensor<?x2x128xf32> -> tensor<?x2x1xf32>
  %e = hk.add %sum, %eps : tensor<?x2x1xf32>, tensor<f32>
  %root = hk.sqrt %e : tensor<?x2x1xf32>
  %y = hk.div %x, %root : tensor<?x2x128xbf16>, tensor<?x2x1xf32>
  return %y : tensor<?x2x128xbf16>
}
func.func @divided_by_root_and_epsilon(%x: tensor<?x60xf32>) -> tensor<?x60xf32> {
  %eps = hk.constant 1.0e-06 : tensor<f32>
  %sq = hk.mul %x, %x : tensor<?x60xf32>
  %sum = hk.reduce sum %sq : tensor<?x60xf32> -> tensor<?x1xf32>
  %root = hk.sqrt %sum : tensor<?x1xf32>
  %e = hk.add %root, %eps : tensor<?x1xf32>, tensor<f32>
  %y = hk.div %x, %e : tensor<?x60xf32>, tensor<?x1xf32>
  return %y : tensor<?x60xf32>
}
func.func @forward_f32_64(%x: tensor<?x4x64xf32>) -> tensor<?x4x64xf32> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x4x64xf32>
  return %y : tensor<?x4x64xf32>
}
func.func @forward_f32_100(%x: tensor<?x2x100xf32>) -> tensor<?x2x100xf32> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x2x100xf32>
  return %y : tensor<?x2x100xf32>
}
func.func @forward_f32_128(%x: tensor<?x3x128xf32>) -> tensor<?x3x128xf32> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x3x128xf32>
  return %y : tensor<?x3x128xf32>
}
func.func @forward_f16_1024(%x: tensor<?x5x1024xf16>) -> tensor<?x5x1024xf16> {
  %y = hk.l2_norm %x epsilon 1.0e-06 : tensor<?x5x1024xf16>
  return %y : tensor<?x5x1024xf16>
}
func.func @backward_64(%x: tensor<?x4x64xf32>, %rstd: tensor<?x4x1xf32>, %dy: tensor<?x4x64xf32>) -> tensor<?x4x64xf32> {
  %p = hk.mul %dy, %x : tensor<?x4x64xf32>
  %s = hk.reduce sum %p : tensor<?x4x64xf32> -> tensor<?x4x1xf32>
  %ys = hk.mul %x, %s : tensor<?x4x64xf32>, tensor<?x4x1xf32>
  %d = hk.sub %dy, %ys : tensor<?x4x64xf32>
  %dx = hk.mul %d, %rstd : tensor<?x4x64xf32>, tensor<?x4x1xf32>
  return %dx : tensor<?x4x64xf32>
}
func.func @backward_100(%x: tensor<?x2x100xbf16>, %rstd: tensor<?x2x1xf32>, %dy: tensor<?x2x100xbf16>) -> tensor<?x2x100xbf16> {
  %p = hk.mul %dy, %x : tensor<?x2x100xbf16> -> tensor<?x2x100xf32>
  %s = hk.reduce sum %p : tensor<?x2x100xf32> -> tensor<?x2x1xf32>
  %ys = hk.mul %x, %s : tensor<?x2x100xbf16>, tensor<?x2x1xf32> -> tensor<?x2x100xf32>
  %d = hk.sub %dy, %ys : tensor<?x2x100xbf16>, tensor<?x2x100xf32> -> tensor<?x2x100xf32>
  %dx = hk.mul %d, %rstd : tensor<?x2x100xf32>, tensor<?x2x1xf32> -> tensor<?x2x100xbf16>
  return %dx : tensor<?x2x100xbf16>
}
func.func @backward_1024(%x: tensor<?x5x1024xbf16>, %rstd: tensor<?x5x1xf32>, %dy: tensor<?x5x1024xbf16>) -> tensor<?x5x1024xbf16> {
  %p = hk.mul %dy, %x : tensor<?x5x1024xbf16> -> tensor<?x5x1024xf32>
  %s = hk.reduce sum %p : tensor<?x5x1024xf32> -> tensor<?x5x1xf32>
  %ys = hk.mul %x, %s : tensor<?x5x1024xbf16>, tensor<?x5x1xf32> -> tensor<?x5x1024xf32>
  %d = hk.sub %dy, %ys : tensor<?x5x1024xbf16>, tensor<?x5x1024xf32> -> tensor<?x5x1024xf32>
  %dx = hk.mul %d, %rstd : tensor<?x5x1024xf32>, tensor<?x5x1xf32> -> tensor<?x5x1024xbf16>
  return %dx : tensor<?x5x1024xbf16>
}
// Rows of zeros stay zeros.
func.func @zero_rows(%x: tensor<?x4x128xbf16>) -> tensor<?x4x128xbf16> {
  %no = hk.constant false : tensor<i1>
  %zero = hk.constant 0.0 : tensor<bf16>
  %z = hk.select %no, %x, %zero : tensor<i1>, tensor<?x4x128xbf16>, tensor<bf16> -> tensor<?x4x128xbf16>
  %y = hk.l2_norm %z epsilon 1.0e-06 : tensor<?x4x128xbf16>
  return %y : tensor<?x4x128xbf16>
}
