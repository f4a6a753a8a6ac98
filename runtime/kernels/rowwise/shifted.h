//===- shifted.h - Chunks of rows that begin anywhere -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of an odd number of elements begin anywhere between two vectors of
// memory. The chunks of such a row begin with the vector that its first element
// lies in, `shift` elements before it:
//
//   memory    |. . . . . 0 1 2|3 4 5 6 7 8 9 10|11 12 . . . . . .|
//   chunks     chunk 0, shift 5     chunk 1          chunk 2
//
// So every chunk but the first and the last ones is a whole vector at its own
// multiple of bytes. The others have fewer lanes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_SHIFTED_H
#define HK_KERNELS_ROWWISE_SHIFTED_H

#include "kernels/device/io.h"
#include "kernels/device/ops.h"

namespace hk {

/// How the operands of a row lie.
struct RowPlace {
  bool even;   // all of them begin `shift` elements past a vector
  bool within; // and the vectors that the row shares are of memory of theirs
};

/// The lanes of a chunk that are elements of the row, from `first` up to `end`.
struct LaneRange {
  i32 first, end;
  RowPlace row;
  bool inner; // the next V elements are of the row, too
  HK_MEM bool isWhole(int lanes) const { return first == 0 && end == lanes; }
};

/// How many elements past a multiple of V elements a row begins.
template <int V, class T> HK_DEV i32 shiftOf(Global<T> row) {
  return i32((u64)row / sizeof(T) % V);
}

/// Bytes that a whole chunk of V elements of a type is aligned to.
template <class T, int V>
inline constexpr int kShiftedAlign = sizeof(T) * V < 16 ? sizeof(T) * V : 16;

/// Whether what lies `shift` elements before a row is aligned as vectors are.
template <int V, class T> HK_DEV bool beginsEven(Global<T> row, i32 shift) {
  return ((u64)row - u64(shift) * sizeof(T)) % kShiftedAlign<T, V> == 0;
}

/// The first vector of 16 bytes that lies in the row as a whole.
template <class T> HK_DEV const void *firstVector(Global<T> row) {
  return (const void *)(((u64)row + 15) / 16 * 16);
}

/// Of row number `row` of `rows`. In front of the first one and behind the last
/// one an operand may end.
HK_DEV RowPlace placeOfRow(bool even, i32 shift, i64 row, i64 rows) {
  return {even, even && (row > 0 || shift == 0) && row + 1 < rows};
}

/// The lanes of chunk c of a row of WIDTH elements. BEGINS and ENDS: the chunk
/// may be the first one, or one of the last three.
template <int V, i64 WIDTH, class I>
HK_DEV LaneRange lanesOf(I c, i32 shift, RowPlace row, bool begins, bool ends) {
  I place = c * V - shift, left = I(WIDTH) - place;
  LaneRange lanes{0, V, row, !(ends && left < 2 * V)};
  if (begins && place < 0)
    lanes.first = i32(-place);
  if (ends && left < V)
    lanes.end = i32(left < 0 ? I(0) : left);
  return lanes;
}

HK_DEV bool hasLane(LaneRange lanes, i32 e) {
  return e >= lanes.first && e < lanes.end;
}

template <int V, class ValueVec, class Fill>
HK_DEV ValueVec keepFirst(ValueVec v, LaneRange lanes, Fill fill) {
  HK_UNROLL for (int e = 0; e < V; ++e) v[e] = hasLane(lanes, e) ? v[e] : fill;
  return v;
}

/// V elements of 16 bytes from anywhere behind p, which is aligned, in one or
/// two vectors: what every row reads alike begins elsewhere than its chunks.
/// Lanes before p are of no use.
template <DType D, int V>
HK_DEV Packed<D, V> loadAcross(Global<const Storage<D>> p, i64 i) {
  static_assert(kBytes<D, V> == 16 && sizeof(Storage<D>) == 2);
  auto vectors = (Global<const Vec<u32, 4>>)(p);
  i64 first = i >> 3, next = (i + 7) >> 3;
  Vec<u32, 4> a = vectors[first < 0 ? 0 : first], b = vectors[next];
  u32 behind = u32(i) % 8;
  // Words are picked from values: an array would be indexed in memory.
  bool far = behind & 4, odd = behind & 2;
  u32 w0 = far ? a[2] : a[0], w1 = far ? a[3] : a[1], w2 = far ? b[0] : a[2];
  u32 w3 = far ? b[1] : a[3], w4 = far ? b[2] : b[0], w5 = far ? b[3] : b[1];
  u32 v0 = odd ? w1 : w0, v1 = odd ? w2 : w1, v2 = odd ? w3 : w2;
  u32 v3 = odd ? w4 : w3, v4 = odd ? w5 : w4, bits = 16 * (behind & 1);
  auto join = [&](u32 low, u32 high) {
    return u32((u64(high) << 32 | low) >> bits);
  };
  return __builtin_bit_cast(
      Packed<D, V>,
      Vec<u32, 4>{join(v0, v1), join(v1, v2), join(v2, v3), join(v3, v4)});
}

/// The lanes that exist; anything in the others. ALIGN of less than a vector:
/// an operand that every row reads alike.
template <DType D, int V, int ALIGN>
HK_DEV Packed<D, V> loadPacked(Global<const Storage<D>> p, i64 i,
                               LaneRange lanes) {
  if constexpr (ALIGN >= kShiftedAlign<Storage<D>, V>) {
    // The other lanes are elements of the rows beside this one.
    if (lanes.row.within || (lanes.row.even && lanes.isWhole(V)))
      return loadPacked<D, V, ALIGN>(p, i);
  } else if constexpr (kBytes<D, V> == 16 && sizeof(Storage<D>) == 2) {
    if (lanes.inner && (u64)p % 16 == 0)
      return loadAcross<D, V>(p, i);
  }
  // Without a branch between them, so that all loads are under way.
  Packed<D, V> raw = 0;
  if (lanes.first < lanes.end)
    HK_UNROLL for (int e = 0; e < V; ++e) {
      int own = e < lanes.first ? lanes.first : e;
      raw[e] = p[i + (own < lanes.end ? own : lanes.end - 1)];
    }
  return raw;
}

template <DType D, int V, int ALIGN>
HK_DEV Carrier<D, V> loadMasked(Global<const Storage<D>> p, i64 i,
                                LaneRange lanes) {
  return unpack<D, V>(loadPacked<D, V, ALIGN>(p, i, lanes));
}

template <DType D, int V, int ALIGN>
HK_DEV void storeLanes(Global<Storage<D>> p, i64 i, LaneRange lanes,
                       Packed<D, V> raw) {
  if (ALIGN >= kShiftedAlign<Storage<D>, V> && lanes.row.even &&
      lanes.isWhole(V))
    return storePacked<D, V, ALIGN>(p, i, raw);
  HK_UNROLL for (int e = 0; e < V; ++e) if (hasLane(lanes, e)) p[i + e] =
      raw[e];
}
template <DType D, int V, int ALIGN>
HK_DEV void storeMasked(Global<Storage<D>> p, i64 i, LaneRange lanes,
                        Carrier<D, V> v) {
  storeLanes<D, V, ALIGN>(p, i, lanes, pack<D, V>(v));
}
/// storeMasked of values that are rounded to D already.
template <DType D, int V, int ALIGN>
HK_DEV void storeMaskedExact(Global<Storage<D>> p, i64 i, LaneRange lanes,
                             Carrier<D, V> v) {
  storeLanes<D, V, ALIGN>(p, i, lanes, packExact<D, V>(v));
}

} // namespace hk

#endif // HK_KERNELS_ROWWISE_SHIFTED_H
