//===- BlockOrder.h - Random order of the blocks of a launch -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A permutation of [0, count) computed on the fly, without memory: a four-round
// Feistel network over the next even number of bits, walked until it lands in
// range. Blocks of a correct kernel may run in any order; this exposes those
// that may not.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_HOST_BLOCKORDER_H
#define HK_RUNTIME_DEVICE_HOST_BLOCKORDER_H

#include <cstdint>

namespace hk {

class BlockOrder {
public:
  /// `seed` 0: the natural order.
  BlockOrder(uint64_t count, uint64_t seed) : count(count), seed(seed) {
    while (halfBits < 32 && (uint64_t(1) << (2 * halfBits)) < count)
      ++halfBits;
  }

  uint64_t operator()(uint64_t index) const {
    if (seed == 0)
      return index;
    do
      index = permute(index);
    while (index >= count);
    return index;
  }

private:
  uint64_t permute(uint64_t value) const {
    uint64_t mask = (uint64_t(1) << halfBits) - 1;
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      uint64_t mixed = (right ^ (seed + round * 0x9e3779b97f4a7c15ull)) *
                       0xbf58476d1ce4e5b9ull;
      uint64_t next = left ^ ((mixed >> 29) & mask);
      left = right;
      right = next;
    }
    return (left << halfBits) | right;
  }

  uint64_t count, seed;
  unsigned halfBits = 1;
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_HOST_BLOCKORDER_H
