//===- host_skinny.h - Products of few rows on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B is streamed once past up to four rows of A that were packed before. Rows
// of B that follow each other in memory are one run, which the CPU's
// prefetchers follow: those that are multiplied as they are stored are swept
// singly. What is decoded is swept four rows at a time, unless its stream has
// two sums of a row: a sum waits for each product in turn, which takes longer
// than memory does. Rows that lie apart are, too, pages apart, and prefetchers
// stop at a page's end: each step asks for what the step as many rows further
// on will read. What lies apart is asked for as far as the L2 cache: four rows
// of 8 KiB ahead would be all of L1. A run is asked for into L1, as the
// prefetchers have it in L2 already.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOSTSKINNY_H
#define HK_KERNELS_GEMM_HOSTSKINNY_H

#include "kernels/gemm/host_tables.h"

namespace hk {

/// B streamed past a few rows of A that were packed before, at most `Depth` of
/// k at a time.
template <class L, class Word, int Depth> struct SkinnyProduct {
  using Acc = typename HostWord<Word>::Sum;
  using V = HostVec<Acc>;
  using Words = HostVec<Word>;
  using Source = HostSource<L, Acc>;
  using Stream = SkinnyWords<L, Word, Depth>;
  static constexpr int W = kHostLanes, kVectors = Stream::kVectors;
  static constexpr int kElements = HostWord<Word>::kElements;
  static constexpr int kStepWords = kVectors * W;
  static constexpr int kStep = kStepWords * kElements;
  /// Rows of B that are swept together, where they lie apart.
  static constexpr int kRows = 4;
  /// Whether rows that are one run are swept singly; not below as many bytes of
  /// a row, where what a sweep begins and ends with costs more than that gains.
  static constexpr bool kMaySweepSingly =
      L::kMem == DType::F32 || info(L::kMem).bits == 16 || Stream::kSumsTwice;
  static constexpr i64 kRunBytes = 512;
  /// Bytes asked for ahead, at least: what comes in while memory answers.
  static constexpr i64 kAhead = 8192;

  /// Sums of a row of B: where a step adds four vectors to one sum, nothing but
  /// other rows hides the time that each of them takes.
  template <int R>
  static constexpr int kSums = R == 1 && Stream::kSumsTwice ? 2 : 1;

  /// One row of A (words along k) in the order of the stream.
  HK_MEM static void orderA(Word *row, i64 words) {
    for (i64 w = 0; w < words; w += kStepWords) {
      auto at = reinterpret_cast<Words(*)[kVectors]>(row + w);
      Stream::order(*at);
    }
  }

  /// The last elements of a row, fewer than a step. Not a part of every loop
  /// that ends with it, for the time that these take to compile.
  __attribute__((noinline)) static void
  loadRest(const Source &b, i64 row, i64 k, i64 depth, Words (&x)[kVectors]) {
    HK_UNROLL for (int v = 0; v < kVectors; ++v) x[v] =
        wordsAlongK<Word>(b, row, k / kElements + v * W, depth);
    Stream::order(x);
  }

  /// c[m][r] += a[m] . b[row + r] for M rows of A and R rows of B, k
  /// contiguous; `ahead`: elements between what is read and what is asked for,
  /// into L1 if B IsRun.
  template <int M, int R, bool IsRun>
  HK_MEM static void dots(const Word *a, i64 strideA, const Source &b, i64 row,
                          i64 depth, i64 ahead, Acc *c, i64 strideC) {
    V acc[M][R][kSums<R>];
    HK_UNROLL for (int m = 0; m < M; ++m) HK_UNROLL for (int r = 0; r < R; ++r)
        HK_UNROLL for (int i = 0; i < kSums<R>; ++i) acc[m][r][i] = V(0);
    auto add = [&](i64 k, Words(&x)[kVectors], int r)
                   __attribute__((always_inline)) {
                     HK_UNROLL for (int m = 0; m < M; ++m) {
                       auto at = reinterpret_cast<const Words *>(
                           a + m * strideA + i64(u64(k) / kElements));
                       HK_UNROLL for (int v = 0; v < kVectors; ++v) {
                         V &sum = acc[m][r][v % kSums<R>];
                         sum = multiplyAdd<Word>(at[v], x[v], sum);
                       }
                     }
                   };
    typename Stream::template Room<R> room;
    typename Stream::Row rows[R];
    Stream::template start<R>(b, row, depth, room, rows);
    i64 k = 0;
    while (k + kStep <= depth) {
      typename Stream::Block block[R];
      HK_UNROLL for (int r = 0; r < R; ++r) block[r] =
          Stream::block(b, rows[r], k);
      i64 end = endOfBlock(b, k, depth);
      do {
        HK_UNROLL for (int r = 0; r < R; ++r) {
          prefetch<IsRun>(b, row + r, k, ahead);
          Words x[kVectors];
          Stream::load(b, block[r], row + r, k, x);
          add(k, x, r);
        }
        k += kStep;
      } while (k + kStep <= end);
    }
    if (k < depth)
      HK_UNROLL for (int r = 0; r < R; ++r) {
        Words x[kVectors];
        loadRest(b, row + r, k, depth, x);
        add(k, x, r);
      }
    HK_UNROLL for (int m = 0; m < M; ++m) HK_UNROLL for (int r = 0; r < R; ++r)
        c[m * strideC + r] += sumLanes<Acc, W>(sumOf(acc[m][r]));
  }

  template <int N> HK_MEM static V sumOf(const V (&sums)[N]) {
    if constexpr (N == 1)
      return sums[0];
    else
      return sums[0] + sums[1];
  }

  /// Where the block that k is in ends, or all of `depth`.
  HK_MEM static i64 endOfBlock(const Source &b, i64 k, i64 depth) {
    constexpr u64 span = Stream::kSpan;
    if constexpr (span == 0)
      return depth;
    if constexpr (span == kStep)
      return k;
    i64 end = k + i64(span - u64(b.k0 + k) % span);
    return end < depth ? end : depth;
  }

  /// Every line of a step, `ahead` elements behind (row, k). The address may be
  /// outside of B; nothing is read there.
  template <bool IsRun>
  HK_MEM static void prefetch(const Source &b, i64 row, i64 k, i64 ahead) {
    if constexpr (L::kGathered)
      return;
    constexpr i64 bytes = kBytes<L::kMem, kStep>;
    i64 first = b.offset(row, 0) + ahead; // apart from k, as no loop changes it
    auto bytesOf = [](i64 n) {
      return (isPacked(L::kMem) ? n >> 1 : n) * i64(sizeof(Storage<L::kMem>));
    };
    u64 address = u64(b.data) + bytesOf(first) + bytesOf(k);
    HK_UNROLL for (i64 line = 0; line < bytes; line += 64) __builtin_prefetch(
        reinterpret_cast<const void *>(address + line), 0, IsRun ? 3 : 2);
  }

  /// c[m][0..count) += a[m] * b[row..][k] with the rows contiguous in memory.
  template <int M>
  HK_MEM static void axpys(const Acc *a, i64 strideA, const Source &b, i64 row,
                           i64 depth, i64 count, Acc *c, i64 strideC) {
    V acc[M][2];
    HK_UNROLL for (int m = 0; m < M; ++m) acc[m][0] = acc[m][1] = V(0);
    for (i64 k = 0; k < depth; ++k) {
      V b0 = b.lanes(row, k, count);
      V b1 = b.lanes(row + W, k, count - W);
      HK_UNROLL for (int m = 0; m < M; ++m) {
        V x = V(a[m * strideA + k]);
        acc[m][0] = multiplyAdd<Acc>(x, b0, acc[m][0]);
        acc[m][1] = multiplyAdd<Acc>(x, b1, acc[m][1]);
      }
    }
    HK_UNROLL for (int m = 0; m < M; ++m)
        HK_UNROLL for (int e = 0; e < 2 * W; ++e) if (e < count)
            c[m * strideC + e] += acc[m][e / W][e % W];
  }

  /// M rows of A against `rows` rows of B.
  template <int M>
  __attribute__((noinline)) static void sweep(const Word *a, i64 strideA,
                                              const Source &b, i64 rows,
                                              i64 depth, Acc *c, i64 strideC) {
    if constexpr (L::kKContiguous) {
      i64 r = 0, ahead = aheadOf(b, depth, kRows);
      bool isRun = L::kStep * b.stride == depth;
      if (!isRun)
        for (; r + kRows <= rows; r += kRows)
          dots<M, kRows, false>(a, strideA, b, r, depth, ahead, c + r, strideC);
      else if (!kMaySweepSingly || kBytes<L::kMem, 2> * depth / 2 < kRunBytes)
        for (; r + kRows <= rows; r += kRows)
          dots<M, kRows, true>(a, strideA, b, r, depth, ahead, c + r, strideC);
      else
        ahead = aheadOf(b, depth, 1);
      for (; r < rows; ++r)
        dots<M, 1, true>(a, strideA, b, r, depth, ahead, c + r, strideC);
    } else {
      for (i64 r = 0; r < rows; r += 2 * W)
        axpys<M>(a, strideA, b, r, depth, rows - r, c + r, strideC);
    }
  }

  /// Elements: so many sweeps of `rows` rows on that kAhead bytes lie between.
  HK_MEM static i64 aheadOf(const Source &b, i64 depth, i64 rows) {
    i64 swept = rows * (depth > 0 ? depth : 1);
    i64 bytes = kBytes<L::kMem, 2> * swept / 2;
    i64 sweeps = (kAhead + bytes - 1) / (bytes > 0 ? bytes : 1);
    return sweeps * rows * L::kStep * b.stride;
  }

  static void run(const Word *a, i64 strideA, i64 m, const Source &b, i64 rows,
                  i64 depth, Acc *c, i64 strideC) {
    for (; m >= 4; m -= 4, a += 4 * strideA, c += 4 * strideC)
      sweep<4>(a, strideA, b, rows, depth, c, strideC);
    for (; m >= 2; m -= 2, a += 2 * strideA, c += 2 * strideC)
      sweep<2>(a, strideA, b, rows, depth, c, strideC);
    if (m)
      sweep<1>(a, strideA, b, rows, depth, c, strideC);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_HOSTSKINNY_H
