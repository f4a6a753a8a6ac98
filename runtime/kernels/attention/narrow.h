//===- narrow.h - Narrow types of queries, keys and values -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries, keys and values may have types of their own in memory. What all of
// them fit in without loss is multiplied (bf16 holds every type of 8 bits), so
// elements are converted once, between memory and LDS or registers. Scales stay
// f32 factors: of scores, of probabilities where each key has one for its
// value, else of results.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_NARROW_H
#define HK_KERNELS_ATTENTION_NARROW_H

#include "kernels/attention/spec.h"
#if HK_GPU
#include "kernels/device/attention/fragments.h"
#endif

namespace hk {

/// V elements as numbers.
template <DType D, int V, int ALIGN>
HK_DEV Vec<float, V> loadFloats(Global<const Storage<D>> p, i64 i) {
  return convertTo<float, V>(load<D, V, ALIGN>(p, i));
}
template <DType D> HK_DEV float loadFloat(Global<const Storage<D>> p, i64 i) {
  return float(loadScalar<D>(p, i));
}

#if HK_GPU
/// 16 bytes of elements of To from those of From in memory, aligned to their
/// size.
template <DType From, DType To> struct Widening {
  static constexpr int kElements = 16 * 8 / info(To).bits;
  using Raw = Packed<From, kElements>;
  HK_MEM static u32x4 convert(Raw raw) {
    if constexpr (From == To)
      return bitCast<u32x4>(raw);
    else
      return bitCast<u32x4>(packExact<To, kElements>(
          convertTo<float, kElements>(unpack<From, kElements>(raw))));
  }
};

/// RowCopy of rows that have another type in memory: through registers, where
/// they keep that type until they land.
template <DType From, DType To, int Rows, int RowBytes, int ValidBytes,
          int Threads, ValueLayout Layout = ValueLayout::Rows>
struct WideningRowCopy {
  static constexpr bool kDirect = false;
  using W = Widening<From, To>;
  static constexpr int kChunks = RowBytes / 16;
  static constexpr int kPerThread = (Rows * kChunks + Threads - 1) / Threads;
  static constexpr bool kExact = Rows * kChunks % Threads == 0;
  typename W::Raw v[kPerThread];

  template <bool Gaps = false, class F>
  HK_MEM void issue(int thread, F rowAt, u8 *) {
    constexpr int bytes = int(sizeof(typename W::Raw));
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
      v[i] = typename W::Raw(0);
      if ((kExact || row < Rows) &&
          (RowBytes == ValidBytes || ch * 16 < ValidBytes))
        if (auto from = rowAt(row); !Gaps || from)
          v[i] = *(Global<const typename W::Raw>)(from + ch * bytes);
    }
  }
  HK_MEM void land(int thread, u8 *lds) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + thread, row = s / kChunks, ch = s % kChunks;
      if (kExact || row < Rows)
        *reinterpret_cast<u32x4 *>(lds + row * RowBytes + place(row, ch) * 16) =
            W::convert(v[i]);
    }
  }

private:
  HK_MEM static int place(int row, int chunk) {
#if defined(__gfx950__)
    if constexpr (Layout == ValueLayout::TransposingReads)
      return transposedChunk<RowBytes>(row, chunk);
#endif
    return swizzleChunk<RowBytes>(row, chunk);
  }
};

/// The copy of keys, or of values that lie as Layout says; Direct: where it
/// needs no registers, if there is one.
template <DType From, DType To, int Rows, int RowBytes, int ValidBytes,
          int Threads, ValueLayout Layout = ValueLayout::Rows,
          bool Direct = false>
struct PickRowCopy {
  using Type =
      WideningRowCopy<From, To, Rows, RowBytes, ValidBytes, Threads, Layout>;
};
template <DType D, int Rows, int RowBytes, int ValidBytes, int Threads>
struct PickRowCopy<D, D, Rows, RowBytes, ValidBytes, Threads> {
  using Type = RowCopy<Rows, RowBytes, ValidBytes, Threads>;
};
#if defined(__gfx942__)
/// Elements of To, of 16 bits, from those of From.
template <DType From, DType To> struct Widened {
  template <int N> struct Elements {
    using Raw = Packed<From, N>;
    HK_MEM static Vec<u16, N> convert(Raw raw) {
      if constexpr (From == To)
        return bitCast<Vec<u16, N>>(raw);
      else
        return bitCast<Vec<u16, N>>(
            packExact<To, N>(convertTo<float, N>(unpack<From, N>(raw))));
    }
  };
};
template <DType From, DType To, int Rows, int RowBytes, int ValidBytes,
          int Threads>
struct PickRowCopy<From, To, Rows, RowBytes, ValidBytes, Threads,
                   ValueLayout::Columns> {
  using Type = ColumnCopy<Rows, RowBytes, ValidBytes, Threads,
                          Widened<From, To>::template Elements>;
};
template <DType D, int Rows, int RowBytes, int ValidBytes, int Threads>
struct PickRowCopy<D, D, Rows, RowBytes, ValidBytes, Threads,
                   ValueLayout::Columns> {
  using Type = ColumnCopy<Rows, RowBytes, ValidBytes, Threads,
                          Widened<D, D>::template Elements>;
};
#elif defined(__gfx950__)
template <DType D, int Rows, int RowBytes, int ValidBytes, int Threads,
          ValueLayout Layout>
struct PickRowCopy<D, D, Rows, RowBytes, ValidBytes, Threads, Layout, true> {
  using Type = DirectRowCopy<Rows, RowBytes, ValidBytes, Threads,
                             Layout == ValueLayout::TransposingReads>;
};
#endif
#endif

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Of a row and all keys: that of the query and, where a key has none of its
/// own, that of its key head.
template <AttentionSpec S, class R>
HK_DEV float rowScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                      i64 row) {
  float scale = 1.f;
  if constexpr (S.qScale) {
    i64 i = row / S.group, h = w.head * S.group + row % S.group;
    if constexpr (S.queries != SequenceLayout::Dense)
      i += w.queryStart;
    scale = a.qScale[w.sequence * a.qScaleSequence +
                     i / S.qBlock * a.qScaleRow + h * a.qScaleHead];
  }
  if constexpr (S.kScale && !S.kScalePerKey)
    scale *= a.kScale[w.sequence * a.kScaleSequence + w.head * a.kScaleHead];
  return scale;
}

/// Of key `key`, if each has its own; behind the last one, that of the last.
template <AttentionSpec S, class R>
HK_DEV float keyScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                      i64 key) {
  if constexpr (!(S.kScale && S.kScalePerKey))
    return 1.f;
  KeyPlace at = keyPlace<S>(a, w, minOf(key, w.keys - 1));
  return a.kScale[at.outer * a.kScaleSequence +
                  at.row / S.kBlock * a.kScaleRow + w.head * a.kScaleHead];
}
/// Whether scales of values multiply probabilities, what the first segment
/// summed, or the result.
template <AttentionSpec S>
inline constexpr bool kScaledWeights =
    S.vScale &&
    (S.vScalePerKey || S.valueScaling == ValueScaling::Probabilities);
template <AttentionSpec S>
inline constexpr bool kScaledSegment =
    S.vScale && !S.vScalePerKey && S.valueScaling == ValueScaling::FirstSegment;
template <AttentionSpec S>
inline constexpr bool kScaledResult =
    S.vScale && !kScaledWeights<S> && !kScaledSegment<S>;

/// Of the value of key `key`, if probabilities are multiplied with it.
template <AttentionSpec S, class R>
HK_DEV float valueScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                        i64 key) {
  if constexpr (!kScaledWeights<S>)
    return 1.f;
  if constexpr (!S.vScalePerKey)
    return a.vScale[w.sequence * a.vScaleSequence + w.head * a.vScaleHead];
  KeyPlace at = keyPlace<S>(a, w, minOf(key, w.keys - 1));
  return a.vScale[at.outer * a.vScaleSequence + at.row * a.vScaleRow +
                  w.head * a.vScaleHead];
}
/// Of column `column` of a result, unless probabilities are multiplied.
template <AttentionSpec S, class R>
HK_DEV float resultScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                         i64 column) {
  if constexpr (!S.vScale || kScaledWeights<S>)
    return 1.f;
  i64 at = w.sequence * a.vScaleSequence + w.head * a.vScaleHead;
  return a.vScale[S.vScalePerColumn ? at + column : at];
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_NARROW_H
