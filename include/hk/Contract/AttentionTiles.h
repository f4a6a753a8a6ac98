//===- AttentionTiles.h - Tiles the attention kernels exist for -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Per chip, the tiles in order of preference, for many rows and for few (a
// decode step), and the largest head size whose registers fit. What no matrix
// tile can take, runs on the vector units.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_ATTENTIONTILES_H
#define HK_CONTRACT_ATTENTIONTILES_H

#include "hk/Contract/LdsAttention.h"

namespace hk {

/// What tiles depend on.
struct AttentionShape {
  DType type; // of what is multiplied
  int64_t headDim, valueDim;
  /// Bytes that every row of queries, keys and values is aligned to.
  int64_t align;
  /// Whether tensor maps can describe the operands and the result is of 16-bit
  /// elements: what the warp-specialised loop of sm_90a needs.
  bool bulk = false;
  bool softcap = false;
  /// Values are the first columns of keys: one copy of them in LDS, where there
  /// is a tile for that.
  bool sharedValues = false;
  /// Whether tensor maps can describe such keys: what the latent loop of sm_90a
  /// needs.
  bool latent = false;
  /// Whether keys and values may go straight into registers on gfx942 and
  /// gfx950 (AttentionPath::Stream).
  bool stream = false;

  constexpr int64_t largestDim() const {
    return headDim > valueDim ? headDim : valueDim;
  }
};

struct AttentionCandidate {
  Arch arch;
  AttentionTile tile;
  /// Largest head size.
  int64_t maxDim;
  /// Whether its registers leave room for a soft cap.
  bool softcap = true;
  /// For values that are columns of keys only; 16-bit elements.
  bool sharedValues = false;
  /// For heads whose blocks a unit holds as many of with shorter steps.
  bool longSteps = false;
};

/// Whether a unit holds as many blocks of `tile` as of one with steps of half
/// as many keys: two, whose results are at most 128 columns and whose stages
/// fit twice in the LDS, or one, as results of more than 192 columns fill the
/// registers of a wave.
constexpr bool attentionKeepsBlocks(Arch arch, const AttentionTile &tile,
                                    const AttentionShape &shape) {
  int64_t lds = attentionLdsBytes(arch, tile, shape.type, shape.headDim,
                                  shape.valueDim, false);
  return shape.valueDim > 192 ||
         (shape.valueDim <= 128 && 2 * lds <= targetOf(arch).ldsBytes);
}

/// Waves of a warp-specialised tile.
inline constexpr int32_t kBulkAttentionWaves = 12;

/// Queries of a sequence from which on a warp-specialised tile, which has rows
/// of one head only, is the faster one.
inline constexpr int64_t kBulkAttentionQueries = 64;

/// A tile for long sequences of heads to 64: four warpgroups of 64 queries,
/// each with so few keys that its registers hold the step.
inline constexpr AttentionTile kWideAttentionTile = {256, 64, 20, 2, 1};
inline constexpr int64_t kWideAttentionDim = 64;
/// A round of such tiles takes kWideRound[0] / kWideRound[1] of the time of a
/// round of 128 queries.
inline constexpr int64_t kWideRound[] = {8, 5};

/// The largest head whose keys, values and results fit in registers where they
/// stream there.
inline constexpr int64_t kStreamDim = 128;

/// Blocks of a cluster that shares the keys of a warp-specialised tile.
inline constexpr int32_t kAttentionClusters[] = {6, 3, 2};
/// The least queries of a head in such a tile, which takes several heads.
inline constexpr int32_t kClusterQueries = 16;

/// The tile `bulk` for few queries of heads of which `group` share keys, whose
/// keys `cluster` blocks share: half of the rows, so half as much to add, and
/// steps that can be shared evenly.
constexpr AttentionTile clusteredTile(AttentionTile bulk, int64_t group,
                                      int32_t cluster) {
  bulk.bq = kWarpgroupRows;
  bulk.bk = bulk.bk < 128 ? bulk.bk : 128;
  bulk.waves = 2 * kGroupWarps;
  bulk.cluster = cluster;
  while (group % (2 * bulk.heads) == 0 &&
         bulk.bq / (2 * bulk.heads) >= kClusterQueries)
    bulk.heads *= 2;
  return bulk;
}

/// Most rows first; of tiles with the same number of rows the first that fits
/// is taken. `tiny` takes those of gfx942.
inline constexpr AttentionCandidate kAttentionCandidates[] = {
    {Arch::Host, {64, 128, 1, 1, 1}, 512},
    {Arch::Host, {64, 64, 1, 1, 1}, 1 << 10},
    {Arch::Host, {32, 64, 1, 1, 1}, 512},
    {Arch::Host, {16, 32, 1, 1, 1}, 1 << 11},
    {Arch::Host, {8, 128, 1, 1, 1}, 1 << 14},
    {Arch::Gfx942, {128, 64, 4, 1, 1}, 128},
    {Arch::Gfx942, {128, 32, 4, 1, 1}, 256},
    {Arch::Gfx942, {32, 32, 4, 1, 1}, 64},
    {Arch::Gfx942, {32, 32, 2, 1, 1}, 128},
    {Arch::Gfx942, {32, 32, 1, 1, 1}, 256},
    {Arch::Gfx942, {16, 32, 4, 1, 1}, kStreamDim},
    {Arch::Gfx942, {64, 32, 4, 1, 1}, 576, true, true},
    {Arch::Gfx942, {32, 32, 4, 1, 1}, 576, true, true},
    {Arch::Gfx950, {128, 64, 4, 2, 1}, 128},
    {Arch::Gfx950, {128, 64, 4, 2, 1}, 256, true, false, true},
    {Arch::Gfx950, {128, 32, 4, 2, 1}, 256},
    {Arch::Gfx950, {32, 32, 4, 1, 1}, 128},
    {Arch::Gfx950, {32, 32, 2, 1, 1}, 256},
    {Arch::Gfx950, {16, 32, 4, 1, 1}, kStreamDim},
    {Arch::Gfx950, {64, 32, 4, 1, 1}, 576, true, true},
    {Arch::Gfx950, {32, 32, 4, 1, 1}, 576, true, true},
    {Arch::Gfx1100, {64, 32, 4, 1, 1}, 96},
    {Arch::Gfx1100, {64, 16, 4, 1, 1}, 128},
    {Arch::Gfx1100, {16, 32, 4, 1, 1}, 64},
    {Arch::Sm90a, {128, 192, 12, 2, 1}, 64, false},
    {Arch::Sm90a, {128, 128, 12, 2, 1}, 192},
    {Arch::Sm90a, {128, 80, 12, 2, 1}, 256, false},
    {Arch::Sm90a, {128, 64, 12, 2, 1}, 256},
    {Arch::Sm90a, {64, 64, 4, 2, 1}, 128},
    {Arch::Sm90a, {64, 32, 4, 2, 1}, 192},
    {Arch::Sm90a, {64, 16, 4, 2, 1}, 256},
    {Arch::Sm90a, {64, 64, 12, 2, 1}, 576, true, true},
    {Arch::Sm90a, {16, 16, 4, 3, 1}, 256},
    // Beside warp-specialised tiles, whose blocks have as many threads.
    {Arch::Sm90a, {16, 16, 12, 2, 1}, 128},
    {Arch::Sm90a, {16, 16, 4, 5, 1}, 576, true, true},
};

/// The arch whose candidates `arch` uses.
constexpr Arch attentionCandidateArch(Arch arch) {
  return arch == Arch::Tiny ? Arch::Gfx942 : arch;
}

/// Whether values are read from the keys' copy in LDS: heads too large for
/// tiles with both, in whole groups of columns.
constexpr bool attentionSharesValues(const AttentionShape &shape) {
  return shape.sharedValues && shape.largestDim() > 256 &&
         shape.valueDim % 128 == 0;
}

constexpr bool usableForShape(const AttentionCandidate &c, Arch arch,
                              const AttentionShape &shape) {
  AttentionPath path = attentionPath(arch, c.tile);
  if (path == AttentionPath::WarpSpecialised &&
      (!shape.bulk || (shape.softcap && !c.softcap)))
    return false;
  if (path == AttentionPath::Latent && !shape.latent)
    return false;
  if (path == AttentionPath::Stream && !shape.stream)
    return false;
  if (c.sharedValues &&
      (!attentionSharesValues(shape) || info(shape.type).bits != 16))
    return false;
  if (c.longSteps && !attentionKeepsBlocks(arch, c.tile, shape))
    return false;
  return c.arch == attentionCandidateArch(arch) &&
         shape.largestDim() <= c.maxDim;
}

/// Whether a GPU's matrix fragments hold rows of heads of these sizes that are
/// aligned to `align` bytes.
constexpr bool attentionFitsFragments(Arch arch, DType type, int64_t headDim,
                                      int64_t valueDim, int64_t align) {
  if (packedBytes(type, headDim) % 16 != 0 ||
      packedBytes(type, valueDim) % 16 != 0 || align < 16)
    return false;
  // No IEEE f32 matrix instruction.
  return type != DType::F32 || (arch != Arch::Sm90a && arch != Arch::Gfx1100);
}

/// Whether matrix tiles exist for the shape on a GPU, LDS aside.
constexpr bool attentionHasMatrixTile(Arch arch, const AttentionShape &shape) {
  if (arch == Arch::Host)
    return false;
  if (!attentionFitsFragments(arch, shape.type, shape.headDim, shape.valueDim,
                              shape.align))
    return false;
  for (const AttentionCandidate &c : kAttentionCandidates)
    if (usableForShape(c, arch, shape))
      return true;
  return false;
}

/// The tile of the vector path of a GPU: a wave per row, a key per lane.
constexpr AttentionTile attentionVectorTile(Arch arch) {
  return {1, targetOf(arch).waveSize, 1, 1, 1};
}

/// LDS bytes of a block.
constexpr int64_t attentionLds(Arch arch, const AttentionTile &tile,
                               const AttentionShape &shape) {
  return attentionLdsBytes(arch, tile, shape.type, shape.headDim,
                           shape.valueDim, attentionSharesValues(shape));
}

/// The tiles to choose from at launch, most rows first.
struct AttentionTileList {
  AttentionTile tile[4];
  int32_t count;
};

/// For every number of rows the first tile that fits in the LDS. Empty when
/// none does.
constexpr AttentionTileList attentionTiles(Arch arch,
                                           const AttentionShape &shape) {
  AttentionTileList list = {};
  if (arch != Arch::Host && !attentionHasMatrixTile(arch, shape)) {
    AttentionTile tile = attentionVectorTile(arch);
    if (attentionLds(arch, tile, shape) <= targetOf(arch).ldsBytes)
      list.tile[list.count++] = tile;
    return list;
  }
  for (const AttentionCandidate &c : kAttentionCandidates) {
    bool known = list.count > 0 && list.tile[list.count - 1].bq == c.tile.bq;
    if (!known && list.count < 4 && usableForShape(c, arch, shape) &&
        attentionLds(arch, c.tile, shape) <= targetOf(arch).ldsBytes)
      list.tile[list.count++] = c.tile;
  }
  return list;
}

} // namespace hk

#endif // HK_CONTRACT_ATTENTIONTILES_H
