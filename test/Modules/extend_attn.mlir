// New tokens of sequences that have a cached prefix, whose slots a list names: attention to
// the prefix and to the new tokens, causal or by a mask of its own, is one launch.
// HK-LAUNCHES: 1 @d18_17=3 @d18_19_f32=3
// HK-ARGS: --range=mask_indptr=0:200
// HK-DIMS: mask.0=1500 q.0=41 k.0=41 v.0=41 k_buffer.0=50 v_buffer.0=50 kv_indices.0=64
// HK-DIMS: @d18_17,d18_19_f32 q.0=0 k.0=0 v.0=0 k_buffer.0=50 v_buffer.0=50 kv_indices.0=64
// HK-DIMS: @d18_17,d18_19_f32 q.0=30 k.0=30 v.0=30 k_buffer.0=0 v_buffer.0=0 kv_indices.0=0
// HK-DIMS-HOST: @d18_17,d18_19_f32 q.0=999 k.0=999 v.0=999 k_buffer.0=1600 v_buffer.0=1600 kv_indices.0=1536
// HK-DATA: normal,equal

func.func @d48_32(%q: tensor<40x4x48xbf16>, %k: tensor<40x1x48xbf16>, %v: tensor<40x1x32xbf16>, %k_buffer: tensor<48x1x48xbf16>, %v_buffer: tensor<48x1x32xbf16>, %qo_indptr: tensor<5xi32>, %kv_indptr: tensor<5xi32>, %kv_indices: tensor<60xi32>) -> tensor<40x4x32xbf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 48] : tensor<48x1x48xbf16> into tensor<48x1x1x48xbf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 32] : tensor<48x1x32xbf16> into tensor<48x1x1x32xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.144 : tensor<40x4x48xbf16>, tensor<48x1x1x48xbf16>, tensor<48x1x1x32xbf16> q_offsets tensor<5xi32> block_table tensor<60xi32> table_offsets tensor<5xi32> -> tensor<40x4x32xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.144 causal : tensor<40x4x48xbf16>, tensor<40x1x48xbf16>, tensor<40x1x32xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x32xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x32xf32>, tensor<40x4xf32>, tensor<40x4x32xf32>, tensor<40x4xf32> -> tensor<40x4x32xbf16>
  return %o : tensor<40x4x32xbf16>
}
func.func @d31_17_f32(%q: tensor<40x5x31xf32>, %k: tensor<40x5x31xf32>, %v: tensor<40x5x17xf32>, %k_buffer: tensor<48x5x31xf32>, %v_buffer: tensor<48x5x17xf32>, %qo_indptr: tensor<4xi32>, %kv_indptr: tensor<4xi32>, %kv_indices: tensor<60xi32>) -> tensor<40x5x17xf32> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 5, 31] : tensor<48x5x31xf32> into tensor<48x1x5x31xf32>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 5, 17] : tensor<48x5x17xf32> into tensor<48x1x5x17xf32>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.18 : tensor<40x5x31xf32>, tensor<48x1x5x31xf32>, tensor<48x1x5x17xf32> q_offsets tensor<4xi32> block_table tensor<60xi32> table_offsets tensor<4xi32> -> tensor<40x5x17xf32>, tensor<40x5xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.18 causal : tensor<40x5x31xf32>, tensor<40x5x31xf32>, tensor<40x5x17xf32> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<40x5x17xf32>, tensor<40x5xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x5x17xf32>, tensor<40x5xf32>, tensor<40x5x17xf32>, tensor<40x5xf32> -> tensor<40x5x17xf32>
  return %o : tensor<40x5x17xf32>
}
func.func @d18_17(%q: tensor<?x5x18xbf16>, %k: tensor<?x5x18xbf16>, %v: tensor<?x5x17xbf16>, %k_buffer: tensor<?x5x18xbf16>, %v_buffer: tensor<?x5x17xbf16>, %qo_indptr: tensor<4xi32>, %kv_indptr: tensor<4xi32>, %kv_indices: tensor<?xi32>) -> tensor<?x5x17xbf16> {
  %c0 = arith.constant 0 : index
  %slots = tensor.dim %k_buffer, %c0 : tensor<?x5x18xbf16>
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [%slots, 1, 5, 18] : tensor<?x5x18xbf16> into tensor<?x1x5x18xbf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [%slots, 1, 5, 17] : tensor<?x5x17xbf16> into tensor<?x1x5x17xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.2357 : tensor<?x5x18xbf16>, tensor<?x1x5x18xbf16>, tensor<?x1x5x17xbf16> q_offsets tensor<4xi32> block_table tensor<?xi32> table_offsets tensor<4xi32> -> tensor<?x5x17xf32>, tensor<?x5xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.2357 causal : tensor<?x5x18xbf16>, tensor<?x5x18xbf16>, tensor<?x5x17xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<?x5x17xf32>, tensor<?x5xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<?x5x17xf32>, tensor<?x5xf32>, tensor<?x5x17xf32>, tensor<?x5xf32> -> tensor<?x5x17xbf16>
  return %o : tensor<?x5x17xbf16>
}
func.func @d18_19_f32(%q: tensor<?x5x18xf32>, %k: tensor<?x1x18xf32>, %v: tensor<?x1x19xf32>, %k_buffer: tensor<?x1x18xf32>, %v_buffer: tensor<?x1x19xf32>, %qo_indptr: tensor<4xi32>, %kv_indptr: tensor<4xi32>, %kv_indices: tensor<?xi32>) -> tensor<?x5x19xf32> {
  %c0 = arith.constant 0 : index
  %slots = tensor.dim %k_buffer, %c0 : tensor<?x1x18xf32>
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [%slots, 1, 1, 18] : tensor<?x1x18xf32> into tensor<?x1x1x18xf32>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [%slots, 1, 1, 19] : tensor<?x1x19xf32> into tensor<?x1x1x19xf32>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.2357 : tensor<?x5x18xf32>, tensor<?x1x1x18xf32>, tensor<?x1x1x19xf32> q_offsets tensor<4xi32> block_table tensor<?xi32> table_offsets tensor<4xi32> -> tensor<?x5x19xf32>, tensor<?x5xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.2357 causal : tensor<?x5x18xf32>, tensor<?x1x18xf32>, tensor<?x1x19xf32> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<?x5x19xf32>, tensor<?x5xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<?x5x19xf32>, tensor<?x5xf32>, tensor<?x5x19xf32>, tensor<?x5xf32> -> tensor<?x5x19xf32>
  return %o : tensor<?x5x19xf32>
}
func.func @d64_grouped_softcap(%q: tensor<40x8x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_buffer: tensor<48x2x64xbf16>, %v_buffer: tensor<48x2x64xbf16>, %qo_indptr: tensor<5xi32>, %kv_indptr: tensor<5xi32>, %kv_indices: tensor<60xi32>) -> tensor<40x8x64xbf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 2, 64] : tensor<48x2x64xbf16> into tensor<48x1x2x64xbf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 2, 64] : tensor<48x2x64xbf16> into tensor<48x1x2x64xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.125 softcap 30.0 : tensor<40x8x64xbf16>, tensor<48x1x2x64xbf16>, tensor<48x1x2x64xbf16> q_offsets tensor<5xi32> block_table tensor<60xi32> table_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.125 causal softcap 30.0 : tensor<40x8x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x8x64xf32>, tensor<40x8xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x8x64xf32>, tensor<40x8xf32>, tensor<40x8x64xf32>, tensor<40x8xf32> -> tensor<40x8x64xbf16>
  return %o : tensor<40x8x64xbf16>
}
func.func @d128_f16(%q: tensor<40x4x128xf16>, %k: tensor<40x1x128xf16>, %v: tensor<40x1x128xf16>, %k_buffer: tensor<48x1x128xf16>, %v_buffer: tensor<48x1x128xf16>, %qo_indptr: tensor<5xi32>, %kv_indptr: tensor<5xi32>, %kv_indices: tensor<60xi32>) -> tensor<40x4x128xf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 128] : tensor<48x1x128xf16> into tensor<48x1x1x128xf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 128] : tensor<48x1x128xf16> into tensor<48x1x1x128xf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.088 : tensor<40x4x128xf16>, tensor<48x1x1x128xf16>, tensor<48x1x1x128xf16> q_offsets tensor<5xi32> block_table tensor<60xi32> table_offsets tensor<5xi32> -> tensor<40x4x128xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.088 causal : tensor<40x4x128xf16>, tensor<40x1x128xf16>, tensor<40x1x128xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x128xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x128xf32>, tensor<40x4xf32>, tensor<40x4x128xf32>, tensor<40x4xf32> -> tensor<40x4x128xf16>
  return %o : tensor<40x4x128xf16>
}
func.func @latent_576(%q: tensor<20x16x576xbf16>, %k: tensor<20x1x576xbf16>, %k_buffer: tensor<48x1x576xbf16>, %qo_indptr: tensor<4xi32>, %kv_indptr: tensor<4xi32>, %kv_indices: tensor<60xi32>) -> tensor<20x16x512xbf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 576] : tensor<48x1x576xbf16> into tensor<48x1x1x576xbf16>
  %vp = tensor.extract_slice %kp[0, 0, 0, 0] [48, 1, 1, 512] [1, 1, 1, 1] : tensor<48x1x1x576xbf16> to tensor<48x1x1x512xbf16>
  %v = tensor.extract_slice %k[0, 0, 0] [20, 1, 512] [1, 1, 1] : tensor<20x1x576xbf16> to tensor<20x1x512xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.0417 : tensor<20x16x576xbf16>, tensor<48x1x1x576xbf16>, tensor<48x1x1x512xbf16> q_offsets tensor<4xi32> block_table tensor<60xi32> table_offsets tensor<4xi32> -> tensor<20x16x512xf32>, tensor<20x16xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.0417 causal : tensor<20x16x576xbf16>, tensor<20x1x576xbf16>, tensor<20x1x512xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<20x16x512xf32>, tensor<20x16xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<20x16x512xf32>, tensor<20x16xf32>, tensor<20x16x512xf32>, tensor<20x16xf32> -> tensor<20x16x512xbf16>
  return %o : tensor<20x16x512xbf16>
}
func.func @d192_128(%q: tensor<40x4x192xbf16>, %k: tensor<40x2x192xbf16>, %v: tensor<40x2x128xbf16>, %k_buffer: tensor<48x2x192xbf16>, %v_buffer: tensor<48x2x128xbf16>, %qo_indptr: tensor<5xi32>, %kv_indptr: tensor<5xi32>, %kv_indices: tensor<60xi32>) -> tensor<40x4x128xbf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 2, 192] : tensor<48x2x192xbf16> into tensor<48x1x2x192xbf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 2, 128] : tensor<48x2x128xbf16> into tensor<48x1x2x128xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.072 : tensor<40x4x192xbf16>, tensor<48x1x2x192xbf16>, tensor<48x1x2x128xbf16> q_offsets tensor<5xi32> block_table tensor<60xi32> table_offsets tensor<5xi32> -> tensor<40x4x128xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.072 causal : tensor<40x4x192xbf16>, tensor<40x2x192xbf16>, tensor<40x2x128xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> -> tensor<40x4x128xf32>, tensor<40x4xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x128xf32>, tensor<40x4xf32>, tensor<40x4x128xf32>, tensor<40x4xf32> -> tensor<40x4x128xbf16>
  return %o : tensor<40x4x128xbf16>
}
func.func @d288_256(%q: tensor<20x2x288xbf16>, %k: tensor<20x1x288xbf16>, %v: tensor<20x1x256xbf16>, %k_buffer: tensor<48x1x288xbf16>, %v_buffer: tensor<48x1x256xbf16>, %qo_indptr: tensor<4xi32>, %kv_indptr: tensor<4xi32>, %kv_indices: tensor<60xi32>) -> tensor<20x2x256xbf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 288] : tensor<48x1x288xbf16> into tensor<48x1x1x288xbf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 256] : tensor<48x1x256xbf16> into tensor<48x1x1x256xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.059 : tensor<20x2x288xbf16>, tensor<48x1x1x288xbf16>, tensor<48x1x1x256xbf16> q_offsets tensor<4xi32> block_table tensor<60xi32> table_offsets tensor<4xi32> -> tensor<20x2x256xf32>, tensor<20x2xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr scale 0.059 causal : tensor<20x2x288xbf16>, tensor<20x1x288xbf16>, tensor<20x1x256xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> -> tensor<20x2x256xf32>, tensor<20x2xf32>
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<20x2x256xf32>, tensor<20x2xf32>, tensor<20x2x256xf32>, tensor<20x2xf32> -> tensor<20x2x256xbf16>
  return %o : tensor<20x2x256xbf16>
}
func.func @custom_mask(%q: tensor<40x4x64xbf16>, %k: tensor<40x2x64xbf16>, %v: tensor<40x2x64xbf16>, %k_buffer: tensor<48x2x64xbf16>, %v_buffer: tensor<48x2x64xbf16>, %qo_indptr: tensor<5xi32>, %kv_indptr: tensor<5xi32>, %kv_indices: tensor<60xi32>, %mask: tensor<?xi1>, %mask_indptr: tensor<5xi32>) -> tensor<40x4x64xbf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 2, 64] : tensor<48x2x64xbf16> into tensor<48x1x2x64xbf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 2, 64] : tensor<48x2x64xbf16> into tensor<48x1x2x64xbf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr reads (%mask, %mask_indptr) scale 0.125 : tensor<40x4x64xbf16>, tensor<48x1x2x64xbf16>, tensor<48x1x2x64xbf16> q_offsets tensor<5xi32> block_table tensor<60xi32> table_offsets tensor<5xi32> reads (tensor<?xi1>, tensor<5xi32>) -> tensor<40x4x64xf32>, tensor<40x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<?xi1>, %mi: tensor<5xi32>):
    %first = hk.gather_elements %mi [%b] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %all = hk.add %nk, %nq : tensor<i32>
    %row = hk.mul %i, %all : tensor<i32>
    %begin = hk.add %first, %row : tensor<i32>
    %at = hk.add %begin, %j : tensor<i32>
    %is = hk.gather_elements %t [%at] : tensor<?xi1> [tensor<i32>] -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr reads (%mask, %mask_indptr, %kv_indptr) scale 0.125 : tensor<40x4x64xbf16>, tensor<40x2x64xbf16>, tensor<40x2x64xbf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> reads (tensor<?xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<40x4x64xf32>, tensor<40x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<?xi1>, %mi: tensor<5xi32>, %ki: tensor<5xi32>):
    %first = hk.gather_elements %mi [%b] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %next = hk.add %b, %one : tensor<i32>
    %from = hk.gather_elements %ki [%b] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %to = hk.gather_elements %ki [%next] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %prefix = hk.sub %to, %from : tensor<i32>
    %all = hk.add %prefix, %nk : tensor<i32>
    %key = hk.add %prefix, %j : tensor<i32>
    %row = hk.mul %i, %all : tensor<i32>
    %begin = hk.add %first, %row : tensor<i32>
    %at = hk.add %begin, %key : tensor<i32>
    %is = hk.gather_elements %t [%at] : tensor<?xi1> [tensor<i32>] -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xbf16>
  return %o : tensor<40x4x64xbf16>
}
func.func @mask_of_new_tokens(%q: tensor<40x4x64xf16>, %k: tensor<40x1x64xf16>, %v: tensor<40x1x64xf16>, %k_buffer: tensor<48x1x64xf16>, %v_buffer: tensor<48x1x64xf16>, %qo_indptr: tensor<5xi32>, %kv_indptr: tensor<5xi32>, %kv_indices: tensor<60xi32>, %mask: tensor<?xi8>, %mask_indptr: tensor<5xi32>) -> tensor<40x4x64xf16> {
  %kp = tensor.expand_shape %k_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 64] : tensor<48x1x64xf16> into tensor<48x1x1x64xf16>
  %vp = tensor.expand_shape %v_buffer [[0, 1], [2], [3]] output_shape [48, 1, 1, 64] : tensor<48x1x64xf16> into tensor<48x1x1x64xf16>
  %old, %old_lse = hk.attention %q, %kp, %vp q_offsets %qo_indptr block_table %kv_indices table_offsets %kv_indptr scale 0.125 : tensor<40x4x64xf16>, tensor<48x1x1x64xf16>, tensor<48x1x1x64xf16> q_offsets tensor<5xi32> block_table tensor<60xi32> table_offsets tensor<5xi32> -> tensor<40x4x64xf32>, tensor<40x4xf32>
  %new, %new_lse = hk.attention %q, %k, %v q_offsets %qo_indptr kv_offsets %qo_indptr reads (%mask, %mask_indptr, %kv_indptr) scale 0.125 : tensor<40x4x64xf16>, tensor<40x1x64xf16>, tensor<40x1x64xf16> q_offsets tensor<5xi32> kv_offsets tensor<5xi32> reads (tensor<?xi8>, tensor<5xi32>, tensor<5xi32>) -> tensor<40x4x64xf32>, tensor<40x4xf32> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<?xi8>, %mi: tensor<5xi32>, %ki: tensor<5xi32>):
    %first = hk.gather_elements %mi [%b] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %one = hk.constant 1 : tensor<i32>
    %next = hk.add %b, %one : tensor<i32>
    %from = hk.gather_elements %ki [%b] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %to = hk.gather_elements %ki [%next] : tensor<5xi32> [tensor<i32>] -> tensor<i32>
    %prefix = hk.sub %to, %from : tensor<i32>
    %all = hk.add %prefix, %nk : tensor<i32>
    %key = hk.add %prefix, %j : tensor<i32>
    %row = hk.mul %i, %all : tensor<i32>
    %begin = hk.add %first, %row : tensor<i32>
    %at = hk.add %begin, %key : tensor<i32>
    %m = hk.gather_elements %t [%at] : tensor<?xi8> [tensor<i32>] -> tensor<i8>
    %nothing = hk.constant 0 : tensor<i8>
    %is = hk.compare ne %m, %nothing : tensor<i8> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %r = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %r : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<40x4x64xf32>, tensor<40x4xf32>, tensor<40x4x64xf32>, tensor<40x4xf32> -> tensor<40x4x64xf16>
  return %o : tensor<40x4x64xf16>
}
