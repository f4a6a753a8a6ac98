// RUN: hk-opt -hk-fuse=disable=true -hk-outline %s | FileCheck %s

// Dims that are equal in the function are one symbol of the kernel.
// A state is read by its launch.
// CHECK: hk.kernel @add rowwise inputs 2 shapes [#hk.shape<[d0, 8]>, #hk.shape<[1, 8]>, #hk.shape<[d0, 8]>]
// CHECK: hk.kernel @kv_cache_write rowwise inputs 2 shapes [#hk.shape<[d0, 2, 4]>, #hk.shape<[d0]>, #hk.shape<[1, d1, 2, 4]>]
// CHECK: hk.launch @kv_cache_write {{.*}} reads [true]
module attributes {hk.target = #hk.target<"host">} {
func.func @f(%x: tensor<?x8xf32>, %y: tensor<1x8xf32>, %slots: tensor<?xi32>, %c: tensor<1x?x2x4xf32> {hk.state}) -> tensor<1x?x2x4xf32> {
  %c0 = arith.constant 0 : index
  %0 = hk.add %x, %y : tensor<?x8xf32>, tensor<1x8xf32>
  %d = tensor.dim %0, %c0 : tensor<?x8xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [%d, 2, 4] : tensor<?x8xf32> into tensor<?x2x4xf32>
  %2 = hk.kv_cache_write %1, %slots into %c : tensor<?x2x4xf32>, tensor<?xi32>, tensor<1x?x2x4xf32>
  return %2 : tensor<1x?x2x4xf32>
}
}
