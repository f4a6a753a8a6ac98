// The tile and the grid of a causal convolution.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefixes=CHECK,HOST

// Ragged: a tile more for every sequence and for the tokens after the last. 8 channels of 16 bits are 16 bytes.
// CHECK-LABEL: hk.kernel @causal_conv1d conv1d
// GPU: hk.variant @v0 #hk.conv1d_tile<items = 256, channelLanes = 64, channels = 8, tokens = 8> threads 256 lds 0
// GPU: ^bb0(%[[T:.*]]: index, %[[B:.*]]: index):
// GPU: %[[FULL:.*]] = arith.divui %[[T]], %c8
// GPU: arith.addi %[[FULL]], %[[B]]
// GPU: grid(%{{.*}}, %c1, %c1)
// HOST: hk.variant @v0 #hk.conv1d_tile<items = 64, channelLanes = 32, channels = 16, tokens = 16> threads 1 lds 0
func.func @ragged(%x: tensor<?x512xbf16>, %w: tensor<512x4xbf16>, %cu: tensor<?xi32>) -> tensor<?x512xbf16> {
  %0 = hk.causal_conv1d channel_last %x, %w offsets %cu : tensor<?x512xbf16>, tensor<512x4xbf16> offsets tensor<?xi32> -> tensor<?x512xbf16>
  return %0 : tensor<?x512xbf16>
}

// Decoding one token: small blocks. Only 4 channels at a time lie in one run.
// CHECK-LABEL: hk.kernel @causal_conv1d_0 conv1d
// GPU: #hk.conv1d_tile<items = 64, channelLanes = 64, channels = 4, tokens = 1>
// GPU: grid(%{{.*}}, %c2, %c1)
func.func @decode(%x: tensor<?x1x512xbf16>, %w: tensor<512x4xbf16>) -> (tensor<?x1x100xbf16>, tensor<?x1x412xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x1x512xbf16>
  %0 = hk.causal_conv1d channel_last %x, %w : tensor<?x1x512xbf16>, tensor<512x4xbf16> -> tensor<?x1x512xbf16>
  %a = tensor.extract_slice %0[0, 0, 0] [%n, 1, 100] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x100xbf16>
  %b = tensor.extract_slice %0[0, 0, 100] [%n, 1, 412] [1, 1, 1] : tensor<?x1x512xbf16> to tensor<?x1x412xbf16>
  return %a, %b : tensor<?x1x100xbf16>, tensor<?x1x412xbf16>
}

// Time innermost: vectors of tokens, neighbouring lanes along time.
// CHECK-LABEL: hk.kernel @causal_conv1d_1 conv1d
// GPU: #hk.conv1d_tile<items = 256, channelLanes = 4, channels = 1, tokens = 4>
func.func @channel_first(%x: tensor<2x96x?xf32>, %w: tensor<96x3xf32>) -> tensor<2x96x?xf32> {
  %0 = hk.causal_conv1d channel_first %x, %w : tensor<2x96x?xf32>, tensor<96x3xf32> -> tensor<2x96x?xf32>
  return %0 : tensor<2x96x?xf32>
}
