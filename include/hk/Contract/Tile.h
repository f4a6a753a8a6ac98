//===- Tile.h - Tile parameters of each kernel family -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One POD per family: what the compiler chooses and the kernel template is
// instantiated with. The typed attributes of the dialect (#hk.row_tile, ...)
// have the same fields in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_TILE_H
#define HK_CONTRACT_TILE_H

#include <cstdint>

namespace hk {

/// A block of `threads` threads handles `rows` rows, threads / rows threads
/// each (host: one thread, `rows` rows one after the other). Every thread loads
/// `vec` consecutive elements at a time; `slots` > 0 keeps that many vectors
/// per thread (in registers, of a long row the rest in LDS: LdsRowwise.h), 0
/// loops over the row and recomputes. `cluster` > 1: that many blocks share one
/// row and exchange its statistics through each other's LDS.
struct RowTile {
  int32_t rows;
  int32_t threads;
  int32_t vec;
  int32_t slots;
  int32_t cluster = 1;

  constexpr int32_t threadsPerRow() const { return threads * cluster / rows; }
};

/// How a matrix product walks k.
enum class GemmLoop : int32_t {
  /// All waves copy and multiply; every target.
  Blocks,
  /// sm_90a: one warp asks for the operands, wm warpgroups multiply 64 rows
  /// each; blocks stay and take one tile after the other.
  WarpSpecialised,
  /// sm_90a, few rows: bn rows of B are the rows of the instruction, bm columns
  /// of it are the rows of A. Of groups rows of B come into registers, and the
  /// wn waves of a block share k (isGroupedSkinny), or through stages, and each
  /// of wm waves has some of them (isGroupedStaged).
  Skinny,
  /// sm_90a, few rows and weights of 4-bit codes: bn rows of B are the rows of
  /// the instruction, their codes are decoded in registers. A block keeps bm
  /// rows and bk elements of A in registers and takes tile after tile; its wn
  /// waves and the blocks of a cluster share k.
  SkinnyCodes,
  /// gfx950: the waves of a block copy and multiply, by the matrix instruction
  /// that takes floats of 8 and 4 bits as they are in memory, and the e8m0
  /// scales of 32 of k.
  Microscaled,
  /// sm_90a, f32: lanes sum cells of results that they keep in registers.
  RegisterCells,
  /// gfx942 and gfx950, many rows: two groups of four waves in turns, one
  /// multiplies while the other copies and reads fragments.
  PingPong,
  /// sm_90a, few rows of 16 bits and weights of 4- or 8-bit codes: a block
  /// computes bn rows of B, with scales along k for at most bk of it; one wave
  /// asks for the operands, wm teams of wn waves decode in registers and
  /// multiply: a team has a part of the rows of B, a wave of it a part of k.
  StreamedCodes,
  /// sm_90a, some hundred rows: one warp asks for the operands, wn warpgroups
  /// multiply 64 rows of B each, the rows of the instruction, by bm of A, its
  /// columns; blocks stay and take one tile after the other.
  Swapped,
};

/// C[bm, bn] per block in K steps of bk, by wm x wn waves (WarpSpecialised and,
/// but for groups, Skinny: warpgroups); `stages` LDS buffers. splitK > 1:
/// blocks share k in that many slices and write a partial result each. cluster
/// > 1: that many blocks work together; WarpSpecialised: neighbouring rows of
/// tiles, which share B; Skinny, SkinnyCodes, StreamedCodes, Swapped: parts of
/// k, which they add. Other loops have no clusters.
struct GemmTile {
  int32_t bm, bn, bk;
  int32_t wm, wn;
  int32_t stages;
  int32_t splitK;
  GemmLoop loop = GemmLoop::Blocks;
  int32_t cluster = 1;
};

/// bq query rows per block in steps of bk keys, by `waves` waves: each has a
/// part of the rows or, where bq is one matrix fragment, of the keys. splitKv >
/// 1: blocks share the keys in that many slices and write a partial result
/// each. blocks > 0: that many take equal runs of the keys of all sequences,
/// each of which has at most splitKv parts. sm_90a: with four waves for every
/// 64 rows and four more, the rows are of `heads` heads, as many queries of
/// each, and the last four waves copy; cluster > 1: that many blocks have the
/// same rows and parts of their keys, and add what they get.
struct AttentionTile {
  int32_t bq, bk;
  int32_t waves;
  int32_t stages;
  int32_t splitKv;
  int32_t blocks = 0;
  int32_t heads = 1;
  int32_t cluster = 1;
};

/// Gradients of attention: a block has `rows` keys, or (query, head) rows, and
/// walks `walked` of the other kind at a time, by `waves` waves that have a
/// part of the rows each; `stages` LDS buffers. sm_90a: with four waves for
/// every 64 rows and four more, rows are of one head, the last four waves copy,
/// and a block that has rows walks twice as many keys.
struct AttentionBackwardTile {
  int32_t rows, walked;
  int32_t waves;
  int32_t stages;
};

/// Causal convolution: a strip is `channels` channels of `tokens` tokens; a
/// block takes `items` strips, on a GPU one per thread, of which `channelLanes`
/// lie side by side in the channels.
struct Conv1dTile {
  int32_t items;
  int32_t channelLanes;
  int32_t channels, tokens;
};

/// A scan along a dim by `threads` threads: `columns` neighbouring columns of
/// the dims behind it side by side, the others along the scanned dim with
/// `items` elements each (host: one thread, `columns` columns one after the
/// other).
struct ScanTile {
  int32_t threads;
  int32_t columns;
  int32_t items;
};

/// One block of `threads` threads does all the work.
struct RoutingTile {
  int32_t threads;
};

/// Gated delta rule: a block of `threads` threads; `columns` neighbouring
/// columns of values per thread. Where a thread keeps a part of the state,
/// `lanes` neighbouring threads share those columns and have a part of the
/// keys each. The first `waves` waves multiply on matrix units; 0: the vector
/// units do.
struct GatedDeltaTile {
  int32_t threads;
  int32_t lanes;
  int32_t columns;
  int32_t waves;
};

} // namespace hk

#endif // HK_CONTRACT_TILE_H
