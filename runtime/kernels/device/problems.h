//===- problems.h - Problems that share a launch ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grid of such a launch is one row, in which the blocks of each problem lie
// behind those of the one before (runInTurn) or among those that follow it
// (runSpread): where blocks fill their compute units, some units then wait for
// memory while others multiply. In an ordered launch (runOrdered) blocks count
// themselves, and a problem may wait for all blocks in front of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_PROBLEMS_H
#define HK_KERNELS_DEVICE_PROBLEMS_H

#include "hk/Contract/Lds.h"
#include "kernels/device/launch.h"
#include "kernels/device/order.h"

namespace hk {

/// The blocks of one of the problems of a launch: blocks 0 to x * y * z - 1 of
/// what is left of the grid, whose y and z are 1.
struct BlockRange {
  i64 x, y, z;
  HK_MEM i64 size() const { return x * y * z; }
  HK_MEM bool holds(BlockId block) const { return i64(block.x) < size(); }
  HK_MEM BlockId operator[](BlockId block) const {
    u32 columns = u32(x), rows = u32(y);
    u32 line = block.x / columns;
    return {block.x % columns, line % rows, line / rows};
  }
  /// The block among those of the problems that follow.
  HK_MEM BlockId after(BlockId block) const {
    return {block.x - u32(size()), 0, 0};
  }
};

/// The blocks of a problem and those of `others` that follow, which lie evenly
/// among the first half of its own.
struct BlockSpread {
  i64 size, others;
  HK_MEM bool holds(BlockId block) const {
    return before(i64(block.x) + 1) == before(block.x);
  }
  HK_MEM BlockId own(BlockId block) const {
    return {block.x - u32(before(block.x)), 0, 0};
  }
  HK_MEM BlockId after(BlockId block) const {
    return {u32(before(block.x)), 0, 0};
  }

private:
  /// How many of the others are among the first `count` blocks.
  HK_MEM i64 before(i64 count) const {
    i64 mixed = size / 2 + others;
    return others == 0 ? 0 : (count < mixed ? count : mixed) * others / mixed;
  }
};

/// LDS of a launch of several problems: as much as the one that needs most.
template <class... Parts> struct SharedLds {
  static constexpr i64 kBytes = [] {
    i64 most = 0;
    ((most = kLdsBytes<Parts> > most ? kLdsBytes<Parts> : most), ...);
    return most;
  }();
  alignas(kSharedLdsAlign) u8 bytes[kBytes];
  template <class Part> HK_MEM Part &as() {
    return *reinterpret_cast<Part *>(bytes);
  }
};

/// A problem: its blocks, and what one of them does, `run(block)`. `Waits`: it
/// begins when all blocks in front of its own have ended.
template <class Run, bool Waits> struct Problem {
  static constexpr bool kWaits = Waits;
  BlockRange range;
  Run run;
};
template <bool Waits = false, class Run>
HK_DEV Problem<Run, Waits> problem(BlockRange range, Run run) {
  return {range, run};
}

template <class Last> HK_DEV void runInTurn(BlockId block, const Last &last) {
  last.run(last.range[block]);
}
template <class First, class... Rest>
HK_DEV void runInTurn(BlockId block, const First &first, const Rest &...rest) {
  if (first.range.holds(block))
    return first.run(first.range[block]);
  runInTurn(first.range.after(block), rest...);
}

template <class Last> HK_DEV void runSpread(BlockId block, const Last &last) {
  last.run(last.range[block]);
}
template <class First, class... Rest>
HK_DEV void runSpread(BlockId block, const First &first, const Rest &...rest) {
  BlockSpread spread = {first.range.size(), (rest.range.size() + ...)};
  if (spread.holds(block))
    return first.run(first.range[spread.own(block)]);
  runSpread(spread.after(block), rest...);
}

/// `order`: the words that blocks count themselves in; `before`: how many
/// blocks the problems in front have.
template <class Last>
HK_DEV void runOrdered(Global<u32> order, i64 before, BlockId block,
                       const Last &last) {
  if constexpr (Last::kWaits)
    awaitBlocks(order, u32(before));
  last.run(last.range[block]);
}
template <class First, class... Rest>
HK_DEV void runOrdered(Global<u32> order, i64 before, BlockId block,
                       const First &first, const Rest &...rest) {
  if constexpr (First::kWaits)
    awaitBlocks(order, u32(before));
  if (first.range.holds(block)) {
    first.run(first.range[block]);
    return countBlock(order);
  }
  runOrdered(order, before + first.range.size(), first.range.after(block),
             rest...);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_PROBLEMS_H
