// fp8 products in the loops of sm_90a that keep 14 bits of sums of 128 bytes of k:
// products that state such sums get them.
module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @rows8(%x: tensor<?x400xf8E4M3FN>, %w: tensor<1000x400xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<1000x1xf32>) -> tensor<?x1000xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<1000x400xf8E4M3FN> scales (tensor<?x1xf32>, tensor<1000x1xf32>) -> tensor<?x1000xbf16>
  return %0 : tensor<?x1000xbf16>
}
func.func @long8(%x: tensor<140x16384xf8E4M3FN>, %w: tensor<264x16384xf8E4M3FN>) -> tensor<140x264xf32> {
  %0 = hk.matmul %x, %w transpose_b accumulation tensor_core : tensor<140x16384xf8E4M3FN>, tensor<264x16384xf8E4M3FN> -> tensor<140x264xf32>
  return %0 : tensor<140x264xf32>
}
func.func @blocks8(%x: tensor<?x400xf8E4M3FN>, %w: tensor<1096x400xf8E4M3FN>, %s: tensor<?x4xf32>, %t: tensor<9x4xf32>) -> tensor<?x1096xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<1096x400xf8E4M3FN> scales (tensor<?x4xf32>, tensor<9x4xf32>) -> tensor<?x1096xbf16>
  return %0 : tensor<?x1096xbf16>
}
}
