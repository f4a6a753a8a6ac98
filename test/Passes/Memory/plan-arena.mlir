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
// Bytes that 63 bits do not count are more than any workspace has.
// CHECK: %[[REAL:.+]] = arith.sitofp
// CHECK: %[[PRODUCT:.+]] = arith.mulf %[[REAL]], %cst
// CHECK: %[[LARGE:.+]] = arith.cmpf ogt, %[[PRODUCT]]
// CHECK: %[[NEEDED:.+]] = arith.select %[[LARGE]], %c9223372036854775807, %[[BYTES]]
// CHECK: return %[[N]], %c64, %[[NEEDED]]
func.func private @chain__shape(%x: memref<?x64xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %d = memref.dim %x, %c0 : memref<?x64xf32>
  return %d, %c64 : index, index
}

hk.kernel @pairs rowwise inputs 1 shapes [#hk.shape<[d0, d1]>, #hk.shape<[d0, d1]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<?x?xf32>, %o: tensor<?x?xf32>):
    %y = hk.neg %x : tensor<?x?xf32>
    hk.yield %y : tensor<?x?xf32>
  }
}

hk.kernel @halves rowwise inputs 1 shapes [#hk.shape<[d0, d1]>, #hk.shape<[d0, d1]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<?x?xf32>, %o: tensor<?x?xbf16>):
    %y = hk.cast %x : tensor<?x?xf32> -> tensor<?x?xbf16>
    hk.yield %y : tensor<?x?xbf16>
  }
}

// Temporaries of 4 and of 2 bytes a pair take six bytes a pair, not 512: the pairs
// are rounded up to a multiple of 128, so that both begin at multiples of 256.
// CHECK-LABEL: func.func @narrow(
// CHECK: %[[UNITS:.+]] = arith.muli
// CHECK: %[[MORE:.+]] = arith.addi %[[UNITS]], %c127
// CHECK: %[[WHOLE:.+]] = arith.andi %[[MORE]], %c-128
// CHECK: %[[BEHIND:.+]] = arith.muli %[[WHOLE]], %c4
// CHECK: memref.view %{{.+}}[%c0][{{.+}}] : memref<?xi8> to memref<?x?xf32>
// CHECK: memref.view %{{.+}}[%[[BEHIND]]][{{.+}}] : memref<?xi8> to memref<?x?xbf16>
func.func @narrow(%x: memref<?x?xf32>, %y: memref<?x?xbf16> {hk.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = memref.dim %x, %c0 : memref<?x?xf32>
  %e = memref.dim %x, %c1 : memref<?x?xf32>
  %a = memref.alloc(%d, %e) : memref<?x?xf32>
  hk.launch @pairs ins(%x : memref<?x?xf32>) outs(%a : memref<?x?xf32>) reads [false]
  %b = memref.alloc(%d, %e) : memref<?x?xbf16>
  hk.launch @halves ins(%a : memref<?x?xf32>) outs(%b : memref<?x?xbf16>) reads [false]
  hk.launch @halves ins(%a : memref<?x?xf32>) outs(%y : memref<?x?xbf16>) reads [false]
  hk.launch @halves ins(%x : memref<?x?xf32>) outs(%b : memref<?x?xbf16>) reads [false]
  return
}
// CHECK-LABEL: func.func private @narrow__shape(
// CHECK: %[[BYTES:.+]] = arith.muli %{{.+}}, %c6
// CHECK: %[[NEEDED:.+]] = arith.select %{{.+}}, %c9223372036854775807, %[[BYTES]]
// CHECK: return %{{.+}}, %{{.+}}, %[[NEEDED]]
func.func private @narrow__shape(%x: memref<?x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = memref.dim %x, %c0 : memref<?x?xf32>
  %e = memref.dim %x, %c1 : memref<?x?xf32>
  return %d, %e : index, index
}
