// RUN: hk-opt -hk-fuse=max-ops=2 %s | FileCheck %s
// RUN: hk-opt -hk-fuse=max-ops=2 --remarks-filter=hk-fuse --remark-format=emitRemark %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-COUNT-2: hk.fused rowwise
// CHECK-NOT: hk.fused
// REMARK: group-full: a kernel holds at most 2 operators
module attributes {hk.target = #hk.target<"host">} {
func.func @f(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = hk.exp %x : tensor<8x64xf32>
  %1 = hk.neg %0 : tensor<8x64xf32>
  %2 = hk.abs %1 : tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}
}
