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

// -----

func.func @two_numbers(%a: tensor<4xf32>) {
  // expected-error @below {{expected an operand beside a number}}
  %0 = hk.add 1.0, 2.0 : tensor<4xf32>
  return
}

// -----

func.func @no_point(%a: tensor<4xf32>) {
  // expected-error @below {{expected a number of 'f32' with a decimal point, or its bits in hexadecimal}}
  %0 = hk.mul %a, 2 : tensor<4xf32>
  return
}

// -----

func.func @not_an_integer(%a: tensor<4xi32>) {
  // expected-error @below {{expected a number of 'i32'}}
  %0 = hk.add %a, 0.5 : tensor<4xi32>
  return
}

// -----

func.func @no_tensor(%a: f32) {
  // expected-error @below {{expected the operand beside a number to be a tensor, but got 'f32'}}
  %0 = hk.add %a, 0.5 : f32
  return
}

// -----

func.func @defined_later() -> tensor<4xf32> {
  // expected-error @below {{expected the operand beside a number to be defined before it}}
  %0 = hk.add %a, 0.5 : tensor<4xf32>
  %a = hk.constant 1.0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @predicate(%a: tensor<4xf32>) {
  // expected-error @below {{expected eq, ne, lt, le, gt or ge (comparison), but got 'near'; did you mean 'ne'?}}
  %0 = hk.compare near %a, 0.5 : tensor<4xf32> -> tensor<4xi1>
  return
}

// -----

func.func @index_beside(%a: tensor<4xindex>) {
  // expected-error @below {{expected the operand beside a number to be a tensor of reals or integers, but got 'index'}}
  %0 = hk.compare ne %a, 0.0 : tensor<4xindex> -> tensor<4xi1>
  return
}

// -----

func.func @complex_beside(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{expected the operand beside a number to be a tensor of reals or integers, but got 'complex<f32>'}}
  %0 = hk.mul %a, 2.0 : tensor<4xcomplex<f32>>
  return
}
