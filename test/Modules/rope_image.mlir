// Rotations of images and of a video at sizes that models have.
// HK-LAUNCHES: 1
// HK-ARGS: --range=grid=5:30 --range=token=0:9449
// HK-DIMS: x.0=1 token.0=1 grid.1=1
// HK-DIMS: @video_tokens x.0=37 token.0=37 grid.1=37
// HK-DIMS: x.0=0 token.0=0 grid.1=0
// HK-DIMS-HOST: @image_32_64 @image_64_32 x.0=16
// HK-DIMS-HOST: @video_tokens x.0=9450 token.0=9450 grid.1=9450 --range=token=iota
// HK-DATA: normal,nan

func.func @image_32_64(%x: tensor<?x2048x2x64xf16>, %cosh: tensor<40x32xf16>, %sinh: tensor<40x32xf16>, %cosw: tensor<64x32xf16>, %sinw: tensor<64x32xf16>) -> tensor<?x2048x2x64xf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x2048x2x64xf16>
  %e = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [%t, 32, 64, 2, 64] : tensor<?x2048x2x64xf16> into tensor<?x32x64x2x64xf16>
  %t2 = tensor.dim %e, %c0 : tensor<?x32x64x2x64xf16>
  %first = tensor.extract_slice %e[0, 0, 0, 0, 0] [%t2, 32, 64, 2, 32] [1, 1, 1, 1, 1] : tensor<?x32x64x2x64xf16> to tensor<?x32x64x2x32xf16>
  %second = tensor.extract_slice %e[0, 0, 0, 0, 32] [%t2, 32, 64, 2, 32] [1, 1, 1, 1, 1] : tensor<?x32x64x2x64xf16> to tensor<?x32x64x2x32xf16>
  %u = hk.rope neox %first, %cosh, %sinh position_dim 1 angle_per_element : tensor<?x32x64x2x32xf16>, tensor<40x32xf16>, tensor<40x32xf16>
  %v = hk.rope neox %second, %cosw, %sinw position_dim 2 angle_per_element : tensor<?x32x64x2x32xf16>, tensor<64x32xf16>, tensor<64x32xf16>
  %y = hk.concat 4 (%u, %v) : tensor<?x32x64x2x32xf16>, tensor<?x32x64x2x32xf16> -> tensor<?x32x64x2x64xf16>
  %z = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<?x32x64x2x64xf16> into tensor<?x2048x2x64xf16>
  return %z : tensor<?x2048x2x64xf16>
}
func.func @image_64_32(%x: tensor<?x2048x2x64xf16>, %cosh: tensor<64x32xf16>, %sinh: tensor<64x32xf16>, %cosw: tensor<33x32xf16>, %sinw: tensor<33x32xf16>) -> tensor<?x2048x2x64xf16> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x2048x2x64xf16>
  %e = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [%t, 64, 32, 2, 64] : tensor<?x2048x2x64xf16> into tensor<?x64x32x2x64xf16>
  %t2 = tensor.dim %e, %c0 : tensor<?x64x32x2x64xf16>
  %first = tensor.extract_slice %e[0, 0, 0, 0, 0] [%t2, 64, 32, 2, 32] [1, 1, 1, 1, 1] : tensor<?x64x32x2x64xf16> to tensor<?x64x32x2x32xf16>
  %second = tensor.extract_slice %e[0, 0, 0, 0, 32] [%t2, 64, 32, 2, 32] [1, 1, 1, 1, 1] : tensor<?x64x32x2x64xf16> to tensor<?x64x32x2x32xf16>
  %u = hk.rope neox %first, %cosh, %sinh position_dim 1 angle_per_element : tensor<?x64x32x2x32xf16>, tensor<64x32xf16>, tensor<64x32xf16>
  %v = hk.rope neox %second, %cosw, %sinw position_dim 2 angle_per_element : tensor<?x64x32x2x32xf16>, tensor<33x32xf16>, tensor<33x32xf16>
  %y = hk.concat 4 (%u, %v) : tensor<?x64x32x2x32xf16>, tensor<?x64x32x2x32xf16> -> tensor<?x64x32x2x64xf16>
  %z = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : tensor<?x64x32x2x64xf16> into tensor<?x2048x2x64xf16>
  return %z : tensor<?x2048x2x64xf16>
}
// Frame, row and column of every token of a video, whose three bands are of 22, 21 and 21
// frequencies; 9450 tokens of 40 heads on the host.
func.func @video_tokens(%x: tensor<?x40x128xf32>, %cos: tensor<1024x64xf32>, %sin: tensor<1024x64xf32>, %token: tensor<?xi32>, %grid: tensor<3x?xi32>) -> tensor<?x40x128xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x40x128xf32>
  %none = hk.constant -1 : tensor<i32>
  %f = tensor.extract_slice %grid[0, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %h = tensor.extract_slice %grid[1, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %w = tensor.extract_slice %grid[2, 0] [1, %t] [1, 1] : tensor<3x?xi32> to tensor<?xi32>
  %th = hk.div %token, %w : tensor<?xi32>
  %thw = hk.mul %th, %w : tensor<?xi32>
  %pw = hk.sub %token, %thw : tensor<?xi32>
  %pf0 = hk.div %th, %h : tensor<?xi32>
  %tfh = hk.mul %pf0, %h : tensor<?xi32>
  %ph0 = hk.sub %th, %tfh : tensor<?xi32>
  %inside = hk.compare lt %pf0, %f : tensor<?xi32> -> tensor<?xi1>
  %p0 = hk.select %inside, %pf0, %none : tensor<?xi1>, tensor<?xi32>, tensor<i32> -> tensor<?xi32>
  %p1 = hk.select %inside, %ph0, %none : tensor<?xi1>, tensor<?xi32>, tensor<i32> -> tensor<?xi32>
  %p2 = hk.select %inside, %pw, %none : tensor<?xi1>, tensor<?xi32>, tensor<i32> -> tensor<?xi32>
  %s0 = tensor.extract_slice %x[0, 0, 0] [%t, 40, 44] [1, 1, 1] : tensor<?x40x128xf32> to tensor<?x40x44xf32>
  %cos0 = tensor.extract_slice %cos[0, 0] [1024, 22] [1, 1] : tensor<1024x64xf32> to tensor<1024x22xf32>
  %sin0 = tensor.extract_slice %sin[0, 0] [1024, 22] [1, 1] : tensor<1024x64xf32> to tensor<1024x22xf32>
  %r0 = hk.rope gptj %s0, %cos0, %sin0 positions %p0 : tensor<?x40x44xf32>, tensor<1024x22xf32>, tensor<1024x22xf32> positions tensor<?xi32>
  %s1 = tensor.extract_slice %x[0, 0, 44] [%t, 40, 42] [1, 1, 1] : tensor<?x40x128xf32> to tensor<?x40x42xf32>
  %cos1 = tensor.extract_slice %cos[0, 22] [1024, 21] [1, 1] : tensor<1024x64xf32> to tensor<1024x21xf32>
  %sin1 = tensor.extract_slice %sin[0, 22] [1024, 21] [1, 1] : tensor<1024x64xf32> to tensor<1024x21xf32>
  %r1 = hk.rope gptj %s1, %cos1, %sin1 positions %p1 : tensor<?x40x42xf32>, tensor<1024x21xf32>, tensor<1024x21xf32> positions tensor<?xi32>
  %s2 = tensor.extract_slice %x[0, 0, 86] [%t, 40, 42] [1, 1, 1] : tensor<?x40x128xf32> to tensor<?x40x42xf32>
  %cos2 = tensor.extract_slice %cos[0, 43] [1024, 21] [1, 1] : tensor<1024x64xf32> to tensor<1024x21xf32>
  %sin2 = tensor.extract_slice %sin[0, 43] [1024, 21] [1, 1] : tensor<1024x64xf32> to tensor<1024x21xf32>
  %r2 = hk.rope gptj %s2, %cos2, %sin2 positions %p2 : tensor<?x40x42xf32>, tensor<1024x21xf32>, tensor<1024x21xf32> positions tensor<?xi32>
  %y = hk.concat 2 (%r0, %r1, %r2) : tensor<?x40x44xf32>, tensor<?x40x42xf32>, tensor<?x40x42xf32> -> tensor<?x40x128xf32>
  return %y : tensor<?x40x128xf32>
}
