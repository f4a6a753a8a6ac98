// Decoding from packed projections: qkvz, interleaved per key head as [q | k | v | z],
// and ba are taken apart, q, k and v convolved with the state. The convolution reads
// its input from memory, so the split is a launch of its own.
// HK-LAUNCHES: 2
// HK-DIMS: qkvz.0=5 lines.0=5 --range=lines=iota:-1
// HK-DIMS: qkvz.0=1 lines.0=1 --range=lines=3:3
// HK-DIMS: qkvz.0=0 lines.0=0
// HK-DATA: normal,nan

func.func @single_token(%qkvz: tensor<?x384xbf16>, %ba: tensor<?x8xbf16>, %w: tensor<256x4xbf16>, %s: tensor<8x3x256xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x1x256xbf16>, tensor<?x4x32xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<8x3x256xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x384xbf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 2, 192] : tensor<?x384xbf16> into tensor<?x2x192xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 2, 32] [1, 1, 1] : tensor<?x2x192xbf16> to tensor<?x2x32xbf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x2x32xbf16> into tensor<?x64xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 32] [%t, 2, 32] [1, 1, 1] : tensor<?x2x192xbf16> to tensor<?x2x32xbf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x2x32xbf16> into tensor<?x64xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 64] [%t, 2, 64] [1, 1, 1] : tensor<?x2x192xbf16> to tensor<?x2x64xbf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x128xbf16> -> tensor<?x256xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 128] [%t, 2, 64] [1, 1, 1] : tensor<?x2x192xbf16> to tensor<?x2x64xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 4, 32] : tensor<?x128xbf16> into tensor<?x4x32xbf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 2, 4] : tensor<?x8xbf16> into tensor<?x2x4xbf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %a0 = tensor.extract_slice %g[0, 0, 2] [%t, 2, 2] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x2x2xbf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x2x2xbf16> into tensor<?x4xbf16>
  %x3 = tensor.expand_shape %qkv [[0, 1], [2]] output_shape [%t, 1, 256] : tensor<?x256xbf16> into tensor<?x1x256xbf16>
  %0, %s2 = hk.causal_conv1d channel_last %x3, %w state %s indices %lines : tensor<?x1x256xbf16>, tensor<256x4xbf16> state tensor<8x3x256xbf16> indices tensor<?xi32> -> tensor<?x1x256xf32>, tensor<8x3x256xbf16>
  %y = hk.silu %0 : tensor<?x1x256xf32> -> tensor<?x1x256xbf16>
  return %y, %z, %b, %a, %s2 : tensor<?x1x256xbf16>, tensor<?x4x32xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<8x3x256xbf16>
}
// Not interleaved: all of q, k, v and z, and all of b and a, after each other.
func.func @single_token_flat(%qkvz: tensor<?x384xbf16>, %ba: tensor<?x8xbf16>, %w: tensor<256x4xbf16>, %b: tensor<256xbf16>, %s: tensor<8x3x256xbf16> {hk.state}, %lines: tensor<?xi32>) -> (tensor<?x1x256xbf16>, tensor<?x4x32xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<8x3x256xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x384xbf16>
  %qkv = tensor.extract_slice %qkvz[0, 0] [%t, 256] [1, 1] : tensor<?x384xbf16> to tensor<?x256xbf16>
  %z0 = tensor.extract_slice %qkvz[0, 256] [%t, 128] [1, 1] : tensor<?x384xbf16> to tensor<?x128xbf16>
  %t2 = tensor.dim %z0, %c0 : tensor<?x128xbf16>
  %z = tensor.expand_shape %z0 [[0], [1, 2]] output_shape [%t2, 4, 32] : tensor<?x128xbf16> into tensor<?x4x32xbf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 2, 4] : tensor<?x8xbf16> into tensor<?x2x4xbf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 1, 4] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x1x4xbf16>
  %beta = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x1x4xbf16> into tensor<?x4xbf16>
  %a0 = tensor.extract_slice %g[0, 1, 0] [%t, 1, 4] [1, 1, 1] : tensor<?x2x4xbf16> to tensor<?x1x4xbf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x1x4xbf16> into tensor<?x4xbf16>
  %x3 = tensor.expand_shape %qkv [[0, 1], [2]] output_shape [%t, 1, 256] : tensor<?x256xbf16> into tensor<?x1x256xbf16>
  %c, %s2 = hk.causal_conv1d channel_last %x3, %w bias %b state %s indices %lines : tensor<?x1x256xbf16>, tensor<256x4xbf16> bias tensor<256xbf16> state tensor<8x3x256xbf16> indices tensor<?xi32> -> tensor<?x1x256xf32>, tensor<8x3x256xbf16>
  %y = hk.silu %c : tensor<?x1x256xf32> -> tensor<?x1x256xbf16>
  return %y, %z, %beta, %a, %s2 : tensor<?x1x256xbf16>, tensor<?x4x32xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>, tensor<8x3x256xbf16>
}
