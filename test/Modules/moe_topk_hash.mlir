// HK-LAUNCHES: 1
// HK-ARGS: --range=t=-1:100 --range=table=-2:70
// HK-DIMS: x.0=37 t.0=37
// HK-DIMS: x.0=1 t.0=1
// HK-DIMS: x.0=0 t.0=0
// HK-DATA: normal,nan

// Experts from a table by token (hash layers): the weights are gathered.
func.func @hash(%x: tensor<?x64xf32>, %table: tensor<100x4xi32>, %t: tensor<?xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %p = hk.softmax %x : tensor<?x64xf32>
  %i = hk.gather_rows %table, %t : tensor<100x4xi32>, tensor<?xi32> -> tensor<?x4xi32>
  %w = hk.gather_last %p, %i : tensor<?x64xf32>, tensor<?x4xi32> -> tensor<?x4xf32>
  return %w, %i : tensor<?x4xf32>, tensor<?x4xi32>
}
// With scores of sqrt(softplus), renormalised and scaled, and the bit matrix.
func.func @sqrt_softplus(%x: tensor<?x64xbf16>, %table: tensor<100x4xi32>, %t: tensor<?xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>, tensor<2x?xi32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %eps = hk.constant 1.0e-20 : tensor<f32>
  %factor = hk.constant 2.5 : tensor<f32>
  %f = hk.cast %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  %r = hk.relu %f : tensor<?x64xf32>
  %a = hk.abs %f : tensor<?x64xf32>
  %n = hk.neg %a : tensor<?x64xf32>
  %e = hk.exp %n : tensor<?x64xf32>
  %o = hk.add %e, %one : tensor<?x64xf32>, tensor<f32>
  %l = hk.log %o : tensor<?x64xf32>
  %p = hk.add %r, %l : tensor<?x64xf32>
  %q = hk.sqrt %p : tensor<?x64xf32>
  %i = hk.gather_rows %table, %t : tensor<100x4xi32>, tensor<?xi32> -> tensor<?x4xi32>
  %g = hk.gather_last %q, %i : tensor<?x64xf32>, tensor<?x4xi32> -> tensor<?x4xf32>
  %s = hk.reduce sum %g : tensor<?x4xf32> -> tensor<?x1xf32>
  %d = hk.add %s, %eps : tensor<?x1xf32>, tensor<f32>
  %w = hk.div %g, %d : tensor<?x4xf32>, tensor<?x1xf32>
  %y = hk.mul %w, %factor : tensor<?x4xf32>, tensor<f32>
  %b = hk.bitmatrix %i : tensor<?x4xi32> -> tensor<?x2xi32>
  %bt = hk.transpose %b [1, 0] : tensor<?x2xi32> -> tensor<2x?xi32>
  return %y, %i, %bt : tensor<?x4xf32>, tensor<?x4xi32>, tensor<2x?xi32>
}
