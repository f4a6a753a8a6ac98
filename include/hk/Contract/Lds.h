//===- Lds.h - LDS bytes of each kernel family -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only LDS arithmetic of the project. The compiler compares the result with
// Target::ldsBytes before it instantiates a kernel; every kernel asserts that
// its shared storage has exactly this size. Sums and products saturate, so that
// an absurd tile is refused and never wraps into range.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDS_H
#define HK_CONTRACT_LDS_H

#include "hk/Contract/Capability.h"
#include "hk/Contract/DType.h"
#include "hk/Contract/Scale.h"
#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"

#include <cstdint>

namespace hk {

inline constexpr int64_t kLdsOverflow = INT64_MAX;

/// Problems of one launch share LDS that begins at a multiple of this, and so
/// ends at one.
inline constexpr int64_t kSharedLdsAlign = 16;

/// a * b for non-negative a and b, kLdsOverflow if it does not fit.
constexpr int64_t ldsMul(int64_t a, int64_t b) {
  return b != 0 && a > kLdsOverflow / b ? kLdsOverflow : a * b;
}
constexpr int64_t ldsMul(int64_t a, int64_t b, int64_t c) {
  return ldsMul(ldsMul(a, b), c);
}
constexpr int64_t ldsAdd(int64_t a, int64_t b) {
  return a > kLdsOverflow - b ? kLdsOverflow : a + b;
}
constexpr int64_t ldsMax(int64_t a, int64_t b) { return a > b ? a : b; }

/// The e4m3 dtype that the chip's matrix instructions take.
constexpr DType nativeE4M3(const Target &target) {
  return target.fp8 == Fp8Flavour::Fnuz ? DType::F8E4M3FNUZ : DType::F8E4M3FN;
}

/// Whether the target multiplies 8-bit operands without widening them first.
constexpr bool hasFp8Matrix(const Target &target) {
  return target.arch != Arch::Host && target.arch != Arch::Gfx1100;
}

/// The dtype both operands of a matrix product have in LDS: the narrowest one
/// that holds each of them exactly and that the target can multiply.
constexpr DType gemmOperandType(const Target &target, DType a, DType b) {
  if (a == DType::I8 && b == DType::I8)
    return DType::I8;
  if (a == b && a == nativeE4M3(target) && hasFp8Matrix(target))
    return a;
  bool aSmall = info(a).bits <= 8, bSmall = info(b).bits <= 8;
  bool aHalf = a == DType::F16 || aSmall, bHalf = b == DType::F16 || bSmall;
  if ((a == DType::F16 && bHalf) || (b == DType::F16 && aHalf))
    return DType::F16;
  bool aBf16 = a == DType::BF16 || aSmall, bBf16 = b == DType::BF16 || bSmall;
  return aBf16 && bBf16 ? DType::BF16 : DType::F32;
}

/// A host tile of at most this many rows streams B once instead of packing it.
inline constexpr int32_t kHostSkinnyRows = 8;
/// Floats between two packed rows of A beyond bk: keeps them in different cache
/// sets.
inline constexpr int32_t kHostRowPad = 16;
/// Columns of B, at most, that are packed and multiplied before the next ones
/// take their place.
inline constexpr int32_t kHostPanel = 32;

constexpr bool isHostSkinny(const Target &target, const GemmTile &tile) {
  return target.arch == Arch::Host && tile.bm <= kHostSkinnyRows;
}

/// Rows of C that pass through LDS together in the epilogue.
constexpr int64_t gemmSlabRows(const Target &target, const GemmTile &tile) {
  return ldsMul(tile.wm, target.mmaM);
}

/// sm_90a's copy engine: bytes of k in a stage's rows, and where stages begin.
inline constexpr int32_t kBulkRowBytes = 128, kBulkAlignment = 1024;
/// Columns of 16 bits of a panel, in which B lies whose k does not run along
/// its rows: a row of kBulkRowBytes for each k.
inline constexpr int32_t kBulkPanelColumns = kBulkRowBytes / 2;
/// LDS through which a warp of a warp-specialised product passes its results.
inline constexpr int32_t kBulkSlabBytes = 4096;
/// Warps of a warpgroup.
inline constexpr int32_t kGroupWarps = 4;

/// Accumulators of a row that pass through a warp's slab together, in whole
/// chunks of its swizzle: all or half of them, or 32, of which the last pass
/// may have some only.
constexpr int32_t bulkSlabColumns(int32_t bn) {
  return bn % 32 == 0 && bn <= 128 ? bn : bn % 64 == 0 ? bn / 2 : 32;
}

/// Columns of a stage that are multiplied and folded together: all, or halves
/// where there are not registers enough for the sums of all.
inline constexpr int32_t kFoldedAtOnce = 192;

/// Rows of the boxes in which the blocks of a cluster bring `rows` rows of B to
/// all of them: equal parts, or some blocks bring fewer than others.
constexpr int32_t bulkBoxRows(int32_t rows, int32_t cluster) {
  return rows % (cluster * 8) == 0 ? rows / cluster : kBulkPanelColumns;
}

/// Whether the loop of warpgroups has rows of B as those of its instruction
/// (gemm/sm90/swapped_groups.h): its warpgroups lie along them.
constexpr bool isSwapped(const GemmTile &tile) {
  return tile.loop == GemmLoop::WarpSpecialised && tile.wn > 1;
}
/// Of such a loop: rows of a group whose results meet in LDS, and words between
/// two of them beyond the columns, which keep writes in different banks.
inline constexpr int32_t kGroupBoxRows = 32, kSwappedPad = 4;

/// Whether B of such a loop is of codes, which become 16 bits
/// (gemm/sm90/swapped_codes.h).
constexpr bool isSwappedCodes(const GemmTile &tile) {
  return isSwapped(tile) && tile.bk < kBulkRowBytes && tile.bn == 64 * tile.wn;
}
/// Whether its warpgroups have two blocks of 64 rows of B each
/// (gemm/sm90/swapped_wide.h): operands of 16 bits, or fp8. Columns of a block,
/// bytes of the slab in which a warpgroup's results meet, and of what
/// gemm/sm90/rounded_columns.h keeps there of a tile and of its rows.
constexpr bool isSwappedWide(const GemmTile &tile) {
  return isSwapped(tile) && tile.bn == 128 * tile.wn;
}
inline constexpr int32_t kWideColumns = 64;
inline constexpr int32_t kRoundedKeptBytes = 32, kRoundedRowsBytes = 160 * 4;
inline constexpr int32_t kWideSlabBytes =
    2 * kGroupBoxRows * kBulkRowBytes + kRoundedKeptBytes + kRoundedRowsBytes;
/// Tiles that the copying warpgroup announces ahead, and the bytes that
/// tell of one (gemm/sm90/announced_tiles.h).
inline constexpr int32_t kTilePlaces = 2, kTilePlaceBytes = 32;
/// Bytes of a row around the powers of 16 chunks of codes; and of the slab in
/// which a warp's results meet, of a pair both halves of eight columns.
inline constexpr int32_t kCodesSpanBytes = 32;
inline constexpr int32_t kCodesSlabBytes =
    2 * kGroupBoxRows * (8 + kSwappedPad) * 4;

/// Room to align, the stages of A and of codes with two barriers each, powers
/// of two spans, and the slabs.
constexpr int64_t swappedCodesLds(const GemmTile &tile) {
  int64_t stage =
      ldsAdd(ldsMul(tile.bm, kBulkRowBytes), ldsMul(tile.bn, tile.bk / 2));
  return ldsAdd(ldsAdd(kBulkAlignment, ldsMul(tile.stages, stage + 2 * 8)),
                ldsAdd(ldsMul(2, tile.bn, kCodesSpanBytes),
                       ldsMul(tile.wn, kGroupWarps, kCodesSlabBytes)));
}

/// Room to align, the stages, a slab per multiplying warp, two barriers a
/// stage and a warp. Swapped: two slabs, and four scales for the rows of a
/// stage.
constexpr int64_t warpSpecialisedLds(const GemmTile &tile) {
  if (isSwappedCodes(tile))
    return swappedCodesLds(tile);
  int64_t stage = ldsMul(ldsAdd(tile.bm, tile.bn), kBulkRowBytes);
  if (isSwappedWide(tile))
    return ldsAdd(ldsAdd(kBulkAlignment, ldsMul(tile.stages, stage + 2 * 8)),
                  ldsAdd(ldsMul(tile.wn, kWideSlabBytes),
                         ldsMul(kTilePlaces, kTilePlaceBytes + 2 * 8)));
  if (isSwapped(tile))
    return ldsAdd(
        ldsAdd(kBulkAlignment,
               ldsMul(tile.stages, ldsAdd(stage, ldsMul(tile.bm, 16) + 2 * 8))),
        ldsMul(2, ldsMul(kGroupBoxRows, tile.bn + kSwappedPad, 4)));
  return ldsAdd(ldsAdd(kBulkAlignment, ldsMul(tile.stages, stage + 2 * 8)),
                ldsMul(tile.wm, kGroupWarps, kBulkSlabBytes + 2 * 8));
}

/// Words between eight columns of a part of a skinny product and the next ones,
/// which keep reads of columns that are eight apart in different banks.
inline constexpr int32_t kSkinnyGap = 2;

/// The parts that a block of a skinny product adds: its columns, a multiple of
/// eight, of all its rows.
constexpr int64_t skinnyParts(const GemmTile &tile) {
  return ldsAdd(ldsMul(tile.bn, tile.bm, 4),
                ldsMul(tile.bn / 8, kSkinnyGap, 4));
}

/// Swapped: rows of the result that meet in the slab of a warp, which has 16
/// columns of them.
inline constexpr int32_t kSwappedRows = 16;
inline constexpr int32_t kSwappedSlabBytes =
    kSwappedRows * (16 + kSwappedPad) * 4;

/// Warpgroups that decode B.
constexpr int32_t swappedDecoders(const GemmTile &tile) { return tile.wm - 1; }
/// Warpgroups that fill the stages: those, or one that copies.
constexpr int32_t swappedFilling(const GemmTile &tile) {
  return swappedDecoders(tile) > 0 ? swappedDecoders(tile) : 1;
}
/// Boxes of codes that a block has room for: beside few rows of A a box is soon
/// read.
constexpr int32_t swappedCodesPlaces(const GemmTile &tile) {
  return swappedDecoders(tile) == 0 ? 0
         : tile.bm <= 64            ? 4
         : tile.bm <= 192           ? 3
                                    : 2;
}

/// Room to align, the stages and boxes of codes with two barriers each, a slab
/// per multiplying warp.
constexpr int64_t swappedLds(const GemmTile &tile) {
  int64_t stage = ldsMul(ldsAdd(tile.bm, tile.bn), kBulkRowBytes);
  int64_t codes =
      ldsMul(swappedCodesPlaces(tile), ldsMul(tile.bn, kBulkRowBytes) + 2 * 8);
  return ldsAdd(
      ldsAdd(ldsAdd(kBulkAlignment, codes), ldsMul(tile.stages, stage + 2 * 8)),
      ldsAdd(ldsMul(tile.wn, kGroupWarps, kSwappedSlabBytes), 8));
}

/// Whether a tile of Skinny is of groups: rows of B come from memory straight
/// into registers, in no stages, and the wn waves of a block share k.
constexpr bool isGroupedSkinny(const GemmTile &tile) {
  return tile.loop == GemmLoop::Skinny && tile.stages == 1;
}
/// Blocks of it that a unit holds, by their registers: 16 waves of 128 a
/// thread. Columns of a part of a tile beyond its own, which keep writes of
/// neighbours in different banks.
constexpr int32_t groupedSkinnyBlocks(const GemmTile &tile) {
  return 16 / tile.wn;
}
inline constexpr int32_t kGroupedSkinnyPad = 4;
/// Bounds of groups that a block holds.
inline constexpr int32_t kHeldBounds = 288;

/// A part of each wave, of two tiles; the bounds.
constexpr int64_t groupedSkinnyLds(const GemmTile &tile) {
  int64_t parts =
      ldsMul(ldsMul(2, tile.wn, tile.bm), tile.bn + kGroupedSkinnyPad, 4);
  return ldsAdd(parts, ldsMul(kHeldBounds, 4));
}

/// Whether a tile of Skinny is of groups whose rows of B come through stages:
/// wm waves have bn / wm of them each, and all of k.
constexpr bool isGroupedStaged(const GemmTile &tile) {
  return tile.loop == GemmLoop::Skinny && tile.wm > 1;
}
/// Blocks of it that a unit holds: those of two launches.
inline constexpr int32_t kGroupedStagedOfLaunch = 2,
                         kGroupedStagedBlocks = 2 * kGroupedStagedOfLaunch;

/// Room to align, the stages with two barriers each, the sums of each wave, the
/// bounds.
constexpr int64_t groupedStagedLds(const GemmTile &tile) {
  int64_t stage = ldsMul(ldsAdd(tile.bm, tile.bn), kBulkRowBytes) + 2 * 8;
  int64_t sums = ldsMul(tile.bm, tile.bn + tile.wm * kGroupedSkinnyPad, 4);
  return ldsAdd(ldsAdd(kBulkAlignment, ldsMul(tile.stages, stage)),
                ldsAdd(sums, ldsMul(kHeldBounds, 4)));
}

/// Room to align, the stages, the parts that a block adds, barriers.
constexpr int64_t skinnyLds(const GemmTile &tile) {
  if (isGroupedSkinny(tile))
    return groupedSkinnyLds(tile);
  if (isGroupedStaged(tile))
    return groupedStagedLds(tile);
  int64_t stage = ldsMul(ldsAdd(tile.bm, tile.bn), kBulkRowBytes);
  return ldsAdd(ldsAdd(kBulkAlignment, ldsMul(tile.stages, stage + 2 * 8)),
                ldsAdd(skinnyParts(tile), 8));
}

/// Elements of k that are decoded together where they are multiplied: they
/// share a scale.
inline constexpr int32_t kDecodedDepth = 32;

/// SkinnyCodes: elements of k whose codes a wave takes at a time, 16 bytes a
/// lane; what keeps rows of LDS in different banks: columns of a part of a
/// tile, and scales of a row.
inline constexpr int32_t kCodesDepth = 128, kCodesPad = 4;

/// Waves of a block of groups that multiply, beside which there are registers
/// for three more with up to eight rows: two add and store, a tile each in
/// turns, and one asks for codes.
inline constexpr int32_t kGroupCodesWaves = 12, kGroupCodesFinishers = 2;
constexpr int32_t skinnyCodesHelpers(const GemmTile &tile) {
  return tile.wn == kGroupCodesWaves && tile.bm <= 8 ? kGroupCodesFinishers + 1
                                                     : 0;
}

/// Bytes from one row of codes to the next, where the copy engine brings them.
constexpr int32_t skinnyCodesRow(const GemmTile &tile) {
  return tile.bk / 2 + 64;
}

/// What the codes of a tile are decoded with, 8 bytes for every 32 of a row.
constexpr int64_t skinnyCodesScales(const GemmTile &tile) {
  return ldsMul(tile.bn, tile.bk / 32 + kCodesPad, 8);
}

/// Of two tiles: a part of each wave, and the scales; and codes of 16 rows.
constexpr int64_t skinnyCodesLds(const GemmTile &tile) {
  int64_t tiles =
      ldsMul(2, ldsAdd(ldsMul(ldsMul(tile.wn, tile.bm), tile.bn + kCodesPad, 4),
                       skinnyCodesScales(tile)));
  // The copy engine's stages have two barriers each.
  int64_t stage = skinnyCodesHelpers(tile) != 0
                      ? ldsAdd(ldsMul(16, skinnyCodesRow(tile)), 16)
                      : ldsMul(16, tile.bk / 2);
  return ldsAdd(tiles, ldsMul(tile.stages, stage));
}

/// StreamedCodes, of codes of `bits`: elements of k of a stage, whose codes are
/// rows of the engine's boxes; boxes of A in it, of 16 bits; and what two of
/// those lie apart beside their size, where lanes read both at once, so that
/// they meet in no bank.
constexpr int32_t streamedDepth(int32_t bits) {
  return kBulkRowBytes * 8 / bits;
}
constexpr int32_t streamedBoxes(int32_t bits) { return 16 / bits; }
inline constexpr int32_t kStreamedApart = 256;

/// Codes, then A.
constexpr int64_t streamedCodesStage(const GemmTile &tile, int32_t bits) {
  int64_t bytes =
      ldsAdd(ldsMul(tile.bn, kBulkRowBytes),
             ldsAdd(ldsMul(streamedBoxes(bits), tile.bm, kBulkRowBytes),
                    bits == 4 ? kStreamedApart : 0));
  return ldsMul((bytes + kBulkAlignment - 1) / kBulkAlignment, kBulkAlignment);
}

/// What the codes of a tile are decoded with: a word for every 128 of a row.
constexpr int64_t streamedCodesScales(const GemmTile &tile) {
  return ldsAdd(ldsMul(tile.bn, tile.bk / kCodesDepth + kCodesPad, 4), 16);
}

/// Room to align, the stages with two barriers each, and the scales.
constexpr int64_t streamedCodesLds(const GemmTile &tile, int32_t bits) {
  return ldsAdd(
      ldsAdd(kBulkAlignment, streamedCodesScales(tile)),
      ldsMul(tile.stages, ldsAdd(streamedCodesStage(tile, bits), 2 * 8)));
}

/// Microscaled: the stages, each of A, of B and of a scale for every 32
/// elements of their rows; the epilogue's slab takes their place.
constexpr int64_t microscaledLds(const Target &target, const GemmTile &tile,
                                 DType a, DType b) {
  auto rows = [&](int64_t count, DType d) {
    return ldsMul(count, ldsAdd(ldsMul(tile.bk, info(d).bits) / 8,
                                tile.bk / kMxScale.depth));
  };
  int64_t stage = ldsAdd(rows(tile.bm, a), rows(tile.bn, b));
  return ldsMax(ldsMul(tile.stages, stage),
                ldsMul(gemmSlabRows(target, tile), tile.bn, 4));
}

/// RegisterCells: elements between two k of a stage, beyond its rows, which
/// keep neighbours along k in different banks.
inline constexpr int32_t kCellsPad = 4;

/// The stages; the epilogue's slab takes their place.
constexpr int64_t registerCellsLds(const Target &target, const GemmTile &tile) {
  int64_t stage = ldsMul(tile.bk, ldsAdd(tile.bm, tile.bn) + 2 * kCellsPad, 4);
  return ldsMax(ldsMul(tile.stages, stage),
                ldsMul(gemmSlabRows(target, tile), tile.bn, 4));
}

/// The row of each place of a tile, of a product of groups of rows.
constexpr int64_t groupedLds(const Target &target, const GemmTile &tile) {
  return keepsRowsInRegisters(target) ? 0 : ldsMul((tile.bm + 15) / 16, 64);
}

/// GPU: the A and B stages of the main loop; the epilogue's slab of 4-byte
/// accumulators takes their place. Host: A and B widened to f32, and C.
/// `quantized`: with a stage, or the widened A, a scale of each row.
constexpr int64_t gemmLds(const Target &target, const GemmTile &tile,
                          DType operand, bool quantized = false) {
  if (tile.loop == GemmLoop::WarpSpecialised)
    return warpSpecialisedLds(tile);
  if (tile.loop == GemmLoop::Swapped)
    return swappedLds(tile);
  if (tile.loop == GemmLoop::Skinny)
    return skinnyLds(tile);
  if (tile.loop == GemmLoop::SkinnyCodes)
    return skinnyCodesLds(tile);
  if (tile.loop == GemmLoop::RegisterCells)
    return registerCellsLds(target, tile);
  int64_t scales = quantized ? ldsMul(tile.bm, 4) : 0;
  if (isHostSkinny(target, tile))
    return ldsAdd(ldsMul(tile.bm, ldsAdd(tile.bk, tile.bn), 4), scales);
  if (target.arch == Arch::Host)
    return ldsAdd(
        ldsAdd(ldsMul(tile.bm, tile.bk + kHostRowPad, 4), scales),
        ldsAdd(ldsMul(kHostPanel, tile.bk, 4), ldsMul(tile.bm, tile.bn, 4)));
  int64_t stage = ldsAdd(ldsMul(tile.bm, tile.bk), ldsMul(tile.bn, tile.bk));
  int64_t bytes = ldsAdd(ldsMul(stage, info(operand).bits / 8), scales);
  return ldsMax(ldsMul(tile.stages, bytes),
                ldsMul(gemmSlabRows(target, tile), tile.bn, 4));
}

} // namespace hk

#endif // HK_CONTRACT_LDS_H
