//===- wgmma_panels.h - Products of panels that come in pieces --*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two products of attention whose values are columns of its keys, and one
// of its gradients, by the four warps of a warpgroup, each one statement (the
// rules of wgmma.h hold), all operands in LDS:
//   PieceScoreChain: S[64, 64] = Q[64, D] * K[64, D]^T, which waits for every
//     piece of K where it needs it;
//   LdsValueChain: O[64, N] += P[64, 64] * V[64, N];
//   ColumnChain: D[64, N] = A[DEPTH, 64]^T * B[DEPTH, N].
// Matrices lie in LDS as wgmma_chain.h says; P is one panel.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_TILE_WGMMA_PANELS_H
#define HK_KERNELS_DEVICE_TILE_WGMMA_PANELS_H

#include "kernels/device/tile/wgmma_chain.h"

namespace hk {

namespace detail {

/// Operands: 32 accumulators, the descriptors of Q and K, the address of the
/// pieces' barriers, 8 bytes each, and their phase. Panels are 8 KiB; the last
/// one has `steps` steps. A piece begins at the panels that `begins` has.
template <int PIECES>
constexpr AsmText pieceScoreText(const char *types, int panels, int steps,
                                 const int (&begins)[PIECES]) {
  AsmText t;
  constexpr int count = 32, perPanel = 64 / kChainStep;
  t.add("{\n.reg .pred keep, ended;\n.reg .b64 a, b;\n"
        "setp.ne.b32 keep, 0, 0;\n");
  for (int panel = 0; panel < panels; ++panel) {
    for (int piece = 0; piece < PIECES; ++piece)
      if (begins[piece] == panel) {
        t.add("AGAIN").add(piece).add(":\n");
        t.add("mbarrier.try_wait.parity.shared::cta.b64 ended, [%");
        t.add(count + 2).add("+").add(8 * piece).add("], %").add(count + 3);
        t.add(";\n@!ended bra AGAIN").add(piece).add(";\n");
        t.add("wgmma.fence.sync.aligned;\n");
      }
    for (int in = 0; in < (panel + 1 < panels ? perPanel : steps); ++in) {
      int at = panel * 512 + in * 2;
      addStep(t, types, 2 * count, at, at, "0, 0");
      if (panel == 0 && in == 0)
        t.add("setp.eq.b32 keep, 0, 0;\n");
    }
  }
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

/// Operands: accumulators, the descriptors of P and V.
constexpr AsmText ldsValueText(const char *types, int n) {
  AsmText t;
  t.add("{\n.reg .pred keep;\n.reg .b64 a, b;\nsetp.eq.b32 keep, 0, 0;\n"
        "wgmma.fence.sync.aligned;\n");
  for (int step = 0; step < 64 / kChainStep; ++step)
    // 32 bytes of a row of P, 16 rows of 128 bytes of V.
    addStep(t, types, n, step * 2, step * 128, "0, 1");
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

/// Operands: accumulators, the descriptors of A and B, whose k runs along
/// their rows in LDS.
constexpr AsmText columnText(const char *types, int n, int depth) {
  AsmText t;
  t.add("{\n.reg .pred keep;\n.reg .b64 a, b;\nsetp.ne.b32 keep, 0, 0;\n"
        "wgmma.fence.sync.aligned;\n");
  for (int step = 0; step < depth / kChainStep; ++step) {
    // 16 rows of 128 bytes of either.
    addStep(t, types, n, step * 128, step * 128, "1, 1");
    if (step == 0)
      t.add("setp.eq.b32 keep, 0, 0;\n");
  }
  return t.add("wgmma.commit_group.sync.aligned;\n}");
}

} // namespace detail

/// Panels of K from 0, SECOND and THIRD on are pieces; THIRD may be behind the
/// last one.
template <DType D, int DEPTH, int SECOND, int THIRD> struct PieceScoreChain {
  static_assert(info(D).bits == 16 && DEPTH % detail::kChainStep == 0);
  static constexpr int kRegisters = 32, kPanels = (DEPTH + 63) / 64;
  static constexpr int kBegins[] = {0, SECOND, THIRD};
  static constexpr auto kText = detail::pieceScoreText(
      detail::ProductTypes<D>::kText, kPanels,
      (DEPTH - (kPanels - 1) * 64) / detail::kChainStep, kBegins);
  using Registers = float[kRegisters];

  /// Begins s = Q K^T; descriptors as operandDescriptor(). The first piece's
  /// barrier, behind which those of the others lie, and the phase of all.
  HK_MEM static void begin(Registers &s, u64 q, u64 k, LdsBarrier first,
                           u32 phase) {
#define HK_OUT(i) "=f"(s[i])
    asm volatile((kText)
                 : HK_LIST32(HK_OUT, 0)
                 : "l"(q), "l"(k), "r"(first.at), "r"(phase)
                 : "memory");
#undef HK_OUT
  }
};

template <DType D, int N> struct LdsValueChain {
  static_assert(info(D).bits == 16);
  static constexpr int kRegisters = N / 2;
  static constexpr auto kText =
      detail::ldsValueText(detail::ProductTypes<D>::kText, N);
  using Registers = float[kRegisters];

  /// Begins o += P V; p as operandDescriptor(), v as transposedDescriptor().
  HK_MEM static void begin(Registers &o, u64 p, u64 v) {
#define HK_OUT(i) "+f"(o[i])
#define HK_CHAIN(n, accumulators)                                              \
  if constexpr (N == n)                                                        \
  asm volatile((kText)                                                         \
               : HK_LIST##accumulators(HK_OUT, 0)                              \
               : "l"(p), "l"(v)                                                \
               : "memory")
    static_assert(N == 64 || N == 128 || N == 192 || N == 256);
    HK_CHAIN(64, 32);
    HK_CHAIN(128, 64);
    HK_CHAIN(192, 96);
    HK_CHAIN(256, 128);
#undef HK_CHAIN
#undef HK_OUT
  }
};

/// D[64, N] = A[DEPTH, 64]^T * B[DEPTH, N], N to 64: both in LDS as rows of 128
/// bytes for each k.
template <DType D, int N, int DEPTH> struct ColumnChain {
  static_assert(info(D).bits == 16 && DEPTH % detail::kChainStep == 0);
  static constexpr int kRegisters = N / 2;
  static constexpr auto kText =
      detail::columnText(detail::ProductTypes<D>::kText, N, DEPTH);
  using Registers = float[kRegisters];

  /// Begins d = A^T B; descriptors as transposedDescriptor().
  HK_MEM static void begin(Registers &d, u64 a, u64 b) {
#define HK_OUT(i) "=f"(d[i])
    static_assert(N == 32 || N == 64);
    if constexpr (N == 32)
      asm volatile((kText) : HK_LIST16(HK_OUT, 0) : "l"(a), "l"(b) : "memory");
    else
      asm volatile((kText) : HK_LIST32(HK_OUT, 0) : "l"(a), "l"(b) : "memory");
#undef HK_OUT
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_TILE_WGMMA_PANELS_H
