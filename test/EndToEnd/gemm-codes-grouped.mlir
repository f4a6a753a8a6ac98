// Few rows of groups times 4-bit weights: the experts of a decode step. The host's kernels are
// checked here with the same calls; on a GPU hk.gemm_loop asks for the loop that streams the codes.
// Groups are empty, larger than a tile, leave places behind the last one; places have no row.
// Powers of a tile begin at multiples of 16 bytes or do not, and the halves of a gate lie apart.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --dim=order.0=4
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=20 --dim=order.0=80
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=20 --dim=order.0=80 --range=order=-30:80
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=0 --dim=order.0=7
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=9 --dim=order.0=36 --data=nan
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=50 --range=sizes=0:1
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=50 --range=sizes=-3:40
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=3 --dim=order.0=6
// RUN: hk-run %t.so --check=%s --function=zeros --dim=x.0=40 --dim=order.0=80
// RUN: hk-run %t.so --check=%s --function=long --dim=x.0=16 --range=sizes=0:9
// RUN: hk-run %t.so --check=%s --function=long --dim=x.0=12 --range=sizes=0:9 --data=huge
// RUN: hk-run %t.so --check=%s --function=halves --dim=x.0=11
// RUN: hk-run %t.so --check=%s --function=halves --dim=x.0=30 --data=nan
// RUN: hk-run %t.so --check=%s --function=odd_halves --dim=x.0=11

module attributes {hk.gemm_loop = "skinny_codes"} {
func.func @gate(%x: tensor<?x352xbf16>, %w: tensor<6x160x352xf4E2M1FN>, %s: tensor<6x160x11xf8E8M0FNU>, %b: tensor<6x160xf32>, %bounds: tensor<7xi32>, %order: tensor<?xi32>) -> tensor<?x80xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds order %order bias %b transpose_b top_k 4 : tensor<?x352xbf16>, tensor<6x160x352xf4E2M1FN> scales (none, tensor<6x160x11xf8E8M0FNU>) groups tensor<7xi32> order tensor<?xi32> bias tensor<6x160xf32> -> tensor<?x160xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x160xf32> -> tensor<?x80xbf16>
  return %g : tensor<?x80xbf16>
}
func.func @down(%x: tensor<?x96xbf16>, %w: tensor<40x72x96xf4E2M1FN>, %s: tensor<40x72x3xf8E8M0FNU>, %sizes: tensor<40xi32>) -> tensor<?x72xf32> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) lengths %sizes transpose_b : tensor<?x96xbf16>, tensor<40x72x96xf4E2M1FN> scales (none, tensor<40x72x3xf8E8M0FNU>) groups tensor<40xi32> -> tensor<?x72xf32>
  return %y : tensor<?x72xf32>
}
func.func @zeros(%x: tensor<?x256xf16>, %w: tensor<5x136x256xui4>, %s: tensor<5x136x4xf16>, %z: tensor<5x136x4xui4>, %bounds: tensor<6xi32>, %order: tensor<?xi32>) -> tensor<?x136xf16> {
  %d = hk.dequantize %w, %s, %z group 64 : tensor<5x136x256xui4>, tensor<5x136x4xf16>, tensor<5x136x4xui4> -> tensor<5x136x256xf16>
  %y = hk.grouped_matmul %x, %d bounds %bounds order %order transpose_b top_k 2 : tensor<?x256xf16>, tensor<5x136x256xf16> groups tensor<6xi32> order tensor<?xi32> -> tensor<?x136xf16>
  return %y : tensor<?x136xf16>
}
func.func @long(%x: tensor<?x2880xbf16>, %w: tensor<4x48x2880xf4E2M1FN>, %s: tensor<4x48x90xf8E8M0FNU>, %sizes: tensor<4xi32>) -> tensor<?x48xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) lengths %sizes transpose_b : tensor<?x2880xbf16>, tensor<4x48x2880xf4E2M1FN> scales (none, tensor<4x48x90xf8E8M0FNU>) groups tensor<4xi32> -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}
func.func @halves(%x: tensor<?x352xbf16>, %w: tensor<6x96x352xf4E2M1FN>, %s: tensor<6x96x11xf8E8M0FNU>, %bounds: tensor<7xi32>) -> tensor<?x48xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds transpose_b : tensor<?x352xbf16>, tensor<6x96x352xf4E2M1FN> scales (none, tensor<6x96x11xf8E8M0FNU>) groups tensor<7xi32> -> tensor<?x96xbf16>
  %g = hk.gated_activation silu %y : tensor<?x96xbf16> -> tensor<?x48xbf16>
  return %g : tensor<?x48xbf16>
}
func.func @odd_halves(%x: tensor<?x352xbf16>, %w: tensor<6x80x352xf4E2M1FN>, %s: tensor<6x80x11xf8E8M0FNU>, %bounds: tensor<7xi32>) -> tensor<?x40xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds transpose_b : tensor<?x352xbf16>, tensor<6x80x352xf4E2M1FN> scales (none, tensor<6x80x11xf8E8M0FNU>) groups tensor<7xi32> -> tensor<?x80xbf16>
  %g = hk.gated_activation silu %y : tensor<?x80xbf16> -> tensor<?x40xbf16>
  return %g : tensor<?x40xbf16>
}
}
