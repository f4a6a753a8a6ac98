//===- loops.h - The loops over a row -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of a row take its chunks in turn: of STEP threads, thread t has
// chunks t, t + STEP, and so on. A thread goes over its chunks one by one, or
// over groups of SLOTS chunks whose loads are under way at the same time:
//
//   chunks     0         STEP      2 STEP    3 STEP
//   RowSlots   slot 0    slot 1    slot 2    slot 3     the row, in registers
//   LedSlots   the same, after a few places for the end of the row before
//   Strip      strip 0             strip 1              a row too long for them
//   Piece      block 0             block 1              a row that blocks share
//
// A value of one of these types says which chunk of the row a slot of this
// thread is and whether there is one. What is known of a row at compile time is
// in its type, so that a test that always holds costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ROWWISE_LOOPS_H
#define HK_KERNELS_ROWWISE_LOOPS_H

#include "kernels/device/io.h"
#include "kernels/device/loops.h"
#include "kernels/rowwise/offsets.h"

/// The host has one slot after the other in its caches; a GPU has each in
/// registers of its own, which takes a loop without a counter.
#if HK_GPU
#define HK_UNROLL_SLOTS HK_UNROLL
#else
#define HK_UNROLL_SLOTS
#endif

/// The slots s of RowSlots, a strip or a Piece, and the chunks c that they are.
/// Slots without a chunk are left out.
#define HK_EACH_SLOT(s, c, ...)                                                \
  HK_UNROLL_SLOTS for (int s = 0; s < decltype(__VA_ARGS__)::kSlots; ++s)      \
      HK_WHERE_CHUNK_(s, c, __VA_ARGS__)
#define HK_WHERE_CHUNK_(s, c, ...)                                             \
  if (const auto c = (__VA_ARGS__).chunk(s); (__VA_ARGS__).holds(s, c))

/// The strips of a row, from the first one on.
#define HK_EACH_STRIP(strip, ...)                                              \
  for (auto strip = __VA_ARGS__; strip.first < strip.end;                      \
       strip.first += strip.kStride)

/// The chunks of a thread one by one.
#define HK_EACH_CHUNK(c, ...)                                                  \
  for (auto c = (__VA_ARGS__).first; c < (__VA_ARGS__).end;                    \
       c += decltype(__VA_ARGS__)::kStep)

/// The rows of a block on the host, where a block is one thread.
#define HK_EACH_ROW(row, ...)                                                  \
  for (hk::i64 row = (__VA_ARGS__).begin(); row < (__VA_ARGS__).end(); ++row)

namespace hk {

/// The chunk number `slot` * STEP + thread, of a thread below STEP. Its place
/// in a group of chunks is then the same for all slots.
template <class I, int STEP> struct SlotChunk {
  I slot;
  i32 thread;
  HK_MEM operator I() const { return slot * STEP + thread; }
  template <class K> HK_MEM I operator/(K k) const {
    return STEP % k == 0 ? slot * I(STEP / k) + thread / k : I(*this) / I(k);
  }
  template <class K> HK_MEM I operator%(K k) const {
    return STEP % k == 0 ? I(thread % k) : I(*this) % I(k);
  }
};

/// Up to SLOTS chunks of a thread, of a row that starts with CHUNKS chunks. I
/// counts the chunks of a row.
template <class I, int SLOTS, int STEP, I CHUNKS = I(SLOTS) * STEP>
struct RowSlots {
  static constexpr int kSlots = SLOTS;
  i32 thread;
  HK_MEM auto chunk(int s) const {
    if constexpr (kVotes)
      return SlotChunk<I, STEP>{s, thread};
    else
      return I(s * STEP + thread);
  }
  /// Only the last slot may be one too many.
  HK_MEM bool holds(int s, I c) const {
    static_assert(CHUNKS > I(SLOTS - 1) * STEP);
    return CHUNKS >= I(SLOTS) * STEP || s + 1 < SLOTS || c < CHUNKS;
  }
};

/// The same of a row that begins `lead` chunks past a line of memory. Slot 0
/// begins with that line and has nothing there, so that the threads of a wave
/// access whole lines.
template <class I, int SLOTS, int STEP, int LINE, I CHUNKS> struct LedSlots {
  static constexpr int kSlots = SLOTS;
  i32 thread, lead;
  HK_MEM I chunk(int s) const { return I(s) * STEP + (I(thread) - lead); }
  HK_MEM bool holds(int s, I c) const {
    static_assert(CHUNKS > I(SLOTS - 1) * STEP &&
                  CHUNKS + LINE - 1 <= I(SLOTS) * STEP);
    return (s > 0 || c >= 0) && (s + 1 < SLOTS || c < CHUNKS);
  }
};

/// How many chunks a row begins past a line of LINE.
template <int LINE> HK_DEV i32 leadOf(i64 row, u32 chunks) {
  static_assert((LINE & (LINE - 1)) == 0);
  return i32(u32(row) * chunks % LINE);
}

/// SLOTS chunks of each thread, of a row that has chunks up to `end`; `first`
/// is the thread's own first one. FULL: every strip has all its chunks.
template <class I, int SLOTS, int STEP, bool FULL> struct Strip {
  static constexpr int kSlots = SLOTS, kStride = SLOTS * STEP;
  I first, end;
  HK_MEM I chunk(int s) const { return first + s * STEP; }
  HK_MEM bool holds(int, I c) const { return FULL || c < end; }
};

/// Up to SLOTS chunks of a thread, of a row of which every block has its piece.
/// FULL: the pieces have as many chunks as the row.
template <class I, int SLOTS, int STEP, bool FULL> struct Piece {
  static constexpr int kSlots = SLOTS;
  u32 piece;
  i32 thread;
  I end;
  HK_MEM auto chunk(int s) const {
    if constexpr (kVotes) {
      SlotChunk<I, STEP> c{I(piece) * SLOTS + s, thread};
      __builtin_assume(I(c) >= 0);
      return c;
    } else
      return (I(piece) * SLOTS + s) * STEP + thread;
  }
  HK_MEM bool holds(int, I c) const { return FULL || c < end; }
};

/// The same where every slot is gone over: those past the row, which are not
/// `exists`, are its last chunk once more.
template <class I, int SLOTS, int STEP> struct RepeatedPiece {
  static constexpr int kSlots = SLOTS;
  u32 piece;
  i32 thread;
  I end;
  HK_MEM I chunk(int s) const {
    I c = Piece<I, SLOTS, STEP, true>{piece, thread, end}.chunk(s);
    return c < end ? c : end - 1;
  }
  HK_MEM bool holds(int, I) const { return true; }
  HK_MEM bool exists(int s) const {
    return Piece<I, SLOTS, STEP, true>{piece, thread, end}.chunk(s) < end;
  }
};

/// The chunks of a thread from its own first one up to `end`.
template <class I, int STEP> struct Chunks {
  static constexpr int kStep = STEP;
  I first, end;
};

/// The row of a thread where TPR threads share one of ROWS in a block; threads
/// past the last row have that and are not `valid`.
template <class Row> struct RowOfThread {
  Row row;
  bool valid;
};
template <int ROWS, int TPR> HK_DEV auto rowOfThread(i64 block, i64 rows) {
  u32 own = u32(threadId()) / TPR;
  if constexpr (kVotes) {
    i64 left = rows - 1 - block * ROWS; // of a block that has a row
    // By halves: the scalar unit does not compare 64 bits.
    bool few = opaqueUniform(u32(left >> 32)) == 0 && u32(left) < ROWS - 1;
    u32 last = few ? u32(left) : ROWS - 1;
    NextRow<ROWS> row{{block * ROWS, own < last ? own : last}};
    return RowOfThread<NextRow<ROWS>>{row, own <= last};
  } else {
    i64 row = block * ROWS + own;
    return RowOfThread<i64>{row < rows ? row : rows - 1, row < rows};
  }
}

/// The rows of a block that has ROWS of all `rows`.
template <int ROWS> struct RowsOfBlock {
  u32 block;
  i64 rows;
  HK_MEM i64 begin() const { return i64(block) * ROWS; }
  HK_MEM i64 end() const {
    i64 last = (i64(block) + 1) * ROWS;
    return last < rows ? last : rows;
  }
};

} // namespace hk

#endif // HK_KERNELS_ROWWISE_LOOPS_H
