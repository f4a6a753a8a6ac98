//===- state.h - A part of a state in registers -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of a head is [keys, values]. COLUMNS neighbouring values belong to
// LANES neighbouring threads, which deal its keys out among them, vector after
// vector. Sums over keys are sums over these lanes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_STATE_H
#define HK_KERNELS_GATED_DELTA_STATE_H

#include "hk/Contract/LdsGatedDelta.h"
#include "kernels/device/launch.h"
#include "kernels/device/math.h"
#include "kernels/device/ops.h"
#include "kernels/device/reduce.h"
#include "kernels/gated_delta/tokens.h"

namespace hk {

/// What does not change from launch to launch.
struct GatedDeltaSpec {
  int heads, valueHeads, keys, values;
  int segments;   // of a sequence
  int fresh;      // values that come from u; the others are of transitions
  int chunk;      // 0: recurrent
  bool convolved; // a block convolves what its heads read
  int keyVector;  // elements of a vector along the keys
  float scale;
  bool hasDecay, sumsDecay, hasKeyDecay, hasValueDecay, hasBeta, betaPerValue;
  bool corrects; // by what the state has for the keys
  bool normalises;
  float epsilon;
  DType key, value; // element types that the definition rounds to
  bool hasState, keyMajor, wideIndices;
  DType state;
  int alignState, alignSegments; // bytes
};

/// States in f32, [segments, sequences, heads, keys, columns].
struct SegmentStates {
  u64 address;
  i64 segmentStride, sequenceStride, headStride, rowStride;

  HK_MEM Global<float> of(i64 segment, i64 sequence, i64 head) const {
    return global<float>(address) +
           (segment * segmentStride + sequence * sequenceStride +
            head * headStride);
  }
};

/// The pool of states; pointers may be null. What segments begin with, where
/// they do not with a line of the pool; what they make of any state.
struct StateArgs {
  u64 state, indices, initial;
  i64 lines, lineStride, headStride, rowStride;
  SegmentStates starts, transitions;
};

/// Bytes that an access of V elements of states of segments is aligned to.
template <GatedDeltaSpec S, int V>
inline constexpr int kAlignSegments =
    S.alignSegments < 4 * V ? S.alignSegments : 4 * V;

/// What the LDS of a kernel depends on, but for the rows of tokens that a walk
/// stages.
constexpr ChunkShape chunkShape(const GatedDeltaSpec &s) {
  return {s.chunk, s.keys, s.values};
}

/// The line of a sequence; -1: none.
template <GatedDeltaSpec S>
HK_DEV i64 stateLine(const StateArgs &a, i64 sequence) {
  if constexpr (!S.hasState)
    return -1;
  i64 line = sequence;
  if (a.indices)
    line = S.wideIndices ? global<const i64>(a.indices)[sequence]
                         : i64(global<const i32>(a.indices)[sequence]);
  return line >= 0 && line < a.lines ? line : -1;
}
/// The line that a sequence begins with; -1: with zeros.
template <GatedDeltaSpec S>
HK_DEV i64 initialLine(const StateArgs &a, i64 sequence) {
  bool fresh = a.initial && !global<const u8>(a.initial)[sequence];
  return fresh ? -1 : stateLine<S>(a, sequence);
}

template <GatedDeltaSpec S, GatedDeltaTile TILE> struct HeadState {
  static constexpr int kLanes = TILE.lanes, kColumns = TILE.columns;
  static constexpr int kVec = S.keyVector;
  /// Vectors of keys per thread.
  static constexpr int kSteps = (S.keys + kVec * kLanes - 1) / (kVec * kLanes);
  static constexpr int kGroups = TILE.threads / kLanes;
  /// Blocks that share a head.
  static constexpr int kSlices =
      (S.values + kColumns * kGroups - 1) / (kColumns * kGroups);
  static_assert(S.values % kColumns == 0);
  using Columns = Vec<float, kColumns>;
  using Keys = Vec<float, kVec>;

  /// This thread's values and keys.
  struct Place {
    i64 value;
    int lane;
    bool valid; // the values exist
    HK_MEM i64 key(int step) const { return i64(step * kLanes + lane) * kVec; }
    /// Whether the keys of a step exist.
    HK_MEM bool has(int step) const {
      if constexpr (S.keys % (kVec * kLanes) == 0)
        return true;
      return key(step) < S.keys;
    }
    /// One of the lanes that have the same values.
    HK_MEM bool first() const { return lane == 0 && valid; }
  };
  HK_MEM static Place place(i64 slice) {
    int thread = kIsHost ? 0 : threadId();
    i64 value = (slice * kGroups + thread / kLanes) * kColumns;
    return {value, thread % kLanes, value < S.values};
  }

  Columns s[kSteps * kVec];

  /// sum over keys of s and x, for all lanes.
  HK_MEM Columns dot(const Keys (&x)[kSteps]) const {
    Columns sum = 0;
    HK_UNROLL for (int r = 0; r < kSteps; ++r)
        HK_UNROLL for (int w = 0; w < kVec; ++w) sum =
            fma<kColumns>(s[r * kVec + w], Columns(x[r][w]), sum);
    float parts[kColumns];
    HK_UNROLL for (int c = 0; c < kColumns; ++c) parts[c] = sum[c];
    reduceLanes<Sum, 1, kLanes, kWave>(parts);
    HK_UNROLL for (int c = 0; c < kColumns; ++c) sum[c] = parts[c];
    return sum;
  }
  /// s += x d.
  HK_MEM void add(const Keys (&x)[kSteps], Columns d) {
    HK_UNROLL for (int r = 0; r < kSteps; ++r)
        HK_UNROLL for (int w = 0; w < kVec; ++w) s[r * kVec + w] =
            fma<kColumns>(Columns(x[r][w]), d, s[r * kVec + w]);
  }

  HK_MEM void load(const StateArgs &a, const TokenSpan &span, i64 head,
                   Place at) {
    HK_UNROLL for (int i = 0; i < kSteps * kVec; ++i) s[i] = 0;
    if constexpr (S.segments > 1) {
      auto from = a.starts.of(span.segment, span.number, head);
      if (at.valid)
        forEachRow(at, [&](i64 key, int i) {
          s[i] = hk::load<DType::F32, kColumns, kAlignSegments<S, kColumns>>(
              from, key * a.starts.rowStride + at.value);
        });
      return;
    }
    i64 line = initialLine<S>(a, span.number);
    if (line < 0 || !at.valid)
      return;
    auto base = global<const Storage<S.state>>(a.state) +
                (line * a.lineStride + head * a.headStride);
    forEach(a, at, [&](i64 offset, int i, int c) {
      if constexpr (S.keyMajor)
        s[i] = hk::load<S.state, kColumns, kAlign<kColumns>>(base, offset);
      else {
        Keys part = hk::load<S.state, kVec, kAlign<kVec>>(base, offset);
        HK_UNROLL for (int w = 0; w < kVec; ++w) s[i + w][c] = part[w];
      }
    });
  }
  HK_MEM void store(const StateArgs &a, const TokenSpan &span, i64 head,
                    Place at) {
    i64 line = span.ends ? stateLine<S>(a, span.number) : -1;
    if (line < 0 || !at.valid)
      return;
    auto base = global<Storage<S.state>>(a.state) +
                (line * a.lineStride + head * a.headStride);
    forEach(a, at, [&](i64 offset, int i, int c) {
      if constexpr (S.keyMajor)
        hk::store<S.state, kColumns, kAlign<kColumns>>(base, offset, s[i]);
      else {
        Keys part;
        HK_UNROLL for (int w = 0; w < kVec; ++w) part[w] = s[i + w][c];
        hk::store<S.state, kVec, kAlign<kVec>>(base, offset, part);
      }
    });
  }

  /// body(key, entry of s) for every row of this thread.
  template <class Body> HK_MEM static void forEachRow(Place at, Body body) {
    HK_UNROLL for (int r = 0; r < kSteps; ++r) if (at.has(r))
        HK_UNROLL for (int w = 0; w < kVec; ++w)
            body(at.key(r) + w, r * kVec + w);
  }

private:
  /// Bytes that an access of V elements is known to be aligned to.
  template <int V>
  static constexpr int kAlign = [] {
    int bytes = kBytes<S.state, V>;
    return S.alignState < bytes ? S.alignState : bytes;
  }();

  /// body(offset, entry of s, column) for every vector of this thread.
  template <class Body>
  HK_MEM static void forEach(const StateArgs &a, Place at, Body body) {
    HK_UNROLL for (int r = 0; r < kSteps; ++r) {
      if (!at.has(r))
        continue;
      if constexpr (S.keyMajor) {
        HK_UNROLL for (int w = 0; w < kVec; ++w)
            body((at.key(r) + w) * a.rowStride + at.value, r * kVec + w, 0);
      } else {
        HK_UNROLL for (int c = 0; c < kColumns; ++c)
            body((at.value + c) * a.rowStride + at.key(r), r * kVec, c);
      }
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_STATE_H
