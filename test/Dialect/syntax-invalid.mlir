// RUN: hk-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected a number of 'f32' with a decimal point, or its bits in hexadecimal}}
%0 = hk.constant 2 : tensor<f32>

// -----

// expected-error @below {{expected a number of 'i8'}}
%0 = hk.constant 200 : tensor<i8>

// -----

// expected-error @below {{expected a number of 'i32'}}
%0 = hk.constant 2.5 : tensor<i32>

// -----

// expected-error @below {{expected a number of 'bf16'}}
%0 = hk.constant 0xFF800000 : tensor<bf16>

// -----

// expected-error @below {{expected a tensor of static shape, but got 'tensor<?xf32>'}}
%0 = hk.constant 2.5 : tensor<?xf32>

// -----

// expected-note @below {{prior use here}}
func.func @operands_differ(%a: tensor<4xf32>, %b: tensor<4xi32>) {
  // expected-error @below {{use of value '%b' expects different type than prior uses}}
  %0 = hk.add %a, %b : tensor<4xf32>
  return
}
