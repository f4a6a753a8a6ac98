// What is written for partial results and for their combination.
// RUN: hk-compile %s --target=gfx942 --emit=kernels -o - | FileCheck %s

// A result matrix per slice and batch; the slice is the outermost.
// CHECK-LABEL: @matmul for gfx942
// CHECK: struct Epilogue
// CHECK: storeExact<DType::F32, {{[0-9]+}}, {{[0-9]+}}>(p2, i64(({{.*}} / 2)) * s2_0 + i64(({{.*}} % 2)) * s2_1
// CHECK: args.batches = 1 * 2;
func.func @product(%x: tensor<2x3x512xbf16>, %w: tensor<2x64x512xbf16>) -> tensor<4x2x3x64xf32> {
  %0 = hk.matmul %x, %w transpose_b k_slices 4 : tensor<2x3x512xbf16>, tensor<2x64x512xbf16> -> tensor<4x2x3x64xf32>
  return %0 : tensor<4x2x3x64xf32>
}
// The sum and what follows it in one loop over the row.
// CHECK-LABEL: @sum_slices{{.*}} for gfx942
// CHECK: HK_EACH_SLICE([[S:s[0-9]+]], 4) {
// CHECK: load<DType::F32, {{.*}}strided([[S]], s0_0)
// CHECK: }
// CHECK: roundTo<DType::BF16
func.func @sum(%p: tensor<4x3x64xf32>, %b: tensor<64xbf16>) -> tensor<3x64xbf16> {
  %0 = hk.sum_slices %p : tensor<4x3x64xf32> -> tensor<3x64xbf16>
  %1 = hk.add %0, %b : tensor<3x64xbf16>, tensor<64xbf16>
  return %1 : tensor<3x64xbf16>
}
// The sink counts like a slice without values. Parts are loaded before the first is added.
// CHECK-LABEL: @attention_combine for gfx942
// CHECK: SliceCombine<[[V:[0-9]+]]> [[C:c[0-9]+]];
// CHECK: [[C]].add({{.*}}, Vec<float, [[V]]>(0.f));
// CHECK: HK_EACH_PLACE([[G:g[0-9]+]], 1) {
// CHECK: HK_EACH_ELEMENT([[E:e[0-9]+]], 4) {
// CHECK: const i32 [[S:s[0-9]+]] = [[G]] * 4 + [[E]];
// CHECK: load<DType::F32, {{.*}}strided([[S]], s0_0)
// CHECK: HK_EACH_ELEMENT([[E]], 4) {
// CHECK: [[C]].add(
// CHECK: [[C]].value()
func.func @combine(%p: tensor<4x3x2x64xf32>, %l: tensor<4x3x2xf32>, %s: tensor<2xf32>) -> tensor<3x2x64xbf16> {
  %0 = hk.attention_combine %p, %l sink %s : tensor<4x3x2x64xf32>, tensor<4x3x2xf32> sink tensor<2xf32> -> tensor<3x2x64xbf16>
  return %0 : tensor<3x2x64xbf16>
}
