//===- prepare_warpgroup.h - Keys and values of a chunk -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of a chunk's keys (kkt.h), their inverse (solve_tril.h) and the
// corrected keys and values (wu.h) at once, for a chip that multiplies by
// warpgroups. A block is one warpgroup and has a chunk of a head: keys and
// values are copied to LDS as they are, the inverse is found by blocks, and w
// and u are computed transposed, so that keys and values are the operands in
// registers, where they get the factors of their tokens. Grid: x is (chunk,
// head).
//
// A product also multiplies what the definition leaves out, by zero. Whatever
// is not finite on the way makes some result not finite: then nothing is
// stored, and the steps compute the chunk one by one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_PREPARE_WARPGROUP_H
#define HK_KERNELS_GATED_DELTA_PREPARE_WARPGROUP_H

#include "kernels/device/arch/nvptx_pairs.h"
#include "kernels/device/scan.h"
#include "kernels/gated_delta/inverse_blocks.h"
#include "kernels/gated_delta/warpgroup.h"

namespace hk {

/// Keys, values, the matrix, which the inverse replaces, factors of the tokens.
template <GatedDeltaSpec S> struct WarpgroupPrepareLds : WarpgroupLds {
  static constexpr int kChunk = S.chunk;
  struct Shared {
    u8 bytes[warpgroupPrepareBytes(chunkShape(S))];
  };
  using WarpgroupLds::WarpgroupLds;

  HK_MEM u32 keys() const { return base; }
  HK_MEM u32 values() const { return keys() + kChunk * S.keys * 2; }
  HK_MEM u32 inverse() const { return values() + kChunk * S.values * 2; }
  HK_MEM float *matrix() const { return floats(inverse()); }
  HK_MEM float *sums() const { return matrix() + kChunk * InverseBlocks::kRow; }
  HK_MEM float *betas() const { return sums() + kChunk; }
  /// Betas and what decay leaves of a key.
  HK_MEM float *ofKeys() const { return betas() + kChunk; }
  /// Of the four waves.
  HK_MEM u32 *unbounded() const {
    return reinterpret_cast<u32 *>(ofKeys() + kChunk);
  }

private:
  HK_MEM float *floats(u32 at) const {
    return reinterpret_cast<float *>(bytes(at));
  }
};

/// K is of the products of keys, S of the corrections.
template <GatedDeltaSpec K, GatedDeltaSpec S, GatedDeltaTile TILE>
struct ChunkPrepareWarpgroup : WarpgroupChunks<S> {
  using Base = WarpgroupChunks<S>;
  using Base::columnOf, Base::eachColumns, Base::pack, Base::rowOf;
  using Lds = WarpgroupPrepareLds<S>;
  using Shared = typename Lds::Shared;
  static constexpr int kChunk = S.chunk;
  static_assert(preparesByWarpgroup(kTarget, chunkShape(S), TILE) &&
                TILE.threads == kWarpgroup && S.key == S.value);

  /// Calls `apart(block)`, the steps one by one, where all at once can't be.
  /// What the steps need is computed again: kept, it would cost registers.
  template <class KktIo, class WuIo, class Apart>
  HK_MEM static void runOr(const TokenArgs &tokens, BlockId block,
                           Shared &shared, const KktIo &kkt, const WuIo &wu,
                           const Apart &apart) {
    if (run(tokens, block, shared, kkt, wu))
      return;
    barrier();
    block.x = u32(opaque(int(block.x)));
    apart(block);
  }

private:
  /// False: nothing but sums is stored. The Io of the products and of the
  /// corrections.
  template <class KktIo, class WuIo>
  HK_MEM static bool run(const TokenArgs &tokens, BlockId block, Shared &shared,
                         const KktIo &kkt, const WuIo &wu) {
    TokenSpan span = chunkSpan(tokens, kChunk, block.x / S.valueHeads);
    i64 head = block.x % S.valueHeads;
    if (span.begin >= span.end)
      return true;
    if (span.outside)
      return false;
    Lds lds(shared.bytes);
    bring(span, head, lds, wu);
    stageFactors(span, head, lds, kkt);
    rowCopyWaitBut<1>();
    publishToCopies();
    barrier();
    InverseBlocks::Columns columns;
    invert(lds, columns);
    rowCopyWaitBut<0>();
    barrier(); // nobody reads the matrix any more
    keepInverse(columns, lds);
    publishToCopies();
    barrier();
    u32 unbounded = 0; // a pair of zeros, NaN once something is not finite
    correct<S.keys>(lds.keys(), lds.ofKeys(), lds, unbounded);
    correct<S.values>(lds.values(), lds.betas(), lds, unbounded);
    if (!allFinite(unbounded, lds))
      return false;
    store(span, head, lds, wu);
    return true;
  }

  template <class Io>
  HK_MEM static void bring(const TokenSpan &span, i64 head, const Lds &lds,
                           const Io &wu) {
    const int thread = threadId();
    i64 b = span.batch, keyHead = head / (S.valueHeads / S.heads);
    Base::template bringRows<S.keys>(
        lds.keys(), span, thread, lds,
        [&](i64 t, int c) { return wu.keyAt(b, t, keyHead, c); },
        [&](i64 t, int c) { return wu.key(b, t, keyHead, c); });
    rowCopyCommit();
    Base::template bringRows<S.values>(
        lds.values(), span, thread, lds,
        [&](i64 t, int c) { return wu.valueAt(b, t, head, c); },
        [&](i64 t, int c) { return wu.value(b, t, head, c); });
    rowCopyCommit();
  }

  /// Sums of decays by the first wave, betas by the last two.
  template <class Io>
  HK_MEM static void stageFactors(const TokenSpan &span, i64 head,
                                  const Lds &lds, const Io &io) {
    const int thread = threadId(), length = Base::lengthOf(span);
    if (waveId() == 0) {
      float decay[2];
      HK_UNROLL for (int e = 0; e < 2; ++e) {
        int i = 2 * thread + e, from = i < length ? i : length - 1;
        decay[e] = decayOf<S>(io, span, span.begin + from, head);
        if (K.sumsDecay && i >= length)
          decay[e] = 0;
      }
      if constexpr (K.sumsDecay) {
        float before = 0, total = decay[0] + decay[1];
        scanLanes<1, kWave>(before, total);
        decay[0] += before;
        decay[1] += decay[0];
        HK_UNROLL for (int e = 0; e < 2; ++e) if (2 * thread + e < length)
            io.sums(span.batch, span.begin + 2 * thread + e, head,
                    Vec<float, 1>(decay[e]));
      }
      *reinterpret_cast<f32x2 *>(lds.sums() + 2 * thread) = {decay[0],
                                                             decay[1]};
    } else if (waveId() >= 2) {
      int i = thread - kChunk;
      lds.betas()[i] =
          i < length ? betaOf<S>(io, span, span.begin + i, head) : 0.f;
    }
  }

  //===--------------------------------------------------------------------===//
  // The inverse
  //===--------------------------------------------------------------------===//

  using Products = ScoreChain<S.key, kChunk, S.keys, kChunk>;

  HK_MEM static void invert(const Lds &lds, InverseBlocks::Columns &columns) {
    const int wave = sameInWarp(waveId());
    typename Products::Registers x;
    u64 keys = operandDescriptor(lds.keys());
    Products::begin(x, keys, keys);
    // What keys are multiplied with, for later.
    if (threadId() < kChunk) {
      int i = threadId();
      lds.ofKeys()[i] = lds.betas()[i] * decayBetween<S>(lds.sums()[i], 0.f);
    }
    waitProducts<0>();
    settleProduct(x);
    weigh(x, wave, lds);
    InverseBlocks::invertDiagonal(lds.matrix(), wave);
    barrier();
    InverseBlocks::solveColumns(lds.matrix(), wave, columns);
  }

  /// What decay leaves where sums of decays differ by `difference`, which is
  /// not above 0 but by roundings; else NaN, as the other factor might be 0.
  HK_MEM static float shrunk(float difference) {
    float factor = Base::decayFactor(difference);
    return S.hasDecay && difference > 0.5f ? __builtin_nanf("") : factor;
  }

  /// Products of keys become -A, in LDS; what is above the blocks of the
  /// diagonal nobody reads. Left of these, what decay leaves between two tokens
  /// is a product over the first token of the wave, so that exponentials are of
  /// rows and columns.
  HK_MEM static void weigh(const typename Products::Registers &x, int wave,
                           const Lds &lds) {
    constexpr int each = 8; // registers of a block of 16 columns
    const float *sums = lds.sums();
    float *rows = lds.matrix() + wave * 16 * InverseBlocks::kRow;
    // Of columns, behind the rows of this wave, eight to a row.
    float *factors = rows + kChunk;
    const float middle = sums[wave * 16];
    for (int i = laneId(); i < wave * 16; i += kWave)
      factors[i / 8 * InverseBlocks::kRow + i % 8] = shrunk(middle - sums[i]);
    float to[2], beta[2], left[2];
    HK_UNROLL for (int e = 0; e < 2; ++e) {
      to[e] = sums[rowOf(2 * e)];
      beta[e] = -lds.betas()[rowOf(2 * e)];
      left[e] = beta[e] * shrunk(to[e] - middle);
    }
    waveBarrier();
    auto keep = [&](int i, f32x2 a) {
      *reinterpret_cast<f32x2 *>(lds.matrix() + rowOf(i) * InverseBlocks::kRow +
                                 columnOf(i)) = a;
    };
    HK_UNROLL for (int c = 0; c < kChunk / 16; ++c) {
      if (c > wave)
        break;
      if (c < wave) {
        HK_UNROLL for (int i = c * each; i < c * each + each; i += 2) {
          f32x2 factor = *reinterpret_cast<const f32x2 *>(
              factors + columnOf(i) / 8 * InverseBlocks::kRow +
              columnOf(i) % 8);
          keep(i, f32x2{x[i], x[i + 1]} * left[i / 2 % 2] * factor);
        }
      } else {
        HK_UNROLL for (int i = c * each; i < c * each + each; i += 2) {
          f32x2 a;
          HK_UNROLL for (int e = 0; e < 2; ++e) {
            float factor =
                Base::decayFactor(to[i / 2 % 2] - sums[columnOf(i + e)]);
            // Of all, as a branch would take longer.
            float product = opaque(x[i + e] * factor * beta[i / 2 % 2]);
            a[e] = columnOf(i + e) < rowOf(i) ? product : 0.f;
          }
          keep(i, a);
        }
      }
    }
  }

  /// Rounded, a row for each token, zeros above the diagonal.
  HK_MEM static void keepInverse(const InverseBlocks::Columns &x,
                                 const Lds &lds) {
    const int wave = sameInWarp(waveId()), lane = laneId();
    HK_UNROLL for (int r = 0; r < InverseBlocks::kBlocks; ++r) {
      int row = (r + wave) % InverseBlocks::kBlocks * 16;
      u32 words[4] = {};
      if (r + wave < InverseBlocks::kBlocks)
        HK_UNROLL for (int i = 0; i < 4; ++i) words[i] = packPair<S.key>(
            x[r].x[i / 2][i % 2 * 2], x[r].x[i / 2][i % 2 * 2 + 1]);
      storeColumns(panelPlace(lds.inverse(), row + lane / 16 * 8 + lane % 8,
                              wave * 2 + lane / 8 % 2),
                   words);
    }
  }

  //===--------------------------------------------------------------------===//
  // Corrections
  //===--------------------------------------------------------------------===//

  using Corrections = RowScoreChain<S.key, kChunk, kChunk>;

  /// Keys or values become corrected ones, where they lie.
  template <int COLUMNS>
  HK_MEM static void correct(u32 rows, const float *factors, const Lds &lds,
                             u32 &unbounded) {
    constexpr int panels = COLUMNS / 64;
    typename Corrections::Registers x[panels];
    u32 words[panels][Corrections::kWords];
    u64 inverse = operandDescriptor(lds.inverse());
    HK_UNROLL for (int p = 0; p < panels; ++p) {
      eachColumns(rows + u32(p) * kChunkPanel, words[p],
                  [](u32 place, u32(&v)[4]) { loadColumns(place, v); });
      scale(words[p], factors);
      Corrections::begin(x[p], words[p], inverse);
    }
    waitProducts<0>();
    HK_UNROLL for (int p = 0; p < panels; ++p) {
      settleProduct(x[p]);
      u32 results[Corrections::kRegisters / 2];
      pack(x[p], results);
      HK_UNROLL for (u32 v : results) unbounded =
          HalfPair<S.key>::fma(v, 0, unbounded);
      eachColumns(rows + u32(p) * kChunkPanel, results,
                  [](u32 place, u32(&v)[4]) { storeColumns(place, v); });
    }
  }

  /// Columns of rows times the factors of their tokens.
  HK_MEM static void scale(u32 (&words)[Corrections::kWords],
                           const float *factors) {
    HK_UNROLL for (int i = 0; i < Corrections::kWords; i += 2) {
      f32x2 f = *reinterpret_cast<const f32x2 *>(factors + i / 2 * 8 +
                                                 laneId() % 4 * 2);
      HK_UNROLL for (int e = i; e < i + 2; ++e) {
        auto v = unpack<S.key, 2>(bitCast<Packed<S.key, 2>>(words[e]));
        words[e] = packPair<S.key>(v[0] * f[0], v[1] * f[1]);
      }
    }
  }

  HK_MEM static bool allFinite(u32 unbounded, const Lds &lds) {
    u64 others = ballot((unbounded & 0x7FFF7FFFu) != 0);
    if (laneId() == 0)
      lds.unbounded()[waveId()] = others != 0;
    barrier();
    const u32 *all = lds.unbounded();
    return sameInWarp(int(all[0] | all[1] | all[2] | all[3])) == 0;
  }

  template <class Io>
  HK_MEM static void store(const TokenSpan &span, i64 head, const Lds &lds,
                           const Io &io) {
    // Places are computed again: kept, they would cost registers.
    const int thread = opaque(threadId());
    i64 b = span.batch;
    Base::template storeRows<S.keys>(
        lds.keys(), span, thread, lds,
        [&](i64 t, int c) { return io.wAt(b, t, head, c); },
        [&](i64 t, int c, auto x) { io.w(b, t, head, c, x); });
    Base::template storeRows<S.values>(
        lds.values(), span, thread, lds,
        [&](i64 t, int c) { return io.uAt(b, t, head, c); },
        [&](i64 t, int c, auto x) { io.u(b, t, head, c, x); });
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_PREPARE_WARPGROUP_H
