//===- LdsAttention.h - LDS of the attention kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of the attention kernels a tile means, how it pads head sizes, and the
// LDS it takes. The kernels size their shared storage with these functions, the
// compiler chooses tiles with them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSATTENTION_H
#define HK_CONTRACT_LDSATTENTION_H

#include "hk/Contract/DType.h"
#include "hk/Contract/Lds.h"
#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"

namespace hk {

enum class AttentionPath : int32_t {
  /// Matrix fragments; bq rows or, with few rows, the keys by `waves` waves;
  /// keys and values through LDS.
  Matrix,
  /// gfx942, gfx950: at most kStreamRows rows; keys and values straight into
  /// registers, each wave with keys of its own.
  Stream,
  /// sm_90a: one warp asks for tensor-map boxes of keys and values, warpgroups
  /// of 64 queries of one head each multiply; blocks stay and take one tile
  /// after the other.
  WarpSpecialised,
  /// sm_90a, values that are columns of keys: one warp asks for boxes of keys,
  /// two warpgroups have half of the columns of all rows each and take turns at
  /// the scores.
  Latent,
  /// One wave per row on the vector units: any head size and alignment.
  Vector,
  /// Host: keys and values of a tile repacked, 8 x 32 micro kernel.
  HostTile,
  /// Host: at most kHostFewRows rows, keys and values streamed once.
  HostRows,
};

/// Most rows of the host kernel that streams.
inline constexpr int32_t kHostFewRows = 8;

/// Rows of the fragments that keys stream into.
inline constexpr int32_t kStreamRows = 16;
constexpr bool hasAttentionStream(Arch arch) {
  return arch == Arch::Gfx942 || arch == Arch::Gfx950 || arch == Arch::Tiny;
}

/// Rows of a warpgroup's product.
inline constexpr int32_t kWarpgroupRows = 64;

/// A tile with a warpgroup for each 64 rows and one more specialises them.
constexpr bool isWarpSpecialised(AttentionTile tile) {
  int32_t groups = tile.bq / kWarpgroupRows;
  return groups > 0 && tile.waves == kGroupWarps * (groups + 1);
}

/// A tile with a warpgroup for each half of the columns of 64 rows and one more
/// is for values that are columns of keys.
constexpr bool isLatent(AttentionTile tile) {
  return tile.bq == kWarpgroupRows && tile.waves == kGroupWarps * 3;
}

/// A GPU tile with fewer rows than a matrix fragment runs on the vector units.
constexpr AttentionPath attentionPath(Arch arch, AttentionTile tile) {
  if (arch == Arch::Host)
    return tile.bq <= kHostFewRows ? AttentionPath::HostRows
                                   : AttentionPath::HostTile;
  if (arch == Arch::Sm90a && isWarpSpecialised(tile))
    return AttentionPath::WarpSpecialised;
  if (arch == Arch::Sm90a && isLatent(tile))
    return AttentionPath::Latent;
  if (hasAttentionStream(arch) && tile.bq == kStreamRows)
    return AttentionPath::Stream;
  return tile.bq < targetOf(arch).mmaM ? AttentionPath::Vector
                                       : AttentionPath::Matrix;
}

constexpr int64_t roundUpTo(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Bytes of a row of keys in LDS: whole 64-byte units, zero behind the end.
constexpr int64_t attentionKeyBytes(DType type, int64_t headDim) {
  return roundUpTo(packedBytes(type, headDim), 64);
}
/// Columns of a row of values in LDS (and of the host's accumulator).
constexpr int64_t attentionValueColumns(int64_t valueDim) {
  return roundUpTo(valueDim, 32);
}

/// Columns of the result where keys stream into registers: a lane takes 8 or 16
/// bytes of a value.
constexpr int64_t attentionStreamColumns(int64_t valueDim) {
  return valueDim <= 64 ? 64 : 128;
}

/// Parts the keys are cut in between the waves of a block: with fewer rows than
/// one matrix fragment per wave, every wave has all rows and its own keys.
constexpr int32_t attentionWaveParts(Arch arch, AttentionTile t,
                                     bool sharedValues = false) {
  int32_t fragment = targetOf(arch).mmaM;
  if (attentionPath(arch, t) == AttentionPath::Stream)
    return t.waves;
  return !sharedValues && attentionPath(arch, t) == AttentionPath::Matrix &&
                 t.bq < t.waves * fragment
             ? t.waves
             : 1;
}

/// Panels of 128 bytes that `columns` 16-bit elements of a row take in LDS when
/// the copy engine brings them.
constexpr int64_t attentionPanels(int64_t columns) {
  return (columns + 63) / 64;
}

/// Rows of the boxes that a tile of `bk` keys consists of where keys lie in
/// pages of `pageRows`: as many as divide both.
constexpr int64_t attentionBoxRows(int64_t bk, int64_t pageRows) {
  while (pageRows != 0) {
    int64_t rest = bk % pageRows;
    bk = pageRows;
    pageRows = rest;
  }
  return bk;
}

/// Room to align, a tile of queries, `stages` tiles of keys and of values,
/// barriers, a word of missing boxes of each tile of keys.
constexpr int64_t attentionBulkLds(AttentionTile t, int64_t headDim,
                                   int64_t valueDim) {
  int64_t keyRow = attentionPanels(headDim) * kBulkRowBytes;
  int64_t valueRow = attentionPanels(valueDim) * kBulkRowBytes;
  return kBulkAlignment + t.bq * keyRow +
         int64_t(t.stages) * t.bk * (keyRow + valueRow) +
         8 * (2 + 4 * int64_t(t.stages)) + 4 * int64_t(t.stages);
}

/// Panels of one stage of keys whose first columns are the values. The second
/// product has the probabilities in the first panel behind those of values.
constexpr int64_t attentionLatentPanels(int64_t headDim, int64_t valueDim) {
  int64_t keys = attentionPanels(headDim), used = attentionPanels(valueDim) + 1;
  return keys > used ? keys : used;
}

/// Room for what a unit of work is: rows and keys.
inline constexpr int64_t kLatentUnitBytes = 128;

/// Room to align, rows of queries, `stages` tiles of keys, maxima and factors
/// of the rows from either warpgroup, their sums, of two units of work, the
/// units, barriers of queries, units and three pieces of each stage, a word of
/// missing boxes of each.
constexpr int64_t attentionLatentLds(AttentionTile t, int64_t headDim,
                                     int64_t valueDim) {
  return kBulkAlignment +
         kWarpgroupRows * attentionPanels(headDim) * kBulkRowBytes +
         int64_t(t.stages) * t.bk * attentionLatentPanels(headDim, valueDim) *
             kBulkRowBytes +
         2 * kWarpgroupRows * 8 + 2 * 2 * 128 * 8 + 2 * kLatentUnitBytes +
         8 * (6 + 6 * int64_t(t.stages)) + 4 * int64_t(t.stages);
}

/// Groups that the columns of values are cut in between the waves of a block,
/// where values are columns of keys: every wave of a group has one fragment of
/// rows.
constexpr int32_t attentionColumnGroups(Arch arch, AttentionTile t) {
  return t.waves * targetOf(arch).mmaM / t.bq;
}

/// Whether those waves each multiply a part of a head, of rows of `keyBytes`,
/// and add their scores: on sm_90a, whose registers do not hold the queries.
constexpr bool attentionSharesScores(Arch arch, AttentionTile t,
                                     int64_t keyBytes) {
  int32_t groups = attentionColumnGroups(arch, t);
  return arch == Arch::Sm90a && groups > 1 && keyBytes / 32 % groups == 0;
}

/// LDS bytes of a block; `type` is the element type that is multiplied.
/// `sharedValues`: values are the first columns of keys.
constexpr int64_t attentionLdsBytes(Arch arch, AttentionTile t, DType type,
                                    int64_t headDim, int64_t valueDim,
                                    bool sharedValues = false) {
  int64_t columns = attentionValueColumns(valueDim);
  switch (attentionPath(arch, t)) {
  case AttentionPath::Matrix: {
    int64_t keyRow = attentionKeyBytes(type, headDim);
    int64_t row = keyRow + (sharedValues ? 0 : packedBytes(type, columns));
    int64_t scores = sharedValues && attentionSharesScores(arch, t, keyRow)
                         ? int64_t(t.waves) * targetOf(arch).mmaM * t.bk * 4
                         : 0;
    return int64_t(attentionWaveParts(arch, t, sharedValues)) * t.stages *
               t.bk * row +
           scores;
  }
  case AttentionPath::Stream:
    // Results, maxima and sums of half of the waves, which the others add.
    return (t.waves + 1) / 2 *
           (t.bq * attentionStreamColumns(valueDim) +
            2 * int64_t(targetOf(arch).waveSize)) *
           4;
  case AttentionPath::WarpSpecialised:
    return attentionBulkLds(t, headDim, valueDim);
  case AttentionPath::Latent:
    return attentionLatentLds(t, headDim, valueDim);
  case AttentionPath::Vector:
    // The query and the probabilities of one wave's keys.
    return 4 * (headDim + t.bk);
  case AttentionPath::HostTile:
    // Queries, keys, values, scores, accumulator; maximum and sum per row.
    return 4 *
           (int64_t(t.bq) * headDim + int64_t(t.bk) * headDim + t.bk * columns +
            int64_t(t.bq) * t.bk + t.bq * columns + 2 * int64_t(t.bq));
  case AttentionPath::HostRows: {
    int64_t head = roundUpTo(headDim, 16);
    return 4 * (t.bq * head + int64_t(t.bq) * t.bk + t.bq * columns +
                2 * roundUpTo(t.bq, 16));
  }
  }
  return 0;
}

/// Threads of a block.
constexpr int64_t attentionThreads(Arch arch, AttentionTile tile) {
  return int64_t(tile.waves) * targetOf(arch).waveSize;
}

} // namespace hk

#endif // HK_CONTRACT_LDSATTENTION_H
