// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @length(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected length of permutation to be 2, the rank of input, but got 3}}
  %0 = hk.transpose %x [0, 1, 2] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected permutation to hold each of 0 to 1 once}}
  %0 = hk.transpose %x [0, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @transposed_type(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'bf16'}}
  %0 = hk.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xbf16>
  return
}

// -----

func.func @transposed_shape(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected shape of result to be [3, 2], but got [2, 3]}}
  %0 = hk.transpose %x [1, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @nothing() {
  // expected-error @below {{expected number of inputs to be at least 1, but got 0}}
  %0 = "hk.concat"() {dim = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @concat_dim(%x: tensor<2xf32>) {
  // expected-error @below {{expected dim to be less than 1, the rank of result, but got 1}}
  %0 = hk.concat 1 (%x) : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @concat_type(%x: tensor<2xf32>, %y: tensor<2xbf16>) {
  // expected-error @below {{expected element type of input 1 to be 'f32', but got 'bf16'}}
  %0 = hk.concat 0 (%x, %y) : tensor<2xf32>, tensor<2xbf16> -> tensor<4xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<2xf32>, %y: tensor<2x1xf32>) {
  // expected-error @below {{expected rank of input 1 to be 1, but got 2}}
  %0 = hk.concat 0 (%x, %y) : tensor<2xf32>, tensor<2x1xf32> -> tensor<4xf32>
  return
}

// -----

func.func @concat_other_size(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{expected size of dim 0 of input 1 to be 2, but got 4}}
  %0 = hk.concat 1 (%x, %y) : tensor<2x3xf32>, tensor<4x3xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_sum(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected size of dim 1 of result to be 6, but got 5}}
  %0 = hk.concat 1 (%x, %x) : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @pad_scalar(%x: tensor<f32>) {
  // expected-error @below {{expected rank of input to be at least 1, but got 0}}
  %0 = hk.pad %x : tensor<f32>
  return
}

// -----

func.func @pad_dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{expected size of dim 0 of input to be static, but got ?}}
  %0 = hk.pad %x : tensor<?xf32> -> tensor<8xf32>
  return
}

// -----

func.func @pad_to_dynamic(%x: tensor<4xf32>) {
  // expected-error @below {{expected size of dim 0 of result to be static, but got ?}}
  %0 = hk.pad %x : tensor<4xf32> -> tensor<?xf32>
  return
}

// -----

func.func @pad_other_dim(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected size of dim 0 of result to be 2, but got 3}}
  %0 = hk.pad %x : tensor<2x4xf32> -> tensor<3x8xf32>
  return
}

// -----

func.func @pad_less(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected size of dim 1 of result to be at least 4, but got 3}}
  %0 = hk.pad %x : tensor<2x4xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<2x4xf8E8M0FNU>) {
  // expected-error @below {{expected value to be a number of 'f8E8M0FNU', but got 3.000000e+00}}
  %0 = hk.pad %x value 3.0 : tensor<2x4xf8E8M0FNU> -> tensor<2x8xf8E8M0FNU>
  return
}

// -----

func.func @pad_value_of_integers(%x: tensor<2x4xi32>) {
  // expected-error @below {{expected value to be a number of 'i32', but got 5.000000e-01}}
  %0 = hk.pad %x value 0.5 : tensor<2x4xi32> -> tensor<2x8xi32>
  return
}

// -----

func.func @gather(%t: tensor<10x4xf32>, %i: tensor<3xi32>) {
  // expected-error @below {{expected shape of result to be [3, 4], but got [4, 3]}}
  %0 = hk.gather_rows %t, %i : tensor<10x4xf32>, tensor<3xi32> -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_scalar(%t: tensor<f32>, %i: tensor<3xi32>) {
  // expected-error @below {{expected rank of table to be at least 1, but got 0}}
  %0 = hk.gather_rows %t, %i : tensor<f32>, tensor<3xi32> -> tensor<3xf32>
  return
}

// -----

func.func @has_row_shape(%x: tensor<8x4xf32>, %i: tensor<3xi32>) {
  // expected-error @below {{expected shape of result to be [3], but got [4]}}
  %0 = hk.has_row %x, %i : tensor<8x4xf32>, tensor<3xi32> -> tensor<4xi1>
  return
}
