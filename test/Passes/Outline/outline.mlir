// RUN: hk-opt -hk-fuse=disable=true -hk-outline %s | FileCheck %s

module attributes {hk.target = #hk.target<"host">} {

// Equal bodies with equal symbolic shapes are one kernel; an alignment is what
// all its launches have.
// CHECK: hk.kernel @silu rowwise inputs 1 shapes [#hk.shape<[d0, 20]>, #hk.shape<[d0, 20]>] aligns [8, 8]
// CHECK: hk.spec
// CHECK: hk.silu
// CHECK: hk.kernel @matmul gemm
// CHECK: hk.kernel @silu_0 rowwise inputs 1 shapes [#hk.shape<[d0, 64]>, #hk.shape<[d0, 64]>] aligns [2, 16]
// CHECK-NOT: hk.kernel
// CHECK: func.func @f
// CHECK: hk.launch @silu ins
// CHECK: hk.launch @silu ins
// CHECK: hk.launch @matmul
// CHECK: hk.launch @silu_0 ins
// CHECK: hk.launch @silu_0 ins
func.func @f(%x: tensor<?x20xbf16>, %w: tensor<20x128xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x20xbf16>
  %0 = hk.silu %x : tensor<?x20xbf16>
  %1 = hk.silu %0 : tensor<?x20xbf16>
  %2 = hk.matmul %1, %w : tensor<?x20xbf16>, tensor<20x128xbf16> -> tensor<?x128xbf16>
  %3 = tensor.extract_slice %2[0, 1] [%d, 64] [1, 1] : tensor<?x128xbf16> to tensor<?x64xbf16>
  %4 = tensor.extract_slice %2[0, 64] [%d, 64] [1, 1] : tensor<?x128xbf16> to tensor<?x64xbf16>
  %5 = hk.silu %3 : tensor<?x64xbf16>
  %6 = hk.silu %4 : tensor<?x64xbf16>
  return %5, %6 : tensor<?x64xbf16>, tensor<?x64xbf16>
}
}

