// RUN: hk-opt -hk-fuse -split-input-file -verify-diagnostics %s

// expected-error @+1 {{module has no target; run hk-assign-target}}
module {
}

// -----

module attributes {hk.target = #hk.target<"host">} {
func.func @foreign(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'tensor.insert_slice' op is neither an hk base operator nor a view; hk has no kernel for it}}
  %0 = tensor.insert_slice %x into %y[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

// -----

module attributes {hk.target = #hk.target<"gfx942">} {
func.func @no_product_of_f4(%x: tensor<16x64xf4E2M1FN>, %w: tensor<64x64xbf16>) -> tensor<16x64xbf16> {
  // expected-error @+7 {{'hk.matmul' op has no kernel for target 'gfx942'}}
  // expected-note @+6 {{start rowwise: other-family}}
  // expected-note @+5 {{start gemm: unsupported-dtype, product of f4E2M1FN elements}}
  // expected-note @+4 {{start attention: other-family}}
  // expected-note @+3 {{start conv1d: other-family}}
  // expected-note @+2 {{start routing: other-family}}
  // expected-note @+1 {{start scan: other-family}}
  %0 = hk.matmul %x, %w : tensor<16x64xf4E2M1FN>, tensor<64x64xbf16> -> tensor<16x64xbf16>
  return %0 : tensor<16x64xbf16>
}
}
