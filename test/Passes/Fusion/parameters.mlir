// RUN: hk-opt -hk-fuse %s | FileCheck %s
// RUN: hk-opt -hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {hk.target = #hk.target<"gfx942">} {

// What depends on a weight alone is computed where it is read.
// CHECK-LABEL: func @decay
// CHECK: hk.fused rowwise ins(
// CHECK: hk.exp
// CHECK: hk.neg
// CHECK: hk.mul
// CHECK-NOT: hk.fused
func.func @decay(%x: tensor<?x32xf32>, %a: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = hk.exp %a : tensor<32xf32>
  %1 = hk.neg %0 : tensor<32xf32>
  %2 = hk.sigmoid %x : tensor<?x32xf32>
  %3 = hk.mul %1, %2 : tensor<32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %3 : tensor<?x32xf32>
}

// Each of two readers computes the table of cosines; one kernel.
// CHECK-LABEL: func @table
// CHECK: hk.fused rowwise
// CHECK: hk.cos
// CHECK-NOT: hk.fused
func.func @table(%q: tensor<?x8x64xbf16>, %k: tensor<?x2x64xbf16>, %f: tensor<512x32xf32>, %p: tensor<?xi32>) -> (tensor<?x8x64xbf16>, tensor<?x2x64xbf16>) {
  %c = hk.cos %f : tensor<512x32xf32>
  %s = hk.sin %f : tensor<512x32xf32>
  %0 = hk.rope neox %q, %c, %s positions %p : tensor<?x8x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  %1 = hk.rope neox %k, %c, %s positions %p : tensor<?x2x64xbf16>, tensor<512x32xf32>, tensor<512x32xf32> positions tensor<?xi32>
  return %0, %1 : tensor<?x8x64xbf16>, tensor<?x2x64xbf16>
}

// A parameter that is a result too has memory and a kernel of its own.
// CHECK-LABEL: func @escapes
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: escapes
// REMARK: row-dims-differ
func.func @escapes(%x: tensor<?x32xf32>, %a: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>) {
  %0 = hk.exp %a : tensor<32xf32>
  %1 = hk.mul %0, %x : tensor<32xf32>, tensor<?x32xf32> -> tensor<?x32xf32> loc("escapes")
  return %1, %0 : tensor<?x32xf32>, tensor<32xf32>
}

// A weight that needs all of itself (a norm) is not elementwise.
// CHECK-LABEL: func @not_elementwise
// CHECK-COUNT-2: hk.fused rowwise
func.func @not_elementwise(%x: tensor<?x32xf32>, %a: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = hk.softmax %a : tensor<32xf32>
  %1 = hk.mul %0, %x : tensor<32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}

// A table of the tokens' own angles, one row each, is made in the row that reads it.
// CHECK-LABEL: func @own_angles
// CHECK: hk.fused rowwise
// CHECK: hk.gather_rows
// CHECK: hk.rope
// CHECK-NOT: hk.fused
func.func @own_angles(%x: tensor<16x4x64xbf16>, %c: tensor<512x32xf32>, %s: tensor<512x32xf32>, %p: tensor<16xi32>) -> tensor<16x4x64xbf16> {
  %0 = hk.gather_rows %c, %p : tensor<512x32xf32>, tensor<16xi32> -> tensor<16x32xf32>
  %1 = hk.gather_rows %s, %p : tensor<512x32xf32>, tensor<16xi32> -> tensor<16x32xf32>
  %2 = hk.rope neox %x, %0, %1 : tensor<16x4x64xbf16>, tensor<16x32xf32>, tensor<16x32xf32>
  return %2 : tensor<16x4x64xbf16>
}
}
