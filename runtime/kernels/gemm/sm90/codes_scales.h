//===- codes_scales.h - Scales of tiles of 4-bit codes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales and zero points of a tile's rows over the block's part of k: the
// threads of a block ask for them in the order in which they lie, a tile ahead,
// and keep in LDS what PairScale makes of them. What does not exist is finite.
// Powers of two, one for each 32 elements of fp4, are codes_powers.h's.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_SCALES_H
#define HK_KERNELS_GEMM_SM90_CODES_SCALES_H

#include "kernels/gemm/problem.h"
#include "kernels/gemm/sm90/code_pairs.h"

namespace hk {

/// The row of B of column `column` of the result or, half 1, of its partner.
template <class P> HK_DEV i64 rowOfB(i64 column, int half, i64 n) {
  return P::B::kStep == 2 ? column * 2 + half : column + half * n;
}

template <class P, GemmTile T, int Threads> class CodesScales {
  using B = typename P::B;
  using Decode = typename B::Decode;

public:
  using Scale = PairScale<B::kMem, P::kOperand, Decode>;

  /// `first`: the block's first element of k. `lds`: of two tiles.
  HK_MEM CodesScales(const GemmArgs &args, i64 first, u8 *lds)
      : args(args), lds(lds), group0(groupOf(first)) {}

  /// Asks for those of a tile.
  HK_MEM void ask(u32 tile) {
    forEach(tile, [&](int i, int, i64 row, i64 group, bool exists) {
      words[i] = {0, 0};
      if (!exists)
        return;
      auto scale = at<Decode::kScale>(args.b.decode, row, group);
      words[i].scale = *global<const u32>(scale.word);
      if constexpr (Decode::kHasZeros) {
        auto zero = at<Decode::kZero>(args.b.zeros, row, group);
        words[i].zero = *global<const u32>(zero.word);
      }
    });
  }
  /// Keeps what was asked for, of the block's tile number `turn`.
  HK_MEM void keep(u32 tile, u32 turn) const {
    forEach(tile, [&](int i, int e, i64 row, i64 group, bool) {
      u32 zero = 0;
      if constexpr (Decode::kHasZeros)
        zero = at<Decode::kZero>(args.b.zeros, row, group).shift;
      Scale scale(
          {words[i].scale, at<Decode::kScale>(args.b.decode, row, group).shift},
          {words[i].zero, zero});
      *entry(turn, e / kGroups, e % kGroups) = {scale.scale, scale.bias};
    });
  }
  /// Whether of<true> is right for a tile.
  HK_MEM static constexpr bool isUsual(u32) { return true; }
  /// Those of the lane's codes of unit `unit` of k: row `r` of the tile and
  /// laneId() / 4 more.
  template <bool Usual> HK_MEM Scale of(u32 turn, int unit, int r) const {
    i64 k = i64(unit) * kCodesDepth + laneId() % 4 * 32;
    u32x2 found = *entry(turn, r + laneId() / 4, int(groupOf(k) - group0));
    // A scale for all of k does not end with it.
    if constexpr (Decode::kDepth == 0)
      found = k < args.k ? found : u32x2(0);
    return Scale(found[0], found[1]);
  }

private:
  /// Groups of the block's part of k, which may begin and end within one.
  static constexpr int kGroups =
      Decode::kDepth == 0 ? 1
                          : T.bk / (Decode::kDepth ? Decode::kDepth : 1) +
                                (Decode::kDepth > kCodesDepth ? 1 : 0);
  /// Entries of a row: its rows begin in different banks.
  static constexpr int kPitch = kGroups + kCodesPad;

public:
  /// Of one tile.
  static constexpr int kBytes = T.bn * kPitch * 8;
  static_assert(kBytes <= skinnyCodesScales(T));

private:
  static constexpr int kEntries = T.bn * kGroups;
  static constexpr int kEach = (kEntries + Threads - 1) / Threads;

  struct Words {
    u32 scale, zero;
  };
  /// The word around an element, and how far up the element is in it.
  struct Place {
    u64 word;
    u32 shift;
  };

  /// f(number of the thread's, number of all, row of B, group, whether those
  /// exist) for the thread's entries.
  template <class F> HK_MEM void forEach(u32 tile, F f) const {
    HK_UNROLL for (int i = 0; i < kEach; ++i) {
      int e = threadId() + i * Threads;
      if (kEntries % Threads != 0 && e >= kEntries)
        continue;
      int r = e / kGroups;
      i64 group = group0 + e % kGroups;
      i64 column = i64(tile) * P::kCols + r % P::kCols;
      f(i, e, rowOfB<P>(column, r / P::kCols, args.n), group,
        column < args.n && group * Decode::kDepth < args.k);
    }
  }
  HK_MEM static i64 groupOf(i64 k) {
    return Decode::kDepth == 0 ? 0 : k / (Decode::kDepth ? Decode::kDepth : 1);
  }
  template <DType W>
  HK_MEM static Place at(const ScaleArgs &from, i64 row, i64 group) {
    i64 index = 0;
    if constexpr (Decode::kDepth != 0)
      index += group * from.strideK;
    if constexpr (Decode::kRows != 0)
      index += row * from.strideRow;
    return {ElementInWord<W>::wordAt(from.data, index),
            ElementInWord<W>::shiftOf(u32(from.data), u32(index))};
  }
  HK_MEM u32x2 *entry(u32 turn, int row, int group) const {
    return reinterpret_cast<u32x2 *>(lds + turn % 2 * kBytes) +
           (row * kPitch + group);
  }

  const GemmArgs &args;
  u8 *lds;
  i64 group0;
  Words words[kEach];
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_SCALES_H
