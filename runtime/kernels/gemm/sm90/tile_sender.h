//===- tile_sender.h - Tiles for another rank -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the warpgroup that copies three warps have nothing to do. Where the result
// is sent (collective/send.h) they take each tile that has been stored from the
// L2 cache and write it into the other rank's memory, while the next one is
// multiplied. That the warps that multiply store it there themselves, by a
// second tensor map, took 30 to 60 us more for a result of 64 MiB on two H100:
// they waited for the link before they could write to LDS again.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_TILE_SENDER_H
#define HK_KERNELS_GEMM_SM90_TILE_SENDER_H

#include "kernels/collective/send.h"
#include "kernels/gemm/sm90/config.h"

namespace hk {

template <class Epilogue>
concept SendsTiles = requires(Epilogue epilogue) { epilogue.sendPlace(); };

template <class Config, bool Sends> struct TileSender {
  static constexpr int kRegisters = 0;
  template <class Tiles, class Epilogue>
  HK_MEM static void run(Tiles &, const GemmArgs &,
                         const typename Config::Layout &, const Epilogue &) {}
};

template <class Config> struct TileSender<Config, true> {
  static constexpr int kRegisters = 56;

  template <class Tiles, class Epilogue>
  HK_MEM static void run(Tiles &tiles, const GemmArgs &args,
                         const typename Config::Layout &lds,
                         const Epilogue &epilogue) {
    int warp = int(threadId() % kWarpgroup) / 32 - 1;
    SendPlace place = epilogue.sendPlace();
    if (warp < 0 || !place.to)
      return;
    u32 stored = 0;
    for (WarpPlace at; tiles.take(at);) {
      stored += Config::kGroups * 4;
      if (at.col >= place.columns)
        continue;
      lds.stored().await(stored);
      send(at, args, warp, place);
    }
    awaitPeerStores();
    waveBarrier();
  }

private:
  using P = typename Config::P;
  /// Elements of a lane's access, lanes of a row, rows of a warp's access.
  static constexpr int kVec = 8, kLanes = P::kCols / kVec, kRows = 32 / kLanes,
                       kWarps = 3, kUnroll = 4;
  static_assert(kLanes <= 32);

  HK_MEM static void send(const WarpPlace &at, const GemmArgs &args, int warp,
                          const SendPlace &place) {
    int end = at.end - at.row < Config::T.bm ? at.end - at.row : Config::T.bm;
    int column = at.col + int(laneId()) % kLanes * kVec;
    // Where rows are no power of two long some lanes are left over.
    if (column >= args.n || int(laneId()) >= kLanes * kRows)
      return;
    auto from = (Global<const u8>)place.from +
                2 * (i64(at.row) * place.stride + column);
    auto to = (Global<u8>)place.to + 2 * (i64(at.row) * args.n + column);
    int first = warp * kRows + int(laneId()) / kLanes;
    for (int row = first; row < end; row += kWarps * kRows * kUnroll) {
      u32x4 v[kUnroll];
      HK_UNROLL for (int i = 0; i < kUnroll; ++i) {
        int r = row + i * kWarps * kRows;
        if (r < end)
          v[i] =
              loadPeer((Global<const u32x4>)(from + 2 * i64(r) * place.stride));
      }
      HK_UNROLL for (int i = 0; i < kUnroll; ++i) {
        int r = row + i * kWarps * kRows;
        if (r < end)
          storePeer((Global<u32x4>)(to + 2 * i64(r) * args.n), v[i]);
      }
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_TILE_SENDER_H
