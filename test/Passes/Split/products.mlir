// Slices of k where the cost model says that they pay.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-split | FileCheck %s --check-prefixes=CHECK,CDNA
// RUN: hk-opt %s --hk-assign-target=target=host --hk-split | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: hk-opt %s --hk-assign-target=target=tiny --hk-split | FileCheck %s --check-prefixes=CHECK,TINY
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split=k=1 | FileCheck %s --check-prefix=NEVER
// RUN: hk-opt %s --hk-assign-target=target=host --hk-split=k=3 | FileCheck %s --check-prefix=FORCED

// One row and a long k: 304 compute units, few tiles.
// CHECK-LABEL: func @decode
// CDNA: %[[P:.*]] = hk.matmul %arg0, %arg1 transpose_b k_slices [[N:[0-9]+]] : tensor<1x8192xbf16>, tensor<1024x8192xbf16> -> tensor<[[N]]x1x1024xf32>
// CDNA: %[[S:.*]] = hk.sum_slices %[[P]] : tensor<[[N]]x1x1024xf32> -> tensor<1x1024xbf16>
// CDNA: hk.add %[[S]], %arg2
// HOST-NOT: hk.sum_slices
// TINY-NOT: hk.sum_slices
// NEVER-LABEL: func @decode
// NEVER-NOT: hk.sum_slices
// FORCED-LABEL: func @decode
// FORCED: hk.matmul {{.*}}k_slices 3
func.func @decode(%x: tensor<1x8192xbf16>, %w: tensor<1024x8192xbf16>, %b: tensor<1024xbf16>) -> tensor<1x1024xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<1x8192xbf16>, tensor<1024x8192xbf16> -> tensor<1x1024xbf16>
  %1 = hk.add %0, %b : tensor<1x1024xbf16>, tensor<1024xbf16>
  return %1 : tensor<1x1024xbf16>
}

// Enough tiles for every compute unit.
// CHECK-LABEL: func @many_rows
// CHECK-NOT: hk.sum_slices
// NEVER-LABEL: func @many_rows
// FORCED-LABEL: func @many_rows
// FORCED: hk.matmul {{.*}}k_slices 3
func.func @many_rows(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

// Whether slices pay depends on a size that is not known: versions for few rows are
// split (versions.mlir). Forcing is legal.
// CHECK-LABEL: func @dynamic_rows(
// CHECK-NOT: hk.sum_slices
// CHECK: return
// NEVER-LABEL: func @dynamic_rows
// FORCED-LABEL: func @dynamic_rows
// FORCED: hk.matmul {{.*}} -> tensor<3x?x1024xf32>
func.func @dynamic_rows(%x: tensor<?x8192xbf16>, %w: tensor<1024x8192xbf16>) -> tensor<?x1024xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x8192xbf16>, tensor<1024x8192xbf16> -> tensor<?x1024xbf16>
  return %0 : tensor<?x1024xbf16>
}

// 300 elements are three slices of 128 whatever is asked for; int8 sums stay
// integers.
// CHECK-LABEL: func @short_k
// CHECK-NOT: hk.sum_slices
// NEVER-LABEL: func @short_k
// FORCED-LABEL: func @short_k
// FORCED: %[[P:.*]] = hk.matmul {{.*}}k_slices 3{{.*}} -> tensor<3x2x5xi32>
// FORCED: hk.sum_slices %[[P]] : tensor<3x2x5xi32> -> tensor<2x5xf32>
// Scales of whole sums wait for them.
// FORCED: %[[P:.*]] = hk.matmul %arg0, %arg1 k_slices 3 : tensor<2x300xi8>, tensor<300x5xi8> -> tensor<3x2x5xi32>
// FORCED: %[[S:.*]] = hk.sum_slices %[[P]] : tensor<3x2x5xi32> -> tensor<2x5xf32>
// FORCED: %[[C:.*]] = tensor.collapse_shape %arg5 {{.*}} : tensor<5x1xf32> into tensor<5xf32>
// FORCED: %[[M:.*]] = hk.mul %[[S]], %arg2 : tensor<2x5xf32>, tensor<1xf32>
// FORCED: hk.mul %[[M]], %[[C]] : tensor<2x5xf32>, tensor<5xf32> -> tensor<2x5xf16>
// Nothing to share.
// FORCED: hk.matmul {{.*}} -> tensor<2x5xbf16>
// FORCED-NOT: hk.sum_slices
func.func @short_k(%a: tensor<2x300xi8>, %b: tensor<300x5xi8>, %s: tensor<1xf32>, %c: tensor<2x128xbf16>, %d: tensor<128x5xbf16>, %t: tensor<5x1xf32>) -> (tensor<2x5xf32>, tensor<2x5xf16>, tensor<2x5xbf16>) {
  %0 = hk.matmul %a, %b : tensor<2x300xi8>, tensor<300x5xi8> -> tensor<2x5xf32>
  %1 = hk.matmul %a, %b scales (%s, %t) : tensor<2x300xi8>, tensor<300x5xi8> scales (tensor<1xf32>, tensor<5x1xf32>) -> tensor<2x5xf16>
  %2 = hk.matmul %c, %d : tensor<2x128xbf16>, tensor<128x5xbf16> -> tensor<2x5xbf16>
  return %0, %1, %2 : tensor<2x5xf32>, tensor<2x5xf16>, tensor<2x5xbf16>
}
