// RUN: hk-opt -hk-fuse %s | FileCheck %s
// RUN: hk-opt -hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {hk.target = #hk.target<"gfx942">} {

// Two kernels without a common input share a launch when their rows are the same.
// CHECK-LABEL: func @same_rows
// CHECK: %[[R:.*]]:2 = hk.fused rowwise ins(%arg0, %arg1 :
// CHECK-NOT: hk.fused
func.func @same_rows(%a: tensor<8x4x64xbf16>, %b: tensor<8x96xf16>) -> (tensor<8x4x64xbf16>, tensor<8x96xf16>) {
  %0 = hk.silu %a : tensor<8x4x64xbf16>
  %1 = hk.rms_norm %b epsilon 1.0e-06 : tensor<8x96xf16>
  return %0, %1 : tensor<8x4x64xbf16>, tensor<8x96xf16>
}

// An index that says nothing of the other rows does not make them the same: sizes
// that are only equal by chance are not.
// CHECK-LABEL: func @other_rows
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: other_rows
// REMARK: row-dims-differ
func.func @other_rows(%a: tensor<?x64xbf16>, %b: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %0 = hk.silu %a : tensor<?x64xbf16> loc("other_rows")
  %1 = hk.silu %b : tensor<?x64xbf16> loc("other_rows")
  return %0, %1 : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// The rows of one are columns of the other.
// CHECK-LABEL: func @wrong_axis
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: wrong_axis
// REMARK: row-dims-differ
func.func @wrong_axis(%a: tensor<16x64xbf16>, %b: tensor<64x16xbf16>) -> (tensor<16x64xbf16>, tensor<64x16xbf16>) {
  %0 = hk.silu %a : tensor<16x64xbf16> loc("wrong_axis")
  %1 = hk.silu %b : tensor<64x16xbf16> loc("wrong_axis")
  return %0, %1 : tensor<16x64xbf16>, tensor<64x16xbf16>
}

// What one writes the other must not read, although no value leads from one to the
// other.
// CHECK-LABEL: func @state
// CHECK-COUNT-2: hk.fused rowwise
// REMARK: state
// REMARK: state-read-and-written
func.func @state(%k: tensor<16x2x8xf32>, %s: tensor<16xi32>, %c: tensor<16x1x2x8xf32> {hk.state}) -> (tensor<16x1x2x8xf32>, tensor<16x1x2x8xf32>) {
  %0 = hk.neg %c : tensor<16x1x2x8xf32> loc("state")
  %1 = hk.kv_cache_write %k, %s into %c : tensor<16x2x8xf32>, tensor<16xi32>, tensor<16x1x2x8xf32> loc("state")
  return %1, %0 : tensor<16x1x2x8xf32>, tensor<16x1x2x8xf32>
}

// One that must run before a product and one that must run after it stay apart.
// CHECK-LABEL: func @between
// CHECK: hk.fused rowwise
// CHECK: hk.fused gemm
// CHECK: hk.fused rowwise
func.func @between(%a: tensor<8x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<8x64xbf16> {
  %0 = hk.rms_norm %a epsilon 1.0e-06 : tensor<8x64xbf16>
  %1 = hk.matmul %0, %w : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  %2 = hk.softmax %1 : tensor<8x64xbf16>
  return %2 : tensor<8x64xbf16>
}
}
