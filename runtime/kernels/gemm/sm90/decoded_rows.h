//===- decoded_rows.h - Codes decoded for warpgroups that multiply -*- C++
//-*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes of 4 or 8 bits lie in LDS as they lie in memory, a row of 128 bytes for
// each row of B. Warpgroups that do not multiply widen them into the stages, as
// the copy engine would have brought rows of 16 bits, so the loop that
// multiplies is that of such rows. Codes of a tile are decoded once for all of
// its rows of A.
//
//   RowsDecoder<Config>   fills the stages: a thread decodes a row of B, or a
//                         part of it, a warp asks for its share of A, and one
//                         for codes, some boxes ahead
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_DECODED_ROWS_H
#define HK_KERNELS_GEMM_SM90_DECODED_ROWS_H

#include "kernels/gemm/sm90/bulk_loader.h"
#include "kernels/gemm/sm90/codes_bytes.h"

namespace hk {

/// Boxes of codes, of which each has those of kTogether stages; of a pair a box
/// for each half.
template <class Config> struct CodesBoxes {
  static constexpr int kBits = info(Config::P::B::kMem).bits;
  /// Elements of k.
  static constexpr int kDepth = kBulkRowBytes * 8 / kBits;
  static constexpr int kTogether = kDepth / Config::T.bk;
  static constexpr int kHalves = Config::P::kPair ? 2 : 1;
  static constexpr int kBytes = Config::kBytesB / kHalves;
  using Ring = StageRing<Config::kPlaces>;

  /// Rows of codes are counted in bytes.
  HK_MEM static BoxPlace placeOf(const WarpPlace &at, int step) {
    return {(at.k0 + step * Config::T.bk) / 8 * kBits, at.col, 0};
  }
};

/// Which boxes of codes are next, of all tiles of the block.
template <class Config, class Tiles> class CodesAhead {
  using Boxes = CodesBoxes<Config>;

public:
  HK_MEM CodesAhead(const Tiles &all, const TensorMap &map,
                    const typename Config::Layout &lds, const GemmArgs &args)
      : tiles(all), map(map), lds(lds), columns(int(args.n)),
        any(tiles.take(at)) {}

  /// Asks for the next box, as soon as its place has been read.
  HK_MEM void ask() {
    while (any && step >= at.steps) {
      any = tiles.take(at);
      step = 0;
    }
    if (!any)
      return;
    // The first round finds all places empty.
    lds.codesRead(ring.stage).wait(ring.phase ^ 1);
    LdsBarrier full = lds.codesFull(ring.stage);
    full.expect(u32(Config::kBytesB));
    BoxPlace place = Boxes::placeOf(at, step);
    HK_UNROLL for (int half = 0; half < Boxes::kHalves; ++half) {
      loadBox(lds.codes(ring.stage) + u32(half * Boxes::kBytes), map, full,
              place, Config::keepOfB(at));
      place.row += columns;
    }
    ring.advance();
    step += Boxes::kTogether;
  }

private:
  Tiles tiles;
  const TensorMap &map;
  typename Config::Layout lds;
  typename Tiles::Place at;
  int columns, step = 0;
  bool any;
  typename Boxes::Ring ring;
};

/// What decodes the codes of a group of k of a row: words of memory, and
/// numbers made of them.
template <class P> struct GroupDecoder {
  using B = typename P::B;
  using Decode = typename B::Decode;
  static constexpr DType Mem = B::kMem, H = P::kOperand;
  static constexpr bool kPowers = kPowersOfCodes<Mem, Decode>;
  static constexpr bool kNibbles = info(Mem).bits == 4;
  /// Elements of k that are decoded with the same words; 0: all.
  static constexpr int kDepth = [] {
    if constexpr (kPowers)
      return EightPowers::kCount * kDecodedDepth;
    else if constexpr (Decode::kHasScales)
      return Decode::kDepth;
    return 0;
  }();
  static_assert(kDepth % kDecodedDepth == 0);

  /// As they lie in memory, as whoever touches them waits for them.
  struct OneScale {
    u32 scale = 0, zero = 0, shift = 0;
  };
  using Words = typename Choice<kPowers, EightPowers, OneScale>::Type;

  /// Of group `group` of row `row`.
  HK_MEM static Words read(const GemmArgs &args, u32 row, int group) {
    Words words;
    if constexpr (kPowers) {
      words = EightPowers::read(args.b.decode, row, group * EightPowers::kCount,
                                int((args.k + 31) / 32));
    } else if constexpr (Decode::kHasScales) {
      constexpr int bytes = info(Decode::kScale).bits / 8;
      u64 at =
          args.b.decode.data + indexOf(args.b.decode, row, group) * u64(bytes);
      if constexpr (bytes == 4)
        words.scale = *global<const u32>(at);
      else
        words.scale = *global<const u16>(at);
      if constexpr (Decode::kHasZeros) {
        u64 zero = indexOf(args.b.zeros, row, group);
        if constexpr (info(Decode::kZero).bits == 4) {
          words.zero = *global<const u8>(args.b.zeros.data + zero / 2);
          words.shift = u32(zero % 2 * 4);
        } else {
          words.zero = *global<const u8>(args.b.zeros.data + zero);
        }
      }
    }
    return words;
  }

  /// Of the pairs of a row's chunk of 32 of k, whose number within those of the
  /// words is `chunk`. Where not `inside` of k, a scale may be anything.
  HK_MEM static auto decoder(const Words &words, int chunk, bool inside) {
    if constexpr (kPowers) {
      return PairPower<false>(inside ? words.word(chunk) : 0, chunk % 4);
    } else if constexpr (kNibbles) {
      return PairScale<Mem, H, Decode>({inside ? words.scale : 0, 0},
                                       {words.zero, words.shift});
    } else if constexpr (!Decode::kHasScales) {
      return BytesInF32<Mem, H, Decode>{1, 0};
    } else {
      u32 scale = inside ? words.scale : 0;
      float zero = 0;
      if constexpr (Decode::kHasZeros)
        zero = float(i8(words.zero));
      if constexpr (info(Decode::kScale).bits == 32)
        return BytesInF32<Mem, H, Decode>{bitCast<float>(scale), zero};
      else
        return BytesInF32<Mem, H, Decode>{
            float(unpack<Decode::kScale, 1>(
                bitCast<Packed<Decode::kScale, 1>>(u16(scale)))[0]),
            zero};
    }
  }

private:
  HK_MEM static u64 indexOf(const ScaleArgs &from, u32 row, int group) {
    u64 index = 0;
    if constexpr (Decode::kDepth != 0)
      index += u64(group) * u64(from.strideK);
    if constexpr (Decode::kRows != 0)
      index += u64(row) * u64(from.strideRow);
    return index;
  }
};

/// A thread of the warpgroups that decode.
template <class Config> class RowsDecoder {
  using P = typename Config::P;
  using Boxes = CodesBoxes<Config>;
  using Decoder = GroupDecoder<P>;
  using Words = typename Decoder::Words;
  static constexpr int kDepth = Config::T.bk, kTogether = Boxes::kTogether;
  /// Threads that share a row of a stage; elements of k of each.
  static constexpr int kParts = kWarpgroup / Config::T.bn;
  static constexpr int kOwn = kDepth / kParts;
  /// Elements of k that 16 bytes are codes of, and such pieces.
  static constexpr int kPiece = 128 / Boxes::kBits, kPieces = kOwn / kPiece;
  static_assert(Config::T.bn * kParts == kWarpgroup &&
                kPieces * kPiece == kOwn);

  /// Elements of k of a box that are decoded with the same words.
  static constexpr int kEach = [] {
    int each = Boxes::kDepth;
    while (Decoder::kDepth % each != 0)
      each /= 2;
    return each;
  }();
  static_assert(kEach >= kDecodedDepth);
  /// Words of a stage, where it has several; and of a box, for one thread.
  static constexpr int kOfStage = kEach < kOwn ? kOwn / kEach : 1;
  static constexpr int kWords =
      kEach < kDepth ? kTogether * kOfStage : Boxes::kDepth / kEach;
  struct WordsOfBox {
    Words of[kWords];
  };

public:
  /// Warps, which fill a stage together; warpgroups have stages in turn.
  static constexpr int kArrivals = kGroupWarps;
  static constexpr int kRegisters = Config::kDecoders > 1 ? 96 : 120;

  /// `thread`: of those that decode.
  HK_MEM RowsDecoder(const TensorMap *maps, const typename Config::Layout &lds,
                     int thread, const GemmArgs &args)
      : args(args), maps(maps), lds(lds), group(thread / kWarpgroup),
        warp(thread % kWarpgroup / kWave), row(thread % Config::T.bn),
        part(thread % kWarpgroup / Config::T.bn) {}

  /// Fills the stages of all tiles.
  template <class Tiles> HK_MEM void run(Tiles &tiles) {
    CodesAhead<Config, Tiles> ahead(tiles, maps[1], lds, args);
    if (asksForCodes())
      for (int i = 1; i < Config::kPlaces; ++i)
        ahead.ask();
    bool first = true;
    for (typename Tiles::Place at; tiles.take(at);) {
      if (first)
        askFirst(at);
      first = false;
      tile(at, !tiles.any(), ahead);
    }
  }

private:
  /// The next kernel begins when this many stages are still to be filled;
  /// earlier, what that one asks for would take the place of its own.
  static constexpr int kTail = 6;

  template <class Ahead>
  HK_MEM void tile(const WarpPlace &at, bool isLast, Ahead &ahead) {
    u32 last = u32(args.n) - 1, own = u32(at.col + row % P::kCols);
    own = (own < last ? own : last) + u32(row / P::kCols) * u32(args.n);
    WordsOfBox next = read(own, at.k0);
    HK_NO_UNROLL for (int step = 0; step < at.steps; step += kTogether) {
      if (asksForCodes()) {
        ahead.ask();
        if (isLast && step + kTogether + kTail > at.steps)
          letNextBegin();
      }
      WordsOfBox now = next;
      // Asked for a box ahead.
      if constexpr (Decoder::kDepth != 0)
        next = read(own, at.k0 + (step + kTogether) * kDepth);
      lds.codesFull(codes.stage).wait(codes.phase);
      HK_UNROLL for (int i = 0; i < kTogether; ++i) if (step + i < at.steps) {
        if (isOwn())
          fill(at, step + i, i, now);
        advance();
      }
      waveBarrier();
      lds.codesRead(codes.stage).template arriveEverywhere<1>();
      codes.advance();
    }
  }

  HK_MEM bool asksForCodes() const {
    return group + warp == 0 && laneId() == 0;
  }
  /// Whether the next stage is one of the warpgroup's.
  HK_MEM bool isOwn() const { return Config::kDecoders == 1 || turn == group; }
  HK_MEM void advance() {
    turn = turn + 1 == Config::kDecoders ? 0 : turn + 1;
    early = early > 0 ? early - 1 : 0;
    ring.advance();
  }

  /// Asks for A of the first stages, which nobody has to have read.
  HK_MEM void askFirst(const WarpPlace &at) {
    early = at.steps < Config::kStages ? at.steps : Config::kStages;
    for (int step = group; step < early; step += Config::kDecoders)
      askRows(at, step, u32(step));
  }
  /// Boxes of A that have no row are not asked for; a warp asks for every
  /// kArrivals-th.
  static constexpr int kBoxBytes = kGroupBoxRows * Config::kRow;
  HK_MEM void askRows(const WarpPlace &at, int step, u32 stage) const {
    constexpr int most = (Config::kBoxesA + kArrivals - 1) / kArrivals;
    int boxes = boxesOf(at, Config::kBoxesA);
    if (laneId() == 0)
      HK_UNROLL for (int i = 0; i < most; ++i) {
        int box = warp + i * kArrivals;
        if (box < boxes)
          loadBox(
              lds.stageA(stage) + u32(box * kBoxBytes), maps[0],
              lds.full(stage),
              BoxPlace{at.k0 + step * kDepth, at.row + box * kGroupBoxRows, 0});
      }
  }
  /// The warp has done its share of a stage, but for the bytes it has asked
  /// for.
  HK_MEM void arrive(const WarpPlace &at) const {
    int boxes = boxesOf(at, Config::kBoxesA);
    int own = (boxes - warp + kArrivals - 1) / kArrivals;
    if (laneId() == 0)
      lds.full(ring.stage).expect(u32((own > 0 ? own : 0) * kBoxBytes));
  }

  /// The words of the box from element `k` on.
  HK_MEM WordsOfBox read(u32 row, int k) const {
    constexpr int depth = Decoder::kDepth == 0 ? 1 : Decoder::kDepth;
    WordsOfBox words;
    HK_UNROLL for (int w = 0; w < kWords; ++w) {
      int from = k;
      if constexpr (kEach < kDepth)
        from += w / kOfStage * kDepth + part * kOwn + w % kOfStage * kEach;
      else
        from += w * kEach;
      int last = int(args.k) - 1;
      int group =
          Decoder::kDepth == 0 ? 0 : (from < last ? from : last) / depth;
      words.of[w] = Decoder::read(args, row, group);
    }
    return words;
  }

  /// Fills the next stage, of which the box has the codes as its stage i.
  HK_MEM void fill(const WarpPlace &at, int step, int i,
                   const WordsOfBox &words) {
    u32 turn = u32(row % 8),
        from = lds.codes(codes.stage) + u32(row * Config::kRow);
    u32x4 pieces[kPieces];
    // As the engine permutes 16 bytes of a row of 128.
    HK_UNROLL for (int j = 0; j < kPieces; ++j) pieces[j] = loadLds16(
        from + ((u32((i * kParts + part) * kPieces + j) ^ turn) * 16));
    // The first round finds all stages empty.
    lds.empty(ring.stage).wait(ring.phase ^ 1);
    if (early == 0)
      askRows(at, step, ring.stage);
    int left = int(args.k) - at.k0 - step * kDepth;
    u32 to = lds.stageB(ring.stage) + u32(rowOfStage() * Config::kRow);
    HK_UNROLL for (int j = 0; j < kPieces; ++j) {
      int first = part * kOwn + j * kPiece, inStage = j * kPiece;
      int w =
          kEach < kDepth ? i * kOfStage + inStage / kEach : i * kDepth / kEach;
      u32 out[kPiece / 2];
      if (first < left)
        widen(words.of[w], (i * kDepth + first) / kDecodedDepth, pieces[j],
              out);
      else
        HK_UNROLL for (auto &pair : out) pair = 0;
      HK_UNROLL for (int c = 0; c < kPiece / 8; ++c)
          storeLds16(to + ((u32(first / 8 + c) ^ turn) * 16),
                     bitCast<f32x4>(u32x4{out[c * 4], out[c * 4 + 1],
                                          out[c * 4 + 2], out[c * 4 + 3]}));
    }
    publishToCopies();
    waveBarrier();
    arrive(at);
  }
  /// Of a pair eight rows of each half are neighbours, so that both halves of a
  /// result are a lane's own.
  HK_MEM int rowOfStage() const {
    if (!P::kPair)
      return row;
    int column = row % P::kCols;
    return column / 8 * 16 + row / P::kCols * 8 + column % 8;
  }

  /// Pairs of neighbours along k. `chunk`: of 32 of k, within its words.
  HK_MEM static void widen(const Words &words, int chunk, u32x4 codes,
                           u32 (&out)[kPiece / 2]) {
    auto scale = Decoder::decoder(words, chunk, true);
    HK_UNROLL for (u32 i = 0; i < 4; ++i) {
      if constexpr (Decoder::kNibbles)
        HK_UNROLL for (u32 m = 0; m < 4; ++m) out[i * 4 + m] =
            nibbles(scale, codes[i], m);
      else
        HK_UNROLL for (u32 m = 0; m < 2; ++m) out[i * 2 + m] =
            scale.pair(codes[i], int(m));
    }
  }
  /// Both codes of byte m.
  template <class Scale>
  HK_MEM static u32 nibbles(const Scale &scale, u32 bytes, u32 m) {
    if constexpr (Decoder::kPowers) {
      // 8 + m is the sign of a byte, which is none.
      u32 pair = __nvvm_prmt(bytes & 0x0F0F0F0F, bytes >> 4 & 0x0F0F0F0F,
                             m | (8 + m) << 4 | (4 + m) << 8 | (8 + m) << 12);
      return scale.ofAlone(pair);
    } else {
      u32 pair = __nvvm_prmt(bytes, bytes >> 4,
                             m | m << 4 | (4 + m) << 8 | (4 + m) << 12);
      return scale.pair(pair, 0);
    }
  }

  const GemmArgs &args;
  const TensorMap *maps;
  typename Config::Layout lds;
  int group, warp, row, part, turn = 0;
  /// Stages whose rows of A have been asked for.
  int early = 0;
  typename Boxes::Ring codes;
  typename Config::Ring ring;
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_DECODED_ROWS_H
