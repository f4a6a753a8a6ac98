// Large reductions over everything take two steps.
// RUN: hk-opt %s --hk-split-reductions | FileCheck %s

// Rows first, in f32; then their results, rounded at the end.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[P:.*]] = hk.reduce sum %arg0 : tensor<?x64xbf16> -> tensor<?x1xf32>
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[P]] {{\[\[}}0, 1]] : tensor<?x1xf32> into tensor<?xf32>
// CHECK: %[[E:.*]] = tensor.expand_shape %[[C]] {{\[\[}}0, 1]] output_shape [1, %{{.*}}] : tensor<?xf32> into tensor<1x?xf32>
// CHECK: %[[R:.*]] = hk.reduce sum %[[E]] : tensor<1x?xf32> -> tensor<1x1xbf16>
// CHECK: return %[[R]]
func.func @dynamic(%x: tensor<?x64xbf16>) -> tensor<1x1xbf16> {
  %0 = hk.reduce sum %x {dims = 2 : i64} : tensor<?x64xbf16> -> tensor<1x1xbf16>
  return %0 : tensor<1x1xbf16>
}

// Three dims: two steps, and a third where rows of the second are large.
// CHECK-LABEL: func.func @three
// CHECK: hk.reduce max %arg0 : tensor<?x?x64xf32> -> tensor<?x?x1xf32>
// CHECK: hk.reduce max %{{.*}} : tensor<1x?x?xf32> -> tensor<1x?x1xf32>
// CHECK: hk.reduce max %{{.*}} : tensor<1x1x?xf32> -> tensor<1x1x1xf32>
func.func @three(%x: tensor<?x?x64xf32>) -> tensor<1x1x1xf32> {
  %0 = hk.reduce max %x {dims = 3 : i64} : tensor<?x?x64xf32> -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

// One long row of static size is cut in equal parts.
// CHECK-LABEL: func.func @long
// CHECK: tensor.expand_shape %arg0 {{\[\[}}0, 1]] output_shape [1000, 1000]
// CHECK: hk.reduce sum %{{.*}} : tensor<1000x1000xf32> -> tensor<1000x1xf32>
// CHECK: hk.reduce sum %{{.*}} : tensor<1000xf32> -> tensor<1xf32>
func.func @long(%x: tensor<1000000xf32>) -> tensor<1xf32> {
  %0 = hk.reduce sum %x : tensor<1000000xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// What is computed element by element in front of it goes with the parts.
// CHECK-LABEL: func.func @square
// CHECK: %[[X:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1]] output_shape [1000, 1000]
// CHECK: %[[F:.*]] = hk.cast %[[X]] : tensor<1000x1000xbf16> -> tensor<1000x1000xf32>
// CHECK: %[[S:.*]] = hk.mul %[[F]], %[[F]] : tensor<1000x1000xf32>
// CHECK: %[[M:.*]] = hk.mul %[[S]], %arg1 : tensor<1000x1000xf32>, tensor<f32>
// CHECK: hk.reduce sum %[[M]] : tensor<1000x1000xf32> -> tensor<1000x1xf32>
func.func @square(%x: tensor<1000000xbf16>, %scale: tensor<f32>) -> tensor<1xf32> {
  %f = hk.cast %x : tensor<1000000xbf16> -> tensor<1000000xf32>
  %s = hk.mul %f, %f : tensor<1000000xf32>, tensor<1000000xf32> -> tensor<1000000xf32>
  %m = hk.mul %s, %scale : tensor<1000000xf32>, tensor<f32> -> tensor<1000000xf32>
  %0 = hk.reduce sum %m : tensor<1000000xf32> -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// It stays where somebody else reads it.
// CHECK-LABEL: func.func @square_kept
// CHECK: %[[S:.*]] = hk.mul
// CHECK: tensor.expand_shape %[[S]]
func.func @square_kept(%x: tensor<1000000xf32>) -> (tensor<1000000xf32>, tensor<1xf32>) {
  %s = hk.mul %x, %x : tensor<1000000xf32>, tensor<1000000xf32> -> tensor<1000000xf32>
  %0 = hk.reduce sum %s : tensor<1000000xf32> -> tensor<1xf32>
  return %s, %0 : tensor<1000000xf32>, tensor<1xf32>
}

// Not touched: small ones, rows that are not alone, a prime number of elements, a
// row of unknown size.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: hk.reduce sum %arg0 {dims = 2 : i64} : tensor<16x64xf32>
// CHECK-NEXT: hk.reduce sum %arg1 : tensor<?x1000000xf32>
// CHECK-NEXT: hk.reduce sum %arg2 : tensor<65537xf32>
// CHECK-NEXT: hk.reduce sum %arg3 : tensor<?xf32>
// CHECK-NEXT: return
func.func @alone(%a: tensor<16x64xf32>, %b: tensor<?x1000000xf32>, %c: tensor<65537xf32>, %d: tensor<?xf32>) -> (tensor<1x1xf32>, tensor<?x1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0 = hk.reduce sum %a {dims = 2 : i64} : tensor<16x64xf32> -> tensor<1x1xf32>
  %1 = hk.reduce sum %b : tensor<?x1000000xf32> -> tensor<?x1xf32>
  %2 = hk.reduce sum %c : tensor<65537xf32> -> tensor<1xf32>
  %3 = hk.reduce sum %d : tensor<?xf32> -> tensor<1xf32>
  return %0, %1, %2, %3 : tensor<1x1xf32>, tensor<?x1xf32>, tensor<1xf32>, tensor<1xf32>
}
