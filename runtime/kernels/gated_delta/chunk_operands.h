//===- chunk_operands.h - What a walk over chunks reads -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// w, keys, u and decays of the tokens of a chunk, on vector units: through LDS
// on a GPU (token_stage.h), from Io on the host.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_CHUNK_OPERANDS_H
#define HK_KERNELS_GATED_DELTA_CHUNK_OPERANDS_H

#include "kernels/gated_delta/products.h"
#include "kernels/gated_delta/token_stage.h"

namespace hk {

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct ChunkOperands {
  using Stage = TokenStage<S, TILE, TokenRows{2, 1, S.hasDecay}>;
  using State = HeadState<S, TILE>;
  using Keys = typename Stage::Keys;
  using Columns = typename Stage::Columns;
  using Shared = GpuShared<typename Stage::Shared>;

  /// use(t, k, left, decay) for the tokens of a chunk: the token's keys, what
  /// is left of its values behind the state `start`, and the sum of its decays.
  /// Every thread of the block calls it.
  template <class Io, class Use>
  HK_MEM static void
  forEachToken(const TokenSpan &chunk, i64 head, i64 slice, const State &start,
               [[maybe_unused]] Shared &shared, const Io &io, Use use) {
    typename State::Place at = State::place(slice);
    i64 keyHead = head / (S.valueHeads / S.heads);
    auto walk = [&](const TokenSpan &part, const auto &operands) {
      for (i64 t = part.begin; t < part.end; ++t) {
        Keys w[State::kSteps] = {}, k[State::kSteps] = {};
        HK_UNROLL for (int r = 0; r < State::kSteps; ++r) if (at.has(r)) {
          w[r] = operands.w(chunk.batch, t, head, at.key(r));
          k[r] = operands.key(chunk.batch, t, keyHead, at.key(r));
        }
        Columns u = 0;
        if (at.value < S.fresh)
          u = operands.u(chunk.batch, t, head, at.value);
        use(t, k, u - start.dot(w), decayOf<S>(operands, chunk, t, head));
      }
    };
    if constexpr (kIsHost)
      walk(chunk, io);
    else
      Stage::forEachPart(
          chunk, slice, shared,
          [&](const TokenSpan &part, int count) {
            stage(part, count, head, slice, shared, io);
          },
          walk);
  }

private:
  template <class Io>
  HK_MEM static void stage(const TokenSpan &part, int count, i64 head,
                           i64 slice, Shared &shared, const Io &io) {
    const int thread = threadId();
    i64 b = part.batch, t = part.begin;
    i64 keyHead = head / (S.valueHeads / S.heads);
    typename Stage::KeyRows w, k;
    typename Stage::ValueRows u;
    typename Stage::Scalars decay;
    w.load(thread, count,
           [&](i64 n, i64 c) { return io.w(b, t + n, head, c); });
    k.load(thread, count,
           [&](i64 n, i64 c) { return io.key(b, t + n, keyHead, c); });
    u.load(thread, count, [&](i64 n, i64 c) {
      return io.u(b, t + n, head, Stage::valueOf(slice, c));
    });
    if constexpr (S.hasDecay)
      decay.load(thread, count,
                 [&](i64 n, i64) { return io.decay(b, t + n, head); });
    Stage::putKeys(shared, 0, w);
    Stage::putKeys(shared, 1, k);
    Stage::putValues(shared, 0, u);
    if constexpr (S.hasDecay)
      Stage::putScalars(shared, 0, decay);
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_CHUNK_OPERANDS_H
