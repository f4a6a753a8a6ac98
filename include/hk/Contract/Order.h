//===- Order.h - Problems of a launch that wait ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compiler and kernels agree on where blocks of a launch wait for others:
// the words that a launch has for that, all zero when it begins.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_ORDER_H
#define HK_CONTRACT_ORDER_H

#include "hk/Contract/Target.h"

namespace hk {

/// Whether blocks wait at all. Those of the host are calls of a few threads, of
/// which one that waits keeps a core from the others.
constexpr bool blocksWait(const Target &target) {
  return target.arch != Arch::Host;
}

/// Whether a block takes its number from a counter when it begins, and not from
/// the grid. An AMD chip of eight dies gives each every eighth block, in order;
/// but two launches at a time may each fill another die with blocks that wait
/// for some that the other launch keeps from beginning (docs/fusion.md).
constexpr bool drawsBlockNumbers(const Target &target) {
  return target.arch != Arch::Host && target.arch != Arch::Sm90a;
}

enum OrderWord : int {
  kOrderDone,  // blocks that have counted themselves
  kOrderBegun, // blocks that have drawn a number
  kOrderWords
};

/// LDS by which the threads of a block learn its number.
inline constexpr int64_t kOrderLdsBytes = 4;

} // namespace hk

#endif // HK_CONTRACT_ORDER_H
