//===- codes_powers.h - Powers of two of tiles of fp4 codes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The members of CodesScales for fp4 with an e8m0 for every 32 elements: the
// threads of a block ask for words of four, a tile ahead, and keep them in LDS
// as they are, a word for a row's unit of k, of which a lane takes its byte.
// Rows of scales may begin at any byte. What does not exist is 2^-127.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_POWERS_H
#define HK_KERNELS_GEMM_SM90_CODES_POWERS_H

#include "kernels/gemm/sm90/codes_scales.h"

namespace hk {

template <class P, GemmTile T, int Threads> class CodesPowers {
  /// Words of a row of the block's part of k: one for each unit. Its rows begin
  /// in different banks.
  static constexpr int kWords = T.bk / kCodesDepth, kPitch = kWords + kCodesPad;
  static constexpr int kEntries = T.bn * kWords;
  static constexpr int kEach = (kEntries + Threads - 1) / Threads;
  static_assert(kCodesDepth == 4 * 32);

public:
  /// Of one tile: the words, and for which tile of the block one of them was
  /// last not usual. That is not cleared before the first: what lies there may
  /// only make a tile take the slower way.
  static constexpr int kBytes = T.bn * kPitch * 4 + 16;
  static_assert(kBytes <= skinnyCodesScales(T));

  /// `first`: the block's first element of k. `lds`: of two tiles.
  HK_MEM CodesPowers(const GemmArgs &args, i64 first, u8 *lds)
      : args(args), lds(lds), group0(first / 32) {}

  /// Asks for those of a tile.
  HK_MEM void ask(u32 tile) {
    forEach([&](int i, int e) {
      int r = e / kWords;
      i64 column = i64(tile) * P::kCols + r % P::kCols;
      i64 row = rowOfB<P>(column, r / P::kCols, args.n);
      i64 group = group0 + e % kWords * 4;
      words[i] = {};
      if (column < args.n)
        words[i] = wordsAround(row, group);
    });
  }
  /// Keeps what was asked for, of the block's tile number `turn`.
  HK_MEM void keep(u32, u32 turn) const {
    bool usual = true;
    forEach([&](int i, int e) {
      u32 four = words[i].four();
      *entry(turn, e / kWords, e % kWords) = four;
      usual = usual && PairPower<true>::holds(four);
    });
    if (!usual)
      *unusual(turn) = turn;
  }
  HK_MEM bool isUsual(u32 turn) const { return *unusual(turn) != turn; }
  /// As CodesScales's.
  template <bool Usual>
  HK_MEM PairPower<Usual> of(u32 turn, int unit, int r) const {
    int word = unit - int(group0 / 4);
    return PairPower<Usual>(*entry(turn, r + laneId() / 4, word), laneId() % 4);
  }

private:
  template <class F> HK_MEM void forEach(F f) const {
    HK_UNROLL for (int i = 0; i < kEach; ++i) {
      int e = threadId() + i * Threads;
      if (kEntries % Threads == 0 || e < kEntries)
        f(i, e);
    }
  }
  /// The aligned words around the powers of four groups of a row, which begin
  /// at bit `shift` of the first, and which bits of them there are. They are
  /// put together when they are kept: to do it at once would be to wait for
  /// them.
  struct Around {
    u32 first, last, shift, mask;

    HK_MEM u32 four() const {
      return u32((u64(last) << 32 | first) >> shift) & mask;
    }
  };
  HK_MEM Around wordsAround(i64 row, i64 group) const {
    i64 left = (args.k + 31) / 32 - group;
    if (left <= 0)
      return {};
    u32 count = left < 4 ? u32(left) : 4, mask = ~0u >> (4 - count) * 8;
    const ScaleArgs &from = args.b.decode;
    u64 at = from.data + u64(row * from.strideRow + group * from.strideK);
    if (from.strideK == 1)
      return {*global<const u32>(at & ~u64(3)),
              *global<const u32>((at + count - 1) & ~u64(3)), u32(at & 3) * 8,
              mask};
    u32 four = 0;
    HK_UNROLL for (u32 g = 0; g < 4; ++g) if (g < count) four |=
        u32(*global<const u8>(at + u64(g * from.strideK))) << 8 * g;
    return {four, four, 0, mask};
  }
  HK_MEM u32 *entry(u32 turn, int row, int word) const {
    return reinterpret_cast<u32 *>(lds + turn % 2 * kBytes) +
           (row * kPitch + word);
  }
  HK_MEM u32 *unusual(u32 turn) const {
    return reinterpret_cast<u32 *>(lds + (turn % 2 + 1) * kBytes - 16);
  }

  const GemmArgs &args;
  u8 *lds;
  i64 group0;
  Around words[kEach];
};

template <class P, GemmTile T, int Threads, bool Powers>
struct PickCodesScales {
  using Type = CodesScales<P, T, Threads>;
};
template <class P, GemmTile T, int Threads>
struct PickCodesScales<P, T, Threads, true> {
  using Type = CodesPowers<P, T, Threads>;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_POWERS_H
