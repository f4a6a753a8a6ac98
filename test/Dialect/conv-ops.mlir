// Round trip.
// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK-LABEL: @dense
func.func @dense(%x: tensor<?x?x64xbf16>, %y: tensor<2x64x17xf32>, %w: tensor<64x4xf32>, %b: tensor<64xbf16>) {
  // CHECK: hk.causal_conv1d channel_last %{{.*}}, %{{.*}} : tensor<?x?x64xbf16>, tensor<64x4xf32> -> tensor<?x?x64xf32>
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<?x?x64xbf16>, tensor<64x4xf32> -> tensor<?x?x64xf32>
  // CHECK: hk.causal_conv1d channel_first %{{.*}}, %{{.*}} bias %{{.*}} : tensor<2x64x17xf32>, tensor<64x4xf32> bias tensor<64xbf16> -> tensor<2x64x17xf32>
  %1 = hk.causal_conv1d channel_first %y, %w bias %b : tensor<2x64x17xf32>, tensor<64x4xf32> bias tensor<64xbf16> -> tensor<2x64x17xf32>
  return
}

// CHECK-LABEL: @states
func.func @states(%x: tensor<?x64xbf16>, %d: tensor<?x64x1xbf16>, %w: tensor<64x4xf32>, %cu: tensor<?xi32>, %s: tensor<9x3x64xbf16>, %t: tensor<9x64x5xbf16>, %i: tensor<?xi32>, %h: tensor<?xi1>) {
  // CHECK: hk.causal_conv1d channel_last %{{.*}}, %{{.*}} offsets %{{.*}} state %{{.*}} indices %{{.*}} has_initial %{{.*}} : tensor<?x64xbf16>, tensor<64x4xf32> offsets tensor<?xi32> state tensor<9x3x64xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x64xbf16>, tensor<9x3x64xbf16>
  %0, %1 = hk.causal_conv1d channel_last %x, %w offsets %cu state %s indices %i has_initial %h : tensor<?x64xbf16>, tensor<64x4xf32> offsets tensor<?xi32> state tensor<9x3x64xbf16> indices tensor<?xi32> has_initial tensor<?xi1> -> tensor<?x64xbf16>, tensor<9x3x64xbf16>
  // CHECK: hk.causal_conv1d channel_first {{.*}} state_layout channel_first : tensor<?x64x1xbf16>
  %2, %3 = hk.causal_conv1d channel_first %d, %w state %t indices %i state_layout channel_first : tensor<?x64x1xbf16>, tensor<64x4xf32> state tensor<9x64x5xbf16> indices tensor<?xi32> -> tensor<?x64x1xbf16>, tensor<9x64x5xbf16>
  return
}

// CHECK-LABEL: @decoding
func.func @decoding(%x: tensor<?x4x64xbf16>, %w: tensor<64x4xf32>, %s: tensor<9x6x64xbf16>, %i: tensor<?xi32>, %n: tensor<?xi32>, %q: tensor<?x4xi32>) {
  // CHECK: hk.causal_conv1d channel_last {{.*}} indices %{{.*}} accepted %{{.*}} pad_slot 0 : {{.*}} accepted tensor<?xi32> ->
  %0, %1 = hk.causal_conv1d channel_last %x, %w state %s indices %i accepted %n pad_slot 0 : tensor<?x4x64xbf16>, tensor<64x4xf32> state tensor<9x6x64xbf16> indices tensor<?xi32> accepted tensor<?xi32> -> tensor<?x4x64xbf16>, tensor<9x6x64xbf16>
  // CHECK: hk.causal_conv1d channel_last {{.*}} ring %{{.*}} : {{.*}} ring tensor<?xi32> ->
  %2, %3 = hk.causal_conv1d channel_last %x, %w state %s indices %i ring %n : tensor<?x4x64xbf16>, tensor<64x4xf32> state tensor<9x6x64xbf16> indices tensor<?xi32> ring tensor<?xi32> -> tensor<?x4x64xbf16>, tensor<9x6x64xbf16>
  // CHECK: hk.causal_conv1d channel_last {{.*}} seq_idx %{{.*}} : {{.*}} seq_idx tensor<?x4xi32> ->
  %4 = hk.causal_conv1d channel_last %x, %w seq_idx %q : tensor<?x4x64xbf16>, tensor<64x4xf32> seq_idx tensor<?x4xi32> -> tensor<?x4x64xbf16>
  return
}

// CHECK-LABEL: @blocks_and_windows
func.func @blocks_and_windows(%x: tensor<?x4x64xbf16>, %w: tensor<64x4xf32>, %s: tensor<9x6x64xbf16>, %i: tensor<?x5xi32>, %n: tensor<?xi32>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = hk.causal_conv1d channel_last {{.*}} indices %{{.*}} computed %{{.*}} block 16 : {{.*}} computed tensor<?xi32> -> tensor<?x4x64xbf16>, tensor<9x6x64xbf16> windows tensor<?x4x64x3xbf16>
  %0, %1, %2 = hk.causal_conv1d channel_last %x, %w state %s indices %i computed %n block 16 : tensor<?x4x64xbf16>, tensor<64x4xf32> state tensor<9x6x64xbf16> indices tensor<?x5xi32> computed tensor<?xi32> -> tensor<?x4x64xbf16>, tensor<9x6x64xbf16> windows tensor<?x4x64x3xbf16>
  return
}
