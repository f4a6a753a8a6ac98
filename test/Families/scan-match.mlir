// What joins a scan: pointwise operators on its sums. And its tiles.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=HOST

// One block per chunk and line; 32 heads side by side, 16 threads along the chunk.
// CHECK-LABEL: func.func @scaled
// CHECK: hk.fused {{ *}}scan
// CHECK: hk.cumsum
// CHECK: hk.mul
// CHECK-NOT: hk.fused
// TILE-LABEL: hk.kernel @cumsum_mul scan
// TILE: hk.variant @v0 #hk.scan_tile<threads = 512, columns = 32, items = 4> threads 512 lds 1024
// TILE: %[[CHUNKS:.*]] = arith.ceildivui %{{.*}}, %c64
// TILE: %[[RUNS:.*]] = arith.maxui %[[CHUNKS]], %c1
// TILE: %[[X:.*]] = arith.muli %[[RUNS]], %c2
// TILE: hk.launch_dims if %true grid(%[[X]], %c1, %c1)
// HOST: hk.variant @v0 #hk.scan_tile<threads = 1, columns = 16, items = 1> threads 1 lds 0
// HOST: hk.launch_dims if %true grid(%{{.*}}, %c2, %c1)
func.func @scaled(%g: tensor<2x?x32xf32>) -> tensor<2x?x32xf32> {
  %c = hk.constant 1.44269502 : tensor<f32>
  %0 = hk.cumsum inclusive %g dim 1 chunk 64 : tensor<2x?x32xf32>
  %1 = hk.mul %0, %c : tensor<2x?x32xf32>, tensor<f32>
  return %1 : tensor<2x?x32xf32>
}

// A sequence more, for what lies behind the last one.
// CHECK-LABEL: func.func @ragged
// TILE-LABEL: hk.kernel @cumsum scan
// TILE: %[[N:.*]] = arith.maxui %{{.*}}, %c1
// TILE: %[[FULL:.*]] = arith.divui %{{.*}}, %c64
// TILE: %[[RUNS:.*]] = arith.addi %[[FULL]], %[[N]]
// TILE: hk.launch_dims if %true grid(%[[RUNS]], %c1, %c1)
func.func @ragged(%g: tensor<1x?x8xf32>, %cu: tensor<?xi32>) -> tensor<1x?x8xf32> {
  %0 = hk.cumsum inclusive %g bounds %cu dim 1 chunk 64 : tensor<1x?x8xf32> bounds tensor<?xi32>
  return %0 : tensor<1x?x8xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK: hk.fused {{ *}}scan
// CHECK: hk.fused {{ *}}rowwise
// REMARK: not-an-epilogue: hk.softmax is not a pointwise operator
func.func @softmax(%g: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = hk.cumsum inclusive %g : tensor<?x32xf32>
  %1 = hk.softmax %0 : tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @wider
// CHECK: hk.fused {{ *}}scan
// CHECK: hk.fused {{ *}}rowwise
// REMARK: row-dims-differ: hk.add has another shape than the sums
func.func @wider(%g: tensor<32xf32>, %x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = hk.cumsum inclusive %g : tensor<32xf32>
  %1 = hk.add %x, %0 : tensor<?x32xf32>, tensor<32xf32>
  return %1 : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @two
// CHECK: hk.fused {{ *}}scan
// CHECK: hk.fused {{ *}}scan
func.func @two(%g: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = hk.cumsum inclusive %g : tensor<?x32xf32>
  %1 = hk.cumsum exclusive %g : tensor<?x32xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// What only the sums read is computed where they read it.
// CHECK-LABEL: func.func @computed
// CHECK: hk.fused {{ *}}scan
// CHECK: hk.sigmoid
// CHECK: hk.mul
// CHECK: hk.cumsum
// CHECK-NOT: hk.fused
func.func @computed(%a: tensor<2x?x64xbf16>, %w: tensor<32xf32>) -> tensor<2x?x32xf32> {
  %c1 = arith.constant 1 : index
  %t = tensor.dim %a, %c1 : tensor<2x?x64xbf16>
  %s = tensor.extract_slice %a[0, 0, 32] [2, %t, 32] [1, 1, 1] : tensor<2x?x64xbf16> to tensor<2x?x32xbf16>
  %0 = hk.sigmoid %s : tensor<2x?x32xbf16> -> tensor<2x?x32xf32>
  %1 = hk.mul %0, %w : tensor<2x?x32xf32>, tensor<32xf32>
  %2 = hk.cumsum inclusive %1 dim 1 chunk 64 : tensor<2x?x32xf32>
  return %2 : tensor<2x?x32xf32>
}

// A result is stored by a kernel that has it, and rows are no business of a scan.
// CHECK-LABEL: func.func @computed_escapes
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}scan
func.func @computed_escapes(%a: tensor<?x32xbf16>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = hk.sigmoid %a : tensor<?x32xbf16> -> tensor<?x32xf32>
  %1 = hk.cumsum inclusive %0 : tensor<?x32xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<?x32xf32>
}
// CHECK-LABEL: func.func @norm_before
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.fused {{ *}}scan
func.func @norm_before(%a: tensor<?x32xbf16>) -> tensor<?x32xf32> {
  %0 = hk.softmax %a : tensor<?x32xbf16> -> tensor<?x32xf32>
  %1 = hk.cumsum inclusive %0 : tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}
