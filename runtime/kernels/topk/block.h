//===- block.h - Selection of a long row by a block -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Radix selection: pass by pass the block counts the next 8 bits of the keys
// that agree with the K-th largest so far, until what agrees is exactly what is
// still wanted. A last pass collects. The row is read once per pass, three or
// four times for ordinary data, nine at worst; nothing but K keys is stored, so
// rows of any length work.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_TOPK_BLOCK_H
#define HK_KERNELS_TOPK_BLOCK_H

#include "hk/Contract/LdsTopk.h"
#include "kernels/device/lds_atomic.h"
#include "kernels/topk/keys.h"

namespace hk {

template <int K> struct RadixShared {
  u64 found[K];
  u32 count[256];  // of keys with a digit
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
    u32 wanted = u32(n < K ? n : K), total = wanted;
    u64 prefix = 0;
    int shift = 64;
    if (thread == 0)
      lds.numFound = 0;
    // A row that is taken whole has no K-th key to look for.
    for (bool exact = n <= K; !exact;) {
      shift -= 8;
      countDigits(score, prefix, shift);
      findDigit(wanted);
      prefix = prefix << 8 | lds.digit;
      wanted = lds.wanted;
      exact = lds.exact != 0;
      barrier();
    }
    barrier();
    forEachKey(score, [&](u64 key) {
      if (shift == 64 || (key >> shift) >= prefix)
        lds.found[ldsFetchAdd(&lds.numFound, 1)] = key;
    });
    barrier();
    arrange(total, row);
    barrier();
  }

private:
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

  /// Every key finds its rank by counting.
  HK_MEM void arrange(u32 total, TopkRow<K> &row) {
    for (u32 j = u32(thread); j < K; j += THREADS) {
      if (j >= total) {
        row.setMissing(j);
        continue;
      }
      u64 key = lds.found[j];
      i32 index = indexOfPlace<TIES>(u32(key));
      u32 rank = 0;
      for (u32 r = 0; r < total; ++r) {
        u64 other = lds.found[r];
        rank += ORDER == Order::ByValue
                    ? other > key
                    : indexOfPlace<TIES>(u32(other)) < index;
      }
      row.set(rank, u32(key >> 32), index);
    }
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
