// RUN: hk-opt -hk-fuse -split-input-file -verify-diagnostics %s

// expected-error @+1 {{module has no target; run hk-assign-target}}
module {
}

// -----

module attributes {hk.target = #hk.target<"host">} {
func.func @foreign(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'tensor.insert_slice' op can only put back what was written in a slice of a state; hk.kv_cache_write writes rows of a state, hk.concat joins tensors}}
  %0 = tensor.insert_slice %x into %y[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

// -----

// Rows of three elements of 4 bits begin between two bytes.
module attributes {hk.target = #hk.target<"gfx942">} {
func.func @odd_rows(%x: tensor<3x6xi4>, %i: tensor<?xi32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{'hk.fused' op makes a tensor for another kernel to read, of which the last size must be static and even for 'i4', but is 'tensor<6x3xi4>'; convert it to i8 before}}
  %t = hk.transpose %x [1, 0] : tensor<3x6xi4> -> tensor<6x3xi4>
  %g = hk.gather_rows %t, %i : tensor<6x3xi4>, tensor<?xi32> -> tensor<?x3xi4>
  %y = hk.cast %g : tensor<?x3xi4> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
}
