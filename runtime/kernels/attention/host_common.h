//===- host_common.h - Rows of attention on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both host kernels do per row: load a query, run the online softmax over
// a row of scores, store the result.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_HOSTCOMMON_H
#define HK_KERNELS_ATTENTION_HOSTCOMMON_H

#include "kernels/attention/softmax.h"

namespace hk {

/// Elements [c, c + 16) of a row of Size elements, zero behind its end.
template <DType D, int Size>
HK_DEV f32x16 load16(Global<const Storage<D>> row, int c) {
  constexpr int align = int(sizeof(Storage<D>));
  if constexpr (Size % 16 != 0) {
    if (c + 16 > Size)
      return convertTo<float, 16>(
          loadMasked<D, 16, align>(row, c, c < Size ? Size - c : 0));
  }
  if (c >= Size)
    return f32x16(0.f);
  return loadFloats<D, 16, align>(row, c);
}

/// The same of a key or a value at `from`, whose elements may lie apart.
template <AttentionSpec S, class R>
HK_DEV f32x16 loadKey16(const AttentionArgs<S, R> &a,
                        Global<const Storage<S.kType>> from, int c) {
  if constexpr (S.keyChunk == 0)
    return load16<S.kType, S.headDim>(from, c);
  f32x16 v = f32x16(0.f);
  for (int e = 0; e < 16 && c + e < S.headDim; ++e)
    v[e] = loadFloat<S.kType>(from, keyElement<S>(a, c + e));
  return v;
}
template <AttentionSpec S, class R>
HK_DEV f32x16 loadValue16(const AttentionArgs<S, R> &a,
                          Global<const Storage<S.vType>> from, int c) {
  if constexpr (S.valueChunk == 0)
    return load16<S.vType, S.valueDim>(from, c);
  f32x16 v = f32x16(0.f);
  for (int e = 0; e < 16 && c + e < S.valueDim; ++e)
    v[e] = loadFloat<S.vType>(from, valueElement<S>(a, c + e));
  return v;
}

/// Scores of one row against the 16 keys from `key` on, in kScoreUnit; the
/// scale of the row is in the query.
template <AttentionSpec S, class R>
HK_DEV f32x16 scores16(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                       i64 key, f32x16 dot) {
  if constexpr (S.kScale.isPerKey())
    for (int e = 0; e < 16; ++e)
      dot[e] *= keyScale<S>(a, w, key + e);
  return score<S, 16>(a, dot);
}

/// Scores [from, to) of row `row` of the block against keys from j on, behind
/// the region; of missing keys they are replaced. Returns whether some are.
template <AttentionSpec S, class R>
HK_DEV bool finishScores(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                         i64 row, i64 j, i64 end, float *s, int from, int to) {
  if constexpr (R::kScore)
    for (int e = from; e < to; e += 16) {
      f32x16 &x = *(f32x16 *)(s + e);
      x = finishScore<S, 16>(a, w, row, j + e, x);
    }
  bool gaps = false;
  if constexpr (S.keys.isPaged())
    for (int e = from; e < to; ++e)
      if (isMissing<S>(a, w, minOf(j + e, end - 1))) {
        s[e] = kUnseen<S>;
        gaps = true;
      }
  return gaps;
}

template <int Columns> HK_DEV void clearRow(float *row) {
  for (int c = 0; c < Columns; c += 16)
    *(f32x16 *)(row + c) = f32x16(0.f);
}

/// The keys that each row of the block sees; returns those that any may see.
template <AttentionSpec S>
HK_DEV KeyRange visibleRange(const AttentionBlock &w, int count,
                             KeyRange *range) {
  KeyRange all = {w.keys, 0};
  for (int r = 0; r < count; ++r) {
    range[r] = visibleKeys<S>(w, (w.first + r) / S.group);
    if (range[r].begin < range[r].end) {
      all.begin = minOf(all.begin, range[r].begin);
      all.end = maxOf(all.end, range[r].end);
    }
  }
  return all;
}

/// Queries of the block as f32 rows of Stride elements (zero behind headDim),
/// scaled, and the keys each sees; returns the keys that any of them may see.
template <AttentionSpec S, int Stride, class R>
HK_DEV KeyRange loadQueries(const AttentionArgs<S, R> &a,
                            const AttentionBlock &w, int count, float *q,
                            KeyRange *range) {
  for (int r = 0; r < count; ++r) {
    i64 row = w.first + r;
    Global<const Storage<S.qType>> from = a.q + queryOffset<S>(a, w, row);
    float *to = q + r * Stride;
    int c = 0;
    for (; c + 16 <= Stride; c += 16) {
      f32x16 v = load16<S.qType, S.headDim>(from, c);
      if constexpr (S.qScale.exists() || S.kScale.exists())
        v *= rowScale<S>(a, w, row);
      __builtin_memcpy(to + c, &v, sizeof v);
    }
    for (; c < Stride; ++c)
      to[c] = loadFloat<S.qType>(from, c) * rowScale<S>(a, w, row);
  }
  return visibleRange<S>(w, count, range);
}

HK_DEV float maximumOf(f32x16 v) {
  f32x8 a = __builtin_elementwise_max(v.lo, v.hi);
  f32x4 b = __builtin_elementwise_max(a.lo, a.hi);
  f32x2 c = __builtin_elementwise_max(b.lo, b.hi);
  return c[0] > c[1] ? c[0] : c[1];
}
HK_DEV float sumOf(f32x16 v) {
  f32x8 a = v.lo + v.hi;
  f32x4 b = a.lo + a.hi;
  return (b[0] + b[2]) + (b[1] + b[3]);
}

/// Scores [from, to) of a row, multiples of 16, of which only [begin, end) is
/// visible; returns the largest of them and `maximum`.
template <AttentionSpec S>
HK_DEV float maskRow(float *s, int from, int to, i64 begin, i64 end,
                     float maximum) {
  if (begin > from || end < to) {
    Vec<i32, 16> lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    i32 lo = i32(maxOf(begin, from)), hi = i32(minOf(end, to));
    for (int e = from; e < to; e += 16) {
      f32x16 &x = *(f32x16 *)(s + e);
      Vec<i32, 16> key = lane + e;
      x = key >= lo ? x : f32x16(kUnseen<S>);
      x = key < hi ? x : f32x16(kUnseen<S>);
    }
  }
  if constexpr (S.normalizer == Normalizer::None)
    return maximum;
  f32x16 top = f32x16(maximum);
  for (int e = from; e < to; e += 16)
    top = __builtin_elementwise_max(top, *(const f32x16 *)(s + e));
  return maximumOf(top);
}

/// Scores of a row become probabilities relative to `base`; returns their sum.
HK_DEV float exponentials(float *s, int from, int to, float base) {
  f32x16 total = f32x16(0.f);
  for (int e = from; e < to; e += 16) {
    f32x16 p = softmaxExp2<16>(*(const f32x16 *)(s + e) - base);
    *(f32x16 *)(s + e) = p;
    total += p;
  }
  return sumOf(total);
}

HK_DEV void scaleRow(float *o, int columns, float factor) {
  for (int c = 0; c < columns; c += 16)
    *(f32x16 *)(o + c) *= factor;
}

/// Scores [from, to) of a row, multiples of 16, become probabilities relative
/// to the row's new maximum; only [begin, end) is visible. The row's
/// accumulator is rescaled.
template <AttentionSpec S>
HK_DEV void softmaxRow(float *s, int from, int to, i64 begin, i64 end,
                       float &maximum, float &sum, float *o, int columns) {
  float newMaximum = maskRow<S>(s, from, to, begin, end, maximum);
  if constexpr (S.normalizer == Normalizer::None)
    return;
  float base = softmaxBase(newMaximum);
  if (newMaximum != maximum) {
    float factor = softmaxExp2(maximum - base);
    sum *= factor;
    scaleRow(o, columns, factor);
    maximum = newMaximum;
  }
  sum += exponentials(s, from, to, base);
}

/// Probabilities [from, to) of a row times what the region `weight` gives, and
/// the scales of their values.
template <AttentionSpec S, class R>
HK_DEV void weighRow(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                     i64 row, i64 j, float *s, int from, int to) {
  if constexpr (R::kWeight)
    for (int e = from; e < to; e += 16) {
      f32x16 &p = *(f32x16 *)(s + e);
      p = weighted<S, 16>(a, w, row, j + e, p);
    }
  if constexpr (kScaledWeights<S>)
    for (int e = from; e < to; ++e)
      if (s[e] != 0.f)
        s[e] *= valueScale<S>(a, w, j + e);
}

/// What the first segment summed, times the scale of its values.
template <AttentionSpec S, class R>
HK_DEV void scaleSegment(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                         float maximum, float *o) {
  if constexpr (kScaledSegment<S>)
    if (maximum != kMinusInf) // else no key is seen
      for (int c = 0; c < S.valueDim; ++c)
        o[c] *= resultScale<S>(a, w, c);
}

template <AttentionSpec S, class R>
HK_DEV void storeRow(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                     int r, const float *o, float maximum, float sum) {
  i64 row = w.first + r;
  RowEnd end = finishRow<S>(a, w.head * S.group + row % S.group, maximum, sum);
  i64 at = outOffset<S>(a, w, row);
  constexpr int align = int(sizeof(Storage<S.outType>));
  auto columns = [&]<int V>(int c) __attribute__((always_inline)) {
    Vec<float, V> y = *(const Vec<float, V> *)(o + c) * end.factor;
    if constexpr (kScaledResult<S>)
      if (end.factor != 0.f) // else no key is seen
        for (int e = 0; e < V && c + e < S.valueDim; ++e)
          y[e] *= resultScale<S>(a, w, c + e);
    return y;
  };
  using Epilogue = EpilogueOf<R>;
  if constexpr (kStatGroup<Epilogue> != 0) {
    constexpr int V = kEpilogueVec<Epilogue, 16>;
    applyToGroups<Epilogue, V>(a, w, row,
                               [&](int c) __attribute__((always_inline)) {
                                 return columns.template operator()<V>(c);
                               });
  } else {
    for (int c = 0; c < S.valueDim; c += 16) {
      f32x16 y = columns.template operator()<16>(c);
      if constexpr (kHasEpilogue<R>)
        applyEpilogue<Epilogue, S, 16>(a, w, row, c, y);
      else
        storeMasked<S.outType, 16, align>(a.out, at + c, S.valueDim - c, y);
    }
  }
  if constexpr (S.storesLse())
    a.lse[lseOffset<S>(a, w, row)] = end.lse;
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_HOSTCOMMON_H
