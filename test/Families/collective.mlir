// An operator over ranks is a launch of its own: what makes its operand and what reads
// its result stay in their kernels, and constants and views are in memory.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hk-opt %s --hk-assign-target=target=host --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-fuse | FileCheck %s
// RUN: hk-compile %s --target=host --explain | FileCheck %s --check-prefix=HOST
// RUN: sed 's/hk.mesh = "tp=2"/&, hk.exchange = "engine"/' %s > %t.mlir
// RUN: hk-compile %t.mlir --target=sm_90a --explain | FileCheck %s --check-prefix=NCCL

// A start, and bytes over the link between two ranks.
// HOST: exchanged: @all_reduce: by the runtime's engine, modelled 6.0 us and 0.0183 times its dynamic sizes
// NCCL: exchanged: @all_gather: by the runtime's engine, modelled 7.0 us and 0.0006 times its dynamic sizes
// NCCL: exchanged: @all_gather_{{[0-9]}}: by the runtime's engine, modelled 7.0 us at

module attributes {hk.mesh = "tp=2"} {
// TILE: hk.kernel @all_reduce collective
// TILE: hk.variant @v0 #hk.collective_tile threads 1 lds 0
// TILE: hk.launch_dims if %true grid(%c1, %c1, %c1)

// CHECK-LABEL: func.func @between
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.silu
// CHECK: hk.fused {{ *}}collective
// CHECK: hk.all_reduce sum
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.add
// CHECK-NEXT: hk.rms_norm
// REMARK: other-family: hk.all_reduce is computed by a kernel of family collective, which reads its operands from memory
// REMARK: other-family: an exchange with other ranks is a launch of its own
func.func @between(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.silu %x : tensor<?x64xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" : tensor<?x64xbf16>
  %2 = hk.add %x, %1 : tensor<?x64xbf16>
  %3 = hk.rms_norm %2, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  return %3 : tensor<?x64xbf16>
}

// Two of them are two launches, whatever they have in common.
// CHECK-LABEL: func.func @two
// CHECK: hk.fused {{ *}}collective
// CHECK: hk.fused {{ *}}collective
// TILE-LABEL: func.func @two
// TILE-COUNT-2: hk.launch @all_reduce
func.func @two(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<?x64xbf16>
  %1 = hk.all_reduce sum %y axis "tp" : tensor<?x64xbf16>
  return %0, %1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @constant
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.copy
// CHECK: hk.fused {{ *}}collective
func.func @constant() -> (tensor<4xf32>, tensor<i32>) {
  %c = hk.constant 1.0 : tensor<4xf32>
  %0 = hk.all_reduce sum %c axis "tp" : tensor<4xf32>
  %1 = hk.rank axis "tp" : tensor<i32>
  return %0, %1 : tensor<4xf32>, tensor<i32>
}
}
