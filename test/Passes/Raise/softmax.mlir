// Softmax out of exponentials, and what only looks like it.
// RUN: hk-opt %s --hk-raise=check --split-input-file | FileCheck %s
// RUN: hk-opt %s --hk-raise --split-input-file --remarks-filter='hk.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK-LABEL: func @quotient(
// CHECK-NEXT: hk.softmax %arg0 : tensor<?x33xf32> -> tensor<?x33xbf16>
// CHECK-NEXT: return
func.func @quotient(%x: tensor<?x33xf32>) -> tensor<?x33xbf16> {
  %m = hk.reduce max %x : tensor<?x33xf32> -> tensor<?x1xf32>
  %d = hk.sub %x, %m : tensor<?x33xf32>, tensor<?x1xf32>
  %e = hk.exp %d : tensor<?x33xf32>
  %s = hk.reduce sum %e : tensor<?x33xf32> -> tensor<?x1xf32>
  %p = hk.div %e, %s : tensor<?x33xf32>, tensor<?x1xf32> -> tensor<?x33xbf16>
  return %p : tensor<?x33xbf16>
}

// -----

// The probabilities of an attention.
// CHECK-LABEL: func @attention(
// CHECK: hk.attention %{{.*}}, %arg1, %arg2 scale 1.000000e+00 key_layout
func.func @attention(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x5x16xf32>, %v: tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32> {
  %x = hk.matmul %q, %k transpose_b : tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x5xf32>
  %m = hk.reduce max %x : tensor<2x4x5x5xf32> -> tensor<2x4x5x1xf32>
  %d = hk.sub %x, %m : tensor<2x4x5x5xf32>, tensor<2x4x5x1xf32>
  %e = hk.exp %d : tensor<2x4x5x5xf32>
  %s = hk.reduce sum %e : tensor<2x4x5x5xf32> -> tensor<2x4x5x1xf32>
  %r = hk.reciprocal %s : tensor<2x4x5x1xf32>
  %p = hk.mul %r, %e : tensor<2x4x5x1xf32>, tensor<2x4x5x5xf32> -> tensor<2x4x5x5xf32>
  %o = hk.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32> -> tensor<2x4x5x16xf32>
  return %o : tensor<2x4x5x16xf32>
}

// -----

// Without the maximum large numbers are not those of a softmax; the maximum of another
// tensor; a sum of two dims; a sum that is rounded.
// CHECK-LABEL: func @others(
// CHECK-NOT: hk.softmax
// CHECK: return
// WHY-COUNT-2: Reason="other-formula: exp is not of x - max(x)
// WHY: Reason="rounds-between: its parts are rounded
func.func @others(%x: tensor<3x4x33xf32>, %y: tensor<3x4x33xf32>) -> (tensor<3x4x33xf32>, tensor<3x4x33xf32>, tensor<3x4x33xf32>, tensor<3x4x33xf32>) {
  %e = hk.exp %x : tensor<3x4x33xf32>
  %s = hk.reduce sum %e : tensor<3x4x33xf32> -> tensor<3x4x1xf32>
  %p = hk.div %e, %s : tensor<3x4x33xf32>, tensor<3x4x1xf32>
  %m = hk.reduce max %y : tensor<3x4x33xf32> -> tensor<3x4x1xf32>
  %d1 = hk.sub %x, %m : tensor<3x4x33xf32>, tensor<3x4x1xf32>
  %e1 = hk.exp %d1 : tensor<3x4x33xf32>
  %s1 = hk.reduce sum %e1 : tensor<3x4x33xf32> -> tensor<3x4x1xf32>
  %p1 = hk.div %e1, %s1 : tensor<3x4x33xf32>, tensor<3x4x1xf32>
  %m2 = hk.reduce max %x : tensor<3x4x33xf32> -> tensor<3x4x1xf32>
  %d2 = hk.sub %x, %m2 : tensor<3x4x33xf32>, tensor<3x4x1xf32>
  %e2 = hk.exp %d2 : tensor<3x4x33xf32>
  %s2 = hk.reduce sum %e2 dims 2 : tensor<3x4x33xf32> -> tensor<3x1x1xf32>
  %p2 = hk.div %e2, %s2 : tensor<3x4x33xf32>, tensor<3x1x1xf32>
  %s3 = hk.reduce sum %e2 : tensor<3x4x33xf32> -> tensor<3x4x1xbf16>
  %p3 = hk.div %e2, %s3 : tensor<3x4x33xf32>, tensor<3x4x1xbf16>
  return %p, %p1, %p2, %p3 : tensor<3x4x33xf32>, tensor<3x4x33xf32>, tensor<3x4x33xf32>, tensor<3x4x33xf32>
}
