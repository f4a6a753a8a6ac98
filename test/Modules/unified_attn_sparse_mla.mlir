// Sparse latent attention: a query and all its heads see the slots of the cache that an
// indexer chose; -1 is none. Values are the first columns of keys.
// HK-LAUNCHES: 1
// HK-ARGS: --range=topk=-1:95
// HK-DIMS: q.0=3
// HK-DIMS: q.0=0
// HK-DATA: normal,equal

func.func @h16_c512(%q: tensor<3x16x576xbf16>, %cache: tensor<6x16x1x576xbf16>, %topk: tensor<3x64xi32>) -> tensor<3x16x512xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [3, 1, 16, 576] : tensor<3x16x576xbf16> into tensor<3x1x16x576xbf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<6x16x1x576xbf16> into tensor<96x576xbf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [96, 1, 1, 576] : tensor<96x576xbf16> into tensor<96x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 512] [1, 1, 1, 1] : tensor<96x1x1x576xbf16> to tensor<96x1x1x512xbf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.0417 : tensor<3x1x16x576xbf16>, tensor<96x1x1x576xbf16>, tensor<96x1x1x512xbf16> block_table tensor<3x64xi32> -> tensor<3x1x16x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<3x1x16x512xbf16> into tensor<3x16x512xbf16>
  return %r : tensor<3x16x512xbf16>
}
func.func @h32_c512(%q: tensor<2x32x576xbf16>, %cache: tensor<6x16x1x576xbf16>, %topk: tensor<2x78xi32>) -> tensor<2x32x512xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 32, 576] : tensor<2x32x576xbf16> into tensor<2x1x32x576xbf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<6x16x1x576xbf16> into tensor<96x576xbf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [96, 1, 1, 576] : tensor<96x576xbf16> into tensor<96x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 512] [1, 1, 1, 1] : tensor<96x1x1x576xbf16> to tensor<96x1x1x512xbf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.0417 : tensor<2x1x32x576xbf16>, tensor<96x1x1x576xbf16>, tensor<96x1x1x512xbf16> block_table tensor<2x78xi32> -> tensor<2x1x32x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x32x512xbf16> into tensor<2x32x512xbf16>
  return %r : tensor<2x32x512xbf16>
}
func.func @h16_c256(%q: tensor<3x16x320xbf16>, %cache: tensor<6x16x1x320xbf16>, %topk: tensor<3x78xi32>) -> tensor<3x16x256xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [3, 1, 16, 320] : tensor<3x16x320xbf16> into tensor<3x1x16x320xbf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<6x16x1x320xbf16> into tensor<96x320xbf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [96, 1, 1, 320] : tensor<96x320xbf16> into tensor<96x1x1x320xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 256] [1, 1, 1, 1] : tensor<96x1x1x320xbf16> to tensor<96x1x1x256xbf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.0417 : tensor<3x1x16x320xbf16>, tensor<96x1x1x320xbf16>, tensor<96x1x1x256xbf16> block_table tensor<3x78xi32> -> tensor<3x1x16x256xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<3x1x16x256xbf16> into tensor<3x16x256xbf16>
  return %r : tensor<3x16x256xbf16>
}
func.func @h32_c256_blocks_64(%q: tensor<2x32x320xbf16>, %cache: tensor<2x64x1x320xbf16>, %topk: tensor<2x64xi32>) -> tensor<2x32x256xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 32, 320] : tensor<2x32x320xbf16> into tensor<2x1x32x320xbf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<2x64x1x320xbf16> into tensor<128x320xbf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [128, 1, 1, 320] : tensor<128x320xbf16> into tensor<128x1x1x320xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [128, 1, 1, 256] [1, 1, 1, 1] : tensor<128x1x1x320xbf16> to tensor<128x1x1x256xbf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.0417 : tensor<2x1x32x320xbf16>, tensor<128x1x1x320xbf16>, tensor<128x1x1x256xbf16> block_table tensor<2x64xi32> -> tensor<2x1x32x256xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x32x256xbf16> into tensor<2x32x256xbf16>
  return %r : tensor<2x32x256xbf16>
}
func.func @h128_c512(%q: tensor<1x128x576xbf16>, %cache: tensor<6x16x1x576xbf16>, %topk: tensor<1x70xi32>) -> tensor<1x128x512xbf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [1, 1, 128, 576] : tensor<1x128x576xbf16> into tensor<1x1x128x576xbf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<6x16x1x576xbf16> into tensor<96x576xbf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [96, 1, 1, 576] : tensor<96x576xbf16> into tensor<96x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 512] [1, 1, 1, 1] : tensor<96x1x1x576xbf16> to tensor<96x1x1x512xbf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.0417 : tensor<1x1x128x576xbf16>, tensor<96x1x1x576xbf16>, tensor<96x1x1x512xbf16> block_table tensor<1x70xi32> -> tensor<1x1x128x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x128x512xbf16> into tensor<1x128x512xbf16>
  return %r : tensor<1x128x512xbf16>
}
func.func @any_tokens_h16(%q: tensor<?x16x576xbf16> {hk.dims = ["T", "_", "_"]}, %cache: tensor<6x16x1x576xbf16>, %topk: tensor<?x64xi32> {hk.dims = ["T", "_"]}) -> tensor<?x16x512xbf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q, %c0 : tensor<?x16x576xbf16>
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [%t, 1, 16, 576] : tensor<?x16x576xbf16> into tensor<?x1x16x576xbf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<6x16x1x576xbf16> into tensor<96x576xbf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [96, 1, 1, 576] : tensor<96x576xbf16> into tensor<96x1x1x576xbf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 512] [1, 1, 1, 1] : tensor<96x1x1x576xbf16> to tensor<96x1x1x512xbf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.0417 : tensor<?x1x16x576xbf16>, tensor<96x1x1x576xbf16>, tensor<96x1x1x512xbf16> block_table tensor<?x64xi32> -> tensor<?x1x16x512xbf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<?x1x16x512xbf16> into tensor<?x16x512xbf16>
  return %r : tensor<?x16x512xbf16>
}
func.func @f16_h8_c96(%q: tensor<2x8x128xf16>, %cache: tensor<6x16x1x128xf16>, %topk: tensor<2x33xi32>) -> tensor<2x8x96xf16> {
  %x = tensor.expand_shape %q [[0, 1], [2], [3]] output_shape [2, 1, 8, 128] : tensor<2x8x128xf16> into tensor<2x1x8x128xf16>
  %k1 = tensor.collapse_shape %cache [[0, 1, 2], [3]] : tensor<6x16x1x128xf16> into tensor<96x128xf16>
  %k = tensor.expand_shape %k1 [[0, 1, 2], [3]] output_shape [96, 1, 1, 128] : tensor<96x128xf16> into tensor<96x1x1x128xf16>
  %v = tensor.extract_slice %k[0, 0, 0, 0] [96, 1, 1, 96] [1, 1, 1, 1] : tensor<96x1x1x128xf16> to tensor<96x1x1x96xf16>
  %o = hk.attention %x, %k, %v block_table %topk scale 0.1 : tensor<2x1x8x128xf16>, tensor<96x1x1x128xf16>, tensor<96x1x1x96xf16> block_table tensor<2x33xi32> -> tensor<2x1x8x96xf16>
  %r = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<2x1x8x96xf16> into tensor<2x8x96xf16>
  return %r : tensor<2x8x96xf16>
}
