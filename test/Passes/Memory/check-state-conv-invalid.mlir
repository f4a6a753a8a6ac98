// RUN: hk-opt %s --hk-check-state -verify-diagnostics -split-input-file
// The state of a convolution is checked as that of a cache write: one of two
// results is the state.

hk.kernel @conv conv1d inputs 2 shapes [#hk.shape<[2, 1, 64]>, #hk.shape<[64, 4]>, #hk.shape<[2, 1, 64]>, #hk.shape<[2, 3, 64]>] aligns [16, 16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x1x64xf32>, %w: tensor<64x4xf32>, %o: tensor<2x1x64xf32>, %s: tensor<2x3x64xf32>):
    %y, %t = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x1x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> -> tensor<2x1x64xf32>, tensor<2x3x64xf32>
    hk.yield %y, %t : tensor<2x1x64xf32>, tensor<2x3x64xf32>
  }
}
hk.kernel @read rowwise inputs 1 shapes [#hk.shape<[2, 3, 64]>, #hk.shape<[2, 3, 64]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x3x64xf32>, %o: tensor<2x3x64xf32>):
    %y = hk.neg %x : tensor<2x3x64xf32>
    hk.yield %y : tensor<2x3x64xf32>
  }
}
func.func @reads_old(%x: tensor<2x1x64xf32>, %w: tensor<64x4xf32>, %s: tensor<2x3x64xf32> {hk.state}) -> (tensor<2x1x64xf32>, tensor<2x3x64xf32>, tensor<2x3x64xf32>) {
  %e = tensor.empty() : tensor<2x1x64xf32>
  // expected-note @below {{the state is written here}}
  %0:2 = hk.launch @conv ins(%x, %w : tensor<2x1x64xf32>, tensor<64x4xf32>) outs(%e, %s : tensor<2x1x64xf32>, tensor<2x3x64xf32>) reads [false, true] -> tensor<2x1x64xf32>, tensor<2x3x64xf32>
  %f = tensor.empty() : tensor<2x3x64xf32>
  // expected-error @below {{needs a copy of the state in argument #2: a read of the value before a write}}
  %1 = hk.launch @read ins(%s : tensor<2x3x64xf32>) outs(%f : tensor<2x3x64xf32>) reads [false] -> tensor<2x3x64xf32>
  return %0#0, %0#1, %1 : tensor<2x1x64xf32>, tensor<2x3x64xf32>, tensor<2x3x64xf32>
}

// -----

hk.kernel @conv conv1d inputs 2 shapes [#hk.shape<[2, 3, 64]>, #hk.shape<[64, 4]>, #hk.shape<[2, 3, 64]>, #hk.shape<[2, 3, 64]>] aligns [16, 16, 16, 16] {
  hk.spec {
  ^bb0(%x: tensor<2x3x64xf32>, %w: tensor<64x4xf32>, %o: tensor<2x3x64xf32>, %s: tensor<2x3x64xf32>):
    %y, %t = hk.causal_conv1d channel_last %x, %w state %s : tensor<2x3x64xf32>, tensor<64x4xf32> state tensor<2x3x64xf32> -> tensor<2x3x64xf32>, tensor<2x3x64xf32>
    hk.yield %y, %t : tensor<2x3x64xf32>, tensor<2x3x64xf32>
  }
}
func.func @input_is_state(%w: tensor<64x4xf32>, %s: tensor<2x3x64xf32> {hk.state}) -> (tensor<2x3x64xf32>, tensor<2x3x64xf32>) {
  %e = tensor.empty() : tensor<2x3x64xf32>
  // expected-error @below {{needs a copy of the state in argument #1: a read by the launch that writes it}}
  // expected-note @below {{the state is written here}}
  %0:2 = hk.launch @conv ins(%s, %w : tensor<2x3x64xf32>, tensor<64x4xf32>) outs(%e, %s : tensor<2x3x64xf32>, tensor<2x3x64xf32>) reads [false, true] -> tensor<2x3x64xf32>, tensor<2x3x64xf32>
  return %0#0, %0#1 : tensor<2x3x64xf32>, tensor<2x3x64xf32>
}
