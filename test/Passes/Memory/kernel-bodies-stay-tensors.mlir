// RUN: hk-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s
// One-shot bufferization skips nested symbol tables. hk relies on it: the body of a
// kernel is its meaning and stays on tensors.

// CHECK: ^bb0(%{{.+}}: tensor<4xf32>, %{{.+}}: tensor<4xf32>):
// CHECK: hk.neg {{.*}} : tensor<4xf32>
hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
    %y = hk.neg %x : tensor<4xf32>
    hk.yield %y : tensor<4xf32>
  }
}
// CHECK-LABEL: func.func @f(
// CHECK-SAME: memref<4xf32>
// CHECK: hk.launch @k ins(%{{.+}} : memref<4xf32>) outs(%{{.+}} : memref<4xf32>)
// CHECK-NOT: memref.copy
func.func @f(%x: tensor<4xf32> {bufferization.writable = false}, %y: tensor<4xf32> {bufferization.writable = true}) -> tensor<4xf32> {
  %0 = hk.launch @k ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
