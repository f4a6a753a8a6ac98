//===- matrix_config.h - Constants of attention on fragments -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the waves of a block agree on: which rows and keys a wave has, the types
// and fragments that are multiplied, the layout of LDS, and how a tile of keys
// comes into it: which copies, how many stages ahead, and what is known before
// of where it lies.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_MATRIX_CONFIG_H
#define HK_KERNELS_ATTENTION_MATRIX_CONFIG_H

#include "kernels/attention/running_softmax.h"
#include "kernels/attention/tile_blocks.h"
#include "kernels/device/attention/fragments.h"
#include "kernels/device/attention/stream.h"

namespace hk {

template <int Bytes> struct alignas(128) AttentionMatrixShared {
  u8 bytes[Bytes];
};

/// Fragments of keys and values in LDS, or of those that stream into registers.
template <AttentionSpec S, bool Stream, class InLds>
struct PickMatrixFragments {
  using Type = InLds;
};
template <AttentionSpec S, class InLds>
struct PickMatrixFragments<S, true, InLds> {
  using Type = StreamFragments<S.type, S.kType, S.vType, S.headDim, S.valueDim>;
};

/// What a block agrees on: sizes, what is multiplied, the layout of LDS, how
/// tiles are copied and how far ahead.
template <AttentionSpec S, AttentionTile T, class R>
struct AttentionMatrixConfig {
  using Args = AttentionArgs<S, R>;
  static constexpr int kElement = info(S.type).bits / 8;
  static constexpr int kKeyBytes = int(attentionKeyBytes(S.type, S.headDim));
  /// Whether keys and values come straight into registers.
  static constexpr bool kStream =
      attentionPath(kArch, T) == AttentionPath::Stream;
  static constexpr int kColumns =
      int(kStream ? attentionStreamColumns(S.valueDim)
                  : attentionValueColumns(S.valueDim));
  /// Bytes of a row of values; those of a key where they are its columns.
  static constexpr int kValueBytes =
      S.sharesValues() ? kKeyBytes : kColumns * kElement;
  static_assert(kColumns * kElement <= kValueBytes);
  static_assert(S.keyChunk == 0 && S.valueChunk == 0);
  static_assert(S.align >= 16 && S.headDim * kElement % 16 == 0 &&
                    S.valueDim * kElement % 16 == 0,
                "rows of 16-byte chunks; other shapes take the vector kernel");

  /// Waves that share the rows, each with keys of its own; where values are the
  /// columns of keys, each with columns of its own instead.
  static constexpr int kParts = attentionWaveParts(kArch, T, S.sharesValues());
  static constexpr int kGroups =
      S.sharesValues() ? attentionColumnGroups(kArch, T) : 1;
  static constexpr int kRowWaves = T.waves / kParts / kGroups;
  static constexpr int kGroupColumns = kColumns / kGroups;
  using Narrow = NarrowKeys<S, T, R, kParts>;
  static constexpr bool kNarrow = Narrow::kInLds;
  static constexpr bool kHalves = Narrow::kHalves;
  static constexpr bool kScaledQueries = Narrow::kScaledQueries;
  static constexpr int kBk = Narrow::kKeys;
  /// On CDNA waves that share tiles of 16 bits do not transpose values.
  static constexpr bool kTileOf16 =
      kIsCdna && kParts == 1 && !S.sharesValues() && info(S.type).bits == 16;
  static constexpr ValueLayout kValueLayout =
      !kTileOf16                  ? ValueLayout::Rows
      : kTarget.transposedLdsRead ? ValueLayout::TransposingReads
                                  : ValueLayout::Columns;
  using Pick =
      PickAttentionFragments<kHalves ? DType::F16 : S.type,
                             Narrow::kKeyFragments, Narrow::kValueFragments,
                             T.bq, kBk, kKeyBytes, kGroupColumns, kRowWaves,
                             kValueBytes, kGroups, kValueLayout>;
  static_assert(Pick::kNarrow == kNarrow);
  using Fragments =
      typename PickMatrixFragments<S, kStream, typename Pick::Type>::Type;
  /// Whether waves of the same rows have a part of each score.
  static constexpr bool kSharedScores = [] {
    if constexpr (requires { Fragments::kShares; })
      return Fragments::kShares > 1;
    return false;
  }();
  /// Bytes of an element, and types of elements, in LDS.
  static constexpr int kLdsElement = kNarrow ? 1 : kElement;
  static constexpr DType kKeyType = kNarrow ? S.kType : S.type;
  static constexpr DType kValueType = kNarrow ? S.vType : S.type;
  static constexpr int kKeyRow = kKeyBytes / kElement * kLdsElement;
  static constexpr int kKeyTile = S.sharesValues() ? 0 : kBk * kKeyRow;
  static constexpr int kStage =
      kKeyTile + kBk * (kValueBytes / kElement * kLdsElement);
  /// As many as fit where those of the multiplied type do.
  static constexpr int kStages =
      T.stages * (kElement / kLdsElement) / (kBk / T.bk);
  /// The first column of this wave.
  HK_DEV int firstColumn() {
    return kGroups == 1 ? 0 : waveId() / kRowWaves * kGroupColumns;
  }
  static constexpr int kThreads = T.waves * kWave;
  /// Threads that move and use one tile of keys.
  static constexpr int kTileThreads = kThreads / kParts;
  /// Whether each thread copies as many chunks of 16 bytes of rows of LDS.
  static constexpr bool isEven(int rowBytes) {
    return kBk * rowBytes / 16 % kTileThreads == 0;
  }
  static constexpr bool kEven =
      isEven(kKeyRow) && isEven(kColumns * kLdsElement);
  /// Whether copies need no registers.
  static constexpr bool kMayBeDirect =
      kTarget.directToLds >= 16 && kIsCdna && kParts == 1 &&
      !S.sharesValues() && T.stages > 1 &&
      kEven &&S.kType == kKeyType &&S.vType == kValueType;
  using KeyCopy = typename PickRowCopy<S.kType, kKeyType, kBk, kKeyRow,
                                       S.headDim * kLdsElement, kTileThreads,
                                       ValueLayout::Rows, kMayBeDirect>::Type;
  using ValueCopy =
      typename PickRowCopy<S.vType, kValueType, kBk, kColumns * kLdsElement,
                           S.valueDim * kLdsElement, kTileThreads, kValueLayout,
                           kMayBeDirect>::Type;
  static_assert(!KeyCopy::kDirect || T.stages >= 2,
                "direct copies would overwrite the tile being read");
  /// Whether no part of a tile waits in registers.
  static constexpr bool kDirect =
      KeyCopy::kDirect && (S.sharesValues() || ValueCopy::kDirect);

  static constexpr int kScratch = [] {
    if constexpr (kSharedScores)
      return Fragments::kShareBytes;
    return 0;
  }();
  static constexpr int kLdsBytes = int(attentionLdsBytes(
      kArch, T, S.type, S.headDim, S.valueDim, S.sharesValues()));
  using Shared = AttentionMatrixShared<kLdsBytes>;
  static_assert(kStream || kLdsBytes == kParts * kStages * kStage + kScratch);

  /// Whether blocks have rows in the order of block_order.h. Few rows of a
  /// sequence are few blocks.
  static constexpr bool kOrdered =
      kIsCdna && kParts == 1 && T.splitKv == 1 && !S.sharesValues();

  /// Blocks of keys may be missing; their rows are read as zeros.
  static constexpr bool kGaps = S.keys.isPaged();
  static constexpr bool kSoftmax = S.normalizer != Normalizer::None;
  /// Whether fragments hold scores in fours, which pairs of multiplications
  /// take.
  static constexpr bool kScoresInFours = kTileOf16 || kStream;
  /// Whether the softmax may multiply scores by their scale.
  static constexpr bool kMayKeepUnit =
      kScoresInFours && kSoftmax && S.cap == ScoreCap::None && !R::kScore;

  /// Whether the next tile is in registers, or on its way into LDS.
  static constexpr bool kAhead =
      kIsCdna && !S.sharesValues() && (!kDirect || T.stages == 2);
  static_assert(!kIsCdna || !kDirect || kAhead, "walkNext waits for copies");
  /// And know before where in a cache it lies: loads return in order, so an
  /// entry of the block table that is asked for behind rows is a trip to memory
  /// more.
  static constexpr bool kFindsAhead =
      kGaps && kAhead && S.keys.pageRows >= 8 &&
      (kBk % S.keys.pageRows == 0 || S.keys.pageRows % kBk == 0);
  /// The copies of sm_90a from pages, and of elements of 8 bits, go from pieces
  /// of rows at equal distances, whose entries of the table are asked for a
  /// step before. Of large heads no register is left for that.
  static constexpr bool kFromPieces = kArch == Arch::Sm90a && kDirect &&
                                      !S.sharesValues() && (kGaps || kNarrow) &&
                                      S.headDim + S.valueDim <= 384 &&
                                      TilePieces<S, kBk>::kExists;
  using TileBlocks =
      typename PickTileBlocks<S, kFromPieces, kFindsAhead, kBk>::Type;

  /// Whether a tile of keys is a view of the memory, which bounds it without
  /// vector instructions.
  static constexpr bool kViews = kIsCdna && kOneBlock<S, kBk> && kParts == 1 &&
                                 !S.sharesValues() && S.kType == S.type &&
                                 S.vType == S.type &&
                                 (kTarget.directToLds < 16 || kDirect);

  using Rows = AttentionMatrixRows<Fragments::kRows>;

  /// Keys [begin, end), of which every row sees [fullBegin, fullEnd); where
  /// tiles lie in LDS.
  struct Walk {
    i32 begin, end, fullBegin, fullEnd;
    u8 *lds, *scratch; // of scores that waves share
  };
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_MATRIX_CONFIG_H
