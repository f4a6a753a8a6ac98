// Products of groups on sm_90a that ask for weights while the launch in front runs: those whose
// bounds that launch does not write.
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s

// The first product's bounds are made by the launch in front of it, the second one's two launches
// before.
module attributes {hk.gemm_loop = "skinny"} {
// CHECK: Product_v0 = GroupedSkinny<GemmProblem<
// CHECK: GroupProblem<GroupForm::Bounds, true, 1, 2>, false>;
// CHECK: Product_v0 = GroupedSkinny<GemmProblem<
// CHECK-NOT: >, false>;
// CHECK: GroupProblem<GroupForm::Bounds, false, 1, 1>, true>;
func.func @layer(%x: tensor<?x2048xbf16>, %up: tensor<8x1536x2048xbf16>, %down: tensor<8x2048x768xbf16>, %lengths: tensor<8xi32>, %order: tensor<?xi32>) -> tensor<?x2048xbf16> {
  %bounds = hk.cumsum offsets %lengths : tensor<8xi32> -> tensor<9xi32>
  %y = hk.grouped_matmul %x, %up bounds %bounds order %order transpose_b top_k 2 : tensor<?x2048xbf16>, tensor<8x1536x2048xbf16> groups tensor<9xi32> order tensor<?xi32> -> tensor<?x1536xbf16>
  %g = hk.gated_activation silu %y : tensor<?x1536xbf16> -> tensor<?x768xbf16>
  %z = hk.grouped_matmul %g, %down bounds %bounds transpose_b : tensor<?x768xbf16>, tensor<8x2048x768xbf16> groups tensor<9xi32> -> tensor<?x2048xbf16>
  return %z : tensor<?x2048xbf16>
}

// A block holds the bounds of up to 287 groups.
// CHECK: Product_v0 = GroupedSkinny<GemmProblem<
// CHECK-NOT: >, true>;
// CHECK: GroupProblem<GroupForm::Bounds, false, 1, 1>, false>;
func.func @many(%x: tensor<?x64xbf16>, %w: tensor<288x64x64xbf16>, %bounds: tensor<289xi32>) -> tensor<?x64xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x64xbf16>, tensor<288x64x64xbf16> groups tensor<289xi32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// A kernel that is launched in both places asks nowhere.
// CHECK: Product_v0 = GroupedSkinny<GemmProblem<
// CHECK-NOT: >, true>;
// CHECK: GroupProblem<GroupForm::Bounds, false, 1, 1>, false>;
// CHECK-NOT: Product_v0 = Grouped
func.func @both(%x: tensor<?x512xbf16>, %w: tensor<8x512x512xbf16>, %lengths: tensor<8xi32>) -> tensor<?x512xbf16> {
  %bounds = hk.cumsum offsets %lengths : tensor<8xi32> -> tensor<9xi32>
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x512xbf16>, tensor<8x512x512xbf16> groups tensor<9xi32> -> tensor<?x512xbf16>
  %z = hk.grouped_matmul %y, %w bounds %bounds transpose_b : tensor<?x512xbf16>, tensor<8x512x512xbf16> groups tensor<9xi32> -> tensor<?x512xbf16>
  return %z : tensor<?x512xbf16>
}
}
