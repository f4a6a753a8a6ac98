// Two chains of rows of very different widths that read nothing in common are two problems of
// one launch, each with a tile of its own, where that was measured (sm_90a). Where one writes a
// state, or where their widths are equal, they are one kernel of rows.
// RUN: hk-compile %s --target=sm_90a --explain | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain | FileCheck %s --check-prefix=GFX

// CHECK: launches of @apart: [[APART:.*_and_.*]]
// CHECK: launches of @equal: [[EQUAL:.*]]
// CHECK: launches of @state: [[STATE:.*]]
// CHECK-DAG: @[[APART]] joint: {{.*}}#hk.joint_tile<[#hk.row_tile<rows = 1, threads = [[T:[0-9]+]], {{.*}}, #hk.row_tile<rows = {{[0-9][0-9]+}}, threads = [[T]],
// CHECK-DAG: @[[EQUAL]] rowwise: rms_norm,rms_norm
// CHECK-DAG: @[[STATE]] rowwise: {{.*}}kv_cache_write,rms_norm
// CHECK-DAG: fused: hk.rms_norm / share a launch with hk.rms_norm: neither needs the other
// CHECK-DAG: not fused (costlier-fused): hk.rms_norm / share a kernel with hk.rms_norm: {{.*}} as problems of one launch
// GFX-NOT: joint:
func.func @apart(%x: tensor<?x128xbf16> {hk.dims = ["T", "_"]}, %w: tensor<128xbf16>, %y: tensor<?x7168xbf16> {hk.dims = ["T", "_"]}, %v: tensor<7168xbf16>) -> (tensor<?x128xbf16>, tensor<?x7168xbf16>) {
  %a = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x128xbf16>, tensor<128xbf16>
  %b = hk.rms_norm %y, %v epsilon 1.0e-06 : tensor<?x7168xbf16>, tensor<7168xbf16>
  return %a, %b : tensor<?x128xbf16>, tensor<?x7168xbf16>
}
func.func @equal(%x: tensor<?x512xbf16> {hk.dims = ["T", "_"]}, %w: tensor<512xbf16>, %y: tensor<?x512xbf16> {hk.dims = ["T", "_"]}, %v: tensor<512xbf16>) -> (tensor<?x512xbf16>, tensor<?x512xbf16>) {
  %a = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  %b = hk.rms_norm %y, %v epsilon 1.0e-06 : tensor<?x512xbf16>, tensor<512xbf16>
  return %a, %b : tensor<?x512xbf16>, tensor<?x512xbf16>
}
func.func @state(%x: tensor<?x128xbf16> {hk.dims = ["T", "_"]}, %w: tensor<128xbf16>, %y: tensor<?x7168xbf16> {hk.dims = ["T", "_"]}, %v: tensor<7168xbf16>, %slots: tensor<?xi32> {hk.dims = ["T"]}, %cache: tensor<64x16x1x128xbf16> {hk.state}) -> (tensor<64x16x1x128xbf16>, tensor<?x7168xbf16>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %a = hk.rms_norm %x, %w epsilon 1.0e-06 : tensor<?x128xbf16>, tensor<128xbf16>
  %k = tensor.expand_shape %a [[0], [1, 2]] output_shape [%t, 1, 128] : tensor<?x128xbf16> into tensor<?x1x128xbf16>
  %c = hk.kv_cache_write %k, %slots into %cache : tensor<?x1x128xbf16>, tensor<?xi32>, tensor<64x16x1x128xbf16>
  %b = hk.rms_norm %y, %v epsilon 1.0e-06 : tensor<?x7168xbf16>, tensor<7168xbf16>
  return %c, %b : tensor<64x16x1x128xbf16>, tensor<?x7168xbf16>
}
