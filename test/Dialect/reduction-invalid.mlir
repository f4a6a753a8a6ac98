// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @dims(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected dims to be at most 2, the rank of input, but got 3}}
  %0 = hk.reduce sum %x dims 3 : tensor<2x4xf32> -> tensor<1x1xf32>
  return
}

// -----

func.func @shape(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected shape of result to be [2, 1], but got [1, 1]}}
  %0 = hk.reduce sum %x : tensor<2x4xf32> -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x?xf32>) {
  // expected-error @below {{expected size of dim 1 of result to be static, but got ?}}
  %0 = hk.reduce sum %x : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// -----

func.func @none(%x: tensor<2x4xf32>) {
  // expected-error @below {{attribute 'dims' failed to satisfy constraint}}
  %0 = hk.reduce sum %x dims 0 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}
