// What no kernel computes, and what does not fit, says so.
// RUN: not hk-opt %s --hk-assign-target=target=tiny --hk-fuse --hk-outline --hk-select-tiles --split-input-file 2>&1 | FileCheck %s

func.func @large(%q: tensor<?x64x128xf8E4M3FNUZ>, %k: tensor<?x128xf8E4M3FNUZ>, %w: tensor<?x64xf32>) -> tensor<?x?xf32> {
  // CHECK: error: 'hk.mqa_logits' op in kernel @mqa_logits: its smallest tile 8 queries x 32 keys, waves 1 needs 12544 bytes of LDS, but tiny has 8192; fewer heads or a smaller head size fit
  %l = hk.mqa_logits %q, %k, %w : tensor<?x64x128xf8E4M3FNUZ>, tensor<?x128xf8E4M3FNUZ>, tensor<?x64xf32> -> tensor<?x?xf32>
  return %l : tensor<?x?xf32>
}

// -----

func.func @no_heads(%q: tensor<3x0x128xf32>, %k: tensor<5x128xf32>, %w: tensor<3x0xf32>) -> tensor<3x5xf32> {
  // CHECK: start attention: unsupported-shape, heads and head size must not be 0, but got 0 heads of 128
  %l = hk.mqa_logits %q, %k, %w : tensor<3x0x128xf32>, tensor<5x128xf32>, tensor<3x0xf32> -> tensor<3x5xf32>
  return %l : tensor<3x5xf32>
}
