//===- warpgroup.h - Chunks by warpgroup products -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels share that walk over chunks of 64 tokens by warpgroups: operands
// in LDS as panels of 64 columns, a ring of stages, the layout of accumulators.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_WARPGROUP_H
#define HK_KERNELS_GATED_DELTA_WARPGROUP_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/device/tile/wgmma_chain.h"
#include "kernels/gated_delta/state_matrix.h"

namespace hk {

/// The address of an operand that is computed where it is read.
struct NoAddress {};

/// A panel is 64 columns of 64 rows.
inline constexpr u32 kChunkPanel = 64 * kBulkRowBytes;

/// 16 bytes number `chunk` of a row of a matrix in panels.
HK_DEV u32 panelPlace(u32 matrix, int row, int chunk) {
  return matrix + u32(chunk / 8) * kChunkPanel + u32(row) * kBulkRowBytes +
         u32(swizzleChunk<kBulkRowBytes>(row, chunk % 8) * 16);
}

/// The part of a block's LDS that is aligned for products.
struct WarpgroupLds {
  u8 *from;
  u32 base;

  HK_MEM explicit WarpgroupLds(u8 *shared)
      : from(shared + (bulkBase(shared) - ldsAddress(shared))),
        base(bulkBase(shared)) {}
  HK_MEM u8 *bytes(u32 at) const { return from + (at - base); }
};

template <GatedDeltaSpec S> struct WarpgroupChunks {
  static constexpr int kChunk = S.chunk;

  HK_MEM static int lengthOf(const TokenSpan &chunk) {
    return int(chunk.end - chunk.begin);
  }
  /// The row of a product that register i of this thread is of, its column.
  HK_MEM static int rowOf(int i) {
    return waveId() % 4 * 16 + i / 2 % 2 * 8 + laneId() / 4;
  }
  HK_MEM static int columnOf(int i) {
    return i / 4 * 8 + laneId() % 4 * 2 + i % 2;
  }
  /// The conversion keeps any NaN one.
  template <int COUNT>
  HK_MEM static void pack(const float (&x)[COUNT], u32 (&words)[COUNT / 2]) {
    HK_UNROLL for (int i = 0; i < COUNT / 2; ++i) words[i] =
        packPair<S.key>(x[2 * i], x[2 * i + 1]);
  }
  /// The exponential; 0 below the smallest normal number.
  HK_MEM static float decayFactor(float difference) {
    if constexpr (!S.hasDecay)
      return 1.f;
    Vec<float, 1> x = minimum(maximum(difference, -88.f), 89.f);
    return expScaled<1>(x)[0];
  }
  /// Of all lanes, for what each has done and published.
  HK_MEM static void arriveOfWave(LdsBarrier bar) {
    waveBarrier();
    if (laneId() == 0)
      bar.arrive();
  }

  /// move(place, words) for the matrices of 8 x 8 of this wave's values, rows
  /// of which are tokens in LDS; words are pairs of the product's registers.
  template <class Move>
  HK_MEM static void eachColumns(u32 values, u32 (&words)[kChunk / 4],
                                 Move move) {
    const int lane = laneId();
    HK_UNROLL for (int i = 0; i < kChunk / 16; ++i) {
      u32 v[4] = {words[4 * i], words[4 * i + 1], words[4 * i + 2],
                  words[4 * i + 3]};
      int token = i * 16 + lane / 16 * 8 + lane % 8;
      move(panelPlace(values, token, waveId() % 4 * 2 + lane / 8 % 2), v);
      HK_UNROLL for (int e = 0; e < 4; ++e) words[4 * i + e] = v[e];
    }
  }

  /// Both operands that the states of a chunk are multiplied with.
  template <class Lds, class Io>
  HK_MEM static void bringFactors(i64 head, const TokenSpan &chunk, u32 stage,
                                  int thread, const Lds &lds, const Io &io) {
    i64 b = chunk.batch, keyHead = head / (S.valueHeads / S.heads);
    bringRows<S.keys>(
        lds.w(stage), chunk, thread, lds,
        [&](i64 t, int c) { return io.wAt(b, t, head, c); },
        [&](i64 t, int c) { return io.w(b, t, head, c); });
    bringRows<S.keys>(
        lds.keys(stage), chunk, thread, lds,
        [&](i64 t, int c) { return io.keyAt(b, t, keyHead, c); },
        [&](i64 t, int c) { return io.key(b, t, keyHead, c); });
  }

  /// Rows of COLUMNS elements; zeros behind the chunk's last token. Where
  /// address(token, column) has one, they are copied, else load() gives them.
  template <int COLUMNS, class Address, class Load>
  HK_MEM static void bringRows(u32 to, const TokenSpan &chunk, int thread,
                               const WarpgroupLds &lds, Address address,
                               Load load) {
    constexpr int vectors = COLUMNS / kStagedVector;
    constexpr int rows = kWarpgroup / vectors; // at a time
    constexpr bool copies = !__is_same(decltype(address(0, 0)), NoAddress);
    static_assert(sizeof(load(0, 0)) == kStagedVector * sizeof(float));
    const int length = lengthOf(chunk), first = thread / vectors;
    const int column = thread % vectors * kStagedVector;
    // Where nothing is read the address does not matter.
    auto from = address(chunk.begin + first, column);
    i64 step = 0;
    if constexpr (copies)
      step = address(chunk.begin + rows, 0) - address(chunk.begin, 0);
    HK_UNROLL for (int i = 0; i < kChunk / rows; ++i) {
      int row = first + i * rows;
      u32 place = panelPlace(to, row, column / kStagedVector);
      if constexpr (copies) {
        copyToLds16(place, from + i * step, row < length);
      } else {
        auto x = load(chunk.begin + (row < length ? row : length - 1), column);
        u32x4 all = {packPair<S.key>(x[0], x[1]), packPair<S.key>(x[2], x[3]),
                     packPair<S.key>(x[4], x[5]), packPair<S.key>(x[6], x[7])};
        *reinterpret_cast<u32x4 *>(lds.bytes(place)) =
            row < length ? all : u32x4(0);
      }
    }
  }

  /// The other way round: to address(token, column), or else by store().
  template <int COLUMNS, class Address, class Store>
  HK_MEM static void storeRows(u32 from, const TokenSpan &chunk, int thread,
                               const WarpgroupLds &lds, Address address,
                               Store store) {
    constexpr int vectors = COLUMNS / kStagedVector;
    constexpr int rows = kWarpgroup / vectors; // at a time
    constexpr bool plain = !__is_same(decltype(address(0, 0)), NoAddress);
    const int length = lengthOf(chunk), first = thread / vectors;
    const int column = thread % vectors * kStagedVector;
    auto to = address(chunk.begin + first, column);
    i64 step = 0;
    if constexpr (plain)
      step = address(chunk.begin + rows, 0) - address(chunk.begin, 0);
    HK_UNROLL for (int i = 0; i < kChunk / rows; ++i) {
      int row = first + i * rows;
      if (row >= length)
        break;
      u32x4 x = *reinterpret_cast<const u32x4 *>(
          lds.bytes(panelPlace(from, row, column / kStagedVector)));
      if constexpr (plain)
        *(Global<u32x4>)(to + i * step) = x;
      else
        store(chunk.begin + row, column,
              unpack<S.key, kStagedVector>(
                  bitCast<Packed<S.key, kStagedVector>>(x)));
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_WARPGROUP_H
