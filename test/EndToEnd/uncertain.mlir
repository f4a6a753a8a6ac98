// Sums that overflow depend on their order, and with them what they choose: the row of the
// largest score, the scale of a norm. The interpreter says so instead of expecting its own.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --function=greedy --dim=x.0=5 --random=5 --data=huge --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=greedy --dim=x.0=5 --random=5 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=norm_quantize --dim=x.0=33 --random=33 --data=huge --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=norm_quantize --dim=x.0=33 --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=attention --dim=q.0=33 --dim=k.0=33 --random=2 --data=huge --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=attention --dim=q.0=33 --dim=k.0=33 --random=3 --data=inf --check=%s | FileCheck %s
// RUN: hk-run %t.so --function=attention --dim=q.0=33 --dim=k.0=33 --check=%s | FileCheck %s
// CHECK: all within their bounds

func.func @greedy(%x: tensor<?x64xbf16> {hk.name = "x"}, %head: tensor<100x64xbf16>, %embed: tensor<100x64xbf16>)
    -> (tensor<?x64xbf16>, tensor<?xi32>) {
  %scores = hk.matmul %x, %head transpose_b : tensor<?x64xbf16>, tensor<100x64xbf16> -> tensor<?x100xf32>
  %v, %i = hk.topk %scores : tensor<?x100xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  %ids = tensor.collapse_shape %i [[0, 1]] : tensor<?x1xi32> into tensor<?xi32>
  %next = hk.gather_rows %embed, %ids : tensor<100x64xbf16>, tensor<?xi32> -> tensor<?x64xbf16>
  %y = hk.add %next, %x : tensor<?x64xbf16>
  return %y, %ids : tensor<?x64xbf16>, tensor<?xi32>
}

func.func @norm_quantize(%x: tensor<?x128xbf16> {hk.name = "x"}, %g: tensor<128xbf16>, %b: tensor<128xbf16>)
    -> (tensor<?x128xf8E4M3FN>, tensor<?x1xf32>, tensor<?x128xf8E4M3FN>, tensor<?x1xf32>, tensor<?x128xf4E2M1FN>, tensor<?x4xf8E8M0FNU>) {
  %n = hk.layer_norm %x, %g, %b epsilon 1.0e-05 : tensor<?x128xbf16>, tensor<128xbf16>, tensor<128xbf16>
  %q, %s = hk.quantize per_group %n group 128 : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
  %p, %t = hk.quantize per_token %n power_of_two : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x1xf32>
  %m, %e = hk.quantize_mx even %n : tensor<?x128xbf16> -> tensor<?x128xf4E2M1FN>, tensor<?x4xf8E8M0FNU>
  return %q, %s, %p, %t, %m, %e : tensor<?x128xf8E4M3FN>, tensor<?x1xf32>, tensor<?x128xf8E4M3FN>, tensor<?x1xf32>, tensor<?x128xf4E2M1FN>, tensor<?x4xf8E8M0FNU>
}

// The first query sees one key; a score of -inf counts as none.
func.func @attention(%q: tensor<?x4x32xbf16> {hk.name = "q"}, %k: tensor<?x2x32xbf16> {hk.name = "k"}, %v: tensor<?x2x32xbf16> {hk.name = "v"})
    -> (tensor<?x4x32xbf16>, tensor<?x4xf32>) {
  %o, %l = hk.attention %q, %k, %v scale 0.2 causal : tensor<?x4x32xbf16>, tensor<?x2x32xbf16>, tensor<?x2x32xbf16> -> tensor<?x4x32xbf16>, tensor<?x4xf32>
  return %o, %l : tensor<?x4x32xbf16>, tensor<?x4xf32>
}
