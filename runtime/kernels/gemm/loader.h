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
template <class L> struct TileSource {
  Global<const u8> data;
  i64 stride, rows;
  DecodeScales<typename L::Decode> scales;

  /// `row0` is the first of `rows` rows that the block may read; the operand
  /// has `total`.
  HK_MEM TileSource(const OperandArgs &args, i64 row0, i64 rows, i64 total)
      : data(global<const u8>(args.data) +
             memBytes<L>(L::kKContiguous ? row0 * args.stride : row0)),
        stride(args.stride), rows(rows), scales(args.decode, row0, total) {}

  /// The same number of rows, `by` rows further on.
  HK_MEM TileSource movedBy(i64 by) const {
    TileSource moved = *this;
    moved.data += memBytes<L>(L::kKContiguous ? by * stride : by);
    moved.scales.moveBy(by);
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

/// L is an Operand. One tile of Rows x BK elements of dtype Lds.
template <class L, DType Lds, int Rows, int BK, int Threads>
struct StagedLoader {
  using Copy = StagedCopy<L, Lds, Rows, BK, Threads>;
  using Decode = typename L::Decode;
  static constexpr int E = Copy::kElements;

  Copy copy;

  HK_MEM void issue(const TileSource<L> &source, i64 k, i64 kEnd) {
    copy.issue(source.template view<Rows, BK>(k, kEnd), source.firstByte(k));
    if constexpr (kPrefetchesScales)
      Copy::forEachChunk([&](int i, int d, int row, int at) {
        scale[i][d] = source.scales.at(row, k + at, kEnd);
      });
  }

  /// The tile that issue() was called for, with the same arguments. `made` gets
  /// the scales of its rows, if the decoder makes them.
  HK_MEM void land(u8 *tile, const TileSource<L> &source, i64 k, i64 kEnd,
                   [[maybe_unused]] float *made) const {
    if constexpr (!Decode::kDecodes) {
      copy.land(tile);
    } else {
      copy.landAs(tile, [&](int i, int d, int row, int at, const auto &raw) {
        Vec<float, E> x =
            convertTo<float, E>(unpack<L::kMem, E>(Copy::elementsOf(raw)));
        Vec<float, E> y;
        if constexpr (Decode::kHasScales) {
          Vec<float, E> s;
          if constexpr (kPrefetchesScales)
            s = scale[i][d];
          else
            HK_UNROLL for (int e = 0; e < E; ++e) s[e] =
                source.scales.at(row + (L::kKContiguous ? 0 : e),
                                 k + at + (L::kKContiguous ? e : 0), kEnd);
          y = Decode::template decode<E>(x, s);
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
  /// One scale per chunk.
  static constexpr bool kPrefetchesScales = [] {
    if constexpr (Decode::kHasScales)
      return L::kKContiguous ? Decode::kDepth % E == 0 : Decode::kRows == 0;
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
  template <bool, int = 0> struct ScaleOf {
    using Type = Nothing;
  };
  template <int I> struct ScaleOf<true, I> {
    using Type = float;
  };
  [[no_unique_address]]
  typename ScaleOf<kPrefetchesScales>::Type scale[Copy::kUnits][Copy::kDepth];
};

} // namespace hk

#endif // HK_KERNELS_GEMM_LOADER_H
