// Gradients of an attention without a softmax: what their regions read by the sequence
// alone is read once for a block, as a branch around the load of every pair would take
// the scalar registers of gfx942. What depends on a key is read in the functions.
// RUN: hk-compile %s --target=gfx942 --emit=kernels -o - | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=TILE

// TILE-NOT: registers-exceeded
// TILE: #hk.attention_backward_tile<rows = 128, walked = 32, waves = 4, stages = 1>
// CHECK: .normalizer = Normalizer::None};
// CHECK: struct Context {
// CHECK-NEXT: const u64 *words;
// CHECK-NEXT: Vec<i32, 1> shared0;
// CHECK-NEXT: };
// CHECK: HK_DEV Context context(const u64 *words, {{.*}}i32 sequence, {{.*}}i32 queries, {{.*}}i32 keys) {
// CHECK: load<DType::I32
// CHECK: c.shared0 =
// CHECK: HK_DEV float score({{.*}}const Context &context
// CHECK-NOT: load<DType::I32
// CHECK: context.shared0
// CHECK-NOT: load<DType::I32
// CHECK: HK_DEV float slope({{.*}}const Context &context
// CHECK: load<DType::F32
// CHECK: using v0 = AttentionBackwardKernel<kSpec, AttentionBackwardTile{128, 32, 4, 1}, Regions>;
func.func @last(%q: tensor<90x2x64xbf16>, %bounds: tensor<4xi32>, %last: tensor<3xi32>, %slopes: tensor<90xf32>) -> (tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>) {
  %0:3 = hk.attention_backward %q, %q, %q, %q q_offsets %bounds kv_offsets %bounds reads (%last, %slopes) scale 0.3 causal normalizer none : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> q_offsets tensor<4xi32> kv_offsets tensor<4xi32> reads (tensor<3xi32>, tensor<90xf32>) -> tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16> score {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>, %u: tensor<90xf32>):
    %end = hk.gather_elements %t [%b] : tensor<3xi32> [tensor<i32>] -> tensor<i32>
    %seen = hk.compare lt %j, %end : tensor<i32> -> tensor<i1>
    %none = hk.constant 0xFF800000 : tensor<f32>
    %y = hk.select %seen, %s, %none : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<3xi32>, %u: tensor<90xf32>):
    %y = hk.gather_elements %u [%j] : tensor<90xf32> [tensor<i32>] -> tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<90x2x64xbf16>, tensor<90x2x64xbf16>, tensor<90x2x64xbf16>
}
