//===- widening.h - Rows into LDS, perhaps as a wider type -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which copy brings rows of keys or values from memory into LDS: PickRowCopy.
// Rows of the type that is multiplied are copied by what the chip has for it,
// those of another type through registers, where their elements are converted.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ATTENTION_WIDENING_H
#define HK_KERNELS_DEVICE_ATTENTION_WIDENING_H

#include "kernels/device/attention/fragments.h"

namespace hk {

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

} // namespace hk

#endif // HK_KERNELS_DEVICE_ATTENTION_WIDENING_H
