// RUN: hk-opt %s -canonicalize -cse | FileCheck %s

// A widening and its inverse give back the operand; a narrowing rounds.
// CHECK-LABEL: func @casts
// CHECK-SAME: %[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xf32>
func.func @casts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf8E5M2>) {
  %0 = hk.cast %x : tensor<4xbf16> -> tensor<4xf32>
  %1 = hk.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: %[[N:.*]] = hk.cast %[[Y]] : tensor<4xf32> -> tensor<4xbf16>
  %2 = hk.cast %y : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: %[[W:.*]] = hk.cast %[[N]] : tensor<4xbf16> -> tensor<4xf32>
  %3 = hk.cast %2 : tensor<4xbf16> -> tensor<4xf32>
  %4 = hk.cast %y : tensor<4xf32> -> tensor<4xf32>
  // An infinity of f8E5M2 would saturate on the way back.
  // CHECK: %[[S:.*]] = hk.cast %[[Y]] : tensor<4xf32> -> tensor<4xf8E5M2>
  %5 = hk.cast %y : tensor<4xf32> -> tensor<4xf8E5M2>
  // CHECK: hk.cast
  %6 = hk.cast %5 : tensor<4xf8E5M2> -> tensor<4xf32>
  // CHECK: %[[B:.*]] = hk.cast
  %7 = hk.cast %6 : tensor<4xf32> -> tensor<4xf8E5M2>
  // CHECK: return %[[X]], %[[W]], %[[Y]], %[[B]]
  return %1, %3, %4, %7 : tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf8E5M2>
}

// Products of narrow elements are exact; casts of both operands are needless.
// CHECK-LABEL: func @widened
// CHECK-SAME: %[[X:.*]]: tensor<?x8xbf16>, %[[W:.*]]: tensor<16x8xbf16>, %[[V:.*]]: tensor<16x8xf16>, %[[F:.*]]: tensor<16x8xf32>
func.func @widened(%x: tensor<?x8xbf16>, %w: tensor<16x8xbf16>, %v: tensor<16x8xf16>, %f: tensor<16x8xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>) {
  %0 = hk.cast %x : tensor<?x8xbf16> -> tensor<?x8xf32>
  %1 = hk.cast %w : tensor<16x8xbf16> -> tensor<16x8xf32>
  %2 = hk.cast %v : tensor<16x8xf16> -> tensor<16x8xf32>
  // CHECK: %[[Y:.*]] = hk.matmul %[[X]], %[[W]]  transpose_b : tensor<?x8xbf16>, tensor<16x8xbf16>  -> tensor<?x16xf32>
  %3 = hk.matmul %0, %1 transpose_b : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  // One operand alone, or of two types, would make a mixed product of it.
  // CHECK: hk.matmul {{.*}}: tensor<?x8xf32>, tensor<16x8xf32>
  %4 = hk.matmul %0, %2 transpose_b : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  // CHECK: hk.matmul {{.*}}: tensor<?x8xf32>, tensor<16x8xf32>
  %5 = hk.matmul %0, %f transpose_b : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %3, %4, %5 : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>
}

// Launches on tensors are values: equal ones merge, unused ones go.
// CHECK-LABEL: func @values
// CHECK: %[[Y:.*]] = hk.launch
// CHECK-NOT: hk.launch
// CHECK: return %[[Y]], %[[Y]]
func.func @values(%x: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = hk.launch @k ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  %1 = hk.launch @k ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  %2 = hk.launch @k ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// On memory they are effects and stay.
// CHECK-LABEL: func @effects
// CHECK-COUNT-2: hk.launch
func.func @effects(%x: memref<4xf32>, %e: memref<4xf32>) {
  hk.launch @k ins(%x : memref<4xf32>) outs(%e : memref<4xf32>) reads [false]
  hk.launch @k ins(%x : memref<4xf32>) outs(%e : memref<4xf32>) reads [false]
  return
}

// CHECK-LABEL: func @constants
// CHECK: %[[C:.*]] = hk.constant 1.000000e+00 : tensor<f32>
// CHECK: return %[[C]], %[[C]]
func.func @constants() -> (tensor<f32>, tensor<f32>) {
  %0 = hk.constant 1.0 : tensor<f32>
  %1 = hk.constant 1.0 : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
    hk.yield %a : tensor<4xf32>
  }
}

// Two transposes are one; none is needed for a product, which has an orientation.
// CHECK-LABEL: func @transposes
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<2x5x4xf32>
func.func @transposes(%x: tensor<2x3x4xf32>, %w: tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4x2xf32>, tensor<2x3x5xf32>, tensor<2x3x3xf32>, tensor<3x4x5xf32>) {
  %0 = hk.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %1 = hk.transpose %0 [0, 2, 1] : tensor<2x4x3xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[R:.*]] = hk.transpose %[[X]] [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %2 = hk.transpose %0 [2, 1, 0] : tensor<2x4x3xf32> -> tensor<3x4x2xf32>
  %3 = hk.transpose %w [0, 2, 1] : tensor<2x5x4xf32> -> tensor<2x4x5xf32>
  // CHECK: %[[P:.*]] = hk.matmul %[[X]], %[[W]] transpose_b
  %4 = hk.matmul %x, %3 : tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>
  // CHECK: %[[Q:.*]] = hk.matmul %[[X]], %[[X]] transpose_b
  %5 = hk.matmul %0, %0 transpose_a : tensor<2x4x3xf32>, tensor<2x4x3xf32> -> tensor<2x3x3xf32>
  // The batch moves too: no orientation of the product.
  // CHECK: hk.matmul %[[R]],
  %6 = hk.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %7 = hk.constant 1.0 : tensor<2x5xf32>
  %8 = hk.matmul %6, %7 : tensor<3x4x2xf32>, tensor<2x5xf32> -> tensor<3x4x5xf32>
  // CHECK: return %[[X]], %[[R]], %[[P]], %[[Q]]
  return %1, %2, %4, %5, %8 : tensor<2x3x4xf32>, tensor<3x4x2xf32>, tensor<2x3x5xf32>, tensor<2x3x3xf32>, tensor<3x4x5xf32>
}
