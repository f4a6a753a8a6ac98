//===- chunk_scan_warpgroup.h - A scan by warpgroup products -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As chunk_scan_matrix.h, for a chip that multiplies by warpgroups: a block
// walks over the chunks of one sequence with 64 values of one head. One
// warpgroup moves the state on. It has the state transposed, rows are values,
// and the layout of accumulators is that of a left operand in registers, so
// that neither the state nor what is new of the values waits for LDS. One gives
// results, some chunks behind, of the copies in LDS that the first leaves it.
// One brings operands of chunks to come, in a ring of stages; barriers in LDS
// say what has come and what is free. Grid: x is (sequence, head, slice of the
// values).
//
// A token's weight for those before it is 0 in a product, which is right if
// what is new of all values is finite; else that sum is taken by definition.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_SCAN_WARPGROUP_H
#define HK_KERNELS_GATED_DELTA_CHUNK_SCAN_WARPGROUP_H

#include "kernels/gated_delta/warpgroup.h"

namespace hk {

/// Where the parts of a scan by warpgroups lie in LDS, and its barriers.
template <GatedDeltaSpec S> struct WarpgroupScanLds : WarpgroupLds {
  static constexpr ChunkShape kShape = chunkShape(S);
  static constexpr int kChunk = S.chunk, kValues = int(kWarpgroupValues);
  static constexpr u32 kStages = u32(warpgroupScanStages(kTarget, kShape));
  static constexpr u32 kKeyBytes = kChunk * S.keys * 2;
  static constexpr u32 kStageBytes = u32(warpgroupStageBytes(kShape));
  static constexpr u32 kFactorWords = u32(warpgroupFactorWords(kShape));
  static constexpr int kResultRow = int(kWarpgroupResultRow);
  static constexpr u32 kWaves = kWarpgroup / kWave;

  struct Shared {
    u8 bytes[warpgroupScanBytes(kShape, kStages)];
  };
  using Stage = RingPlace<kStages>;
  using Start = RingPlace<2>;
  using WarpgroupLds::WarpgroupLds;

  HK_MEM u32 w(u32 stage) const { return base + stage * kStageBytes; }
  HK_MEM u32 keys(u32 stage) const { return w(stage) + kKeyBytes; }
  HK_MEM u32 queries(u32 stage) const { return keys(stage) + kKeyBytes; }
  /// u, which what is new of the values replaces.
  HK_MEM u32 fresh(u32 stage) const { return queries(stage) + kKeyBytes; }
  /// The state at a chunk's start, rounded, a row for each value.
  HK_MEM u32 start(u32 slot) const {
    return w(kStages) + slot * (kValues * S.keys * 2);
  }
  HK_MEM float *results() const { return floats(start(2)); }
  /// Sums of decays, their exponentials, what decay leaves of a token at the
  /// chunk's end and of the state.
  HK_MEM float *decays(u32 stage) const {
    return results() + kChunk * kResultRow + stage * kFactorWords;
  }
  HK_MEM float *grown(u32 stage) const { return decays(stage) + kChunk; }
  HK_MEM float *left(u32 stage) const { return grown(stage) + kChunk; }
  HK_MEM float &all(u32 stage) const { return left(stage)[kChunk]; }
  /// Of the four waves: whether something new of the values is not finite.
  HK_MEM u32 *unbounded(u32 stage) const {
    return reinterpret_cast<u32 *>(left(stage) + kChunk + 4);
  }

  /// The operands of a stage have come; both warpgroups have read them; what is
  /// new of the values is there.
  HK_MEM LdsBarrier full(u32 stage) const { return bar(stage); }
  HK_MEM LdsBarrier empty(u32 stage) const { return bar(kStages + stage); }
  HK_MEM LdsBarrier freshFull(u32 stage) const {
    return bar(2 * kStages + stage);
  }
  HK_MEM LdsBarrier startFull(u32 slot) const {
    return bar(3 * kStages + slot);
  }
  HK_MEM LdsBarrier startEmpty(u32 slot) const {
    return bar(3 * kStages + 2 + slot);
  }
  HK_MEM void begin() const {
    HK_UNROLL for (u32 s = 0; s < kStages; ++s) {
      full(s).init(kWarpgroup + kWaves); // copies of threads, stores of waves
      empty(s).init(2 * kWaves);
      freshFull(s).init(kWaves);
    }
    HK_UNROLL for (u32 s = 0; s < 2; ++s) {
      startFull(s).init(kWaves);
      startEmpty(s).init(kWaves);
    }
    publishBarriers();
  }

private:
  HK_MEM float *floats(u32 at) const {
    return reinterpret_cast<float *>(bytes(at));
  }
  HK_MEM LdsBarrier bar(u32 i) const {
    constexpr u32 first = kStages * kStageBytes + 2 * kValues * S.keys * 2 +
                          4 * (kChunk * kResultRow + kStages * kFactorWords);
    return {base + first + 8 * i};
  }
};

template <GatedDeltaSpec S, GatedDeltaTile TILE>
struct ChunkScanWarpgroup : WarpgroupChunks<S> {
  using Base = WarpgroupChunks<S>;
  using Base::arriveOfWave, Base::columnOf, Base::decayFactor,
      Base::eachColumns, Base::lengthOf, Base::pack, Base::rowOf;
  using Lds = WarpgroupScanLds<S>;
  using Shared = typename Lds::Shared;
  using Stage = typename Lds::Stage;
  using Start = typename Lds::Start;
  using State = MatrixState<S, TILE>;
  using Place = typename State::Place;
  static constexpr int kThreads = 3 * kWarpgroup, kChunk = S.chunk;
  static constexpr int kValues = Lds::kValues, kSlices = S.values / kValues;
  static_assert(TILE.threads == kThreads && S.key == S.value);
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Scan,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    Place at = {segmentSpan(tokens, kChunk, S.segments,
                            block.x / State::kBlocksPerSequence),
                block.x % State::kBlocksPerSequence / kSlices,
                i64(block.x % kSlices) * kValues};
    if (at.span.outside)
      return clear(at, io);
    Lds lds(shared.bytes);
    if (threadId() == 0)
      lds.begin();
    barrier();
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == 0)
      moveState(pool, at, lds);
    else if (group == 1)
      giveResults(at, lds, io);
    else
      bringOperands(at, lds, io);
  }

private:
  //===--------------------------------------------------------------------===//
  // The state
  //===--------------------------------------------------------------------===//

  using Corrections = RowScoreChain<S.key, kChunk, S.keys>;
  using Additions = ValueChain<S.key, S.keys, kChunk>;
  using StateRegisters = typename Additions::Registers;

  HK_MEM static void moveState(const StateArgs &pool, const Place &at,
                               const Lds &lds) {
    StateRegisters s;
    load(s, pool, at);
    u32 chunks = u32(sameInWarp(int(at.chunks())));
    int last = lengthOf(at.chunk(i64(chunks) - 1));
    for (u32 n = 0; n < chunks; ++n)
      step(s, n, n + 1 < chunks ? kChunk : last, lds);
    store(s, pool, at);
  }

  HK_MEM static void step(StateRegisters &s, u32 n, int length,
                          const Lds &lds) {
    Stage place(n);
    Start start(n);
    u32 words[Corrections::kWords];
    pack(s, words);
    keepStart(words, start, lds);
    lds.full(place.stage).waitTogether(place.phase);
    // Of the start for the other warpgroup, of operands for this one.
    publishToCopies();
    typename Corrections::Registers x;
    Corrections::begin(x, words, operandDescriptor(lds.w(place.stage)));
    arriveOfWave(lds.startFull(start.stage));
    float all = lds.all(place.stage);
    HK_UNROLL for (float &v : s) v *= all;
    u32 u[kChunk / 4];
    eachColumns(lds.fresh(place.stage), u,
                [](u32 place, u32(&v)[4]) { loadColumns(place, v); });
    waitProducts<0>();
    settleProduct(x);
    u32 late[Additions::kWords];
    u32 unbounded =
        length == kChunk
            ? correct<true>(x, u, late, length, lds.left(place.stage))
            : correct<false>(x, u, late, length, lds.left(place.stage));
    Additions::begin(s, late,
                     transposedDescriptor(lds.keys(place.stage), kChunkPanel));
    eachColumns(lds.fresh(place.stage), u,
                [](u32 place, u32(&v)[4]) { storeColumns(place, v); });
    u64 others = ballot(unbounded != 0);
    if (laneId() == 0)
      lds.unbounded(place.stage)[waveId()] = others != 0;
    publishToCopies();
    arriveOfWave(lds.freshFull(place.stage));
    waitProducts<0>();
    settleProduct(s);
    arriveOfWave(lds.empty(place.stage));
  }

  /// The rounded state into LDS, for results.
  HK_MEM static void keepStart(const u32 (&words)[S.keys / 4], Start place,
                               const Lds &lds) {
    lds.startEmpty(place.stage).waitTogether(place.phase ^ 1);
    const int lane = laneId(), row = waveId() % 4 * 16 + lane % 16;
    HK_UNROLL for (int i = 0; i < S.keys / 16; ++i) {
      u32 v[4] = {words[4 * i], words[4 * i + 1], words[4 * i + 2],
                  words[4 * i + 3]};
      storeMatrices(panelPlace(lds.start(place.stage), row, 2 * i + lane / 16),
                    v);
    }
  }

  /// What is new of the values replaces u, zeros behind the last token; `late`
  /// is what decay leaves of it at the chunk's end. Not 0 if something is not
  /// finite. WHOLE: no token is missing.
  template <bool WHOLE>
  HK_MEM static u32 correct(const typename Corrections::Registers &x,
                            u32 (&u)[kChunk / 4], u32 (&late)[kChunk / 4],
                            int length, const float *left) {
    constexpr bool bf16 = S.key == DType::BF16;
    constexpr u32 exponents = bf16 ? 0x7F807F80u : 0x7C007C00u;
    constexpr u32 next = bf16 ? 0x00800080u : 0x04000400u;
    u32 unbounded = 0;
    HK_UNROLL for (int i = 0; i < kChunk / 4; ++i) {
      float own[2], kept[2];
      HK_UNROLL for (int e = 0; e < 2; ++e) {
        int token = columnOf(2 * i + e);
        Packed<S.key, 1> packed =
            bitCast<Packed<S.key, 1>>(u16(u[i] >> (16 * e)));
        float fresh = unpack<S.key, 1>(packed)[0] - x[2 * i + e];
        // Behind the sequence nothing is added, whatever the state is.
        bool counts = WHOLE || token < length;
        own[e] = counts ? fresh : 0.f;
        kept[e] = counts ? fresh * left[token] : 0.f;
      }
      u[i] = packPair<S.key>(own[0], own[1]);
      late[i] = packPair<S.key>(kept[0], kept[1]);
      unbounded |= (u[i] & exponents) + next;
    }
    return unbounded & 0x80008000u;
  }

  HK_MEM static void load(StateRegisters &s, const StateArgs &pool,
                          const Place &at) {
    HK_UNROLL for (float &v : s) v = 0;
    if constexpr (S.segments > 1) {
      auto from = pool.starts.of(at.span.segment, at.span.number, at.head);
      HK_UNROLL for (int i = 0; i < S.keys / 2; ++i) s[i] =
          from[columnOf(i) * pool.starts.rowStride + at.first + rowOf(i)];
      return;
    }
    i64 line = initialLine<S>(pool, at.span.number);
    if (line < 0)
      return;
    auto base = global<const Storage<S.state>>(pool.state) +
                (line * pool.lineStride + at.head * pool.headStride);
    HK_UNROLL for (int i = 0; i < S.keys / 2; ++i) s[i] = hk::load<S.state, 1>(
        base, State::offsetOf(pool, at.first + rowOf(i), columnOf(i)))[0];
  }
  HK_MEM static void store(const StateRegisters &s, const StateArgs &pool,
                           const Place &at) {
    i64 line = at.span.ends ? stateLine<S>(pool, at.span.number) : -1;
    if (line < 0)
      return;
    auto base = global<Storage<S.state>>(pool.state) +
                (line * pool.lineStride + at.head * pool.headStride);
    HK_UNROLL for (int i = 0; i < S.keys / 2; ++i) hk::store<S.state, 1>(
        base, State::offsetOf(pool, at.first + rowOf(i), columnOf(i)),
        Vec<float, 1>(s[i]));
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  using Scores = ScoreChain<S.key, kChunk, S.keys, kChunk>;
  using Before = ScoreChain<S.key, kValues, S.keys, kChunk>;
  using Inside = ValueChain<S.key, kValues, kChunk>;
  using ResultRegisters = typename Before::Registers;

  template <class Io>
  HK_MEM static void giveResults(const Place &at, const Lds &lds,
                                 const Io &io) {
    u32 chunks = u32(sameInWarp(int(at.chunks())));
    for (u32 n = 0; n < chunks; ++n) {
      TokenSpan chunk = at.chunk(n);
      ResultRegisters o;
      results(o, n, lengthOf(chunk), lds);
      store(o, at, chunk, lds, io);
    }
  }

  HK_MEM static void results(ResultRegisters &o, u32 n, int length,
                             const Lds &lds) {
    Stage place(n);
    Start start(n);
    typename Scores::Registers x;
    u64 queries = operandDescriptor(lds.queries(place.stage));
    // The other warpgroup has published the operands with the start. A fence
    // here would wait for the last chunk's results to be in memory.
    lds.startFull(start.stage).waitTogether(start.phase);
    Scores::begin(x, queries, operandDescriptor(lds.keys(place.stage)));
    Before::begin(o, queries, operandDescriptor(lds.start(start.stage)));
    waitProducts<1>();
    settleProduct(x);
    u32 weights[Inside::kWords];
    weigh(x, length, lds.decays(place.stage));
    pack(x, weights);
    float grown[2] = {lds.grown(place.stage)[rowOf(0)],
                      lds.grown(place.stage)[rowOf(2)]};
    waitProducts<0>();
    settleProduct(o);
    arriveOfWave(lds.startEmpty(start.stage));
    HK_UNROLL for (int i = 0; i < Before::kRegisters; ++i) o[i] *=
        grown[i / 2 % 2];
    lds.freshFull(place.stage).waitTogether(place.phase);
    if (isFinite(lds.unbounded(place.stage))) {
      Inside::begin(o, weights,
                    transposedDescriptor(lds.fresh(place.stage), kChunkPanel));
      waitProducts<0>();
      settleProduct(o);
    } else {
      addByDefinition(o, weights, place.stage, lds);
    }
    arriveOfWave(lds.empty(place.stage));
  }

  HK_MEM static bool isFinite(const u32 *unbounded) {
    u32 any = unbounded[0] | unbounded[1] | unbounded[2] | unbounded[3];
    return sameInWarp(int(any)) == 0;
  }

  /// Products of queries and keys become weights; later tokens have none.
  HK_MEM static void weigh(typename Scores::Registers &x, int length,
                           const float *decays) {
    float to[2] = {decays[rowOf(0)], decays[rowOf(2)]};
    HK_UNROLL for (int i = 0; i < Scores::kRegisters; ++i) {
      int row = rowOf(i), column = columnOf(i);
      bool counts = column <= row && row < length;
      // Of all tokens, as a branch would take longer.
      float weight = x[i] * decayFactor(to[i / 2 % 2] - decays[column]);
      x[i] = counts ? weight : 0.f;
    }
  }

  HK_MEM static void addByDefinition(ResultRegisters &o,
                                     const u32 (&weights)[kChunk / 4],
                                     u32 stage, const Lds &lds) {
    constexpr int row = Lds::kResultRow * 2;
    u16 *rows = reinterpret_cast<u16 *>(lds.results());
    waveBarrier();
    HK_UNROLL for (int i = 0; i < kChunk / 4; ++i)
        HK_UNROLL for (int e = 0; e < 2; ++e)
            rows[rowOf(2 * i) * row + columnOf(2 * i) + e] =
                u16(weights[i] >> (16 * e));
    waveBarrier();
    const u8 *fresh = lds.bytes(lds.fresh(stage));
    HK_UNROLL for (int i = 0; i < Before::kRegisters; ++i) {
      float sum = 0;
      for (int j = 0; j <= rowOf(i); ++j) {
        auto weight = bitCast<Packed<S.key, 1>>(rows[rowOf(i) * row + j]);
        auto value = *reinterpret_cast<const Packed<S.key, 1> *>(
            fresh + panelPlace(0, j, columnOf(i) / 8) + columnOf(i) % 8 * 2);
        sum = __builtin_fmaf(unpack<S.key, 1>(weight)[0],
                             unpack<S.key, 1>(value)[0], sum);
      }
      o[i] += sum;
    }
  }

  template <class Io>
  HK_MEM static void store(const ResultRegisters &o, const Place &at,
                           const TokenSpan &chunk, const Lds &lds,
                           const Io &io) {
    float *results = lds.results();
    waveBarrier();
    HK_UNROLL for (int i = 0; i < Before::kRegisters; i += 2) {
      float *to = results + rowOf(i) * Lds::kResultRow + columnOf(i);
      *reinterpret_cast<f32x2 *>(to) =
          f32x2{o[i] * S.scale, o[i + 1] * S.scale};
    }
    waveBarrier();
    State::template storeResults<16, Lds::kResultRow>(
        results, waveId() % 4 * 16, at, chunk, io);
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  /// Sums of decays of a chunk, on their way.
  struct Decays {
    float own, last;
    template <class Io>
    HK_MEM void load(const Place &at, const TokenSpan &chunk, int thread,
                     const Io &io) {
      int length = lengthOf(chunk), i = thread < length ? thread : length - 1;
      own = decayOf<S>(io, chunk, chunk.begin + i, at.head);
      last = decayOf<S>(io, chunk, chunk.end - 1, at.head);
    }
    HK_MEM void store(u32 stage, int thread, const Lds &lds) const {
      if (thread < kChunk) {
        lds.decays(stage)[thread] = own;
        lds.grown(stage)[thread] = decayBetween<S>(own, 0.f);
        lds.left(stage)[thread] = decayBetween<S>(last, own);
      }
      if (thread == 0)
        lds.all(stage) = decayBetween<S>(last, 0.f);
    }
  };

  template <class Io>
  HK_MEM static void bringOperands(const Place &at, const Lds &lds,
                                   const Io &io) {
    const int thread = threadId() % kWarpgroup;
    i64 chunks = at.chunks();
    // Loads come back in order, behind the copies that were begun before them:
    // decays are asked for two chunks ahead, so that no copy is waited for.
    Decays next, later;
    if (chunks > 0)
      next.load(at, at.chunk(0), thread, io);
    if (chunks > 1)
      later.load(at, at.chunk(1), thread, io);
    for (i64 n = 0; n < chunks; ++n) {
      Stage place(n);
      lds.empty(place.stage).waitTogether(place.phase ^ 1);
      next.store(place.stage, thread, lds);
      next = later;
      if (n + 2 < chunks)
        later.load(at, at.chunk(n + 2), thread, io);
      bring(at, at.chunk(n), place.stage, thread, lds, io);
      arriveAfterCopies(lds.full(place.stage));
      arriveOfWave(lds.full(place.stage));
    }
  }

  template <class Io>
  HK_MEM static void bring(const Place &at, const TokenSpan &chunk, u32 stage,
                           int thread, const Lds &lds, const Io &io) {
    i64 b = chunk.batch, head = at.head;
    i64 keyHead = head / (S.valueHeads / S.heads);
    Base::bringFactors(head, chunk, stage, thread, lds, io);
    Base::template bringRows<S.keys>(
        lds.queries(stage), chunk, thread, lds,
        [&](i64 t, int c) { return io.queryAt(b, t, keyHead, c); },
        [&](i64 t, int c) { return io.query(b, t, keyHead, c); });
    Base::template bringRows<kValues>(
        lds.fresh(stage), chunk, thread, lds,
        [&](i64 t, int c) { return io.uAt(b, t, head, at.first + c); },
        [&](i64 t, int c) { return io.u(b, t, head, at.first + c); });
  }

  template <class Io> HK_MEM static void clear(const Place &at, const Io &io) {
    State::template clearTokens<kThreads>(at, [&](i64 t, i64 c, auto x) {
      io.result(at.span.batch, t, at.head, c, x);
    });
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_SCAN_WARPGROUP_H
