// The 2048 best of a context of dynamic length, also of less than 2048.
// HK-LAUNCHES: 1
// HK-DIMS: x.0=2 x.1=5003
// HK-DIMS: x.0=3 x.1=2048
// HK-DIMS: x.0=2 x.1=100
// HK-DIMS: x.0=1 x.1=1
// HK-DIMS: x.0=2 x.1=0
// HK-DIMS: x.0=0 x.1=5003
// HK-DATA: normal,equal,nan

func.func @by_value(%x: tensor<?x?xf32>) -> (tensor<?x2048xf32>, tensor<?x2048xi32>) {
  %v, %i = hk.topk %x : tensor<?x?xf32> -> tensor<?x2048xf32>, tensor<?x2048xi32>
  return %v, %i : tensor<?x2048xf32>, tensor<?x2048xi32>
}
func.func @by_index(%x: tensor<?x?xf32>) -> (tensor<?x40xf32>, tensor<?x40xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x?xf32> -> tensor<?x40xf32>, tensor<?x40xi32>
  return %v, %i : tensor<?x40xf32>, tensor<?x40xi32>
}
