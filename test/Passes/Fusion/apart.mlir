// Codes that are decoded apart share neither a kernel nor a launch, with each other or with
// what reads or makes their operands.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --hk-share-launches -o %t --remarks-filter=hk-fuse --remark-format=emitRemark 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// CHECK-LABEL: func.func @two
// CHECK: %[[D:.*]] = hk.launch @dequantize ins
// CHECK: hk.launch @matmul ins(%{{.*}}, %[[D]] :
// CHECK: %[[E:.*]] = hk.launch @dequantize ins
// CHECK: %[[A:.*]] = hk.launch @add
// CHECK: hk.launch @matmul ins(%[[A]], %[[E]] :
// CHECK-NOT: hk.launch
// REMARK: costlier-fused: codes that are decoded apart are in memory until their product has read them, one matrix at a time
func.func @two(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xui4>, %v: tensor<4096x4096xui4>, %s: tensor<4096x32xbf16>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %d = hk.dequantize %w, %s group 128 {hk.apart} : tensor<4096x4096xui4>, tensor<4096x32xbf16> -> tensor<4096x4096xbf16>
  %y = hk.matmul %x, %d transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %e = hk.dequantize %v, %s group 128 {hk.apart} : tensor<4096x4096xui4>, tensor<4096x32xbf16> -> tensor<4096x4096xbf16>
  %a = hk.add %x, %e : tensor<4096x4096xbf16>
  %z = hk.matmul %a, %e transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %y, %z : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}
