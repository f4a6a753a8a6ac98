//===- wgmma_chain.h - Chained warpgroup products of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two products of attention by the four warps of a warpgroup, each a whole
// sum of steps in one statement (the rules of wgmma.h hold):
//   ScoreChain: S[64, KEYS] = Q[64, D] * K[KEYS, D]^T, both in LDS;
//   RowScoreChain: the same, Q in registers;
//   ValueChain: O[64, N] += P[64, KEYS] * V[KEYS, N], P in registers;
// and the part of a product of which an operand is made in registers, RowChain.
// Matrices lie in LDS as panels of 64 columns: rows of 128 bytes with the
// 128-byte swizzle, one panel behind the other. V is used as it is stored, key
// by key; the instruction transposes it. The layout of S's accumulators is that
// of P's registers, so probabilities never leave a thread.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_TILE_WGMMA_CHAIN_H
#define HK_KERNELS_DEVICE_TILE_WGMMA_CHAIN_H

#include "kernels/device/tile/asm_lists.h"
#include "kernels/device/tile/wgmma.h"

namespace hk {

namespace detail {

/// Elements of k that one instruction takes of 16-bit operands.
inline constexpr int kChainStep = 16;

constexpr void addRegisters(AsmText &t, int first, int count) {
  t.add("{");
  for (int i = 0; i < count; ++i)
    t.add(i ? ", %" : "%").add(first + i);
  t.add("}");
}

constexpr void beginInstruction(AsmText &t, const char *types, int n) {
  t.add("wgmma.mma_async.sync.aligned.m64n").add(n).add("k16").add(types);
  t.add(" ");
  addRegisters(t, 0, n / 2);
}

/// A step of products from LDS, of operands whose descriptors are the two
/// behind the accumulators: a and b units of 16 bytes further on. `transposes`:
/// those of A and of B.
constexpr void addStep(AsmText &t, const char *types, int n, int a, int b,
                       const char *transposes) {
  int count = n / 2;
  t.add("add.s64 a, %").add(count).add(", ").add(a);
  t.add(";\nadd.s64 b, %").add(count + 1).add(", ").add(b).add(";\n");
  beginInstruction(t, types, n);
  t.add(", a, b, keep, 1, 1, ").add(transposes).add(";\n");
}

/// Operands: accumulators, then the descriptors of A and B. Panels are panelA
/// and panelB units of 16 bytes apart.
constexpr AsmText scoreText(const char *types, int n, int steps, int panelA,
                            int panelB) {
  AsmText t;
  constexpr int perPanel = 64 / kChainStep;
  t.add("{\n.reg .pred keep;\n.reg .b64 a, b;\nsetp.ne.b32 keep, 0, 0;\n"
        "wgmma.fence.sync.aligned;\n");
  for (int step = 0; step < steps; ++step) {
    int panel = step / perPanel, in = step % perPanel * 2;
    addStep(t, types, n, panel * panelA + in, panel * panelB + in, "0, 0");
    if (step == 0)
      t.add("setp.eq.b32 keep, 0, 0;\n");
  }
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

/// Operands: accumulators, the words of the parts of Q, the descriptor of K,
/// whose panels are `panel` units of 16 bytes apart. `adds`: to what the
/// accumulators hold.
constexpr AsmText rowScoreText(const char *types, int n, int steps, int panel,
                               int parts, bool adds) {
  AsmText t;
  int count = n / 2, perPanel = 64 / kChainStep;
  t.add("{\n.reg .pred keep;\n.reg .b64 b;\nsetp.")
      .add(adds ? "eq" : "ne")
      .add(".b32 keep, 0, 0;\nwgmma.fence.sync.aligned;\n");
  for (int step = 0; step < parts * steps; ++step) {
    int in = step % steps;
    t.add("add.s64 b, %").add(count + parts * steps * 4).add(", ");
    t.add(in / perPanel * panel + in % perPanel * 2).add(";\n");
    beginInstruction(t, types, n);
    t.add(", ");
    addRegisters(t, count + step * 4, 4);
    t.add(", b, keep, 1, 1, 0;\n");
    if (step == 0)
      t.add("setp.eq.b32 keep, 0, 0;\n");
  }
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

/// Operands: accumulators, the words of the parts of P, the descriptor of V.
constexpr AsmText valueText(const char *types, int n, int keys, int parts) {
  AsmText t;
  int count = n / 2, steps = keys / kChainStep, words = parts * keys / 4;
  t.add("{\n.reg .pred keep;\n.reg .b64 b;\nsetp.eq.b32 keep, 0, 0;\n"
        "wgmma.fence.sync.aligned;\n");
  for (int step = 0; step < parts * steps; ++step) {
    // A step is 16 rows of 128 bytes; descriptors count 16 bytes.
    t.add("add.s64 b, %").add(count + words).add(", ");
    t.add(step % steps * 128);
    t.add(";\n");
    beginInstruction(t, types, n);
    t.add(", ");
    addRegisters(t, count + step * 4, 4);
    t.add(", b, keep, 1, 1, 1;\n");
  }
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

} // namespace detail

/// After waitProducts(): no use of d moves in front of this.
template <int COUNT> HK_DEV void settleProduct(float (&d)[COUNT]) {
  HK_UNROLL for (int i = 0; i < COUNT;
                 ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// ROWS: rows of Q in LDS, of which the product takes 64.
template <DType D, int KEYS, int DEPTH, int ROWS> struct ScoreChain {
  static_assert(info(D).bits == 16 && DEPTH % detail::kChainStep == 0);
  static constexpr int kRegisters = KEYS / 2;
  static constexpr auto kText =
      detail::scoreText(detail::ProductTypes<D>::kText, KEYS,
                        DEPTH / detail::kChainStep, ROWS * 8, KEYS * 8);
  using Registers = float[kRegisters];

  /// Begins s = Q K^T; descriptors of both operands as operandDescriptor().
  HK_MEM static void begin(Registers &s, u64 q, u64 k) {
#define HK_OUT(i) "=f"(s[i])
#define HK_CHAIN(keys, count)                                                  \
  if constexpr (KEYS == keys)                                                  \
  asm volatile((kText)                                                         \
               : HK_LIST##count(HK_OUT, 0)                                     \
               : "l"(q), "l"(k)                                                \
               : "memor"                                                       \
                 "y")
    static_assert(KEYS == 32 || KEYS == 64 || KEYS == 80 || KEYS == 128 ||
                  KEYS == 192);
    HK_CHAIN(32, 16);
    HK_CHAIN(64, 32);
    HK_CHAIN(80, 40);
    HK_CHAIN(128, 64);
    HK_CHAIN(192, 96);
#undef HK_CHAIN
#undef HK_OUT
  }
};

/// PARTS: matrices whose sum is Q, in registers one behind the other.
template <DType D, int KEYS, int DEPTH, int PARTS = 1> struct RowScoreChain {
  static_assert(info(D).bits == 16 && KEYS == 64);
  static constexpr int kRegisters = KEYS / 2, kWords = PARTS * DEPTH / 4;
  template <bool ADDS>
  static constexpr auto kText =
      detail::rowScoreText(detail::ProductTypes<D>::kText, KEYS,
                           DEPTH / detail::kChainStep, KEYS * 8, PARTS, ADDS);
  using Registers = float[kRegisters];

  /// Begins s = Q K^T; k as operandDescriptor().
  HK_MEM static void begin(Registers &s, const u32 (&q)[kWords], u64 k) {
#define HK_OUT(i) "=f"(s[i])
#define HK_IN(i) "r"(q[i])
    static_assert(kWords == 16 || kWords == 32 || kWords == 64);
    if constexpr (kWords == 16)
      asm volatile((kText<false>)
                   : HK_LIST32(HK_OUT, 0)
                   : HK_LIST16(HK_IN, 0), "l"(k)
                   : "memory");
    else if constexpr (kWords == 32)
      asm volatile((kText<false>)
                   : HK_LIST32(HK_OUT, 0)
                   : HK_LIST32(HK_IN, 0), "l"(k)
                   : "memory");
    else
      asm volatile((kText<false>)
                   : HK_LIST32(HK_OUT, 0)
                   : HK_LIST64(HK_IN, 0), "l"(k)
                   : "memory");
#undef HK_IN
#undef HK_OUT
  }
  /// Begins s += Q K^T.
  HK_MEM static void add(Registers &s, const u32 (&q)[kWords], u64 k) {
#define HK_OUT(i) "+f"(s[i])
#define HK_IN(i) "r"(q[i])
    static_assert(kWords == 16);
    asm volatile((kText<true>)
                 : HK_LIST32(HK_OUT, 0)
                 : HK_LIST16(HK_IN, 0), "l"(k)
                 : "memory");
#undef HK_IN
#undef HK_OUT
  }
};

/// D[64, N] += A[64, DEPTH] * B[N, DEPTH]^T, A in registers, of 128 bytes of
/// the rows of B in LDS those from a descriptor on.
template <DType D, int N, int DEPTH> struct RowChain {
  static_assert(info(D).bits == 16 && DEPTH == 32);
  static constexpr int kWords = DEPTH / 4;
  static constexpr auto kText =
      detail::rowScoreText(detail::ProductTypes<D>::kText, N,
                           DEPTH / detail::kChainStep, 0, 1, /*adds=*/true);

  /// Begins d += A B^T; b as operandDescriptor().
  HK_MEM static void add(float (&d)[N / 2], const u32 (&a)[kWords], u64 b) {
#define HK_OUT(i) "+f"(d[i])
#define HK_IN(i) "r"(a[i])
#define HK_CHAIN(n, accumulators)                                              \
  if constexpr (N == n)                                                        \
  asm volatile((kText)                                                         \
               : HK_LIST##accumulators(HK_OUT, 0)                              \
               : HK_LIST8(HK_IN, 0), "l"(b)                                    \
               : "memory")
    static_assert(N == 64 || N == 128 || N == 160);
    HK_CHAIN(64, 32);
    HK_CHAIN(128, 64);
    HK_CHAIN(160, 80);
#undef HK_CHAIN
#undef HK_IN
#undef HK_OUT
  }
};

/// PARTS: matrices whose sum is P, in registers one behind the other.
template <DType D, int N, int KEYS, int PARTS = 1> struct ValueChain {
  static_assert(info(D).bits == 16 && KEYS % detail::kChainStep == 0);
  static constexpr int kRegisters = N / 2, kWords = PARTS * KEYS / 4;
  static constexpr auto kText =
      detail::valueText(detail::ProductTypes<D>::kText, N, KEYS, PARTS);
  using Registers = float[kRegisters];

  /// Begins o += P V; v as transposedDescriptor().
  HK_MEM static void begin(Registers &o, const u32 (&p)[kWords], u64 v) {
#define HK_OUT(i) "+f"(o[i])
#define HK_IN(i) "r"(p[i])
#define HK_CHAIN(n, accumulators, keys, words)                                 \
  if constexpr (N == n && kWords == keys / 4)                                  \
  asm volatile((kText)                                                         \
               : HK_LIST##accumulators(HK_OUT, 0)                              \
               : HK_LIST##words(HK_IN, 0), "l"(v)                              \
               : "memory")
#define HK_CHAINS(n, accumulators)                                             \
  HK_CHAIN(n, accumulators, 32, 8);                                            \
  HK_CHAIN(n, accumulators, 64, 16);                                           \
  HK_CHAIN(n, accumulators, 80, 20);                                           \
  HK_CHAIN(n, accumulators, 128, 32);                                          \
  HK_CHAIN(n, accumulators, 192, 48)
    static_assert(N == 64 || N == 96 || N == 128 || N == 192 || N == 256);
    static_assert(kWords == 8 || kWords == 16 || kWords == 20 || kWords == 32 ||
                  kWords == 48);
    HK_CHAINS(64, 32);
    HK_CHAINS(96, 48);
    HK_CHAINS(128, 64);
    HK_CHAINS(192, 96);
    HK_CHAINS(256, 128);
#undef HK_CHAINS
#undef HK_CHAIN
#undef HK_IN
#undef HK_OUT
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_TILE_WGMMA_CHAIN_H
