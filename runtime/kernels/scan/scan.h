//===- scan.h - Prefix sums along a dim -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block takes one run (a chunk, a sequence or a whole line) of some columns
// and walks along it with a carried sum. Grid: x is (line, run), y is columns.
// `Io::element` loads and `Io::sum` stores; see lib/Families/Scan.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_SCAN_SCAN_H
#define HK_KERNELS_SCAN_SCAN_H

#include "hk/Contract/LdsScan.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/ops.h"
#include "kernels/device/scan.h"

namespace hk {

enum class ScanKind { Inclusive, Exclusive, Offsets };

struct ScanArgs {
  i64 length, inner;
  i64 chunk;                // 0: runs are not cut
  Global<const i32> bounds; // of `sequences` sequences, or null
  i64 sequences;
};

struct ScanRun {
  i64 line, begin, end;
  bool outside; // in no sequence: zeros
};

HK_DEV i64 scanBound(const ScanArgs &a, i64 s) {
  i64 bound = s < a.sequences ? i64(a.bounds[s + 1]) : a.length;
  return bound < 0 ? 0 : bound > a.length ? a.length : bound;
}

/// Number of the first run of the sequence that begins at `begin`. With chunks
/// a sequence has at most as many as lie between its number and the next one's.
HK_DEV i64 firstRun(const ScanArgs &a, i64 s, i64 begin) {
  return a.chunk > 0 ? begin / a.chunk + s : s;
}

/// The run of block x; empty where the numbering leaves one out.
HK_DEV ScanRun findRun(const ScanArgs &a, i64 x) {
  i64 chunk = a.chunk > 0 ? a.chunk : a.length > 0 ? a.length : 1;
  if (!a.bounds) {
    i64 runs = a.length > 0 ? (a.length + chunk - 1) / chunk : 1;
    i64 begin = x % runs * chunk;
    i64 end = begin + chunk < a.length ? begin + chunk : a.length;
    return {x / runs, begin, end, false};
  }
  // What lies behind the last bound counts as one more sequence.
  i64 runs = firstRun(a, a.sequences, a.length) + 1;
  i64 number = x % runs, lo = 0, hi = a.sequences;
  while (lo < hi) {
    i64 mid = (lo + hi + 1) / 2;
    if (firstRun(a, mid, scanBound(a, mid - 1)) <= number)
      lo = mid;
    else
      hi = mid - 1;
  }
  i64 begin = lo > 0 ? scanBound(a, lo - 1) : 0, last = scanBound(a, lo);
  if (a.chunk > 0)
    begin += (number - firstRun(a, lo, begin)) * chunk;
  i64 end = a.chunk > 0 && begin + chunk < last ? begin + chunk : last;
  return {x / runs, begin, end, lo == a.sequences};
}

/// T: type of the sums, float or an unsigned integer.
template <class T, ScanKind KIND, bool REVERSE, int THREADS, int COLUMNS,
          int ITEMS>
struct Scan {
  static constexpr int kThreads = THREADS;
  static constexpr i64 kBytes =
      scanLds(kTarget, ScanTile{THREADS, COLUMNS, ITEMS}, sizeof(T));
  /// Columns that a thread takes one after the other.
  static constexpr int kSerial = kIsHost ? COLUMNS : 1;
  using Block = BlockScan<T, THREADS, kIsHost ? 1 : COLUMNS>;
  struct Scratch {
    T sums[kBytes > 0 ? kBytes / sizeof(T) : 1];
  };
  template <bool NEEDED, class S> struct Choose {
    using Type = S;
  };
  template <class S> struct Choose<false, S> {
    using Type = NoShared;
  };
  using Shared = typename Choose<(kBytes > 0), Scratch>::Type;
  static_assert(kLdsBytes<Shared> == kBytes);

  template <class Io>
  HK_MEM static void run(const ScanArgs &a, BlockId block, Shared &shared,
                         const Io &io) {
    ScanRun r = findRun(a, block.x);
    for (int s = 0; s < kSerial; ++s) {
      i64 column =
          i64(block.y) * COLUMNS + s + (kIsHost ? 0 : threadId() % COLUMNS);
      scanColumn(r, column, column < a.inner, shared, io);
    }
  }

private:
  HK_MEM static T *scratchOf(Shared &shared) {
    if constexpr (kBytes > 0)
      return shared.sums;
    else
      return nullptr;
  }

  template <class Io>
  HK_MEM static void scanColumn(const ScanRun &r, i64 column, bool valid,
                                Shared &shared, const Io &io) {
    constexpr int threads = kIsHost ? 1 : THREADS / COLUMNS;
    const int own = kIsHost ? 0 : threadId() / COLUMNS;
    T carry = T(0);
    for (i64 base = 0; base < r.end - r.begin; base += threads * ITEMS) {
      T sums[ITEMS + 1];
      sums[0] = T(0);
      i64 first = base + i64(own) * ITEMS;
      HK_UNROLL for (int k = 0; k < ITEMS; ++k) {
        T v = T(0);
        if (valid && first + k < r.end - r.begin && !r.outside)
          v = io.element(r.line, at(r, first + k), column);
        sums[k + 1] = sums[k] + v;
      }
      T before, total;
      Block::run(sums[ITEMS], before, total, scratchOf(shared));
      before = carry + before;
      carry = carry + total;
      HK_UNROLL for (int k = 0; k < ITEMS;
                     ++k) if (valid && first + k < r.end - r.begin)
          io.sum(r.line, at(r, first + k), column,
                 before + sums[KIND == ScanKind::Inclusive ? k + 1 : k]);
    }
    if (KIND == ScanKind::Offsets && valid && own == 0)
      io.sum(r.line, r.end, column, carry);
  }

  HK_MEM static i64 at(const ScanRun &r, i64 i) {
    return REVERSE ? r.end - 1 - i : r.begin + i;
  }
};

} // namespace hk

#endif // HK_KERNELS_SCAN_SCAN_H
