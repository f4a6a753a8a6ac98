// HK-LAUNCHES: 1
// HK-ARGS: --range=t=-1:100 --range=table=-2:70
// HK-DIMS: x.0=37 t.0=37
// HK-DIMS: x.0=1 t.0=1
// HK-DIMS: x.0=0 t.0=0
// HK-DATA: normal,nan

// Experts from a table by token (hash layers): the weights are gathered.
func.func @hash(%x: tensor<?x64xf32>, %table: tensor<100x4xi32>, %t: tensor<?xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %p = hk.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %i = hk.gather_rows %table, %t : tensor<100x4xi32>, tensor<?xi32> -> tensor<?x4xi32>
  %w = hk.gather_last %p, %i : tensor<?x64xf32>, tensor<?x4xi32> -> tensor<?x4xf32>
  return %w, %i : tensor<?x4xf32>, tensor<?x4xi32>
}
