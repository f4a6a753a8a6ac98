//===- transition_warpgroup.h - Transitions by warpgroups -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As transition.h, for a chip that multiplies by warpgroups. A block has 128
// columns; two warpgroups have the states of 64 each, transposed, as left
// operands in registers, a third brings operands in a ring of stages. What is
// multiplied is the sum of two numbers of the operands' type, so that it has
// twice their digits.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_TRANSITION_WARPGROUP_H
#define HK_KERNELS_GATED_DELTA_TRANSITION_WARPGROUP_H

#include "kernels/gated_delta/warpgroup.h"

namespace hk {

template <GatedDeltaSpec S> struct WarpgroupTransitionLds : WarpgroupLds {
  static constexpr ChunkShape kShape = chunkShape(S);
  static constexpr u32 kStages =
      u32(warpgroupTransitionStages(kTarget, kShape));
  static constexpr u32 kKeyBytes = u32(S.chunk * S.keys * 2);
  static constexpr u32 kStageBytes = u32(transitionStageBytes(kShape));
  struct Shared {
    u8 bytes[warpgroupTransitionBytes(kShape, kStages)];
  };
  using Stage = RingPlace<kStages>;
  using WarpgroupLds::WarpgroupLds;

  HK_MEM u32 w(u32 stage) const { return base + stage * kStageBytes; }
  HK_MEM u32 keys(u32 stage) const { return w(stage) + kKeyBytes; }
  HK_MEM u32 values(u32 stage, int group) const {
    return keys(stage) + kKeyBytes + u32(group) * kChunkPanel;
  }
  /// What decay leaves of a token at the chunk's end, of the state.
  HK_MEM float *left(u32 stage) const {
    return reinterpret_cast<float *>(bytes(w(kStages))) +
           stage * kTransitionFactorWords;
  }
  HK_MEM float &all(u32 stage) const { return left(stage)[S.chunk]; }
  HK_MEM LdsBarrier full(u32 stage) const { return bar(stage); }
  HK_MEM LdsBarrier empty(u32 stage) const { return bar(kStages + stage); }
  HK_MEM void begin() const {
    constexpr u32 waves = kWarpgroup / kWave;
    HK_UNROLL for (u32 s = 0; s < kStages; ++s) {
      full(s).init(kWarpgroup + waves); // copies of threads, stores of waves
      empty(s).init(2 * waves);
    }
    publishBarriers();
  }

private:
  HK_MEM LdsBarrier bar(u32 i) const {
    return {w(kStages) + kStages * u32(kTransitionFactorWords) * 4 + 8 * i};
  }
};

template <GatedDeltaSpec S, GatedDeltaTile TILE>
struct ChunkTransitionWarpgroup : WarpgroupChunks<S> {
  using Base = WarpgroupChunks<S>;
  using Base::arriveOfWave, Base::columnOf, Base::eachColumns, Base::lengthOf,
      Base::rowOf;
  using Lds = WarpgroupTransitionLds<S>;
  using Shared = typename Lds::Shared;
  using Stage = typename Lds::Stage;
  using State = MatrixState<S, TILE>;
  using Place = typename State::Place;
  static constexpr int kThreads = 3 * kWarpgroup, kChunk = S.chunk;
  static constexpr int kColumns = int(kWarpgroupValues);
  static constexpr int kSlices = S.values / (2 * kColumns);
  static constexpr i64 kBlocksPerSegment = i64(S.valueHeads) * kSlices;
  static_assert(TILE.threads == kThreads && S.key == S.value);
  static_assert(S.values % (2 * kColumns) == 0 && S.fresh % kColumns == 0);
  static_assert(kLdsBytes<Shared> == gatedDeltaLds(kTarget,
                                                   GatedDeltaKernel::Transition,
                                                   chunkShape(S), TILE));

  template <class Io>
  HK_MEM static void run(const TokenArgs &tokens, const StateArgs &pool,
                         BlockId block, Shared &shared, const Io &io) {
    i64 n = block.x / kBlocksPerSegment;
    constexpr i64 others = S.segments - 1; // the last one's is not needed
    Place at = {segmentSpan(tokens, kChunk, S.segments, n / others, n % others),
                block.x % kBlocksPerSegment / kSlices,
                i64(block.x % kSlices) * 2 * kColumns};
    if (at.span.outside)
      return;
    Lds lds(shared.bytes);
    if (threadId() == 0)
      lds.begin();
    barrier();
    int group = sameInWarp(threadId() / kWarpgroup);
    if (group == 2) {
      giveRegisters<kCopyRegisters>();
      bringOperands(at, lds, io);
    } else {
      takeRegisters<kProductRegisters>();
      walk(pool, at, group, lds);
    }
  }

private:
  static constexpr int kCopyRegisters = 40, kProductRegisters = 232;

  /// Both parts of the state; of what a chunk adds.
  using Corrections = RowScoreChain<S.key, kChunk, S.keys, 2>;
  using Additions = ValueChain<S.key, S.keys, kChunk, 2>;
  using StateRegisters = typename Additions::Registers;

  /// x as a sum of two numbers of the operands' type, the second ones in the
  /// second half of the words.
  template <int COUNT>
  HK_MEM static void packTwice(const float (&x)[COUNT], u32 (&words)[COUNT]) {
    HK_UNROLL for (int i = 0; i < COUNT / 2; ++i) {
      float rest[2];
      words[i] = packPair<S.key>(x[2 * i], x[2 * i + 1]);
      HK_UNROLL for (int e = 0; e < 2; ++e) {
        auto first = bitCast<Packed<S.key, 1>>(u16(words[i] >> (16 * e)));
        float r = x[2 * i + e] - unpack<S.key, 1>(first)[0];
        rest[e] = __builtin_fabsf(r) < __builtin_inff() ? r : 0.f;
      }
      words[COUNT / 2 + i] = packPair<S.key>(rest[0], rest[1]);
    }
  }

  HK_MEM static void walk(const StateArgs &pool, const Place &at, int group,
                          const Lds &lds) {
    i64 first = at.first + group * kColumns;
    bool fresh = first < S.fresh;
    StateRegisters s;
    HK_UNROLL for (int i = 0; i < S.keys / 2; ++i) s[i] =
        first + rowOf(i) == S.fresh + columnOf(i);
    u32 chunks = u32(sameInWarp(int(at.chunks())));
    for (u32 n = 0; n < chunks; ++n)
      step(s, n, group, fresh, lds);
    auto to = pool.transitions.of(at.span.segment, at.span.number, at.head);
    HK_UNROLL for (int i = 0; i < S.keys / 2; ++i)
        to[columnOf(i) * pool.transitions.rowStride + first + rowOf(i)] = s[i];
  }

  HK_MEM static void step(StateRegisters &s, u32 n, int group, bool fresh,
                          const Lds &lds) {
    Stage place(n);
    u32 words[Corrections::kWords];
    packTwice(s, words);
    lds.full(place.stage).waitTogether(place.phase);
    publishToCopies(); // of operands that threads have stored
    // Before the product: the assembler takes the state's registers, which one
    // loop before were a product's, for busy while another is under way.
    float all = lds.all(place.stage);
    HK_UNROLL for (float &v : s) v *= all;
    typename Corrections::Registers x;
    Corrections::begin(x, words, operandDescriptor(lds.w(place.stage)));
    u32 u[kChunk / 4] = {};
    if (fresh)
      eachColumns(lds.values(place.stage, group), u,
                  [](u32 place, u32(&v)[4]) { loadColumns(place, v); });
    waitProducts<0>();
    settleProduct(x);
    const float *left = lds.left(place.stage);
    HK_UNROLL for (int i = 0; i < Corrections::kRegisters; ++i) {
      auto own = bitCast<Packed<S.key, 1>>(u16(u[i / 2] >> (16 * (i % 2))));
      x[i] = (unpack<S.key, 1>(own)[0] - x[i]) * left[columnOf(i)];
    }
    u32 late[Additions::kWords];
    packTwice(x, late);
    Additions::begin(s, late,
                     transposedDescriptor(lds.keys(place.stage), kChunkPanel));
    waitProducts<0>();
    settleProduct(s);
    arriveOfWave(lds.empty(place.stage));
  }

  template <class Io>
  HK_MEM static void bringOperands(const Place &at, const Lds &lds,
                                   const Io &io) {
    const int thread = threadId() % kWarpgroup;
    i64 chunks = at.chunks();
    for (i64 n = 0; n < chunks; ++n) {
      Stage place(n);
      TokenSpan chunk = at.chunk(n);
      int length = lengthOf(chunk), i = thread < length ? thread : length - 1;
      float own = decayOf<S>(io, chunk, chunk.begin + i, at.head);
      float last = decayOf<S>(io, chunk, chunk.end - 1, at.head);
      lds.empty(place.stage).waitTogether(place.phase ^ 1);
      bring(at, chunk, place.stage, thread, lds, io);
      if (thread < kChunk)
        lds.left(place.stage)[thread] = decayBetween<S>(last, own);
      if (thread == 0)
        lds.all(place.stage) = decayBetween<S>(last, 0.f);
      arriveAfterCopies(lds.full(place.stage));
      arriveOfWave(lds.full(place.stage));
    }
  }

  template <class Io>
  HK_MEM static void bring(const Place &at, const TokenSpan &chunk, u32 stage,
                           int thread, const Lds &lds, const Io &io) {
    i64 b = chunk.batch, head = at.head;
    Base::bringFactors(head, chunk, stage, thread, lds, io);
    HK_UNROLL for (int group = 0; group < 2; ++group) {
      i64 first = at.first + group * kColumns;
      if (first < S.fresh)
        Base::template bringRows<kColumns>(
            lds.values(stage, group), chunk, thread, lds,
            [&](i64 t, int c) { return io.uAt(b, t, head, first + c); },
            [&](i64 t, int c) { return io.u(b, t, head, first + c); });
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_TRANSITION_WARPGROUP_H
