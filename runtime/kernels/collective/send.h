//===- send.h - Words on their way to another rank -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two ranks a product may send its rows itself, while it computes the
// next ones, for the launch behind it that adds them (exchange.h). They go into
// the slot of that launch's turn, but into the part that is the receiver's own,
// which no other launch uses: nothing in it is ever empty. Instead the launch
// behind tells the other rank, when it begins and the product is over, that all
// is there. Of its blocks the last makes the word empty again. The slot is free
// for the same reason: the launch that read it last is over on the other rank,
// since the one in between heard from that rank.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_COLLECTIVE_SEND_H
#define HK_KERNELS_COLLECTIVE_SEND_H

#include "hk/Contract/Exchange.h"
#include "kernels/device/peer.h"

namespace hk {

/// Elements of 16 bits, rows `stride` apart, and where the other rank reads
/// them, 0 where they are not sent.
struct SendPlace {
  u64 from;
  i64 stride;
  u64 to;
  int columns; // of the first
};

/// An epilogue whose results go to the other rank, too; `send`: the words of
/// SendWord.
template <class Epilogue> struct SentResults : Epilogue {
  u64 from;
  i64 stride;
  const u64 *send;

  HK_MEM SentResults(const Epilogue &epilogue, u64 from, i64 stride,
                     const u64 *send)
      : Epilogue(epilogue), from(from), stride(stride), send(send) {}
  HK_MEM SendPlace sendPlace() const {
    auto turns = (Global<const u32>)send[kSendTurns];
    if (!turns)
      return {from, stride, 0, 0};
    // The turn of the launch behind.
    u64 slot = loadPeerWord(turns) / kExchangeTurn % 2;
    return {from, stride, send[kSendTo] + slot * send[kSendSlot],
            int(send[kSendColumns])};
  }
};

} // namespace hk

#endif // HK_KERNELS_COLLECTIVE_SEND_H
