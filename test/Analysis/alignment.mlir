// RUN: hk-opt --pass-pipeline='builtin.module(func.func(hk-print-alignment))' %s -o /dev/null | FileCheck %s

// 20 bf16 are 40 bytes: rows start at multiples of 8. A lone row is at 16.
// CHECK: arg0 align 8 free
// CHECK: arg1 align 16 free
// CHECK: arg2 align 2 free
// CHECK: arg3 align 16 free
func.func @views(%a: tensor<?x20xbf16>, %b: tensor<1x20xbf16>, %c: tensor<4x?xbf16>, %d: tensor<?x512xbf16>, %n: index) {
  // Offset 3 * 2 bytes; offset 256 * 2 bytes.
  // CHECK: tensor.extract_slice#0 align 2 free
  %0 = tensor.extract_slice %d[0, 3] [%n, 64] [1, 1] : tensor<?x512xbf16> to tensor<?x64xbf16>
  // CHECK: tensor.extract_slice#0 align 16 free
  %1 = tensor.extract_slice %d[%n, 256] [%n, 128] [1, 1] : tensor<?x512xbf16> to tensor<?x128xbf16>
  // Heads of 4 bf16 in a slice at 16 bytes: 8.
  // CHECK: tensor.expand_shape#0 align 8 free
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [%n, 32, 4] : tensor<?x128xbf16> into tensor<?x32x4xbf16>
  // Folding the heads back is still a view of the slice.
  // CHECK: tensor.collapse_shape#0 align 16 free
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<?x32x4xbf16> into tensor<?x128xbf16>
  // Rows of a slice do not follow each other.
  // CHECK: tensor.collapse_shape#0 align 16 needs a copy
  %4 = tensor.collapse_shape %1 [[0, 1]] : tensor<?x128xbf16> into tensor<?xbf16>
  // A column: its innermost stride is not 1.
  // CHECK: tensor.extract_slice#0 align 2 needs a copy
  %5 = tensor.extract_slice %d[0, 1] [%n, 1] [1, 1] : tensor<?x512xbf16> to tensor<?xbf16>
  return
}
