// Latent attention of one query per sequence to slots of a cache, whose last key is not
// rotated yet: queries and that key are, in one row-wise launch, and the rotated part of it
// is returned. The keys before and that key are two segments of one attention.
// HK-COMPILE: --split-keys=1
// HK-LAUNCHES: 2
// HK-ARGS: --range=pos=0:63
// HK-DIMS: -
// HK-DATA: normal,equal

func.func @neox_h16(%q: tensor<3x16x576xbf16>, %cache: tensor<40x1x576xbf16>, %indptr: tensor<4xi32>, %indices: tensor<57xi32>, %cos_sin: tensor<64x64xf32>, %pos: tensor<3xi32>) -> (tensor<3x16x512xbf16>, tensor<3x1x64xbf16>) {
  %cos = tensor.extract_slice %cos_sin[0, 0] [64, 32] [1, 1] : tensor<64x64xf32> to tensor<64x32xf32>
  %sin = tensor.extract_slice %cos_sin[0, 32] [64, 32] [1, 1] : tensor<64x64xf32> to tensor<64x32xf32>
  %qr = hk.rope neox %q, %cos, %sin positions %pos nope_first : tensor<3x16x576xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<3xi32>
  %ends = tensor.extract_slice %indptr[1] [3] [1] : tensor<4xi32> to tensor<3xi32>
  %one = hk.constant 1 : tensor<i32>
  %at = hk.sub %ends, %one : tensor<3xi32>, tensor<i32> -> tensor<3xi32>
  %slot = hk.gather_rows %indices, %at : tensor<57xi32>, tensor<3xi32> -> tensor<3xi32>
  %last = hk.gather_rows %cache, %slot : tensor<40x1x576xbf16>, tensor<3xi32> -> tensor<3x1x576xbf16>
  %kr = hk.rope neox %last, %cos, %sin positions %pos nope_first : tensor<3x1x576xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<3xi32>
  %pe = tensor.extract_slice %kr[0, 0, 512] [3, 1, 64] [1, 1, 1] : tensor<3x1x576xbf16> to tensor<3x1x64xbf16>
  %x = tensor.expand_shape %qr [[0, 1], [2], [3]] output_shape [3, 1, 16, 576] : tensor<3x16x576xbf16> into tensor<3x1x16x576xbf16>
  %k = tensor.expand_shape %cache [[0, 1], [2], [3]] output_shape [40, 1, 1, 576] : tensor<40x1x576xbf16> into tensor<40x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [40, 1, 1, 512] [1, 1, 1, 1] : tensor<40x1x1x576xbf16> to tensor<40x1x1x512xbf16>
  %lk = tensor.expand_shape %kr [[0, 1], [2], [3]] output_shape [3, 1, 1, 576] : tensor<3x1x576xbf16> into tensor<3x1x1x576xbf16>
  %lv = tensor.extract_slice %lk[0, 0, 0, 0] [3, 1, 1, 512] [1, 1, 1, 1] : tensor<3x1x1x576xbf16> to tensor<3x1x1x512xbf16>
  %old, %old_lse = hk.attention %x, %k, %v block_table %indices table_offsets %indptr scale 0.0417 past : tensor<3x1x16x576xbf16>, tensor<40x1x1x576xbf16>, tensor<40x1x1x512xbf16> block_table tensor<57xi32> table_offsets tensor<4xi32> -> tensor<3x1x16x512xf32>, tensor<3x1x16xf32>
  %new, %new_lse = hk.attention %x, %lk, %lv reads (%indptr) scale 0.0417 : tensor<3x1x16x576xbf16>, tensor<3x1x1x576xbf16>, tensor<3x1x1x512xbf16> reads (tensor<4xi32>) -> tensor<3x1x16x512xf32>, tensor<3x1x16xf32> score {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %head: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %d: tensor<4xi32>):
    %unit = hk.constant 1 : tensor<i32>
    %next = hk.add %seq, %unit : tensor<i32>
    %from = hk.gather_elements %d [%seq] : tensor<4xi32> [tensor<i32>] -> tensor<i32>
    %to = hk.gather_elements %d [%next] : tensor<4xi32> [tensor<i32>] -> tensor<i32>
    %is = hk.compare lt %from, %to : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<3x1x16x512xf32>, tensor<3x1x16xf32>, tensor<3x1x16x512xf32>, tensor<3x1x16xf32> -> tensor<3x1x16x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<3x1x16x512xbf16> into tensor<3x16x512xbf16>
  return %r, %pe : tensor<3x16x512xbf16>, tensor<3x1x64xbf16>
}
func.func @gptj_h128(%q: tensor<1x128x576xbf16>, %cache: tensor<40x1x576xbf16>, %indptr: tensor<2xi32>, %indices: tensor<34xi32>, %cos_sin: tensor<64x64xf32>, %pos: tensor<1xi32>) -> (tensor<1x128x512xbf16>, tensor<1x1x64xbf16>) {
  %cos = tensor.extract_slice %cos_sin[0, 0] [64, 32] [1, 1] : tensor<64x64xf32> to tensor<64x32xf32>
  %sin = tensor.extract_slice %cos_sin[0, 32] [64, 32] [1, 1] : tensor<64x64xf32> to tensor<64x32xf32>
  %qr = hk.rope gptj %q, %cos, %sin positions %pos nope_first : tensor<1x128x576xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<1xi32>
  %ends = tensor.extract_slice %indptr[1] [1] [1] : tensor<2xi32> to tensor<1xi32>
  %one = hk.constant 1 : tensor<i32>
  %at = hk.sub %ends, %one : tensor<1xi32>, tensor<i32> -> tensor<1xi32>
  %slot = hk.gather_rows %indices, %at : tensor<34xi32>, tensor<1xi32> -> tensor<1xi32>
  %last = hk.gather_rows %cache, %slot : tensor<40x1x576xbf16>, tensor<1xi32> -> tensor<1x1x576xbf16>
  %kr = hk.rope gptj %last, %cos, %sin positions %pos nope_first : tensor<1x1x576xbf16>, tensor<64x32xf32>, tensor<64x32xf32> positions tensor<1xi32>
  %pe = tensor.extract_slice %kr[0, 0, 512] [1, 1, 64] [1, 1, 1] : tensor<1x1x576xbf16> to tensor<1x1x64xbf16>
  %x = tensor.expand_shape %qr [[0, 1], [2], [3]] output_shape [1, 1, 128, 576] : tensor<1x128x576xbf16> into tensor<1x1x128x576xbf16>
  %k = tensor.expand_shape %cache [[0, 1], [2], [3]] output_shape [40, 1, 1, 576] : tensor<40x1x576xbf16> into tensor<40x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [40, 1, 1, 512] [1, 1, 1, 1] : tensor<40x1x1x576xbf16> to tensor<40x1x1x512xbf16>
  %lk = tensor.expand_shape %kr [[0, 1], [2], [3]] output_shape [1, 1, 1, 576] : tensor<1x1x576xbf16> into tensor<1x1x1x576xbf16>
  %lv = tensor.extract_slice %lk[0, 0, 0, 0] [1, 1, 1, 512] [1, 1, 1, 1] : tensor<1x1x1x576xbf16> to tensor<1x1x1x512xbf16>
  %old, %old_lse = hk.attention %x, %k, %v block_table %indices table_offsets %indptr scale 0.0417 past : tensor<1x1x128x576xbf16>, tensor<40x1x1x576xbf16>, tensor<40x1x1x512xbf16> block_table tensor<34xi32> table_offsets tensor<2xi32> -> tensor<1x1x128x512xf32>, tensor<1x1x128xf32>
  %new, %new_lse = hk.attention %x, %lk, %lv reads (%indptr) scale 0.0417 : tensor<1x1x128x576xbf16>, tensor<1x1x1x576xbf16>, tensor<1x1x1x512xbf16> reads (tensor<2xi32>) -> tensor<1x1x128x512xf32>, tensor<1x1x128xf32> score {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %head: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %d: tensor<2xi32>):
    %unit = hk.constant 1 : tensor<i32>
    %next = hk.add %seq, %unit : tensor<i32>
    %from = hk.gather_elements %d [%seq] : tensor<2xi32> [tensor<i32>] -> tensor<i32>
    %to = hk.gather_elements %d [%next] : tensor<2xi32> [tensor<i32>] -> tensor<i32>
    %is = hk.compare lt %from, %to : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<1x1x128x512xf32>, tensor<1x1x128xf32>, tensor<1x1x128x512xf32>, tensor<1x1x128xf32> -> tensor<1x1x128x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x128x512xbf16> into tensor<1x128x512xbf16>
  return %r, %pe : tensor<1x128x512xbf16>, tensor<1x1x64xbf16>
}
func.func @no_rope(%q: tensor<4x16x576xbf16>, %cache: tensor<40x1x576xbf16>, %indptr: tensor<5xi32>, %indices: tensor<50xi32>) -> tensor<4x16x512xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [4, 1, 16, 576] : tensor<4x16x576xbf16> into tensor<4x1x16x576xbf16>
  %k = tensor.expand_shape %cache [[0, 1], [2], [3]] output_shape [40, 1, 1, 576] : tensor<40x1x576xbf16> into tensor<40x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [40, 1, 1, 512] [1, 1, 1, 1] : tensor<40x1x1x576xbf16> to tensor<40x1x1x512xbf16>
  %o = hk.attention %x, %k, %v block_table %indices table_offsets %indptr scale 0.0417 : tensor<4x1x16x576xbf16>, tensor<40x1x1x576xbf16>, tensor<40x1x1x512xbf16> block_table tensor<50xi32> table_offsets tensor<5xi32> -> tensor<4x1x16x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<4x1x16x512xbf16> into tensor<4x16x512xbf16>
  return %r : tensor<4x16x512xbf16>
}
func.func @f32_h8(%q: tensor<2x8x96xf32>, %cache: tensor<40x1x96xf32>, %indptr: tensor<3xi32>, %indices: tensor<41xi32>, %cos_sin: tensor<64x32xf32>, %pos: tensor<2xi32>) -> (tensor<2x8x64xf32>, tensor<2x1x32xf32>) {
  %cos = tensor.extract_slice %cos_sin[0, 0] [64, 16] [1, 1] : tensor<64x32xf32> to tensor<64x16xf32>
  %sin = tensor.extract_slice %cos_sin[0, 16] [64, 16] [1, 1] : tensor<64x32xf32> to tensor<64x16xf32>
  %qr = hk.rope neox %q, %cos, %sin positions %pos nope_first : tensor<2x8x96xf32>, tensor<64x16xf32>, tensor<64x16xf32> positions tensor<2xi32>
  %ends = tensor.extract_slice %indptr[1] [2] [1] : tensor<3xi32> to tensor<2xi32>
  %one = hk.constant 1 : tensor<i32>
  %at = hk.sub %ends, %one : tensor<2xi32>, tensor<i32> -> tensor<2xi32>
  %slot = hk.gather_rows %indices, %at : tensor<41xi32>, tensor<2xi32> -> tensor<2xi32>
  %last = hk.gather_rows %cache, %slot : tensor<40x1x96xf32>, tensor<2xi32> -> tensor<2x1x96xf32>
  %kr = hk.rope neox %last, %cos, %sin positions %pos nope_first : tensor<2x1x96xf32>, tensor<64x16xf32>, tensor<64x16xf32> positions tensor<2xi32>
  %pe = tensor.extract_slice %kr[0, 0, 64] [2, 1, 32] [1, 1, 1] : tensor<2x1x96xf32> to tensor<2x1x32xf32>
  %x = tensor.expand_shape %qr [[0, 1], [2], [3]] output_shape [2, 1, 8, 96] : tensor<2x8x96xf32> into tensor<2x1x8x96xf32>
  %k = tensor.expand_shape %cache [[0, 1], [2], [3]] output_shape [40, 1, 1, 96] : tensor<40x1x96xf32> into tensor<40x1x1x96xf32>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [40, 1, 1, 64] [1, 1, 1, 1] : tensor<40x1x1x96xf32> to tensor<40x1x1x64xf32>
  %lk = tensor.expand_shape %kr [[0, 1], [2], [3]] output_shape [2, 1, 1, 96] : tensor<2x1x96xf32> into tensor<2x1x1x96xf32>
  %lv = tensor.extract_slice %lk[0, 0, 0, 0] [2, 1, 1, 64] [1, 1, 1, 1] : tensor<2x1x1x96xf32> to tensor<2x1x1x64xf32>
  %old, %old_lse = hk.attention %x, %k, %v block_table %indices table_offsets %indptr scale 0.1 past : tensor<2x1x8x96xf32>, tensor<40x1x1x96xf32>, tensor<40x1x1x64xf32> block_table tensor<41xi32> table_offsets tensor<3xi32> -> tensor<2x1x8x64xf32>, tensor<2x1x8xf32>
  %new, %new_lse = hk.attention %x, %lk, %lv reads (%indptr) scale 0.1 : tensor<2x1x8x96xf32>, tensor<2x1x1x96xf32>, tensor<2x1x1x64xf32> reads (tensor<3xi32>) -> tensor<2x1x8x64xf32>, tensor<2x1x8xf32> score {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %head: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %d: tensor<3xi32>):
    %unit = hk.constant 1 : tensor<i32>
    %next = hk.add %seq, %unit : tensor<i32>
    %from = hk.gather_elements %d [%seq] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %to = hk.gather_elements %d [%next] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %is = hk.compare lt %from, %to : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<2x1x8x64xf32>, tensor<2x1x8xf32>, tensor<2x1x8x64xf32>, tensor<2x1x8xf32> -> tensor<2x1x8x64xf32>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x8x64xf32> into tensor<2x8x64xf32>
  return %r, %pe : tensor<2x8x64xf32>, tensor<2x1x32xf32>
}
func.func @f16_c256_128(%q: tensor<2x16x384xf16>, %cache: tensor<40x1x384xf16>, %indptr: tensor<3xi32>, %indices: tensor<41xi32>, %cos_sin: tensor<64x128xf32>, %pos: tensor<2xi32>) -> (tensor<2x16x256xf16>, tensor<2x1x128xf16>) {
  %cos = tensor.extract_slice %cos_sin[0, 0] [64, 64] [1, 1] : tensor<64x128xf32> to tensor<64x64xf32>
  %sin = tensor.extract_slice %cos_sin[0, 64] [64, 64] [1, 1] : tensor<64x128xf32> to tensor<64x64xf32>
  %qr = hk.rope gptj %q, %cos, %sin positions %pos nope_first : tensor<2x16x384xf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<2xi32>
  %ends = tensor.extract_slice %indptr[1] [2] [1] : tensor<3xi32> to tensor<2xi32>
  %one = hk.constant 1 : tensor<i32>
  %at = hk.sub %ends, %one : tensor<2xi32>, tensor<i32> -> tensor<2xi32>
  %slot = hk.gather_rows %indices, %at : tensor<41xi32>, tensor<2xi32> -> tensor<2xi32>
  %last = hk.gather_rows %cache, %slot : tensor<40x1x384xf16>, tensor<2xi32> -> tensor<2x1x384xf16>
  %kr = hk.rope gptj %last, %cos, %sin positions %pos nope_first : tensor<2x1x384xf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<2xi32>
  %pe = tensor.extract_slice %kr[0, 0, 256] [2, 1, 128] [1, 1, 1] : tensor<2x1x384xf16> to tensor<2x1x128xf16>
  %x = tensor.expand_shape %qr [[0, 1], [2], [3]] output_shape [2, 1, 16, 384] : tensor<2x16x384xf16> into tensor<2x1x16x384xf16>
  %k = tensor.expand_shape %cache [[0, 1], [2], [3]] output_shape [40, 1, 1, 384] : tensor<40x1x384xf16> into tensor<40x1x1x384xf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [40, 1, 1, 256] [1, 1, 1, 1] : tensor<40x1x1x384xf16> to tensor<40x1x1x256xf16>
  %lk = tensor.expand_shape %kr [[0, 1], [2], [3]] output_shape [2, 1, 1, 384] : tensor<2x1x384xf16> into tensor<2x1x1x384xf16>
  %lv = tensor.extract_slice %lk[0, 0, 0, 0] [2, 1, 1, 256] [1, 1, 1, 1] : tensor<2x1x1x384xf16> to tensor<2x1x1x256xf16>
  %old, %old_lse = hk.attention %x, %k, %v block_table %indices table_offsets %indptr scale 0.05 past : tensor<2x1x16x384xf16>, tensor<40x1x1x384xf16>, tensor<40x1x1x256xf16> block_table tensor<41xi32> table_offsets tensor<3xi32> -> tensor<2x1x16x256xf32>, tensor<2x1x16xf32>
  %new, %new_lse = hk.attention %x, %lk, %lv reads (%indptr) scale 0.05 : tensor<2x1x16x384xf16>, tensor<2x1x1x384xf16>, tensor<2x1x1x256xf16> reads (tensor<3xi32>) -> tensor<2x1x16x256xf32>, tensor<2x1x16xf32> score {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %head: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %d: tensor<3xi32>):
    %unit = hk.constant 1 : tensor<i32>
    %next = hk.add %seq, %unit : tensor<i32>
    %from = hk.gather_elements %d [%seq] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %to = hk.gather_elements %d [%next] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %is = hk.compare lt %from, %to : tensor<i32> -> tensor<i1>
    %never = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %is, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  %o = hk.attention_combine %old, %old_lse, %new, %new_lse : tensor<2x1x16x256xf32>, tensor<2x1x16xf32>, tensor<2x1x16x256xf32>, tensor<2x1x16xf32> -> tensor<2x1x16x256xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x16x256xf16> into tensor<2x16x256xf16>
  return %r, %pe : tensor<2x16x256xf16>, tensor<2x1x128xf16>
}
