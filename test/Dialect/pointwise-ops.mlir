// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @unary
func.func @unary(%x: tensor<?x64xbf16>, %y: tensor<4xf32>) {
  // CHECK: hk.neg %{{.*}} : tensor<?x64xbf16> -> tensor<?x64xf32>
  %0 = hk.neg %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  // CHECK: hk.abs
  %1 = hk.abs %x : tensor<?x64xbf16>
  // CHECK: hk.exp %
  %2 = hk.exp %x : tensor<?x64xbf16>
  // CHECK: hk.exp2
  %3 = hk.exp2 %x : tensor<?x64xbf16>
  // CHECK: hk.log %
  %4 = hk.log %x : tensor<?x64xbf16>
  // CHECK: hk.log2
  %5 = hk.log2 %x : tensor<?x64xbf16>
  // CHECK: hk.sqrt
  %6 = hk.sqrt %x : tensor<?x64xbf16>
  // CHECK: hk.rsqrt
  %7 = hk.rsqrt %x : tensor<?x64xbf16>
  // CHECK: hk.reciprocal
  %8 = hk.reciprocal %x : tensor<?x64xbf16>
  // CHECK: hk.sin
  %9 = hk.sin %y : tensor<4xf32> -> tensor<4xf16>
  // CHECK: hk.cos
  %10 = hk.cos %y : tensor<4xf32>
  // CHECK: hk.tanh
  %11 = hk.tanh %y : tensor<4xf32>
  // CHECK: hk.erf
  %12 = hk.erf %y : tensor<4xf32>
  // CHECK: hk.sigmoid
  %13 = hk.sigmoid %y : tensor<4xf32>
  // CHECK: hk.silu
  %14 = hk.silu %y : tensor<4xf32>
  // CHECK: hk.gelu %
  %15 = hk.gelu %y : tensor<4xf32>
  // CHECK: hk.gelu_tanh
  %16 = hk.gelu_tanh %y : tensor<4xf32>
  // CHECK: hk.relu
  %17 = hk.relu %y : tensor<4xf32>
  // CHECK: hk.floor
  %18 = hk.floor %y : tensor<4xf32>
  // CHECK: hk.round
  %19 = hk.round %y : tensor<4xf32>
  // CHECK: hk.softplus
  %20 = hk.softplus %y : tensor<4xf32>
  // CHECK: hk.expm1
  %22 = hk.expm1 %y : tensor<4xf32>
  // CHECK: hk.log1p
  %23 = hk.log1p %y : tensor<4xf32>
  // CHECK: hk.clamp %{{.*}} min -7.000000e+00 max 0x7F800000 : tensor<4xf32> -> tensor<4xbf16>
  %21 = hk.clamp %y min -7.0 max 0x7F800000 : tensor<4xf32> -> tensor<4xbf16>
  return
}

// CHECK-LABEL: func @binary
func.func @binary(%a: tensor<?x64xbf16>, %b: tensor<64xbf16>, %c: tensor<?x1xf32>,
                  %s: tensor<f32>, %i: tensor<8xi32>, %j: tensor<1xi32>) {
  // CHECK: hk.add %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64xbf16>
  %0 = hk.add %a, %b : tensor<?x64xbf16>, tensor<64xbf16>
  // CHECK: hk.sub %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?x1xf32> -> tensor<?x64xf32>
  %1 = hk.sub %a, %c : tensor<?x64xbf16>, tensor<?x1xf32> -> tensor<?x64xf32>
  // CHECK: hk.mul
  %2 = hk.mul %s, %a : tensor<f32>, tensor<?x64xbf16> -> tensor<?x64xf16>
  // CHECK: hk.div %{{.*}}, %{{.*}} : tensor<8xi32>, tensor<1xi32>
  %3 = hk.div %i, %j : tensor<8xi32>, tensor<1xi32>
  // CHECK: hk.max
  %4 = hk.max %a, %a : tensor<?x64xbf16>
  // An outer product.
  // CHECK: hk.min %{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<64xbf16> -> tensor<?x64xf32>
  %5 = hk.min %c, %b : tensor<?x1xf32>, tensor<64xbf16> -> tensor<?x64xf32>
  return
}

// CHECK-LABEL: func @choose
func.func @choose(%a: tensor<?x64xf32>, %b: tensor<64xf32>, %s: tensor<f32>) {
  // CHECK: hk.compare lt %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
  %c = hk.compare lt %a, %b : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xi1>
  // CHECK: hk.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %0 = hk.select %c, %a, %s : tensor<?x64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  // CHECK: hk.cast %{{.*}} : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>
  %1 = hk.cast %a : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>
  // CHECK: hk.constant 1.702000e+00 : tensor<f32>
  %2 = hk.constant 1.702 : tensor<f32>
  // CHECK: hk.constant dense<[1, 2]> : tensor<2xi32>
  %3 = hk.constant dense<[1, 2]> : tensor<2xi32>
  return
}

// CHECK-LABEL: func @count
func.func @count(%x: tensor<2x?x64xbf16>) {
  // CHECK: hk.iota : tensor<4096xi32>
  %0 = hk.iota : tensor<4096xi32>
  // CHECK: hk.iota like %{{.*}} dim 1 : tensor<?xf32> like tensor<2x?x64xbf16>
  %1 = hk.iota like %x dim 1 : tensor<?xf32> like tensor<2x?x64xbf16>
  // CHECK: hk.iota like %{{.*}} dim 0 : tensor<2xi64> like tensor<2x?x64xbf16>
  %2 = hk.iota like %x dim 0 : tensor<2xi64> like tensor<2x?x64xbf16>
  return
}
