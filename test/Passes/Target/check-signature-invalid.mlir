// RUN: hk-opt -hk-check-signature -split-input-file -verify-diagnostics %s

// expected-error @+1 {{'func.func' op expected argument #1 to be a ranked tensor of f32, bf16, f16, i1, i8, i16, i32, i64, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU or f4E2M1FN, but got 'f32'}}
func.func @scalar(%x: tensor<4xf32>, %y: f32) {
  return
}

// -----

// expected-error-re @+1 {{expected result #0 to be a ranked tensor of {{.*}}, but got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<4xf32>) -> tensor<*xf32> {
  %y = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  return %y : tensor<*xf32>
}

// -----

// expected-error-re @+1 {{expected argument #0 to be a ranked tensor of {{.*}}, but got 'tensor<4xf64>'}}
func.func @element(%x: tensor<4xf64>) {
  return
}

// -----

// expected-error @+1 {{expected a name in UTF-8, but got 'layer�'}}
func.func @"layer\FF"(%x: tensor<4xf32>) {
  return
}
