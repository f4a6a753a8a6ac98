//===- swapped_codes.h - Groups of rows times fp4 codes -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As swapped_groups.h, for B of fp4 codes with a power of two for every 32 of
// k: rows of B are the rows of the instruction, whose operand may be registers.
// So codes lie in a stage as they lie in memory, and who multiplies them widens
// them to bf16 where they are multiplied: no decoded element passes through
// LDS, and a group's matrix is read and decoded once.
//
// A warpgroup decodes 32 of k while its product of the 32 before runs.
//
// A lane multiplies elements 2 c and 2 c + 1 of every eight of k, c = lane % 4,
// which are byte c of a word of codes: it reads a row's words of 32 of k, as
// its neighbours do, and takes its own bytes.
//
//   SwappedCodes<Problem, Groups>::run(args, groups, block, shared, epilogue)
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_CODES_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_CODES_H

#include "kernels/device/tile/wgmma_chain.h"
#include "kernels/gemm/sm90/group_box.h"
#include "kernels/gemm/sm90/stages.h"
#include "kernels/gemm/sm90/swapped_codes_loader.h"

namespace hk {

/// A multiplying warpgroup over the tiles of a block.
template <class Config, class Groups> class SwappedCodesConsumer {
  using P = typename Config::P;
  using Layout = typename Config::Layout;
  static constexpr GemmTile T = Config::T;
  static constexpr int kBoxes = T.bm / kGroupBoxRows;
  /// Elements of k that a statement multiplies, and those of a power.
  static constexpr int kDepth = 32, kHalves = T.bk / kDepth;
  static constexpr int kWords = kDepth / 4;
  using Power = PairPower<false>;
  /// Eight rows of B further on are columns, or the other half's.
  static constexpr int kBelow = P::kPair ? Config::kSlabFloats : 8;

public:
  HK_MEM SwappedCodesConsumer(const GemmArgs &args, const GroupArgs &groups,
                              const Layout &lds, u8 *bytes)
      : args(args), groups(groups), lds(lds),
        slab(reinterpret_cast<float *>(
            bytes + (lds.slab(waveId()) - ldsAddress(bytes)))),
        row(waveId() * 16) {}

  template <class Epilogue>
  HK_MEM void tile(const WarpPlace &at, const Epilogue &epilogue) {
    CodesOfTile<Config> codes(args, groups, at);
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      int own = row + laneId() / 4 + r * 8;
      powers[r] = lds.powers(0) + u32(own * Config::kSpanBytes) +
                  codes.phaseOf(codes.rowOf(own));
    }
    tileOf<kBoxes>(boxesOf(at), at, epilogue);
    spans += (at.steps + Config::kSpan - 1) / Config::kSpan;
  }

private:
  /// The next width, in boxes. With seven of them ptxas has each product waited
  /// for (its note C7512), however many registers there are.
  static constexpr int narrowerThan(int boxes) {
    return boxes > 4 ? 4 : boxes > 2 ? 2 : 0;
  }
  /// The tile that is as wide as its rows need. One without rows has k, too.
  template <int Boxes, class Epilogue>
  HK_MEM void tileOf(int boxes, const WarpPlace &at, const Epilogue &epilogue) {
    if constexpr (constexpr int next = narrowerThan(Boxes); next > 0)
      if (boxes <= next)
        return tileOf<next>(boxes, at, epilogue);
    float d[Boxes * kGroupBoxRows / 2];
    multiply<Boxes * kGroupBoxRows>(at, d);
    store<Boxes>(boxes, at, d, epilogue);
  }

  template <int N>
  HK_MEM void multiply(const WarpPlace &at, float (&d)[N / 2]) {
    using Product = RowChain<Config::D, N, kDepth>;
    HK_UNROLL for (auto &v : d) v = 0;
    if (at.steps == 0)
      return;
    u32 words[kHalves][kWords], last = 0;
    int depth = int(args.k) - at.k0;
    HK_NO_UNROLL for (int step = 0; step < at.steps; ++step) {
      lds.full(ring.stage).wait(ring.phase);
      // What threads have copied, the tensor cores see behind a fence.
      if constexpr (Groups::kGathered)
        publishToCopies();
      u64 a = operandDescriptor(lds.stageA(ring.stage));
      HK_UNROLL for (int half = 0; half < kHalves; ++half) {
        Codes own = read(step, half);
        bool inside = step * T.bk + half * kDepth < depth;
        // The product before the last has these words.
        waitProducts<1>();
        decode(own, inside, words[half]);
        Product::add(d, words[half], a + u64(half * kDepth * 2 / 16));
        if (half == 1 && step > 0)
          release(last);
      }
      last = ring.stage;
      ring.advance();
    }
    waitProducts<0>();
    settleProduct(d);
    release(last);
  }
  HK_MEM void release(u32 stage) const {
    lds.empty(stage).template arriveEverywhere<1>();
  }

  /// Of two rows, 8 apart: the lane's eight of 32 codes, and their power.
  struct Codes {
    u32 bytes[2], powers[2];
  };
  HK_MEM Codes read(int step, int half) const {
    Codes own;
    u32 span = u32((spans + step / Config::kSpan) % 2) * Config::kPowersBytes +
               u32(step % Config::kSpan * kHalves + half);
    u32 c = u32(laneId() % 4), of = c | (c + 4) << 4;
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      int at = row + laneId() / 4 + r * 8;
      u32x4 w = loadLds16(lds.codes(ring.stage) + Config::placeOf(at, half));
      own.bytes[r] = __nvvm_prmt(__nvvm_prmt(w[0], w[1], of),
                                 __nvvm_prmt(w[2], w[3], of), 0x5410);
      own.powers[r] = loadLdsByte(powers[r] + span);
    }
    return own;
  }
  /// Element i of a register is one of k. `inside`: of k; behind its end the
  /// power is another row's, or anything.
  HK_MEM static void decode(const Codes &own, bool inside,
                            u32 (&words)[kWords]) {
    HK_UNROLL for (int r = 0; r < 2; ++r) {
      u32 low = own.bytes[r] & 0x0F0F0F0F,
          high = own.bytes[r] >> 4 & 0x0F0F0F0F;
      Power power(inside ? own.powers[r] : 0);
      HK_UNROLL for (u32 m = 0; m < 4; ++m) {
        // Byte m of both; 8 + m is the sign of one, which is none.
        u32 pair = __nvvm_prmt(low, high,
                               m | (8 + m) << 4 | (4 + m) << 8 | (8 + m) << 12);
        words[m / 2 * 4 + m % 2 * 2 + u32(r)] = power.ofAlone(pair);
      }
    }
  }

  template <int Boxes, class Epilogue>
  HK_MEM void store(int boxes, const WarpPlace &at,
                    const float (&d)[Boxes * kGroupBoxRows / 2],
                    const Epilogue &epilogue) const {
    static_assert(Epilogue::kGroup == 0);
    // Not unrolled: the functor may be large.
    _Pragma("unroll 1") for (int box = 0; box < boxes; ++box) {
      waveBarrier();
      HK_UNROLL for (int b = 0; b < Boxes; ++b) if (b == box)
          writeGroupBox<Config::kSlabPitch, kBelow>(slab, d, b);
      waveBarrier();
      storeGroupBox<P, Groups, Config::kSlabPitch, Config::kColumns, kWave,
                    Config::kSlabFloats>(args, groups, at, box,
                                         Config::columnOf(row), laneId(), slab,
                                         epilogue);
    }
  }

  const GemmArgs &args;
  const GroupArgs &groups;
  Layout lds;
  float *slab;
  typename Config::Ring ring;
  /// The warp's first row of the tile.
  int row;
  /// Spans of powers before this tile, and where the first of each row is.
  int spans = 0;
  u32 powers[2];
};

template <class Problem, class Groups> struct SwappedCodes {
  using P = Problem;
  static_assert(Groups::kForm != GroupForm::Blocks);
  using Config = SwappedCodesConfig<P>;
  using Shared = typename Config::Shared;
  using Layout = typename Config::Layout;
  using Loader = SwappedCodesLoader<Config, Groups>;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;
  static_assert(P::A::kGathered == Groups::kGathered && T.splitK == 1);

  /// The map of A, where no order names its rows.
  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         const TensorMap *maps, BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    beginStages<Config, Loader>(maps, lds);
    GroupTilesOf<Config, Groups> tiles(args, groups, block.x);
    int group = threadId() / kWarpgroup;
    constexpr int own = Loader::kRegisters,
                  others = registersBeside(own, Config::kGroups);
    if (group == Config::kGroups) {
      giveRegisters<own>();
      Loader loader(maps, lds, args, groups);
      for (WarpPlace at; tiles.take(at);)
        loader.fill(at);
      loader.finish();
    } else {
      takeRegisters<others>();
      SwappedCodesConsumer<Config, Groups> consumer(args, groups, lds,
                                                    shared.bytes);
      for (WarpPlace at; tiles.take(at);)
        consumer.tile(at, epilogue);
    }
  }

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const GroupArgs &groups,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    static_assert(Groups::kGathered);
    run(args, groups, nullptr, block, shared, epilogue);
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_CODES_H
