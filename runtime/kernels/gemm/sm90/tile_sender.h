//===- tile_sender.h - Tiles for another rank -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the warpgroup that copies three warps have nothing to do. Where the result
// is sent (collective/send.h) they take each tile that has been stored from the
// L2 cache and write it, or its sum with the other rank's, into the other
// rank's memory, while the next one is multiplied. That the warps that multiply
// store it there themselves, by a second tensor map, took 30 to 60 us more for
// a result of 64 MiB on two H100: they waited for the link before they could
// write to LDS again.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_TILE_SENDER_H
#define HK_KERNELS_GEMM_SM90_TILE_SENDER_H

#include "kernels/collective/send.h"
#include "kernels/gemm/sm90/config.h"

namespace hk {

template <class Epilogue>
concept SendsTiles = requires(Epilogue epilogue) { epilogue.sendPlace(0); };

template <class Config, bool Sends> struct TileSender {
  static constexpr int kRegisters = 0;
  template <class Tiles, class Epilogue>
  HK_MEM static void run(Tiles &, const GemmArgs &,
                         const typename Config::Layout &, const Epilogue &) {}
};

template <class Config> struct TileSender<Config, true> {
  static constexpr int kRegisters = 104;

  template <class Tiles, class Epilogue>
  HK_MEM static void run(Tiles &tiles, const GemmArgs &args,
                         const typename Config::Layout &lds,
                         const Epilogue &epilogue) {
    int warp = int(threadId() % kWarpgroup) / 32 - 1;
    if (warp < 0 || !epilogue.sends())
      return;
    constexpr DType D = __is_same(typename Epilogue::BoxElement, bf16)
                            ? DType::BF16
                            : DType::F16;
    u32 stored = 0, slot = epilogue.slot();
    for (WarpPlace at; tiles.take(at);) {
      stored += Config::kGroups * 4;
      // Of arguments, which take no registers between two tiles.
      SendPlace place = epilogue.sendPlace(slot);
      // Columns that are not summed are sent, too, and have no words.
      bool owns = (at.row < epilogue.split()) == epilogue.ownsFirst();
      bool isSummed = at.col < place.summed;
      if (owns && !isSummed)
        continue;
      lds.stored().await(stored);
      u64 word = wordOf(at, args, warp);
      if (owns)
        hear(place.heard + word, place.isOver);
      send<D>(at, args, warp, place, owns);
      if (!owns && isSummed)
        tell(place.told + word);
    }
    awaitPeerStores();
    waveBarrier();
  }

private:
  using P = typename Config::P;
  /// Elements of a lane's access, lanes of a row, rows of a warp's access.
  static constexpr int kVec = 8, kLanes = P::kCols / kVec, kRows = 32 / kLanes,
                       kWarps = 3, kUnroll = 3;
  static_assert(kLanes <= 32 && kWarps <= kTileWords &&
                firstRowOfSecond(1) % (Config::T.bm * Config::kCluster) == 0);

  /// Bytes from the first word of a slot.
  HK_MEM static u64 wordOf(const WarpPlace &at, const GemmArgs &args,
                           int warp) {
    u32 columns = u32((args.n + P::kCols - 1) / P::kCols);
    u32 tile = u32(at.row) / Config::T.bm * columns + u32(at.col) / P::kCols;
    return (u64(tile) * kTileWords + warp) * sizeof(u32);
  }

  /// The warp's part of a tile is there.
  HK_MEM static void tell(u64 word) {
    waveBarrier();
    if (laneId() == 0)
      tellPeer((Global<u32>)word, 0);
  }
  HK_MEM static void hear(u64 word, Global<const u32> isOver) {
    if (laneId() == 0) {
      awaitWord((Global<const u32>)word, isOver);
      *(Global<u32>)word = kNotCome;
    }
    waveBarrier();
  }

  /// Which chunks of a tile a lane has: of rows first, first + kStep, ...
  struct Chunks {
    static constexpr int kStep = kWarps * kRows;
    int first, end, column;
    bool any;

    HK_MEM Chunks(const WarpPlace &at, int columns, int warp) {
      end = at.end - at.row < Config::T.bm ? at.end - at.row : Config::T.bm;
      column = at.col + int(laneId()) % kLanes * kVec;
      first = warp * kRows + int(laneId()) / kLanes;
      // Where rows are no power of two long some lanes are left over.
      any = column < columns && int(laneId()) < kLanes * kRows;
    }
  };

  /// Sends a tile; with `adds`, what has come and the addend are added first.
  template <DType D>
  HK_MEM static void send(const WarpPlace &at, const GemmArgs &args, int warp,
                          const SendPlace &place, bool adds) {
    Chunks chunks(at, adds ? place.summed : int(args.n), warp);
    if (!chunks.any)
      return;
    // In bytes: rows of a tensor are less than 4 GiB apart.
    u32 stride = 2 * u32(place.own.stride), dense = 2 * u32(args.n),
        addendStride = 2 * u32(place.addend.stride);
    auto own = (Global<u8>)place.own.data +
               2 * (i64(at.row) * place.own.stride + chunks.column);
    auto addend = (Global<const u8>)place.addend.data +
                  2 * (i64(at.row) * place.addend.stride + chunks.column);
    i64 there = 2 * (i64(at.row) * args.n + chunks.column);
    auto come = (Global<const u8>)place.come + there;
    auto to = (Global<u8>)place.to + there;
    for (int row = chunks.first; row < chunks.end;
         row += Chunks::kStep * kUnroll) {
      u32x4 a[kUnroll], b[kUnroll], c[kUnroll];
      // Behind the end the first one again.
      auto rowOf = [&](int i) __attribute__((always_inline)) {
        int r = row + i * Chunks::kStep;
        return u64(u32(r < chunks.end ? r : row));
      };
      HK_UNROLL for (int i = 0; i < kUnroll; ++i) a[i] =
          loadPeer((Global<const u32x4>)(own + rowOf(i) * stride));
      if (adds)
        HK_UNROLL for (int i = 0; i < kUnroll; ++i) b[i] =
            loadPeer((Global<const u32x4>)(come + rowOf(i) * dense));
      if (adds && place.addend.data)
        HK_UNROLL for (int i = 0; i < kUnroll; ++i) c[i] =
            *(Global<const u32x4>)(addend + rowOf(i) * addendStride);
      // Addresses are computed again: kept, they take more registers than what
      // they lead to.
      settleWord(row);
      if (adds)
        HK_UNROLL for (int i = 0; i < kUnroll; ++i) {
          a[i] = addTerms<D>(a[i], b[i]);
          if (place.addend.data)
            a[i] = addTerms<D>(a[i], c[i]);
          storePeer((Global<u32x4>)(own + rowOf(i) * stride), a[i]);
        }
      HK_UNROLL for (int i = 0; i < kUnroll; ++i)
          storePeer((Global<u32x4>)(to + rowOf(i) * dense), a[i]);
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_TILE_SENDER_H
