//===- RowLoop.h - A loop over the chunks of a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop as data: which of the kernels' loops it is (kernels/rowwise/loops.h)
// and with which numbers. It is printed here and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ROWWISE_ROWLOOP_H
#define HK_FAMILIES_ROWWISE_ROWLOOP_H

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::hk {

/// The chunks of a row that a loop goes over: all; or those that stay in
/// registers, those that stay in LDS, and those that are read again.
enum class RowPart { Whole, Registers, Lds, Rest };

/// The kernels' loops: chunks one by one, or in slots.
enum class RowLoopForm {
  Chunks,
  RowSlots,
  LedSlots,
  Strips,
  Piece,
  RepeatedPiece
};

/// How a loop over chunks of a row runs.
struct RowLoop {
  RowPart part = RowPart::Whole;
  RowLoopForm form = RowLoopForm::Chunks;
  int vec = 1;
  bool masked = false; // the last vector is partial
  /// Chunks of the row and of a thread; rounds: 0 if dynamic.
  std::optional<int64_t> chunks;
  int64_t rounds = 0;
  /// Loads are issued together, before anything else of the loop.
  bool batched = false;
  /// Every thread has at most `slots` chunks, whose values may be kept.
  bool unrolled = false;
  int64_t slots = 0;
  /// A chunk is two vectors, half of this apart; 0: one vector.
  int64_t pairedHead = 0;
  /// A chunk is a group of a quantisation, of as many elements, of which the
  /// row's last one may lack some; 0: one vector.
  int64_t groupChunk = 0;
  /// Chunks begin where vectors of memory do (kernels/rowwise/shifted.h); the
  /// number of elements of the row, or 0.
  int64_t shiftedWidth = 0;
  /// The last chunk is partial, by a number that the text knows
  /// (kernels/rowwise/tails.h); the same number, or 0.
  int64_t tailedWidth = 0;

  /// The type that counts chunks, and threads of the row.
  std::string index;
  int64_t step = 1;
  /// C++: this thread's first chunk, what all chunks are below, and which piece
  /// of the row is the block's.
  std::string first, end, piece;
  /// Whether every slot of every thread is known to have a chunk; in the form
  /// Chunks whether all threads have as many.
  bool full = true;
  /// Of LedSlots: chunks of a line of memory.
  int64_t line = 0;

  bool isInStrips() const { return form == RowLoopForm::Strips; }
  /// Cuts chunks from number `begin` up to `end` (unknown: to the row's last)
  /// in strips of `slots` for each thread.
  void cutInStrips(int64_t slots, int64_t begin, std::optional<int64_t> end);
  /// The head of the loop over strips; empty in other forms.
  std::string stripsText() const;
  /// Whether a type says which lanes of a chunk exist.
  bool knowsLanes() const { return shiftedWidth || tailedWidth; }
  /// The lanes of chunk `c` then.
  std::string lanesText() const;
  /// Of RepeatedPiece: whether slot `s` is a chunk of its own.
  std::string existsText() const;
  /// The head of the loop whose body sees the chunk `c` and, in all forms but
  /// Chunks, its slot `s`.
  std::string chunksText() const;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_ROWWISE_ROWLOOP_H
