// Products of groups in the warp-specialised loop of sm_90a: operands of 8 bits and weights
// [E, K, N]. As gemm-grouped.mlir, which has the forms of groups, it is checked here on the host.
// fp8 with scales of rows and of blocks, the last of them not whole, of halves of a gate, of rows
// that an order names, of places without a row; tiles end within a panel of columns.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=fp8_rows --dim=x.0=150 --range=sizes=0:70
// RUN: hk-run %t.so --check=%s --function=fp8_rows --dim=x.0=300 --range=sizes=0:1
// RUN: hk-run %t.so --check=%s --function=fp8_rows --dim=x.0=600 --range=sizes=0:170
// RUN: hk-run %t.so --check=%s --function=fp8_blocks --dim=x.0=300 --dim=order.0=600
// RUN: hk-run %t.so --check=%s --function=fp8_blocks --dim=x.0=1 --dim=order.0=2
// RUN: hk-run %t.so --check=%s --function=fp8_blocks --dim=x.0=0 --dim=order.0=40
// RUN: hk-run %t.so --check=%s --function=fp8_blocks --dim=x.0=70 --dim=order.0=140 --range=order=-40:140
// RUN: hk-run %t.so --check=%s --function=fp8_blocks --dim=x.0=70 --dim=order.0=140 --data=nan
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=90 --dim=order.0=180 --range=order=-4:180
// RUN: hk-run %t.so --check=%s --function=fp8_lengths --dim=x.0=400 --range=sizes=-3:200
// RUN: hk-run %t.so --check=%s --function=fp8_lengths --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=fp8_sorted --dim=x.0=40 --dim=order.0=160 --dim=experts.0=10
// RUN: hk-run %t.so --check=%s --function=fp8_sorted --dim=x.0=300 --dim=order.0=1611 --dim=experts.0=101 --range=experts=-1:1
// RUN: hk-run %t.so --check=%s --function=fp8_sorted --dim=x.0=0 --dim=order.0=48 --dim=experts.0=3
// RUN: hk-run %t.so --check=%s --function=fp8_sorted_wide --dim=x.0=150 --dim=order.0=600 --dim=experts.0=4 --range=experts=2:3
// Some hundred rows to a group: tiles as wide as those, up to six boxes of 32.
// RUN: hk-run %t.so --check=%s --function=fp8_blocks --dim=x.0=2200 --dim=order.0=4400 --range=order=-40:4400
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=400 --dim=order.0=800
// RUN: hk-run %t.so --check=%s --function=fp8_lengths --dim=x.0=550 --range=sizes=-3:220
// RUN: hk-run %t.so --check=%s --function=fp8_sorted --dim=x.0=450 --dim=order.0=912 --dim=experts.0=57 --range=experts=-1:9
// RUN: hk-run %t.so --check=%s --function=fp8_named --dim=x.0=200 --dim=order.0=400 --range=order=-40:400
// RUN: hk-run %t.so --check=%s --function=fp8_named --dim=x.0=300 --dim=order.0=600
// RUN: hk-run %t.so --check=%s --function=fp8_named --dim=x.0=100 --dim=order.0=200 --data=nan
// RUN: hk-run %t.so --check=%s --function=fp8_named --dim=x.0=0 --dim=order.0=300
// RUN: hk-run %t.so --check=%s --function=i8_blocks --dim=x.0=200 --range=sizes=0:70
// RUN: hk-run %t.so --check=%s --function=i8_blocks --dim=x.0=500 --range=sizes=0:200
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=300 --range=sizes=0:90
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=600 --range=sizes=0:170
// RUN: hk-run %t.so --check=%s --function=columns --dim=x.0=1 --range=sizes=0:2
// RUN: hk-run %t.so --check=%s --function=columns_gate --dim=x.0=70 --dim=order.0=140 --range=order=-4:140
// RUN: hk-run %t.so --check=%s --function=columns_sorted --dim=x.0=300 --dim=order.0=1611 --dim=experts.0=26 --range=experts=-1:3

module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @fp8_rows(%x: tensor<?x400xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<5x264x400xf8E4M3FN>, %t: tensor<5x264x1xf32>, %sizes: tensor<5xi32>) -> tensor<?x264xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) lengths %sizes transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<5x264x400xf8E4M3FN> scales (tensor<?x1xf32>, tensor<5x264x1xf32>) groups tensor<5xi32> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @fp8_blocks(%x: tensor<?x400xf8E4M3FN>, %s: tensor<?x4xf32>, %w: tensor<40x328x400xf8E4M3FN>, %t: tensor<40x3x4xf32>, %bounds: tensor<41xi32>, %order: tensor<?xi32>) -> tensor<?x328xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<40x328x400xf8E4M3FN> scales (tensor<?x4xf32>, tensor<40x3x4xf32>) groups tensor<41xi32> order tensor<?xi32> -> tensor<?x328xbf16>
  return %y : tensor<?x328xbf16>
}
func.func @fp8_gate(%x: tensor<?x272xf8E4M3FN>, %s: tensor<?x3xf32>, %w: tensor<8x512x272xf8E4M3FN>, %t: tensor<8x4x3xf32>, %bounds: tensor<9xi32>, %order: tensor<?xi32>) -> tensor<?x256xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x272xf8E4M3FN>, tensor<8x512x272xf8E4M3FN> scales (tensor<?x3xf32>, tensor<8x4x3xf32>) groups tensor<9xi32> order tensor<?xi32> -> tensor<?x512xbf16>
  %g = hk.gated_activation silu %y : tensor<?x512xbf16> -> tensor<?x256xbf16>
  return %g : tensor<?x256xbf16>
}
func.func @fp8_named(%x: tensor<?x272xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<5x328x272xf8E4M3FN>, %t: tensor<5x328x1xf32>, %bounds: tensor<6xi32>, %order: tensor<?xi32>) -> tensor<?x164xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x272xf8E4M3FN>, tensor<5x328x272xf8E4M3FN> scales (tensor<?x1xf32>, tensor<5x328x1xf32>) groups tensor<6xi32> order tensor<?xi32> -> tensor<?x328xbf16>
  %g = hk.gated_activation silu %y : tensor<?x328xbf16> -> tensor<?x164xbf16>
  return %g : tensor<?x164xbf16>
}
func.func @fp8_lengths(%x: tensor<?x512xf8E4M3FN>, %s: tensor<?x4xf32>, %w: tensor<5x136x512xf8E4M3FN>, %t: tensor<5x2x4xf32>, %f: tensor<5xf32>, %sizes: tensor<5xi32>) -> tensor<?x136xf32> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) lengths %sizes group_scale %f transpose_b accumulation tensor_core : tensor<?x512xf8E4M3FN>, tensor<5x136x512xf8E4M3FN> scales (tensor<?x4xf32>, tensor<5x2x4xf32>) groups tensor<5xi32> group_scale tensor<5xf32> -> tensor<?x136xf32>
  return %y : tensor<?x136xf32>
}
func.func @fp8_sorted(%x: tensor<?x400xf8E4M3FN>, %s: tensor<?x4xf32>, %w: tensor<9x264x400xf8E4M3FN>, %t: tensor<9x3x4xf32>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x264xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) blocks %experts order %order transpose_b block 16 top_k 2 accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<9x264x400xf8E4M3FN> scales (tensor<?x4xf32>, tensor<9x3x4xf32>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @fp8_sorted_wide(%x: tensor<?x144xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<4x200x144xf8E4M3FN>, %t: tensor<4x200x1xf32>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x200xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) blocks %experts order %order transpose_b block 200 top_k 4 accumulation tensor_core : tensor<?x144xf8E4M3FN>, tensor<4x200x144xf8E4M3FN> scales (tensor<?x1xf32>, tensor<4x200x1xf32>) groups tensor<?xi32> order tensor<?xi32> -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}
func.func @i8_blocks(%x: tensor<?x400xi8>, %s: tensor<?x4xf32>, %w: tensor<3x200x400xi8>, %t: tensor<3x2x4xf32>, %sizes: tensor<3xi32>) -> tensor<?x200xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) lengths %sizes transpose_b : tensor<?x400xi8>, tensor<3x200x400xi8> scales (tensor<?x4xf32>, tensor<3x2x4xf32>) groups tensor<3xi32> -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}
func.func @columns(%x: tensor<?x328xf16>, %w: tensor<5x328x264xf16>, %sizes: tensor<5xi32>) -> tensor<?x264xf32> {
  %y = hk.grouped_matmul %x, %w lengths %sizes : tensor<?x328xf16>, tensor<5x328x264xf16> groups tensor<5xi32> -> tensor<?x264xf32>
  return %y : tensor<?x264xf32>
}
func.func @columns_gate(%x: tensor<?x136xbf16>, %w: tensor<8x136x272xbf16>, %bounds: tensor<9xi32>, %order: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order top_k 2 : tensor<?x136xbf16>, tensor<8x136x272xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @columns_sorted(%x: tensor<?x584xbf16>, %w: tensor<4x584x200xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x200xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order block 64 top_k 2 : tensor<?x584xbf16>, tensor<4x584x200xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}
}
