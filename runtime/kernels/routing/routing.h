//===- routing.h - Counting, sorting and segments ---------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps that a routing kernel is made of; the compiler emits their order
// and what they load and store (lib/Families/Routing). All state between steps
// is a count per bin, so one block can do everything: 64 Ki keys are 64 vectors
// of keys per wave. Every wave owns a contiguous part of the keys and counts of
// its own: items of a key keep their order, and places need no atomics.
//
// A sort of many keys is shared by several blocks that know nothing of each
// other: each counts all keys, in any order as only the sums matter, and gives
// places to those of its own part.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROUTING_ROUTING_H
#define HK_KERNELS_ROUTING_ROUTING_H

#include "hk/Contract/LdsScan.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/lds_atomic.h"
#include "kernels/device/ops.h"
#include "kernels/device/scan.h"

namespace hk {

/// A step without a consumer of its results.
struct Ignore {
  template <class... Args> HK_MEM void operator()(Args...) const {}
};

/// BINS: of all counters of the kernel together. SHARED: several blocks have a
/// part of the keys each, of the kernel's only counter.
template <int THREADS, int BINS, bool SHARED> struct Routing {
  static constexpr int kThreads = THREADS;
  static constexpr int kWaves = int(wavesOf(kTarget, THREADS));
  using Block = BlockScan<u32, THREADS>;

  struct Shared {
    i32 first[THREADS];
    u32 scratch[kWaves];
    // [wave][bin]: what the wave counted, then what comes before it, then the
    // next place of its items. Behind them what comes before the block's part.
    i32 counts[(kWaves + SHARED) * BINS];
    i32 totals[BINS];
  };
  static_assert(sizeof(Shared) ==
                routingLds(kTarget, RoutingTile{THREADS}, BINS, SHARED));
  static_assert(Block::kScratch == kWaves);

  /// This block among those that share the keys.
  struct Share {
    i64 index, count;
  };
  HK_MEM static Share shareOf(BlockId block, i64 n) {
    return {block.x, SHARED ? routingBlocks(THREADS, n) : 1};
  }

  /// Parts of [0, n): one per wave, a multiple of the wave, those of a block's
  /// waves side by side.
  struct Part {
    i64 begin, end;
  };
  HK_MEM static Part partOfWave(i64 n, Share share = {0, 1}) {
    i64 each = eachWave(n, share);
    return partFrom(n, each * (waveId() + kWaves * share.index), each);
  }
  HK_MEM static Part partOfBlock(i64 n, Share share) {
    i64 each = kWaves * eachWave(n, share);
    return partFrom(n, each * share.index, each);
  }

  /// fn(i, place) for the keys of this wave in order, each -1 or in [0, E): the
  /// place is counts[key], which counts up with the items of the key, or -1.
  template <int E, class Key, class Fn>
  HK_MEM static void forKeys(Part part, i32 *counts, Key key, Fn fn) {
    for (i64 base = part.begin; base < part.end; base += kWave) {
      i64 i = base + laneId();
      i32 e = i < part.end ? key(i) : -1;
      bool valid = e >= 0;
      SameLanes lanes = sameLanes<E>(e, valid);
      i32 next = valid ? counts[e] : 0;
      waveBarrier();
      if (valid && lanes.rank == 0)
        counts[e] = next + lanes.count;
      waveBarrier();
      if (i < part.end)
        fn(i, valid ? next + lanes.rank : -1);
    }
  }

  /// Counts the keys of [0, E) in bins [OFFSET, OFFSET + E).
  template <int OFFSET, int E, class Key>
  HK_MEM static void countKeys(Shared &s, i64 n, Key key) {
    i32 *own = s.counts + waveId() * BINS + OFFSET;
    for (int e = laneId(); e < E; e += kWave)
      own[e] = 0;
    waveBarrier();
    forKeys<E>(partOfWave(n), own, key, Ignore());
  }

  /// Counts the keys of [0, BINS): those of each wave's part, those before the
  /// block's, and all others in `totals`.
  template <class Key>
  HK_MEM static void countAllKeys(Shared &s, i64 n, Share share, Key key) {
    for (int e = threadId(); e < BINS; e += THREADS)
      s.counts[kWaves * BINS + e] = s.totals[e] = 0;
    for (int e = threadId(); e < kWaves * BINS; e += THREADS)
      s.counts[e] = 0;
    barrier();
    Part own = partOfWave(n, share), block = partOfBlock(n, share);
    addKeys(own, laneId(), kWave, s.counts + waveId() * BINS, key);
    addKeys({0, block.begin}, threadId(), THREADS, s.counts + kWaves * BINS,
            key);
    addKeys({block.end, n}, threadId(), THREADS, s.totals, key);
  }

  /// Counts the rows with each of E bits; `word(w, r)` is a word of row r.
  template <int OFFSET, int E, class Word>
  HK_MEM static void countBits(Shared &s, i64 rows, Word word) {
    i32 *own = s.counts + waveId() * BINS + OFFSET;
    Part part = partOfWave(rows);
    for (int e = laneId(); e < E; e += kWave) {
      i32 count = 0;
      for (i64 r = part.begin; r < part.end; ++r)
        count += i32((u32(word(i64(e) / 32, r)) >> (e & 31)) & 1);
      own[e] = count;
    }
  }

  /// After all counts: totals over the waves, and in `counts` what each wave
  /// has before it.
  HK_MEM static void combineCounts(Shared &s) {
    barrier();
    for (int e = threadId(); e < BINS; e += THREADS) {
      i32 sum = 0;
      if constexpr (SHARED)
        sum = s.counts[kWaves * BINS + e];
      for (int w = 0; w < kWaves; ++w) {
        i32 count = s.counts[w * BINS + e];
        s.counts[w * BINS + e] = sum;
        sum += count;
      }
      if constexpr (SHARED)
        sum += s.totals[e];
      s.totals[e] = sum;
    }
    barrier();
  }

  /// bin(i) for each of n bins.
  template <class Bin> HK_MEM static void forBins(i64 n, Bin bin) {
    for (i64 i = threadId(); i < n; i += THREADS)
      bin(i);
  }

  /// before(t, e, count) for every block t of BLOCK rows: of the rows before
  /// it, how many have bit e. Every wave goes on from what comes before its
  /// part.
  template <int OFFSET, int E, i64 BLOCK, class Word, class Before>
  HK_MEM static void bitsBefore(Shared &s, i64 rows, Word word, Before before) {
    const i32 *own = s.counts + waveId() * BINS + OFFSET;
    Part part = partOfWave(rows);
    for (int e = laneId(); e < E; e += kWave) {
      i32 count = own[e];
      for (i64 r = part.begin; r < part.end; ++r) {
        if (r % BLOCK == 0)
          before(r / BLOCK, i64(e), count);
        count += i32((u32(word(i64(e) / 32, r)) >> (e & 31)) & 1);
      }
    }
  }

  /// order(place, item) for every place below m; position(item, place). The
  /// blocks take turns at places without an item.
  template <int OFFSET, int E, i32 BLOCK, class Key, class Order,
            class Position>
  HK_MEM static void sortByKey(Shared &s, i64 n, i64 m, Share share, Key key,
                               Order order, Position position) {
    u32 places = 0;
    for (int base = 0; base < E; base += THREADS) {
      int e = base + threadId();
      u32 count = e < E ? u32(s.totals[OFFSET + e]) : 0;
      u32 padded = (count + BLOCK - 1) / BLOCK * BLOCK, before, total;
      Block::run(padded, before, total, s.scratch);
      if (e < E) {
        i32 start = i32(places + before);
        for (int w = 0; w < kWaves; ++w)
          s.counts[w * BINS + OFFSET + e] += start;
        if (!SHARED || e % share.count == share.index)
          for (i64 j = i64(start) + count; j < i64(start) + padded && j < m;
               ++j)
            order(j, i32(n));
      }
      places += total;
    }
    for (i64 j = i64(places) + threadId() + THREADS * share.index; j < m;
         j += THREADS * share.count)
      order(j, i32(n));
    barrier();
    forKeys<E>(partOfWave(n, share), s.counts + waveId() * BINS + OFFSET, key,
               [&](i64 i, i32 place) {
                 if (place >= 0 && place < m)
                   order(i64(place), i32(i));
                 position(i, place);
               });
  }

  /// sum(i, before, v) for n elements v = value(i), in any order; the total.
  template <class Value, class Sum>
  HK_MEM static u32 prefixSums(Shared &s, i64 n, Value value, Sum sum) {
    u32 carry = 0;
    for (i64 base = 0; base < n; base += THREADS) {
      i64 i = base + threadId();
      u32 v = i < n ? value(i) : 0, before, total;
      Block::run(v, before, total, s.scratch);
      if (i < n)
        sum(i, carry + before, v);
      carry += total;
    }
    return carry;
  }

  /// item(place, segment, rank) for every place below m; offset(segment,
  /// place). Returns the number of places.
  template <i32 BLOCK, class Length, class Item, class Offset>
  HK_MEM static i32 segments(Shared &s, i64 n, i64 m, Length length, Item item,
                             Offset offset) {
    i32 carry = 0;
    for (i64 base = 0; base < n; base += THREADS) {
      i64 i = base + threadId();
      i32 own = i < n ? length(i) : 0;
      u32 places = own > 0 ? (u32(own) + BLOCK - 1) / BLOCK : 0, before, total;
      Block::run(places, before, total, s.scratch);
      if (i < n)
        offset(i, carry + i32(before));
      s.first[threadId()] = i32(before);
      barrier();
      for (i32 j = threadId(); j < i32(total) && i64(carry) + j < m;
           j += THREADS) {
        int owner = lastNotAbove(s.first, j);
        item(i64(carry) + j, i32(base) + owner, j - s.first[owner]);
      }
      carry += i32(total);
      barrier();
    }
    if (n >= 0 && threadId() == 0)
      offset(n, carry);
    for (i64 j = i64(carry) + threadId(); j < m; j += THREADS)
      item(j, -1, -1);
    return carry;
  }

private:
  HK_MEM static i64 eachWave(i64 n, Share share) {
    i64 threads = THREADS * share.count;
    return (n + threads - 1) / threads * kWave;
  }
  HK_MEM static Part partFrom(i64 n, i64 begin, i64 each) {
    i64 end = begin + each;
    return {begin < n ? begin : n, end < n ? end : n};
  }

  /// Adds the keys of `part` to `counts`, by `threads` threads of which this is
  /// number `thread`.
  template <class Key>
  HK_MEM static void addKeys(Part part, int thread, int threads, i32 *counts,
                             Key key) {
    constexpr int kAhead = 8; // keys that are under way at a time
    for (i64 base = part.begin + thread; base < part.end;
         base += i64(kAhead) * threads) {
      i32 keys[kAhead];
      HK_UNROLL for (int u = 0; u < kAhead; ++u) {
        i64 i = base + i64(u) * threads;
        keys[u] = key(i < part.end ? i : base);
        keys[u] = i < part.end ? keys[u] : -1;
      }
      HK_UNROLL for (int u = 0; u < kAhead; ++u) {
        if (keys[u] >= 0)
          ldsAdd(reinterpret_cast<u32 *>(counts + keys[u]), 1);
      }
    }
  }

  /// The last of `first`, which does not decrease and begins with 0, that is
  /// not above j: empty segments begin where the next one does.
  HK_MEM static int lastNotAbove(const i32 (&first)[THREADS], i32 j) {
    int lo = 0;
    for (int step = THREADS / 2; step > 0; step /= 2)
      lo += first[lo + step] <= j ? step : 0;
    return lo;
  }
};

} // namespace hk

#endif // HK_KERNELS_ROUTING_ROUTING_H
