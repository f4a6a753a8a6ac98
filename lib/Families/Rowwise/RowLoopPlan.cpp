//===- RowLoopPlan.cpp - Which loops go over a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides how the chunks of a row are walked over: by one unrolled loop whose
// chunks stay in registers, in strips, as the piece of a block where blocks
// split rows, or in parts that stay in registers, in LDS, or nowhere.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "hk/Contract/Calibration.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

/// Chunks of a thread in a strip of a row that is too long to unroll.
static constexpr int64_t kStripSlots = 4;

bool RowEmitter::fillsGrid(const RowLoop &loop) const {
  int64_t piece = threadsPerRow * loop.slots;
  // Nothing is to be stored of no chunks.
  if (!loop.chunks || *loop.chunks == 0 || *loop.chunks % piece != 0)
    return false;
  for (const RowStore &store : plan.stores()) {
    std::optional<int64_t> flat = RowPlan::flatSize(store.local);
    int64_t own = plan.pieceOf(store, podOf(tile), target);
    if (!flat || int64_t(llvm::divideCeil(*flat, own)) > *loop.chunks / piece)
      return false;
  }
  return true;
}

bool RowEmitter::hasOnePiece() const {
  return llvm::all_of(plan.stores(), [&](const RowStore &store) {
    std::optional<int64_t> flat = RowPlan::flatSize(store.local);
    return flat && *flat <= plan.pieceOf(store, podOf(tile), target);
  });
}

/// Chunks of a line of memory, if a row in registers is to begin with one that
/// its first elements may share with the row before; 0: if not.
int64_t RowEmitter::lineOf(const RowLoop &loop) const {
  const ::hk::RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  int64_t bytes = loop.vec * plan.rowElementBytes();
  // Wider accesses straddle a line less often.
  if (!measured || resident || bytes > 4 || !plan.selections().empty() ||
      plan.segmentSize() != 0)
    return 0;
  int64_t line = measured->lineBytes / bytes;
  bool fits = *loop.chunks + line - 1 <= loop.rounds * threadsPerRow;
  return fits && *loop.chunks % line != 0 ? line : 0;
}

/// A loop over the piece of a row that is the block's.
void RowEmitter::planPiece(RowLoop &loop, std::optional<int64_t> flat) const {
  // A short row is done by the first of the blocks that split the longest.
  if (loop.chunks)
    loop.slots =
        std::max<int64_t>(1, std::min<int64_t>(loop.slots, loop.rounds));
  loop.form = RowLoopForm::Piece;
  loop.piece = piecesFirst(plan, target)  ? "piece"
               : votes() && hasOnePiece() ? "0"
                                          : "block.y";
  loop.full = fillsGrid(loop);
  if (!loop.groupChunk)
    repeatLastGroup(loop, flat);
}

/// Lanes without a chunk take part in the exchange of the last group.
void RowEmitter::repeatLastGroup(RowLoop &loop,
                                 std::optional<int64_t> flat) const {
  int64_t group = plan.segmentSize();
  if (votes() && !loop.full && flat && group && *flat % group != 0 &&
      (!loop.masked || loop.tailedWidth) && group % loop.vec == 0 &&
      threadsPerRow % (group / loop.vec) == 0)
    loop.form = RowLoopForm::RepeatedPiece;
}

RowLoop RowEmitter::planLoop(const Space &space,
                             ArrayRef<const RowStore *> stores) const {
  RowLoop loop;
  loop.vec =
      plan.loopVec(tile.getVec(), host, space.local, stores, loop.masked);
  std::optional<int64_t> flat = RowPlan::flatSize(space.local);
  std::optional<int64_t> &chunks = loop.chunks;
  if ((shifted || tailed) && flat == plan.widest()) {
    loop.vec = tile.getVec();
    loop.masked = true;
    (shifted ? loop.shiftedWidth : loop.tailedWidth) = *flat;
  }
  if (!host && !loop.masked && flat)
    loop.pairedHead = plan.pairedHead(stores, loop.vec);
  if (flat && !loop.masked)
    loop.groupChunk = plan.groupChunk(target, loop.vec);
  if (loop.groupChunk)
    chunks = llvm::divideCeil(*flat, loop.groupChunk);
  else if (flat)
    chunks = llvm::divideCeil(*flat + (loop.shiftedWidth ? loop.vec - 1 : 0),
                              loop.vec * (loop.pairedHead ? 2 : 1));
  loop.end = chunks ? std::to_string(*chunks)
                    : "((" + text(space.size) + " + " +
                          std::to_string(loop.vec - 1) + ") / " +
                          std::to_string(loop.vec) + ")";
  loop.first = host ? "0" : "thread";
  loop.step = threadsPerRow;
  loop.index = flat && *flat < (int64_t(1) << 30) ? "i32" : "i64";
  int64_t slots = tile.getSlots();
  if (resident)
    slots = residenceOf(plan, podOf(tile)).registers;
  bool split = splitsRows(plan);
  if (chunks)
    loop.rounds = llvm::divideCeil(*chunks, threadsPerRow);
  // Of no chunks there is not even a first one.
  loop.unrolled = !split && slots > 0 && chunks && *chunks > 0 &&
                  loop.rounds <= slots && loop.vec == tile.getVec();
  loop.batched =
      !host && (!loop.masked || loop.knowsLanes()) && !loop.groupChunk;

  loop.slots = slots;
  if (split) {
    planPiece(loop, flat);
  } else if (loop.unrolled) {
    loop.form = RowLoopForm::RowSlots;
    loop.slots = loop.rounds;
    loop.full = *chunks % threadsPerRow == 0;
    loop.line = lineOf(loop);
    if (loop.line) {
      loop.form = RowLoopForm::LedSlots;
      // A first chunk below zero that is widened would give each access an
      // address of its own.
      loop.index = "i64";
    }
    loop.piece = "0";
    if (!resident && plan.selections().empty())
      repeatLastGroup(loop, flat);
  } else if (loop.batched && (!chunks || *chunks > threadsPerRow)) {
    loop.cutInStrips(kStripSlots, 0, chunks);
  } else {
    loop.batched = false;
    loop.full = chunks && *chunks % threadsPerRow == 0;
  }
  return loop;
}

SmallVector<RowLoop>
RowEmitter::planLoops(const Space &space,
                      ArrayRef<const RowStore *> stores) const {
  RowLoop whole = planLoop(space, stores);
  ::hk::RowResidence kept = residenceOf(plan, podOf(tile));
  int64_t slots = kept.registers + kept.lds;
  if (!resident || !whole.batched || whole.vec != tile.getVec() ||
      !whole.chunks || *whole.chunks < slots * threadsPerRow ||
      whole.rounds <= kept.registers)
    return {whole};
  SmallVector<RowLoop> loops;
  // What is not kept comes first: it is the sooner read again.
  if (slots < whole.rounds) {
    RowLoop rest = whole;
    rest.part = RowPart::Rest;
    rest.cutInStrips(kStripSlots, slots * threadsPerRow, whole.chunks);
    loops.push_back(rest);
  }
  if (kept.lds > 0) {
    RowLoop lds = whole;
    lds.part = RowPart::Lds;
    lds.cutInStrips(std::gcd(kStripSlots, kept.lds),
                    kept.registers * threadsPerRow, slots * threadsPerRow);
    loops.push_back(lds);
  }
  RowLoop registers = whole;
  registers.part = RowPart::Registers;
  registers.form = RowLoopForm::RowSlots;
  registers.slots = kept.registers;
  registers.first = "thread";
  registers.full = true;
  registers.unrolled = true;
  loops.push_back(registers);
  return loops;
}
