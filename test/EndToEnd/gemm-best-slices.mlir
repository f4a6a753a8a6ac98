// What is chosen among a slice of a product's columns, as of a router whose product is also that of
// attention's rows (Cohere 2 MoE), or among all of them in another order: no block of the product
// has that in its tile, however many are chosen.
// RUN: hk-compile %s -o %t.so --target=host,gfx942 --explain > %t.txt
// RUN: FileCheck %s --input-file=%t.txt
// RUN: hk-run %t.so --check=%s --function=best --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=best --dim=x.0=5 --data=equal
// RUN: hk-run %t.so --check=%s --function=two_of_8 --dim=x.0=9
// RUN: hk-run %t.so --check=%s --function=exchanged --dim=x.0=17
// RUN: hk-run %t.so --check=%s --function=exchanged --dim=x.0=0
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=best --dim=x.0=9

// CHECK-DAG: launches of @best: {{.*}}, {{.*}}
// CHECK-DAG: launches of @two_of_8: {{.*}}, {{.*}}
// CHECK-DAG: launches of @exchanged: {{.*}}, {{.*}}

func.func @best(%x: tensor<?x64xbf16>, %w: tensor<64x48xbf16>) -> (tensor<?x32xf32>, tensor<?x1xi32>, tensor<?x1xf32>) {
  %n = arith.constant 0 : index
  %rows = tensor.dim %x, %n : tensor<?x64xbf16>
  %l = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x48xbf16> -> tensor<?x48xf32>
  %q = tensor.extract_slice %l[0, 0] [%rows, 32] [1, 1] : tensor<?x48xf32> to tensor<?x32xf32>
  %r = tensor.extract_slice %l[0, 32] [%rows, 16] [1, 1] : tensor<?x48xf32> to tensor<?x16xf32>
  %v, %ids = hk.topk %r : tensor<?x16xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %q, %ids, %v : tensor<?x32xf32>, tensor<?x1xi32>, tensor<?x1xf32>
}
func.func @two_of_8(%x: tensor<?x64xf32>, %w: tensor<64x40xf32>) -> (tensor<?x32xf32>, tensor<?x2xi32>, tensor<?x2xf32>) {
  %n = arith.constant 0 : index
  %rows = tensor.dim %x, %n : tensor<?x64xf32>
  %l = hk.matmul %x, %w : tensor<?x64xf32>, tensor<64x40xf32> -> tensor<?x40xf32>
  %q = tensor.extract_slice %l[0, 0] [%rows, 32] [1, 1] : tensor<?x40xf32> to tensor<?x32xf32>
  %r = tensor.extract_slice %l[0, 32] [%rows, 8] [1, 1] : tensor<?x40xf32> to tensor<?x8xf32>
  %v, %ids = hk.topk %r : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %q, %ids, %v : tensor<?x32xf32>, tensor<?x2xi32>, tensor<?x2xf32>
}
// All columns, in another order.
func.func @exchanged(%x: tensor<?x64xbf16>, %w: tensor<64x32xbf16>) -> (tensor<?x1xi32>, tensor<?x1xf32>) {
  %n = arith.constant 0 : index
  %rows = tensor.dim %x, %n : tensor<?x64xbf16>
  %l = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x32xbf16> -> tensor<?x32xf32>
  %a = tensor.extract_slice %l[0, 0] [%rows, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
  %b = tensor.extract_slice %l[0, 16] [%rows, 16] [1, 1] : tensor<?x32xf32> to tensor<?x16xf32>
  %r = hk.concat 1 (%b, %a) : tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x32xf32>
  %v, %ids = hk.topk %r : tensor<?x32xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %ids, %v : tensor<?x1xi32>, tensor<?x1xf32>
}
