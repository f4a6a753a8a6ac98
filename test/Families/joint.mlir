// Products that need nothing of each other share a launch where that takes no longer; the others
// say why not.
// RUN: hk-opt %s --hk-graph="target=gfx942" | FileCheck %s
// RUN: hk-opt %s --hk-graph="target=sm_90a" --remarks-filter=hk-share-launches --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The problems keep their variants; the joint ones are the pairs that some number of rows
// chooses.
// CHECK: hk.kernel @[[JOINT:.*]] joint inputs 4 shapes [#hk.shape<[d0, 256]>, #hk.shape<[512, 256]>, #hk.shape<[d0, 256]>, #hk.shape<[64, 256]>, #hk.shape<[d0, 512]>, #hk.shape<[d0, 64]>]
// CHECK-SAME: threads [[THREADS:[0-9]+]]
// CHECK: hk.spec
// CHECK: hk.matmul
// CHECK: hk.matmul
// CHECK: hk.kernel @[[JOINT]]_0 gemm inputs 2 shapes [#hk.shape<[d0, 256]>, #hk.shape<[512, 256]>, #hk.shape<[d0, 512]>]
// CHECK: hk.variant @v0 #hk.gemm_tile<{{.*}}> threads [[THREADS]]
// CHECK: hk.kernel @[[JOINT]]_1 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<{{.*}}> threads [[THREADS]]
// CHECK: hk.variant @v0 #hk.joint_tile<[#hk.gemm_tile<{{.*}}>, #hk.gemm_tile<{{.*}}>]> threads [[THREADS]]
// CHECK-LABEL: func.func @same_rows(
// CHECK: hk.launch @
// CHECK-NOT: hk.launch @
func.func @same_rows(%x: tensor<?x256xbf16> {hk.dims = ["M", "_"]}, %y: tensor<?x256xbf16> {hk.dims = ["M", "_"]}, %w: tensor<512x256xbf16>, %v: tensor<64x256xbf16>) -> (tensor<?x512xbf16>, tensor<?x64xbf16>) {
  %0 = hk.matmul %y, %v transpose_b : tensor<?x256xbf16>, tensor<64x256xbf16> -> tensor<?x64xbf16>
  %1 = hk.matmul %x, %w transpose_b : tensor<?x256xbf16>, tensor<512x256xbf16> -> tensor<?x512xbf16>
  return %1, %0 : tensor<?x512xbf16>, tensor<?x64xbf16>
}

// One needs the other: nothing to say.
// CHECK-LABEL: func.func @one_after_the_other(
// CHECK: hk.launch @
// CHECK: hk.launch @
func.func @one_after_the_other(%x: tensor<8x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<8x256xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8x256xbf16>, tensor<256x256xbf16> -> tensor<8x256xbf16>
  %1 = hk.matmul %0, %w transpose_b : tensor<8x256xbf16>, tensor<256x256xbf16> -> tensor<8x256xbf16>
  return %1 : tensor<8x256xbf16>
}

// What reads the first result moves behind the launch.
// CHECK-LABEL: func.func @between(
// CHECK: hk.launch @{{.*}}_and_
// CHECK: hk.launch @{{.*}}softmax
// CHECK-NOT: hk.launch @
func.func @between(%x: tensor<8x256xbf16>, %y: tensor<8x128xbf16>, %w: tensor<64x256xbf16>, %v: tensor<64x128xbf16>) -> (tensor<8x64xbf16>, tensor<8x64xbf16>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<8x256xbf16>, tensor<64x256xbf16> -> tensor<8x64xbf16>
  %1 = hk.softmax %0 : tensor<8x64xbf16>
  %2 = hk.matmul %y, %v transpose_b : tensor<8x128xbf16>, tensor<64x128xbf16> -> tensor<8x64xbf16>
  return %1, %2 : tensor<8x64xbf16>, tensor<8x64xbf16>
}

// On sm_90a each of these is quicker with the copy engine, which a shared launch does without.
// REMARK: remark: [Missed] NotShared | Category:hk-share-launches | Reason="costlier-fused: one launch of blocks of {{[0-9]+}} threads would take
// CHECK-LABEL: func.func @many_rows(
func.func @many_rows(%x: tensor<4096x4096xbf16>, %y: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  %1 = hk.matmul %y, %v transpose_b : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
  return %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}
