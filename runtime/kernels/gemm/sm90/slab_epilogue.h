//===- slab_epilogue.h - An epilogue of row-contiguous vectors -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp passes its accumulators through a slab of its own, eight rows of
// kSpan of them at a time, and calls the emitted functor with kVec columns of a
// row; it waits for no other warp. Writes are two columns per lane, reads up to
// 32 bytes; the chunks of a row are permuted so that neither meets a bank
// twice.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SLAB_EPILOGUE_H
#define HK_KERNELS_GEMM_SM90_SLAB_EPILOGUE_H

#include "kernels/gemm/sm90/rows.h"

namespace hk {

/// Eight rows of Span 4-byte accumulators. The pair of chunks that two columns
/// of four lanes write is another one in each of four rows; of each pair the
/// chunks change places in every second row, so that lanes of two rows read
/// different ones.
template <class Acc, int Span> struct WarpSlab {
  u8 *bytes;

  HK_MEM u8 *chunk(int row, int index) const {
    return bytes + row * Span * 4 + (index ^ (row & 3) << 1 ^ (row & 1)) * 16;
  }
  HK_MEM void write2(int row, int col, Acc a, Acc b) const {
    *reinterpret_cast<Vec<Acc, 2> *>(chunk(row, col / 4) + col % 4 * 4) =
        Vec<Acc, 2>{a, b};
  }
  /// swap: whether the second four of eight columns are read first; 0 and 1 for
  /// half of eight neighbouring lanes each.
  template <int V>
  HK_MEM Vec<Acc, V> read(int row, int col, [[maybe_unused]] int swap) const {
    Vec<Acc, V> r;
    if constexpr (V < 4) {
      HK_UNROLL for (int e = 0; e < V; ++e) r[e] =
          reinterpret_cast<const Acc *>(
              chunk(row, (col + e) / 4))[(col + e) % 4];
    } else if constexpr (V == 4) {
      r = *reinterpret_cast<const Vec<Acc, 4> *>(chunk(row, col / 4));
    } else {
      // Half of the lanes read the second chunk first.
      static_assert(V == 8);
      using V4 = Vec<Acc, 4>;
      V4 p = *reinterpret_cast<const V4 *>(chunk(row, col / 4 + swap));
      V4 q = *reinterpret_cast<const V4 *>(chunk(row, col / 4 + 1 - swap));
      HK_UNROLL for (int e = 0; e < 4; ++e) {
        r[e] = swap ? q[e] : p[e];
        r[e + 4] = swap ? p[e] : q[e];
      }
    }
    return r;
  }
};

template <class Config> struct SlabEpilogue : StoresItself {
  using P = typename Config::P;
  using Acc = typename P::Acc;
  /// Accumulators of a row in the slab; of a pair both halves.
  static constexpr int kSpan = bulkSlabColumns(Config::T.bn);
  static constexpr int kPasses = (Config::T.bn + kSpan - 1) / kSpan;
  static constexpr int kColumns = P::kPair ? kSpan / 2 : kSpan;
  static_assert(kSpan * 32 <= kBulkSlabBytes && kSpan % 32 == 0);
  // The last pass may have fewer columns, but not of both halves.
  static_assert(Config::T.bn % (P::kPair ? kSpan : 8) == 0);
  HK_MEM static constexpr int spanOf(int pass) {
    int left = Config::T.bn - pass * kSpan;
    return left < kSpan ? left : kSpan;
  }

  using StoresItself::StoresItself;

  template <class Total, class Rows, class Epilogue>
  HK_MEM static void run(const Total &d, const Rows &rows, int firstColumn,
                         const GemmArgs &args, u8 *slab,
                         const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kColumns / V;
    static_assert(Epilogue::kGroup == 0 || kColumns % Epilogue::kGroup == 0);
    WarpSlab<Acc, kSpan> own = {slab};
    HK_UNROLL for (int pass = 0; pass < kPasses; ++pass)
        HK_UNROLL for (int half = 0; half < 2; ++half) {
      waveBarrier();
      write(own, d, pass, half);
      waveBarrier();
      // Addresses of one pass are not kept for the next, for the same reason.
      Rows here = rows;
      here.forget();
      int first = int(opaqueWord(u32(firstColumn))) + pass * kColumns;
      if constexpr (Epilogue::kGroup != 0 && !kSelectsBest<Epilogue> &&
                    V == 8 && perRow == 4 * kEach)
        if (first + kColumns <= args.n &&
            ballot(!here.exists(half * 8 + laneId() / 4)) == 0) {
          runGroups(own, here, half * 8, first, epilogue);
          continue;
        }
      constexpr int total = 8 * perRow;
      // Not unrolled: the accumulators need the registers.
      _Pragma("unroll 1") for (int x = 0; x < total; x += kWave) {
        int v = x + laneId();
        bool live = total % kWave == 0 || v < total;
        int r = live ? v / perRow : 0, c = v % perRow * V;
        if constexpr (!P::kPair)
          live = live && (spanOf(pass) == kSpan || c < spanOf(pass));
        GemmOutput<Acc, V> out;
        int swap = c / 32 & 1;
        out.acc = own.template read<V>(r, c, swap);
        out.pair = P::kPair ? own.template read<V>(r, c + kColumns, swap)
                            : Vec<Acc, V>(0);
        out.stat = 0;
        int row = half * 8 + r, col = first + c;
        // Lanes that hold a row of others take part.
        bool exists = here.exists(row);
        runEpilogue<V>(epilogue, here.matrix(row), here.row(row), col, args.n,
                       live && exists && col < args.n, out);
      }
    }
  }

private:
  /// Vectors of a group that one lane has, of eight columns.
  static constexpr int kEach = 4;

  /// Eight rows of the slab with four lanes each, where all rows and columns
  /// exist. A lane has so many vectors of one group that what follows from the
  /// group's statistic is computed once for all of them; without branches, what
  /// statistic and result have in common is computed once, too.
  template <class Rows, class Epilogue>
  HK_MEM static void runGroups(const WarpSlab<Acc, kSpan> &own, Rows &here,
                               int firstRow, int firstColumn,
                               const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, kLanes = Epilogue::kGroup / (V * kEach);
    static_assert(kLanes == 1 || kLanes == 2 || kLanes == 4);
    int r = laneId() / 4, q = laneId() % 4;
    int c = (q / kLanes * kEach * kLanes + q % kLanes) * V;
    // Numbers that the compiler knows to be none below 0, and a first column
    // that it knows to be one of a vector's.
    auto whole = [](int v) { return i64(u32(v) & 0x7FFFFFFF); };
    i64 matrix = whole(here.matrix(firstRow + r));
    i64 row = whole(here.row(firstRow + r));
    i64 vector = whole((firstColumn + c) / V);
    GemmOutput<Acc, V> out[kEach];
    HK_UNROLL for (int i = 0; i < kEach; ++i) {
      out[i].acc = own.template read<V>(r, c + i * kLanes * V, 0);
      out[i].pair = Vec<Acc, V>(0);
      out[i].stat = 0;
    }
    float stat[1] = {0};
    auto column = [&](int i) { return (vector + i * kLanes) * V; };
    HK_UNROLL for (int i = 0; i < kEach; ++i) stat[0] = Max::apply(
        stat[0], epilogue.template stat<V>(matrix, row, column(i), out[i]));
    groupReduce<Max, kLanes>(stat);
    HK_UNROLL for (int i = 0; i < kEach; ++i) {
      out[i].stat = stat[0];
      epilogue.template apply<V>(matrix, row, column(i), out[i]);
    }
  }

  /// Columns of the accumulators that lie at column c of pass `pass`.
  HK_MEM static constexpr int columnOf(int pass, int c) {
    if (!P::kPair)
      return pass * kSpan + c;
    int half = c / kColumns;
    return half * (Config::T.bn / 2) + pass * kColumns + c % kColumns;
  }

  template <class Total>
  HK_MEM static void write(const WarpSlab<Acc, kSpan> &slab, const Total &d,
                           int pass, int half) {
    int row = laneId() / 4, in = laneId() % 4 * 2;
    HK_UNROLL for (int c = 0; c < spanOf(pass); c += 8) {
      int i = columnOf(pass, c) / 2 + half * 2;
      slab.write2(row, c + in, d[i], d[i + 1]);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SLAB_EPILOGUE_H
