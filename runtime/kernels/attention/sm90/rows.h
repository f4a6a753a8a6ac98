//===- rows.h - The softmax of a warpgroup's rows -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has two rows, 8 apart, and of each the columns of a quad's lane
// (wgmma.h). Scores stay as the product gives them; the factor that makes them
// base-2 logarithms enters with the exponential, in one fused operation, so a
// maximum is one of scores. Sums stay per lane until the end.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_ROWS_H
#define HK_KERNELS_ATTENTION_SM90_ROWS_H

#include "kernels/attention/sm90/config.h"

namespace hk {

template <int M> HK_DEV float quadXor(float v) {
  return bitCast<float>(laneXor<M>(bitCast<int>(v)));
}

/// What a thread has summed of its two rows, over one segment or several.
struct BulkRowSums {
  /// Of the scores that the softmax sees: maximum and sum per lane.
  float maximum[2] = {kMinusInf, kMinusInf}, sum[2] = {0, 0};
  /// What the accumulators of a row are multiplied with before the next sum.
  float factor[2] = {1, 1};
};

template <AttentionSpec S, AttentionTile T,
          class Own = BulkAttentionConfig<S, T>>
struct BulkAttentionRows : BulkRowSums {
  using Config = Own;
  using Scores = typename Config::Scores::Registers;
  using Words = u32[Config::Values::kWords];
  static constexpr int kScores = Config::Scores::kRegisters;

  /// Keys that a row sees; all rows of the warpgroup see [fullBegin, fullEnd).
  int begin[2], end[2], fullBegin, fullEnd;

  /// `first`: the warpgroup's first row of the tile; `row`: this thread's.
  HK_MEM void start(const BulkAttentionTile &tile, int first, int row) {
    AttentionBlock w = tile.block(S.group);
    auto range = [&](int query) __attribute__((always_inline)) {
      return visibleKeys<S>(w, w.first + minOf(query, w.count - 1));
    };
    // Of the warpgroup, of each head.
    constexpr int queries =
        kTileQueries<T> < kWarpgroupRows ? kTileQueries<T> : kWarpgroupRows;
    first = tileQuery<T>(first);
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      KeyRange own = range(tileQuery<T>(row + 8 * r));
      begin[r] = int(own.begin);
      end[r] = int(own.end);
    }
    fullEnd = int(range(first).end);
    fullBegin = int(range(first + queries - 1).begin);
  }

  /// Goes on from sums of another segment, whose scores times `last` are
  /// logarithms of base 2. `factor` is what accumulators are to be multiplied
  /// with. Probabilities in f16 that are small beside the largest so far may be
  /// the largest of this segment, so that counts as 2^24: what f32 sums hold.
  HK_MEM void goOn(const AttentionArgs<S> &a, float last) {
    constexpr float room = S.type == DType::F16 ? 24.f : 0.f;
    float scale = baseTwo(a);
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      factor[r] = 1;
      if ((room == 0.f && last == scale) || maximum[r] == kMinusInf)
        continue;
      float base = maximum[r] * last;
      // Where differences of bases are rounded away, there is no room to make.
      if (!(__builtin_fabsf(base) < kLargeBase)) {
        maximum[r] = last == scale ? maximum[r] : base / scale;
        continue;
      }
      maximum[r] = (base - room) / scale;
      factor[r] = softmaxExp2(base - maximum[r] * scale);
      sum[r] *= factor[r];
    }
  }

  /// A tile's products become probabilities, which are added up. `missing`: of
  /// the boxes of its keys.
  HK_MEM void softmax(const AttentionArgs<S> &a, Scores &s, int firstKey,
                      u32 missing) {
    show(a, s, firstKey, missing);
    exponentiate(a, s);
  }

  /// A tile's products become the scores that the softmax sees.
  HK_MEM void show(const AttentionArgs<S> &a, Scores &s, int firstKey,
                   u32 missing) const {
    prepare(a, s);
    if (firstKey < fullBegin || firstKey + Config::kKeys > fullEnd ||
        missing != 0)
      mask(s, firstKey, missing);
  }

  /// Scores to probabilities without a new maximum: what was subtracted before
  /// is subtracted again. False, and only `p` has changed: a sum is too large
  /// for that, or a base, or there is none yet. Below the limit f16 holds every
  /// probability; digits do not depend on how large they are.
  HK_MEM bool addToBase(const AttentionArgs<S> &a, const Scores &s, Words &p) {
    constexpr float limit = 1024;
    float scale = baseTwo(a), base[2], even[2] = {0, 0}, odd[2] = {0, 0};
    HK_UNROLL for (int r = 0; r < 2; ++r) base[r] = maximum[r] * scale;
    HK_UNROLL for (int i = 0; i < kScores; i += 2) {
      int r = i / 2 % 2;
      float x = softmaxExp2(__builtin_fmaf(s[i], scale, -base[r]));
      float y = softmaxExp2(__builtin_fmaf(s[i + 1], scale, -base[r]));
      even[r] += x;
      odd[r] += y;
      p[i / 2] = bitCast<u32>(hk::pack<S.type, 2>(f32x2{x, y}));
    }
    // Not of NaN, nor of a base of -inf.
    bool fits = even[0] + odd[0] < limit && even[1] + odd[1] < limit &&
                __builtin_fabsf(base[0]) < kLargeBase &&
                __builtin_fabsf(base[1]) < kLargeBase;
    if (ballot(!fits) != 0)
      return false;
    HK_UNROLL for (int r = 0; r < 2; ++r) sum[r] += even[r] + odd[r];
    return true;
  }

  /// Scores become probabilities, which are added up.
  HK_MEM void exponentiate(const AttentionArgs<S> &a, Scores &s) {
    float scale = baseTwo(a), top[2], base[2];
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      top[r] = __builtin_fmaxf(maximumOf(s, r), maximum[r]);
      top[r] = __builtin_fmaxf(top[r], quadXor<1>(top[r]));
      top[r] = __builtin_fmaxf(top[r], quadXor<2>(top[r]));
      // Of two rounded products: as far apart as what the sums were made with.
      float last = maximum[r] * scale;
      maximum[r] = top[r];
      top[r] = softmaxBase(top[r]);
      base[r] = top[r] * scale;
      factor[r] = softmaxExp2(last - base[r]);
      sum[r] *= factor[r];
    }
    if (!(__builtin_fabsf(base[0]) < kLargeBase &&
          __builtin_fabsf(base[1]) < kLargeBase))
      subtract(s, top, base);
    float odd[2] = {0, 0};
    HK_UNROLL for (int i = 0; i < kScores; i += 2) {
      int r = i / 2 % 2;
      s[i] = softmaxExp2(__builtin_fmaf(s[i], scale, -base[r]));
      s[i + 1] = softmaxExp2(__builtin_fmaf(s[i + 1], scale, -base[r]));
      sum[r] += s[i];
      odd[r] += s[i + 1];
    }
    HK_UNROLL for (int r = 0; r < 2; ++r) sum[r] += odd[r];
  }

  /// Rounds probabilities to the type of values; as the operand of a product.
  HK_MEM static void pack(const Scores &s, Words &p) {
    HK_UNROLL for (int i = 0; i < Config::Values::kWords; ++i) p[i] =
        bitCast<u32>(hk::pack<S.type, 2>(f32x2{s[2 * i], s[2 * i + 1]}));
  }

  HK_MEM RowEnd finish(const AttentionArgs<S> &a, i64 head, int r) const {
    return finishRow<S>(a, head, maximum[r] * baseTwo(a), total(r));
  }
  /// Of all lanes of a row.
  HK_MEM float total(int r) const {
    float pair = sum[r] + quadXor<1>(sum[r]);
    return pair + quadXor<2>(pair);
  }

  /// What makes a score that the softmax sees a logarithm of base 2: positive,
  /// so that order stays.
  HK_MEM static float baseTwo(const AttentionArgs<S> &a) {
    if constexpr (S.cap == ScoreCap::Soft)
      return a.softcap * kLog2E;
    return a.scale == 0.f ? 1.f : __builtin_fabsf(a.scale) * kLog2E;
  }

  /// What a row that sees nothing summed may be 0 * inf.
  template <int N> HK_MEM void clearUnseen(float (&o)[N]) const {
    HK_UNROLL for (int r = 0; r < 2; ++r) if (total(r) == 0.f)
        HK_UNROLL for (int i = 2 * r; i < N; i += 4) o[i] = o[i + 1] = 0.f;
  }

private:
  /// The fused operation subtracts a rounded base from an exact product, which
  /// shifts all exponents of a row alike: by at most 1 below this.
  static constexpr float kLargeBase = 0x1p24f;

  /// For larger ones: differences first.
  HK_MEM static void subtract(Scores &s, const float (&top)[2],
                              float (&base)[2]) {
    HK_UNROLL for (int i = 0; i < kScores; ++i) s[i] -= top[i / 2 % 2];
    base[0] = base[1] = 0;
  }
  /// Whether all products of a warp are far below a soft cap.
  HK_MEM static bool allSmall(const AttentionArgs<S> &a, const Scores &s) {
    float even = 0, odd = 0;
    HK_UNROLL for (int i = 0; i < kScores; i += 2) {
      even = __builtin_fmaxf(even, __builtin_fabsf(s[i]));
      odd = __builtin_fmaxf(odd, __builtin_fabsf(s[i + 1]));
    }
    float most = __builtin_fmaxf(even, odd);
    most *= __builtin_fabsf(a.scale / a.softcap);
    return ballot(!(most < kSmallCapped)) == 0;
  }
  template <bool SMALL>
  HK_MEM static void cap(const AttentionArgs<S> &a, Scores &s) {
    float inner = a.scale / a.softcap;
    HK_UNROLL for (int i = 0; i < kScores; i += 2) {
      f32x2 x = f32x2{s[i], s[i + 1]} * inner;
      x = SMALL ? smallTanh<2>(x, x * x) : tanh<2>(x);
      s[i] = x[0];
      s[i + 1] = x[1];
    }
  }
  /// From the product to that score. The scale is a constant of the kernel: a
  /// positive one leaves nothing to do.
  HK_MEM static void prepare(const AttentionArgs<S> &a, Scores &s) {
    if constexpr (S.cap == ScoreCap::Soft) {
      // As most tiles are: a third of the instructions, the same bits.
      if (allSmall(a, s))
        cap<true>(a, s);
      else
        cap<false>(a, s);
    } else if (!(a.scale > 0.f)) {
      float sign = a.scale < 0.f ? -1.f : 0.f;
      HK_UNROLL for (int i = 0; i < kScores; ++i) s[i] *= sign;
    }
  }
  HK_MEM void mask(Scores &s, int firstKey, u32 missing) const {
    int first = firstKey + laneId() % 4 * 2;
    HK_UNROLL for (int i = 0; i < kScores; ++i) {
      int key = first + i / 4 * 8 + i % 2, r = i / 2 % 2;
      bool seen = key < end[r];
      if constexpr (S.window.left >= 0)
        seen = seen && key >= begin[r];
      if constexpr (Config::kGaps)
        seen = seen && !(missing >> (i / 4 * 8 / Config::kBoxKeys) & 1);
      s[i] = seen ? s[i] : kMinusInf;
    }
  }
  HK_MEM static float maximumOf(const Scores &s, int r) {
    float even = s[2 * r], odd = s[2 * r + 1];
    HK_UNROLL for (int i = 4; i < kScores; i += 4) {
      even = __builtin_fmaxf(even, s[i + 2 * r]);
      odd = __builtin_fmaxf(odd, s[i + 2 * r + 1]);
    }
    return __builtin_fmaxf(even, odd);
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_ROWS_H
