//===- groups.h - Which rows meet which matrix -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of a product of groups of rows (hk.grouped_matmul): a grid that
// needs no lengths, and what its tile number t is: rows of one group, or rows
// of zeros. With bounds or lengths tiles are numbered as device/ragged.h
// numbers those of sequences, and rows behind the last group are one more. With
// blocks of places every block has tiles of its own, or a tile has neighbouring
// blocks, and is a run of blocks of one group after the other; behind them come
// tiles of rows of the result, which store zeros where `order` names no row.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_GROUPS_H
#define HK_KERNELS_GEMM_GROUPS_H

#include "hk/Contract/GroupTiles.h"
#include "kernels/device/ragged.h"
#include "kernels/gemm/problem.h"

namespace hk {

enum class GroupForm { Blocks, Bounds, Lengths };

/// What groups are given by. Block: places of a block (Blocks). TopK: entries
/// of the order that are of one row of A. Gathered: there is an order.
template <GroupForm FormT, bool GatheredT, i64 BlockT, i64 TopKT>
struct GroupProblem {
  static constexpr GroupForm kForm = FormT;
  static constexpr bool kGathered = GatheredT;
  static constexpr i64 kBlock = BlockT, kTopK = TopKT;
};

struct GroupArgs {
  /// i32: a group per block; G + 1 bounds; G lengths. i32: the order, or 0.
  u64 groups, order;
  /// Blocks that have a group; groups; places.
  i64 blocks, count, places;
  /// Elements, scales and zero points of the decoder and scales along k of a
  /// matrix of B.
  i64 stride, strideDecode, strideZeros, strideFold;

  HK_MEM Global<const i32> given() const { return global<const i32>(groups); }
  HK_MEM i64 orderAt(i64 place) const {
    return global<const i32>(order)[place];
  }
  /// The row of A of a place, of `rows`; -1 for an empty place.
  template <class Groups> HK_MEM int rowOfPlace(i64 place, i64 rows) const {
    i64 entry = orderAt(place);
    return entry >= 0 && entry < rows * Groups::kTopK
               ? int(entry / Groups::kTopK)
               : -1;
  }
  /// Bound b of the groups, where whatever is given names no place too many.
  template <GroupForm Form> HK_MEM i64 bound(i64 b) const {
    i64 at = 0;
    if constexpr (Form == GroupForm::Bounds)
      at = given()[b];
    else
      for (i64 g = 0; g < b; ++g)
        at += given()[g] > 0 ? given()[g] : 0;
    return at < 0 ? 0 : at < places ? at : places;
  }
};

/// Makes the matrix of B that of a group.
template <class B>
HK_DEV void chooseMatrix(GemmArgs &args, const GroupArgs &groups, i64 group) {
  constexpr i64 bits = info(B::kMem).bits;
  args.b.data += u64(group * groups.stride * bits / 8);
  if constexpr (B::Decode::kHasScales) {
    constexpr i64 scaleBits = info(B::Decode::kScale).bits;
    args.b.decode.data += u64(group * groups.strideDecode * scaleBits / 8);
  }
  if constexpr (B::Decode::kHasZeros) {
    constexpr i64 zeroBits = info(B::Decode::kZero).bits;
    args.b.zeros.data += u64(group * groups.strideZeros * zeroBits / 8);
  }
  args.b.fold.data += u64(group * groups.strideFold * 4);
}

/// A tile: places [first, end) of a group; -1: they give zeros. `unnamed`: they
/// are rows of the result, of which those that the order names are left alone.
struct GroupTile {
  i64 group, first, end;
  bool unnamed;
};

template <class Groups> struct GroupSchedule {
  static constexpr GroupForm kForm = Groups::kForm;

  /// Whether a tile of `bm` rows may be more than one run.
  HK_MEM static constexpr bool hasRuns(i64 bm) {
    return kForm == GroupForm::Blocks && blocksIn(bm) > 1;
  }

  /// Tiles of `bm` rows. `rows`: of the result, which has `columns` tiles side
  /// by side.
  HK_MEM static i64 tiles(const GroupArgs &args, i64 rows, i64 bm,
                          i64 columns) {
    i64 tiles = placeTiles(args, bm);
    if constexpr (kForm == GroupForm::Blocks) {
      i64 unnamed = (rows + bm - 1) / bm;
      if constexpr (packsUnnamedRows(kTarget))
        unnamed = (unnamed + columns - 1) / columns;
      tiles += unnamed;
    }
    return tiles;
  }
  /// Those of places, in front of the others.
  HK_MEM static i64 placeTiles(const GroupArgs &args, i64 bm) {
    if constexpr (kForm == GroupForm::Blocks)
      return blockTiles(args, bm);
    else
      return args.places / bm + args.count + 1;
  }

  HK_MEM static GroupTile at(const GroupArgs &args, i64 rows, i64 bm,
                             i64 tile) {
    if constexpr (kForm == GroupForm::Blocks) {
      i64 perBlock = tilesOfBlock(bm, Groups::kBlock),
          left = blockTiles(args, bm);
      if (tile >= left)
        return unnamedAt(rows, bm, tile - left);
      i64 block = tile / perBlock, first = tile % perBlock * bm;
      i64 size = Groups::kBlock;
      if (hasRuns(bm)) {
        block *= blocksIn(bm);
        size *= blocksIn(bm);
      }
      i64 end = first + bm < size ? first + bm : size;
      i64 begin = block * Groups::kBlock;
      end = begin + end < args.places ? begin + end : args.places;
      return {groupOf(args, block), begin + first, end, false};
    } else {
      Segment s = segmentOf(args, bm, tile);
      i64 first = s.begin + (tile - raggedTile(s.begin, bm, s.group)) * bm;
      if (first < s.begin) // bounds that are none
        first = s.end;
      return {s.group < args.count ? s.group : -1, first,
              first + bm < s.end ? first + bm : s.end, false};
    }
  }

  /// Tile `tile` of rows of the result that no place may name.
  HK_MEM static GroupTile unnamedAt(i64 rows, i64 bm, i64 tile) {
    i64 first = tile * bm;
    return {-1, first, first + bm < rows ? first + bm : rows, true};
  }

  /// The run of blocks of one group that begins at place `first` of a tile of
  /// places.
  HK_MEM static GroupTile runAt(const GroupArgs &args, const GroupTile &tile,
                                i64 first) {
    i64 block = first / Groups::kBlock, group = groupOf(args, block);
    i64 next = block + 1;
    while (next * Groups::kBlock < tile.end && groupOf(args, next) == group)
      ++next;
    i64 end = next * Groups::kBlock;
    return {group, first, end < tile.end ? end : tile.end, false};
  }

private:
  HK_MEM static constexpr i64 blocksIn(i64 bm) {
    constexpr bool runs = takesRunsOfBlocks(kTarget);
    return blocksOfTile(runs, bm, Groups::kBlock);
  }
  HK_MEM static i64 blockTiles(const GroupArgs &args, i64 bm) {
    i64 blocks = (args.places + Groups::kBlock - 1) / Groups::kBlock;
    if (hasRuns(bm))
      blocks = (blocks + blocksIn(bm) - 1) / blocksIn(bm);
    return blocks * tilesOfBlock(bm, Groups::kBlock);
  }
  /// -1: none.
  HK_MEM static i64 groupOf(const GroupArgs &args, i64 block) {
    i64 group = block < args.blocks ? i64(args.given()[block]) : -1;
    return group >= 0 && group < args.count ? group : -1;
  }

  /// A group and its places; group `count` has those behind the last one.
  struct Segment {
    i64 group, begin, end;
  };
  HK_MEM static Segment segmentOf(const GroupArgs &args, i64 bm, i64 tile) {
    Segment s = {0, 0, 0};
    if constexpr (kForm == GroupForm::Bounds) {
      s.group = raggedSequence(args.given(), args.count, 1, bm, tile);
      s.begin = args.bound<kForm>(s.group);
      if (s.group < args.count)
        s.end = args.bound<kForm>(s.group + 1);
    } else {
      // The last group whose first tile is not after it.
      for (; s.group < args.count; ++s.group, s.begin = s.end) {
        i64 length = args.given()[s.group];
        s.end = s.begin + (length > 0 ? length : 0);
        s.end = s.end < args.places ? s.end : args.places;
        if (raggedTile(s.end, bm, s.group + 1) > tile)
          break;
      }
    }
    if (s.group == args.count)
      s.end = args.places;
    return s;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_GROUPS_H
