// Groups of many rows times fp4 codes that are decoded where they are multiplied. The host's kernels are
// checked here with the same calls; benchmarks/gpu/gemm.py makes them on a GPU. Groups are empty,
// end anywhere, leave places behind the last one; places have no row; k is no multiple of a stage,
// columns none of a tile; powers of two are of all sizes, 2^-127 and NaN among them.
// RUN: hk-compile %s -o %t.so --target=host
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=1 --dim=order.0=4
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=200 --dim=order.0=800
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=200 --dim=order.0=800 --range=order=-30:800
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=0 --dim=order.0=7
// RUN: hk-run %t.so --check=%s --function=gate --dim=x.0=90 --dim=order.0=360 --data=nan
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=900 --range=sizes=0:60
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=900 --range=sizes=-3:200
// RUN: hk-run %t.so --check=%s --function=down --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=halves --dim=x.0=300 --dim=order.0=600
// RUN: hk-run %t.so --check=%s --function=long --dim=x.0=300 --range=sizes=0:130

module attributes {hk.gemm_loop = "warp_specialised"} {
func.func @gate(%x: tensor<?x352xbf16>, %w: tensor<6x160x352xf4E2M1FN>, %s: tensor<6x160x11xf8E8M0FNU>, %b: tensor<6x160xf32>, %bounds: tensor<7xi32>, %order: tensor<?xi32>) -> tensor<?x80xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds order %order bias %b transpose_b top_k 4 : tensor<?x352xbf16>, tensor<6x160x352xf4E2M1FN> scales (none, tensor<6x160x11xf8E8M0FNU>) groups tensor<7xi32> order tensor<?xi32> bias tensor<6x160xf32> -> tensor<?x160xf32>
  %g = hk.gated_activation swiglu_oai %y limit 7.0 interleaved : tensor<?x160xf32> -> tensor<?x80xbf16>
  return %g : tensor<?x80xbf16>
}
func.func @down(%x: tensor<?x96xbf16>, %w: tensor<10x296x96xf4E2M1FN>, %s: tensor<10x296x3xf8E8M0FNU>, %sizes: tensor<10xi32>) -> tensor<?x296xf32> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) lengths %sizes transpose_b : tensor<?x96xbf16>, tensor<10x296x96xf4E2M1FN> scales (none, tensor<10x296x3xf8E8M0FNU>) groups tensor<10xi32> -> tensor<?x296xf32>
  return %y : tensor<?x296xf32>
}
func.func @halves(%x: tensor<?x128xbf16>, %w: tensor<4x320x128xf4E2M1FN>, %s: tensor<4x320x4xf8E8M0FNU>, %bounds: tensor<5xi32>, %order: tensor<?xi32>) -> tensor<?x160xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds order %order transpose_b top_k 2 : tensor<?x128xbf16>, tensor<4x320x128xf4E2M1FN> scales (none, tensor<4x320x4xf8E8M0FNU>) groups tensor<5xi32> order tensor<?xi32> -> tensor<?x320xbf16>
  %g = hk.gated_activation silu %y : tensor<?x320xbf16> -> tensor<?x160xbf16>
  return %g : tensor<?x160xbf16>
}
func.func @long(%x: tensor<?x2880xbf16>, %w: tensor<4x48x2880xf4E2M1FN>, %s: tensor<4x48x90xf8E8M0FNU>, %sizes: tensor<4xi32>) -> tensor<?x48xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) lengths %sizes transpose_b : tensor<?x2880xbf16>, tensor<4x48x2880xf4E2M1FN> scales (none, tensor<4x48x90xf8E8M0FNU>) groups tensor<4xi32> -> tensor<?x48xbf16>
  return %y : tensor<?x48xbf16>
}
}
