// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @shapes(%x: tensor<4xf32>) {
  // expected-error @below {{expected shape of result to be [4], but got [5]}}
  %0 = hk.neg %x : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @unary_type(%x: tensor<4xi32>) {
  // expected-error @below {{operand #0 must be ranked tensor of 32-bit float or bfloat16 type or 16-bit float values}}
  %0 = hk.exp %x : tensor<4xi32> -> tensor<4xf32>
  return
}

// -----

func.func @mixed(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @below {{expected element type of rhs to be real as that of lhs, but got 'i32'}}
  %0 = hk.add %x, %y : tensor<4xf32>, tensor<4xi32>
  return
}

// -----

func.func @mixed_integers(%x: tensor<4xi32>, %y: tensor<4xf32>) {
  // expected-error @below {{expected element type of rhs to be an integer as that of lhs, but got 'f32'}}
  %0 = hk.add %x, %y : tensor<4xi32>, tensor<4xf32>
  return
}

// -----

func.func @two_integers(%x: tensor<4xi32>, %y: tensor<4xi8>) {
  // expected-error @below {{expected element type of rhs to be 'i32', but got 'i8'}}
  %0 = hk.add %x, %y : tensor<4xi32>, tensor<4xi8>
  return
}

// -----

func.func @integer_result(%x: tensor<4xf32>) {
  // expected-error @below {{expected element type of result to be real, but got 'i32'}}
  %0 = hk.add %x, %x : tensor<4xf32> -> tensor<4xi32>
  return
}

// -----

func.func @other_integer_result(%x: tensor<4xi8>) {
  // expected-error @below {{expected element type of result to be 'i8', but got 'i32'}}
  %0 = hk.mul %x, %x : tensor<4xi8> -> tensor<4xi32>
  return
}

// -----

func.func @broadcast(%x: tensor<3x4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{expected size of dim 0 of rhs to be 1 or 4, but got 3}}
  %0 = hk.add %x, %y : tensor<3x4xf32>, tensor<3xf32>
  return
}

// -----

func.func @broadcast_result(%x: tensor<3x1xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{expected shape of result to be [3, 4], but got [3, 1]}}
  %0 = hk.add %x, %y : tensor<3x1xf32>, tensor<4xf32>
  return
}

// -----

func.func @compare(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @below {{expected element type of rhs to be real as that of lhs, but got 'i32'}}
  %0 = hk.compare eq %x, %y : tensor<4xf32>, tensor<4xi32> -> tensor<4xi1>
  return
}

// -----

func.func @select_values(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error @below {{expected element type of false_value to be 'f32', but got 'bf16'}}
  %0 = hk.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @select_result(%c: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'bf16'}}
  %0 = hk.select %c, %x, %x : tensor<4xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xbf16>
  return
}

// -----

func.func @cast_to_scale(%x: tensor<4xf32>) {
  // expected-error @below {{expected element type of result to be other than f8E8M0FNU; hk.quantize_mx makes block scales}}
  %0 = hk.cast %x : tensor<4xf32> -> tensor<4xf8E8M0FNU>
  return
}

// -----

func.func @large_constant() {
  // expected-error @below {{expected value to be of at most 256 bytes, but got 260; make it an hk.weight}}
  %0 = hk.constant 0.0 : tensor<65xf32>
  return
}

// -----

func.func @sparse_constant() {
  // expected-error @below {{expected value to be a dense attribute}}
  %0 = hk.constant sparse<[[0]], [1.0]> : tensor<2xf32>
  return
}

// -----

func.func @clamp_nan(%x: tensor<4xf32>) {
  // expected-error @below {{expected max to be a number, but got NaN}}
  %0 = hk.clamp %x min 0.0 max 0x7FC00000 : tensor<4xf32>
  return
}

// -----

func.func @clamp_order(%x: tensor<4xf32>) {
  // expected-error @below {{expected min to be at most -1.000000e+00, which is max, but got 2.000000e+00}}
  %0 = hk.clamp %x min 2.0 max -1.0 : tensor<4xf32>
  return
}

// -----

func.func @clamp_shape(%x: tensor<4xf32>) {
  // expected-error @below {{expected shape of result to be [4], but got [5]}}
  %0 = hk.clamp %x min 0.0 max 1.0 : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @iota_rank() {
  // expected-error @below {{expected rank of result to be 1, but got 2}}
  %0 = hk.iota : tensor<2x2xi32>
  return
}

// -----

func.func @iota_dynamic() {
  // expected-error @below {{expected size of dim 0 of result to be static, but got ?}}
  %0 = hk.iota : tensor<?xi32>
  return
}

// -----

func.func @iota_dim(%x: tensor<4x4xf32>) {
  // expected-error @below {{expected rank of like to be at least 3, but got 2}}
  %0 = hk.iota like %x dim 2 : tensor<4xi32> like tensor<4x4xf32>
  return
}

// -----

func.func @iota_size(%x: tensor<4x5xf32>) {
  // expected-error @below {{expected size of dim 0 of result to be 5, but got 4}}
  %0 = hk.iota like %x dim 1 : tensor<4xi32> like tensor<4x5xf32>
  return
}

// -----

func.func @iota_dim_of_nothing() {
  // expected-error @below {{expected dim to be absent without like, but got 1}}
  %0 = "hk.iota"() <{dim = 1 : i64}> : () -> tensor<4xi32>
  return
}

// -----

func.func @iota_element() {
  // expected-error @below {{'hk.iota' op result #0 must be}}
  %0 = hk.iota : tensor<4xbf16>
  return
}
