//===- host.h - Matrix product of one block on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is one thread. With many rows, A and B are packed once per K step,
// widened or as pairs of bf16, and multiplied panel by panel. With few rows
// (decode) packing would cost more than the product: B is streamed once,
// several of its rows at a time, and widened on the way into the multiply.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_HOST_H
#define HK_KERNELS_GEMM_HOST_H

#include "kernels/device/mma/host_tiles.h"
#include "kernels/gemm/best.h"
#include "kernels/gemm/host_skinny.h"
#include "kernels/gemm/problem.h"

namespace hk {

/// What a word of the packed operands holds: two elements, where both are
/// exact in bf16 and need not be seen as blocks of floats.
template <class P, bool Skinny> struct HostOperands {
  template <class L> static constexpr bool packsPairs() {
    return !L::Decode::kDecodes || L::Decode::kHasScales;
  }
  static constexpr bool kPairs =
      kMultipliesPairs && P::kOperand == DType::BF16 &&
      packsPairs<typename P::A>() && packsPairs<typename P::B>() &&
      (P::B::kKContiguous || !Skinny) &&
      !(Skinny && readsTables<typename P::B>());
  template <bool Pairs, class = void> struct Choice {
    using Word = typename P::Sum;
  };
  template <class Unused> struct Choice<true, Unused> {
    using Word = Bf16Pair;
  };
  using Word = typename Choice<kPairs>::Word;
};

template <class Problem> struct Gemm {
  using P = Problem;
  using Acc = typename P::Acc;
  using Sum = typename P::Sum;
  using A = typename P::A;
  using B = typename P::B;
  static constexpr GemmTile T = P::kTile;
  static constexpr int kThreads = 1;
  static constexpr bool kSkinny = isHostSkinny(kTarget, T);
  static constexpr bool kQuantized = A::Decode::kMakesScales;
  static constexpr i64 kLds = gemmLds(kTarget, T, P::kOperand, kQuantized);
  static constexpr int kParts = P::kPair ? 2 : 1;
  static constexpr int kPartRows = T.bn / kParts;
  using Word = typename HostOperands<P, kSkinny>::Word;
  /// Elements of a word.
  static constexpr int kElements = HostWord<Word>::kElements;
  static constexpr i64 kStrideA =
      T.bk / kElements + (kSkinny ? 0 : kHostRowPad);
  static_assert(T.bk % (2 * kHostLanes) == 0 && T.bn % 16 == 0);
  static_assert(kSkinny || kPartRows % kPanel == 0);
  static_assert(kPanel <= kHostPanel);

  struct alignas(64) Shared {
    u8 bytes[kLds];
  };
  static_assert(sizeof(Shared) == kLds);

  /// The block's rows of A from `m0` on and its columns.
  struct Place {
    i64 m0, n0, rows, cols;
  };
  using SourceA = HostSource<A, Sum>;

  /// c[rows][T.bn]: the block's accumulators, partner columns from kPartRows
  /// on.
  HK_MEM static void compute(const GemmArgs &args, const SourceA &sourceA,
                             KRange range, const Place &at, Acc *c) {
    Word *scratch = scratchBehind(c);
    // Scales along k apply to partial sums: those go to a C of their own.
    constexpr bool scaled = P::kScale != KScale::None;
    static_assert(!scaled || (T.bk == kBlockScaleA.depth && !kSkinny));
    static_assert(T.bk % A::Decode::kBlock == 0);
    [[maybe_unused]] HostTiles<kMultipliesTiles<Word> && !kSkinny> tiles;
    // The products of the first step make c anew.
    if (kSkinny || scaled || range.begin >= range.end)
      clear(c, at.rows);
    HostSource<B, Sum> sourceB(args.b, args.n * kParts, range.end);
    for (i64 k = range.begin; k < range.end; k += T.bk) {
      i64 depth = range.end - k < T.bk ? range.end - k : i64(T.bk);
      constexpr i64 step =
          kSkinny ? SkinnyProduct<B, Word, T.bk>::kStep : 2 * kHostLanes;
      constexpr i64 unit = step > A::Decode::kBlock ? step : A::Decode::kBlock;
      i64 padded = (depth + unit - 1) / unit * unit;
      i64 words = padded / kElements;
      Word *packedA = scratch;
      float *made = rowScales(scratch);
      // Rows that can be multiplied where they are need no copy.
      const Word *rowsA = inPlace(sourceA.at(at.m0, k), depth);
      i64 strideA = rowsA ? sourceA.stride / kElements : i64(kStrideA);
      if (!rowsA) {
        rowsA = packedA;
        packRows(sourceA.at(at.m0, k), at.rows, depth, packedA, kStrideA,
                 words);
      }
      if constexpr (__is_same(Word, Sum))
        sourceA.decodeRows(packedA, at.rows, kStrideA, padded, made);
      if constexpr (kSkinny) {
        using Skinny = SkinnyProduct<B, Word, T.bk>;
        for (i64 m = 0; m < at.rows; ++m)
          Skinny::orderA(packedA + m * kStrideA, words);
        for (int p = 0; p < kParts; ++p)
          Skinny::run(packedA, kStrideA, at.rows,
                      sourceB.part(p, args.n).at(at.n0, k), at.cols, depth,
                      c + p * kPartRows, T.bn);
      } else {
        Word *panel = scratch + T.bm * kStrideA;
        i64 used = (depth + kElements - 1) / kElements;
        for (int p = 0; p < kParts; ++p)
          for (i64 n = 0; n < at.cols; n += kPanel) {
            i64 cols = at.cols - n < kPanel ? at.cols - n : i64(kPanel);
            packPanel(sourceB.part(p, args.n).at(at.n0 + n, k), cols, depth,
                      panel, words);
            Acc *to = c + p * kPartRows + n;
            [[maybe_unused]] auto asked =
                nextPanel<scaled>(args, sourceB, range, at, k, p, n);
            if constexpr (scaled)
              multiplyScaled(args, sourceA, at, at.n0 + p * args.n + n,
                             k / kBlockScaleA.depth, packedA, made, panel, used,
                             to);
            else
              multiplyRows<Word>(rowsA, strideA, at.rows, panel, used, to, T.bn,
                                 asked, k == range.begin);
          }
      }
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    TileRows rows = {block.z, i64(block.y) * T.bm, args.m};
    i64 left = args.m - rows.first, n0 = i64(block.x) * P::kCols;
    Place at = {rows.first, n0, left < T.bm ? left : i64(T.bm),
                columnsFrom(args, n0)};
    KRange range = rangeOfK<P>(args, block.z);
    compute(args, SourceA(args.a, args.m, range.end), range, at,
            accumulators(shared));
    finish(args, rows, at, accumulators(shared), epilogue);
  }

  HK_MEM static Acc *accumulators(Shared &shared) {
    return reinterpret_cast<Acc *>(shared.bytes);
  }
  HK_MEM static i64 columnsFrom(const GemmArgs &args, i64 n0) {
    return args.n - n0 < P::kCols ? args.n - n0 : i64(P::kCols);
  }
  HK_MEM static void clear(Acc *c, i64 rows) {
    __builtin_memset(c, 0, u64(rows) * T.bn * sizeof(Acc));
  }

  /// `rows` says where the rows of the tile go (TileRows).
  template <class Rows, class Epilogue>
  HK_MEM static void finish(const GemmArgs &args, const Rows &rows,
                            const Place &at, const Acc *c,
                            const Epilogue &epilogue) {
    for (i64 r = 0; r < at.rows; ++r)
      if (rows.exists(int(r)))
        finishRow(args, at, rows.matrix(int(r)), rows.row(int(r)), c + r * T.bn,
                  epilogue);
  }

private:
  HK_MEM static Word *scratchBehind(Acc *c) {
    return reinterpret_cast<Word *>(c + i64(T.bm) * T.bn);
  }
  /// Those of the rows of A that are quantised, behind the packed operands.
  HK_MEM static float *rowScales(Word *scratch) {
    return reinterpret_cast<float *>(scratch + T.bm * kStrideA +
                                     kPanel * (T.bk / kElements));
  }

  /// Where the rows from here on are, if `depth` of k are words as they lie;
  /// else null. Tiles have no words behind `depth`, and read a row once for 32
  /// columns, so that it does not matter where in the L1 cache rows meet; those
  /// of a micro kernel must not meet in a few of its sets (64 lines, a page of
  /// addresses).
  HK_MEM static const Word *inPlace(const SourceA &a, i64 depth) {
    constexpr DType mem = __is_same(Word, Bf16Pair) ? DType::BF16 : DType::F32;
    constexpr bool asStored = !__is_same(Word, i32) && A::kMem == mem &&
                              !A::Decode::kDecodes && A::kKContiguous &&
                              !A::kGathered && P::kScale == KScale::None &&
                              !kSkinny;
    if constexpr (asStored) {
      constexpr i64 unit =
          kMultipliesTiles<Word> ? kElements * kHostTile : kElements;
      u64 bytes = u64(a.stride) * sizeof(*a.data),
          lowest = bytes & (~bytes + 1);
      u64 from = u64(a.data + a.offset(0, 0));
      if ((from | bytes) % sizeof(Word) == 0 && bytes != 0 &&
          (kMultipliesTiles<Word> || lowest <= 2048) && depth % unit == 0)
        return reinterpret_cast<const Word *>(from);
    }
    return nullptr;
  }

  /// The rows of the panel behind the one at column n of part p, which is asked
  /// for while that one is multiplied: rows lie apart, and the CPU's
  /// prefetchers begin each anew. All at once, here, they hold up the product's
  /// own loads.
  template <bool AtOnce>
  HK_MEM static auto nextPanel(const GemmArgs &args,
                               const HostSource<B, Sum> &sourceB, KRange range,
                               const Place &at, i64 k, int p, i64 n) {
    n += kPanel;
    if (n >= at.cols) {
      n = 0;
      p = (p + 1) % kParts;
      k += p == 0 ? T.bk : 0;
    }
    i64 depth = range.end - k, cols = depth > 0 ? at.cols - n : 0;
    cols = cols < kPanel ? cols : i64(kPanel);
    auto next = sourceB.part(p, args.n).at(at.n0 + n, k);
    if constexpr (AtOnce || !B::kKContiguous || B::kGathered) {
      next.ask(cols, depth < T.bk ? depth : i64(T.bk));
      return AsksNothing{};
    } else {
      return next.template asked<kElements>(
          cols, (at.rows + kPanelRows<Word> - 1) / kPanelRows<Word>);
    }
  }

  /// `row`: of B, where the panel begins.
  HK_MEM static void multiplyScaled(const GemmArgs &args,
                                    const SourceA &sourceA, const Place &at,
                                    i64 row, i64 kBlock, const Word *a,
                                    [[maybe_unused]] const float *made,
                                    const Word *panel, i64 words, Acc *c) {
    auto scaleA = reinterpret_cast<const float *>(args.a.fold.data) + kBlock;
    auto scaleB = reinterpret_cast<const float *>(args.b.fold.data);
    float ofB = 1;
    if constexpr (P::kScaleB)
      ofB = scaleB[row / kBlockScaleB.rows * args.b.fold.strideRow + kBlock];
    using V = HostVec<Acc>;
    constexpr int most = kPanelRows<Word>;
    for (i64 r = 0; r < at.rows; r += most) {
      alignas(64) Sum part[most * kPanel] = {};
      i64 rows = at.rows - r < most ? at.rows - r : i64(most);
      multiplyRows<Word>(a + r * kStrideA, kStrideA, rows, panel, words, part,
                         kPanel);
      for (i64 i = 0; i < rows; ++i) {
        float scale = ofB;
        if constexpr (kQuantized)
          scale *= made[r + i];
        else if constexpr (P::kScaleA)
          scale *= scaleOf(scaleA, sourceA.rowOf(at.m0 + r + i), args);
        HK_UNROLL for (int h = 0; h < 2; ++h) {
          auto from = *reinterpret_cast<HostVec<Sum> *>(part + i * kPanel +
                                                        h * kHostLanes);
          V &to = *reinterpret_cast<V *>(c + (r + i) * T.bn + h * kHostLanes);
          to += convertTo<float, kHostLanes>(from) * scale;
        }
      }
    }
  }

  /// Of a row of zeros any will do.
  HK_MEM static float scaleOf(const float *scaleA, i64 row,
                              const GemmArgs &args) {
    return row < 0 ? 1 : scaleA[row * args.a.fold.strideRow];
  }

  template <class Epilogue>
  HK_MEM static void finishRow(const GemmArgs &args, const Place &at,
                               i64 matrix, i64 row, const Acc *c,
                               const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec;
    constexpr i64 group = Epilogue::kGroup ? Epilogue::kGroup : P::kCols;
    for (i64 g = 0; g < at.cols; g += group) {
      i64 end = g + group < at.cols ? g + group : at.cols;
      float stat = 0;
      auto output = [&](i64 col) {
        GemmOutput<Acc, V> out;
        out.acc = *reinterpret_cast<const Vec<Acc, V> *>(c + col);
        out.pair =
            P::kPair
                ? *reinterpret_cast<const Vec<Acc, V> *>(c + kPartRows + col)
                : Vec<Acc, V>(0);
        out.stat = stat;
        return out;
      };
      if constexpr (kSelectsBest<Epilogue>) {
        u64 best = 0;
        for (i64 col = g; col < end; col += V)
          best = largerKey(best, epilogue.template key<V>(
                                     matrix, row, at.n0 + col, output(col)));
        epilogue.applyBest(matrix, row, best);
      } else if constexpr (Epilogue::kGroup != 0)
        for (i64 col = g; col < end; col += V)
          forColumns<V>(at.n0 + col, args.n, output(col),
                        [&]<int N>(i64 n, const auto &in) {
                          stat = Max::apply(stat, epilogue.template stat<N>(
                                                      matrix, row, n, in));
                        });
      for (i64 col = g; col < end; col += V)
        forColumns<V>(at.n0 + col, args.n, output(col),
                      [&]<int N>(i64 n, const auto &in) {
                        epilogue.template apply<N>(matrix, row, n, in);
                      });
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_HOST_H
