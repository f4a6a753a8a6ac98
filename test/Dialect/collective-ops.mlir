// Round trip.
// RUN: hk-opt %s | hk-opt | FileCheck %s

// CHECK: module attributes {hk.mesh = "ep=3,tp=2"}
module attributes {hk.mesh = "ep=3,tp=2"} {
// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<?x64xbf16>, %y: tensor<4x6xi32>, %s: tensor<f32>) {
  // CHECK: hk.all_reduce sum %{{.*}} axis "tp" : tensor<?x64xbf16>{{$}}
  %0 = hk.all_reduce sum %x axis "tp" : tensor<?x64xbf16>
  // CHECK: hk.all_reduce sum %{{.*}} axis "tp" : tensor<?x64xbf16> -> tensor<?x64xf32>
  %1 = hk.all_reduce sum %x axis "tp" : tensor<?x64xbf16> -> tensor<?x64xf32>
  // CHECK: hk.all_reduce sum %{{.*}} axis "ep" transport any_order : tensor<?x64xbf16>{{$}}
  %2 = hk.all_reduce sum %x axis "ep" transport any_order : tensor<?x64xbf16>
  // CHECK: hk.all_reduce max %{{.*}} axis "tp" : tensor<4x6xi32>
  %3 = hk.all_reduce max %y axis "tp" transport in_order : tensor<4x6xi32>
  // CHECK: hk.all_reduce min %{{.*}} axis "tp" : tensor<f32>
  %4 = hk.all_reduce min %s axis "tp" : tensor<f32>
  // CHECK: hk.reduce_scatter sum %{{.*}} axis "ep" dim 1 : tensor<4x6xi32> -> tensor<4x2xi32>
  %5 = hk.reduce_scatter sum %y axis "ep" dim 1 : tensor<4x6xi32> -> tensor<4x2xi32>
  // CHECK: hk.reduce_scatter sum %{{.*}} axis "tp" dim 0 transport any_order : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %6 = hk.reduce_scatter sum %x axis "tp" dim 0 transport any_order : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: @copies
func.func @copies(%x: tensor<?x64xbf16>, %c: tensor<4x6xi4>, %counts: tensor<3xi32>) {
  // CHECK: hk.all_gather %{{.*}} axis "ep" dim 1 : tensor<?x64xbf16> -> tensor<?x192xbf16>
  %0 = hk.all_gather %x axis "ep" dim 1 : tensor<?x64xbf16> -> tensor<?x192xbf16>
  // CHECK: hk.all_gather %{{.*}} axis "tp" dim 1 : tensor<4x6xi4> -> tensor<4x12xi4>
  %1 = hk.all_gather %c axis "tp" dim 1 : tensor<4x6xi4> -> tensor<4x12xi4>
  // CHECK: hk.all_to_all %{{.*}} axis "tp" split 1 concat 0 : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %2 = hk.all_to_all %x axis "tp" split 1 concat 0 : tensor<?x64xbf16> -> tensor<?x32xbf16>
  // CHECK: hk.all_to_all %{{.*}} axis "tp" split 0 concat 0 : tensor<4x6xi4>{{$}}
  %3 = hk.all_to_all %c axis "tp" split 0 concat 0 : tensor<4x6xi4>
  // CHECK: hk.all_to_all_rows %{{.*}}, %{{.*}} axis "ep" : tensor<?x64xbf16>, tensor<3xi32> -> tensor<3x?x64xbf16>, tensor<3xi32>
  %rows, %received = hk.all_to_all_rows %x, %counts axis "ep" : tensor<?x64xbf16>, tensor<3xi32> -> tensor<3x?x64xbf16>, tensor<3xi32>
  // CHECK: hk.all_to_all_rows %{{.*}}, %{{.*}} axis "ep" capacity 5 : tensor<4x6xi4>, tensor<3xi32> -> tensor<3x5x6xi4>, tensor<3xi32>
  %few, %sent = hk.all_to_all_rows %c, %counts axis "ep" capacity 5 : tensor<4x6xi4>, tensor<3xi32> -> tensor<3x5x6xi4>, tensor<3xi32>
  // CHECK: hk.broadcast_rank %{{.*}} axis "ep" root 2 : tensor<4x6xi4>{{$}}
  %4 = hk.broadcast_rank %c axis "ep" root 2 : tensor<4x6xi4>
  // CHECK: hk.rank axis "ep" : tensor<i32>
  %5 = hk.rank axis "ep" : tensor<i32>
  return
}
}
