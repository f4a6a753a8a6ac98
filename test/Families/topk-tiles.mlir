// Which tile selects: a part of a wave, a wave, or a block that reads the row again.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-place-outputs --hk-select-tiles | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-place-outputs --hk-select-tiles | FileCheck %s --check-prefix=SM90

// CHECK-LABEL: hk.kernel @e8
// CHECK: hk.variant "v0" #hk.row_tile<rows = 256, threads = 256, vec = 4, slots = 2>
func.func @e8(%x: tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  %v, %i = hk.topk %x ties lowest_index order by_value : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %v, %i : tensor<?x2xf32>, tensor<?x2xi32>
}
