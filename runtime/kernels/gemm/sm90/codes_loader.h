//===- codes_loader.h - fp4 codes decoded into a stage -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With many rows of A a tile's codes are decoded in the shadow of its products:
// the warpgroup that copies asks for those of three stages ahead, into LDS of
// its own, widens them to bf16, their powers of two included, and stores them
// where the copy engine would have. Two neighbouring lanes have a row's 64
// codes of a stage, and its powers of eight stages, which come at once: what
// they wait for is the number of requests. A thread reads the codes that it has
// copied, and its neighbour's half of the powers. Rows of A it asks for as
// gathered_loader.h does.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_LOADER_H
#define HK_KERNELS_GEMM_SM90_CODES_LOADER_H

#include "kernels/gemm/sm90/code_pairs.h"
#include "kernels/gemm/sm90/gathered_loader.h"

namespace hk {

template <class Config, class Groups> struct CodesLoader {
  using P = typename Config::P;
  using B = typename P::B;
  static constexpr int kThreads = kWarpgroup, kMaps = 0;
  /// A thread arrives with its copies of A, and with its codes.
  static constexpr int kArrivals = 2 * kWarpgroup;
  /// What those who multiply need: behind a gate over alternating columns they
  /// spill if they have 184 each, not 192.
  static constexpr int kRegisters = 120;
  /// Codes of a chunk, which share a power; chunks of a row's part of a stage;
  /// rows that the threads have at once, and chunks of a thread.
  static constexpr int kChunk = 32, kChunks = Config::T.bk / kChunk;
  static constexpr int kRowsAtOnce = kThreads / kChunks;
  static constexpr int kItems = Config::T.bn / kRowsAtOnce;
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = Config::T.bn / kParts;
  static_assert(Config::D == DType::BF16 && B::kAlign >= 16 &&
                B::kKContiguous && kPowersOfCodes<B::kMem, typename B::Decode>);

  /// Stages whose codes are under way, and places for them: what a place had is
  /// read when the next is asked for. A place has the codes of all threads'
  /// items.
  static constexpr int kAhead = 3, kPlaces = kAhead + 1;
  static constexpr u32 kPlaceBytes = kItems * kThreads * 16;
  /// Powers come 16 at a time, for as many chunks of a row: two pieces of 16
  /// bytes, as they begin anywhere in the first. Places for those in use and
  /// the next.
  static constexpr int kSpan = 16 / kChunks;
  static constexpr u32 kPowersAt = kPlaces * kPlaceBytes;
  static constexpr u32 kPowersBytes = Config::T.bn * 32;
  static_assert(kChunks == 2 &&
                kPowersAt + 2 * kPowersBytes <= u32(Config::kStageBytes));

  typename Config::Layout lds;
  const GemmArgs &args;
  const GroupArgs &groups;
  RowsByThread<Config, Groups> a;
  /// Codes and powers of the group's matrix; the thread's rows of it.
  u64 codes, powers;
  u32 rows[kItems];
  /// Where in its first piece the powers of each begin, four bits each.
  u32 phases;
  /// Spans before this tile, of one place each, and its steps.
  int spans = 0, steps = 0;

  HK_MEM CodesLoader(const typename Config::Layout &lds, const GemmArgs &args,
                     const GroupArgs &groups)
      : lds(lds), args(args), groups(groups), a(args, groups) {}

  HK_MEM static bool works() { return true; }

  HK_MEM void begin(const WarpPlace &at) {
    if (at.steps == 0)
      return;
    a.begin(at);
    codes = args.b.data + u64(at.matrix * groups.stride) / 2;
    powers = args.b.decode.data + u64(at.matrix * groups.strideDecode);
    HK_UNROLL for (int i = 0; i < kItems; ++i) rows[i] = rowOf(at, i);
    phases = 0;
    HK_UNROLL for (int i = 0; i < kItems; ++i) phases |=
        u32(powers + rows[i] * u64(args.b.decode.strideRow) +
            u64(at.k0 / kChunk)) %
            16 * powersAreNeighbours()
        << 4 * i;
    // Not where the neighbour may still read those of the last tile.
    spans += (steps + kSpan - 1) / kSpan;
    steps = at.steps;
    HK_UNROLL for (int step = 0; step < kAhead; ++step) {
      ask(at, step);
      commitDirectCopies();
    }
  }
  HK_MEM void fill(const WarpPlace &at, int step, u32 stage) const {
    a.copy(at.k0 + step * Config::T.bk, lds.stageA(stage));
    arriveAfterCopies(lds.full(stage));
    ask(at, step + kAhead);
    commitDirectCopies();
    waitDirectCopies<kAhead, 2 * kItems>();
    // Its neighbour has the other piece of the powers.
    waveBarrier();
    HK_UNROLL for (int i = 0; i < kItems; ++i) pass(at, step, stage, i);
    // Who multiplies has the fence.
    lds.full(stage).arrive();
  }
  HK_MEM void finish() const { a.finish(); }

private:
  HK_MEM int chunk() const { return a.thread % kChunks; }
  HK_MEM int rowOfItem(int i) const {
    return a.thread / kChunks + i * kRowsAtOnce;
  }
  /// The row of B of the thread's item i. Of rows that do not exist the last
  /// one, whose sums nobody stores.
  HK_MEM u32 rowOf(const WarpPlace &at, int i) const {
    int r = rowOfItem(i), part = r / kPartRows;
    u32 column = u32(at.col + r % kPartRows), last = u32(args.n) - 1;
    column = column < last ? column : last;
    return B::kStep == 2 ? column * 2 + u32(part)
                         : column + u32(part) * u32(args.n);
  }
  HK_MEM u32 placeOf(int step) const {
    return lds.codes() + u32(step % kPlaces) * kPlaceBytes;
  }
  HK_MEM i64 kOf(const WarpPlace &at, int step) const {
    return at.k0 + i64(step) * Config::T.bk + chunk() * kChunk;
  }
  /// Zeros behind the end of k, nothing behind the last step: the next tile's
  /// codes take those places.
  HK_MEM void ask(const WarpPlace &at, int step) const {
    if (step >= at.steps)
      return;
    i64 k = kOf(at, step);
    bool inside = k < args.k;
    u32 to = placeOf(step);
    HK_UNROLL for (int i = 0; i < kItems; ++i) {
      // Opaque, as in RowsByThread::copy().
      u64 row = opaqueWord(rows[i]);
      u64 code = codes + row * u64(args.b.stride / 2) + u64(k / 2);
      u32 item = u32(i * kThreads + a.thread);
      copyToLds16(to + item * 16, global<const u8>(inside ? code : codes),
                  inside);
    }
    if (step % kSpan == 0)
      askPowers(at, step);
  }
  /// Where the powers of the steps around `step` lie, of the thread's item i.
  HK_MEM u32 powersOf(int step, int i) const {
    return lds.codes() + kPowersAt +
           u32((spans + step / kSpan) % 2) * kPowersBytes +
           u32(rowOfItem(i)) * 32;
  }
  HK_MEM bool powersAreNeighbours() const { return args.b.decode.strideK == 1; }
  /// A piece a lane: neighbours read both.
  HK_MEM void askPowers(const WarpPlace &at, int step) const {
    i64 first = (at.k0 + i64(step) * Config::T.bk) / kChunk;
    // Chunks of k from there on.
    int left = int((args.k + kChunk - 1) / kChunk - first);
    HK_NO_UNROLL for (int i = 0; i < kItems; ++i) {
      u64 power = powers + rowOf(at, i) * u64(args.b.decode.strideRow) +
                  u64(first * args.b.decode.strideK);
      u32 to = powersOf(step, i);
      if (!powersAreNeighbours()) {
        putPowers(power, left, to);
        continue;
      }
      bool exists = chunk() * 16 < (int(power) & 15) + left;
      u64 piece = (power & ~u64(15)) + u32(chunk() * 16);
      copyToLds16(to + u32(chunk() * 16),
                  global<const u8>(exists ? piece : codes), exists);
    }
  }
  /// Powers apart, half of them a lane.
  HK_MEM void putPowers(u64 from, int left, u32 to) const {
    HK_NO_UNROLL for (int word = chunk() * 2; word < chunk() * 2 + 2; ++word) {
      u32 four = 0;
      HK_NO_UNROLL for (int i = word * 4; i < word * 4 + 4 && i < left; ++i)
          four |= u32(*global<const u8>(from + u64(i * args.b.decode.strideK)))
                  << i % 4 * 8;
      storeLds4(to + u32(word * 4), four);
    }
  }
  HK_MEM void pass(const WarpPlace &at, int step, u32 stage, int i) const {
    u32 item = u32(i * kThreads + a.thread), from = placeOf(step);
    u32x4 word = loadLds16(from + item * 16);
    u32 offset = (phases >> 4 * i & 15) + u32(step % kSpan * kChunks + chunk());
    u32 power =
        loadLds4(powersOf(step, i) + (offset & ~3u)) >> (offset & 3) * 8 & 255;
    // Behind the end of k is another row's, or anything.
    power = kOf(at, step) < args.k ? power : 0;
    if (PairPower<true>::holds(power))
      store(lds.stageB(stage), i, word, PairPower<true>(power, 0));
    else
      store(lds.stageB(stage), i, word, PairPower<false>(power, 0));
  }
  /// Pairs are of codes four apart; memory wants neighbours.
  template <class Power>
  HK_MEM void store(u32 stage, int i, u32x4 word, Power power) const {
    HK_UNROLL for (int w = 0; w < 4; ++w) {
      u32 a = power.pair(word[w], 0), b = power.pair(word[w], 1);
      u32 c = power.pair(word[w], 2), d = power.pair(word[w], 3);
      u32x4 v = {__nvvm_prmt(a, b, 0x5410), __nvvm_prmt(c, d, 0x5410),
                 __nvvm_prmt(a, b, 0x7632), __nvvm_prmt(c, d, 0x7632)};
      storeLds16(
          stage + swizzled<Config::kRow>(rowOfItem(i), (chunk() * 4 + w) * 16),
          bitCast<f32x4>(v));
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_LOADER_H
