// Slices of the keys where the cost model says that they pay.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: hk-opt %s --hk-assign-target=target=host --hk-split | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: hk-opt %s --hk-assign-target=target=host --hk-split=keys=2 | FileCheck %s --check-prefix=FORCED

// One query of one sequence: eight blocks.
// CHECK-LABEL: func @decode
// CDNA: %[[P:.*]], %[[L:.*]] = hk.attention %arg0, %arg1, %arg2 kv_lens %arg3 scale {{.*}} causal kv_slices [[N:[0-9]+]] : {{.*}} -> tensor<[[N]]x1x1x64x128xf32>, tensor<[[N]]x1x1x64xf32>
// CDNA: hk.attention_combine %[[P]], %[[L]] sink %arg4 : {{.*}} -> tensor<1x1x64x128xbf16>, tensor<1x1x64xf32>
// HOST-NOT: hk.attention_combine
// FORCED-LABEL: func @decode
// FORCED: kv_slices 2
func.func @decode(%q: tensor<1x1x64x128xbf16>, %k: tensor<1x16384x8x128xbf16>, %v: tensor<1x16384x8x128xbf16>, %n: tensor<1xi32>, %s: tensor<64xf32>) -> (tensor<1x1x64x128xbf16>, tensor<1x1x64xf32>) {
  %0, %1 = hk.attention %q, %k, %v kv_lens %n sink %s scale 0.088 causal : tensor<1x1x64x128xbf16>, tensor<1x16384x8x128xbf16>, tensor<1x16384x8x128xbf16> kv_lens tensor<1xi32> sink tensor<64xf32> -> tensor<1x1x64x128xbf16>, tensor<1x1x64xf32>
  return %0, %1 : tensor<1x1x64x128xbf16>, tensor<1x1x64xf32>
}

// Any number of sequences: as many slices as cost little where there are many.
// CHECK-LABEL: func @batch
// CDNA: hk.attention {{.*}} kv_slices
// HOST-NOT: hk.attention_combine
// FORCED-LABEL: func @batch
// FORCED: kv_slices 2
func.func @batch(%q: tensor<?x1x64x128xbf16>, %k: tensor<?x16x8x128xbf16>, %v: tensor<?x16x8x128xbf16>, %n: tensor<?xi32>, %t: tensor<?x?xi32>) -> tensor<?x1x64x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n block_table %t scale 0.088 causal : tensor<?x1x64x128xbf16>, tensor<?x16x8x128xbf16>, tensor<?x16x8x128xbf16> kv_lens tensor<?xi32> block_table tensor<?x?xi32> -> tensor<?x1x64x128xbf16>
  return %0 : tensor<?x1x64x128xbf16>
}

// Many queries fill the chip; their number is not known. Versions for few are split
// (versions.mlir).
// CHECK-LABEL: func @prefill(
// CHECK-NOT: hk.attention_combine
// CHECK: return
// FORCED-LABEL: func @prefill
// FORCED: hk.attention {{.*}} -> tensor<2x?x64x128xf32>, tensor<2x?x64xf32>
func.func @prefill(%q: tensor<?x64x128xbf16>, %k: tensor<1x16384x8x128xbf16>, %v: tensor<1x16384x8x128xbf16>, %n: tensor<1xi32>) -> tensor<?x64x128xbf16> {
  %0 = hk.attention %q, %k, %v kv_lens %n scale 0.088 causal : tensor<?x64x128xbf16>, tensor<1x16384x8x128xbf16>, tensor<1x16384x8x128xbf16> kv_lens tensor<1xi32> -> tensor<?x64x128xbf16>
  return %0 : tensor<?x64x128xbf16>
}

// A window of 100 keys is one slice.
// CHECK-LABEL: func @window
// CHECK-NOT: hk.attention_combine
// FORCED-LABEL: func @window
// FORCED-NOT: hk.attention_combine
func.func @window(%q: tensor<1x1x64x128xbf16>, %k: tensor<1x16384x8x128xbf16>, %v: tensor<1x16384x8x128xbf16>) -> tensor<1x1x64x128xbf16> {
  %0 = hk.attention %q, %k, %v scale 0.088 causal window_left 100 : tensor<1x1x64x128xbf16>, tensor<1x16384x8x128xbf16>, tensor<1x16384x8x128xbf16> -> tensor<1x1x64x128xbf16>
  return %0 : tensor<1x1x64x128xbf16>
}
