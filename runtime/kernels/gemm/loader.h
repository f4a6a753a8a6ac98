//===- loader.h - Operand tiles through registers into LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TileSource: where the tiles of a block lie in an operand. StagedLoader: a
// StagedCopy of one tile that runs the operand's decoder between the registers
// and LDS. Scales are loaded with the elements where a chunk of k shares one;
// otherwise, each on its own, when the tile lands.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_LOADER_H
#define HK_KERNELS_GEMM_LOADER_H

#include "kernels/device/mma/tile_copy.h"
#include "kernels/device/reduce.h"
#include "kernels/gemm/operand.h"

namespace hk {

/// Bytes in memory of `elements` of operand L, an even number of them if L is
/// packed.
template <class L> HK_DEV constexpr i64 memBytes(i64 elements) {
  constexpr int bits = info(L::kMem).bits;
  return bits < 8 ? elements * bits / 8 : elements * (bits / 8);
}

/// The rows of an operand from the block's first one on, k from 0 on.
template <class L, bool = L::kGathered> struct TileSource {
  Global<const u8> data;
  i64 stride, rows, row0, total;
  int phase = 0;
  DecodeScales<typename L::Decode> scales;

  /// `row0` is the first of `rows` rows that the block may read; the operand
  /// has `total`.
  HK_MEM TileSource(const OperandArgs &args, i64 row0, i64 rows, i64 total)
      : data(global<const u8>(args.data) +
             memBytes<L>(L::kKContiguous ? row0 * L::kStep * args.stride
                                         : row0)),
        stride(args.stride * L::kStep), rows(rows), row0(row0), total(total),
        scales(args, row0 * L::kStep, total) {}

  /// The same number of rows, `by` rows further on.
  HK_MEM TileSource movedBy(i64 by) const {
    TileSource moved = *this;
    moved.data += memBytes<L>(L::kKContiguous ? by * stride : by);
    moved.row0 += by;
    moved.scales.moveBy(by);
    return moved;
  }
  /// The row of the operand that row `r` of the tile is; that of the edge
  /// outside.
  HK_MEM i64 rowOf(int r) const {
    i64 row = row0 + r;
    return row < total ? row : total - 1;
  }
  /// The same of row `r`, whose sums are those that slot `i` of this thread
  /// scales.
  HK_MEM i64 foldRow(int, int r) const { return rowOf(r); }
  HK_MEM ScaleOf<1> scaleAt(int row, i64 k, i64 kEnd) const {
    return scales.at(L::kStep == 1 ? row : row * L::kStep + phase, k, kEnd);
  }
  /// Part `p` of a pair: `n` rows further on, or the next one.
  HK_MEM TileSource part(int p, i64 n) const {
    if constexpr (L::kStep == 1)
      return movedBy(p * n);
    TileSource moved = *this;
    moved.data += memBytes<L>(p * (stride / L::kStep));
    moved.phase = p;
    return moved;
  }

  /// A view of the tile whose first k is `k`, and the byte where that k lies in
  /// it. Row counts are clamped to the tile, which keeps a view's span within
  /// 32 bits.
  template <int Rows, int BK> HK_MEM TileView view(i64 k, i64 kEnd) const {
    i64 count = rows < Rows ? rows : i64(Rows);
    if constexpr (L::kKContiguous)
      return TileView(data, memBytes<L>(stride), count, memBytes<L>(kEnd));
    i64 depth = kEnd - k < BK ? kEnd - k : i64(BK);
    return TileView(data + memBytes<L>(k * stride), memBytes<L>(stride), depth,
                    memBytes<L>(count));
  }
  HK_MEM static u32 firstByte(i64 k) {
    return L::kKContiguous ? u32(memBytes<L>(k)) : 0u;
  }
};

/// Rows that a table in LDS names, -1 for none.
template <class L> struct TileSource<L, true> {
  Global<const u8> data;
  i64 stride;
  const i32 *table;
  DecodeScales<typename L::Decode> scales;

  /// Of an operand of `total` rows, at least one.
  HK_MEM TileSource(const OperandArgs &args, const i32 *table, i64 total)
      : data(global<const u8>(args.data)), stride(args.stride), table(table),
        scales(args, 0, total) {}

  template <int Rows, int BK> HK_MEM GatheredView view(i64, i64 kEnd) const {
    return {data, memBytes<L>(stride), table, memBytes<L>(kEnd)};
  }
  HK_MEM static u32 firstByte(i64 k) { return u32(memBytes<L>(k)); }
  HK_MEM i64 rowOf(int r) const { return table[r] < 0 ? 0 : table[r]; }
  HK_MEM i64 foldRow(int, int r) const { return rowOf(r); }
  HK_MEM ScaleOf<1> scaleAt(int row, i64 k, i64 kEnd) const {
    return scales.at(rowOf(row), k, kEnd);
  }
};

/// Rows that an order names, in the registers of the threads that copy them:
/// those of lines 0, ... of a copy, and those whose sums a thread scales.
template <class L, int Lines, int Slots> struct ThreadRows {
  Global<const u8> data[Lines];
  i32 rows[Lines], fold[Slots];
  DecodeScales<typename L::Decode> scales;

  /// Of an operand of `total` rows, at least one. `rowOfLine` and `rowOfSlot`
  /// give a row, or -1 for one whose elements nobody uses.
  template <class Line, class Slot>
  HK_MEM ThreadRows(const OperandArgs &args, i64 total, Line rowOfLine,
                    Slot rowOfSlot)
      : scales(args, 0, total) {
    HK_UNROLL for (int i = 0; i < Lines; ++i) {
      int row = rowOfLine(i);
      rows[i] = row < 0 ? 0 : row;
      data[i] =
          global<const u8>(args.data) + i64(rows[i]) * memBytes<L>(args.stride);
    }
    HK_UNROLL for (int i = 0; i < Slots; ++i) {
      int row = rowOfSlot(i);
      fold[i] = row < 0 ? 0 : row;
    }
  }

  template <int Rows, int BK>
  HK_MEM LinesView<Lines> view(i64, i64 kEnd) const {
    return {data, memBytes<L>(kEnd)};
  }
  HK_MEM static u32 firstByte(i64 k) { return u32(memBytes<L>(k)); }
  HK_MEM i64 foldRow(int i, int) const { return fold[i]; }
  HK_MEM ScaleOf<1> scaleAt(int line, i64 k, i64 kEnd) const {
    return scales.at(rows[line], k, kEnd);
  }
};

/// L is an Operand. One tile of Rows x BK elements of dtype Lds.
template <class L, DType Lds, int Rows, int BK, int Threads>
struct StagedLoader {
  using Copy = StagedCopy<L, Lds, Rows, BK, Threads>;
  using Decode = typename L::Decode;
  static constexpr int E = Copy::kElements;

  Copy copy;

  template <class Source>
  HK_MEM void issue(const Source &source, i64 k, i64 kEnd) {
    copy.issue(source.template view<Rows, BK>(k, kEnd), source.firstByte(k));
    if constexpr (kPrefetchesScales)
      Copy::forEachChunk([&](int i, int d, int row, int at) {
        scale[i][d] = source.scaleAt(lineOf(source, i, row), k + at, kEnd);
      });
  }

  /// The tile that issue() was called for, with the same arguments. `made` gets
  /// the scales of its rows, if the decoder makes them.
  template <class Source>
  HK_MEM void land(u8 *tile, const Source &source, i64 k, i64 kEnd,
                   [[maybe_unused]] float *made) const {
    if constexpr (!Decode::kDecodes) {
      copy.land(tile);
    } else {
      copy.landAs(tile, [&](int i, int d, int row, int at, const auto &raw) {
        if constexpr (kConvertsScaled)
          return scaledToBf16<L::kMem>(raw.w, scale[i][d].scale[0]);
        Vec<float, E> x =
            convertTo<float, E>(unpack<L::kMem, E>(Copy::elementsOf(raw)));
        Vec<float, E> y;
        if constexpr (Decode::kHasScales) {
          ScaleOf<E> s;
          if constexpr (kPrefetchesScales)
            s = ScaleOf<E>::all(scale[i][d]);
          else
            HK_UNROLL for (int e = 0; e < E; ++e)
                s.set(e, source.scaleAt(
                             lineOf(source, i, row) + (L::kKContiguous ? 0 : e),
                             k + at + (L::kKContiguous ? e : 0), kEnd));
          y = Decode::template decode<E>(x, s);
          // Behind k are zeros, whatever the zero point or an infinite scale
          // would make of them.
          if constexpr (!Decode::kExact)
            if (k + BK > kEnd)
              HK_UNROLL for (int e = 0; e < E; ++e) y[e] =
                  k + at + (L::kKContiguous ? e : 0) < kEnd ? y[e] : 0.f;
        } else {
          static_assert(L::kKContiguous && Decode::kBlock % E == 0 &&
                            Copy::kChunks % (Decode::kBlock / E) == 0,
                        "neighbouring lanes hold a block");
          float most[1] = {reduceVec<Max, E>(__builtin_elementwise_abs(x))};
          reduceLanes<Max, 1, Decode::kBlock / E, kWave>(most);
          if constexpr (Decode::kMakesScales) {
            static_assert(BK == Decode::kBlock);
            most[0] = Decode::scaleOf(most[0]);
            if (at == 0)
              made[row] = most[0];
          }
          y = Decode::template decode<E>(x, most[0]);
        }
        return bitCast<u32x4>(encode(y));
      });
    }
  }

private:
  /// What `source` calls row `row`, unit `i` of the copy.
  template <class Source>
  HK_MEM static int lineOf(const Source &, int i, int row) {
    using View =
        decltype(((const Source *)nullptr)->template view<Rows, BK>(0, 0));
    return View::lineOf(i, row);
  }
  /// One scale per chunk.
  static constexpr bool kPrefetchesScales = [] {
    if constexpr (Decode::kHasScales)
      return L::kKContiguous ? Decode::kDepth % E == 0 : Decode::kRows == 0;
    else
      return false;
  }();

  /// A chunk is decoded by the conversions that take its scale.
  static constexpr bool kConvertsScaled = [] {
    if constexpr (kPrefetchesScales && kNativeScaled<L::kMem, Lds>)
      return Decode::kScale == DType::F8E8M0FNU && Decode::kExact;
    else
      return false;
  }();

  HK_MEM static auto encode(Vec<float, E> x) {
    // What the decoder rounded, or never needed to round, only changes form.
    if constexpr (Lds == DType::I8)
      return pack<Lds, E>(convertTo<i32, E>(x));
    else if constexpr (isExact<Lds>())
      return packExact<Lds, E>(x);
    else
      return pack<Lds, E>(x);
  }
  template <DType To> HK_MEM static constexpr bool isExact() {
    if constexpr (requires { Decode::kExact; })
      return Decode::kExact || L::kResult == To;
    else
      return false;
  }

  struct Nothing {};
  template <bool, int = 0> struct Prefetched {
    using Type = Nothing;
  };
  template <int I> struct Prefetched<true, I> {
    using Type = ScaleOf<1>;
  };
  [[no_unique_address]]
  typename Prefetched<kPrefetchesScales>::Type scale[Copy::kUnits]
                                                    [Copy::kDepth];
};

} // namespace hk

#endif // HK_KERNELS_GEMM_LOADER_H
