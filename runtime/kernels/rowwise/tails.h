//===- tails.h - Rows whose last vector is partial -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of a size that no vector divides, on chips that access vectors at any
// element: chunks begin with the row, and the last one has REST elements. As
// that number is known, they are a few accesses without a comparison: of 7
// elements one of 4, one of 2 and one.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_TAILS_H
#define HK_KERNELS_ROWWISE_TAILS_H

#include "kernels/device/io.h"
#include "kernels/device/quotients.h"

namespace hk {

/// Whether all elements of a chunk are of the row, or the first REST. No bool:
/// of a struct of one clang 22 makes memory that LLVM does not take away.
template <int REST> struct TailLanes {
  u32 whole;
};

/// Those of chunk c of a row of WIDTH elements, which V does not divide.
template <int V, i64 WIDTH> HK_DEV TailLanes<int(WIDTH % V)> tailOf(i64 c) {
  return {u32(c != WIDTH / V)};
}

template <int REST> HK_DEV bool hasLane(TailLanes<REST> lanes, i32 e) {
  return e < REST || lanes.whole;
}

template <int V, class ValueVec, int REST, class Fill>
HK_DEV ValueVec keepFirst(ValueVec v, TailLanes<REST> lanes, Fill fill) {
  HK_UNROLL for (int e = REST; e < V; ++e) v[e] = lanes.whole ? v[e] : fill;
  return v;
}

/// The largest power of two that is at most `count`.
HK_DEV constexpr int largestPiece(int count) {
  int piece = 1;
  while (2 * piece <= count)
    piece *= 2;
  return piece;
}

/// Elements [AT, REST) of a chunk at p + i, in pieces of powers of two.
template <DType D, int V, int REST, int AT = 0>
HK_DEV void loadTail(Global<const Storage<D>> p, i64 i, Packed<D, V> &raw) {
  if constexpr (AT < REST) {
    constexpr int piece = largestPiece(REST - AT);
    auto part = loadPacked<D, piece, sizeof(Storage<D>)>(p, i + AT);
    HK_UNROLL for (int e = 0; e < piece; ++e) raw[AT + e] = part[e];
    loadTail<D, V, REST, AT + piece>(p, i, raw);
  }
}
template <DType D, int V, int REST, int AT = 0>
HK_DEV void storeTail(Global<Storage<D>> p, i64 i, Packed<D, V> raw) {
  if constexpr (AT < REST) {
    constexpr int piece = largestPiece(REST - AT), first = kUnits<D, AT>;
    Packed<D, piece> part;
    HK_UNROLL for (int e = 0; e < kUnits<D, piece>; ++e) part[e] =
        raw[first + e];
    storePacked<D, piece, sizeof(Storage<D>)>(p, i + AT, part);
    storeTail<D, V, REST, AT + piece>(p, i, raw);
  }
}

/// Lanes that are no elements of the row have the chunk's first one, so that no
/// vote is of what the row does not hold (0 has no logarithm).
template <DType D, int V, int ALIGN, int REST>
HK_DEV Packed<D, V> loadPacked(Global<const Storage<D>> p, i64 i,
                               TailLanes<REST> lanes) {
  static_assert(!isPacked(D));
  if (__builtin_expect(lanes.whole, true))
    return loadPacked<D, V, ALIGN>(p, i);
  Packed<D, V> raw = 0;
  loadTail<D, V, REST>(p, i, raw);
  HK_UNROLL for (int e = REST; e < V; ++e) raw[e] = raw[0];
  return raw;
}
template <DType D, int V, int ALIGN, int REST>
HK_DEV Carrier<D, V> loadMasked(Global<const Storage<D>> p, i64 i,
                                TailLanes<REST> lanes) {
  return unpack<D, V>(loadPacked<D, V, ALIGN>(p, i, lanes));
}

/// V elements as they lie in memory, or the first REST of them.
template <DType D, int V, int ALIGN, int REST>
HK_DEV void storeBits(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                      Packed<D, V> raw) {
  static_assert(!isPacked(D) || REST % 2 == 0);
  if (__builtin_expect(lanes.whole, true))
    storePacked<D, V, ALIGN>(p, i, raw);
  else
    storeTail<D, V, REST>(p, i, raw);
}

/// As the stores of device/io.h and device/quotients.h of the same names; what
/// is known of the values is true of lanes that do not exist, too, which are
/// computed of an element that does.
template <DType D, int V, int ALIGN, int REST>
HK_DEV void store(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                  Carrier<D, V> v) {
  storeBits<D, V, ALIGN>(p, i, lanes, pack<D, V>(v));
}
template <DType D, int V, int ALIGN, int REST>
HK_DEV void storeExact(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                       Carrier<D, V> v) {
  storeBits<D, V, ALIGN>(p, i, lanes, packExact<D, V>(v));
}
template <DType D, int V, int ALIGN, int REST>
HK_DEV void storeNumbers(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                         Carrier<D, V> v) {
  storeBits<D, V, ALIGN>(p, i, lanes, packNumbers<D, V>(v));
}
template <DType D, int V, int ALIGN, int REST>
HK_DEV void storeQuotients(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                           Carrier<D, V> v, float scale) {
  storeBits<D, V, ALIGN>(
      p, i, lanes, areNumbers(scale) ? packNumbers<D, V>(v) : pack<D, V>(v));
}
template <DType D, int V, int ALIGN, int REST>
HK_DEV void storeNearest(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                         Carrier<D, V> v) {
  storeBits<D, V, ALIGN>(p, i, lanes, detail::packNearest<D, V>(v));
}
template <DType D, int V, int ALIGN, int REST>
HK_DEV void storeWithin(Global<Storage<D>> p, i64 i, TailLanes<REST> lanes,
                        Carrier<D, V> v, float scale) {
  if constexpr (kNativeEncode<D>)
    storeBits<D, V, ALIGN>(p, i, lanes,
                           areNumbers(scale) ? detail::packWithin<D, V>(v)
                                             : pack<D, V>(v));
  else
    store<D, V, ALIGN>(p, i, lanes, v);
}

} // namespace hk

#endif // HK_KERNELS_ROWWISE_TAILS_H
