// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: func @scan
func.func @scan(%g: tensor<2x?x4xbf16>, %cu: tensor<?xi32>, %m: tensor<?xi1>) {
  // CHECK: hk.cumsum inclusive %{{.*}} bounds %{{.*}} dim 1 chunk 64 : tensor<2x?x4xbf16> bounds tensor<?xi32> -> tensor<2x?x4xf32>
  %0 = hk.cumsum inclusive %g bounds %cu dim 1 chunk 64 : tensor<2x?x4xbf16> bounds tensor<?xi32> -> tensor<2x?x4xf32>
  // CHECK: hk.cumsum exclusive %{{.*}} dim 1 reverse : tensor<2x?x4xbf16>
  %1 = hk.cumsum exclusive %g dim 1 reverse : tensor<2x?x4xbf16>
  // CHECK: hk.cumsum offsets %{{.*}} : tensor<?xi1> -> tensor<?xi64>
  %2 = hk.cumsum offsets %m : tensor<?xi1> -> tensor<?xi64>
  return
}

// CHECK-LABEL: func @routing
func.func @routing(%ids: tensor<?xi32>, %bits: tensor<4x?xi32>, %cu: tensor<9xi32>, %q: tensor<?x8xbf16>) {
  // CHECK: hk.histogram %{{.*}} : tensor<?xi32> -> tensor<128xi32>
  %0 = hk.histogram %ids : tensor<?xi32> -> tensor<128xi32>
  // CHECK: hk.count_bits %{{.*}} : tensor<4x?xi32> -> tensor<100xi32>
  %1 = hk.count_bits %bits : tensor<4x?xi32> -> tensor<100xi32>
  // CHECK: hk.count_bits %{{.*}} block 16 : tensor<4x?xi32> -> tensor<100xi32>, tensor<?x100xi32>
  %12, %13 = hk.count_bits %bits block 16 : tensor<4x?xi32> -> tensor<100xi32>, tensor<?x100xi32>
  // CHECK: hk.sort_by_key %{{.*}} bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %2, %3 = hk.sort_by_key %ids bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  // CHECK: hk.sort_by_key %{{.*}} bins 128 block 16 : tensor<?xi32> -> tensor<4096xi32>, tensor<?xi32>
  %4, %5 = hk.sort_by_key %ids bins 128 block 16 : tensor<?xi32> -> tensor<4096xi32>, tensor<?xi32>
  // CHECK: hk.segments bounds %{{.*}} items %{{.*}} block 64 : tensor<9xi32> items tensor<?x8xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  %6, %7, %8 = hk.segments bounds %cu items %q block 64 : tensor<9xi32> items tensor<?x8xbf16> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  // CHECK: hk.segments lengths %{{.*}} : tensor<128xi32> -> tensor<64xi32>, tensor<64xi32>, tensor<129xi32>
  %9, %10, %11 = hk.segments lengths %0 : tensor<128xi32> -> tensor<64xi32>, tensor<64xi32>, tensor<129xi32>
  return
}
