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
