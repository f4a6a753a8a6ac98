// Products in the widest tiles of sm_90a whose number of rows only a launch knows:
// what follows from it has to share the registers with a tile's sums.
func.func @blocks(%x: tensor<?x7168xf8E4M3FN>, %w: tensor<4096x7168xf8E4M3FN>, %s: tensor<?x56xf32>, %t: tensor<32x56xf32>) -> tensor<?x4096xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x7168xf8E4M3FN>, tensor<4096x7168xf8E4M3FN> scales (tensor<?x56xf32>, tensor<32x56xf32>) -> tensor<?x4096xbf16>
  return %0 : tensor<?x4096xbf16>
}
func.func @rows(%x: tensor<?x7168xf8E4M3FN>, %w: tensor<4096x7168xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<4096x1xf32>) -> tensor<?x4096xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<?x7168xf8E4M3FN>, tensor<4096x7168xf8E4M3FN> scales (tensor<?x1xf32>, tensor<4096x1xf32>) -> tensor<?x4096xbf16>
  return %0 : tensor<?x4096xbf16>
}
func.func @quantize(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xbf16>) -> (tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<?x4096xbf16>, tensor<4096x4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
}
