// RUN: hk-opt %s --hk-place-outputs -verify-diagnostics -split-input-file

// An input cannot be returned as it is: somebody has to write the output.
// expected-error @below {{expected a returned tensor to be made by a launch}}
func.func @returns_input(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[4]>, #hk.shape<[4]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
    %y = hk.neg %x : tensor<4xf32> -> tensor<4xf32>
    hk.yield %y : tensor<4xf32>
  }
}
func.func @returned_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{expected result #0 to be written to one place only}}
  %0 = hk.launch @k ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
