// RUN: hk-opt %s --hk-bufferize | FileCheck %s
// Launches that share a tensor.empty get memory of their own: the second would
// overwrite what the third reads.

hk.kernel @neg rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
    %y = hk.neg %x : tensor<4xf32>
    hk.yield %y : tensor<4xf32>
  }
}
hk.kernel @add rowwise inputs 2 shapes [#hk.shape<[4]>, #hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4xf32>):
    %z = hk.add %x, %y : tensor<4xf32>
    hk.yield %z : tensor<4xf32>
  }
}
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>)
// CHECK-COUNT-2: memref.alloc
// CHECK: hk.launch @neg ins(%[[X]] : memref<4xf32>) outs(%[[A:.*]] :
// CHECK: hk.launch @neg ins(%[[A]] : memref<4xf32>) outs(%[[B:.*]] :
// CHECK: hk.launch @add ins(%[[A]], %[[B]] : {{.*}}) outs(%[[Y]] :
// CHECK-NOT: memref.copy
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = hk.launch @neg ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  %1 = hk.launch @neg ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  %2 = hk.launch @add ins(%0, %1 : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
