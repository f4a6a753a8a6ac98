//===- io.h - Vector loads and stores of global memory and LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// load and store move V elements of a dtype between memory and carriers.
// Offsets are 64-bit and count elements (of packed types also: even ones).
// ALIGN is what is known about the address, in bytes; less than the vector's
// size gives a slower but right access. The masked forms touch the first
// `count` elements only; other lanes read as zero.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_IO_H
#define HK_KERNELS_DEVICE_IO_H

#include "kernels/device/convert.h"
#include "kernels/device/loops.h"
#include "kernels/device/rows.h"
#include "kernels/device/types.h"

namespace hk {

/// Bytes of V packed elements.
template <DType D, int V>
inline constexpr int kBytes = int(sizeof(Storage<D>)) * kUnits<D, V>;

/// T aligned to A bytes only.
template <class T, int A> struct Aligned {
  typedef T type __attribute__((aligned(A), may_alias));
};

template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV Packed<D, V> loadPacked(Global<const Storage<D>> p, i64 i) {
  using T = typename Aligned<Packed<D, V>, ALIGN>::type;
  if constexpr (isPacked(D))
    i >>= 1;
  return *(Global<const T>)(p + i);
}
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storePacked(Global<Storage<D>> p, i64 i, Packed<D, V> v) {
  using T = typename Aligned<Packed<D, V>, ALIGN>::type;
  if constexpr (isPacked(D))
    i >>= 1;
  *(Global<T>)(p + i) = v;
}

template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV Carrier<D, V> load(Global<const Storage<D>> p, i64 i) {
  return unpack<D, V>(loadPacked<D, V, ALIGN>(p, i));
}
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void store(Global<Storage<D>> p, i64 i, Carrier<D, V> v) {
  storePacked<D, V, ALIGN>(p, i, pack<D, V>(v));
}

/// store of values of which none is NaN.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeNumbers(Global<Storage<D>> p, i64 i, Carrier<D, V> v) {
  storePacked<D, V, ALIGN>(p, i, packNumbers<D, V>(v));
}
/// store of quotients by the scale of their group, of which none is NaN where
/// the scale is a number.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeQuotients(Global<Storage<D>> p, i64 i, Carrier<D, V> v,
                           float scale) {
  if constexpr (kVotes && V >= 4)
    if (__builtin_expect(ballot(!(scale < __builtin_inff())) == 0, true))
      return storeNumbers<D, V, ALIGN>(p, i, v);
  store<D, V, ALIGN>(p, i, v);
}

/// store of values that are rounded to D already.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeExact(Global<Storage<D>> p, i64 i, Carrier<D, V> v) {
  storePacked<D, V, ALIGN>(p, i, packExact<D, V>(v));
}

/// storeExact past the caches if `streams` and the address allows it.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeStreamed(Global<Storage<D>> p, i64 i, Carrier<D, V> v,
                          bool streams) {
  constexpr int bytes = kBytes<D, V> < 64 ? kBytes<D, V> : 64;
  if constexpr (bytes >= 16 && !isPacked(D)) {
    if (streams && (u64)(p + i) % bytes == 0) {
      using T = typename Aligned<Packed<D, V>, bytes>::type;
      __builtin_nontemporal_store(packExact<D, V>(v), (Global<T>)(p + i));
      return;
    }
  }
  storeExact<D, V, ALIGN>(p, i, v);
}

template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV Carrier<D, V> loadMasked(Global<const Storage<D>> p, i64 i, i64 count) {
  if (count >= V)
    return load<D, V, ALIGN>(p, i);
  Packed<D, V> raw = 0;
  if constexpr (isPacked(D)) {
    i >>= 1;
    count >>= 1;
  }
  HK_UNROLL for (int e = 0; e < kUnits<D, V>; ++e) if (e < count) raw[e] =
      p[i + e];
  return unpack<D, V>(raw);
}
/// The first `count` of V elements as they lie in memory.
template <DType D, int V>
HK_DEV void storeFirst(Global<Storage<D>> p, i64 i, i64 count,
                       Packed<D, V> raw) {
  if constexpr (isPacked(D)) {
    i >>= 1;
    count >>= 1;
  }
  HK_UNROLL for (int e = 0; e < kUnits<D, V>; ++e) if (e < count) p[i + e] =
      raw[e];
}
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeMasked(Global<Storage<D>> p, i64 i, i64 count,
                        Carrier<D, V> v) {
  if (count >= V)
    return store<D, V, ALIGN>(p, i, v);
  storeFirst<D, V>(p, i, count, pack<D, V>(v));
}
/// storeMasked of values that are rounded to D already.
template <DType D, int V, int ALIGN = kBytes<D, V>>
HK_DEV void storeMaskedExact(Global<Storage<D>> p, i64 i, i64 count,
                             Carrier<D, V> v) {
  if (count >= V)
    return storeExact<D, V, ALIGN>(p, i, v);
  storeFirst<D, V>(p, i, count, packExact<D, V>(v));
}

/// One element as a scalar carrier.
template <DType D>
HK_DEV typename Traits<D>::Carrier loadScalar(Global<const Storage<D>> p,
                                              i64 i) {
  if constexpr (isPacked(D)) {
    u32 byte = p[i >> 1];
    return valuesOfCodes<D, 1>(Vec<u32, 1>((byte >> (4 * (i & 1))) & 15u))[0];
  } else
    return load<D, 1>(p, i)[0];
}

/// The place of token `t` in its own sequence, where sequence s has the tokens
/// [bounds[s], bounds[s + 1]); -1 behind the last of `n` bounds.
template <class Integers>
HK_DEV i64 placeInSequence(const Integers &bounds, i64 n, i64 t) {
  if (n < 2 || t >= i64(bounds[n - 1]))
    return -1;
  i64 low = 0, high = n - 1; // bounds[low] <= t < bounds[high]
  while (high - low > 1) {
    i64 middle = (low + high) / 2;
    (i64(bounds[middle]) <= t ? low : high) = middle;
  }
  return t - i64(bounds[low]);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_IO_H
