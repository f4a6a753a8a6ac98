// What a view demands and nothing proves becomes a guard.
// RUN: hk-opt %s --hk-guard-views | FileCheck %s

// CHECK-LABEL: func.func @last_row
// CHECK: %[[N:.+]] = tensor.dim %{{.+}}, %c0
// CHECK: %[[L:.+]] = arith.subi %[[N]], %c1
// CHECK: hk.guard ge %[[L]], %c0{{.*}} names ["the offset of a slice of x in dim 0", "the least offset"]
// CHECK: %[[E:.+]] = arith.addi %[[L]], %c1
// CHECK: hk.guard le %[[E]], %{{.+}} names ["the end of a slice of x in dim 0", "x dim 0"]
// CHECK-NOT: hk.guard
func.func @last_row(%x: tensor<?x64xf32> {hk.name = "x"}) -> tensor<1x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %l = arith.subi %n, %c1 : index
  %s = tensor.extract_slice %x[%l, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<1x64xf32>
  return %s : tensor<1x64xf32>
}

// The first 8 of any number of rows, every third: rows 0 to 21 are read.
// CHECK-LABEL: func.func @first
// CHECK: hk.guard le %c22{{.*}}, %{{.+}} names ["the end of a slice of arg0 in dim 0", "arg0 dim 0"]
// CHECK-NOT: hk.guard
func.func @first(%x: tensor<?x64xf32>) -> tensor<8x64xf32> {
  %s = tensor.extract_slice %x[0, 0] [8, 64] [3, 1] : tensor<?x64xf32> to tensor<8x64xf32>
  return %s : tensor<8x64xf32>
}

// Whole dims and static ones need none.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: hk.guard
func.func @columns(%x: tensor<?x64xf32>, %y: tensor<16x64xf32>) -> (tensor<?x32xf32>, tensor<8x64xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %s = tensor.extract_slice %x[0, 32] [%n, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %t = tensor.extract_slice %y[8, 0] [8, 64] [1, 1] : tensor<16x64xf32> to tensor<8x64xf32>
  return %s, %t : tensor<?x32xf32>, tensor<8x64xf32>
}

// A division loses the remainder.
// CHECK-LABEL: func.func @groups
// CHECK: %[[M:.+]] = arith.divui %[[N:.+]], %c8
// CHECK: hk.guard ge %[[M]], %{{.+}} names ["the size of dim 0 of the expanded shape of arg0", "the least size"]
// CHECK: %[[P:.+]] = arith.muli %[[M]], %c8
// CHECK: hk.guard eq %[[P]], %{{.+}} names ["the product of dims 0 to 1 of the expanded shape of arg0", "arg0 dim 0"]
// CHECK-NOT: hk.guard
func.func @groups(%x: tensor<?x64xf32>) -> tensor<?x8x64xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %m = arith.divui %n, %c8 : index
  %s = tensor.expand_shape %x [[0, 1], [2]] output_shape [%m, 8, 64] : tensor<?x64xf32> into tensor<?x8x64xf32>
  return %s : tensor<?x8x64xf32>
}

// What was collapsed, or only gets dims of size 1, can be expanded again.
// CHECK-LABEL: func.func @back
// CHECK-NOT: hk.guard
func.func @back(%x: tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x1x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %t = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %f = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  %e = tensor.expand_shape %f [[0, 1], [2]] output_shape [%b, %t, 8] : tensor<?x8xf32> into tensor<?x?x8xf32>
  %o = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [%b, 1, %t, 8] : tensor<?x?x8xf32> into tensor<?x1x?x8xf32>
  return %e, %o : tensor<?x?x8xf32>, tensor<?x1x?x8xf32>
}
