// How many tokens chose each expert, from one bit per token and expert.
// HK-LAUNCHES: 1
// HK-DIMS: bits.1=1
// HK-DIMS: bits.1=16
// HK-DIMS: bits.1=371
// HK-DIMS: bits.1=0
// HK-ARGS: --range=bits=-2147483648:2147483647 --range=table=-2147483648:2147483647
// HK-DIMS-HOST: bits.1=8192

func.func @experts128(%bits: tensor<4x?xi32>) -> tensor<128xi32> {
  %counts = hk.count_bits %bits : tensor<4x?xi32> -> tensor<128xi32>
  return %counts : tensor<128xi32>
}
func.func @experts8(%bits: tensor<1x?xi32>) -> tensor<8xi32> {
  %counts = hk.count_bits %bits : tensor<1x?xi32> -> tensor<8xi32>
  return %counts : tensor<8xi32>
}
func.func @experts1500(%bits: tensor<47x?xi32>) -> tensor<1500xi32> {
  %counts = hk.count_bits %bits : tensor<47x?xi32> -> tensor<1500xi32>
  return %counts : tensor<1500xi32>
}
// With the counts before each block of rows, where a sort by blocks starts.
func.func @partials_128(%bits: tensor<4x?xi32>) -> (tensor<128xi32>, tensor<?x128xi32>) {
  %counts, %before = hk.count_bits %bits block 32 : tensor<4x?xi32> -> tensor<128xi32>, tensor<?x128xi32>
  return %counts, %before : tensor<128xi32>, tensor<?x128xi32>
}
func.func @partials_8_block_5(%bits: tensor<1x?xi32>) -> (tensor<8xi32>, tensor<?x8xi32>) {
  %counts, %before = hk.count_bits %bits block 5 : tensor<1x?xi32> -> tensor<8xi32>, tensor<?x8xi32>
  return %counts, %before : tensor<8xi32>, tensor<?x8xi32>
}
func.func @partials_static(%table: tensor<47x70xi32>) -> (tensor<1500xi32>, tensor<3x1500xi32>) {
  %counts, %before = hk.count_bits %table : tensor<47x70xi32> -> tensor<1500xi32>, tensor<3x1500xi32>
  return %counts, %before : tensor<1500xi32>, tensor<3x1500xi32>
}
func.func @experts256(%bits: tensor<8x?xi32>) -> tensor<256xi32> {
  %counts = hk.count_bits %bits : tensor<8x?xi32> -> tensor<256xi32>
  return %counts : tensor<256xi32>
}
