// Reductions that NCCL and RCCL do not have: on GPUs they are exchanges of parts, which
// this rank reduces with what follows. On the host they stay, and so do those that
// kernels make themselves.
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-expand-exchanges | FileCheck %s
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-expand-exchanges | FileCheck %s --check-prefix=KERNEL
// RUN: hk-opt %s --hk-assign-target=target=host --hk-expand-exchanges | FileCheck %s --check-prefix=HOST
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-expand-exchanges --hk-fuse | FileCheck %s --check-prefix=FUSED

// KERNEL-LABEL: func.func @in_order
// KERNEL: hk.all_reduce sum %arg0 axis "ep" : tensor<?x64xf32> -> tensor<?x64xbf16>
// KERNEL: hk.sum_slices %{{.*}} : tensor<2x3x32xbf16> -> tensor<3x32xbf16>
// KERNEL-LABEL: func.func @extremes
// KERNEL-COUNT-2: hk.all_gather

// HOST-NOT: hk.sum_slices
module attributes {hk.mesh = "ep=4,tp=2"} {
// CHECK-LABEL: func.func @in_order
// CHECK: %[[SLICE:.*]] = tensor.expand_shape %arg0 {{\[\[0, 1\], \[2\]\]}} output_shape [1, %{{.*}}, 64] : tensor<?x64xf32> into tensor<1x?x64xf32>
// CHECK: %[[ALL:.*]] = hk.all_gather %[[SLICE]] axis "ep" dim 0 : tensor<1x?x64xf32> -> tensor<4x?x64xf32>
// CHECK: hk.sum_slices %[[ALL]] : tensor<4x?x64xf32> -> tensor<?x64xbf16>
// FUSED-LABEL: func.func @in_order
// FUSED: hk.fused {{ *}}collective
// FUSED: hk.all_gather
// FUSED: hk.fused {{ *}}rowwise
// FUSED: hk.sum_slices
// FUSED-NEXT: hk.add
// FUSED-NEXT: hk.rms_norm
func.func @in_order(%x: tensor<?x64xf32>, %r: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %0 = hk.all_reduce sum %x axis "ep" : tensor<?x64xf32> -> tensor<?x64xbf16>
  %1 = hk.add %0, %r : tensor<?x64xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  return %1, %2 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @scattered
// CHECK: %[[PARTS:.*]] = hk.all_to_all %{{.*}} axis "tp" split 2 concat 0 : tensor<1x3x64xbf16> -> tensor<2x3x32xbf16>
// CHECK: hk.sum_slices %[[PARTS]] : tensor<2x3x32xbf16> -> tensor<3x32xbf16>
func.func @scattered(%x: tensor<3x64xbf16>) -> tensor<3x32xbf16> {
  %0 = hk.reduce_scatter sum %x axis "tp" dim 1 : tensor<3x64xbf16> -> tensor<3x32xbf16>
  return %0 : tensor<3x32xbf16>
}

// Extremes of floats keep NaN, and are rounded behind.
// CHECK-LABEL: func.func @extremes
// CHECK: hk.all_gather %{{.*}} axis "tp" dim 0 : tensor<1xf32> -> tensor<2xf32>
// CHECK: %[[A:.*]] = tensor.extract_slice %{{.*}}[0] [1] [1] : tensor<2xf32> to tensor<f32>
// CHECK: %[[B:.*]] = tensor.extract_slice %{{.*}}[1] [1] [1] : tensor<2xf32> to tensor<f32>
// CHECK: %[[MAX:.*]] = hk.max %[[A]], %[[B]] : tensor<f32>
// CHECK: hk.cast %[[MAX]] : tensor<f32> -> tensor<bf16>
// CHECK: hk.min
func.func @extremes(%x: tensor<f32>, %y: tensor<4xf16>) -> (tensor<bf16>, tensor<4xf16>) {
  %0 = hk.all_reduce max %x axis "tp" : tensor<f32> -> tensor<bf16>
  %1 = hk.all_reduce min %y axis "tp" : tensor<4xf16>
  return %0, %1 : tensor<bf16>, tensor<4xf16>
}

// 16 bits are no type of NCCL's; the others are exact in any order.
// CHECK-LABEL: func.func @integers
// CHECK: hk.all_gather
// CHECK: hk.add %{{.*}} : tensor<4xi16>
// CHECK: hk.all_reduce sum %arg1 axis "tp" : tensor<4xi32>
// CHECK: hk.all_reduce max %arg1 axis "tp" : tensor<4xi32>
func.func @integers(%x: tensor<4xi16>, %y: tensor<4xi32>) -> (tensor<4xi16>, tensor<4xi32>, tensor<4xi32>) {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<4xi16>
  %1 = hk.all_reduce sum %y axis "tp" : tensor<4xi32>
  %2 = hk.all_reduce max %y axis "tp" : tensor<4xi32>
  return %0, %1, %2 : tensor<4xi16>, tensor<4xi32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @stays
// CHECK: hk.all_reduce sum %arg0 axis "tp" transport any_order
// CHECK: hk.all_gather %arg0 axis "tp" dim 1
func.func @stays(%x: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x128xbf16>) {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<?x64xbf16>
  %1 = hk.all_gather %x axis "tp" dim 1 : tensor<?x64xbf16> -> tensor<?x128xbf16>
  return %0, %1 : tensor<?x64xbf16>, tensor<?x128xbf16>
}

// Rows by counts: each to its place among those for its receiver, then equal parts.
// CHECK-LABEL: func.func @rows
// CHECK: %[[IDS:.*]], %{{.*}}, %[[OFFSETS:.*]] = hk.segments lengths %arg1 items %arg0
// CHECK: tensor.extract_slice %[[OFFSETS]][0] [4] [1]
// CHECK: %[[FROM:.*]] = hk.select
// CHECK: %[[SENT:.*]] = hk.gather_rows %arg0, %[[FROM]] : tensor<?x64xbf16>, tensor<4x8xi32> -> tensor<4x8x64xbf16>
// CHECK: hk.all_to_all %[[SENT]] axis "ep" split 0 concat 0 : tensor<4x8x64xbf16>
// CHECK: hk.all_to_all %arg1 axis "ep" split 0 concat 0 : tensor<4xi32>
// HOST-LABEL: func.func @rows
// HOST: hk.all_to_all %{{.*}} axis "ep" split 0 concat 0 : tensor<4x8x64xbf16>
func.func @rows(%x: tensor<?x64xbf16>, %counts: tensor<4xi32>) -> (tensor<4x8x64xbf16>, tensor<4xi32>) {
  %0:2 = hk.all_to_all_rows %x, %counts axis "ep" capacity 8 : tensor<?x64xbf16>, tensor<4xi32> -> tensor<4x8x64xbf16>, tensor<4xi32>
  return %0#0, %0#1 : tensor<4x8x64xbf16>, tensor<4xi32>
}

// What nobody reads is not exchanged, and a capacity may be dynamic.
// CHECK-LABEL: func.func @only_rows
// CHECK: hk.iota like %
// CHECK: hk.all_to_all %{{.*}} axis "tp" split 0 concat 0 : tensor<2x?xi32>
// CHECK-NOT: hk.all_to_all
func.func @only_rows(%x: tensor<?xi32>, %counts: tensor<2xi32>) -> tensor<2x?xi32> {
  %0:2 = hk.all_to_all_rows %x, %counts axis "tp" : tensor<?xi32>, tensor<2xi32> -> tensor<2x?xi32>, tensor<2xi32>
  return %0#0 : tensor<2x?xi32>
}
}
