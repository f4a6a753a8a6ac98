// A routing kernel that spills is planned again with fewer threads. Here ten operands and
// the counts of 2060 bins need more scalar registers than there are with 256.
// RUN: hk-compile %s --target=gfx942 --explain -o %t.so | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --dim=keys.0=37 --dim=bits.1=12 --range=keys=-2:1040 --range=bits=-9:9 --check=%s | FileCheck %s --check-prefix=NUMBERS

// CHECK: 1 launches
// CHECK: #hk.routing_tile<threads = {{64|128}}>
// CHECK: not used (registers-exceeded): {{.*}} / threads 256{{.*}}: its kernel spills
// NUMBERS: all within their bounds
func.func @f(%keys: tensor<?xi32>, %bits: tensor<33x?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<1030xi32>, tensor<?xi32>, tensor<?xi32>, tensor<1031xi32>, tensor<1030xi32>, tensor<?x1030xi32>) {
  %order, %position = hk.sort_by_key %keys bins 1030 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %counts = hk.histogram %keys : tensor<?xi32> -> tensor<1030xi32>
  %ids, %ranks, %offsets = hk.segments lengths %counts items %keys block 1 : tensor<1030xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<1031xi32>
  %columns, %before = hk.count_bits %bits block 5 : tensor<33x?xi32> -> tensor<1030xi32>, tensor<?x1030xi32>
  return %order, %position, %counts, %ids, %ranks, %offsets, %columns, %before : tensor<?xi32>, tensor<?xi32>, tensor<1030xi32>, tensor<?xi32>, tensor<?xi32>, tensor<1031xi32>, tensor<1030xi32>, tensor<?x1030xi32>
}
