// Groups of few rows whose matrices come through stages on sm_90a, two launches to a unit. The host's
// kernels are checked here with the same calls; on a GPU tiles of 48, 64 and 96 rows of B fill the
// places of all blocks and so are chosen. Groups are empty, have all rows, and leave places behind
// the last one; places have no row; k ends within a step, columns and halves of a pair within a tile;
// blocks have one tile, or several, of more than one group.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=4
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=3 --range=bounds=bounds:2
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=8
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=7 --data=nan
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=half --dim=x.0=8
// RUN: hk-run %t.so --check=%s --function=half --dim=x.0=5
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --dim=order.0=4
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --dim=order.0=3 --range=order=-4:4
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=2 --dim=order.0=8
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=2 --dim=order.0=7 --range=order=-8:8
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=2 --dim=order.0=8 --data=nan
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=0 --dim=order.0=6
// RUN: hk-run %t.so --check=%s --function=any --dim=x.0=4 --dim=w.1=5000
// RUN: hk-run %t.so --check=%s --function=any --dim=x.0=2 --dim=w.1=16
// RUN: hk-run %t.so --check=%s --function=layer --dim=x.0=2 --dim=order.0=4 --range=order=-2:4
// RUN: hk-run %t.so --check=%s --function=layer --dim=x.0=2 --dim=order.0=4 --range=lengths=4:5

func.func @down(%x: tensor<?x776xbf16>, %w: tensor<9x2872x776xbf16>, %b: tensor<9x2872xf32>, %bounds: tensor<10xi32>) -> tensor<?x2872xf32> {
  %y = hk.grouped_matmul %x, %w bounds %bounds bias %b transpose_b : tensor<?x776xbf16>, tensor<9x2872x776xbf16> groups tensor<10xi32> bias tensor<9x2872xf32> -> tensor<?x2872xf32>
  return %y : tensor<?x2872xf32>
}
func.func @half(%x: tensor<?x1032xf16>, %w: tensor<9x2040x1032xf16>, %bounds: tensor<10xi32>) -> tensor<?x2040xf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x1032xf16>, tensor<9x2040x1032xf16> groups tensor<10xi32> -> tensor<?x2040xf16>
  return %y : tensor<?x2040xf16>
}
func.func @gate(%x: tensor<?x776xbf16>, %w: tensor<9x2864x776xbf16>, %bounds: tensor<10xi32>, %order: tensor<?xi32>) -> tensor<?x1432xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 4 : tensor<?x776xbf16>, tensor<9x2864x776xbf16> groups tensor<10xi32> order tensor<?xi32> -> tensor<?x2864xbf16>
  %g = hk.gated_activation silu %y : tensor<?x2864xbf16> -> tensor<?x1432xbf16>
  return %g : tensor<?x1432xbf16>
}
func.func @any(%x: tensor<?x776xbf16>, %w: tensor<6x?x776xbf16>, %bounds: tensor<7xi32>) -> tensor<?x?xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x776xbf16>, tensor<6x?x776xbf16> groups tensor<7xi32> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
// The launch in front writes the bounds of the first product, and the rows of the second one.
func.func @layer(%x: tensor<?x776xbf16>, %up: tensor<5x2864x776xbf16>, %down: tensor<5x2872x1432xbf16>, %lengths: tensor<5xi32>, %order: tensor<?xi32>) -> tensor<?x2872xbf16> {
  %bounds = hk.cumsum offsets %lengths : tensor<5xi32> -> tensor<6xi32>
  %y = hk.grouped_matmul %x, %up bounds %bounds order %order transpose_b top_k 2 : tensor<?x776xbf16>, tensor<5x2864x776xbf16> groups tensor<6xi32> order tensor<?xi32> -> tensor<?x2864xbf16>
  %g = hk.gated_activation silu %y : tensor<?x2864xbf16> -> tensor<?x1432xbf16>
  %z = hk.grouped_matmul %g, %down bounds %bounds transpose_b : tensor<?x1432xbf16>, tensor<5x2872x1432xbf16> groups tensor<6xi32> -> tensor<?x2872xbf16>
  return %z : tensor<?x2872xbf16>
}
