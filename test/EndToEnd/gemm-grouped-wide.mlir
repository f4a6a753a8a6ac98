// Groups of some hundred rows of 16 bits, and of fp8, in wide swapped tiles of sm_90a, which the model
// takes for as many columns and as deep as these. Groups end anywhere, are empty, have more rows than a tile;
// places have no row; k, n and a half of a pair are no multiple of a stage or a tile.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=150 --range=sizes=0:90
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=200 --range=sizes=-3:200 --data=nan
// RUN: hk-run %t.so --check=%s --function=gathered --dim=x.0=70 --dim=order.0=140 --range=order=-40:140
// RUN: hk-run %t.so --check=%s --function=gathered --dim=x.0=0 --dim=order.0=140
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=100 --dim=order.0=200
// RUN: hk-run %t.so --check=%s --function=fp8_gathered --dim=x.0=150 --dim=order.0=300
// RUN: hk-run %t.so --check=%s --function=fp8_gathered --dim=x.0=70 --dim=order.0=140 --range=order=-40:140 --data=nan
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=70 --dim=order.0=140 --range=order=-40:140
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=0 --dim=order.0=140
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=160 --dim=order.0=320
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=150 --dim=order.0=300 --range=order=-6000:300
// RUN: hk-run %t.so --check=%s --function=fp8_lengths --dim=x.0=300 --range=sizes=0:170
// RUN: hk-run %t.so --check=%s --function=fp8_lengths --dim=x.0=200 --range=sizes=-3:200 --data=nan

// RUN: hk-compile %s --target=sm_90a --explain -o %t.gpu.so 2>&1 | FileCheck %s
// CHECK-COUNT-3: bm = 160, bn = 256, bk = 64, wm = 1, wn = 2, stages = 4, splitK = 1, loop = warp_specialised
// CHECK-COUNT-3: bm = 160, bn = 256, bk = 128, wm = 1, wn = 2, stages = 4, splitK = 1, loop = warp_specialised
module {
func.func @lengths(%x: tensor<?x1544xf16>, %w: tensor<2x8712x1544xf16>, %sizes: tensor<2xi32>) -> tensor<?x8712xf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes transpose_b : tensor<?x1544xf16>, tensor<2x8712x1544xf16> groups tensor<2xi32> -> tensor<?x8712xf16>
  return %y : tensor<?x8712xf16>
}
func.func @gathered(%x: tensor<?x1544xbf16>, %w: tensor<2x8709x1544xbf16>, %bounds: tensor<3xi32>, %order: tensor<?xi32>) -> tensor<?x8709xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 2 : tensor<?x1544xbf16>, tensor<2x8709x1544xbf16> groups tensor<3xi32> order tensor<?xi32> -> tensor<?x8709xbf16>
  return %y : tensor<?x8709xbf16>
}
func.func @gate(%x: tensor<?x1544xbf16>, %w: tensor<2x8720x1544xbf16>, %bounds: tensor<3xi32>, %order: tensor<?xi32>) -> tensor<?x4360xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 2 : tensor<?x1544xbf16>, tensor<2x8720x1544xbf16> groups tensor<3xi32> order tensor<?xi32> -> tensor<?x8720xbf16>
  %g = hk.gated_activation silu %y : tensor<?x8720xbf16> -> tensor<?x4360xbf16>
  return %g : tensor<?x4360xbf16>
}
func.func @fp8_gathered(%x: tensor<?x3088xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<2x8709x3088xf8E4M3FN>, %t: tensor<2x8709x1xf32>, %bounds: tensor<3xi32>, %order: tensor<?xi32>) -> tensor<?x8709xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x3088xf8E4M3FN>, tensor<2x8709x3088xf8E4M3FN> scales (tensor<?x1xf32>, tensor<2x8709x1xf32>) groups tensor<3xi32> order tensor<?xi32> -> tensor<?x8709xbf16>
  return %y : tensor<?x8709xbf16>
}
func.func @fp8_gate(%x: tensor<?x3088xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<2x8720x3088xf8E4M3FN>, %t: tensor<2x8720x1xf32>, %bounds: tensor<3xi32>, %order: tensor<?xi32>) -> tensor<?x4360xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x3088xf8E4M3FN>, tensor<2x8720x3088xf8E4M3FN> scales (tensor<?x1xf32>, tensor<2x8720x1xf32>) groups tensor<3xi32> order tensor<?xi32> -> tensor<?x8720xbf16>
  %g = hk.gated_activation silu %y : tensor<?x8720xbf16> -> tensor<?x4360xbf16>
  return %g : tensor<?x4360xbf16>
}
func.func @fp8_lengths(%x: tensor<?x3088xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<2x8712x3088xf8E4M3FN>, %t: tensor<2x8712x1xf32>, %sizes: tensor<2xi32>) -> tensor<?x8712xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) lengths %sizes transpose_b accumulation tensor_core : tensor<?x3088xf8E4M3FN>, tensor<2x8712x3088xf8E4M3FN> scales (tensor<?x1xf32>, tensor<2x8712x1xf32>) groups tensor<2xi32> -> tensor<?x8712xbf16>
  return %y : tensor<?x8712xbf16>
}
}
