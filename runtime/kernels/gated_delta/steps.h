//===- steps.h - Operators that share a block -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block with a chunk of a head may compute several operators, each by its own
// template. What one leaves for another lies in LDS, rounded as it would be in
// memory. The compiler decides what lies where (chunkLinkPlaces).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_STEPS_H
#define HK_KERNELS_GATED_DELTA_STEPS_H

#include "kernels/device/io.h"
#include "kernels/device/launch.h"

namespace hk {

/// LDS of a block of several operators; each finds its own at PLACE.
template <int BYTES> struct ChunkLds {
  alignas(16) u8 bytes[BYTES];
  template <class T, int PLACE> HK_MEM T &as() {
    static_assert(PLACE % 16 == 0 && PLACE + kLdsBytes<T> <= BYTES);
    u8 *from = bytes;
    return *reinterpret_cast<T *>(from + PLACE);
  }
};

/// COLUMNS elements of D for each token of a chunk.
template <DType D, int COLUMNS> struct ChunkLink {
  u8 *bytes;

  template <int N> HK_MEM Vec<float, N> get(i64 token, i64 column) const {
    return unpack<D, N>(
        *reinterpret_cast<const Elements<N> *>(place(token, column)));
  }
  template <int N>
  HK_MEM void put(i64 token, i64 column, Vec<float, N> x) const {
    *reinterpret_cast<Elements<N> *>(place(token, column)) = pack<D, N>(x);
  }

private:
  /// Places of links are multiples of 16 bytes, no more.
  template <int N>
  using Elements =
      typename Aligned<Packed<D, N>,
                       (kBytes<D, N> < 16 ? kBytes<D, N> : 16)>::type;
  HK_MEM u8 *place(i64 token, i64 column) const {
    return bytes + int(token * COLUMNS + column) * int(sizeof(Storage<D>));
  }
};

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_STEPS_H
