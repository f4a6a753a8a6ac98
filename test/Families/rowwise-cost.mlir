// Fusion asks what one kernel would cost: the row that a cluster of sm_90a keeps in
// registers for a softmax is read three times where the same kernel also reduces what
// parts of it gave. A short row is kept either way.
// RUN: hk-compile %s --target=sm_90a --explain --emit=mlir -o - | FileCheck %s

// CHECK: 2 launches in @long, 1 launches in @short
// CHECK: #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 16, cluster = 8>
// CHECK-DAG: not fused (costlier-fused): hk.reduce / join hk.softmax: one kernel is modelled to take {{[0-9.]+}} us for 1 rows, the two {{[0-9.]+}} at
func.func @long(%x: tensor<1x131072xf32>) -> (tensor<1x131072xf32>, tensor<1x1xf32>) {
  %y = hk.softmax %x : tensor<1x131072xf32>
  %m = hk.reduce max %x : tensor<1x131072xf32> -> tensor<1x1xf32>
  return %y, %m : tensor<1x131072xf32>, tensor<1x1xf32>
}

// CHECK-DAG: fused: hk.reduce / merge with hk.softmax: both read the same operand, saves 4096 bytes times its dynamic sizes
func.func @short(%x: tensor<?x1024xf32>) -> (tensor<?x1024xf32>, tensor<?x1xf32>) {
  %y = hk.softmax %x : tensor<?x1024xf32>
  %m = hk.reduce max %x : tensor<?x1024xf32> -> tensor<?x1xf32>
  return %y, %m : tensor<?x1024xf32>, tensor<?x1xf32>
}
