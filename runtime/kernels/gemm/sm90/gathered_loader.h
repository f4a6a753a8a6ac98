//===- gathered_loader.h - Rows of A that an order names -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copy engine takes boxes of neighbouring rows only. So all four warps of
// the copying warpgroup bring the rows of A with copies of 16 bytes,
// neighbouring lanes those of a row, each to where the swizzle has it; one
// thread asks the engine for B. The barrier of a stage counts the copies of
// each thread as they land, so that nobody waits for them but who multiplies.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_GATHERED_LOADER_H
#define HK_KERNELS_GEMM_SM90_GATHERED_LOADER_H

#include "kernels/gemm/groups.h"
#include "kernels/gemm/sm90/bulk_loader.h"

namespace hk {

/// The rows of A of a tile on their way to a stage, by the threads of a
/// warpgroup: of places in a row, or those that an order names.
template <class Config, class Groups> struct RowsByThread {
  using A = typename Config::P::A;
  static constexpr int kThreads = kWarpgroup;
  static constexpr int kChunks = Config::kRow / 16;
  static constexpr int kRowsAtOnce = kThreads / kChunks;
  static constexpr int kRows = Config::T.bm / kRowsAtOnce;
  static_assert(A::kAlign >= 16);

  const GemmArgs &args;
  const GroupArgs &groups;
  int thread = threadId() % kThreads;
  /// The thread's rows of A, -1 for an empty place.
  int rows[kRows];

  HK_MEM RowsByThread(const GemmArgs &args, const GroupArgs &groups)
      : args(args), groups(groups) {}

  HK_MEM void begin(const WarpPlace &at) {
    HK_UNROLL for (int i = 0; i < kRows; ++i) {
      int place = at.row + thread / kChunks + i * kRowsAtOnce;
      rows[i] = place < at.end ? rowOf(place) : -1;
    }
  }
  /// Asks for elements k and on of the rows, of the first `count` at least.
  HK_MEM void copy(int k, u32 stage, int count = Config::T.bm) const {
    i64 byte = i64(k) * kSize + thread % kChunks * 16;
    auto from = global<const u8>(args.a.data) + byte;
    bool inside = byte < args.k * kSize;
    HK_UNROLL for (int i = 0; i < kRows; ++i) {
      if (i * kRowsAtOnce >= count)
        break;
      int row = thread / kChunks + i * kRowsAtOnce;
      // Opaque, as products of rows and stride are kept for all of a tile if
      // the compiler can, and are twice the registers. Nothing is read where
      // nothing is valid.
      int own = int(opaqueWord(u32(rows[i])));
      copyToLds16(stage + swizzled<Config::kRow>(row, thread % kChunks * 16),
                  from + own * (args.a.stride * kSize), inside && own >= 0);
    }
  }
  /// Nothing is under way when the block ends.
  HK_MEM void finish() const {
    commitDirectCopies();
    waitDirectCopies<0, kRows>();
  }

private:
  static constexpr int kSize = info(Config::D).bits / 8;

  HK_MEM int rowOf(int place) const {
    if constexpr (Groups::kGathered)
      return groups.rowOfPlace<Groups>(place, args.m);
    else
      return place < args.m ? place : -1;
  }
};

template <class Config, class Groups> struct GatheredLoader {
  using Rows = RowsByThread<Config, Groups>;
  static constexpr int kThreads = kWarpgroup, kMaps = 1;
  /// A thread arrives once, and who asks for B once more.
  static constexpr int kArrivals = kWarpgroup + 1, kRegisters = 56;

  BulkRowsOfB<Config> b;
  Rows a;

  HK_MEM GatheredLoader(const TensorMap *maps,
                        const typename Config::Layout &lds,
                        const GemmArgs &args, const GroupArgs &groups)
      : b{maps[0], lds, 0, int(args.n)}, a(args, groups) {}

  HK_MEM static bool works() { return true; }
  HK_MEM void begin(const WarpPlace &at) { a.begin(at); }

  HK_MEM void fill(const WarpPlace &at, int step, u32 stage) const {
    int k = at.k0 + step * Config::T.bk;
    if (a.thread == 0) {
      b.lds.full(stage).expect(Config::kBytesB);
      b.fill(at, k, at.matrix, stage);
    }
    a.copy(k, b.lds.stageA(stage));
    arriveAfterCopies(b.lds.full(stage));
  }
  HK_MEM void finish() const { a.finish(); }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_GATHERED_LOADER_H
