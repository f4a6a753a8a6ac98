//===- codes_words.h - Scales of 4-bit codes of a block's k -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the codes of a block's only tile are decoded with, for its part of k, as
// words in LDS: CodesWords has one for a row and group of k, scale and bias of
// PairScale of 16 bits each; PowerWords one for a row and four powers of two,
// as they lie in memory. The threads read them once, in the order in which they
// lie; a thread has the same place in every few rows, so that an address is a
// multiply-add. What does not exist along k is 0.
//
//   clear()          by one thread, before the block meets
//   read<true>(col0) of the columns from col0 on; behind it the block meets
//   isUsual()        whether of<true> is right; if not, the block calls
//   read<false>()    and meets again, for of<false>
//   of<..>(u, r)     of row r, for the lane's codes of unit u of k
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_CODES_WORDS_H
#define HK_KERNELS_GEMM_SM90_CODES_WORDS_H

#include "kernels/device/arch/nvptx_async.h"
#include "kernels/gemm/sm90/codes_powers.h"

namespace hk {

/// The elements of k of a block, which begin with a stage.
struct PartOfK {
  int begin, end;
};

/// The words of a tile, WORDS a row, and how Threads threads share them. Rows
/// and strides have 32 bits, as what the copy engine takes.
template <class P, GemmTile T, int Threads, int WORDS> class WordsOfRows {
protected:
  /// A thread has word `word` of the rows `first`, `first` + kRows, ...
  static constexpr int kColumns = [] {
    int columns = 1;
    while (columns < WORDS)
      columns *= 2;
    return columns;
  }();
  static constexpr int kRows = Threads / kColumns;
  static constexpr int kEach = (T.bn + kRows - 1) / kRows;
  /// Rows begin in different banks.
  static constexpr int kPitch = WORDS + kCodesPad;
  static_assert(kColumns <= Threads && Threads % kColumns == 0);

  const GemmArgs &args;
  u8 *lds;
  int k1;
  int word = threadId() % kColumns, first = threadId() / kColumns;

  HK_MEM WordsOfRows(const GemmArgs &args, u8 *lds, PartOfK part)
      : args(args), lds(lds), k1(part.end) {}

  /// The row of B that row r % T.bn of the tile is; of columns that do not
  /// exist that of the last one, whose sums nobody stores.
  HK_MEM u32 rowOf(i64 col0, int r) const {
    u32 n = u32(args.n), column = u32(col0) + u32(r % P::kCols);
    return (column < n ? column : n - 1) + (r % T.bn >= P::kCols ? n : 0);
  }
  /// f(i, row of B) for the thread's rows.
  template <class F> HK_MEM void forEach(i64 col0, F f) const {
    HK_UNROLL for (int i = 0; i < kEach; ++i)
        f(i, rowOf(col0, first + i * kRows));
  }
  HK_MEM void keep(int i, u32 value) const {
    int r = first + i * kRows;
    if ((T.bn % kRows == 0 || r < T.bn) && (kColumns == WORDS || word < WORDS))
      *entry(r, word) = value;
  }
  HK_MEM u32 *entry(int row, int of) const {
    return reinterpret_cast<u32 *>(lds) + row * kPitch + of;
  }

  /// Four neighbouring words at a time, up to the four with the last of `words`
  /// of a row: ask(row of B, first word) gives what make() makes the words of.
  template <class Raw, class Ask, class Make>
  HK_MEM void keepFours(i64 col0, int words, Ask ask, Make make) const {
    constexpr int fours = WORDS / 4, all = T.bn * fours;
    constexpr int each = (all + Threads - 1) / Threads;
    Raw raw[each] = {};
    HK_UNROLL for (int i = 0; i < each; ++i) {
      int x = threadId() + i * Threads, r = x / fours, of = x % fours * 4;
      if (of < words && (all % Threads == 0 || x < all))
        raw[i] = ask(rowOf(col0, r), u32(of));
    }
    HK_UNROLL for (int i = 0; i < each; ++i) {
      int x = threadId() + i * Threads, r = x / fours, of = x % fours * 4;
      if (all % Threads == 0 || x < all)
        *reinterpret_cast<u32x4 *>(entry(r, of)) =
            of < words ? make(raw[i]) : u32x4(0);
    }
  }

  /// One of the thread's words is not usual: any of them may say so.
  HK_MEM void say(bool usual) const {
    if (!usual)
      storeLds4(unusual(), 1);
  }

public:
  static constexpr int kBytes = T.bn * kPitch * 4 + 16;

  HK_MEM void clear() const { storeLds4(unusual(), 0); }
  HK_MEM bool isUsual() const { return loadLds4(unusual()) == 0; }

private:
  HK_MEM u32 unusual() const { return ldsAddress(lds) + kBytes - 16; }
};

/// Groups of `group` elements (0: all) in `depth` elements of k from a multiple
/// of `stage` on.
constexpr int groupsIn(int group, int depth, int stage) {
  if (group == 0)
    return 1;
  return (depth + group - 1) / group + (stage % group == 0 ? 0 : 1);
}
template <class P, GemmTile T>
inline constexpr int kGroupsOf =
    groupsIn(P::B::Decode::kDepth, T.bk,
             T.cluster > 1 ? streamedDepth(info(P::B::kMem).bits) : 0);

template <class P, GemmTile T, int Threads>
class CodesWords : public WordsOfRows<P, T, Threads, kGroupsOf<P, T>> {
  using B = typename P::B;
  using Decode = typename B::Decode;
  using Base = WordsOfRows<P, T, Threads, kGroupsOf<P, T>>;
  static constexpr bool kZeros = Decode::kHasZeros;

public:
  using Scale = PairScale<B::kMem, P::kOperand, Decode>;
  static_assert(Scale::kIntegers && [] {
    if constexpr (kZeros)
      return info(Decode::kZero).bits == 4;
    return true;
  }());

  HK_MEM CodesWords(const GemmArgs &args, u8 *lds, PartOfK part)
      : Base(args, lds, part),
        group0(Decode::kDepth == 0 ? 0 : part.begin / depth()) {}

  template <bool Usual> HK_MEM void read(i64 col0) const {
    bool usual = true;
    if constexpr (kFours)
      if (areFours()) {
        readFours<Usual>(col0, usual);
        return this->say(usual);
      }
    u32 scales[Base::kEach] = {}, zeros[Base::kEach] = {},
        shifts[Base::kEach] = {};
    const GemmArgs &args = this->args;
    int group = group0 + this->word;
    if (i64(group) * Decode::kDepth < this->k1)
      this->forEach(col0, [&](int i, u32 row) {
        scales[i] = *global<const u16>(args.b.decode.data +
                                       indexOf(args.b.decode, row, group) * 2);
        if constexpr (kZeros) {
          u64 at = indexOf(args.b.zeros, row, group);
          zeros[i] = *global<const u8>(args.b.zeros.data + at / 2);
          shifts[i] = u32(at % 2 * 4);
        }
      });
    HK_UNROLL for (int i = 0; i < Base::kEach; ++i) {
      Scale scale({scales[i], 0}, {zeros[i], shifts[i]});
      this->keep(i, wordOf<Usual>(scale, usual));
    }
    this->say(usual);
  }
  HK_MEM bool isUsual() const { return !kInPlace || Base::isUsual(); }
  template <bool Usual> HK_MEM auto of(int unit, int r) const {
    int k = unit * kCodesDepth + laneId() % 4 * 32;
    u32 word = *this->entry(r, Decode::kDepth == 0 ? 0 : k / depth() - group0);
    // A scale for all of k does not end with it.
    if constexpr (Decode::kDepth == 0)
      word = k < this->args.k ? word : 0;
    if constexpr (Usual && kInPlace)
      return InPlace(word);
    else
      return Scale(lowerTwice(word), upperTwice(word));
  }

private:
  static constexpr bool kInPlace = P::kOperand == DType::BF16;
  using InPlace = PairInPlace<B::kMem>;

  template <bool Usual>
  HK_MEM static u32 wordOf(const Scale &scale, [[maybe_unused]] bool &usual) {
    if constexpr (Usual && kInPlace) {
      usual = usual && InPlace::fits(scale.scale);
      return InPlace::wordOf(scale);
    } else {
      return __nvvm_prmt(scale.scale, scale.bias, 0x5410);
    }
  }
  static constexpr int depth() { return Decode::kDepth ? Decode::kDepth : 1; }

  int group0;

  static constexpr bool kFours =
      kGroupsOf<P, T> % 4 == 0 && Decode::kDepth != 0 && Decode::kRows == 1;
  struct Four {
    u32x2 scales;
    u32 zeros;
  };
  /// Whether four groups of a row are a read each of scales and of zero points.
  HK_MEM bool areFours() const {
    const ScaleArgs &scales = this->args.b.decode, &zeros = this->args.b.zeros;
    bool are = scales.strideK == 1 && scales.data % 8 == 0 &&
               scales.strideRow % 4 == 0 && group0 % 4 == 0 &&
               this->args.k % (depth() * 4) == 0;
    if constexpr (kZeros)
      are = are && zeros.strideK == 1 && zeros.data % 2 == 0 &&
            zeros.strideRow % 4 == 0;
    return are;
  }
  template <bool Usual> HK_MEM void readFours(i64 col0, bool &usual) const {
    const ScaleArgs &from = this->args.b.decode, &zeros = this->args.b.zeros;
    this->template keepFours<Four>(
        col0, (this->k1 + depth() - 1) / depth() - group0,
        [&](u32 row, u32 word) {
          u32 group = u32(group0) + word;
          u64 at = u64(row) * u32(from.strideRow * 2) + group * 2;
          Four four = {*global<const u32x2>(from.data + at), 0};
          if constexpr (kZeros)
            four.zeros = *global<const u16>(
                zeros.data + u64(row) * (u32(zeros.strideRow) / 2) + group / 2);
          return four;
        },
        [&](const Four &four) {
          u32x4 words;
          HK_UNROLL for (u32 j = 0; j < 4; ++j) {
            Scale scale({four.scales[j / 2], j % 2 * 16}, {four.zeros, j * 4});
            words[j] = wordOf<Usual>(scale, usual);
          }
          return words;
        });
  }
  HK_MEM static u64 indexOf(const ScaleArgs &from, u32 row, int group) {
    u64 index = 0;
    if constexpr (Decode::kDepth != 0)
      index += u64(group) * u64(from.strideK);
    if constexpr (Decode::kRows != 0)
      index += u64(row) * u32(from.strideRow);
    return index;
  }
};

template <class P, GemmTile T, int Threads>
class PowerWords : public WordsOfRows<P, T, Threads, T.bk / kCodesDepth> {
  using Base = WordsOfRows<P, T, Threads, T.bk / kCodesDepth>;
  static_assert(kCodesDepth == 4 * 32);

public:
  HK_MEM PowerWords(const GemmArgs &args, u8 *lds, PartOfK part)
      : Base(args, lds, part), unit0(part.begin / kCodesDepth) {}

  /// The words are the same for both.
  template <bool Usual> HK_MEM void read(i64 col0) const {
    if constexpr (!Usual)
      return;
    const GemmArgs &args = this->args;
    const ScaleArgs &from = args.b.decode;
    bool usual = true;
    if (from.strideK == 1 && (from.data | u64(from.strideRow)) % 16 == 0 &&
        args.k % (4 * kCodesDepth) == 0 && unit0 % 4 == 0) {
      this->template keepFours<u32x4>(
          col0, (this->k1 + kCodesDepth - 1) / kCodesDepth - unit0,
          [&](u32 row, u32 word) {
            u64 at = u64(row) * u32(from.strideRow) + (u32(unit0) + word) * 4;
            return *global<const u32x4>(from.data + at);
          },
          [&](const u32x4 &words) {
            usual = usual && PairPower<true>::holds(words[0] | words[1] |
                                                    words[2] | words[3]);
            return words;
          });
      return this->say(usual);
    }
    int group = (unit0 + this->word) * 4;
    int left = (this->k1 + 31) / 32 - group;
    u32 count = left <= 0 ? 0 : left < 4 ? u32(left) : 4;
    u64 data = from.data + u64(group) * u64(from.strideK);
    bool asWords =
        from.strideK == 1 && (from.data | u64(from.strideRow)) % 4 == 0;
    u32 words[Base::kEach] = {};
    if (count != 0)
      this->forEach(col0, [&](int i, u32 row) {
        u64 at = data + u64(row) * u32(from.strideRow);
        words[i] = asWords ? *global<const u32>(at)
                           : single(at, u64(from.strideK), count);
      });
    u32 mask = count == 0 ? 0 : ~0u >> (4 - count) * 8;
    HK_UNROLL for (int i = 0; i < Base::kEach; ++i) {
      u32 four = words[i] & mask;
      usual = usual && PairPower<true>::holds(four);
      this->keep(i, four);
    }
    this->say(usual);
  }
  template <bool Usual> HK_MEM PairPower<Usual> of(int unit, int r) const {
    return PairPower<Usual>(*this->entry(r, unit - unit0), laneId() % 4);
  }

private:
  int unit0;

  /// `count` bytes from `at` on, `stride` apart.
  HK_MEM static u32 single(u64 at, u64 stride, u32 count) {
    u32 four = 0;
    HK_UNROLL for (u32 g = 0; g < 4; ++g) if (g < count) four |=
        u32(*global<const u8>(at + g * stride)) << 8 * g;
    return four;
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_CODES_WORDS_H
