// From expert ids and their weights: tokens in expert order and back, weights in that
// order, counts, offsets and the tile map, in one launch behind the top-k.
// HK-LAUNCHES: 1
// HK-ARGS: --range=ids16=-1:130
// HK-DIMS: ids.0=1 ids16.0=1 weights.0=1 --range=ids=0:127
// HK-DIMS: ids.0=255 ids16.0=255 weights.0=255 --range=ids=0:127
// HK-DIMS: ids.0=64 ids16.0=64 weights.0=64 --range=ids=-1:20
// HK-DIMS: ids.0=371 ids16.0=371 weights.0=371 --range=ids=77:77
// HK-DIMS: ids.0=1300 ids16.0=1300 weights.0=1300 --range=ids=-1:140
// HK-DIMS: ids.0=0 ids16.0=0 weights.0=0

func.func @main(%ids: tensor<?x4xi32>, %weights: tensor<?x4xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>, tensor<129xi32>, tensor<129xi32>, tensor<?xi32>) {
  %high = hk.constant 65536 : tensor<i32>
  %none = hk.constant -1 : tensor<i32>
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
// Ids in 16 bits.
func.func @ids_i16(%ids16: tensor<?x4xi16>, %weights: tensor<?x4xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>) {
  %flat16 = tensor.collapse_shape %ids16 [[0, 1]] : tensor<?x4xi16> into tensor<?xi16>
  %flat = hk.cast %flat16 : tensor<?xi16> -> tensor<?xi32>
  %w = tensor.collapse_shape %weights [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  %hist = hk.histogram %flat : tensor<?xi32> -> tensor<128xi32>
  %gather, %scatter = hk.sort_by_key %flat bins 128 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  return %gather, %scatter, %scal, %hist : tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<128xi32>
}
