// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @scalar(%x: tensor<f32>) {
  // expected-error @below {{expected rank of input to be at least 1, but got 0}}
  %0 = hk.softmax %x : tensor<f32>
  return
}

// -----

func.func @result(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected shape of result to be [2, 4], but got [4, 2]}}
  %0 = hk.l2_norm %x epsilon 0.0 : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @epsilon(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected epsilon to be finite and at least 0, but got -1.0}}
  %0 = hk.l2_norm %x epsilon -1.0 : tensor<2x4xf32>
  return
}

// -----

func.func @weight(%x: tensor<2x4xf32>, %w: tensor<5xf32>) {
  // expected-error @below {{expected size of dim 0 of weight to be 4, but got 5}}
  %0 = hk.rms_norm %x, %w epsilon 0.0 : tensor<2x4xf32>, tensor<5xf32>
  return
}

// -----

func.func @weight_rank(%x: tensor<2x4xf32>, %w: tensor<1x4xf32>) {
  // expected-error @below {{expected rank of weight to be 1, but got 2}}
  %0 = hk.rms_norm %x, %w epsilon 0.0 : tensor<2x4xf32>, tensor<1x4xf32>
  return
}

// -----

func.func @offset(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected weight_offset to be 0 without a weight, but got 1.0}}
  %0 = hk.rms_norm %x epsilon 0.0 weight_offset 1.0 : tensor<2x4xf32>
  return
}

// -----

func.func @bias(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{expected size of dim 0 of bias to be 4, but got 3}}
  %0 = hk.layer_norm %x, %w, %b epsilon 0.0 : tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>
  return
}
