// A prompt beside decode steps is one launch on sm_90a, too: tiles of 384 threads, a block for
// each tile of the prompt, the blocks of both among each other.
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT
// RUN: hk-compile %s --target=sm_90a --explain --emit=mlir -o /dev/null | FileCheck %s

// CHECK-DAG: 1 launches in @pod,
// CHECK-DAG: 2 launches in @prompts,
// CHECK-DAG: 2 launches in @steps,
// CHECK-DAG: #hk.joint_tile<[#hk.attention_tile<bq = 128, bk = 128, waves = 12, stages = 2, splitKv = 1>, #hk.attention_tile<bq = 16, bk = 16, waves = 12, stages = 2, splitKv = 1>]>, LDS 196608
// TEXT: HK_MAPPED_PROBLEM({{.*}}v0, {{[0-9]+}}, v0::kMaps, v0::kThreads, v0::Shared) {
// TEXT-NEXT: v0::runTile(maps, block, lds, arguments(words));
// TEXT: HK_MAPPED_KERNEL({{.*}}v0, {{[0-9]+}}, 3, 384, {{.*}}v0_shared) {
// TEXT: beginAfterLast();
// TEXT: BlockRange{1024, 1, 1},
// TEXT: problem0::{{.*}}v0_body(words, maps + 0, own, lds.as<{{.*}}>());
// TEXT: BlockRange{32, 8, 1},
// TEXT: problem1::{{.*}}v0_body(words, own, lds.as<{{.*}}>());
// TEXT: runSpread(block, part0, part1);
func.func @pod(%q: tensor<32x1x32x128xbf16>, %k: tensor<32x4096x8x128xbf16>, %v: tensor<32x4096x8x128xbf16>, %pq: tensor<1x4096x32x128xbf16>, %pk: tensor<1x4096x8x128xbf16>, %pv: tensor<1x4096x8x128xbf16>) -> (tensor<32x1x32x128xbf16>, tensor<1x4096x32x128xbf16>) {
  %0 = hk.attention %q, %k, %v scale 0.088388 : tensor<32x1x32x128xbf16>, tensor<32x4096x8x128xbf16>, tensor<32x4096x8x128xbf16> -> tensor<32x1x32x128xbf16>
  %1 = hk.attention %pq, %pk, %pv scale 0.088388 causal : tensor<1x4096x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16> -> tensor<1x4096x32x128xbf16>
  return %0, %1 : tensor<32x1x32x128xbf16>, tensor<1x4096x32x128xbf16>
}

// Two that want the same of the chip gain nothing.
// CHECK-DAG: not fused (costlier-fused): {{.*}}one launch of blocks of 384 threads
func.func @prompts(%q: tensor<1x4096x32x128xbf16>, %k: tensor<1x4096x8x128xbf16>, %p: tensor<1x2048x32x128xbf16>) -> (tensor<1x4096x32x128xbf16>, tensor<1x2048x32x128xbf16>) {
  %0 = hk.attention %q, %k, %k scale 0.088388 causal : tensor<1x4096x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16> -> tensor<1x4096x32x128xbf16>
  %1 = hk.attention %p, %k, %k scale 0.088388 : tensor<1x2048x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16> -> tensor<1x2048x32x128xbf16>
  return %0, %1 : tensor<1x4096x32x128xbf16>, tensor<1x2048x32x128xbf16>
}
func.func @steps(%q: tensor<32x1x32x128xbf16>, %p: tensor<32x1x32x128xbf16>, %k: tensor<32x4096x8x128xbf16>, %v: tensor<32x4096x8x128xbf16>) -> (tensor<32x1x32x128xbf16>, tensor<32x1x32x128xbf16>) {
  %0 = hk.attention %q, %k, %k scale 0.088388 : tensor<32x1x32x128xbf16>, tensor<32x4096x8x128xbf16>, tensor<32x4096x8x128xbf16> -> tensor<32x1x32x128xbf16>
  %1 = hk.attention %p, %v, %v scale 0.088388 : tensor<32x1x32x128xbf16>, tensor<32x4096x8x128xbf16>, tensor<32x4096x8x128xbf16> -> tensor<32x1x32x128xbf16>
  return %0, %1 : tensor<32x1x32x128xbf16>, tensor<32x1x32x128xbf16>
}
