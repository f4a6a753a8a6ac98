// RUN: hk-opt %s --hk-plan-arena --canonicalize --cse | FileCheck %s
// Temporaries with disjoint lives share bytes; a group of one dynamic size is
// planned in bytes per unit of it; the total is a result of the shape function.

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[d0, 64]>, #hk.shape<[d0, 64]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<?x64xf32>, %o: tensor<?x64xf32>):
    %y = hk.neg %x : tensor<?x64xf32>
    hk.yield %y : tensor<?x64xf32>
  }
}

// Four launches in a chain: three temporaries of 256 bytes a row, two alive at once.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.+]]: memref<?x64xf32>, %[[Y:.+]]: memref<?x64xf32> {hk.output}, %[[WS:.+]]: memref<?xi8>)
// CHECK: %[[D:.+]] = memref.dim %[[X]]
// CHECK: %[[HALF:.+]] = arith.muli %[[D]], %c256
// CHECK: %[[A:.+]] = memref.view %[[WS]][%c0][%[[D]]]
// CHECK: hk.launch @k ins(%[[X]] {{.*}} outs(%[[A]]
// CHECK: %[[B:.+]] = memref.view %[[WS]][%[[HALF]]][%[[D]]]
// CHECK: hk.launch @k ins(%[[A]] {{.*}} outs(%[[B]]
// CHECK: hk.launch @k ins(%[[B]] {{.*}} outs(%[[A]]
// CHECK: hk.launch @k ins(%[[A]] {{.*}} outs(%[[Y]]
func.func @chain(%x: memref<?x64xf32>, %y: memref<?x64xf32> {hk.output}) {
  %c0 = arith.constant 0 : index
  %d = memref.dim %x, %c0 : memref<?x64xf32>
  %a = memref.alloc(%d) : memref<?x64xf32>
  hk.launch @k ins(%x : memref<?x64xf32>) outs(%a : memref<?x64xf32>) reads [false]
  %b = memref.alloc(%d) : memref<?x64xf32>
  hk.launch @k ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>) reads [false]
  %c = memref.alloc(%d) : memref<?x64xf32>
  hk.launch @k ins(%b : memref<?x64xf32>) outs(%c : memref<?x64xf32>) reads [false]
  hk.launch @k ins(%c : memref<?x64xf32>) outs(%y : memref<?x64xf32>) reads [false]
  return
}
// CHECK-LABEL: func.func private @chain__shape(
// CHECK: %[[N:.+]] = memref.dim
// CHECK: %[[BYTES:.+]] = arith.muli %[[N]], %c512
// CHECK: return %[[N]], %c64, %[[BYTES]]
func.func private @chain__shape(%x: memref<?x64xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %d = memref.dim %x, %c0 : memref<?x64xf32>
  return %d, %c64 : index, index
}
