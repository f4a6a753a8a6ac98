// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @lhs_rank(%x: tensor<1x6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected rank of lhs to be 2, but got 3}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b : tensor<1x6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @rhs_rank(%x: tensor<6x32xbf16>, %w: tensor<8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected rank of rhs to be 3, but got 2}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b : tensor<6x32xbf16>, tensor<8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @result_rank(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<4x6x8xbf16> {
  // expected-error @+1 {{expected rank of result to be 2, but got 3}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<4x6x8xbf16>
  return %y : tensor<4x6x8xbf16>
}

// -----

func.func @blocks_alone(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected `block` and `order` with blocks}}
  %y = hk.grouped_matmul %x, %w blocks %g transpose_b : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @block_of_bounds(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected no `block` with bounds or lengths}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b block 16 : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @top_k(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected `order` with top_k 2}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b top_k 2 : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @transpose_a(%x: tensor<32x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<32x8xbf16> {
  // expected-error @+1 {{expected no transpose_a with groups of rows}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_a transpose_b : tensor<32x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<32x8xbf16>
  return %y : tensor<32x8xbf16>
}

// -----

func.func @bounds(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<4xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected size of dim 0 of groups to be 5, but got 4}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<4xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @lengths(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected size of dim 0 of groups to be 4, but got 5}}
  %y = hk.grouped_matmul %x, %w lengths %g transpose_b : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @depth(%x: tensor<6x32xbf16>, %w: tensor<4x8x16xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected size of dim 2 of rhs to be 32, but got 16}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b : tensor<6x32xbf16>, tensor<4x8x16xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @rows_of_blocks(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %e: tensor<2xi32>, %o: tensor<32xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected shape of result to be [12, 8], but got [6, 8]}}
  %y = hk.grouped_matmul %x, %w blocks %e order %o transpose_b block 16 top_k 2 : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<2xi32> order tensor<32xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @bias(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>, %c: tensor<4x9xf32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected shape of bias to be [4, 8], but got [4, 9]}}
  %y = hk.grouped_matmul %x, %w bounds %g bias %c transpose_b : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> bias tensor<4x9xf32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @group_scale(%x: tensor<6x32xbf16>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>, %c: tensor<3xf32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected shape of group_scale to be [4], but got [3]}}
  %y = hk.grouped_matmul %x, %w bounds %g group_scale %c transpose_b : tensor<6x32xbf16>, tensor<4x8x32xbf16> groups tensor<5xi32> group_scale tensor<3xf32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @accumulation_type(%x: tensor<6x32xf8E4M3FN>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected element type of rhs to be fp8 with accumulation tensor_core, but got 'bf16'}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b accumulation tensor_core : tensor<6x32xf8E4M3FN>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @order_along_k(%x: tensor<6x32xbf16>, %d: tensor<6x8xbf16>, %g: tensor<5xi32>, %o: tensor<6xi32>) -> tensor<4x32x8xbf16> {
  // expected-error @+1 {{expected no `order` with along_k}}
  %y = hk.grouped_matmul %x, %d bounds %g order %o along_k : tensor<6x32xbf16>, tensor<6x8xbf16> groups tensor<5xi32> order tensor<6xi32> -> tensor<4x32x8xbf16>
  return %y : tensor<4x32x8xbf16>
}

// -----

func.func @scales_along_k(%x: tensor<6x32xbf16>, %d: tensor<6x8xbf16>, %g: tensor<5xi32>, %s: tensor<1xf32>) -> tensor<4x32x8xbf16> {
  // expected-error @+1 {{expected no scales with along_k}}
  %y = hk.grouped_matmul %x, %d scales (%s, none) bounds %g along_k : tensor<6x32xbf16>, tensor<6x8xbf16> scales (tensor<1xf32>, none) groups tensor<5xi32> -> tensor<4x32x8xbf16>
  return %y : tensor<4x32x8xbf16>
}

// -----

func.func @bias_along_k(%x: tensor<6x32xbf16>, %d: tensor<6x8xbf16>, %g: tensor<5xi32>, %s: tensor<4x8xf32>) -> tensor<4x32x8xbf16> {
  // expected-error @+1 {{expected no bias with along_k}}
  %y = hk.grouped_matmul %x, %d bounds %g bias %s along_k : tensor<6x32xbf16>, tensor<6x8xbf16> groups tensor<5xi32> bias tensor<4x8xf32> -> tensor<4x32x8xbf16>
  return %y : tensor<4x32x8xbf16>
}

// -----

func.func @element_along_k(%x: tensor<6x32xi8>, %d: tensor<6x8xi8>, %g: tensor<5xi32>) -> tensor<4x32x8xf32> {
  // expected-error @+1 {{expected element type of lhs to be f32, bf16 or f16 with along_k, but got 'i8'}}
  %y = hk.grouped_matmul %x, %d bounds %g along_k : tensor<6x32xi8>, tensor<6x8xi8> groups tensor<5xi32> -> tensor<4x32x8xf32>
  return %y : tensor<4x32x8xf32>
}

// -----

func.func @many_along_k(%x: tensor<6x32xbf16>, %d: tensor<6x8xbf16>, %g: tensor<65537xi32>) -> tensor<65536x32x8xbf16> {
  // expected-error @+1 {{expected at most 65535 groups with along_k, but got 65536}}
  %y = hk.grouped_matmul %x, %d bounds %g along_k : tensor<6x32xbf16>, tensor<6x8xbf16> groups tensor<65537xi32> -> tensor<65536x32x8xbf16>
  return %y : tensor<65536x32x8xbf16>
}

// -----

func.func @dynamic_along_k(%x: tensor<6x32xbf16>, %d: tensor<6x8xbf16>, %g: tensor<?xi32>) -> tensor<?x32x8xbf16> {
  // expected-error @+1 {{expected size of dim 0 of result to be static}}
  %y = hk.grouped_matmul %x, %d bounds %g along_k : tensor<6x32xbf16>, tensor<6x8xbf16> groups tensor<?xi32> -> tensor<?x32x8xbf16>
  return %y : tensor<?x32x8xbf16>
}

// -----

func.func @element(%x: tensor<6x32xi8>, %w: tensor<4x8x32xbf16>, %g: tensor<5xi32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected element type of rhs to be 'i8', but got 'bf16'}}
  %y = hk.grouped_matmul %x, %w bounds %g transpose_b : tensor<6x32xi8>, tensor<4x8x32xbf16> groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}

// -----

func.func @integers(%x: tensor<6x32xi8>, %w: tensor<4x8x32xi8>, %g: tensor<5xi32>, %s: tensor<4xf32>) -> tensor<6x8xi32> {
  // expected-error @+1 {{expected element type of result to be real, but got i32}}
  %y = hk.grouped_matmul %x, %w bounds %g group_scale %s transpose_b : tensor<6x32xi8>, tensor<4x8x32xi8> groups tensor<5xi32> group_scale tensor<4xf32> -> tensor<6x8xi32>
  return %y : tensor<6x8xi32>
}

// -----

func.func @scale_of_groups(%x: tensor<6x32xi8>, %w: tensor<4x8x32xi8>, %g: tensor<5xi32>, %s: tensor<3x8x1xf32>) -> tensor<6x8xbf16> {
  // expected-error @+1 {{expected size of dim 0 of rhs_scale to be 4, but got 3}}
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %g transpose_b : tensor<6x32xi8>, tensor<4x8x32xi8> scales (none, tensor<3x8x1xf32>) groups tensor<5xi32> -> tensor<6x8xbf16>
  return %y : tensor<6x8xbf16>
}
