// A product of groups of rows shares its launch as any other product does; of several launches
// that one could share, it takes that which is as far from the inputs.
// RUN: hk-opt %s --hk-graph="target=gfx942" | FileCheck %s
// RUN: hk-opt %s --hk-graph="target=sm_90a" | FileCheck %s
// RUN: hk-opt %s --hk-graph="target=gfx942" --remarks-filter=hk-share-launches --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK: hk.kernel @{{.*}} joint
// CHECK: hk.kernel @{{.*}} gemm inputs
// CHECK: hk.variant @v0 #hk.joint_tile<[#hk.gemm_tile<{{.*}}>, #hk.gemm_tile<{{.*}}>]>
// The shared expert's first product goes with the router, although the experts' products are
// nearer; its second, which needs the first, with one of these.
// CHECK-LABEL: func.func @experts(
// CHECK: hk.launch @{{(matmul_gated_activation_and_matmul|matmul.*_and_matmul_gated_activation)}}
// CHECK: hk.launch @topk
// CHECK: hk.launch @histogram
// CHECK: hk.launch @{{.*}}grouped_matmul{{.*}}
// CHECK: hk.launch @{{.*}}grouped_matmul{{.*}}
// CHECK-NOT: hk.launch @
// CHECK: return
func.func @experts(%x: tensor<?x64xbf16>, %r: tensor<8x64xbf16>, %w1: tensor<8x96x64xbf16>, %w2: tensor<8x64x48xbf16>, %s1: tensor<96x64xbf16>, %s2: tensor<64x48xbf16>) -> (tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x2xf32>) {
  %logits = hk.matmul %x, %r transpose_b : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
  %v, %ids = hk.topk %logits : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %keys = tensor.collapse_shape %ids [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %count = hk.histogram %keys : tensor<?xi32> -> tensor<8xi32>
  %order, %places = hk.sort_by_key %keys bins 8 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %bounds = hk.cumsum offsets %count : tensor<8xi32> -> tensor<9xi32>
  %h = hk.grouped_matmul %x, %w1 bounds %bounds order %order transpose_b top_k 2 : tensor<?x64xbf16>, tensor<8x96x64xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x96xbf16>
  %g = hk.gated_activation silu %h : tensor<?x96xbf16> -> tensor<?x48xbf16>
  %y = hk.grouped_matmul %g, %w2 bounds %bounds transpose_b : tensor<?x48xbf16>, tensor<8x64x48xbf16> groups tensor<9xi32> -> tensor<?x64xf32>
  %sh = hk.matmul %x, %s1 transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  %sg = hk.gated_activation silu %sh : tensor<?x96xbf16> -> tensor<?x48xbf16>
  %sy = hk.matmul %sg, %s2 transpose_b : tensor<?x48xbf16>, tensor<64x48xbf16> -> tensor<?x64xbf16>
  return %y, %sy, %v : tensor<?x64xf32>, tensor<?x64xbf16>, tensor<?x2xf32>
}

// With many rows each has a tile of its own.
// REMARK: NotShared | {{.*}}Reason="costlier-fused: one launch of blocks of
// CHECK-LABEL: func.func @large(
func.func @large(%x: tensor<?x2880xbf16>, %w: tensor<32x5760x2880xbf16>, %bounds: tensor<33xi32>, %v: tensor<64x2880xbf16>) -> (tensor<?x5760xbf16>, tensor<?x64xbf16>) {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x2880xbf16>, tensor<32x5760x2880xbf16> groups tensor<33xi32> -> tensor<?x5760xbf16>
  %z = hk.matmul %x, %v transpose_b : tensor<?x2880xbf16>, tensor<64x2880xbf16> -> tensor<?x64xbf16>
  return %y, %z : tensor<?x5760xbf16>, tensor<?x64xbf16>
}
