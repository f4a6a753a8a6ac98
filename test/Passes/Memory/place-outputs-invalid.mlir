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
    %y = hk.neg %x : tensor<4xf32>
    hk.yield %y : tensor<4xf32>
  }
}
func.func @returned_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{expected result #0 to be written to one place only}}
  %0 = hk.launch @k ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) reads [false] -> tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Sizes are known before a call, elements of tensors are not.
hk.kernel @k rowwise inputs 1 shapes [#hk.shape<[d0]>, #hk.shape<[d0]>] aligns [16, 16] {
  hk.spec {
  ^bb0(%x: tensor<?xf32>, %o: tensor<?xf32>):
    %y = hk.neg %x : tensor<?xf32>
    hk.yield %y : tensor<?xf32>
  }
}
// expected-error @below {{expected the sizes of @size_from_data to be made of dims of its arguments by arith}}
func.func @size_from_data(%x: tensor<?xf32>, %n: tensor<index>) -> tensor<?xf32> {
  %m = tensor.extract %n[] : tensor<index>
  %s = tensor.extract_slice %x[0] [%m] [1] : tensor<?xf32> to tensor<?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %0 = hk.launch @k ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) reads [false] -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
