//===- exchange.h - A row summed over the ranks of an axis -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first step of a row-wise kernel whose rows are sums over ranks. Each rank
// has a window that the others write: two slots, taken in turn by the launches
// of an axis, each with a part for every rank. A block writes its row into its
// part of every other rank's window, then reads the others' in its own.
//
//   window of rank 0    slot 0: of rank 0 | of rank 1    slot 1: of rank 0 |
//   ...
//
// Between two ranks a product may have sent its tiles already, and summed most
// (send.h); for these blocks wait for one word and read.
//
// With more than two ranks and many rows that is many bytes; each row then has
// an owner (its number, by turns), who alone gets it from all ranks and writes
// the sum to them: two shots. No owner sends a row of its own to another rank,
// so its part of their windows is free for the sums.
//
// But for such columns there are no flags: a word of all ones is one that has
// not come yet. Two bf16 or f16, or a f32, of such bits are NaN; a rank that
// has that NaN sends another one. Who has read a word makes it empty again.
//
// Why two slots do. A rank writes into slot s again two launches later, when
// its launch in between has ended. That one got a row from every other rank,
// whose launch in between had then begun, hence the launch before it, with its
// reading and emptying, was over: kernels of a stream come one after the other.
// With two shots it got a sum from an owner, who had rows from every rank.
//
// A launch's turn is not an argument, because a graph that is launched again
// has the same ones: every block adds its share of kTurn to a counter when it
// has read it, so the counter passes a multiple of kTurn when all have.
//
// The rows of a window are waited for in the order in which blocks begin; a
// block that waits needs the same row's block of another rank to begin, so
// blocks have to begin in the order of their numbers, as they do on GPUs, or
// all at once. Nobody waits for ever: the host says when that makes no sense.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_COLLECTIVE_EXCHANGE_H
#define HK_KERNELS_COLLECTIVE_EXCHANGE_H

#include "kernels/collective/send.h"
#include "kernels/device/convert.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"

namespace hk {

/// What the runtime appends to the words of a launch.
template <int RANKS> struct ExchangeWords {
  const u64 *words;
  /// NULL: the engine has brought the parts to `gathered`.
  HK_MEM Global<u32> turns() const {
    return (Global<u32>)words[kExchangeTurns];
  }
  /// Not 0: nobody comes any more.
  HK_MEM Global<const u32> isOver() const {
    return (Global<const u32>)words[kExchangeOver];
  }
  HK_MEM i64 partBytes() const { return i64(words[kExchangePartBytes]); }
  HK_MEM u32 place() const { return u32(words[kExchangePlace]); }
  /// Columns whose sums the product before has left.
  HK_MEM int summed() const { return int(words[kExchangeSummed]); }
  /// Whether it was this rank's that summed this row.
  HK_MEM bool owns(i64 row) const {
    return (row < i64(words[kExchangeSplit])) == (place() == 0);
  }
  /// Of a slot: not empty when the other rank's are there.
  HK_MEM Global<u32> sent(u32 slot) const {
    return (Global<u32>)words[kExchangeSent] + slot;
  }
  HK_MEM Global<u32> told(u32 slot) const {
    return (Global<u32>)words[kExchangeTold] + slot;
  }
  HK_MEM Global<u8> own() const { return (Global<u8>)words[kExchangeOwn]; }
  HK_MEM Global<const u8> gathered() const {
    return (Global<const u8>)words[kExchangeOwn];
  }
  HK_MEM Global<u8> window(int rank) const {
    return (Global<u8>)words[kExchangeWindows + rank];
  }
};

/// A row of N sums of dtype R in LDS.
template <DType R, i64 N> struct ExchangedRow {
  alignas(16) Storage<R> row[N];
  /// i is a multiple of V.
  template <int V> HK_MEM Packed<R, V> *chunk(i64 i) {
    constexpr int bytes = V * int(sizeof(Storage<R>));
    return static_cast<Packed<R, V> *>(
        __builtin_assume_aligned(row + i, bytes < 16 ? bytes : 16));
  }
  template <int V> HK_MEM Carrier<R, V> load(i64 i) {
    return unpack<R, V>(*chunk<V>(i));
  }
  template <int V> HK_MEM void store(i64 i, Carrier<R, V> v) {
    *chunk<V>(i) = pack<R, V>(v);
  }
};

HK_DEV bool hasCome(u32x4 v) {
  return v[0] != kNotCome && v[1] != kNotCome && v[2] != kNotCome &&
         v[3] != kNotCome;
}

/// Words that are not taken for such as have not come.
HK_DEV u32x4 sendable(u32x4 v) {
  HK_UNROLL for (int i = 0; i < 4; ++i) v[i] =
      v[i] == kNotCome ? 0x7fff7fffu : v[i];
  return v;
}

/// How often blocks look without a pause. A row alone is there after a few
/// looks, and a pause is longer than what it waits yet; with many rows under
/// way those who look take bandwidth from those who have something to do.
HK_DEV u32 quickLooks(u32 blocks) {
  constexpr u32 kFew = 4, kFewBlocks = 128;
  if constexpr (kTarget.arch == Arch::Sm90a)
    if (blocks <= kFewBlocks)
      return kHostLooks;
  return kFew;
}

/// Looks at `p` until its words have come, or it makes no sense to wait.
HK_DEV u32x4 awaitPeer(Global<const u32x4> p, u32x4 v, Global<const u32> isOver,
                       u32 quick) {
  for (u32 looks = 1; !hasCome(v); ++looks) {
    if (looks > quick)
      pauseForPeer();
    if (looks % kHostLooks == 0 && loadPeerWord(isOver))
      break;
    v = loadPeer(p);
  }
  return v;
}

/// barrier() where lanes of a wave may have waited differently long: it counts
/// waves, and takes two parts of one for two. For the same reason the waves
/// meet behind what only one lane does.
HK_DEV void meetAfterWaiting() {
  waveBarrier();
  barrier();
}

/// Behind the last use of the turn by a block's threads.
template <int RANKS>
HK_DEV void endTurn(ExchangeWords<RANKS> with, i64 row, i32 thread,
                    u32 blocks) {
  meetAfterWaiting();
  // All threads have read the counter.
  u32 share = kExchangeTurn / blocks;
  if (thread == 0)
    addToWord(with.turns(),
              row == 0 ? kExchangeTurn - (blocks - 1) * share : share);
  waveBarrier();
}

/// The same where rows were sent: the last block empties the word that said so.
template <int RANKS>
HK_DEV void endSentTurn(ExchangeWords<RANKS> with, u32 slot, i64 row,
                        i32 thread, u32 blocks) {
  meetAfterWaiting();
  if (thread == 0) {
    u32 share = kExchangeTurn / blocks;
    if (row == 0)
      share = kExchangeTurn - (blocks - 1) * share;
    u32 before = exchangeAdd(with.turns(), share);
    if ((before + share) % kExchangeTurn == 0)
      *with.sent(slot) = kNotCome;
  }
  waveBarrier();
}

/// In place of a function of what is added to the sums, rounded again: V
/// elements of chunk number c.
struct NothingAdded {};
template <class Added>
inline constexpr bool kAdds = !__is_same(Added, NothingAdded);

/// What a thread adds to its chunks: asked for before it waits.
template <DType R, int V, int SLOTS, class Added> struct Addends {
  Packed<R, V> chunks[kAdds<Added> ? SLOTS : 1];

  HK_MEM void ask(int slot, int chunk, const Added &added) {
    if constexpr (kAdds<Added>)
      chunks[slot] = packExact<R, V>(added(chunk));
  }
  HK_MEM Carrier<R, V> add(int slot, Carrier<R, V> sum) const {
    if constexpr (kAdds<Added>)
      return roundTo<R, V>(sum) + unpack<R, V>(chunks[slot]);
    else
      return sum;
  }
};

/// The row where the engine has brought its parts.
template <DType D, DType R, int GATHERED, int THREADS, class With, i64 N,
          class Added>
HK_DEV void addGathered(const With &with, i64 rowAt, i32 thread,
                        ExchangedRow<R, N> &sum, const Added &added) {
  constexpr int V = kExchangeChunk / int(sizeof(Storage<D>));
  for (int chunk = thread; chunk < int(N / V); chunk += THREADS) {
    Carrier<D, V> total;
    HK_UNROLL for (int part = 0; part < GATHERED; ++part) {
      auto p = (Global<const Packed<D, V>>)(with.gathered() +
                                            part * with.partBytes() + rowAt) +
               chunk;
      Carrier<D, V> v = unpack<D, V>(*p);
      total = part == 0 ? v : total + v;
    }
    Addends<R, V, 1, Added> addend;
    addend.ask(0, chunk, added);
    sum.template store<V>(i64(chunk) * V, addend.add(0, total));
  }
  barrier();
}

/// The row where the product before has sent (send.h). What it has summed is
/// in this rank's result where it owns the row, else it has come. Of the other
/// columns the owner has the other rank's terms, and sends its own.
template <DType D, int THREADS, i64 N, class Own, class Added>
HK_DEV void takeSentRow(ExchangeWords<2> with, i64 row, i32 thread, u32 blocks,
                        const Own &ownChunk, ExchangedRow<D, N> &sum,
                        const Added &added) {
  constexpr int V = kExchangeChunk / int(sizeof(Storage<D>));
  constexpr int chunks = int(N / V), slots = (chunks + THREADS - 1) / THREADS;
  u32 turn = loadPeerWord(with.turns()) / kExchangeTurn % 2;
  if (row == 0 && thread == 0)
    tellPeer(with.told(turn), 0);
  int summed = with.summed() / V;
  bool owns = with.owns(row);
  auto chunkOf = [&](int s) __attribute__((always_inline)) {
    return s * THREADS + thread;
  };
  auto holds = [&](int s) __attribute__((always_inline)) {
    return chunks % THREADS == 0 || chunkOf(s) < chunks;
  };
  auto isSummed = [&](int s) __attribute__((always_inline)) {
    return chunkOf(s) < summed;
  };
  i64 slotAt =
      i64(turn) * 2 * with.partBytes() + row * N * i64(sizeof(Storage<D>));
  auto partOf = [&](Global<u8> window, u32 of) __attribute__((always_inline)) {
    return (Global<u32x4>)(window + slotAt + i64(of) * with.partBytes());
  };
  u32 place = with.place(), other = 1 - place;
  u32x4 mine[slots], come[slots];
  Addends<D, V, slots, Added> addends;
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s) && !isSummed(s))
      addends.ask(s, chunkOf(s), added);
  HK_UNROLL for (int s = 0; s < slots;
                 ++s) if (holds(s) && (owns || !isSummed(s))) {
    mine[s] = sendable(bitCast<u32x4>(packExact<D, V>(ownChunk(chunkOf(s)))));
    if (owns && !isSummed(s))
      storePeer(partOf(with.window(int(other)), place) + chunkOf(s), mine[s]);
  }
  awaitWord(with.sent(turn), with.isOver());
  HK_UNROLL for (int s = 0; s < slots;
                 ++s) if (holds(s) && !(owns && isSummed(s))) come[s] =
      loadPeer(partOf(with.own(), owns || isSummed(s) ? place : other) +
               chunkOf(s));
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s)) {
    if (isSummed(s)) {
      *sum.template chunk<V>(i64(chunkOf(s)) * V) =
          bitCast<Packed<D, V>>(owns ? mine[s] : come[s]);
      continue;
    }
    if (!owns) {
      auto p = partOf(with.own(), other) + chunkOf(s);
      come[s] = awaitPeer(p, come[s], with.isOver(), quickLooks(blocks));
      storePeer(p, u32x4(kNotCome));
    }
    Carrier<D, V> total = unpack<D, V>(bitCast<Packed<D, V>>(mine[s])) +
                          unpack<D, V>(bitCast<Packed<D, V>>(come[s]));
    sum.template store<V>(i64(chunkOf(s)) * V, addends.add(s, total));
  }
  endSentTurn(with, turn, row, thread, blocks);
}

/// Leaves row number `row`, of N elements of dtype D on each of RANKS ranks, in
/// `sum`: added in f32 in the order of the ranks, rounded once. `ownChunk(c)`
/// has this rank's elements from c * V on, `added(c)` what is added to the
/// sums. THREADS threads, all of a block; of the grid there are `blocks`.
/// GATHERED: how many parts the engine brings where it does.
template <DType D, DType R, int RANKS, int GATHERED, int THREADS, i64 N,
          class Own, class Added = NothingAdded>
HK_DEV void exchangeRow(const u64 *words, i64 row, i32 thread, u32 blocks,
                        const Own &ownChunk, ExchangedRow<R, N> &sum,
                        const Added &added = {}) {
  constexpr int V = kExchangeChunk / int(sizeof(Storage<D>));
  constexpr int chunks = int(N / V), slots = (chunks + THREADS - 1) / THREADS;
  static_assert(N % V == 0);
  using Chunk = Packed<D, V>;
  ExchangeWords<RANKS> with{words};
  i64 rowAt = row * N * i64(sizeof(Storage<D>));
  if (!with.turns())
    return addGathered<D, R, GATHERED, THREADS>(with, rowAt, thread, sum,
                                                added);
  auto chunkOf = [&](int s) __attribute__((always_inline)) {
    return s * THREADS + thread;
  };
  auto holds = [&](int s) __attribute__((always_inline)) {
    return chunks % THREADS == 0 || chunkOf(s) < chunks;
  };
  // Products of other targets do not send.
  if constexpr (kTarget.arch == Arch::Sm90a && RANKS == 2 && D == R &&
                sizeof(Storage<D>) == 2)
    if (with.summed())
      return takeSentRow<D, THREADS>(with, row, thread, blocks, ownChunk, sum,
                                     added);
  u32 turn = loadPeerWord(with.turns()) / kExchangeTurn % 2;
  Addends<R, V, slots, Added> addends;
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s))
      addends.ask(s, chunkOf(s), added);
  u32x4 mine[slots], come[slots][RANKS];
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s)) mine[s] =
      sendable(bitCast<u32x4>(packExact<D, V>(ownChunk(chunkOf(s)))));
  i64 slotAt = i64(turn) * RANKS * with.partBytes() + rowAt;
  i64 ownAt = slotAt + with.place() * with.partBytes();
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s))
      HK_UNROLL for (int r = 0; r < RANKS; ++r) if (u32(r) != with.place())
          storePeer((Global<u32x4>)(with.window(r) + ownAt) + chunkOf(s),
                    mine[s]);
  auto partOf = [&](int s, int r) __attribute__((always_inline)) {
    return (Global<u32x4>)(with.own() + slotAt + r * with.partBytes()) +
           chunkOf(s);
  };
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s))
      HK_UNROLL for (int r = 0; r < RANKS; ++r) if (u32(r) != with.place())
          come[s][r] = loadPeer(partOf(s, r));
  HK_UNROLL for (int s = 0; s < slots; ++s) if (holds(s)) {
    Carrier<D, V> total;
    HK_UNROLL for (int r = 0; r < RANKS; ++r) {
      u32x4 v = u32(r) == with.place() ? mine[s] : come[s][r];
      if (u32(r) != with.place()) {
        v = awaitPeer(partOf(s, r), v, with.isOver(), quickLooks(blocks));
        storePeer(partOf(s, r), u32x4(kNotCome));
      }
      Carrier<D, V> part = unpack<D, V>(bitCast<Chunk>(v));
      total = r == 0 ? part : total + part;
    }
    sum.template store<V>(i64(chunkOf(s)) * V, addends.add(s, total));
  }
  endTurn(with, row, thread, blocks);
}

/// The same by an owner for each row; R is as wide as D.
template <DType D, DType R, int RANKS, int THREADS, i64 N, class Own>
HK_DEV void exchangeRowTwice(const u64 *words, i64 row, i32 thread, u32 blocks,
                             const Own &ownChunk, ExchangedRow<R, N> &sum) {
  constexpr int V = kExchangeChunk / int(sizeof(Storage<D>));
  constexpr int chunks = int(N / V), slots = (chunks + THREADS - 1) / THREADS;
  static_assert(N % V == 0 && sizeof(Storage<D>) == sizeof(Storage<R>));
  ExchangeWords<RANKS> with{words};
  u32 place = with.place(), owner = u32(row % RANKS);
  u32 turn = loadPeerWord(with.turns()) / kExchangeTurn % 2;
  i64 rowAt =
      i64(turn) * RANKS * with.partBytes() + row * N * i64(sizeof(Storage<D>));
  auto partOf = [&](Global<u8> window, u32 of,
                    int chunk) __attribute__((always_inline)) {
    return (Global<u32x4>)(window + rowAt + i64(of) * with.partBytes()) + chunk;
  };
  // What has come is made empty again.
  auto take = [&](u32 of, int chunk) __attribute__((always_inline)) {
    Global<u32x4> p = partOf(with.own(), of, chunk);
    u32x4 v = awaitPeer(p, loadPeer(p), with.isOver(), quickLooks(blocks));
    storePeer(p, u32x4(kNotCome));
    return v;
  };
  for (int s = 0; s < slots; ++s) {
    int chunk = s * THREADS + thread;
    if (chunks % THREADS != 0 && chunk >= chunks)
      break;
    u32x4 mine = sendable(bitCast<u32x4>(packExact<D, V>(ownChunk(chunk))));
    u32x4 result;
    if (place != owner) {
      storePeer(partOf(with.window(int(owner)), place, chunk), mine);
      continue;
    }
    Carrier<D, V> total;
    HK_UNROLL for (int r = 0; r < RANKS; ++r) {
      u32x4 v = u32(r) == place ? mine : take(u32(r), chunk);
      Carrier<D, V> part = unpack<D, V>(bitCast<Packed<D, V>>(v));
      total = r == 0 ? part : total + part;
    }
    result = sendable(bitCast<u32x4>(pack<R, V>(total)));
    HK_UNROLL for (int r = 0; r < RANKS; ++r) if (u32(r) != place)
        storePeer(partOf(with.window(r), place, chunk), result);
    *sum.template chunk<V>(i64(chunk) * V) = bitCast<Packed<R, V>>(result);
  }
  if (place != owner)
    for (int chunk = thread; chunk < chunks; chunk += THREADS)
      *sum.template chunk<V>(i64(chunk) * V) =
          bitCast<Packed<R, V>>(take(owner, chunk));
  endTurn(with, row, thread, blocks);
}

/// By one shot for up to ONE_SHOT rows, then by two.
template <DType D, DType R, int RANKS, int GATHERED, int THREADS, i64 ONE_SHOT,
          i64 N, class Own>
HK_DEV void exchangeRowOfMany(const u64 *words, i64 row, i32 thread, u32 blocks,
                              const Own &ownChunk, ExchangedRow<R, N> &sum) {
  if (blocks <= ONE_SHOT || !ExchangeWords<RANKS>{words}.turns())
    exchangeRow<D, R, RANKS, GATHERED, THREADS>(words, row, thread, blocks,
                                                ownChunk, sum);
  else
    exchangeRowTwice<D, R, RANKS, THREADS>(words, row, thread, blocks, ownChunk,
                                           sum);
}

} // namespace hk

#endif // HK_KERNELS_COLLECTIVE_EXCHANGE_H
