//===- host_source.h - Elements as the host reads them ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A place in an operand from which lanes of consecutive elements are read,
// widened and decoded. Decoders of whole blocks run over packed rows instead.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOSTSOURCE_H
#define HK_KERNELS_GEMM_HOSTSOURCE_H

#include "kernels/device/mma/host.h"
#include "kernels/device/reduce.h"
#include "kernels/gemm/operand.h"

namespace hk {

/// Consecutive elements (a, b) -> (even ones, odd ones).
template <class V, int... J> HK_DEV void splitPairs(V &a, V &b, Lanes<J...>) {
  V even = __builtin_shufflevector(a, b, (2 * J)...);
  b = __builtin_shufflevector(a, b, (2 * J + 1)...);
  a = even;
}

/// L is an Operand; Acc what its elements are widened to.
template <class L, class Acc> struct HostSource {
  using Decode = typename L::Decode;
  static constexpr bool kKContiguous = L::kKContiguous;
  static constexpr int W = kHostLanes;

  const Storage<L::kMem> *data;
  i64 stride;
  DecodeScales<Decode> scales;
  i64 kEnd;
  /// Names the rows, -1 for one of zeros, if they are gathered.
  const i32 *table;
  i64 row0 = 0, k0 = 0;
  int phase = 0;

  /// Of an operand of `rows` rows; scales end at k = kEnd.
  HK_MEM HostSource(const OperandArgs &args, i64 rows, i64 kEnd,
                    const i32 *table = nullptr)
      : data(reinterpret_cast<const Storage<L::kMem> *>(args.data)),
        stride(args.stride), scales(args, 0, rows), kEnd(kEnd), table(table) {}

  HK_MEM HostSource at(i64 row, i64 k) const {
    HostSource moved = *this;
    moved.row0 += row;
    moved.k0 += k;
    return moved;
  }
  /// The row of the operand; that of a row of zeros is -1.
  HK_MEM i64 rowOf(i64 row) const {
    if constexpr (L::kGathered)
      return table[row0 + row];
    else
      return (row0 + row) * L::kStep + phase;
  }
  /// Part `p` of a pair: `n` rows further on, or the next one.
  HK_MEM HostSource part(int p, i64 n) const {
    HostSource moved = *this;
    if constexpr (L::kStep == 1)
      moved.row0 += p * n;
    else
      moved.phase = p;
    return moved;
  }
  /// Elements from the operand's first one to (row, k).
  HK_MEM i64 offset(i64 row, i64 k) const {
    return kKContiguous ? rowOf(row) * stride + k0 + k
                        : (k0 + k) * stride + row0 + row;
  }

  /// The byte of two elements of 4 bits from (row, k) on, which begin at one;
  /// a loop over k finds the row's first byte in front of it.
  HK_MEM auto packedAt(i64 row, i64 k) const {
    static_assert(isPacked(L::kMem) && kKContiguous);
    return data + (offset(row, 0) >> 1) + (k >> 1);
  }

  /// The elements from (row, k) on along the contiguous dim; zero beyond
  /// `count`.
  HK_MEM HostVec<Acc> lanes(i64 row, i64 k, i64 count) const {
    if constexpr (L::kGathered)
      if (rowOf(row) < 0)
        return HostVec<Acc>(0);
    if constexpr (Decode::kMakesScales) // codes may be integers, these are not
      return bitCast<HostVec<Acc>>(
          loadLanes<L::kMem, float>(data, offset(row, k), count));
    HostVec<Acc> x = loadLanes<L::kMem, Acc>(data, offset(row, k), count);
    if constexpr (Decode::kHasScales) {
      static_assert(__is_same(Acc, float));
      x = Decode::template decode<W>(x, scalesOf(rowOf(row), k0 + k));
      // Nothing lies behind k, whatever the zero point or an infinite scale
      // would make of it.
      if (!Decode::kExact && kKContiguous && count < W)
        HK_UNROLL for (int e = 0; e < W; ++e) x[e] = e < count ? x[e] : 0.f;
      return x;
    } else
      return x;
  }

  /// Asks for rows [0, rows) x k [0, depth), as far as the L2 cache.
  HK_MEM void ask(i64 rows, i64 depth) const {
    if constexpr (!L::kGathered) {
      constexpr i64 line = 64 / sizeof(Storage<L::kMem>);
      i64 runs = kKContiguous ? rows : depth;
      i64 run = ((kKContiguous ? depth : rows) + isPacked(L::kMem)) >>
                isPacked(L::kMem);
      for (i64 r = 0; r < runs; ++r) {
        i64 at = kKContiguous ? offset(r, 0) : offset(0, r);
        auto from = data + (at >> isPacked(L::kMem));
        for (i64 e = 0; e < run; e += line)
          __builtin_prefetch(from + e, 0, 3);
      }
    }
  }

  /// Rows [0, rows), of which `micro` kernels ask for so many bytes as they
  /// multiply words of `Elements` elements.
  template <int Elements> HK_MEM AskedRows asked(i64 rows, i64 micro) const {
    static_assert(kKContiguous && !L::kGathered);
    constexpr i64 step = kBytes<L::kMem, kAskedWords * Elements>;
    constexpr i64 two = kBytes<L::kMem, 2>;
    u64 from = u64(data) + u64(offset(0, 0) * two / 2);
    return {from, L::kStep * stride * two / 2, rows,
            micro > 0 ? (rows + micro - 1) / micro : 0, step};
  }

  /// The elements from (row, k) on along k, exact in bf16; zero beyond `count`.
  HK_MEM HostVec<Bf16Pair> pairs(i64 row, i64 k, i64 count) const {
    static_assert(kKContiguous);
    if constexpr (L::kMem == DType::BF16 && !Decode::kDecodes) {
      if constexpr (L::kGathered)
        if (rowOf(row) < 0)
          return HostVec<Bf16Pair>(0);
      i64 at = offset(row, k);
      if (count >= 2 * W)
        return *reinterpret_cast<
            const typename Aligned<HostVec<Bf16Pair>, 2>::type *>(data + at);
      Vec<u16, 2 * W> x = 0;
      for (i64 e = 0; e < count; ++e)
        x[e] = data[at + e];
      return bitCast<HostVec<Bf16Pair>>(x);
    }
    auto even = lanes(row, k, count), odd = lanes(row, k + W, count - W);
    splitPairs(even, odd, AllLanes{});
    return pairsOf<W>(even, odd);
  }

  /// Decodes packed rows whose blocks along k must be seen whole: `depth` of k
  /// from the start of a block on, zeros behind the last of them. `made` gets
  /// the scale of each row, if the decoder makes them of its one block.
  HK_MEM static void decodeRows([[maybe_unused]] Acc *to,
                                [[maybe_unused]] i64 rows,
                                [[maybe_unused]] i64 toStride,
                                [[maybe_unused]] i64 depth,
                                [[maybe_unused]] float *made) {
    if constexpr (Decode::kDecodes && !Decode::kHasScales)
      for (i64 r = 0; r < rows; ++r)
        for (i64 k = 0; k < depth; k += Decode::kBlock)
          decodeBlock(to + r * toStride + k, made + r);
  }

private:
  HK_MEM static void decodeBlock(Acc *block, [[maybe_unused]] float *made) {
    constexpr int B = Decode::kBlock;
    auto x = [&](int e) -> Vec<float, W> {
      return bitCast<Vec<float, W>>(
          *reinterpret_cast<HostVec<Acc> *>(block + e));
    };
    Vec<float, W> most = 0.f;
    for (int e = 0; e < B; e += W)
      most = Max::apply(most, Vec<float, W>(__builtin_elementwise_abs(x(e))));
    float amax = reduceVec<Max, W>(most);
    if constexpr (Decode::kMakesScales)
      amax = *made = Decode::scaleOf(amax);
    for (int e = 0; e < B; e += W)
      *reinterpret_cast<HostVec<Acc> *>(block + e) =
          convertTo<Acc, W>(Decode::template decode<W>(x(e), amax));
  }

  HK_MEM ScaleOf<W> scalesOf(i64 row, i64 k) const {
    constexpr int shared = kKContiguous ? Decode::kDepth : Decode::kRows;
    if constexpr (shared == 0 || (kKContiguous && shared % W == 0))
      return ScaleOf<W>::all(scales.at(row, k, kEnd));
    ScaleOf<W> s;
    for (int e = 0; e < W; ++e)
      s.set(e, scales.at(row + (kKContiguous ? 0 : e),
                         k + (kKContiguous ? e : 0), kEnd));
    return s;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_HOSTSOURCE_H
