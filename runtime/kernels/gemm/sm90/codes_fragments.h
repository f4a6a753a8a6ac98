//===- codes_fragments.h - fp4 and its powers, copied to LDS -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operand B of a block of GroupedSkinnyCodes on its way to LDS, where it is
// fp4 with a power of two for each 32 codes: fragments of 16 rows that are
// neighbours in memory, whole rows of k, codes and powers. One wave asks the
// copy engine for them, lane after lane: some 35 ns each, however few bytes it
// is for. So rows without gaps are asked for at once: a request for the codes
// of a fragment and one for its powers. Other rows are asked for one by one,
// and powers that are no neighbours along k pass through the wave's registers.
//
// What lies behind the end of k is old: codes are always finite, and A is 0
// there; powers are taken to be the smallest.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_FRAGMENTS_H
#define HK_KERNELS_GEMM_SM90_CODES_FRAGMENTS_H

#include "kernels/device/copy/tma.h"
#include "kernels/gemm/sm90/skinny_codes.h"

namespace hk {

/// Base: the SkinnyCodes of a problem. Waves: those that read. Room: bytes.
template <class Base, int Waves, int Room> class CodesFragments {
  using B = typename Base::B;
  static constexpr int kColumns = Base::kColumns;
  /// Of rows that come one by one: bytes between two of them, which keep those
  /// that are read together in different banks, and what holds the pieces of 16
  /// bytes around the powers of a row, which begin anywhere.
  static constexpr int kPitch = skinnyCodesRow(Base::T),
                       kPowers = (Base::T.bk / 32 + 15 + 15) / 16 * 16;
  static constexpr int kCodes = 16 * kPitch, kBytes = kCodes + 16 * kPowers;
  static constexpr u32 kStages = u32(Room / (kBytes + 16));
  static_assert(kStages > 1);

public:
  using Place = RingPlace<kStages>;

  HK_MEM explicit CodesFragments(u8 *lds) : lds(opaqueWord(ldsAddress(lds))) {}

  /// By one thread, before the block meets.
  HK_MEM void init() const {
    HK_UNROLL for (u32 s = 0; s < kStages; ++s) {
      full(s).init(1);
      empty(s).init(Waves);
    }
    publishBarriers();
  }

  /// How the fragments of a matrix lie in memory.
  struct Matrix {
    const GemmArgs &args;
    u32 groups;
    bool codesTogether, powersTogether;

    HK_MEM explicit Matrix(const GemmArgs &args)
        : args(args), groups((u32(args.k) + 31) / 32) {
      const ScaleArgs &from = args.b.decode;
      codesTogether = args.b.stride == args.k;
      // The second halves of a pair begin n rows later.
      u64 begins = from.data | (kTwoRuns ? u64(args.n) * groups : 0);
      powersTogether = from.strideK == 1 && from.strideRow == i64(groups) &&
                       begins % 16 == 0;
    }
    /// The first row of fragment `tall` of a tile, and how many there are.
    HK_MEM u32 first(u32 tile, int tall) const {
      u32 n = u32(args.n);
      return kTwoRuns ? tile * kColumns + u32(tall) * n
                      : tile * Base::T.bn + u32(tall) * 16;
    }
    HK_MEM u32 count(u32 first, int tall) const {
      u32 n = u32(args.n);
      u32 end = kTwoRuns ? n + u32(tall) * n : Base::P::kPair ? 2 * n : n;
      return first >= end ? 0 : end - first < 16 ? end - first : 16;
    }
    HK_MEM u64 codesOf(u32 row) const {
      return args.b.data + u64(row) * u64(args.b.stride / 2);
    }
    HK_MEM u64 powersOf(u32 row) const {
      return args.b.decode.data + u64(row) * u64(args.b.decode.strideRow);
    }
  };

  /// Asks for fragment `tall` of a tile, once the place is free. A whole wave
  /// calls.
  HK_MEM void ask(const Matrix &matrix, u32 tile, int tall,
                  const Place &place) const {
    u32 first = matrix.first(tile, tall), rows = matrix.count(first, tall);
    empty(place.stage).waitTogether(place.phase ^ 1);
    // Codes by the first sixteen lanes, powers by the others.
    Request own = laneId() < 16 ? codes(matrix, first, rows, place.stage)
                                : powers(matrix, first, rows, place.stage);
    u32 sum = own.bytes;
    HK_UNROLL for (int apart = 1; apart < kWave; apart *= 2) sum +=
        u32(fromLane(int(sum), laneId() ^ apart));
    if (laneId() == 0)
      full(place.stage).expect(sum);
    waveBarrier();
    if (own.bytes > 0)
      loadBytes(own.to, global<const u8>(own.from), own.bytes,
                full(place.stage));
  }
  HK_MEM void wait(const Place &place) const {
    full(place.stage).waitTogether(place.phase);
  }
  /// The wave has read a fragment.
  HK_MEM void release(const Place &place) const {
    waveBarrier();
    if (laneId() == 0)
      empty(place.stage).arrive();
  }

  /// What a lane reads of the fragments of a matrix: of two rows, 8 apart, 32
  /// codes of each unit and their power.
  class Reader {
    const CodesFragments &of;
    u32 codesAt, apart, powersAt[Base::kTall][2];
    bool exists[Base::kUnits];

  public:
    /// `unit`: the wave's first.
    HK_MEM Reader(const CodesFragments &of, const Matrix &matrix, int unit)
        : of(of) {
      u32 group = u32(unit * 4 + laneId() % 4), row = u32(laneId() / 4);
      u32 pitch = matrix.codesTogether ? u32(matrix.args.k) / 2 : kPitch;
      codesAt = row * pitch + group * 16;
      apart = 8 * pitch;
      HK_UNROLL for (int u = 0; u < Base::kUnits; ++u) exists[u] =
          group + u * 4 < matrix.groups;
      HK_UNROLL for (int tall = 0; tall < Base::kTall; ++tall)
          HK_UNROLL for (int half = 0; half < 2; ++half) {
        u32 r = row + u32(half * 8);
        // The same in all tiles, as 16 rows are whole pieces.
        u32 begin = u32(matrix.powersOf(matrix.first(0, tall) + r)) % 16;
        bool inRow = matrix.args.b.decode.strideK == 1;
        powersAt[tall][half] =
            kCodes + group +
            (matrix.powersTogether ? r * matrix.groups
                                   : r * kPowers + (inRow ? begin : 0));
      }
    }
    HK_MEM typename Base::Codes codes(const Place &place, int unit) const {
      u32 at = of.fragment(place.stage) + codesAt + u32(unit) * 64;
      return {{loadLds16(at), loadLds16(at + apart)}};
    }
    HK_MEM u32 power(const Place &place, int tall, int half, int unit) const {
      u32 byte = loadLdsByte(of.fragment(place.stage) + powersAt[tall][half] +
                             u32(unit) * 4);
      return exists[unit] ? byte : 0;
    }
  };

  /// Which row of a tile, columns and behind them their partners, row r of
  /// fragment `tall` is.
  HK_MEM static int rowOfTile(int tall, int r) {
    r += tall * 16;
    return B::kStep == 2 ? r % 2 * kColumns + r / 2 : r;
  }

private:
  /// The halves of a pair lie apart, a fragment of a tile each.
  static constexpr bool kTwoRuns = Base::P::kPair && B::kStep == 1;
  static_assert(!Base::P::kPair || kColumns == 16);

  u32 lds;

  HK_MEM u32 fragment(u32 stage) const { return lds + stage * kBytes; }
  HK_MEM LdsBarrier full(u32 stage) const {
    return {fragment(kStages) + stage * 8};
  }
  HK_MEM LdsBarrier empty(u32 stage) const { return full(kStages + stage); }

  /// A lane's request.
  struct Request {
    u64 from;
    u32 to, bytes;
  };
  HK_MEM Request codes(const Matrix &matrix, u32 first, u32 rows,
                       u32 stage) const {
    u32 r = u32(laneId()) % 16, row = u32(matrix.args.k) / 2;
    if (matrix.codesTogether)
      return {matrix.codesOf(first), fragment(stage), r == 0 ? rows * row : 0};
    return {matrix.codesOf(first + r), fragment(stage) + r * kPitch,
            r < rows ? row : 0};
  }
  HK_MEM Request powers(const Matrix &matrix, u32 first, u32 rows,
                        u32 stage) const {
    u32 r = u32(laneId()) % 16, groups = matrix.groups;
    u32 to = fragment(stage) + kCodes;
    if (matrix.powersTogether)
      return {matrix.powersOf(first), to,
              r == 0 ? (rows * groups + 15) / 16 * 16 : 0};
    u64 at = matrix.powersOf(first + r), begin = at & ~u64(15);
    to += r * kPowers;
    if (r >= rows)
      return {0, 0, 0};
    i64 apart = matrix.args.b.decode.strideK;
    if (apart == 1)
      return {begin, to, u32(((at + groups + 15) & ~u64(15)) - begin)};
    for (u32 g = 0; g < groups; ++g)
      storeLdsByte(to + g, *global<const u8>(at + u64(g * apart)));
    return {0, 0, 0};
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_FRAGMENTS_H
