// RUN: hk-opt %s -split-input-file -verify-diagnostics

func.func @cumsum_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected dim to be in [0, 2), but got 2}}
  %0 = hk.cumsum inclusive %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @cumsum_offsets(%x: tensor<8xf32>) {
  // expected-error @below {{expected kind to be inclusive or exclusive with chunk, bounds or reverse, but got offsets}}
  %0 = hk.cumsum offsets %x reverse : tensor<8xf32> -> tensor<9xf32>
  return
}

// -----

func.func @cumsum_chunk(%x: tensor<8xf32>) {
  // expected-error @below {{expected chunk to be at least 1, but got 0}}
  %0 = hk.cumsum inclusive %x chunk 0 : tensor<8xf32>
  return
}

// -----

func.func @cumsum_bounds_rank(%x: tensor<8xf32>, %cu: tensor<3x1xi32>) {
  // expected-error @below {{expected rank of bounds to be 1, but got 2}}
  %0 = hk.cumsum inclusive %x bounds %cu : tensor<8xf32> bounds tensor<3x1xi32>
  return
}

// -----

func.func @cumsum_no_bounds(%x: tensor<8xf32>, %cu: tensor<0xi32>) {
  // expected-error @below {{expected size of dim 0 of bounds to be at least 1, but got 0}}
  %0 = hk.cumsum inclusive %x bounds %cu : tensor<8xf32> bounds tensor<0xi32>
  return
}

// -----

func.func @cumsum_float(%x: tensor<8xf32>) {
  // expected-error @below {{expected element type of result to be f32, bf16 or f16 for input of 'f32', but got 'i32'}}
  %0 = hk.cumsum inclusive %x : tensor<8xf32> -> tensor<8xi32>
  return
}

// -----

func.func @cumsum_integer(%x: tensor<8xi1>) {
  // expected-error @below {{expected element type of result to be i32 or i64 for input of 'i1', but got 'f32'}}
  %0 = hk.cumsum inclusive %x : tensor<8xi1> -> tensor<8xf32>
  return
}

// -----

func.func @cumsum_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected shape of result to be [4, 9], but got [4, 8]}}
  %0 = hk.cumsum offsets %x dim 1 : tensor<4x8xf32>
  return
}

// -----

func.func @histogram(%ids: tensor<8xi32>) {
  // expected-error @below {{expected size of dim 0 of result to be static, but got ?}}
  %0 = hk.histogram %ids : tensor<8xi32> -> tensor<?xi32>
  return
}

// -----

func.func @bits_words(%bits: tensor<?x8xi32>) {
  // expected-error @below {{expected size of dim 0 of bits to be static, but got ?}}
  %0 = hk.count_bits %bits : tensor<?x8xi32> -> tensor<32xi32>
  return
}

// -----

func.func @bits_result(%bits: tensor<2x8xi32>) {
  // expected-error @below {{expected size of dim 0 of result to be static, but got ?}}
  %0 = hk.count_bits %bits : tensor<2x8xi32> -> tensor<?xi32>
  return
}

// -----

func.func @bits_size(%bits: tensor<2x8xi32>) {
  // expected-error @below {{expected size of dim 0 of result to be at most 64, the bits of 2 words, but got 65}}
  %0 = hk.count_bits %bits : tensor<2x8xi32> -> tensor<65xi32>
  return
}

// -----

func.func @bits_block(%bits: tensor<2x8xi32>) {
  // expected-error @below {{expected block to be at least 1, but got 0}}
  %0, %1 = hk.count_bits %bits block 0 : tensor<2x8xi32> -> tensor<64xi32>, tensor<1x64xi32>
  return
}

// -----

func.func @bits_before(%bits: tensor<2x33xi32>) {
  // expected-error @below {{expected shape of before to be [2, 60], but got [1, 60]}}
  %0, %1 = hk.count_bits %bits : tensor<2x33xi32> -> tensor<60xi32>, tensor<1x60xi32>
  return
}

// -----

func.func @sort_bins(%ids: tensor<8xi32>) {
  // expected-error @below {{expected bins to be at least 1, but got 0}}
  %0, %1 = hk.sort_by_key %ids bins 0 : tensor<8xi32> -> tensor<8xi32>, tensor<8xi32>
  return
}

// -----

func.func @sort_block(%ids: tensor<8xi32>) {
  // expected-error @below {{expected block to be at least 1, but got -16}}
  %0, %1 = hk.sort_by_key %ids bins 4 block -16 : tensor<8xi32> -> tensor<8xi32>, tensor<8xi32>
  return
}

// -----

func.func @sort_position(%ids: tensor<8xi32>) {
  // expected-error @below {{expected size of dim 0 of position to be 8, but got 9}}
  %0, %1 = hk.sort_by_key %ids bins 4 : tensor<8xi32> -> tensor<8xi32>, tensor<9xi32>
  return
}

// -----

func.func @segments_block(%l: tensor<4xi32>) {
  // expected-error @below {{expected block to be at least 1, but got 0}}
  %0, %1, %2 = hk.segments lengths %l block 0 : tensor<4xi32> -> tensor<8xi32>, tensor<8xi32>, tensor<5xi32>
  return
}

// -----

func.func @segments_empty_bounds(%cu: tensor<0xi32>) {
  // expected-error @below {{expected size of dim 0 of segments to be at least 1 for bounds, but got 0}}
  %0, %1, %2 = hk.segments bounds %cu : tensor<0xi32> -> tensor<8xi32>, tensor<8xi32>, tensor<0xi32>
  return
}

// -----

func.func @segments_ranks(%l: tensor<4xi32>) {
  // expected-error @below {{expected size of dim 0 of ranks to be 8, but got 9}}
  %0, %1, %2 = hk.segments lengths %l : tensor<4xi32> -> tensor<8xi32>, tensor<9xi32>, tensor<5xi32>
  return
}

// -----

func.func @segments_items(%l: tensor<4xi32>) {
  // expected-error @below {{expected items, which give a dynamic size of ids, or a static size of dim 0 of ids, but got ?}}
  %0, %1, %2 = hk.segments lengths %l : tensor<4xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<5xi32>
  return
}

// -----

func.func @segments_items_rank(%l: tensor<4xi32>, %x: tensor<f32>) {
  // expected-error @below {{expected rank of items to be at least 1, but got 0}}
  %0, %1, %2 = hk.segments lengths %l items %x : tensor<4xi32> items tensor<f32> -> tensor<8xi32>, tensor<8xi32>, tensor<5xi32>
  return
}

// -----

func.func @segments_offsets(%l: tensor<4xi32>) {
  // expected-error @below {{expected size of dim 0 of offsets to be 5, but got 4}}
  %0, %1, %2 = hk.segments lengths %l : tensor<4xi32> -> tensor<8xi32>, tensor<8xi32>, tensor<4xi32>
  return
}

// -----

func.func @segments_bounds_offsets(%cu: tensor<4xi32>) {
  // expected-error @below {{expected size of dim 0 of offsets to be 4, but got 5}}
  %0, %1, %2 = hk.segments bounds %cu : tensor<4xi32> -> tensor<8xi32>, tensor<8xi32>, tensor<5xi32>
  return
}
