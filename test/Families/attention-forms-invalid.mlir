// What the operator can say and no kernel computes has a reason.
// RUN: not hk-opt %s --hk-assign-target=target=host --hk-fuse --split-input-file 2>&1 | FileCheck %s

func.func @types(%q: tensor<7x4x16xbf16>, %k: tensor<9x2x16xf8E4M3FN>, %v: tensor<9x2x16xbf16>) -> tensor<7x4x16xbf16> {
  // CHECK: start attention: unsupported-dtype, the attention kernels have no queries, keys, values and probabilities of different types
  %0 = hk.attention %q, %k, %v scale 1.0 : tensor<7x4x16xbf16>, tensor<9x2x16xf8E4M3FN>, tensor<9x2x16xbf16> -> tensor<7x4x16xbf16>
  return %0 : tensor<7x4x16xbf16>
}

// -----

func.func @probabilities(%q: tensor<7x4x16xbf16>, %k: tensor<9x2x16xbf16>) -> tensor<7x4x16xbf16> {
  // CHECK: start attention: unsupported-dtype, the attention kernels have no queries, keys, values and probabilities of different types
  %0 = hk.attention %q, %k, %k scale 1.0 p_type f8E4M3FN : tensor<7x4x16xbf16>, tensor<9x2x16xbf16>, tensor<9x2x16xbf16> -> tensor<7x4x16xbf16>
  return %0 : tensor<7x4x16xbf16>
}

// -----

func.func @scales(%q: tensor<7x4x16xbf16>, %k: tensor<9x2x16xbf16>, %s: tensor<f32>) -> tensor<7x4x16xbf16> {
  // CHECK: start attention: unsupported-dtype, the attention kernels have no scales of queries, keys and values
  %0 = hk.attention %q, %k, %k k_scale %s scale 1.0 : tensor<7x4x16xbf16>, tensor<9x2x16xbf16>, tensor<9x2x16xbf16> k_scale tensor<f32> -> tensor<7x4x16xbf16>
  return %0 : tensor<7x4x16xbf16>
}
