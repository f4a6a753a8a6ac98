//===- narrow.h - Narrow types of queries, keys and values -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries, keys and values may have types of their own in memory. What all of
// them fit in without loss is multiplied (bf16 holds every type of 8 bits), so
// elements are converted once, between memory and LDS (widening.h of the device
// layer) or registers. Scales stay f32 factors: of scores, of probabilities
// where each key has one for its value, else of results.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_NARROW_H
#define HK_KERNELS_ATTENTION_NARROW_H

#include "kernels/attention/block.h"
#if HK_GPU
#include "kernels/device/attention/widening.h"
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

/// Whether scales of values multiply probabilities, what the first segment
/// summed, or the result.
template <AttentionSpec S>
inline constexpr bool kScaledWeights =
    S.vScale != ValueScale::None &&
    (S.vScale == ValueScale::PerKey ||
     S.valueScaling == ValueScaling::Probabilities);
template <AttentionSpec S>
inline constexpr bool kScaledSegment =
    S.vScale != ValueScale::None && S.vScale != ValueScale::PerKey &&
    S.valueScaling == ValueScaling::FirstSegment;
template <AttentionSpec S>
inline constexpr bool kScaledResult =
    S.vScale != ValueScale::None && !kScaledWeights<S> && !kScaledSegment<S>;

#if HK_GPU
//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// How matrix fragments take keys and values of 8 bits where a block's waves
/// have `Parts` of the keys.
template <AttentionSpec S, AttentionTile T, class R, int Parts>
struct NarrowKeys {
  /// Waves with keys of their own may take elements as they are. Segments,
  /// whose values scale otherwise, share fragments.
  static constexpr bool kMay = Parts > 1 && S.headDim % 16 == 0 &&
                               S.valueDim % 16 == 0 &&
                               S.valueScaling == ValueScaling::Result;
  static constexpr DType kKeyFragments = kMay ? S.kType : S.type;
  static constexpr DType kValueFragments = kMay ? S.vType : S.type;
  /// Whether elements lie in LDS as in memory.
  static constexpr bool kInLds =
      kArch == Arch::Sm90a && kMay && info(S.type).bits == 16 &&
      info(S.kType).bits == 8 && info(S.vType).bits == 8;
  /// Keys of a step: twice as many where that leaves three stages, and
  /// registers.
  static constexpr bool kLong =
      kInLds && T.stages >= 3 && S.headDim + S.valueDim <= 256;
  static constexpr int kKeys = kLong ? 2 * T.bk : T.bk;
  /// Whether f16 is multiplied, which floats become in one instruction for two.
  /// Factors of probabilities may need more exponents than f16 has.
  static constexpr bool kHalves =
      kInLds && S.normalizer != Normalizer::None && !R::kWeight &&
      !kScaledWeights<S> && kNativeDecode<S.kType> && kNativeDecode<S.vType>;
  /// Queries become f16 times powers of two.
  static constexpr bool kScaledQueries = kHalves && S.type == DType::BF16;
};
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
  if constexpr (S.qScale.exists()) {
    i64 i = row / S.group, h = w.head * S.group + row % S.group;
    if constexpr (S.queries != SequenceLayout::Dense)
      i += w.queryStart;
    scale = a.qScale[w.sequence * a.qScaleSequence +
                     i / S.qScale.queries * a.qScaleRow + h * a.qScaleHead];
  }
  if constexpr (S.kScale.isShared())
    scale *= a.kScale[w.sequence * a.kScaleSequence + w.head * a.kScaleHead];
  return scale;
}

/// Of key `key`, if each has its own; behind the last one, that of the last.
template <AttentionSpec S, class R>
HK_DEV float keyScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                      i64 key) {
  if constexpr (!S.kScale.isPerKey())
    return 1.f;
  KeyPlace at = keyPlace<S>(a, w, minOf(key, w.keys - 1));
  return a.kScale[at.outer * a.kScaleSequence +
                  at.row / S.kScale.keys * a.kScaleRow + w.head * a.kScaleHead];
}
/// Of the value of key `key`, if probabilities are multiplied with it.
template <AttentionSpec S, class R>
HK_DEV float valueScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                        i64 key) {
  if constexpr (!kScaledWeights<S>)
    return 1.f;
  if constexpr (S.vScale != ValueScale::PerKey)
    return a.vScale[w.sequence * a.vScaleSequence + w.head * a.vScaleHead];
  KeyPlace at = keyPlace<S>(a, w, minOf(key, w.keys - 1));
  return a.vScale[at.outer * a.vScaleSequence + at.row * a.vScaleRow +
                  w.head * a.vScaleHead];
}
/// Of column `column` of a result, unless probabilities are multiplied.
template <AttentionSpec S, class R>
HK_DEV float resultScale(const AttentionArgs<S, R> &a, const AttentionBlock &w,
                         i64 column) {
  if constexpr (S.vScale == ValueScale::None || kScaledWeights<S>)
    return 1.f;
  i64 at = w.sequence * a.vScaleSequence + w.head * a.vScaleHead;
  return a.vScale[S.vScale == ValueScale::PerColumn ? at + column : at];
}

} // namespace hk

#endif // HK_KERNELS_ATTENTION_NARROW_H
