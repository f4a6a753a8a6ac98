// Products of groups of rows in the warp-specialised loop of sm_90a. The host's kernels are
// checked here with the same calls; benchmarks/gpu/gemm.py makes them on a GPU. Groups end
// anywhere, are empty, leave places behind the last one; k is no multiple of a stage. Blocks of
// places are smaller and larger than a tile and no multiple of it, of experts that there are not;
// rows that no place names are zeros, more of them than a search finds, too.
// RUN: hk-compile %s -o %t.so --target=host --split-k=1
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=300 --range=sizes=0:90
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=129 --range=sizes=-3:200
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=200 --range=sizes=0:40 --data=nan
// RUN: hk-run %t.so --check=%s --function=lengths --dim=x.0=900 --range=sizes=0:250
// RUN: hk-run %t.so --check=%s --function=bounds_f32 --dim=x.0=400
// RUN: hk-run %t.so --check=%s --function=bounds_f32 --dim=x.0=3000
// RUN: hk-run %t.so --check=%s --function=bounds_f32 --dim=x.0=1
// RUN: hk-run %t.so --check=%s --function=gathered --dim=x.0=70 --dim=order.0=140
// RUN: hk-run %t.so --check=%s --function=gathered --dim=x.0=3 --dim=order.0=500
// RUN: hk-run %t.so --check=%s --function=gathered --dim=x.0=70 --dim=order.0=140 --range=order=-40:140
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=70 --dim=order.0=140 --range=order=-4:140
// RUN: hk-run %t.so --check=%s --function=bias --dim=x.0=150 --range=sizes=0:70
// RUN: hk-run %t.so --check=%s --function=bias --dim=x.0=500 --range=sizes=0:200
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=40 --dim=order.0=160 --dim=experts.0=10
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=1 --dim=order.0=16 --dim=experts.0=1
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=0 --dim=order.0=48 --dim=experts.0=3
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=70 --dim=order.0=0 --dim=experts.0=0
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=300 --dim=order.0=611 --dim=experts.0=39 --range=experts=-1:9
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=300 --dim=order.0=1611 --dim=experts.0=101 --range=experts=-1:1
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=300 --dim=order.0=1300 --dim=experts.0=80 --range=experts=2:3
// RUN: hk-run %t.so --check=%s --function=blocks --dim=x.0=4700 --dim=order.0=100 --dim=experts.0=7
// RUN: hk-run %t.so --check=%s --function=blocks_wide --dim=x.0=150 --dim=order.0=600 --dim=experts.0=3
// RUN: hk-run %t.so --check=%s --function=blocks_wide --dim=x.0=150 --dim=order.0=600 --dim=experts.0=4 --data=nan
// RUN: hk-run %t.so --check=%s --function=blocks_gate --dim=x.0=90 --dim=order.0=256 --dim=experts.0=4 --range=experts=-1:3
// RUN: hk-run %t.so --check=%s --function=blocks_bias --dim=x.0=40 --dim=order.0=130 --dim=experts.0=3 --range=experts=-1:3

module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @lengths(%x: tensor<?x72xbf16>, %w: tensor<5x264x72xbf16>, %sizes: tensor<5xi32>) -> tensor<?x264xbf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes transpose_b : tensor<?x72xbf16>, tensor<5x264x72xbf16> groups tensor<5xi32> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @bounds_f32(%x: tensor<?x328xf16>, %w: tensor<40x136x328xf16>, %bounds: tensor<41xi32>) -> tensor<?x136xf32> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x328xf16>, tensor<40x136x328xf16> groups tensor<41xi32> -> tensor<?x136xf32>
  return %y : tensor<?x136xf32>
}
func.func @gathered(%x: tensor<?x584xbf16>, %w: tensor<40x264x584xbf16>, %bounds: tensor<41xi32>, %order: tensor<?xi32>) -> tensor<?x264xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 2 : tensor<?x584xbf16>, tensor<40x264x584xbf16> groups tensor<41xi32> order tensor<?xi32> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @gate(%x: tensor<?x136xbf16>, %w: tensor<8x272x136xbf16>, %bounds: tensor<9xi32>, %order: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 2 : tensor<?x136xbf16>, tensor<8x272x136xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @bias(%x: tensor<?x72xf16>, %w: tensor<3x200x72xf16>, %b: tensor<3x200xf16>, %sizes: tensor<3xi32>) -> tensor<?x200xf16> {
  %y = hk.grouped_matmul %x, %w lengths %sizes bias %b transpose_b : tensor<?x72xf16>, tensor<3x200x72xf16> groups tensor<3xi32> bias tensor<3x200xf16> -> tensor<?x200xf16>
  return %y : tensor<?x200xf16>
}
func.func @blocks(%x: tensor<?x136xbf16>, %w: tensor<9x264x136xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x264xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block 16 top_k 2 : tensor<?x136xbf16>, tensor<9x264x136xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x264xbf16>
  return %y : tensor<?x264xbf16>
}
func.func @blocks_wide(%x: tensor<?x584xf16>, %w: tensor<4x200x584xf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x200xf32> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block 200 top_k 4 : tensor<?x584xf16>, tensor<4x200x584xf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x200xf32>
  return %y : tensor<?x200xf32>
}
func.func @blocks_gate(%x: tensor<?x136xbf16>, %w: tensor<4x272x136xbf16>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x136xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order transpose_b block 64 top_k 2 : tensor<?x136xbf16>, tensor<4x272x136xbf16> groups tensor<?xi32> order tensor<?xi32> -> tensor<?x272xbf16>
  %g = hk.gated_activation silu %y : tensor<?x272xbf16> -> tensor<?x136xbf16>
  return %g : tensor<?x136xbf16>
}
func.func @blocks_bias(%x: tensor<?x72xbf16>, %w: tensor<4x265x72xbf16>, %b: tensor<4x265xf32>, %order: tensor<?xi32>, %experts: tensor<?xi32>) -> tensor<?x265xbf16> {
  %y = hk.grouped_matmul %x, %w blocks %experts order %order bias %b transpose_b block 48 top_k 2 : tensor<?x72xbf16>, tensor<4x265x72xbf16> groups tensor<?xi32> order tensor<?xi32> bias tensor<4x265xf32> -> tensor<?x265xbf16>
  return %y : tensor<?x265xbf16>
}
}
