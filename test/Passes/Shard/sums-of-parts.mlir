// A norm over the columns of all ranks, spelled out: each rank sums the squares of its own, one number of a row goes over
// the link, and both products are cut. What needs the largest of all columns keeps its product whole.
// RUN: hk-opt %s --hk-shard=mesh=tp=2 | FileCheck %s
hk.weight @up "up" : tensor<128x64xbf16>
hk.weight @down "down" : tensor<64x128xbf16>

// CHECK-LABEL: func.func @norm(
// CHECK: %[[U:.*]] = hk.matmul {{.*}} -> tensor<?x64xf32>
// CHECK: %[[Q:.*]] = hk.mul %[[U]], %[[U]] : tensor<?x64xf32>
// CHECK: %[[P:.*]] = hk.reduce sum %[[Q]] : tensor<?x64xf32> -> tensor<?x1xf32>
// CHECK: %[[M:.*]] = hk.mul %[[P]], %{{.*}} : tensor<?x1xf32>, tensor<f32>
// CHECK: %[[A:.*]] = hk.all_reduce sum %[[M]] axis "tp" transport any_order : tensor<?x1xf32>
// CHECK: hk.add %[[A]],
// CHECK: %[[D:.*]] = hk.matmul {{.*}} : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
// CHECK: hk.all_reduce sum %[[D]] axis "tp"
func.func @norm(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %wu = hk.weight_ref @up : tensor<128x64xbf16>
  %wd = hk.weight_ref @down : tensor<64x128xbf16>
  %share = hk.constant dense<0.0078125> : tensor<f32>
  %eps = hk.constant dense<1.0e-05> : tensor<f32>
  %u = hk.matmul %x, %wu transpose_b : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xf32>
  %q = hk.mul %u, %u : tensor<?x128xf32>
  %s = hk.reduce sum %q : tensor<?x128xf32> -> tensor<?x1xf32>
  %m = hk.mul %s, %share : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %e = hk.add %m, %eps : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %r = hk.rsqrt %e : tensor<?x1xf32>
  %n = hk.mul %u, %r : tensor<?x128xf32>, tensor<?x1xf32> -> tensor<?x128xbf16>
  %y = hk.matmul %n, %wd transpose_b : tensor<?x128xbf16>, tensor<64x128xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @largest(
// CHECK-NOT: hk.all_
func.func @largest(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %wu = hk.weight_ref @up : tensor<128x64xbf16>
  %wd = hk.weight_ref @down : tensor<64x128xbf16>
  %u = hk.matmul %x, %wu transpose_b : tensor<?x64xbf16>, tensor<128x64xbf16> -> tensor<?x128xbf16>
  %m = hk.reduce absmax %u : tensor<?x128xbf16> -> tensor<?x1xbf16>
  %n = hk.div %u, %m : tensor<?x128xbf16>, tensor<?x1xbf16> -> tensor<?x128xbf16>
  %y = hk.matmul %n, %wd transpose_b : tensor<?x128xbf16>, tensor<64x128xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
