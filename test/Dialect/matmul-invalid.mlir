// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @rank(%a: tensor<4xf32>, %b: tensor<4x4xf32>) {
  // expected-error @below {{expected rank of lhs to be at least 2, but got 1}}
  %0 = hk.matmul %a, %b : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @rhs_rank(%a: tensor<2x2x4x4xf32>, %b: tensor<2x4x4xf32>) {
  // expected-error @below {{expected rank of rhs to be 2 or 4, but got 3}}
  %0 = hk.matmul %a, %b : tensor<2x2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x2x4x4xf32>
  return
}

// -----

func.func @k(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{expected size of dim 0 of rhs to be 3, but got 4}}
  %0 = hk.matmul %a, %b : tensor<2x3xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @k_transposed(%a: tensor<3x2xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{expected size of dim 1 of rhs to be 3, but got 5}}
  %0 = hk.matmul %a, %b transpose_a transpose_b : tensor<3x2xf32>, tensor<4x5xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @not_transposed(%a: tensor<2x3xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{expected size of dim 0 of rhs to be 3, but got 5; its dim 1 has 3: write transpose_b}}
  %0 = hk.matmul %a, %b : tensor<2x3xf32>, tensor<5x3xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @transposed_too_often(%a: tensor<7x2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected size of dim 1 of rhs to be 3, but got 5; its dim 0 has 3: leave out transpose_b}}
  %0 = hk.matmul %a, %b transpose_b : tensor<7x2x3xf32>, tensor<3x5xf32> -> tensor<7x2x5xf32>
  return
}

// -----

func.func @batch(%a: tensor<7x2x3xf32>, %b: tensor<6x3x5xf32>) {
  // expected-error @below {{expected size of dim 0 of rhs to be 7, but got 6}}
  %0 = hk.matmul %a, %b : tensor<7x2x3xf32>, tensor<6x3x5xf32> -> tensor<7x2x5xf32>
  return
}

// -----

func.func @result(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected shape of result to be [2, 5], but got [5, 2]}}
  %0 = hk.matmul %a, %b : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<5x2xf32>
  return
}

// -----

func.func @element(%a: tensor<2x3xi32>, %b: tensor<3x5xi32>) {
  // expected-error @below {{expected element type of lhs to be i8 or a float, but got 'i32'}}
  %0 = hk.matmul %a, %b : tensor<2x3xi32>, tensor<3x5xi32> -> tensor<2x5xi32>
  return
}

// -----

func.func @mixed(%a: tensor<2x3xi8>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected element type of rhs to be 'i8', but got 'f32'}}
  %0 = hk.matmul %a, %b : tensor<2x3xi8>, tensor<3x5xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @integer_result(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{expected element type of result to be real, but got i32, which only an int8 product without scales has}}
  %0 = hk.matmul %a, %b : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x5xi32>
  return
}

// -----

func.func @lhs_scale(%a: tensor<2x300xi8>, %b: tensor<300x5xi8>, %s: tensor<3x1xf32>, %t: tensor<1xf32>) {
  // expected-error @below {{expected size of dim 0 of lhs_scale to be 2, but got 3}}
  %0 = hk.matmul %a, %b scales (%s, %t) : tensor<2x300xi8>, tensor<300x5xi8> scales (tensor<3x1xf32>, tensor<1xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @rhs_scale(%a: tensor<2x300xi8>, %b: tensor<300x200xi8>, %s: tensor<2x3xf32>, %t: tensor<2x2xf32>) {
  // expected-error @below {{expected size of dim 1 of rhs_scale to be 3, but got 2}}
  %0 = hk.matmul %a, %b scales (%s, %t) : tensor<2x300xi8>, tensor<300x200xi8> scales (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x200xf32>
  return
}

// -----

func.func @scale_rank(%a: tensor<2x300xi8>, %b: tensor<300x200xi8>, %s: tensor<2xf32>, %t: tensor<1xf32>) {
  // expected-error @below {{expected rank of lhs_scale to be 2, but got 1}}
  %0 = hk.matmul %a, %b scales (%s, %t) : tensor<2x300xi8>, tensor<300x200xi8> scales (tensor<2xf32>, tensor<1xf32>) -> tensor<2x200xf32>
  return
}

// -----

func.func @scale_batch(%a: tensor<7x2x300xi8>, %b: tensor<300x200xi8>, %s: tensor<6x2x1xf32>, %t: tensor<1xf32>) {
  // expected-error @below {{expected size of dim 0 of lhs_scale to be 7, but got 6}}
  %0 = hk.matmul %a, %b scales (%s, %t) : tensor<7x2x300xi8>, tensor<300x200xi8> scales (tensor<6x2x1xf32>, tensor<1xf32>) -> tensor<7x2x200xf32>
  return
}

// -----

func.func @mx_element(%a: tensor<2x64xbf16>, %b: tensor<64x5xbf16>, %s: tensor<2x2xf8E8M0FNU>) {
  // expected-error @below {{expected element type of lhs with f8E8M0FNU scales to be f4E2M1FN, f8E4M3FN or f8E5M2, but got 'bf16'}}
  %0 = hk.matmul %a, %b scales (%s, none) : tensor<2x64xbf16>, tensor<64x5xbf16> scales (tensor<2x2xf8E8M0FNU>, none) -> tensor<2x5xf32>
  return
}

// -----

func.func @mx_rows(%a: tensor<2x64xbf16>, %b: tensor<64x128xf4E2M1FN>, %s: tensor<1x2xf8E8M0FNU>) {
  // expected-error @below {{expected size of dim 0 of rhs_scale to be 128, but got 1}}
  %0 = hk.matmul %a, %b scales (none, %s) : tensor<2x64xbf16>, tensor<64x128xf4E2M1FN> scales (none, tensor<1x2xf8E8M0FNU>) -> tensor<2x128xf32>
  return
}

// -----

func.func @mx_blocks(%a: tensor<2x72xbf16>, %b: tensor<72x128xf4E2M1FN>, %s: tensor<128x2xf8E8M0FNU>) {
  // expected-error @below {{expected size of dim 1 of rhs_scale to be 3, but got 2}}
  %0 = hk.matmul %a, %b scales (none, %s) : tensor<2x72xbf16>, tensor<72x128xf4E2M1FN> scales (none, tensor<128x2xf8E8M0FNU>) -> tensor<2x128xf32>
  return
}

// -----

func.func @other_scale(%a: tensor<2x72xbf16>, %b: tensor<72x128xbf16>, %s: tensor<1xbf16>) {
  // expected-error @below {{operand #2 must be ranked tensor of 32-bit float or f8E8M0FNU type values}}
  %0 = hk.matmul %a, %b scales (%s, none) : tensor<2x72xbf16>, tensor<72x128xbf16> scales (tensor<1xbf16>, none) -> tensor<2x128xf32>
  return
}

// -----

func.func @int4(%a: tensor<?x64xbf16>, %b: tensor<32x64xi4>) {
  // expected-error @below {{expected element type of rhs to be i8 or a float, but got 'i4'}}
  %0 = hk.matmul %a, %b transpose_b : tensor<?x64xbf16>, tensor<32x64xi4> -> tensor<?x32xbf16>
  return
}

// -----

func.func @accumulation_type(%a: tensor<?x64xf8E4M3FN>, %b: tensor<32x64xbf16>) {
  // expected-error @below {{expected element type of rhs to be fp8 with accumulation tensor_core, but got 'bf16'}}
  %0 = hk.matmul %a, %b transpose_b accumulation tensor_core : tensor<?x64xf8E4M3FN>, tensor<32x64xbf16> -> tensor<?x32xbf16>
  return
}
