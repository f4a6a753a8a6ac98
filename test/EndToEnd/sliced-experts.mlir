// A slice of an expert's columns, scaled by rows whose number only the graph around the
// kernel relates to that of the product's rows (twice the tokens): the slice lies where the
// columns are, not as a result of the whole width would.
// RUN: hk-compile %s -o %t.so --target=host --explain 2>&1 | FileCheck %s
// RUN: hk-run %t.so --check=%s --dim=x.0=5 --dim=p.0=5
// RUN: hk-run %t.so --check=%s --dim=x.0=67 --dim=p.0=67
// RUN: hk-run %t.so --check=%s --dim=x.0=0 --dim=p.0=0

// CHECK: grouped_matmul,{{.*}}extract_slice,mul
func.func @experts(%x: tensor<?x24xbf16>, %w: tensor<2x24x64xbf16>, %p: tensor<?x2xbf16>) -> tensor<?x2x32xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = tensor.dim %x, %c0 : tensor<?x24xbf16>
  %rows = arith.muli %t, %c2 : index
  %score, %id = hk.topk %p : tensor<?x2xbf16> -> tensor<?x2xbf16>, tensor<?x2xi32>
  %ids = tensor.collapse_shape %id [[0, 1]] : tensor<?x2xi32> into tensor<?xi32>
  %counts = hk.histogram %ids : tensor<?xi32> -> tensor<2xi32>
  %order, %place = hk.sort_by_key %ids bins 2 block 4 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %experts, %rank, %blocks = hk.segments lengths %counts items %ids block 4 : tensor<2xi32> items tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>, tensor<3xi32>
  %y = hk.grouped_matmul %x, %w blocks %experts order %order block 4 top_k 2 : tensor<?x24xbf16>, tensor<2x24x64xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x64xbf16>
  %half = tensor.extract_slice %y[0, 32] [%rows, 32] [1, 1] : tensor<?x64xbf16> to tensor<?x32xbf16>
  %flat = tensor.collapse_shape %score [[0, 1]] : tensor<?x2xbf16> into tensor<?xbf16>
  %scale = tensor.expand_shape %flat [[0, 1]] output_shape [%rows, 1] : tensor<?xbf16> into tensor<?x1xbf16>
  %scaled = hk.mul %half, %scale : tensor<?x32xbf16>, tensor<?x1xbf16> -> tensor<?x32xbf16>
  %z = tensor.expand_shape %scaled [[0, 1], [2]] output_shape [%t, 2, 32] : tensor<?x32xbf16> into tensor<?x2x32xbf16>
  return %z : tensor<?x2x32xbf16>
}
