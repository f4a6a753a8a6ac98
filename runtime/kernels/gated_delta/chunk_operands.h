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
  using Keys = typename Stage::Keys;
  using Columns = typename Stage::Columns;
  using Shared = GpuShared<typename Stage::Shared>;

  /// Of tokens that are in LDS, as Io gives them.
  struct Staged {
    const Shared &shared;
    i64 first, firstValue; // of the stage
    HK_MEM Keys w(i64, i64 t, i64, i64 c) const {
      return Stage::keys(shared, 0, t - first, c);
    }
    HK_MEM Keys key(i64, i64 t, i64, i64 c) const {
      return Stage::keys(shared, 1, t - first, c);
    }
    HK_MEM Columns u(i64, i64 t, i64, i64 c) const {
      return Stage::values(shared, 0, t - first, c - firstValue);
    }
    HK_MEM float decay(i64, i64 t, i64) const {
      return Stage::scalar(shared, 0, t - first);
    }
  };

  /// use(part, operands) for the tokens of a chunk, part by part. Every thread
  /// of the block calls it.
  template <class Io, class Use>
  HK_MEM static void forEachPart(const TokenSpan &chunk, i64 head, i64 slice,
                                 [[maybe_unused]] Shared &shared, const Io &io,
                                 Use use) {
    if constexpr (kIsHost)
      use(chunk, io);
    else
      Stage::forEachPart(
          chunk,
          [&](const TokenSpan &part, int count) {
            stage(part, count, head, slice, shared, io);
          },
          [&](const TokenSpan &part) {
            use(part, Staged{shared, part.begin, Stage::firstValue(slice)});
          });
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
