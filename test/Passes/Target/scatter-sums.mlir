// Each rank keeps some rows of a sum where computing what follows for these alone saves more than one more exchange costs.
// RUN: hk-opt %s --hk-assign-target=target=host --hk-scatter-sums | FileCheck %s
// RUN: hk-compile %s --target=host --explain | FileCheck %s --check-prefix=EXPLAIN
// Kernels that exchange rows do what follows meanwhile, and NCCL takes longer for both parts than for the sum.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-scatter-sums | FileCheck %s --check-prefix=KERNELS
// RUN: sed 's/hk.mesh = "tp=2"/&, hk.exchange = "engine"/' %s | hk-opt --hk-assign-target=target=sm_90a --hk-scatter-sums | FileCheck %s --check-prefix=ENGINE
// KERNELS-NOT: hk.reduce_scatter
// ENGINE-NOT: hk.reduce_scatter
// By the library of AMD's chips: what a rank's own rows save pays for one more exchange where there are many.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-scatter-sums | FileCheck %s --check-prefix=AMD
// RUN: hk-opt %s --hk-assign-target=target=gfx950 --hk-scatter-sums | FileCheck %s --check-prefix=AMD
// AMD-NOT: hk.reduce_scatter
// AMD-LABEL: func.func @more
// AMD: hk.reduce_scatter sum %{{.*}} axis "tp" dim 0 transport any_order : tensor<8192x8192xbf16> -> tensor<4096x8192xbf16>
// AMD: hk.rms_norm {{.*}} tensor<4096x8192xbf16>
// AMD: hk.all_gather

module attributes {hk.mesh = "tp=2"} {
// EXPLAIN-DAG: exchanged: hk.all_reduce over "tp": by parts of its rows, {{[0-9.]+}} us instead of {{[0-9.]+}}
// CHECK-LABEL: func.func @norm
// CHECK-SAME: (%[[X:.*]]: tensor<1024x256xf32>, %[[R:.*]]: tensor<1024x256xf32>,
// CHECK-DAG: %[[RANK:.*]] = hk.rank axis "tp"
// CHECK-DAG: %[[OWN:.*]] = hk.gather_rows %[[R]], %{{.*}} : tensor<1024x256xf32>, tensor<512xi32> -> tensor<512x256xf32>
// CHECK-DAG: %[[SUM:.*]] = hk.reduce_scatter sum %[[X]] axis "tp" dim 0 transport any_order : tensor<1024x256xf32> -> tensor<512x256xf32>
// CHECK: %[[ADD:.*]] = hk.add %[[SUM]], %[[OWN]] : tensor<512x256xf32>
// CHECK: %[[NORM:.*]] = hk.rms_norm %[[ADD]]
// CHECK: %[[ALL:.*]] = hk.all_gather %[[NORM]] axis "tp" dim 0 : tensor<512x256xf32> -> tensor<1024x256xf32>
// CHECK: hk.matmul %[[ALL]]
// The residual stays in parts until the next sum.
// CHECK: %[[NEXT:.*]] = hk.reduce_scatter
// CHECK: %[[LAST:.*]] = hk.add %[[ADD]], %[[NEXT]] : tensor<512x256xf32>
// CHECK: %[[RESULT:.*]] = hk.all_gather %[[LAST]]
// CHECK: return %[[RESULT]]
func.func @norm(%x: tensor<1024x256xf32>, %r: tensor<1024x256xf32>, %w: tensor<256xf32>, %b: tensor<256x256xf32>) -> tensor<1024x256xf32> {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<1024x256xf32>
  %1 = hk.add %0, %r : tensor<1024x256xf32>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<1024x256xf32>, tensor<256xf32>
  %3 = hk.matmul %2, %b transpose_b : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
  %4 = hk.all_reduce sum %3 axis "tp" transport any_order : tensor<1024x256xf32>
  %5 = hk.add %1, %4 : tensor<1024x256xf32>
  return %5 : tensor<1024x256xf32>
}

// EXPLAIN-DAG: exchanged: hk.all_reduce over "tp": whole; not by parts of its rows (costlier-fused): {{[0-9.]+}} us instead of {{[0-9.]+}}
// CHECK-LABEL: func.func @few
// CHECK: hk.all_reduce
func.func @few(%x: tensor<2x256xf32>, %r: tensor<2x256xf32>) -> tensor<2x256xf32> {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<2x256xf32>
  %1 = hk.add %0, %r : tensor<2x256xf32>
  return %1 : tensor<2x256xf32>
}

// EXPLAIN-DAG: whole; not by parts of its rows (size-unknown): that its rows can be shared is known only where their number is, when it is compiled
// CHECK-LABEL: func.func @dynamic
// CHECK: hk.all_reduce
func.func @dynamic(%x: tensor<?x256xf32>, %r: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<?x256xf32>
  %1 = hk.add %0, %r : tensor<?x256xf32>
  return %1 : tensor<?x256xf32>
}

// EXPLAIN-DAG: whole; not by parts of its rows (unsupported-shape): its 1023 rows cannot be shared by 2 ranks
// CHECK-LABEL: func.func @odd
// CHECK: hk.all_reduce
func.func @odd(%x: tensor<1023x256xf32>, %r: tensor<1023x256xf32>) -> tensor<1023x256xf32> {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<1023x256xf32>
  %1 = hk.add %0, %r : tensor<1023x256xf32>
  return %1 : tensor<1023x256xf32>
}

// The bits of a sum in order are promised, and a library does not add in order.
// CHECK-LABEL: func.func @in_order
// CHECK: hk.all_reduce
func.func @in_order(%x: tensor<1024x256xf32>, %r: tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<1024x256xf32>
  %1 = hk.add %0, %r : tensor<1024x256xf32>
  return %1 : tensor<1024x256xf32>
}

func.func @many(%x: tensor<4096x8192xbf16>, %r: tensor<4096x8192xbf16>, %w: tensor<8192xbf16>) -> tensor<4096x8192xbf16> {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<4096x8192xbf16>
  %1 = hk.add %0, %r : tensor<4096x8192xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<4096x8192xbf16>, tensor<8192xbf16>
  return %2 : tensor<4096x8192xbf16>
}

func.func @more(%x: tensor<8192x8192xbf16>, %r: tensor<8192x8192xbf16>, %w: tensor<8192xbf16>) -> tensor<8192x8192xbf16> {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<8192x8192xbf16>
  %1 = hk.add %0, %r : tensor<8192x8192xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<8192x8192xbf16>, tensor<8192xbf16>
  return %2 : tensor<8192x8192xbf16>
}
}
