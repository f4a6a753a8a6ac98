// RUN: hk-opt %s --split-input-file --verify-diagnostics --hk-shard=mesh=tp=2

// A product whose columns are a norm's row cannot be cut.
// expected-error @+1 {{nothing in it can be cut along axis "tp": no product with a weight is followed, through operators that work on a part, by one that sums over its columns; annotate values with shard.shard}}
module {
hk.weight @w "w" : tensor<64x64xbf16>
func.func @f(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %w = hk.weight_ref @w : tensor<64x64xbf16>
  %0 = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  %1 = hk.softmax %0 : tensor<?x64xbf16>
  %2 = hk.matmul %1, %w : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
  return %2 : tensor<?x64xbf16>
}
}

// -----

// expected-error @+1 {{expected a module of one rank, but it is one of the mesh "tp=2"}}
module attributes {hk.mesh = "tp=2"} {
}

// -----

module {
// expected-error @+1 {{expected a grid with the axes of the mesh 'tp=2', in its order, sizes equal or '?'}}
shard.grid @mesh(shape = 4)
}

// -----

module {
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %s = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %0 = hk.softmax %x : tensor<?x64xbf16>
  // expected-error @+1 {{expected a value that is cut along dim 1 or a term of a sum along axis "tp", but it is whole; annotate the weight or the argument that it is made of}}
  %1 = shard.shard %0 to %s : tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}
}

// -----

module {
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x63xbf16>) -> tensor<4x63xbf16> {
  %s = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  // expected-error @+1 {{expected the size of dim 1 to be a multiple of 2, the ranks of axis "tp", but got 'tensor<4x63xbf16>'}}
  %1 = shard.shard %x to %s : tensor<4x63xbf16>
  return %1 : tensor<4x63xbf16>
}
}

// -----

module {
hk.weight @up "up" : tensor<45x64xbf16>
hk.weight @down "down" : tensor<64x45xbf16>
func.func @f(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %w = hk.weight_ref @up : tensor<45x64xbf16>
  %v = hk.weight_ref @down : tensor<64x45xbf16>
  // expected-error @+1 {{45 elements cannot be cut in 2 along axis "tp"; 3, 5, 9, 15 or 45 can share them; or keep it whole by annotating the weight of the product with a sharding of no axis}}
  %0 = hk.matmul %x, %w transpose_b : tensor<?x64xbf16>, tensor<45x64xbf16> -> tensor<?x45xbf16>
  %1 = hk.matmul %0, %v transpose_b : tensor<?x45xbf16>, tensor<64x45xbf16> -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}
}
