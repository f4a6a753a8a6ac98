// Routing from logits: the top-k with its softmax in one launch; counts, offsets, the
// tile map and both permutations, with the weights in sorted order, in a second one.
// HK-LAUNCHES: 2
// HK-DIMS: x.0=1
// HK-DIMS: x.0=16
// HK-DIMS: x.0=255
// HK-DIMS: x.0=0
// HK-DIMS-HOST: @from_ids @e128_k6_block64 x.0=911
// HK-DIMS-HOST: @from_ids @softmax_first_e256 x.0=4096
// HK-DATA: normal,equal,nan

// Counts of the ids.
func.func @from_ids(%x: tensor<?x128xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<?xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %v, %ids = hk.topk %x ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %weights = hk.softmax %v : tensor<?x4xf32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %w = tensor.collapse_shape %weights [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  %hist = hk.histogram %flat : tensor<?xi32> -> tensor<128xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %raw = hk.cumsum offsets %hist : tensor<128xi32> -> tensor<129xi32>
  %expert, %tile, %padded = hk.segments lengths %hist items %flat block 32 : tensor<128xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<129xi32>
  %shifted = hk.mul %tile, %high : tensor<?xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<?xi32>
  %map = hk.max %entry, %none : tensor<?xi32>, tensor<i32>
  return %gather, %scatter, %scal, %hist, %raw, %padded, %map : tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<?xi32>
}
// Counts of the bit matrix, which the first launch makes with the ids.
func.func @from_bits(%x: tensor<?x128xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<128xi32>, tensor<129xi32>) {
  %v, %ids = hk.topk %x ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %rows = hk.bitmatrix %ids : tensor<?x4xi32> -> tensor<?x4xi32>
  %bits = hk.transpose %rows [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %hist = hk.count_bits %bits : tensor<4x?xi32> -> tensor<128xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %raw = hk.cumsum offsets %hist : tensor<128xi32> -> tensor<129xi32>
  return %gather, %scatter, %hist, %raw : tensor<?xi32>, tensor<?xi32>, tensor<128xi32>, tensor<129xi32>
}
// Softmax over all experts first, not renormalised.
func.func @softmax_first_e256(%x: tensor<?x256xbf16>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<256xi32>, tensor<257xi32>, tensor<257xi32>, tensor<?xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %p = hk.softmax %x : tensor<?x256xbf16> -> tensor<?x256xf32>
  %v, %ids = hk.topk %p ties highest_index order by_index : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x8xi32> into tensor<?xi32>
  %w = tensor.collapse_shape %v [[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
  %hist = hk.histogram %flat : tensor<?xi32> -> tensor<256xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 256 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %raw = hk.cumsum offsets %hist : tensor<256xi32> -> tensor<257xi32>
  %expert, %tile, %padded = hk.segments lengths %hist items %flat block 16 : tensor<256xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<257xi32>
  %shifted = hk.mul %tile, %high : tensor<?xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<?xi32>
  %map = hk.max %entry, %none : tensor<?xi32>, tensor<i32>
  return %gather, %scatter, %scal, %hist, %raw, %padded, %map : tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<256xi32>, tensor<257xi32>, tensor<257xi32>, tensor<?xi32>
}
func.func @e8_k2(%x: tensor<?x8xbf16>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<8xi32>, tensor<9xi32>, tensor<9xi32>, tensor<?xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %p = hk.cast %x : tensor<?x8xbf16> -> tensor<?x8xf32>
  %v, %ids = hk.topk %p ties highest_index order by_index : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %weights = hk.softmax %v : tensor<?x2xf32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %w = tensor.collapse_shape %weights [[0, 1]] : tensor<?x2xf32> into tensor<?xf32>
  %hist = hk.histogram %flat : tensor<?xi32> -> tensor<8xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %raw = hk.cumsum offsets %hist : tensor<8xi32> -> tensor<9xi32>
  %expert, %tile, %padded = hk.segments lengths %hist items %flat block 128 : tensor<8xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<9xi32>
  %shifted = hk.mul %tile, %high : tensor<?xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<?xi32>
  %map = hk.max %entry, %none : tensor<?xi32>, tensor<i32>
  return %gather, %scatter, %scal, %hist, %raw, %padded, %map : tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<8xi32>, tensor<9xi32>, tensor<9xi32>, tensor<?xi32>
}
// Counts and partial counts of the bit matrix; the permutations in 16 bits, as the
// unsigned numbers that AITER returns below 65536 of them.
func.func @partials_and_u16(%x: tensor<?x128xbf16>) -> (tensor<?xi16>, tensor<?xi16>, tensor<128xi32>, tensor<?x128xi32>, tensor<129xi32>) {
  %half = hk.constant 32768 : tensor<i32>
  %all = hk.constant 65536 : tensor<i32>
  %v, %ids = hk.topk %x ties highest_index order by_index : tensor<?x128xbf16> -> tensor<?x4xbf16>, tensor<?x4xi32>
  %rows = hk.bitmatrix %ids : tensor<?x4xi32> -> tensor<?x4xi32>
  %bits = hk.transpose %rows [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x4xi32> into tensor<?xi32>
  %hist, %before = hk.count_bits %bits : tensor<4x?xi32> -> tensor<128xi32>, tensor<?x128xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %gh = hk.compare ge %gather, %half : tensor<?xi32>, tensor<i32> -> tensor<?xi1>
  %gs = hk.sub %gather, %all : tensor<?xi32>, tensor<i32>
  %gw = hk.select %gh, %gs, %gather : tensor<?xi1>, tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %g16 = hk.cast %gw : tensor<?xi32> -> tensor<?xi16>
  %sh = hk.compare ge %scatter, %half : tensor<?xi32>, tensor<i32> -> tensor<?xi1>
  %ss = hk.sub %scatter, %all : tensor<?xi32>, tensor<i32>
  %sw = hk.select %sh, %ss, %scatter : tensor<?xi1>, tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %s16 = hk.cast %sw : tensor<?xi32> -> tensor<?xi16>
  %raw = hk.cumsum offsets %hist : tensor<128xi32> -> tensor<129xi32>
  return %g16, %s16, %hist, %before, %raw : tensor<?xi16>, tensor<?xi16>, tensor<128xi32>, tensor<?x128xi32>, tensor<129xi32>
}
// DeepSeek-V3: sigmoid scores, a bias and groups that only select, renormalised and scaled.
func.func @grouped_sigmoid(%x: tensor<?x64xbf16>, %bias: tensor<64xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<64xi32>, tensor<65xi32>) {
  %factor = hk.constant 2.5 : tensor<f32>
  %p = hk.sigmoid %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  %c = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %m = hk.group_limit top2_sum %c groups 8 top_groups 4 : tensor<?x64xf32>
  %v, %ids = hk.topk %m : tensor<?x64xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %g = hk.gather_last %p, %ids : tensor<?x64xf32>, tensor<?x6xi32> -> tensor<?x6xf32>
  %s = hk.reduce sum %g : tensor<?x6xf32> -> tensor<?x1xf32>
  %r = hk.div %g, %s : tensor<?x6xf32>, tensor<?x1xf32>
  %weights = hk.mul %r, %factor : tensor<?x6xf32>, tensor<f32>
  %flat = tensor.collapse_shape %ids [[0, 1]] : tensor<?x6xi32> into tensor<?xi32>
  %w = tensor.collapse_shape %weights [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>
  %hist = hk.histogram %flat : tensor<?xi32> -> tensor<64xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 64 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %raw = hk.cumsum offsets %hist : tensor<64xi32> -> tensor<65xi32>
  return %gather, %scatter, %scal, %hist, %raw : tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<64xi32>, tensor<65xi32>
}
// Tiles of 64, six of 128 experts.
func.func @e128_k6_block64(%x: tensor<?x128xf16>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<?xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
  %p = hk.cast %x : tensor<?x128xf16> -> tensor<?x128xf32>
  %v, %ids = hk.topk %p ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %weights = hk.softmax %v : tensor<?x6xf32>
  %ids1 = tensor.collapse_shape %ids [[0, 1]] : tensor<?x6xi32> into tensor<?xi32>
  %w = tensor.collapse_shape %weights [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>
  %hist = hk.histogram %ids1 : tensor<?xi32> -> tensor<128xi32>
  %gather, %scatter = hk.sort_by_key %ids1 bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %raw = hk.cumsum offsets %hist : tensor<128xi32> -> tensor<129xi32>
  %expert, %tile, %padded = hk.segments lengths %hist items %ids1 block 64 : tensor<128xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<129xi32>
  %shifted = hk.mul %tile, %high : tensor<?xi32>, tensor<i32>
  %entry = hk.add %shifted, %expert : tensor<?xi32>
  %map = hk.max %entry, %none : tensor<?xi32>, tensor<i32>
  return %gather, %scatter, %scal, %hist, %raw, %padded, %map : tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<?xi32>
}
