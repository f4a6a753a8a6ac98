//===- matrix.h - Chunks on matrix fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels share that compute a chunk as attention computes a tile of
// keys: rows of operands staged in LDS, and a matrix of the chunk that becomes
// the left operand of a second product without leaving registers.
//
// A product also multiplies what the definition leaves out, by zero. That is
// right for finite elements only: kernels that mask ask first (Finite) and have
// the vector units compute a chunk with others.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_MATRIX_H
#define HK_KERNELS_GATED_DELTA_MATRIX_H

#include "kernels/device/attention/fragments.h"
#include "kernels/gated_delta/products.h"

namespace hk {

#if HK_GPU

/// Rows of COLUMNS elements of D in LDS, where fragments look for them.
template <DType D, int COLUMNS> struct StagedRows {
  static constexpr int kRowBytes = COLUMNS * 2;
  static_assert(info(D).bits == 16);

  /// What THREADS threads bring of ROWS rows, on its way: all loads of a thread
  /// are under way before the first is needed.
  template <int ROWS, int THREADS> struct Fetched {
    static constexpr int kVectors = COLUMNS / kStagedVector;
    static constexpr int kAll = ROWS * kVectors;
    static constexpr int kEach = (kAll + THREADS - 1) / THREADS;
    u32x4 packed[kEach];

    /// load(row, column) gives kStagedVector elements. Rows from `length` on,
    /// which is at least 1, become zeros.
    template <class Load> HK_MEM void load(int thread, int length, Load load) {
      HK_UNROLL for (int i = 0; i < kEach; ++i) {
        int n = i * THREADS + thread, row = n / kVectors;
        auto x =
            load(row < length ? row : length - 1, n % kVectors * kStagedVector);
        u32x4 all = {packPair<D>(x[0], x[1]), packPair<D>(x[2], x[3]),
                     packPair<D>(x[4], x[5]), packPair<D>(x[6], x[7])};
        packed[i] = row < length ? all : u32x4(0);
      }
    }
    /// Whether all elements of this thread are finite.
    HK_MEM bool store(u8 *tile, int thread) const {
      u32 largest = 0;
      HK_UNROLL for (int i = 0; i < kEach; ++i) {
        int n = i * THREADS + thread;
        if (kAll % THREADS == 0 || n < kAll)
          put(tile, n / kVectors, n % kVectors, packed[i], largest);
      }
      return largest < (D == DType::BF16 ? 0x7F800000u : 0x7C000000u);
    }
  };

  /// Both; whether all elements of this thread are finite.
  template <int ROWS, int THREADS, class Load>
  HK_MEM static bool stage(u8 *tile, int thread, int length, Load load) {
    Fetched<ROWS, THREADS> rows;
    rows.load(thread, length, load);
    return rows.store(tile, thread);
  }

  /// Element (row, column) of what is staged.
  HK_MEM static float element(const u8 *tile, int row, int column) {
    return unpack<D, 1>(*reinterpret_cast<const Packed<D, 1> *>(
        tile + swizzled<kRowBytes>(row, column * 2)))[0];
  }

private:
  /// `largest` is of the magnitudes, as the high half of a word.
  HK_MEM static void put(u8 *tile, int row, int chunk, u32x4 packed,
                         u32 &largest) {
    HK_UNROLL for (int e = 0; e < 4; ++e) {
      u32 low = (packed[e] & 0x7FFFu) << 16, high = packed[e] & 0x7FFF0000u;
      largest = largest > low ? largest : low;
      largest = largest > high ? largest : high;
    }
    *reinterpret_cast<u32x4 *>(tile + swizzled<kRowBytes>(row, chunk * 16)) =
        packed;
  }
};

/// LDS of a block that computes by fragments, or else on the vector units.
template <class STAGED, class ON_VECTORS> union StagedOrVectors {
  STAGED staged;
  typename ON_VECTORS::Shared vectors;
};

/// Whether a condition holds for all threads of a block.
template <int THREADS> struct AllThreads {
  u32 waves[THREADS / kWave];

  HK_MEM void put(bool holds) {
    u64 others = ballot(!holds);
    if (laneId() == 0)
      waves[waveId()] = others == 0;
  }
  /// After a barrier.
  HK_MEM bool get() const {
    u32 all = 1;
    HK_UNROLL for (int i = 0; i < THREADS / kWave; ++i) all &= waves[i];
    return all != 0;
  }
};

/// x, whose NaN is one that rounding to 16 bits keeps.
template <class V> HK_DEV V plainNaN(V x) {
  return x == x ? x : V(__builtin_nanf(""));
}

/// Rows of COLUMNS floats from fragments, so that threads store vectors of
/// them: all that a block has in fragments goes through LDS.
template <int COLUMNS> struct ResultRows {
  /// Padded, as lanes have rows below one another.
  static constexpr int kRow = COLUMNS + 4;
  template <class Fragments>
  HK_MEM static void put(float *rows, Fragments &f, float scale) {
    f.forEachOutput([&](int slot, int column, auto x) {
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e)
          rows[Fragments::rowOf(slot) * kRow + column + e] = x[e] * scale;
    });
  }
  /// store(row, column, vector) for the first `length` rows.
  template <int THREADS, class Store>
  HK_MEM static void store(const float *rows, int thread, int length,
                           Store store) {
    constexpr int vectors = COLUMNS / kStagedVector;
    for (int n = thread; n < length * vectors; n += THREADS) {
      int row = n / vectors, column = n % vectors * kStagedVector;
      Vec<float, kStagedVector> x;
      HK_UNROLL for (int e = 0; e < kStagedVector; ++e) x[e] =
          rows[row * kRow + column + e];
      store(row, column, x);
    }
  }
};

/// Queries of fragments from rows that are staged.
template <int ROW_BYTES> struct StagedQueries {
  const u8 *tile;
  template <class T> HK_MEM T load(int, int row, int byte) const {
    return *reinterpret_cast<const T *>(tile + swizzled<ROW_BYTES>(row, byte));
  }
};

/// Products of queries and keys become weights; later tokens have none.
template <GatedDeltaSpec S, class Fragments>
HK_DEV void weighTokens(Fragments &f, int length, const float *decays) {
  f.forEachScore([&](int slot, int key, auto &x) {
    int row = Fragments::rowOf(slot);
    HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e) {
      bool counts = key + e <= row && row < length;
      float to = decays[counts ? row : 0];
      float from = decays[counts ? key + e : 0];
      x[e] = counts ? plainNaN(x[e] * decayBetween<S>(to, from)) : 0.f;
    }
  });
}

/// As ChunkProducts of tokens with themselves, of rows of S.key.
template <GatedDeltaSpec S, GatedDeltaTile TILE> struct MatrixProducts {
  using Rows = StagedRows<S.key, S.keys>;
  using Fragments = AttentionFragments<S.key, S.chunk, S.chunk, Rows::kRowBytes,
                                       32, TILE.waves>;
  static constexpr int kRow = int(chunkProductRow(S.chunk));
  struct Staged {
    alignas(16) u8 bytes[chunkProductBytes(S.chunk, S.keys)];
  };
  struct Piece {
    float sum[4][4];
  };

  template <class Load, class Finish, class Use>
  HK_MEM static void square(Staged &staged, int length, Load load,
                            Finish finish, Use use) {
    const int thread = threadId();
    Fragments f;
    barrier();
    Rows::template stage<S.chunk, TILE.threads>(staged.bytes, thread, length,
                                                load);
    barrier();
    f.loadQueries(StagedQueries<Rows::kRowBytes>{staged.bytes});
    f.scores(staged.bytes);
    barrier();
    float *product = reinterpret_cast<float *>(staged.bytes);
    f.forEachScore([&](int slot, int column, auto &x) {
      int row = Fragments::rowOf(slot);
      HK_UNROLL for (int e = 0; e < int(sizeof(x) / 4); ++e)
          product[row * kRow + column + e] = finish(row, column + e, x[e]);
    });
    barrier();
    constexpr int pieces = S.chunk / 4;
    for (int n = thread; n < pieces * pieces; n += TILE.threads) {
      int i = n / pieces * 4, j = n % pieces * 4;
      if (j > i)
        continue;
      Piece piece;
      HK_UNROLL for (int y = 0; y < 4; ++y)
          HK_UNROLL for (int x = 0; x < 4; ++x)
              piece.sum[y][x] = product[(i + y) * kRow + j + x];
      use(i, j, piece);
    }
  }
};

#endif

/// The products of a chunk's tokens by the units that the tile names.
template <GatedDeltaSpec S, GatedDeltaTile TILE, bool MATRIX = (TILE.waves > 0)>
struct PickProducts {
  using Type = ChunkProducts<S, TILE.threads>;
};
#if HK_GPU
template <GatedDeltaSpec S, GatedDeltaTile TILE>
struct PickProducts<S, TILE, true> {
  using Type = MatrixProducts<S, TILE>;
};
#endif

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_MATRIX_H
