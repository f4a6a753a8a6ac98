//===- block.h - Selection of a long row by a block -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The row is read, not stored, so that any length works. First 256 parts of the
// row give their largest values: the K-th of these bounds the K-th of the row
// from below, and mostly few elements more than K reach it. They are collected
// and sorted. Where too many do (ties, or a K beyond 128), radix selection
// finds the K-th key itself: pass by pass the block counts the next 8 bits of
// the keys that agree with it so far, until what agrees is exactly what is
// still wanted.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_BLOCK_H
#define HK_KERNELS_TOPK_BLOCK_H

#include "hk/Contract/LdsTopk.h"
#include "kernels/device/lds_atomic.h"
#include "kernels/device/reduce.h"
#include "kernels/topk/row.h"

namespace hk {

template <int K> struct RadixShared {
  u64 found[K + kTopkSpare];
  u32 count[256];  // of keys with a digit; the largest of each part
  u32 count16[16]; // of keys with a digit of 16
  u32 digit, wanted, exact, numFound;
};

template <int THREADS, int V, int K, Ties TIES, Order ORDER> class RadixSelect {
public:
  RadixShared<K> &lds;
  i64 n;
  i32 thread;

  /// score(slot, chunk) is chunk number `chunk` of V elements; slot is 0.
  template <class Score> HK_MEM void run(Score score, TopkRow<K> &row) {
    bool collected = n <= CAPACITY; // nothing to look for
    if (collected) {
      collect(score, 0, 0);
    } else if constexpr (BOUNDED) {
      collect(score, u64(lowerBound(score)), 32);
      collected = lds.numFound <= CAPACITY;
      barrier();
    }
    if (!collected)
      collectExactly(score);
    arrange(row);
  }

private:
  static constexpr u32 CAPACITY = K + kTopkSpare;
  static constexpr bool BOUNDED = THREADS >= 256 && K <= 128;

  template <class Score, class Body>
  HK_MEM void forEachKey(Score score, Body body) {
    for (i64 c = thread; c * V < n; c += THREADS) {
      Vec<u32, V> key = orderedBits<V>(score(0, c));
      HK_UNROLL for (int e = 0; e < V; ++e) {
        i64 i = c * V + e;
        if (V == 1 || i < n)
          body(u64(key[e]) << 32 | placeKey<TIES>(u32(i)));
      }
    }
  }

  /// Collects the keys that are at least `least` without their last `shift`
  /// bits; those beyond the capacity are counted only.
  template <class Score>
  HK_MEM void collect(Score score, u64 least, int shift) {
    if (thread == 0)
      lds.numFound = 0;
    barrier();
    forEachKey(score, [&](u64 key) {
      if ((key >> shift) < least)
        return;
      u32 at = ldsFetchAdd(&lds.numFound, 1);
      if (at < CAPACITY)
        lds.found[at] = key;
    });
    barrier();
  }

  /// A value that at least K elements reach.
  template <class Score> HK_MEM u32 lowerBound(Score score) {
    u32 best = 0;
    forEachKey(score, [&](u64 key) {
      best = best > u32(key >> 32) ? best : u32(key >> 32);
    });
    constexpr int LANES = THREADS / 256;
    best = maxOfLanes<LANES>(best);
    if (thread % LANES == 0)
      lds.count[thread / LANES] = best;
    barrier();
    if (thread < 256) {
      u32 own = lds.count[thread];
      int rank = 0;
      for (int i = 0; i < 256; ++i)
        rank += lds.count[i] > own || (lds.count[i] == own && i < thread);
      if (rank == K - 1)
        lds.digit = own;
    }
    barrier();
    return lds.digit;
  }

  /// Collects the K largest.
  template <class Score> HK_MEM void collectExactly(Score score) {
    u32 wanted = K;
    u64 prefix = 0;
    int shift = 64;
    for (bool exact = false; !exact;) {
      shift -= 8;
      countDigits(score, prefix, shift);
      findDigit(wanted);
      prefix = prefix << 8 | lds.digit;
      wanted = lds.wanted;
      exact = lds.exact != 0;
      barrier();
    }
    collect(score, prefix, shift);
  }

  template <class Score>
  HK_MEM void countDigits(Score score, u64 prefix, int shift) {
    for (int i = thread; i < 256; i += THREADS)
      lds.count[i] = 0;
    barrier();
    forEachKey(score, [&](u64 key) {
      if (shift == 56 || (key >> (shift + 8)) == prefix)
        ldsAdd(&lds.count[(key >> shift) & 255], 1);
    });
    barrier();
  }

  /// The digit of the key that has `wanted` - 1 larger ones.
  HK_MEM void findDigit(u32 wanted) {
    for (int g = thread; g < 16; g += THREADS) {
      u32 sum = 0;
      HK_UNROLL for (int i = 0; i < 16; ++i) sum += lds.count[g * 16 + i];
      lds.count16[g] = sum;
    }
    barrier();
    for (int d = thread; d < 256; d += THREADS) {
      u32 larger = 0, own = lds.count[d];
      for (int g = d / 16 + 1; g < 16; ++g)
        larger += lds.count16[g];
      for (int i = d + 1; i < (d / 16 + 1) * 16; ++i)
        larger += lds.count[i];
      if (larger < wanted && larger + own >= wanted) {
        lds.digit = u32(d);
        lds.wanted = wanted - larger;
        lds.exact = larger + own == wanted;
      }
    }
    barrier();
  }

  /// Every candidate finds its rank by counting.
  HK_MEM void arrange(TopkRow<K> &row) {
    u32 count = lds.numFound;
    for (u32 j = u32(thread); j < count; j += THREADS) {
      u64 key = lds.found[j];
      u32 rank = 0;
      for (u32 r = 0; r < count; ++r)
        rank += lds.found[r] > key;
      if (rank < K)
        row.set(rank, u32(key >> 32), indexOfPlace<TIES>(u32(key)));
    }
    for (u32 j = count + u32(thread); j < K; j += THREADS)
      row.setMissing(j);
    barrier();
    if constexpr (ORDER == Order::ByIndex)
      sortByIndex<THREADS>(row, thread);
  }
};

/// The K largest of the n elements of a row into `row`; the block has one row
/// and every thread calls it.
template <int THREADS, int V, int K, Ties TIES, Order ORDER, class Score>
HK_DEV void topkInBlock(Score score, i64 n, i32 thread, TopkRow<K> &row,
                        RadixShared<K> &lds) {
  RadixSelect<THREADS, V, K, TIES, ORDER>{lds, n, thread}.run(score, row);
}

} // namespace hk

#endif // HK_KERNELS_TOPK_BLOCK_H
