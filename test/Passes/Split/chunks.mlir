// A walk over the chunks of few heads is cut in segments that begin at once. With many heads, or
// few chunks, it stays whole; of how many sequences there are a call must not be the first to
// know.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=host --hk-split=segments=3 | FileCheck %s --check-prefix=FORCED
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-split=segments=1 | FileCheck %s --check-prefix=NEVER

// NEVER-NOT: hk.chunk_transition
// CHECK-LABEL: func @few
// CHECK: %[[T:.*]] = hk.chunk_transition %arg0, %arg1, %arg2 decay %arg3 chunk 64 segments 8 : {{.*}} -> tensor<7x1x8x128x256xf32>
// CHECK: %[[S:.*]] = hk.chunk_starts %[[T]] state %arg4 : {{.*}} -> tensor<8x1x8x128x128xf32>
// CHECK: hk.chunk_state %arg0, %arg1, %arg2 decay %arg3 state %arg4 starts %[[S]] chunk 64
// FORCED-LABEL: func @few
// FORCED: hk.chunk_transition {{.*}} segments 3
func.func @few(%k: tensor<1x?x2x128xbf16>, %w: tensor<1x?x8x128xbf16>, %u: tensor<1x?x8x128xbf16>, %g: tensor<1x?x8xf32>, %s: tensor<1x8x128x128xf32>) -> (tensor<1x?x8x128x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x8x128x128xf32>) {
  %h, %v, %n = hk.chunk_state %k, %w, %u decay %g state %s chunk 64 : tensor<1x?x2x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x?x8x128xbf16> decay tensor<1x?x8xf32> state tensor<1x8x128x128xf32> -> tensor<1x?x8x128x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x8x128x128xf32>
  return %h, %v, %n : tensor<1x?x8x128x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x8x128x128xf32>
}

// CHECK-LABEL: func @many
// CHECK-NOT: hk.chunk_transition
func.func @many(%k: tensor<4x?x16x128xbf16>, %w: tensor<4x?x32x128xbf16>, %u: tensor<4x?x32x128xbf16>) -> (tensor<4x?x32x128x128xbf16>, tensor<4x?x32x128xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u chunk 64 : tensor<4x?x16x128xbf16>, tensor<4x?x32x128xbf16>, tensor<4x?x32x128xbf16> -> tensor<4x?x32x128x128xbf16>, tensor<4x?x32x128xbf16>
  return %h, %v : tensor<4x?x32x128x128xbf16>, tensor<4x?x32x128xbf16>
}

// CHECK-LABEL: func @short
// CHECK-NOT: hk.chunk_transition
// FORCED-LABEL: func @short
// FORCED-NOT: hk.chunk_transition
func.func @short(%k: tensor<1x64x2x128xbf16>, %w: tensor<1x64x8x128xbf16>, %u: tensor<1x64x8x128xbf16>) -> (tensor<1x1x8x128x128xbf16>, tensor<1x64x8x128xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u chunk 64 : tensor<1x64x2x128xbf16>, tensor<1x64x8x128xbf16>, tensor<1x64x8x128xbf16> -> tensor<1x1x8x128x128xbf16>, tensor<1x64x8x128xbf16>
  return %h, %v : tensor<1x1x8x128x128xbf16>, tensor<1x64x8x128xbf16>
}

// Two sequences, as offsets say, long ones in the mean; then any number.
// CHECK-LABEL: func @two
// CHECK: hk.chunk_transition {{.*}} offsets %{{.*}} segments {{.*}} -> tensor<{{.*}}x2x4x128x256xf32>
// FORCED-LABEL: func @two
// FORCED: -> tensor<2x2x4x128x256xf32>
func.func @two(%k: tensor<16384x2x128xbf16>, %w: tensor<16384x4x128xbf16>, %u: tensor<16384x4x128xbf16>, %cu: tensor<3xi32>) -> (tensor<?x4x128x128xbf16>, tensor<16384x4x128xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u offsets %cu chunk 64 : tensor<16384x2x128xbf16>, tensor<16384x4x128xbf16>, tensor<16384x4x128xbf16> offsets tensor<3xi32> -> tensor<?x4x128x128xbf16>, tensor<16384x4x128xbf16>
  return %h, %v : tensor<?x4x128x128xbf16>, tensor<16384x4x128xbf16>
}
// CHECK-LABEL: func @any
// CHECK-NOT: hk.chunk_transition
// FORCED-LABEL: func @any
// FORCED: -> tensor<2x?x4x128x256xf32>
func.func @any(%k: tensor<?x2x128xbf16>, %w: tensor<?x4x128xbf16>, %u: tensor<?x4x128xbf16>, %cu: tensor<?xi32>) -> (tensor<?x4x128x128xbf16>, tensor<?x4x128xbf16>) {
  %h, %v = hk.chunk_state %k, %w, %u offsets %cu chunk 64 : tensor<?x2x128xbf16>, tensor<?x4x128xbf16>, tensor<?x4x128xbf16> offsets tensor<?xi32> -> tensor<?x4x128x128xbf16>, tensor<?x4x128xbf16>
  return %h, %v : tensor<?x4x128x128xbf16>, tensor<?x4x128xbf16>
}
