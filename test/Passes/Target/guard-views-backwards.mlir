// A slice may be read backwards where its indices are known to be in the source; elsewhere
// it would read in front of it.
// RUN: hk-opt %s --split-input-file --hk-guard-views --verify-diagnostics

func.func @inside(%x: tensor<4x64xf32>) -> tensor<4x8xf32> {
  %0 = tensor.extract_slice %x[0, 14] [4, 8] [1, -2] : tensor<4x64xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @outside(%x: tensor<4x64xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{expected slice of dim 1 to be in [0, 64), but got 8 indices from 13 on in steps of -2}}
  %0 = tensor.extract_slice %x[0, 13] [4, 8] [1, -2] : tensor<4x64xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @far(%x: tensor<4x64xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{but got 8 indices from 0 on in steps of -1000}}
  %0 = tensor.extract_slice %x[0, 0] [4, 8] [1, -1000] : tensor<4x64xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @dynamic(%x: tensor<?x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{expected the stride of dim 0 to be at least 1 where offset, size or source is dynamic, but got -1}}
  %0 = tensor.extract_slice %x[5, 0] [8, 64] [-1, 1] : tensor<?x64xf32> to tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
