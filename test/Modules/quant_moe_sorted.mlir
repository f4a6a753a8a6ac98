// MXFP4 codes token by token, and their scales in the order of the experts, where the
// grouped product reads them: 32 places and 8 columns are a tile in the order of the
// scaled matrix instructions of gfx950. `order` holds token copies, the number of all
// of them for padding; such places have scale byte 0. There are more places than tokens,
// so codes and scales are a launch each; the second one finds the scales again.
// HK-LAUNCHES: 2
// HK-ARGS: --range=order=0:27 --range=place=iota:-45
// HK-DIMS: x.0=13 order.0=2 place.0=2
// HK-DIMS: x.0=1 order.0=1 place.0=1 --range=order=0:3
// HK-DIMS: x.0=0 order.0=0 place.0=0
// HK-DATA: normal,equal,huge,tiny,nan,inf

// Before the first product: two copies of a token share a row.
func.func @stage_1(%x: tensor<?x320xbf16>, %order: tensor<?x32xi32>) -> (tensor<?x320xf4E2M1FN>, tensor<?x512xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %p = tensor.dim %order, %c0 : tensor<?x32xi32>
  %two = hk.constant 2 : tensor<i32>
  %q, %plain = hk.quantize_mx even %x : tensor<?x320xbf16> -> tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
  %token = hk.div %order, %two : tensor<?x32xi32>, tensor<i32>
  %rows = hk.gather_rows %x, %token : tensor<?x320xbf16>, tensor<?x32xi32> -> tensor<?x32x320xbf16>
  %again, %s = hk.quantize_mx even %rows : tensor<?x32x320xbf16> -> tensor<?x32x320xf4E2M1FN>, tensor<?x32x10xf8E8M0FNU>
  %s16 = hk.pad %s : tensor<?x32x10xf8E8M0FNU> -> tensor<?x32x16xf8E8M0FNU>
  %e = tensor.expand_shape %s16 [[0], [1, 2], [3, 4, 5]] output_shape [%p, 2, 16, 2, 2, 4] : tensor<?x32x16xf8E8M0FNU> into tensor<?x2x16x2x2x4xf8E8M0FNU>
  %t = hk.transpose %e [0, 3, 5, 2, 4, 1] : tensor<?x2x16x2x2x4xf8E8M0FNU> -> tensor<?x2x4x16x2x2xf8E8M0FNU>
  %f = tensor.collapse_shape %t [[0], [1, 2, 3, 4, 5]] : tensor<?x2x4x16x2x2xf8E8M0FNU> into tensor<?x512xf8E8M0FNU>
  return %q, %f : tensor<?x320xf4E2M1FN>, tensor<?x512xf8E8M0FNU>
}
// Before the second one, of activations that are computed here: a row per copy.
func.func @stage_2(%x: tensor<?x512xbf16>, %order: tensor<?x32xi32>) -> (tensor<?x256xf4E2M1FN>, tensor<?x32x8xf8E8M0FNU>) {
  %y = hk.gated_activation silu %x : tensor<?x512xbf16> -> tensor<?x256xf32>
  %q, %plain = hk.quantize_mx even %y : tensor<?x256xf32> -> tensor<?x256xf4E2M1FN>, tensor<?x8xf8E8M0FNU>
  %rows = hk.gather_rows %x, %order : tensor<?x512xbf16>, tensor<?x32xi32> -> tensor<?x32x512xbf16>
  %z = hk.gated_activation silu %rows : tensor<?x32x512xbf16> -> tensor<?x32x256xf32>
  %again, %s = hk.quantize_mx even %z : tensor<?x32x256xf32> -> tensor<?x32x256xf4E2M1FN>, tensor<?x32x8xf8E8M0FNU>
  return %q, %s : tensor<?x256xf4E2M1FN>, tensor<?x32x8xf8E8M0FNU>
}
// A whole number of tiles: places behind the last token (a negative row) have scales of 1,
// which the largest number that fp4 has a binade for gives.
func.func @padded_rows(%x: tensor<?x320xbf16>, %place: tensor<?x32xi32>) -> (tensor<?x320xf4E2M1FN>, tensor<?x512xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %p = tensor.dim %place, %c0 : tensor<?x32xi32>
  %zero = hk.constant 0 : tensor<i32>
  %four = hk.constant 4.0 : tensor<bf16>
  %q, %plain = hk.quantize_mx even %x : tensor<?x320xbf16> -> tensor<?x320xf4E2M1FN>, tensor<?x10xf8E8M0FNU>
  %has = hk.compare ge %place, %zero : tensor<?x32xi32>, tensor<i32> -> tensor<?x32xi1>
  %has3 = tensor.expand_shape %has [[0], [1, 2]] output_shape [%p, 32, 1] : tensor<?x32xi1> into tensor<?x32x1xi1>
  %rows = hk.gather_rows %x, %place : tensor<?x320xbf16>, tensor<?x32xi32> -> tensor<?x32x320xbf16>
  %all = hk.select %has3, %rows, %four : tensor<?x32x1xi1>, tensor<?x32x320xbf16>, tensor<bf16> -> tensor<?x32x320xbf16>
  %again, %s = hk.quantize_mx even %all : tensor<?x32x320xbf16> -> tensor<?x32x320xf4E2M1FN>, tensor<?x32x10xf8E8M0FNU>
  %s16 = hk.pad %s value 1.0 : tensor<?x32x10xf8E8M0FNU> -> tensor<?x32x16xf8E8M0FNU>
  %e = tensor.expand_shape %s16 [[0], [1, 2], [3, 4, 5]] output_shape [%p, 2, 16, 2, 2, 4] : tensor<?x32x16xf8E8M0FNU> into tensor<?x2x16x2x2x4xf8E8M0FNU>
  %t = hk.transpose %e [0, 3, 5, 2, 4, 1] : tensor<?x2x16x2x2x4xf8E8M0FNU> -> tensor<?x2x4x16x2x2xf8E8M0FNU>
  %f = tensor.collapse_shape %t [[0], [1, 2, 3, 4, 5]] : tensor<?x2x4x16x2x2xf8E8M0FNU> into tensor<?x512xf8E8M0FNU>
  return %q, %f : tensor<?x320xf4E2M1FN>, tensor<?x512xf8E8M0FNU>
}
