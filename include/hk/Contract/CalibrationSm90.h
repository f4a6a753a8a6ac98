//===- CalibrationSm90.h - What sm_90a's loops reach -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants of the models in CostGemmSm90.h and CostAttention.h, with the pages
// of results that they are from.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_CALIBRATIONSM90_H
#define HK_CONTRACT_CALIBRATIONSM90_H

#include "hk/Contract/Calibration.h"

namespace hk {

/// What sm_90a's loops reach, measured on an H200 (benchmarks/results). Other
/// chips have one kind of matrix instruction, and no factor.
struct Sm90Calibration {
  /// Of the matrix rate by mma.sync: bf16 4096^3 in 409 us, fp8 8192^3 in
  /// 3,892.
  static constexpr double kBlocks = 0.45, kBlocksFp8 = 0.16;
  /// What they take longer where columns of B are transposed on their way to
  /// LDS: 1 to 4,096 rows by 4096 x 14336 2.2 to 2.5 times.
  static constexpr double kColumnsInBlocks = 2.4;
  /// Of the memory's rate: products of few rows in blocks, by the copy engine.
  /// A tile of 128 rows that has few of them leaves less under way.
  static constexpr double kBlocksMemory = 0.65, kBulkMemory = 0.88,
                          kTallMemory = 0.60;
  /// Clock at full load, until the power limit lowers it.
  static constexpr double kClocksPerMicrosecond = 1570;
  /// Narrower tiles move more bytes of LDS per product: of 128 columns, 7 %.
  static constexpr double kNarrow = 0.14;
  /// A fold every 128 bytes of k, without and with scales.
  static constexpr double kFold = 0.085, kScaledFold = 0.14;
  /// A tile of B that no cluster shares.
  static constexpr double kAlone = 0.02;
  /// Time of a tile of 64 rows, of that of one of 128: B passes through LDS as
  /// often for half of the products.
  static constexpr double kHalfTile = 0.625;
  /// Bytes that tiles get from the L2 cache in a microsecond: 4096^3 in tiles
  /// of 128x256 that share B took 1.07 GB in 171, 300x5000x3072 in 128x128 189
  /// MB in 28.
  static constexpr double kCacheBytes = 6.5e6;
  /// The same of tiles in blocks, whose copies are 16 bytes a lane: 1500 rows
  /// by 256, k 7168, moved 250 to 350 MB in 63.5.
  static constexpr double kBlocksCacheBytes = 5.5e6;
  /// What groups' products and memory do not hide of each other.
  static constexpr double kGroupsApart = 0.05;
  /// Clocks of an epilogue of 256 columns.
  static constexpr double kEpilogueClocks = 5500;
  /// Start, first bytes and last store of a product of few rows; with one tile
  /// of rows it is quicker than a launch of another kind, as in a chain its
  /// weights are asked for while the launch before ends (fewer bytes of them
  /// were not measured). Each doubling of the blocks that share k, and where
  /// there are more blocks than units.
  static constexpr double kSkinnyMicroseconds = 2.0, kChainMicroseconds = -1.0,
                          kChainBytes = 256 * 1024, kSplitMicroseconds = 0.4,
                          kSplitInRounds = 1.5;
  /// Start, first bytes and last store of one of 4-bit codes.
  static constexpr double kCodesMicroseconds = 2.0;
  /// 4-bit codes that a unit decodes and multiplies in a microsecond, with up
  /// to 8 rows; another eight take so much longer.
  static constexpr double kCodesPerUnit = 30e3, kCodesRows = 0.25;
  /// The same of streamed_codes with up to 16 rows, of 4 bits and of 8, and
  /// where they are decoded in f32; how much longer tiles of 32 and 64 rows
  /// take; a round of blocks behind the first; two and four blocks that share
  /// k; how much longer more than two tiles of 32 rows take, and several tiles
  /// whose blocks share k.
  static constexpr double kStreamedPerUnit = 54e3, kStreamedBytesPerUnit = 43e3,
                          kStreamedF32PerUnit = 27e3, kStreamed32 = 1.25,
                          kStreamed64 = 2.5, kStreamedRound = 1.5,
                          kStreamedPair = 0.7, kStreamedFour = 3,
                          kStreamedTiles = 1.17, kStreamedShared = 1.33;
  /// Clocks in which a warpgroup decodes a stage of 128 rows of B for a swapped
  /// tile, from times of four matrices and 64 to 1,024 rows on an H200:
  /// integers of 4 bits, fp4, 8 bits, and those of 8 bits that are only
  /// widened; of that a stage of 64 rows; and each of two warpgroups in turn.
  /// Clocks of a row of A at the end of a tile.
  static constexpr double kDecodedNibbles = 650, kDecodedPowers = 700,
                          kDecodedBytes = 1050, kWidenedBytes = 700,
                          kDecodedHalf = 0.75, kDecodedInTurn = 0.6,
                          kDecodedEnd = 8, kDecodedLds = 0.95;
  /// Few rows of groups: of the memory's rate; bytes of a row of B that a wave
  /// draws in a microsecond; how much longer units with a tile more than others
  /// take at the most; what start and end take less than those of other
  /// launches; a part that a wave leaves; tiles of 32 rows. With scales along k
  /// the bytes take longer.
  static constexpr double kLineMemory = 0.80, kLineDraw = 142,
                          kMostUneven = 1.12, kScaledLines = 1.05,
                          kGroupedSkinnyMicroseconds = -2.3,
                          kPartMicroseconds = 0.03,
                          kWideGroupMicroseconds = 1.5;
  /// The same through stages: what they were measured with (h200-moe-2.md), a
  /// token whose tiles fill this share of the places; of the memory's rate;
  /// start and end.
  static constexpr int64_t kMostStagedProducts = 8;
  static constexpr double kStagedFilled = 0.9, kMostStagedBytes = 140e6,
                          kStagedMemory = 0.88, kStagedMicroseconds = -1.3;
  /// The same in blocks, for every tile of rows.
  static constexpr double kBlocksCodesPerUnit = 10e3;
  /// Of the rate of f32 multiply-adds: blocks, whose lanes have cells of a
  /// quarter of a row, and of what cells leave of the issue slots with one wave
  /// on a SIMD and with more.
  static constexpr double kBlocksF32 = 0.30, kCellsAlone = 0.75, kCells = 0.90;
  /// Instructions of a wave for one k of its cells beside loads and
  /// multiply-adds.
  static constexpr double kCellsOther = 4;
  /// Start, first bytes and epilogue of a block that others do not hide.
  static constexpr double kCellsMicroseconds = 2.0;
  /// What one unit can draw of the memory's rate, in shares of an even split:
  /// a decode step of attention with two blocks; a product of few rows where
  /// there is room for two, fitted to what choices lose of 125 sizes of 4 to 64
  /// rows (h200-gemm.md; 1.4 to 1.6 do as well); and with one of few that leave
  /// half of the units idle.
  static constexpr double kUnitShare = 1.25, kSkinnyShare = 1.5,
                          kSparseShare = 1.75;
  /// With one block that leaves no room for another, and where most of its rows
  /// are none of A; what a stage of it costs in every round behind the first;
  /// what a chain of launches loses, as blocks of the next one wait for its
  /// end.
  static constexpr double kRoomlessShare = 1.15, kHollowShare = 1.0,
                          kRefillMicroseconds = 0.05,
                          kRoomlessMicroseconds = 1.0;
  /// What two blocks of two warpgroups a unit gain where they fill all places
  /// in every round but for some of this share, and lose in a round where they
  /// do not, where others have B's rows, too, or with 33 of 64 rows
  /// (h200-gemm.md).
  static constexpr double kFilledRound = 0.9, kFilledMicroseconds = 2.0;
  /// What rows of A that do not exist make longer: 33 rows in tiles of 64 took
  /// 4 to 15 % longer than 48.
  static constexpr double kHollowRows = 0.2;
  /// Time of such products in tiles of more than one warpgroup.
  static constexpr double kSkinnyWide = 1.012;
  /// Decode steps with one block a unit, of two (h200-attention.md).
  static constexpr double kSharedDecode = 1.05;
  /// Of the matrix rate: attention of few queries by the warp-specialised loop.
  /// What its clusters take to add their sums.
  static constexpr double kClusterProducts = 0.57, kClusterMicroseconds = 1.5;
};

} // namespace hk

#endif // HK_CONTRACT_CALIBRATIONSM90_H
