// Products of sizes that models have, for the tiles of `swapped` that small ones
// do not take; each with an epilogue.
module attributes {hk.gemm_loop = "swapped"} {
func.func @rows168_shared(%x: tensor<160x12288xbf16>, %w: tensor<4096x12288xbf16>, %b: tensor<160x4096xbf16>) -> tensor<160x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<160x12288xbf16>, tensor<4096x12288xbf16> -> tensor<160x4096xbf16>
  %1 = hk.add %0, %b : tensor<160x4096xbf16>
  return %1 : tensor<160x4096xbf16>
}
func.func @rows200_pair(%x: tensor<200x4096xbf16>, %w: tensor<28672x4096xbf16>, %b: tensor<28672xbf16>) -> tensor<200x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<200x4096xbf16>, tensor<28672x4096xbf16> -> tensor<200x28672xbf16>
  %1 = hk.add %0, %b : tensor<200x28672xbf16>, tensor<28672xbf16>
  return %1 : tensor<200x28672xbf16>
}
func.func @rows200(%x: tensor<777x7168xbf16>, %w: tensor<2112x7168xbf16>, %b: tensor<777x2112xbf16>) -> tensor<777x2112xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<777x7168xbf16>, tensor<2112x7168xbf16> -> tensor<777x2112xbf16>
  %1 = hk.add %0, %b : tensor<777x2112xbf16>
  return %1 : tensor<777x2112xbf16>
}
func.func @rows152_shared(%x: tensor<150x18944xbf16>, %w: tensor<3584x18944xbf16>) -> tensor<150x3584xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<150x18944xbf16>, tensor<3584x18944xbf16> -> tensor<150x3584xf32>
  return %0 : tensor<150x3584xf32>
}
func.func @rows160_pair(%x: tensor<320x5120xbf16>, %w: tensor<7168x5120xbf16>, %b: tensor<320x7168xbf16>) -> tensor<320x7168xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<320x5120xbf16>, tensor<7168x5120xbf16> -> tensor<320x7168xbf16>
  %1 = hk.add %0, %b : tensor<320x7168xbf16>
  return %1 : tensor<320x7168xbf16>
}
func.func @rows128_shared(%x: tensor<128x4096xbf16>, %w: tensor<4096x4096xbf16>, %b: tensor<4096xbf16>) -> tensor<128x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<128x4096xbf16>, tensor<4096x4096xbf16> -> tensor<128x4096xbf16>
  %1 = hk.add %0, %b : tensor<128x4096xbf16>, tensor<4096xbf16>
  return %1 : tensor<128x4096xbf16>
}
func.func @rows152_pair(%x: tensor<600x14336xbf16>, %w: tensor<4096x14336xbf16>, %b: tensor<600x4096xbf16>) -> tensor<600x4096xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<600x14336xbf16>, tensor<4096x14336xbf16> -> tensor<600x4096xbf16>
  %1 = hk.add %0, %b : tensor<600x4096xbf16>
  return %1 : tensor<600x4096xbf16>
}
func.func @rows96_pair(%x: tensor<384x12288xbf16>, %w: tensor<4096x12288xbf16>) -> tensor<384x4096xf32> {
  %0 = hk.matmul %x, %w transpose_b : tensor<384x12288xbf16>, tensor<4096x12288xbf16> -> tensor<384x4096xf32>
  return %0 : tensor<384x4096xf32>
}
func.func @rows104_shared(%x: tensor<197x7168xbf16>, %w: tensor<2112x7168xbf16>, %b: tensor<197x2112xbf16>) -> tensor<197x2112xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<197x7168xbf16>, tensor<2112x7168xbf16> -> tensor<197x2112xbf16>
  %1 = hk.add %0, %b : tensor<197x2112xbf16>
  return %1 : tensor<197x2112xbf16>
}
func.func @rows200_shared(%x: tensor<577x4304xbf16>, %w: tensor<1160x4304xbf16>, %b: tensor<1160xbf16>) -> tensor<577x1160xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<577x4304xbf16>, tensor<1160x4304xbf16> -> tensor<577x1160xbf16>
  %1 = hk.add %0, %b : tensor<577x1160xbf16>, tensor<1160xbf16>
  return %1 : tensor<577x1160xbf16>
}
}
