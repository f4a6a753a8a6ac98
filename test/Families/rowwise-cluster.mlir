// On sm_90a a row that no block's registers hold is shared by the blocks of a cluster,
// which exchange its statistics through each other's LDS. A softmax needs one exchange:
// each wave has a maximum of its own first.
// RUN: hk-compile %s --emit=mlir --target=sm_90a -o - | FileCheck %s --check-prefix=TILE
// RUN: hk-compile %s --emit=mlir --target=gfx942 -o - | FileCheck %s --check-prefix=AMD
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s
// RUN: hk-compile %s --target=sm_90a -o %t.so
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.so

// TILE: #hk.row_tile<rows = 1, threads = 256, vec = 4, slots = 16, cluster = 8>
// AMD: #hk.row_tile
// AMD-NOT: cluster

// CHECK-LABEL: ==== @softmax
// CHECK: using [[SHARED:.*]] = RowShared<2048, 256, 2>;
// CHECK: clusterArrive();
// CHECK-NEXT: const i64 row = block.x / 8;
// CHECK-NEXT: const i32 thread = i32(block.x % 8) * 256 + threadId();
// CHECK: const float [[OWN:f[0-9]+]] = segmentReduce<Max, kWave>
// CHECK: clusterWait();
// CHECK-NEXT: mergeWaves<2048, 256>(
// CHECK: = expOfMaxima([[OWN]],
func.func @softmax(%x: tensor<?x131072xf32>) -> tensor<?x131072xf32> {
  %y = hk.softmax %x : tensor<?x131072xf32>
  return %y : tensor<?x131072xf32>
}

// The row ends before the threads of the cluster do.
// CHECK-LABEL: ==== @rms_norm
// CHECK: clusterWait();
// CHECK-NOT: clusterWait();
// CHECK: wholeRowReduce<Sum, 2048, 256>(
func.func @norm(%x: tensor<?x131064xbf16>, %w: tensor<131064xbf16>) -> tensor<?x131064xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x131064xbf16>, tensor<131064xbf16>
  return %y : tensor<?x131064xbf16>
}

// Its blocks may start while the kernel before still runs, so they wait for it.
// PTX: .explicitcluster
// PTX-NEXT: .reqnctapercluster 8
// PTX-NOT: ld.global
// PTX: griddepcontrol.wait
// PTX-NOT: .maxclusterrank
