// The projections of a gated delta rule layer, interleaved per key head as
// [q | k | v | z] and [b | a], taken apart: [all q | all k | all v], z, b and a. The
// value heads per key head need not be a power of two.
// HK-LAUNCHES: 1
// HK-DIMS: qkvz.0=9
// HK-DIMS: qkvz.0=1
// HK-DIMS: qkvz.0=0
// HK-DIMS-HOST: @qwen3_next_tp1 qkvz.0=300
// HK-DATA: normal,nan,inf

func.func @r2(%qkvz: tensor<?x3072xbf16>, %ba: tensor<?x16xbf16>) -> (tensor<?x2048xbf16>, tensor<?x8x128xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x3072xbf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 4, 768] : tensor<?x3072xbf16> into tensor<?x4x768xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 4, 128] [1, 1, 1] : tensor<?x4x768xbf16> to tensor<?x4x128xbf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x4x128xbf16> into tensor<?x512xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 128] [%t, 4, 128] [1, 1, 1] : tensor<?x4x768xbf16> to tensor<?x4x128xbf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x4x128xbf16> into tensor<?x512xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 256] [%t, 4, 256] [1, 1, 1] : tensor<?x4x768xbf16> to tensor<?x4x256xbf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x4x256xbf16> into tensor<?x1024xbf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x512xbf16>, tensor<?x512xbf16>, tensor<?x1024xbf16> -> tensor<?x2048xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 512] [%t, 4, 256] [1, 1, 1] : tensor<?x4x768xbf16> to tensor<?x4x256xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x4x256xbf16> into tensor<?x1024xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 8, 128] : tensor<?x1024xbf16> into tensor<?x8x128xbf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 4, 4] : tensor<?x16xbf16> into tensor<?x4x4xbf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 4, 2] [1, 1, 1] : tensor<?x4x4xbf16> to tensor<?x4x2xbf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x4x2xbf16> into tensor<?x8xbf16>
  %a0 = tensor.extract_slice %g[0, 0, 2] [%t, 4, 2] [1, 1, 1] : tensor<?x4x4xbf16> to tensor<?x4x2xbf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x4x2xbf16> into tensor<?x8xbf16>
  return %qkv, %z, %b, %a : tensor<?x2048xbf16>, tensor<?x8x128xbf16>, tensor<?x8xbf16>, tensor<?x8xbf16>
}
func.func @r3(%qkvz: tensor<?x1024xbf16>, %ba: tensor<?x12xbf16>) -> (tensor<?x640xbf16>, tensor<?x6x64xbf16>, tensor<?x6xbf16>, tensor<?x6xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x1024xbf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 2, 512] : tensor<?x1024xbf16> into tensor<?x2x512xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 2, 64] [1, 1, 1] : tensor<?x2x512xbf16> to tensor<?x2x64xbf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 64] [%t, 2, 64] [1, 1, 1] : tensor<?x2x512xbf16> to tensor<?x2x64xbf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x2x64xbf16> into tensor<?x128xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 128] [%t, 2, 192] [1, 1, 1] : tensor<?x2x512xbf16> to tensor<?x2x192xbf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x2x192xbf16> into tensor<?x384xbf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x384xbf16> -> tensor<?x640xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 320] [%t, 2, 192] [1, 1, 1] : tensor<?x2x512xbf16> to tensor<?x2x192xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x2x192xbf16> into tensor<?x384xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 6, 64] : tensor<?x384xbf16> into tensor<?x6x64xbf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 2, 6] : tensor<?x12xbf16> into tensor<?x2x6xbf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 2, 3] [1, 1, 1] : tensor<?x2x6xbf16> to tensor<?x2x3xbf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x2x3xbf16> into tensor<?x6xbf16>
  %a0 = tensor.extract_slice %g[0, 0, 3] [%t, 2, 3] [1, 1, 1] : tensor<?x2x6xbf16> to tensor<?x2x3xbf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x2x3xbf16> into tensor<?x6xbf16>
  return %qkv, %z, %b, %a : tensor<?x640xbf16>, tensor<?x6x64xbf16>, tensor<?x6xbf16>, tensor<?x6xbf16>
}
func.func @r1_f16(%qkvz: tensor<?x4096xf16>, %ba: tensor<?x16xf16>) -> (tensor<?x3072xf16>, tensor<?x8x128xf16>, tensor<?x8xf16>, tensor<?x8xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x4096xf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 8, 512] : tensor<?x4096xf16> into tensor<?x8x512xf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 8, 128] [1, 1, 1] : tensor<?x8x512xf16> to tensor<?x8x128xf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x8x128xf16> into tensor<?x1024xf16>
  %k0 = tensor.extract_slice %h[0, 0, 128] [%t, 8, 128] [1, 1, 1] : tensor<?x8x512xf16> to tensor<?x8x128xf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x8x128xf16> into tensor<?x1024xf16>
  %v0 = tensor.extract_slice %h[0, 0, 256] [%t, 8, 128] [1, 1, 1] : tensor<?x8x512xf16> to tensor<?x8x128xf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x8x128xf16> into tensor<?x1024xf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x1024xf16>, tensor<?x1024xf16>, tensor<?x1024xf16> -> tensor<?x3072xf16>
  %z0 = tensor.extract_slice %h[0, 0, 384] [%t, 8, 128] [1, 1, 1] : tensor<?x8x512xf16> to tensor<?x8x128xf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x8x128xf16> into tensor<?x1024xf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 8, 128] : tensor<?x1024xf16> into tensor<?x8x128xf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 8, 2] : tensor<?x16xf16> into tensor<?x8x2xf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 8, 1] [1, 1, 1] : tensor<?x8x2xf16> to tensor<?x8x1xf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x8x1xf16> into tensor<?x8xf16>
  %a0 = tensor.extract_slice %g[0, 0, 1] [%t, 8, 1] [1, 1, 1] : tensor<?x8x2xf16> to tensor<?x8x1xf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x8x1xf16> into tensor<?x8xf16>
  return %qkv, %z, %b, %a : tensor<?x3072xf16>, tensor<?x8x128xf16>, tensor<?x8xf16>, tensor<?x8xf16>
}
func.func @odd(%qkvz: tensor<?x336xf32>, %ba: tensor<?x18xf32>) -> (tensor<?x228xf32>, tensor<?x9x12xf32>, tensor<?x9xf32>, tensor<?x9xf32>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x336xf32>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 3, 112] : tensor<?x336xf32> into tensor<?x3x112xf32>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 3, 20] [1, 1, 1] : tensor<?x3x112xf32> to tensor<?x3x20xf32>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x3x20xf32> into tensor<?x60xf32>
  %k0 = tensor.extract_slice %h[0, 0, 20] [%t, 3, 20] [1, 1, 1] : tensor<?x3x112xf32> to tensor<?x3x20xf32>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x3x20xf32> into tensor<?x60xf32>
  %v0 = tensor.extract_slice %h[0, 0, 40] [%t, 3, 36] [1, 1, 1] : tensor<?x3x112xf32> to tensor<?x3x36xf32>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x3x36xf32> into tensor<?x108xf32>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x60xf32>, tensor<?x60xf32>, tensor<?x108xf32> -> tensor<?x228xf32>
  %z0 = tensor.extract_slice %h[0, 0, 76] [%t, 3, 36] [1, 1, 1] : tensor<?x3x112xf32> to tensor<?x3x36xf32>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x3x36xf32> into tensor<?x108xf32>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 9, 12] : tensor<?x108xf32> into tensor<?x9x12xf32>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 3, 6] : tensor<?x18xf32> into tensor<?x3x6xf32>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 3, 3] [1, 1, 1] : tensor<?x3x6xf32> to tensor<?x3x3xf32>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x3x3xf32> into tensor<?x9xf32>
  %a0 = tensor.extract_slice %g[0, 0, 3] [%t, 3, 3] [1, 1, 1] : tensor<?x3x6xf32> to tensor<?x3x3xf32>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x3x3xf32> into tensor<?x9xf32>
  return %qkv, %z, %b, %a : tensor<?x228xf32>, tensor<?x9x12xf32>, tensor<?x9xf32>, tensor<?x9xf32>
}
func.func @one_key_head(%qkvz: tensor<?x640xbf16>, %ba: tensor<?x8xbf16>) -> (tensor<?x384xbf16>, tensor<?x4x64xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x640xbf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 1, 640] : tensor<?x640xbf16> into tensor<?x1x640xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 1, 64] [1, 1, 1] : tensor<?x1x640xbf16> to tensor<?x1x64xbf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x1x64xbf16> into tensor<?x64xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 64] [%t, 1, 64] [1, 1, 1] : tensor<?x1x640xbf16> to tensor<?x1x64xbf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x1x64xbf16> into tensor<?x64xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 128] [%t, 1, 256] [1, 1, 1] : tensor<?x1x640xbf16> to tensor<?x1x256xbf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x1x256xbf16> into tensor<?x256xbf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x256xbf16> -> tensor<?x384xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 384] [%t, 1, 256] [1, 1, 1] : tensor<?x1x640xbf16> to tensor<?x1x256xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x1x256xbf16> into tensor<?x256xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 4, 64] : tensor<?x256xbf16> into tensor<?x4x64xbf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 1, 8] : tensor<?x8xbf16> into tensor<?x1x8xbf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 1, 4] [1, 1, 1] : tensor<?x1x8xbf16> to tensor<?x1x4xbf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x1x4xbf16> into tensor<?x4xbf16>
  %a0 = tensor.extract_slice %g[0, 0, 4] [%t, 1, 4] [1, 1, 1] : tensor<?x1x8xbf16> to tensor<?x1x4xbf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x1x4xbf16> into tensor<?x4xbf16>
  return %qkv, %z, %b, %a : tensor<?x384xbf16>, tensor<?x4x64xbf16>, tensor<?x4xbf16>, tensor<?x4xbf16>
}
func.func @qwen3_next_tp1(%qkvz: tensor<?x12288xbf16>, %ba: tensor<?x64xbf16>) -> (tensor<?x8192xbf16>, tensor<?x32x128xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x12288xbf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 16, 768] : tensor<?x12288xbf16> into tensor<?x16x768xbf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 16, 128] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x128xbf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x16x128xbf16> into tensor<?x2048xbf16>
  %k0 = tensor.extract_slice %h[0, 0, 128] [%t, 16, 128] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x128xbf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x16x128xbf16> into tensor<?x2048xbf16>
  %v0 = tensor.extract_slice %h[0, 0, 256] [%t, 16, 256] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x256xbf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x16x256xbf16> into tensor<?x4096xbf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x2048xbf16>, tensor<?x2048xbf16>, tensor<?x4096xbf16> -> tensor<?x8192xbf16>
  %z0 = tensor.extract_slice %h[0, 0, 512] [%t, 16, 256] [1, 1, 1] : tensor<?x16x768xbf16> to tensor<?x16x256xbf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x16x256xbf16> into tensor<?x4096xbf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 32, 128] : tensor<?x4096xbf16> into tensor<?x32x128xbf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 16, 4] : tensor<?x64xbf16> into tensor<?x16x4xbf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 16, 2] [1, 1, 1] : tensor<?x16x4xbf16> to tensor<?x16x2xbf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x16x2xbf16> into tensor<?x32xbf16>
  %a0 = tensor.extract_slice %g[0, 0, 2] [%t, 16, 2] [1, 1, 1] : tensor<?x16x4xbf16> to tensor<?x16x2xbf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x16x2xbf16> into tensor<?x32xbf16>
  return %qkv, %z, %b, %a : tensor<?x8192xbf16>, tensor<?x32x128xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>
}
func.func @two_key_heads_f16(%qkvz: tensor<?x2432xf16>, %ba: tensor<?x16xf16>) -> (tensor<?x1408xf16>, tensor<?x8x128xf16>, tensor<?x8xf16>, tensor<?x8xf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %qkvz, %c0 : tensor<?x2432xf16>
  %h = tensor.expand_shape %qkvz [[0], [1, 2]] output_shape [%t, 2, 1216] : tensor<?x2432xf16> into tensor<?x2x1216xf16>
  %q0 = tensor.extract_slice %h[0, 0, 0] [%t, 2, 96] [1, 1, 1] : tensor<?x2x1216xf16> to tensor<?x2x96xf16>
  %q = tensor.collapse_shape %q0 [[0], [1, 2]] : tensor<?x2x96xf16> into tensor<?x192xf16>
  %k0 = tensor.extract_slice %h[0, 0, 96] [%t, 2, 96] [1, 1, 1] : tensor<?x2x1216xf16> to tensor<?x2x96xf16>
  %k = tensor.collapse_shape %k0 [[0], [1, 2]] : tensor<?x2x96xf16> into tensor<?x192xf16>
  %v0 = tensor.extract_slice %h[0, 0, 192] [%t, 2, 512] [1, 1, 1] : tensor<?x2x1216xf16> to tensor<?x2x512xf16>
  %v = tensor.collapse_shape %v0 [[0], [1, 2]] : tensor<?x2x512xf16> into tensor<?x1024xf16>
  %qkv = hk.concat 1 (%q, %k, %v) : tensor<?x192xf16>, tensor<?x192xf16>, tensor<?x1024xf16> -> tensor<?x1408xf16>
  %z0 = tensor.extract_slice %h[0, 0, 704] [%t, 2, 512] [1, 1, 1] : tensor<?x2x1216xf16> to tensor<?x2x512xf16>
  %z1 = tensor.collapse_shape %z0 [[0], [1, 2]] : tensor<?x2x512xf16> into tensor<?x1024xf16>
  %z = tensor.expand_shape %z1 [[0], [1, 2]] output_shape [%t, 8, 128] : tensor<?x1024xf16> into tensor<?x8x128xf16>
  %g = tensor.expand_shape %ba [[0], [1, 2]] output_shape [%t, 2, 8] : tensor<?x16xf16> into tensor<?x2x8xf16>
  %b0 = tensor.extract_slice %g[0, 0, 0] [%t, 2, 4] [1, 1, 1] : tensor<?x2x8xf16> to tensor<?x2x4xf16>
  %b = tensor.collapse_shape %b0 [[0], [1, 2]] : tensor<?x2x4xf16> into tensor<?x8xf16>
  %a0 = tensor.extract_slice %g[0, 0, 4] [%t, 2, 4] [1, 1, 1] : tensor<?x2x8xf16> to tensor<?x2x4xf16>
  %a = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x2x4xf16> into tensor<?x8xf16>
  return %qkv, %z, %b, %a : tensor<?x1408xf16>, tensor<?x8x128xf16>, tensor<?x8xf16>, tensor<?x8xf16>
}
