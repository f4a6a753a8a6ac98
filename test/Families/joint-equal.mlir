// Two launches of one kernel that share a launch keep operands of their own.
// RUN: hk-opt %s --hk-graph="target=gfx942" | FileCheck %s

// CHECK: hk.spec
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<?x128xbf16>, %[[Q:.*]]: tensor<128x128xbf16>, %[[Y:.*]]: tensor<?x128xbf16>, %[[K:.*]]: tensor<128x128xbf16>, %{{.*}}: tensor<?x128xbf16>, %{{.*}}: tensor<?x128xbf16>):
// CHECK-NEXT: %[[FIRST:.*]] = hk.matmul %[[X]], %[[Q]]
// CHECK-NEXT: %[[SECOND:.*]] = hk.matmul %[[Y]], %[[K]]
// CHECK-NEXT: hk.yield %[[FIRST]], %[[SECOND]]
func.func @queries_and_keys(%x: tensor<?x128xbf16>, %q: tensor<128x128xbf16>, %k: tensor<128x128xbf16>) -> (tensor<?x128xbf16>, tensor<?x128xbf16>) {
  %0 = hk.matmul %x, %q transpose_b : tensor<?x128xbf16>, tensor<128x128xbf16> -> tensor<?x128xbf16>
  %1 = hk.matmul %x, %k transpose_b : tensor<?x128xbf16>, tensor<128x128xbf16> -> tensor<?x128xbf16>
  return %0, %1 : tensor<?x128xbf16>, tensor<?x128xbf16>
}
