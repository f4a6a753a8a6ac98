//===- tile_copy.h - Global memory to LDS, one tile at a time -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every block copy ends in the same LDS tile: Rows rows (rows of A or B) of BK
// elements of dtype Lds, 16-byte chunks swizzled. issue() starts the reads,
// land() finishes them.
//
// * DirectCopy writes LDS without registers (gfx950 buffer loads to LDS,
//   sm_90a cp.async): same dtype in memory, k contiguous, 16-byte aligned rows.
//   It needs a second LDS stage, as it overwrites its target at once.
// * StagedCopy goes through registers, and there may change the dtype, piece
//   unaligned rows together, and transpose an operand whose rows, not k, are
//   contiguous in memory.
//
// Alignment is that of the base, the stride and the extent of the contiguous
// dimension together: then a chunk lies either inside or outside.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_MMA_TILE_COPY_H
#define HK_KERNELS_DEVICE_MMA_TILE_COPY_H

#include "kernels/device/convert.h"
#include "kernels/device/mma/swizzle.h"
#include "kernels/device/mma/view.h"

namespace hk {

template <class L> constexpr bool readsGatheredRows() {
  if constexpr (requires { L::kGathered; })
    return L::kGathered;
  return false;
}
template <class L, DType Lds>
inline constexpr bool kCanCopyDirect =
    kTarget.directToLds >= 16 && L::kMem == Lds && L::kKContiguous &&
    L::kAlign >= 16 && (!readsGatheredRows<L>() || copiesGatheredRows(kTarget));

/// Waits until at most `Pending` later groups of this thread are unfinished, of
/// `Copies` copies each. Other loads that are under way only make it wait
/// longer.
template <int Pending, int Copies> HK_DEV void waitDirectCopies() {
#if defined(__NVPTX__)
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#elif defined(__gfx950__)
  // vmcnt in bits 0 to 3 and 14 to 15, the other counters at their largest:
  // copies complete in order.
  constexpr int count = Pending * Copies < 63 ? Pending * Copies : 63;
  __builtin_amdgcn_s_waitcnt(0x0f70 | (count & 15) | (count >> 4) << 14);
#endif
}
/// barrier() between waitDirectCopies and the reads of what was copied. LDS is
/// written by copies only: the wait for all of them that a barrier's release
/// means on gfx950 is left out.
HK_DEV void barrierOfCopies() {
#if defined(__gfx950__)
  // lgkmcnt(0): what this wave read of the next copies' target.
  asm volatile("s_waitcnt lgkmcnt(0)\n\ts_barrier" ::: "memory");
#else
  barrier();
#endif
}
/// Ends one issue group of all copies of a stage.
HK_DEV void commitDirectCopies() {
#if defined(__NVPTX__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Rows x RowBytes bytes straight into LDS.
template <int Rows, int RowBytes, int Threads> struct DirectCopy {
  static constexpr int kChunks = RowBytes / 16;
  static constexpr int kPerThread = Rows * kChunks / Threads;
  static_assert(Rows * kChunks % Threads == 0,
                "the threads of a block share a tile evenly");

  template <class View>
  HK_MEM static void issue(const View &view, u32 byte, u8 *tile) {
    HK_UNROLL for (int i = 0; i < kPerThread; ++i) {
      int s = i * Threads + threadId(), row = s / kChunks;
      u32 at = byte + u32(operandChunk<RowBytes>(row, s % kChunks)) * 16;
#if defined(__gfx950__)
      // The hardware adds lane * 16 to the wave's base.
      view.copy16(i, row, at, tile + (i * Threads + waveId() * kWave) * 16);
#elif defined(__NVPTX__)
      bool inside = view.contains(row, at);
      Global<const u8> from = inside ? view.address(row, at) : view.base;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                       ldsAddress(tile + s * 16)),
                   "l"(from), "r"(inside ? 16 : 0)
                   : "memory");
#else
      (void)view, (void)at, (void)tile;
#endif
    }
  }
};

/// Through registers. L has a kMem, whether k is contiguous (kKContiguous) and
/// what is known of the alignment in bytes (kAlign).
template <class L, DType Lds, int Rows, int BK, int Threads> struct StagedCopy {
  static constexpr int kSize = info(Lds).bits / 8;
  static constexpr int kRowBytes = BK * kSize;
  /// Elements of a chunk, and its bytes in memory.
  static constexpr int kElements = 16 / kSize;
  static constexpr int kMemBytes = kElements * info(L::kMem).bits / 8;
  using Raw = RawBytes<kMemBytes>;

  static constexpr int largestDivisor(int n, int most) {
    while (n % most != 0)
      most /= 2;
    return most;
  }
  /// k values a thread transposes together; chunks of a row (in memory).
  static constexpr int kTotal = Rows * BK / kElements;
  static constexpr int kDepth =
      L::kKContiguous ? 1 : largestDivisor(kTotal / Threads, kElements);
  static constexpr int kChunks = (L::kKContiguous ? BK : Rows) / kElements;
  static constexpr int kUnits = kTotal / kDepth / Threads;
  static_assert(kTotal % Threads == 0 && kUnits >= 1,
                "the threads of a block share a tile evenly");

  Raw v[kUnits][kDepth];

  /// k contiguous: `byte` is that of the tile's first k. Rows contiguous: the
  /// view's rows are the tile's k values and byte is 0.
  template <class View> HK_MEM void issue(const View &view, u32 byte) {
    HK_UNROLL for (int i = 0; i < kUnits; ++i) {
      int s = i * Threads + threadId();
      HK_UNROLL for (int d = 0; d < kDepth; ++d) v[i][d] =
          loadRaw<kMemBytes, L::kAlign>(
              view, View::lineOf(i, s / kChunks * kDepth + d),
              byte + u32(s % kChunks) * kMemBytes);
    }
  }

  HK_MEM void land(u8 *tile) const {
    landAs<L::kMem != Lds>(
        tile, [](int, int, int, int, const Raw &raw) { return convert(raw); });
  }

  /// A chunk as it lies in memory.
  HK_MEM static Packed<L::kMem, kElements> elementsOf(const Raw &raw) {
    if constexpr (kMemBytes == 2)
      return bitCast<Packed<L::kMem, kElements>>(u16(raw.w[0]));
    else
      return bitCast<Packed<L::kMem, kElements>>(raw);
  }

  /// f(i, d, row, k) for each chunk: its place in v, and the first of its
  /// elements in the tile.
  template <class F> HK_MEM static void forEachChunk(F f) {
    HK_UNROLL for (int i = 0; i < kUnits; ++i)
        HK_UNROLL for (int d = 0; d < kDepth; ++d) {
      int s = i * Threads + threadId(), line = s / kChunks * kDepth + d;
      int at = s % kChunks * kElements;
      f(i, d, L::kKContiguous ? line : at, L::kKContiguous ? at : line);
    }
  }

  /// convert(i, d, row, k, raw) gives the 16 bytes of a chunk (forEachChunk).
  template <bool OneByOne = true, class F>
  HK_MEM void landAs(u8 *tile, F convert) const {
    HK_UNROLL for (int i = 0; i < kUnits; ++i) {
      int s = i * Threads + threadId();
      if constexpr (OneByOne)
        finishEarlierWork();
      if constexpr (L::kKContiguous) {
        *reinterpret_cast<u32x4 *>(
            tile + operandByte<kRowBytes>(s / kChunks, s % kChunks * 16)) =
            convert(i, 0, s / kChunks, s % kChunks * kElements, v[i][0]);
      } else {
        using Element = Vec<ElementBits, kElements>;
        Element t[kDepth];
        HK_UNROLL for (int d = 0; d < kDepth; ++d) t[d] =
            bitCast<Element>(convert(i, d, s % kChunks * kElements,
                                     s / kChunks * kDepth + d, v[i][d]));
        int k = s / kChunks * kDepth;
        HK_UNROLL for (int e = 0; e < kElements; ++e) {
          Vec<ElementBits, kDepth> column;
          HK_UNROLL for (int d = 0; d < kDepth; ++d) column[d] = t[d][e];
          *reinterpret_cast<Vec<ElementBits, kDepth> *>(
              tile + operandByte<kRowBytes>(s % kChunks * kElements + e,
                                            k * kSize)) = column;
        }
      }
    }
  }

private:
  using ElementBits = Storage<kSize == 4   ? DType::I32
                              : kSize == 2 ? DType::BF16
                                           : DType::I1>;

  /// Decoding all units at once would keep more lane masks alive than there are
  /// scalar registers.
  HK_MEM static void finishEarlierWork() {
#if defined(__AMDGCN__)
    __builtin_amdgcn_sched_barrier(0);
#endif
  }

  HK_MEM static u32x4 convert(const Raw &raw) {
    if constexpr (L::kMem == Lds) {
      return bitCast<u32x4>(raw);
    } else {
      auto wide = unpack<L::kMem, kElements>(elementsOf(raw));
      return bitCast<u32x4>(
          pack<Lds, kElements>(convertTo<float, kElements>(wide)));
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_DEVICE_MMA_TILE_COPY_H
