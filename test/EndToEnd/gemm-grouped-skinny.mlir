// Groups of few rows whose matrices come straight into registers on sm_90a. The host's kernels are
// checked here with the same calls; on a GPU hk.gemm_loop asks for that loop. Groups are empty, have
// more rows than a tile and leave places behind the last one; there are more of them than lanes find
// at once; places have no row; k is no multiple of a step or less than one, columns none of a tile; scales of
// 128 x 128 begin within a tile.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=8
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=40
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=9 --data=nan
// RUN: hk-run %t.so --check=%s --function=many --dim=x.0=5
// RUN: hk-run %t.so --check=%s --function=many --dim=x.0=30
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --dim=order.0=4
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=5 --dim=order.0=20 --range=order=-8:20
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=0 --dim=order.0=7
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=2
// RUN: hk-run %t.so --check=%s --function=fp8 --dim=x.0=30
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=3 --dim=order.0=6 --range=order=-2:6
// RUN: hk-run %t.so --check=%s --function=fp8_gate --dim=x.0=9 --dim=order.0=18 --data=nan
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=30
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=9 --data=nan
// RUN: hk-run %t.so --check=%s --function=blocks_gate --dim=x.0=1 --dim=order.0=2
// RUN: hk-run %t.so --check=%s --function=blocks_gate --dim=x.0=9 --dim=order.0=18 --range=order=-4:18

module attributes {hk.gemm_loop = "skinny"} {
func.func @down(%x: tensor<?x776xbf16>, %w: tensor<6x136x776xbf16>, %b: tensor<6x136xf32>, %bounds: tensor<7xi32>) -> tensor<?x136xf32> {
  %y = hk.grouped_matmul %x, %w bounds %bounds bias %b transpose_b : tensor<?x776xbf16>, tensor<6x136x776xbf16> groups tensor<7xi32> bias tensor<6x136xf32> -> tensor<?x136xf32>
  return %y : tensor<?x136xf32>
}
func.func @many(%x: tensor<?x40xf16>, %w: tensor<300x20x40xf16>, %bounds: tensor<301xi32>) -> tensor<?x20xf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x40xf16>, tensor<300x20x40xf16> groups tensor<301xi32> -> tensor<?x20xf16>
  return %y : tensor<?x20xf16>
}
func.func @gate(%x: tensor<?x264xbf16>, %w: tensor<5x272x264xbf16>, %bounds: tensor<6xi32>, %order: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 4 : tensor<?x264xbf16>, tensor<5x272x264xbf16> groups tensor<6xi32> order tensor<?xi32> -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @fp8(%x: tensor<?x400xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<9x72x400xf8E4M3FN>, %t: tensor<9x72x1xf32>, %bounds: tensor<10xi32>) -> tensor<?x72xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds transpose_b accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<9x72x400xf8E4M3FN> scales (tensor<?x1xf32>, tensor<9x72x1xf32>) groups tensor<10xi32> -> tensor<?x72xbf16>
  return %y : tensor<?x72xbf16>
}
func.func @fp8_gate(%x: tensor<?x1296xf8E4M3FN>, %s: tensor<?x1xf32>, %w: tensor<5x88x1296xf8E4M3FN>, %t: tensor<5x88x1xf32>, %bounds: tensor<6xi32>, %order: tensor<?xi32>) -> tensor<?x44xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x1296xf8E4M3FN>, tensor<5x88x1296xf8E4M3FN> scales (tensor<?x1xf32>, tensor<5x88x1xf32>) groups tensor<6xi32> order tensor<?xi32> -> tensor<?x88xbf16>
  %g = hk.gated_activation silu %y : tensor<?x88xbf16> -> tensor<?x44xbf16>
  return %g : tensor<?x44xbf16>
}
func.func @blocks(%x: tensor<?x1296xf8E4M3FN>, %s: tensor<?x11xf32>, %w: tensor<9x200x1296xf8E4M3FN>, %t: tensor<9x2x11xf32>, %bounds: tensor<10xi32>) -> tensor<?x200xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds transpose_b accumulation tensor_core : tensor<?x1296xf8E4M3FN>, tensor<9x200x1296xf8E4M3FN> scales (tensor<?x11xf32>, tensor<9x2x11xf32>) groups tensor<10xi32> -> tensor<?x200xbf16>
  return %y : tensor<?x200xbf16>
}
func.func @blocks_gate(%x: tensor<?x400xf8E4M3FN>, %s: tensor<?x4xf32>, %w: tensor<5x512x400xf8E4M3FN>, %t: tensor<5x4x4xf32>, %bounds: tensor<6xi32>, %order: tensor<?xi32>) -> tensor<?x256xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds order %order transpose_b top_k 2 accumulation tensor_core : tensor<?x400xf8E4M3FN>, tensor<5x512x400xf8E4M3FN> scales (tensor<?x4xf32>, tensor<5x4x4xf32>) groups tensor<6xi32> order tensor<?xi32> -> tensor<?x512xbf16>
  %g = hk.gated_activation silu %y : tensor<?x512xbf16> -> tensor<?x256xbf16>
  return %g : tensor<?x256xbf16>
}
}
