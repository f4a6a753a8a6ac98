// Slices of a decode step whose lengths, or number of sequences, only a call knows are parts
// of equal runs over all sequences: as many blocks as the chip holds, but no more than
// key heads have slices. Where all have the same
// number of keys, or a sequence has more rows than the tile or a number that only the device
// knows, slices are a dim of the grid, as on the host.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST

// CHECK-LABEL: hk.kernel @attention attention
// SM90: #hk.attention_tile<bq = 16, bk = 16, waves = 4, stages = 3, splitKv = 5, blocks = 264>
// CDNA: #hk.attention_tile<bq = 16, bk = 32, waves = 4, stages = 1, splitKv = 5, blocks = 608>
// HOST: splitKv = 5>
// SM90: %[[PARTS:.*]] = arith.muli %arg0, %c10 : index
// SM90: %[[BLOCKS:.*]] = arith.minui %[[PARTS]], %c264 : index
// SM90: hk.launch_dims if %true grid(%[[BLOCKS]], %c1, %c1)
// CDNA: %[[PARTS:.*]] = arith.muli %arg0, %c10 : index
// CDNA: %[[BLOCKS:.*]] = arith.minui %[[PARTS]], %c608 : index
// CDNA: hk.launch_dims if %true grid(%[[BLOCKS]], %c1, %c1)
// HOST: hk.launch_dims if %true grid(%{{.*}}, %{{.*}}, %c5)
// CHECK-NOT: hk.variant @v1
func.func @decode(%q: tensor<?x1x8x128xbf16>, %k: tensor<?x4096x2x128xbf16>, %n: tensor<?xi32>) -> (tensor<5x?x1x8x128xf32>, tensor<5x?x1x8xf32>) {
  %0, %1 = hk.attention %q, %k, %k kv_lens %n scale 0.125 kv_slices 5 : tensor<?x1x8x128xbf16>, tensor<?x4096x2x128xbf16>, tensor<?x4096x2x128xbf16> kv_lens tensor<?xi32> -> tensor<5x?x1x8x128xf32>, tensor<5x?x1x8xf32>
  return %0, %1 : tensor<5x?x1x8x128xf32>, tensor<5x?x1x8xf32>
}

// CHECK-LABEL: hk.kernel @attention_0 attention
// CHECK-NOT: blocks =
// CHECK: hk.launch_dims {{.*}}, %c5)
func.func @ragged(%q: tensor<?x8x128xbf16>, %k: tensor<4x4096x2x128xbf16>, %o: tensor<5xi32>) -> (tensor<5x?x8x128xf32>, tensor<5x?x8xf32>) {
  %0, %1 = hk.attention %q, %k, %k q_offsets %o scale 0.125 kv_slices 5 : tensor<?x8x128xbf16>, tensor<4x4096x2x128xbf16>, tensor<4x4096x2x128xbf16> q_offsets tensor<5xi32> -> tensor<5x?x8x128xf32>, tensor<5x?x8xf32>
  return %0, %1 : tensor<5x?x8x128xf32>, tensor<5x?x8xf32>
}

// CHECK-LABEL: hk.kernel @attention_1 attention
// CHECK-NOT: blocks =
// CHECK: hk.launch_dims {{.*}}, %c5)
func.func @rows(%q: tensor<4x9x32x128xbf16>, %k: tensor<4x4096x2x128xbf16>) -> (tensor<5x4x9x32x128xf32>, tensor<5x4x9x32xf32>) {
  %0, %1 = hk.attention %q, %k, %k scale 0.125 kv_slices 5 : tensor<4x9x32x128xbf16>, tensor<4x4096x2x128xbf16>, tensor<4x4096x2x128xbf16> -> tensor<5x4x9x32x128xf32>, tensor<5x4x9x32xf32>
  return %0, %1 : tensor<5x4x9x32x128xf32>, tensor<5x4x9x32xf32>
}

// CHECK-LABEL: hk.kernel @attention_2 attention
// CHECK-NOT: blocks =
// CHECK: hk.launch_dims {{.*}}, %c5)
func.func @equal(%q: tensor<4x1x8x128xbf16>, %k: tensor<4x4096x2x128xbf16>) -> (tensor<5x4x1x8x128xf32>, tensor<5x4x1x8xf32>) {
  %0, %1 = hk.attention %q, %k, %k scale 0.125 kv_slices 5 : tensor<4x1x8x128xbf16>, tensor<4x4096x2x128xbf16>, tensor<4x4096x2x128xbf16> -> tensor<5x4x1x8x128xf32>, tensor<5x4x1x8xf32>
  return %0, %1 : tensor<5x4x1x8x128xf32>, tensor<5x4x1x8xf32>
}
