// The sum of the slices fuses with what the product could not take: a product and
// a norm are two launches either way.
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-split=k=4 --hk-fuse --hk-outline | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --split-k=1 --explain=json --emit=mlir -o /dev/null | FileCheck %s --check-prefix=NEVER
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=TEXT

// CHECK: hk.kernel @matmul gemm
// CHECK: hk.matmul {{.*}}k_slices 4
// CHECK-NEXT: hk.yield
// CHECK: hk.kernel @[[SUM:.*]] rowwise
// CHECK: hk.sum_slices
// CHECK-NEXT: hk.add
// CHECK-NEXT: hk.rms_norm
// CHECK-LABEL: func @norm
// CHECK: hk.launch @matmul
// CHECK: hk.launch @[[SUM]]
// CHECK-NOT: hk.launch

// NEVER: "candidates":[{"detail":"","lds_bytes":0,"microseconds":{{[0-9.]+}},"reason":"accepted","what":"whole"},{"detail":"by option","lds_bytes":0,"microseconds":0,"reason":"disabled","what":"slices of k"}],"chosen":0,"kind":"plan"

// TEXT: split: hk.matmul in {{[0-9]+}} slices of k, {{[0-9.]+}} us instead of {{[0-9.]+}}
func.func @norm(%x: tensor<1x8192xbf16>, %w: tensor<1024x8192xbf16>, %r: tensor<1x1024xbf16>, %g: tensor<1024xbf16>) -> (tensor<1x1024xbf16>, tensor<1x1024xbf16>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<1x8192xbf16>, tensor<1024x8192xbf16> -> tensor<1x1024xbf16>
  %1 = hk.add %0, %r : tensor<1x1024xbf16>
  %2 = hk.rms_norm %1, %g epsilon 1.0e-05 : tensor<1x1024xbf16>, tensor<1024xbf16>
  return %1, %2 : tensor<1x1024xbf16>, tensor<1x1024xbf16>
}
