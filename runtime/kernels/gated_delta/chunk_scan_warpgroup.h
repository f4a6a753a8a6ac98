//===- chunk_scan_warpgroup.h - A scan by warpgroup products -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As chunk_scan_matrix.h, for a chip that multiplies by warpgroups: a block
// walks over the chunks of one sequence with 64 values of one head. One
// warpgroup moves the state on and gives results. It has the state transposed,
// rows are values, and the layout of accumulators is that of a left operand in
// registers: neither the state nor what is new of the values, which are
// multiplied with w and queries, and with keys and weights, goes through LDS,
// whose bandwidth bounds a chunk. One computes weights, chunks ahead. One
// brings operands of chunks to come, in a ring of stages, and stores results;
// barriers in LDS say what has come and what is free. Grid: x is (sequence,
// head, slice of the values).
//
// A token's weight for those before it is 0 in a product, which is right if
// what is new of all values is finite; else that sum is taken by definition.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_SCAN_WARPGROUP_H
#define HK_KERNELS_GATED_DELTA_CHUNK_SCAN_WARPGROUP_H

#include "kernels/device/arch/nvptx_pairs.h"
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
  using Slot = RingPlace<2>;   // of weights
  using Buffer = RingPlace<1>; // of results
  using WarpgroupLds::WarpgroupLds;

  HK_MEM u32 w(u32 stage) const { return base + stage * kStageBytes; }
  HK_MEM u32 keys(u32 stage) const { return w(stage) + kKeyBytes; }
  HK_MEM u32 queries(u32 stage) const { return keys(stage) + kKeyBytes; }
  HK_MEM u32 values(u32 stage) const { return queries(stage) + kKeyBytes; }
  /// What the tokens of a chunk are for each other, a row for each.
  HK_MEM u32 weights(u32 slot) const { return w(kStages) + slot * kChunkPanel; }
  /// A row for each token, of f32 or of the operands' type.
  HK_MEM u32 results() const { return weights(2); }
  HK_MEM float *resultRows() const { return floats(results()); }
  /// Sums of decays, their exponentials, what decay leaves of a token at the
  /// chunk's end and of the state.
  HK_MEM float *decays(u32 stage) const {
    return resultRows() + kChunk * kResultRow + stage * kFactorWords;
  }
  HK_MEM float *grown(u32 stage) const { return decays(stage) + kChunk; }
  HK_MEM float *left(u32 stage) const { return grown(stage) + kChunk; }
  HK_MEM float &all(u32 stage) const { return left(stage)[kChunk]; }

  /// The operands of a stage have come; both warpgroups have read them; and so
  /// on of weights and results.
  HK_MEM LdsBarrier full(u32 stage) const { return bar(stage); }
  HK_MEM LdsBarrier empty(u32 stage) const { return bar(kStages + stage); }
  HK_MEM LdsBarrier weightsFull(u32 slot) const {
    return bar(2 * kStages + slot);
  }
  HK_MEM LdsBarrier weightsEmpty(u32 slot) const {
    return bar(2 * kStages + 2 + slot);
  }
  HK_MEM LdsBarrier resultsFull() const { return bar(2 * kStages + 4); }
  HK_MEM LdsBarrier resultsEmpty() const { return bar(2 * kStages + 5); }
  HK_MEM void begin() const {
    HK_UNROLL for (u32 s = 0; s < kStages; ++s) {
      full(s).init(kWarpgroup + kWaves); // copies of threads, stores of waves
      empty(s).init(2 * kWaves);
    }
    HK_UNROLL for (u32 s = 0; s < 2; ++s) {
      weightsFull(s).init(kWaves);
      weightsEmpty(s).init(kWaves);
    }
    resultsFull().init(kWaves);
    resultsEmpty().init(kWaves);
    publishBarriers();
  }

private:
  HK_MEM float *floats(u32 at) const {
    return reinterpret_cast<float *>(bytes(at));
  }
  HK_MEM LdsBarrier bar(u32 i) const {
    constexpr u32 first = kStages * kStageBytes + 2 * kChunkPanel +
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
  using Slot = typename Lds::Slot;
  using Buffer = typename Lds::Buffer;
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
    if (group == 0) {
      takeRegisters<kStateRegisters>();
      moveState<Io>(pool, at, lds);
    } else if (group == 1) {
      giveRegisters<kWeightRegisters>();
      weighChunks(at, lds);
    } else {
      giveRegisters<kCopyRegisters>();
      moveRows(at, lds, io);
    }
  }

private:
  static constexpr int kStateRegisters = 232, kWeightRegisters = 144,
                       kCopyRegisters = 128;

  /// Whether results go to memory as they are, in the operands' type.
  template <class Io>
  static constexpr bool kPlainResults = !__is_same(
      decltype(static_cast<Io *>(nullptr)->resultAt(0, 0, 0, 0)), NoAddress);

  //===--------------------------------------------------------------------===//
  // The state and results
  //===--------------------------------------------------------------------===//

  using Corrections = RowScoreChain<S.key, kChunk, S.keys>;
  using Additions = ValueChain<S.key, S.keys, kChunk>;
  using Inside = RowScoreChain<S.key, kChunk, kChunk>;
  using StateRegisters = typename Additions::Registers;
  using ResultRegisters = typename Corrections::Registers;

  /// Results of a chunk, until they go to LDS: as they go to memory, or f32.
  template <bool PLAIN> struct Results {
    u32 words[kChunk / 4];

    HK_MEM void take(const ResultRegisters &o) {
      ResultRegisters scaled;
      HK_UNROLL for (int i = 0; i < kChunk / 2; ++i) scaled[i] = o[i] * S.scale;
      pack(scaled, words);
      settleWords(words);
    }
    HK_MEM void leave(const Lds &lds) {
      eachColumns(lds.results(), words,
                  [](u32 place, u32(&v)[4]) { storeColumns(place, v); });
    }
  };
  template <> struct Results<false> {
    u32 words[kChunk / 2];

    HK_MEM void take(const ResultRegisters &o) {
      HK_UNROLL for (int i = 0; i < kChunk / 2; ++i) words[i] =
          bitCast<u32>(o[i] * S.scale);
      settleWords(words);
    }
    HK_MEM void leave(const Lds &lds) {
      HK_UNROLL for (int i = 0; i < kChunk / 2; ++i)
          lds.resultRows()[columnOf(i) * Lds::kResultRow + rowOf(i)] =
          bitCast<float>(words[i]);
    }
  };
  /// Computed here, in registers that no product has: those of one the
  /// assembler takes for busy while another is under way.
  template <int COUNT> HK_MEM static void settleWords(u32 (&words)[COUNT]) {
    HK_UNROLL for (u32 &word : words) settleWord(word);
  }

  template <class Io>
  HK_MEM static void moveState(const StateArgs &pool, const Place &at,
                               const Lds &lds) {
    StateRegisters s;
    Results<kPlainResults<Io>> o; // of the chunk before
    load(s, pool, at);
    u32 chunks = u32(sameInWarp(int(at.chunks())));
    int last = lengthOf(at.chunk(i64(chunks) - 1));
    for (u32 n = 0; n < chunks; ++n)
      step(s, o, n, n + 1 < chunks ? kChunk : last, lds);
    if (chunks > 0)
      leaveResults(o, chunks - 1, lds);
    store(s, pool, at);
  }

  template <class Results>
  HK_MEM static void step(StateRegisters &s, Results &o, u32 n, int length,
                          const Lds &lds) {
    Stage place(n);
    Slot slot(n);
    u32 words[Corrections::kWords];
    pack(s, words);
    lds.full(place.stage).waitTogether(place.phase);
    publishToCopies(); // of operands that threads have stored
    // Before the products, as for settleWords().
    float all = lds.all(place.stage);
    HK_UNROLL for (float &v : s) v *= all;
    settleProduct(s);
    typename Corrections::Registers x, y;
    Corrections::begin(x, words, operandDescriptor(lds.w(place.stage)));
    Corrections::begin(y, words, operandDescriptor(lds.queries(place.stage)));
    if (n > 0)
      leaveResults(o, n - 1, lds);
    u32 fresh[kChunk / 4], late[Additions::kWords];
    eachColumns(lds.values(place.stage), fresh,
                [](u32 place, u32(&v)[4]) { loadColumns(place, v); });
    waitProducts<1>();
    settleProduct(x);
    u32 unbounded =
        length == kChunk
            ? correct<true>(x, fresh, late, length, lds.left(place.stage))
            : correct<false>(x, fresh, late, length, lds.left(place.stage));
    Additions::begin(s, late,
                     transposedDescriptor(lds.keys(place.stage), kChunkPanel));
    // Rows of a product are of one wave: what others have does not matter.
    bool finite = ballot(unbounded != 0) == 0;
    u32 own[kChunk / 4];
    HK_UNROLL for (int i = 0; i < kChunk / 4; ++i) own[i] =
        finite ? fresh[i] : 0;
    waitProducts<1>();
    settleProduct(y);
    grow(y, lds.grown(place.stage));
    lds.weightsFull(slot.stage).waitTogether(slot.phase);
    Inside::add(y, own, operandDescriptor(lds.weights(slot.stage)));
    waitProducts<0>();
    settleProduct(s);
    settleProduct(y);
    if (!finite)
      addByDefinition(y, fresh, place.stage, slot.stage, lds);
    arriveOfWave(lds.weightsEmpty(slot.stage));
    arriveOfWave(lds.empty(place.stage));
    o.take(y);
  }

  /// What is new of the values replaces u, zeros behind the last token; `late`
  /// is what decay leaves of it at the chunk's end. Not 0 if something is not
  /// finite. WHOLE: no token is missing.
  template <bool WHOLE>
  HK_MEM static u32 correct(const typename Corrections::Registers &product,
                            u32 (&u)[kChunk / 4], u32 (&late)[kChunk / 4],
                            int length, const float *left) {
    u32 unbounded = 0; // a pair of zeros, or NaN
    HK_UNROLL for (int i = 0; i < kChunk / 4; ++i) {
      int token = columnOf(2 * i);
      f32x2 factor = *reinterpret_cast<const f32x2 *>(left + token);
      auto own = unpack<S.key, 2>(bitCast<Packed<S.key, 2>>(u[i]));
      float fresh[2], kept[2];
      HK_UNROLL for (int e = 0; e < 2; ++e) {
        float x = own[e] - product[2 * i + e];
        // Behind the sequence nothing is added, whatever the state is.
        bool counts = WHOLE || token + e < length;
        fresh[e] = counts ? x : 0.f;
        kept[e] = counts ? x * factor[e] : 0.f;
      }
      u[i] = packPair<S.key>(fresh[0], fresh[1]);
      late[i] = packPair<S.key>(kept[0], kept[1]);
      unbounded = HalfPair<S.key>::fma(u[i], 0, unbounded);
    }
    return unbounded & 0x7FFF7FFFu;
  }

  /// What the state at the chunk's start gives its tokens.
  HK_MEM static void grow(ResultRegisters &y, const float *grown) {
    HK_UNROLL for (int i = 0; i < Corrections::kRegisters; i += 4) {
      f32x2 factor = *reinterpret_cast<const f32x2 *>(grown + columnOf(i));
      HK_UNROLL for (int e = 0; e < 4; ++e) y[i + e] *= factor[e % 2];
    }
  }

  HK_MEM static float element(const u8 *panel, int row, int column) {
    return unpack<S.key, 1>(*reinterpret_cast<const Packed<S.key, 1> *>(
        panel + panelPlace(0, row, column / 8) + column % 8 * 2))[0];
  }
  /// `fresh`, this wave's, goes where u was, which only this wave reads.
  HK_MEM static void addByDefinition(ResultRegisters &o,
                                     u32 (&fresh)[kChunk / 4], u32 stage,
                                     u32 slot, const Lds &lds) {
    eachColumns(lds.values(stage), fresh,
                [](u32 place, u32(&v)[4]) { storeColumns(place, v); });
    waveBarrier();
    const u8 *values = lds.bytes(lds.values(stage));
    const u8 *weights = lds.bytes(lds.weights(slot));
    HK_UNROLL for (int i = 0; i < Corrections::kRegisters; ++i) {
      int token = columnOf(i);
      float sum = 0;
      for (int j = 0; j <= token; ++j)
        sum = __builtin_fmaf(element(weights, token, j),
                             element(values, j, rowOf(i)), sum);
      o[i] += sum;
    }
  }

  /// Results of chunk n for those that store them.
  template <class Results>
  HK_MEM static void leaveResults(Results &o, u32 n, const Lds &lds) {
    lds.resultsEmpty().waitTogether(Buffer(n).phase ^ 1);
    o.leave(lds);
    arriveOfWave(lds.resultsFull());
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
  // Weights
  //===--------------------------------------------------------------------===//

  HK_MEM static void weighChunks(const Place &at, const Lds &lds) {
    u32 chunks = u32(sameInWarp(int(at.chunks())));
    for (u32 n = 0; n < chunks; ++n)
      weighChunk(n, lengthOf(at.chunk(n)), lds);
  }

  HK_MEM static void weighChunk(u32 n, int length, const Lds &lds) {
    Stage place(n);
    Slot slot(n);
    const int lane = laneId(), wave = sameInWarp(waveId() % 4);
    const int row = wave * 16 + lane % 16;
    lds.full(place.stage).waitTogether(place.phase);
    publishToCopies();
    u32 queries[Corrections::kWords];
    HK_UNROLL for (int i = 0; i < S.keys / 16; ++i) {
      u32 v[4];
      loadMatrices(panelPlace(lds.queries(place.stage), row, 2 * i + lane / 16),
                   v);
      HK_UNROLL for (int e = 0; e < 4; ++e) queries[4 * i + e] = v[e];
    }
    typename Corrections::Registers x;
    Corrections::begin(x, queries, operandDescriptor(lds.keys(place.stage)));
    waitProducts<0>();
    settleProduct(x);
    u32 words[kChunk / 4];
    weigh(x, words, wave, length, lds.decays(place.stage));
    lds.weightsEmpty(slot.stage).waitTogether(slot.phase ^ 1);
    HK_UNROLL for (int i = 0; i < kChunk / 16; ++i) {
      u32 v[4] = {words[4 * i], words[4 * i + 1], words[4 * i + 2],
                  words[4 * i + 3]};
      storeMatrices(panelPlace(lds.weights(slot.stage), row, 2 * i + lane / 16),
                    v);
    }
    publishToCopies();
    arriveOfWave(lds.weightsFull(slot.stage));
    arriveOfWave(lds.empty(place.stage));
  }

  /// Products of queries and keys become weights; later tokens have none.
  HK_MEM static void weigh(const typename Corrections::Registers &x,
                           u32 (&words)[kChunk / 4], int wave, int length,
                           const float *decays) {
    constexpr int each = 8; // registers of a block of 16 tokens
    float to[2] = {decays[rowOf(0)], decays[rowOf(2)]};
    HK_UNROLL for (u32 &word : words) word = 0;
    HK_UNROLL for (int c = 0; c < kChunk / 16; ++c) {
      if (c > wave)
        break;
      HK_UNROLL for (int i = c * each; i < c * each + each; i += 2) {
        int row = rowOf(i), column = columnOf(i);
        f32x2 from = *reinterpret_cast<const f32x2 *>(decays + column);
        float weight[2];
        HK_UNROLL for (int e = 0; e < 2; ++e) {
          bool counts = column + e <= row && row < length;
          // Of all tokens, as a branch would take longer.
          float product = x[i + e] * decayFactor(to[i / 2 % 2] - from[e]);
          weight[e] = counts ? product : 0.f;
        }
        words[i / 2] = packPair<S.key>(weight[0], weight[1]);
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Operands and results in memory
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
  HK_MEM static void moveRows(const Place &at, const Lds &lds, const Io &io) {
    const int thread = threadId() % kWarpgroup;
    constexpr i64 ahead = Lds::kStages;
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
      if (n >= ahead)
        storeResults(at, n - ahead, thread, lds, io);
    }
    for (i64 n = chunks < ahead ? 0 : chunks - ahead; n < chunks; ++n)
      storeResults(at, n, thread, lds, io);
  }

  template <class Io>
  HK_MEM static void storeResults(const Place &at, i64 n, int thread,
                                  const Lds &lds, const Io &io) {
    TokenSpan chunk = at.chunk(n);
    lds.resultsFull().waitTogether(Buffer(u32(n)).phase);
    if constexpr (kPlainResults<Io>)
      Base::template storeRows<kValues>(
          lds.results(), chunk, thread, lds,
          [&](i64 t, int c) {
            return io.resultAt(chunk.batch, t, at.head, at.first + c);
          },
          [](i64, int, auto) {});
    else
      State::template storeResults<16, Lds::kResultRow>(
          lds.resultRows(), waveId() % 4 * 16, at, chunk, io);
    arriveOfWave(lds.resultsEmpty());
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
        lds.values(stage), chunk, thread, lds,
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
