// Products of sm_90a with less than half of a round behind their last whole one
// have an instruction of half the width for it: sums in the instruction, in f32
// registers with scales of blocks, and results in groups. With scales of rows
// narrower tiles fill the last round.
// RUN: split-file %s %t
// RUN: rm -rf %t.cache && hk-compile %t/some.mlir --target=sm_90a --split-k=1 --cache-dir=%t.cache -o %t.so
// RUN: grep -aohE "m64n[0-9]+k[0-9]+" %t.cache/* | sort -u | FileCheck %s --check-prefix=SOME
// RUN: rm -rf %t.cache && hk-compile %t/none.mlir --target=sm_90a --split-k=1 --cache-dir=%t.cache -o %t.so
// RUN: grep -aohE "m64n[0-9]+k[0-9]+" %t.cache/* | sort -u | FileCheck %s --check-prefix=NONE
// RUN: rm -rf %t.cache && hk-compile %t/turns.mlir --target=sm_90a --split-k=1 --cache-dir=%t.cache -o %t.so
// RUN: grep -aohE "m64n[0-9]+k[0-9]+|bar.sync" %t.cache/* | sort -u | FileCheck %s --check-prefix=TURNS

// SOME: m64n128k16
// SOME-NEXT: m64n128k32
// SOME-NEXT: m64n176k32
// SOME-NEXT: m64n256k16
// SOME-NOT: m64

// NONE: m64n192k32
// NONE-NEXT: m64n224k16
// NONE-NOT: m64

// TURNS-NOT: bar.sync
// TURNS: m64n128k32
// TURNS-NOT: m64

//--- some.mlir
// 16 x 112 tiles, 27 rounds of 66 clusters and 10.
func.func @rounded(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<4096x28672xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  return %0 : tensor<4096x28672xbf16>
}
func.func @quantised(%x: tensor<4096x4096xbf16>, %w: tensor<28672x4096xbf16>) -> (tensor<4096x28672xf8E4M3FN>, tensor<4096x224xf32>) {
  %0 = hk.matmul %x, %w transpose_b : tensor<4096x4096xbf16>, tensor<28672x4096xbf16> -> tensor<4096x28672xbf16>
  %q, %s = hk.quantize per_group %0 group 128 : tensor<4096x28672xbf16> -> tensor<4096x28672xf8E4M3FN>, tensor<4096x224xf32>
  return %q, %s : tensor<4096x28672xf8E4M3FN>, tensor<4096x224xf32>
}
// 32 x 41 tiles of 176 columns, nearly ten rounds.
func.func @rows(%x: tensor<4096x2048xf8E4M3FN>, %w: tensor<7168x2048xf8E4M3FN>, %s: tensor<4096x1xf32>, %t: tensor<7168x1xf32>) -> tensor<4096x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<4096x2048xf8E4M3FN>, tensor<7168x2048xf8E4M3FN> scales (tensor<4096x1xf32>, tensor<7168x1xf32>) -> tensor<4096x7168xbf16>
  return %0 : tensor<4096x7168xbf16>
}
// 16 x 28 of 256 columns, which are folded by halves; six rounds and 52.
func.func @blocks(%x: tensor<4096x2048xf8E4M3FN>, %w: tensor<7168x2048xf8E4M3FN>, %s: tensor<4096x16xf32>, %t: tensor<56x16xf32>) -> tensor<4096x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<4096x2048xf8E4M3FN>, tensor<7168x2048xf8E4M3FN> scales (tensor<4096x16xf32>, tensor<56x16xf32>) -> tensor<4096x7168xbf16>
  return %0 : tensor<4096x7168xbf16>
}

//--- none.mlir
// 32 x 37 tiles, 17 rounds and 62.
func.func @most(%x: tensor<8192x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
  return %0 : tensor<8192x8192xbf16>
}
// 32 x 43, 20 rounds and 56.
func.func @rows(%x: tensor<8192x8192xf8E4M3FN>, %w: tensor<8192x8192xf8E4M3FN>, %s: tensor<8192x1xf32>, %t: tensor<8192x1xf32>) -> tensor<8192x8192xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<8192x8192xf8E4M3FN>, tensor<8192x8192xf8E4M3FN> scales (tensor<8192x1xf32>, tensor<8192x1xf32>) -> tensor<8192x8192xbf16>
  return %0 : tensor<8192x8192xbf16>
}

//--- turns.mlir
// 8 x 28, three rounds and 26. Warpgroups of whole tiles of 256 columns with scales along k take no
// turns, so those of their halves must not wait for one.
func.func @blocks(%x: tensor<2048x4096xf8E4M3FN>, %w: tensor<7168x4096xf8E4M3FN>, %s: tensor<2048x32xf32>, %t: tensor<56x32xf32>) -> tensor<2048x7168xbf16> {
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : tensor<2048x4096xf8E4M3FN>, tensor<7168x4096xf8E4M3FN> scales (tensor<2048x32xf32>, tensor<56x32xf32>) -> tensor<2048x7168xbf16>
  return %0 : tensor<2048x7168xbf16>
}
