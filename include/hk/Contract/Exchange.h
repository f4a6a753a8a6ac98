//===- Exchange.h - Exchanges that kernels make themselves ------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compiler, kernels and runtime agree on where a kernel writes its rows
// into the other ranks' memory: the words that the runtime appends to those of
// a launch, and what bounds such kernels.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_EXCHANGE_H
#define HK_CONTRACT_EXCHANGE_H

#include "hk/Contract/Calibration.h"
#include "hk/Contract/Target.h"

namespace hk {

/// The words behind the strides, in this order. kExchangeOwn: this rank's
/// window, or where the engine has brought the parts; kExchangeWindows: the
/// windows of all ranks of the axis, in their order.
enum ExchangeWord : int {
  kExchangeTurns,     // address of the counter of turns, or 0
  kExchangeOver,      // address of a word that is not 0 when nobody comes
  kExchangePartBytes, // from one part to the next
  kExchangePlace,     // of this rank
  kExchangeSummed,    // columns whose sums products have left, or 0
  kExchangeSplit,     // of these launches, see firstRowOfSecond()
  kExchangeSent,      // address of two words that say that they are there
  kExchangeTold,      // of those of the other rank
  kExchangeOwn,
  kExchangeWindows
};
constexpr int exchangeWords(int64_t ranks) {
  return kExchangeWindows + int(ranks);
}

/// The same of a product that sends, to an axis of two ranks
/// (kernels/collective/send.h). Addresses are those of slot 0.
enum SendWord : int {
  kSendTurns, // address of the counter of turns, or 0: it does not send
  kSendOver,  // as kExchangeOver
  kSendPlace, // of this rank
  kSendSplit, // see firstRowOfSecond()
  kSendSummed,
  kSendTo,    // in the other rank's window its own part
  kSendCome,  // in this rank's window its own part
  kSendSlot,  // bytes from there to slot 1
  kSendTold,  // the words of tiles in the other rank's window
  kSendHeard, // in this rank's
  kSendWordsSlot,
  kSendWords
};

/// Of a product that sends rows from here on are summed by place 1, those
/// before by place 0. No tile of a cluster has rows of both.
constexpr int64_t firstRowOfSecond(int64_t rows) {
  constexpr int64_t kTile = 256;
  return (rows / 2 + kTile - 1) / kTile * kTile;
}

/// Columns whose sums such a product makes: the others are left to the launch
/// behind it, which has the link for itself while it reads memory. As many as
/// the tiles that `units` compute at once have, which are the last ones, so no
/// product ends with sums; of few rows one column of tiles. 0: it cannot.
constexpr int64_t summedColumns(int64_t units, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 256, kTileElements = 128 * 256;
  int64_t owned = rows - firstRowOfSecond(rows);
  if (owned <= 0 || columns < kTile)
    return 0;
  int64_t left = units * kTileElements / owned;
  int64_t summed = (columns - left) / kTile * kTile;
  return summed < kTile ? kTile : summed;
}

/// Words of tiles in a slot, for parts of so many bytes: one for each warp that
/// sends a tile, of 8 KiB at least.
inline constexpr int kTileWords = 4;
constexpr uint64_t tileWordBytes(uint64_t partBytes) { return partBytes / 512; }

/// A word that has not come.
inline constexpr uint32_t kNotCome = 0xffffffffu;

/// What a launch adds to the counter of turns, and the most blocks it can have.
inline constexpr uint32_t kExchangeTurn = 1u << 20;

/// Bytes that a thread sends at once.
inline constexpr int kExchangeChunk = 16;

/// Bytes of sums that a block keeps in LDS.
inline constexpr int64_t kMostExchangedBytes = 32 << 10;

/// Whether kernels exchange rows themselves unless a module says otherwise. On
/// AMD the kinds of memory that ranks share have to be seen on silicon first.
constexpr bool exchangesInKernels(const Target &target) {
  return target.arch == Arch::Sm90a;
}

/// Bytes of an input up to which a kernel that writes its rows to `ranks` - 1
/// others is sooner done than one whose rows have an owner each, which writes
/// fewer bytes and waits twice; between two ranks both write as many.
constexpr int64_t mostOneShotBytes(const Target &target, int64_t ranks) {
  if (ranks <= 2)
    return INT64_MAX;
  ExchangeCalibration rates = exchangeCalibration(target);
  double more = double(ranks - 1) - 2.0 * double(ranks - 1) / double(ranks);
  return int64_t(rates.secondShotUs * rates.linkGBps * 1e3 / more);
}

/// The same beside an exchange by rings and a launch behind it, where sums have
/// another width than what is added, which an owner cannot send.
constexpr int64_t mostPushedBytes(const Target &target, int64_t ranks,
                                  bool hasOwners) {
  if (ranks <= 2 || hasOwners)
    return INT64_MAX;
  ExchangeCalibration rates = exchangeCalibration(target);
  double more = double(ranks - 1) - 2.0 * double(ranks - 1) / double(ranks);
  double saved = rates.startUs + target.launchMicroseconds - rates.pushUs;
  return int64_t(saved * rates.linkGBps * 1e3 / more);
}

} // namespace hk

#endif // HK_CONTRACT_EXCHANGE_H
