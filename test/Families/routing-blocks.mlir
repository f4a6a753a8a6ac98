// A sort of many keys, or of a number that only a call knows, is shared by blocks of 2048
// keys, at most 32; few keys, other counters beside the sort and counts alone have one block.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST

// CHECK-LABEL: hk.kernel @sort_by_key routing
// GPU: hk.launch_dims if %true grid(%c16, %c1, %c1)
// HOST: hk.launch_dims if %true grid(%c1, %c1, %c1)
func.func @many(%k: tensor<32768xi32>) -> tensor<32768xi32> {
  %order, %position = hk.sort_by_key %k bins 64 : tensor<32768xi32> -> tensor<32768xi32>, tensor<32768xi32>
  return %order : tensor<32768xi32>
}

// CHECK-LABEL: hk.kernel @sort_by_key_0 routing
// GPU: arith.ceildivui {{.*}}, %c2048
// GPU: arith.minui {{.*}}, %c32
// HOST: hk.launch_dims if %true grid(%c1, %c1, %c1)
func.func @unknown(%k: tensor<?xi32>) -> tensor<?xi32> {
  %order, %position = hk.sort_by_key %k bins 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  return %order : tensor<?xi32>
}

// CHECK-LABEL: hk.kernel @sort_by_key_1 routing
// CHECK: hk.launch_dims if %true grid(%c1, %c1, %c1)
func.func @few(%k: tensor<2048xi32>) -> tensor<2048xi32> {
  %order, %position = hk.sort_by_key %k bins 64 : tensor<2048xi32> -> tensor<2048xi32>, tensor<2048xi32>
  return %order : tensor<2048xi32>
}

// CHECK-LABEL: hk.kernel @histogram routing
// CHECK: hk.launch_dims if %true grid(%c1, %c1, %c1)
func.func @counts(%k: tensor<32768xi32>) -> tensor<64xi32> {
  %h = hk.histogram %k : tensor<32768xi32> -> tensor<64xi32>
  return %h : tensor<64xi32>
}
