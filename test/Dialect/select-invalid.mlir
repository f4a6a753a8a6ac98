// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @topk_scalar(%x: tensor<f32>) {
  // expected-error @below {{expected rank of input to be at least 1, but got 0}}
  %0, %1 = hk.topk %x : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

func.func @topk_rank(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected rank of values to be 2, but got 1}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<2xf32>, tensor<2xi32>
  return
}

// -----

func.func @topk_rows(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected size of dim 0 of values to be 2, but got 3}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<3x2xf32>, tensor<3x2xi32>
  return
}

// -----

func.func @topk_dynamic(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected size of dim 1 of values to be static}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<2x?xf32>, tensor<2x?xi32>
  return
}

// -----

func.func @topk_element(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected element type of values to be 'f32', but got 'bf16'}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<2x2xbf16>, tensor<2x2xi32>
  return
}

// -----

func.func @topk_indices(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected shape of indices to be [2, 2], but got [2, 3]}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<2x2xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @topk_none(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected size of the last dim of values, which is k, to be at least 1, but got 0}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<2x0xf32>, tensor<2x0xi32>
  return
}

// -----

func.func @topk_many(%x: tensor<2x4xf32>) {
  // expected-error @below {{expected size of the last dim of values, which is k, to be at most 4, the size of the last dim of input, but got 5}}
  %0, %1 = hk.topk %x : tensor<2x4xf32> -> tensor<2x5xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @gather_rank(%x: tensor<2x4xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{expected rank of indices to be 2, but got 1}}
  %0 = hk.gather_last %x, %i : tensor<2x4xf32>, tensor<2xi32> -> tensor<2xf32>
  return
}

// -----

func.func @gather_rows(%x: tensor<2x4xf32>, %i: tensor<3x2xi32>) {
  // expected-error @below {{expected size of dim 0 of indices to be 2, but got 3}}
  %0 = hk.gather_last %x, %i : tensor<2x4xf32>, tensor<3x2xi32> -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_element(%x: tensor<2x4xf32>, %i: tensor<2x2xi32>) {
  // expected-error @below {{expected element type of result to be 'f32', but got 'f16'}}
  %0 = hk.gather_last %x, %i : tensor<2x4xf32>, tensor<2x2xi32> -> tensor<2x2xf16>
  return
}

// -----

func.func @gather_result(%x: tensor<2x4xf32>, %i: tensor<2x2xi32>) {
  // expected-error @below {{expected shape of result to be [2, 2], but got [2, 4]}}
  %0 = hk.gather_last %x, %i : tensor<2x4xf32>, tensor<2x2xi32> -> tensor<2x4xf32>
  return
}

// -----

func.func @groups_shape(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected shape of result to be [2, 8], but got [2, 4]}}
  %0 = hk.group_limit maximum %x groups 2 top_groups 1 : tensor<2x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @groups_dynamic(%x: tensor<2x?xf32>) {
  // expected-error @below {{expected size of dim 1 of input to be static}}
  %0 = hk.group_limit maximum %x groups 2 top_groups 1 : tensor<2x?xf32>
  return
}

// -----

func.func @groups_many(%x: tensor<2x130xf32>) {
  // expected-error @below {{expected groups to be 1 to 64, but got 65}}
  %0 = hk.group_limit maximum %x groups 65 top_groups 1 : tensor<2x130xf32>
  return
}

// -----

func.func @groups_top(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected top_groups to be 1 to 2, the number of groups, but got 3}}
  %0 = hk.group_limit maximum %x groups 2 top_groups 3 : tensor<2x8xf32>
  return
}

// -----

func.func @groups_pairs(%x: tensor<2x8xf32>) {
  // expected-error @below {{expected size of the last dim of input to be 8 groups of at least 2, but got 8}}
  %0 = hk.group_limit top2_sum %x groups 8 top_groups 3 : tensor<2x8xf32>
  return
}

// -----

func.func @groups_uneven(%x: tensor<2x9xf32>) {
  // expected-error @below {{expected size of the last dim of input to be 2 groups of at least 1, but got 9}}
  %0 = hk.group_limit maximum %x groups 2 top_groups 1 : tensor<2x9xf32>
  return
}

// -----

func.func @bits_rows(%i: tensor<2x8xi32>) {
  // expected-error @below {{expected size of dim 0 of result to be 2, but got 3}}
  %0 = hk.bitmatrix %i : tensor<2x8xi32> -> tensor<3x1xi32>
  return
}

// -----

func.func @bits_dynamic(%i: tensor<2x?xi32>) {
  // expected-error @below {{expected size of dim 1 of indices to be static}}
  %0 = hk.bitmatrix %i : tensor<2x?xi32> -> tensor<2x1xi32>
  return
}

// -----

func.func @fill_is_rounded(%x: tensor<2x8xbf16>) {
  // expected-error @below {{expected fill to be a number of 'bf16', but got 1.001}}
  %0 = hk.group_limit maximum %x groups 2 top_groups 1 fill 1.001 : tensor<2x8xbf16>
  return
}
