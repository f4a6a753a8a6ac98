// Refusals for what a chip does not have: LDS for a tile with groups of 128 columns.
// RUN: hk-opt -hk-fuse --remarks-filter='hk.*' --remark-format=emitRemark %s 2>&1 | FileCheck %s

// CHECK: lds-exceeded: hk.quantize needs a tile that exceeds
module attributes {hk.target = #hk.target<"tiny">} {
func.func @groups(%x: tensor<64x256xbf16>, %w: tensor<256x256xbf16>) -> (tensor<64x256xf8E4M3FNUZ>, tensor<64x2xf32>) {
  %0 = hk.matmul %x, %w {transpose_b} : tensor<64x256xbf16>, tensor<256x256xbf16> -> tensor<64x256xbf16>
  %q, %s = hk.quantize per_group %0 {group_size = 128 : i64} : tensor<64x256xbf16> -> tensor<64x256xf8E4M3FNUZ>, tensor<64x2xf32>
  return %q, %s : tensor<64x256xf8E4M3FNUZ>, tensor<64x2xf32>
}
}
