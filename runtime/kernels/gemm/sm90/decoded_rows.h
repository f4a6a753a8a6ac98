//===- decoded_rows.h - Rows of codes as an operand of wgmma -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instruction takes its 64 rows from registers, so codes of 4 or 8 bits lie
// in LDS as they lie in memory, and who multiplies them widens them there. What
// they are decoded with comes from memory, for the two rows of a lane and the
// next 64 of k (or 32), whether it changes or not: in a loop with branches
// ptxas has every product waited for that is still under way (its note C7513).
//
//   CodesLoader<Config>   asks the copy engine for rows of A and for codes
//   DecodedRows<Config>   what a lane multiplies of the codes of its two rows
//
// A stage has 64 of k of A. The codes of as many stages as fit in a row of 128
// bytes come with the first of them: that A's stage is free again tells that
// the codes of as many rounds ago have been read.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_DECODED_ROWS_H
#define HK_KERNELS_GEMM_SM90_DECODED_ROWS_H

#include "kernels/gemm/sm90/bulk_loader.h"
#include "kernels/gemm/sm90/codes_bytes.h"

namespace hk {

/// Stages whose codes come together, and the place in LDS that has them.
template <class Config> struct CodesRing {
  static constexpr int kTogether =
      kBulkRowBytes * 8 / info(Config::P::B::kMem).bits / Config::T.bk;
  u32 place = Config::kStages - 1;

  /// Whether step `step` of a tile is the first of its codes.
  HK_MEM bool enter(int step) {
    if (step % kTogether != 0)
      return false;
    place = place + 1 == Config::kStages ? 0 : place + 1;
    return true;
  }
};

/// As BulkLoader; boxes of A that have no row are not asked for.
template <class Config> struct CodesLoader {
  using P = typename Config::P;
  static constexpr int kArrivals = 1, kRegisters = 24;
  static constexpr int kBits = info(P::B::kMem).bits;

  const TensorMap *maps;
  typename Config::Layout lds;
  CodesRing<Config> codes;

  HK_MEM CodesLoader(const TensorMap *maps, const typename Config::Layout &lds,
                     u32, const GemmArgs &)
      : maps(maps), lds(lds) {}

  /// Rows of codes are counted in bytes.
  HK_MEM static BoxPlace placeOfCodes(const WarpPlace &at, int step) {
    return {(at.k0 + step * Config::T.bk) / 8 * kBits, at.col, 0};
  }
  HK_MEM void fill(const WarpPlace &at, int step, u32 stage) {
    LdsBarrier full = lds.full(stage);
    int boxes = boxesOf(at, Config::kBoxesA);
    bool first = codes.enter(step);
    constexpr int kBytes = kGroupBoxRows * Config::kRow;
    full.expect(u32(boxes * kBytes + (first ? Config::kBytesB : 0)));
    if (first)
      loadBox(lds.stageB(codes.place), maps[1], full, placeOfCodes(at, step),
              Config::keepOfB(at));
    for (int i = 0; i < boxes; ++i)
      loadBox(
          lds.stageA(stage) + u32(i * kBytes), maps[0], full,
          BoxPlace{at.k0 + step * Config::T.bk, at.row + i * kGroupBoxRows, 0});
  }
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
      return 64;
    else if constexpr (Decode::kHasScales)
      return Decode::kDepth;
    return 0;
  }();
  static_assert(kDepth % kDecodedDepth == 0);

  /// As they lie in memory, as whoever touches them waits for them. Of fp4 two
  /// powers.
  struct Words {
    u32 scale = 0, zero = 0, shift = 0;
  };

  /// Of group `group` of row `row`.
  HK_MEM static Words read(const GemmArgs &args, u32 row, int group) {
    Words words;
    if constexpr (kPowers) {
      const ScaleArgs &from = args.b.decode;
      u64 at = from.data + u64(row) * u64(from.strideRow);
      int first = group * 2, last = int((args.k - 1) / 32);
      int second = first + 1 < last ? first + 1 : last;
      words.scale = *global<const u8>(at + u64(first) * u64(from.strideK));
      words.zero = *global<const u8>(at + u64(second) * u64(from.strideK));
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

  /// Of the pairs of a row's chunk of 32 of k, whose number within its word is
  /// `chunk`. Where not `inside` of k, a scale may be anything.
  HK_MEM static auto decoder(const Words &words, int chunk, bool inside) {
    if constexpr (kPowers) {
      u32 byte = chunk == 0 ? words.scale : words.zero;
      return PairPower<false>(inside ? byte : 0);
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

template <class Config> class DecodedRows {
  using P = typename Config::P;
  using Decoder = GroupDecoder<P>;
  using Words = typename Decoder::Words;
  static constexpr int kDepth = kDecodedDepth;
  /// How often words are read, in elements of k; 0: once.
  static constexpr int kEach = Decoder::kDepth == 0        ? 0
                               : Decoder::kDepth % 64 == 0 ? 64
                                                           : 32;
  /// Words of codes of a row that a lane reads for them.
  static constexpr int kLoads = Decoder::kNibbles ? 1 : 4;
  using Scale = decltype(Decoder::decoder(Words(), 0, true));

public:
  /// `row`: the warp's first in the tile.
  HK_MEM DecodedRows(const GemmArgs &args, const WarpPlace &at, int row)
      : args(args), row(row + laneId() / 4), k(at.k0) {
    u32 last = u32(args.n) - 1, first = u32(at.col + this->row);
    rows[0] = first < last ? first : last;
    rows[1] = first + 8 < last ? first + 8 : last;
    readNext(k);
    HK_UNROLL for (int r = 0; r < 2; ++r) now[r] = next[r];
  }

  /// Of two rows: the lane's eight of 32 codes, as they lie in LDS, and what
  /// decodes them.
  struct Chunk {
    u32 codes[2][kLoads];
    Scale low[2], high[2];
  };
  /// Of the next 32 of k, chunk `chunk` of a row of codes at `codes`.
  HK_MEM Chunk read(u32 codes, int chunk, int half) {
    if (kEach == 32 || (kEach == 64 && half == 0)) {
      HK_UNROLL for (int r = 0; r < 2; ++r) now[r] = next[r];
      readNext(k + kEach);
    }
    int inWord = half;
    bool low = k < args.k, high = k + 16 < args.k;
    Chunk own = {{},
                 {Decoder::decoder(now[0], inWord, low),
                  Decoder::decoder(now[1], inWord, low)},
                 {Decoder::decoder(now[0], inWord, high),
                  Decoder::decoder(now[1], inWord, high)}};
    HK_UNROLL for (int r = 0; r < 2; ++r) readRow(codes, chunk, r, own);
    k += kDepth;
    return own;
  }
  /// Element i of a register is one of k.
  HK_MEM static void decode(const Chunk &own, u32 *words) {
    u32 pick = laneId() % 2 == 0 ? 0x4410 : 0x4432;
    HK_UNROLL for (int r = 0; r < 2; ++r)
        HK_UNROLL for (u32 m = 0; m < 4; ++m) {
      u32 &word = words[m / 2 * 4 + m % 2 * 2 + u32(r)];
      const Scale &scale = m < 2 ? own.low[r] : own.high[r];
      if constexpr (Decoder::kNibbles)
        word = nibbles(own.low[r], own.codes[r][0], m);
      else
        word = scale.pair(__nvvm_prmt(own.codes[r][m], 0, pick), 0);
    }
  }

private:
  /// The words of element `from` of k, or of the last.
  HK_MEM void readNext(int from) {
    constexpr int depth = Decoder::kDepth == 0 ? 1 : Decoder::kDepth;
    int last = int(args.k) - 1;
    int group = Decoder::kDepth == 0 ? 0 : (from < last ? from : last) / depth;
    HK_UNROLL for (int r = 0; r < 2; ++r) next[r] =
        Decoder::read(args, rows[r], group);
  }
  HK_MEM void readRow(u32 codes, int chunk, int r, Chunk &own) const {
    int at = row + r * 8, c = laneId() % 4;
    // As the engine permutes 16 bytes of a row of 128.
    u32 from = codes + u32(at * Config::kRow), turn = u32(at % 8);
    if constexpr (Decoder::kNibbles) {
      u32x4 w = loadLds16(from + ((u32(chunk) ^ turn) * 16));
      u32 of = u32(c) | u32(c + 4) << 4;
      own.codes[r][0] = __nvvm_prmt(__nvvm_prmt(w[0], w[1], of),
                                    __nvvm_prmt(w[2], w[3], of), 0x5410);
    } else {
      HK_UNROLL for (u32 m = 0; m < 4; ++m) own.codes[r][m] =
          loadLds4(from + ((u32(chunk * 2) + m / 2) ^ turn) * 16 +
                   (m % 2 * 2 + u32(c / 2)) * 4);
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
  u32 rows[2];
  int row, k;
  Words now[2], next[2];
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_DECODED_ROWS_H
