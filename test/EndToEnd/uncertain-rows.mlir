// Scores that overflow depend on the order of their sum, and with them the row that the
// largest one chooses. The interpreter says so instead of expecting its own choice.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --dim=x.0=5 --random=5 --data=huge --check=%s | FileCheck %s
// RUN: hk-run %t.so --dim=x.0=5 --random=5 --check=%s | FileCheck %s
// CHECK: all within their bounds

func.func @greedy(%x: tensor<?x64xbf16> {hk.name = "x"}, %head: tensor<100x64xbf16>, %embed: tensor<100x64xbf16>)
    -> (tensor<?x64xbf16>, tensor<?xi32>) {
  %scores = hk.matmul %x, %head {transpose_b} : tensor<?x64xbf16>, tensor<100x64xbf16> -> tensor<?x100xf32>
  %v, %i = hk.topk %scores ties lowest_index order by_value : tensor<?x100xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  %ids = tensor.collapse_shape %i [[0, 1]] : tensor<?x1xi32> into tensor<?xi32>
  %next = hk.gather_rows %embed, %ids : tensor<100x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
  %y = hk.add %next, %x : tensor<?x64xbf16>, tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y, %ids : tensor<?x64xbf16>, tensor<?xi32>
}
