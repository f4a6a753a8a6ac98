// The gradients of an attention with many queries take the warp-specialised loop of
// sm_90a, whose operands come through tensor maps: the sizes for which a variant is,
// and what keeps a kernel from it.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s --check-prefix=TILE
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --emit=mlir -o /dev/null | FileCheck %s --check-prefix=EXPLAIN

// All sizes are known. 300 keys are 3 tiles of 2 sequences; 200 queries are 2 tiles of
// each of 2 heads and sequences, as no tile has rows of two heads.
// TILE-LABEL: hk.kernel @attention_backward attention_backward
// TILE: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 4> threads 384 lds 199784
// TILE: hk.launch_dims if %true grid(%c14, %c1, %c1)
// TILE-NOT: hk.variant @v1
// TEXT: #include "kernels/attention/backward/sm90/warp_specialised.h"
// TEXT: using v0 = BulkAttentionBackward<kSpec, AttentionBackwardTile{128, 64, 12, 4}>;
// TEXT: HK_MAPPED_KERNEL({{.*}}v0, {{[0-9]+}}, 4, v0::kThreads, v0::Shared) {
// TEXT-NEXT: v0::run(arguments(words), maps, block, lds);
func.func @dense(%q: tensor<2x200x2x128xbf16>, %k: tensor<2x300x1x128xbf16>, %l: tensor<2x200x2xf32>) -> (tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.125 causal : tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x200x2x128xbf16>, tensor<2x200x2xf32> -> tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<2x200x2x128xbf16>, tensor<2x300x1x128xbf16>, tensor<2x300x1x128xbf16>
}

// Unknown sizes: at least 64 queries a sequence and a key, or the rest.
// TILE-LABEL: hk.kernel @attention_backward_0 attention_backward
// TILE: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 4>
// TILE: ^bb0(%[[T:.*]]: index, %[[S:.*]]: index, %[[B:.*]]: index):
// TILE-DAG: %[[MANY:.*]] = arith.cmpi ule, %{{.*}}, %[[T]] :
// TILE-DAG: %[[KEYS:.*]] = arith.cmpi uge, %[[S]], %c1
// TILE: %[[BOTH:.*]] = arith.andi %[[MANY]], %[[KEYS]]
// TILE: hk.launch_dims if %[[BOTH]] grid(
// TILE: hk.variant @v1 #hk.attention_backward_tile<rows = 64, walked = 32, waves = 4, stages = 2>
// TILE: hk.launch_dims if %true
func.func @ragged(%q: tensor<?x4x64xf16>, %k: tensor<?x2x64xf16>, %l: tensor<?x4xf32>, %o: tensor<?xi32>, %s: tensor<4xf32>) -> (tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>) {
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l q_offsets %o kv_offsets %o sink %s scale 0.125 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x4x64xf16>, tensor<?x4xf32> q_offsets tensor<?xi32> kv_offsets tensor<?xi32> sink tensor<4xf32> -> tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x4x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<4xf32>
}

// Few queries.
// TILE-LABEL: hk.kernel @attention_backward_1 attention_backward
// TILE: hk.variant @v0 #hk.attention_backward_tile<rows = 64, walked = 32, waves = 4, stages = 2>
// TILE-NOT: hk.variant @v1
func.func @few(%q: tensor<50x3x64xf16>, %k: tensor<900x1x64xf16>, %l: tensor<50x3xf32>) -> tensor<50x3x64xf16> {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.125 : tensor<50x3x64xf16>, tensor<900x1x64xf16>, tensor<900x1x64xf16>, tensor<50x3x64xf16>, tensor<50x3xf32> -> tensor<50x3x64xf16>, tensor<900x1x64xf16>, tensor<900x1x64xf16>
  return %0#0 : tensor<50x3x64xf16>
}

// A soft cap takes the same tile.
// TILE-LABEL: hk.kernel @attention_backward_2 attention_backward
// TILE: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 64, waves = 12, stages = 4>
func.func @cap(%q: tensor<200x1x64xf16>, %l: tensor<200x1xf32>) -> tensor<200x1x64xf16> {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 softcap 30.0 : tensor<200x1x64xf16>, tensor<200x1x64xf16>, tensor<200x1x64xf16>, tensor<200x1x64xf16>, tensor<200x1xf32> -> tensor<200x1x64xf16>, tensor<200x1x64xf16>, tensor<200x1x64xf16>
  return %0#0 : tensor<200x1x64xf16>
}
// EXPLAIN-DAG: unsupported-dtype{{.*}}warp_specialised: operands and results must be bf16 or f16
func.func @wide(%q: tensor<200x1x64xf32>, %l: tensor<200x1xf32>) -> tensor<200x1x64xf32> {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 : tensor<200x1x64xf32>, tensor<200x1x64xf32>, tensor<200x1x64xf32>, tensor<200x1x64xf32>, tensor<200x1xf32> -> tensor<200x1x64xf32>, tensor<200x1x64xf32>, tensor<200x1x64xf32>
  return %0#0 : tensor<200x1x64xf32>
}
// More columns of one operand: fewer rows are walked over at a time.
// TILE-LABEL: hk.kernel @attention_backward_4 attention_backward
// TILE: hk.variant @v0 #hk.attention_backward_tile<rows = 128, walked = 32, waves = 12, stages = 4>
// TEXT: using v0 = BulkAttentionBackward<kSpec, AttentionBackwardTile{128, 32, 12, 4}>;
func.func @large(%q: tensor<200x1x192xf16>, %v: tensor<200x1x64xf16>, %l: tensor<200x1xf32>) -> tensor<200x1x192xf16> {
  %0:3 = hk.attention_backward %q, %q, %v, %v, %l, %l scale 0.125 : tensor<200x1x192xf16>, tensor<200x1x192xf16>, tensor<200x1x64xf16>, tensor<200x1x64xf16>, tensor<200x1xf32> -> tensor<200x1x192xf16>, tensor<200x1x192xf16>, tensor<200x1x64xf16>
  return %0#0 : tensor<200x1x192xf16>
}
// EXPLAIN-DAG: unsupported-shape{{.*}}warp_specialised: the registers do not hold gradients of 256 and 96 columns
func.func @larger(%q: tensor<200x1x256xf16>, %v: tensor<200x1x96xf16>, %l: tensor<200x1xf32>) -> tensor<200x1x256xf16> {
  %0:3 = hk.attention_backward %q, %q, %v, %v, %l, %l scale 0.125 : tensor<200x1x256xf16>, tensor<200x1x256xf16>, tensor<200x1x96xf16>, tensor<200x1x96xf16>, tensor<200x1xf32> -> tensor<200x1x256xf16>, tensor<200x1x256xf16>, tensor<200x1x96xf16>
  return %0#0 : tensor<200x1x256xf16>
}
// EXPLAIN-DAG: unaligned{{.*}}warp_specialised: rows begin at multiples of
func.func @unaligned(%q: tensor<200x1x33xf16>, %l: tensor<200x1xf32>) -> tensor<200x1x33xf16> {
  %0:3 = hk.attention_backward %q, %q, %q, %q, %l, %l scale 0.125 : tensor<200x1x33xf16>, tensor<200x1x33xf16>, tensor<200x1x33xf16>, tensor<200x1x33xf16>, tensor<200x1xf32> -> tensor<200x1x33xf16>, tensor<200x1x33xf16>, tensor<200x1x33xf16>
  return %0#0 : tensor<200x1x33xf16>
}
// EXPLAIN-DAG: unsupported-shape{{.*}}warp_specialised: there are no queries or keys
func.func @none(%q: tensor<200x1x64xf16>, %k: tensor<0x1x64xf16>, %l: tensor<200x1xf32>) -> tensor<200x1x64xf16> {
  %0:3 = hk.attention_backward %q, %k, %k, %q, %l, %l scale 0.125 : tensor<200x1x64xf16>, tensor<0x1x64xf16>, tensor<0x1x64xf16>, tensor<200x1x64xf16>, tensor<200x1xf32> -> tensor<200x1x64xf16>, tensor<0x1x64xf16>, tensor<0x1x64xf16>
  return %0#0 : tensor<200x1x64xf16>
}

// A region takes matrix.h; dbias is one for both sequences.
// EXPLAIN-DAG: warp_specialised: regions of scores or weights
// TEXT: .dbias = true,
// TEXT-NEXT: .biasType = DType::F32,
// TEXT-NEXT: .sumsDbias = true};
// TEXT: struct Regions {
// TEXT-NEXT: static constexpr bool kScore = true, kWeight = false;
func.func @region(%q: tensor<2x128x4x64xbf16>, %k: tensor<2x128x1x64xbf16>, %l: tensor<2x128x4xf32>, %bias: tensor<4x128x128xf32>) -> (tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>, tensor<1x4x128x128xf32>) {
  %0:4 = hk.attention_backward %q, %k, %k, %q, %l, %l reads (%bias) scale 0.125 : tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x4x64xbf16>, tensor<2x128x4xf32> reads (tensor<4x128x128xf32>) -> tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16> dbias tensor<1x4x128x128xf32> score {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>, %t: tensor<4x128x128xf32>):
    %x = hk.gather_elements %t [%h, %i, %j] : tensor<4x128x128xf32> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<f32>
    %y = hk.add %s, %x : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>, tensor<1x4x128x128xf32>
}

// Without a softmax there is no log-sum-exp, and matrix.h computes the kernel.
// EXPLAIN-DAG: unsupported-shape{{.*}}warp_specialised: normalizer but softmax
// TEXT: .normalizer = Normalizer::None};
// TEXT: struct Regions {
// TEXT-NEXT: static constexpr bool kScore = true, kWeight = false;
// TEXT: HK_DEV float score(
// TEXT: HK_DEV float slope(
// TEXT-NOT: a.lse =
// TEXT: using v0 = AttentionBackwardKernel<kSpec, AttentionBackwardTile{64, 32, 4, 2}, Regions>;
func.func @no_softmax(%q: tensor<2x128x4x64xbf16>, %k: tensor<2x128x1x64xbf16>) -> (tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>) {
  %0:3 = hk.attention_backward %q, %k, %k, %q scale 0.125 normalizer none : tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x4x64xbf16> -> tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16> score {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %y = hk.mul %s, %s : tensor<f32>
    hk.yield %y : tensor<f32>
  } slope {
  ^bb0(%s: tensor<f32>, %seq: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %nq: tensor<i32>, %nk: tensor<i32>):
    %y = hk.add %s, %s : tensor<f32>
    hk.yield %y : tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<2x128x4x64xbf16>, tensor<2x128x1x64xbf16>, tensor<2x128x1x64xbf16>
}
