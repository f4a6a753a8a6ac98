//===- send.h - Words on their way to another rank -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two ranks a product may exchange its rows itself, while it computes
// the next ones. Each rank sums half of the rows: a product computes first
// those that the other rank sums, and sends each tile; then its own, adds what
// has come of each tile, keeps the sum in its result and sends it. A word for
// each tile and warp that sends it says that the tile is there. The last
// columns of its own half are left to the launch behind (exchange.h).
//
// Rows go into the slot of that launch's turn, but into the part that is the
// receiver's own, which no other launch uses: nothing in it is ever empty. The
// launch behind tells the other rank, when it begins and the product is over,
// that all is there. Who has read a word of a tile, and of that launch the last
// block, makes it empty again. The slot is free for the same reason: the launch
// that read it last is over on the other rank, since the one in between heard
// from that rank.
//
// A product waits for the other rank's, none of whose tiles of the first half
// waits, and whose blocks are all under way.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_COLLECTIVE_SEND_H
#define HK_KERNELS_COLLECTIVE_SEND_H

#include "hk/Contract/Exchange.h"
#include "kernels/device/convert.h"
#include "kernels/device/peer.h"

namespace hk {

/// Rows of elements of 16 bits, `stride` apart.
struct SendRows {
  u64 data = 0;
  i64 stride = 0;
};

/// Where a product's results, what is added to their sums, if anything, and
/// what ranks send each other lie.
struct SendPlace {
  SendRows own, addend;
  u64 to, come;    // rows without gaps
  u64 told, heard; // words of tiles
  Global<const u32> isOver;
  int summed; // columns
};

/// Chunks of two terms, added in f32 and rounded.
template <DType D> HK_DEV u32x4 addTerms(u32x4 a, u32x4 b) {
  constexpr int V = kExchangeChunk / int(sizeof(Storage<D>));
  using Chunk = Packed<D, V>;
  Carrier<D, V> sum =
      unpack<D, V>(bitCast<Chunk>(a)) + unpack<D, V>(bitCast<Chunk>(b));
  return bitCast<u32x4>(pack<D, V>(sum));
}

/// Looks at memory between two at the host's word.
inline constexpr u32 kHostLooks = 1024;

/// Until a word says that what was told is there.
HK_DEV void awaitWord(Global<const u32> word, Global<const u32> isOver) {
  for (u32 looks = 1; hearPeer(word) == kNotCome; ++looks) {
    pauseForPeer();
    if (looks % kHostLooks == 0 && loadPeerWord(isOver))
      break;
  }
}

/// An epilogue whose results go to the other rank, too; `send`: the words of
/// SendWord.
template <class Epilogue> struct SentResults : Epilogue {
  SendRows own, addend;
  const u64 *send;

  HK_MEM SentResults(const Epilogue &epilogue, SendRows own, SendRows addend,
                     const u64 *send)
      : Epilogue(epilogue), own(own), addend(addend), send(send) {}
  HK_MEM bool sends() const { return send[kSendTurns] != 0; }
  /// Rows [first, end) are computed behind the others.
  HK_MEM i64 split() const { return i64(send[kSendSplit]); }
  HK_MEM bool ownsFirst() const { return send[kSendPlace] == 0; }
  /// Of the turn of the launch behind.
  HK_MEM u32 slot() const {
    return loadPeerWord((Global<const u32>)send[kSendTurns]) / kExchangeTurn %
           2;
  }
  HK_MEM SendPlace sendPlace(u32 slot) const {
    u64 at = slot * send[kSendSlot], wordsAt = slot * send[kSendWordsSlot];
    return {own,
            addend,
            send[kSendTo] + at,
            send[kSendCome] + at,
            send[kSendTold] + wordsAt,
            send[kSendHeard] + wordsAt,
            (Global<const u32>)send[kSendOver],
            int(send[kSendSummed])};
  }
};

} // namespace hk

#endif // HK_KERNELS_COLLECTIVE_SEND_H
