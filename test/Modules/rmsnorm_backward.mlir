// Gradients of RMS normalisation from dy, x and the reciprocal root mean squares r:
// dx = r (g dy - x r^2 mean(g dy x)) row by row; dg = sum of dy x r over the rows, in a
// launch of its own, whose rows are the columns of the first.
// HK-LAUNCHES: 2
// HK-DIMS: x.0=1 r.0=1 dy.0=1 ds.0=1
// HK-DIMS: x.0=0 r.0=0 dy.0=0 ds.0=0
// HK-DIMS: x.0=37 r.0=37 dy.0=37 ds.0=37
// HK-DIMS-HOST: @bf16_1024 x.0=256 r.0=256 dy.0=256
// HK-DATA: normal,equal,tiny,nan

func.func @f32_10(%x: tensor<?x10xf32>, %w: tensor<10xf32>, %r: tensor<?x1xf32>, %dy: tensor<?x10xf32>) -> (tensor<?x10xf32>, tensor<10x1xf32>) {
  %n = hk.constant 10.0 : tensor<f32>
  %g = hk.mul %dy, %w : tensor<?x10xf32>, tensor<10xf32>
  %gx = hk.mul %g, %x : tensor<?x10xf32>
  %sum = hk.reduce sum %gx : tensor<?x10xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %r2 = hk.mul %r, %r : tensor<?x1xf32>
  %k = hk.mul %mean, %r2 : tensor<?x1xf32>
  %xk = hk.mul %x, %k : tensor<?x10xf32>, tensor<?x1xf32>
  %d = hk.sub %g, %xk : tensor<?x10xf32>
  %dx = hk.mul %d, %r : tensor<?x10xf32>, tensor<?x1xf32>
  %xr = hk.mul %x, %r : tensor<?x10xf32>, tensor<?x1xf32>
  %p = hk.mul %dy, %xr : tensor<?x10xf32>
  %pt = hk.transpose %p [1, 0] : tensor<?x10xf32> -> tensor<10x?xf32>
  %dw = hk.reduce sum %pt : tensor<10x?xf32> -> tensor<10x1xf32>
  return %dx, %dw : tensor<?x10xf32>, tensor<10x1xf32>
}
func.func @f16_409(%x: tensor<?x409xf16>, %w: tensor<409xf16>, %r: tensor<?x1xf32>, %dy: tensor<?x409xf16>) -> (tensor<?x409xf16>, tensor<409x1xf32>) {
  %n = hk.constant 409.0 : tensor<f32>
  %g = hk.mul %dy, %w : tensor<?x409xf16>, tensor<409xf16> -> tensor<?x409xf32>
  %gx = hk.mul %g, %x : tensor<?x409xf32>, tensor<?x409xf16>
  %sum = hk.reduce sum %gx : tensor<?x409xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %r2 = hk.mul %r, %r : tensor<?x1xf32>
  %k = hk.mul %mean, %r2 : tensor<?x1xf32>
  %xk = hk.mul %x, %k : tensor<?x409xf16>, tensor<?x1xf32> -> tensor<?x409xf32>
  %d = hk.sub %g, %xk : tensor<?x409xf32>
  %dx = hk.mul %d, %r : tensor<?x409xf32>, tensor<?x1xf32> -> tensor<?x409xf16>
  %xr = hk.mul %x, %r : tensor<?x409xf16>, tensor<?x1xf32> -> tensor<?x409xf32>
  %p = hk.mul %dy, %xr : tensor<?x409xf16>, tensor<?x409xf32> -> tensor<?x409xf32>
  %pt = hk.transpose %p [1, 0] : tensor<?x409xf32> -> tensor<409x?xf32>
  %dw = hk.reduce sum %pt : tensor<409x?xf32> -> tensor<409x1xf32>
  return %dx, %dw : tensor<?x409xf16>, tensor<409x1xf32>
}
func.func @bf16_1024(%x: tensor<?x1024xbf16>, %w: tensor<1024xbf16>, %r: tensor<?x1xf32>, %dy: tensor<?x1024xbf16>) -> (tensor<?x1024xbf16>, tensor<1024x1xf32>) {
  %n = hk.constant 1024.0 : tensor<f32>
  %g = hk.mul %dy, %w : tensor<?x1024xbf16>, tensor<1024xbf16> -> tensor<?x1024xf32>
  %gx = hk.mul %g, %x : tensor<?x1024xf32>, tensor<?x1024xbf16>
  %sum = hk.reduce sum %gx : tensor<?x1024xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %r2 = hk.mul %r, %r : tensor<?x1xf32>
  %k = hk.mul %mean, %r2 : tensor<?x1xf32>
  %xk = hk.mul %x, %k : tensor<?x1024xbf16>, tensor<?x1xf32> -> tensor<?x1024xf32>
  %d = hk.sub %g, %xk : tensor<?x1024xf32>
  %dx = hk.mul %d, %r : tensor<?x1024xf32>, tensor<?x1xf32> -> tensor<?x1024xbf16>
  %xr = hk.mul %x, %r : tensor<?x1024xbf16>, tensor<?x1xf32> -> tensor<?x1024xf32>
  %p = hk.mul %dy, %xr : tensor<?x1024xbf16>, tensor<?x1024xf32> -> tensor<?x1024xf32>
  %pt = hk.transpose %p [1, 0] : tensor<?x1024xf32> -> tensor<1024x?xf32>
  %dw = hk.reduce sum %pt : tensor<1024x?xf32> -> tensor<1024x1xf32>
  return %dx, %dw : tensor<?x1024xbf16>, tensor<1024x1xf32>
}
// With the gradient of the residual stream, which the sum passes to both of its operands.
func.func @add_f32_173(%x: tensor<?x173xf32>, %w: tensor<173xf32>, %r: tensor<?x1xf32>, %dy: tensor<?x173xf32>, %ds: tensor<?x173xf32>) -> (tensor<?x173xf32>, tensor<173x1xf32>) {
  %n = hk.constant 173.0 : tensor<f32>
  %g = hk.mul %dy, %w : tensor<?x173xf32>, tensor<173xf32>
  %gx = hk.mul %g, %x : tensor<?x173xf32>
  %sum = hk.reduce sum %gx : tensor<?x173xf32> -> tensor<?x1xf32>
  %mean = hk.div %sum, %n : tensor<?x1xf32>, tensor<f32>
  %r2 = hk.mul %r, %r : tensor<?x1xf32>
  %k = hk.mul %mean, %r2 : tensor<?x1xf32>
  %xk = hk.mul %x, %k : tensor<?x173xf32>, tensor<?x1xf32>
  %d = hk.sub %g, %xk : tensor<?x173xf32>
  %dn = hk.mul %d, %r : tensor<?x173xf32>, tensor<?x1xf32>
  %dx = hk.add %dn, %ds : tensor<?x173xf32>
  %xr = hk.mul %x, %r : tensor<?x173xf32>, tensor<?x1xf32>
  %p = hk.mul %dy, %xr : tensor<?x173xf32>
  %pt = hk.transpose %p [1, 0] : tensor<?x173xf32> -> tensor<173x?xf32>
  %dw = hk.reduce sum %pt : tensor<173x?xf32> -> tensor<173x1xf32>
  return %dx, %dw : tensor<?x173xf32>, tensor<173x1xf32>
}
