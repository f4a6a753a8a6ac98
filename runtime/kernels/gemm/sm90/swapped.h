//===- swapped.h - Product of some hundred rows on sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warp-specialised loop with its roles swapped: 64 rows of B per warpgroup
// are the rows of the instruction, bm rows of A its columns. So rows of A are
// padded to a multiple of 8 and not of 64, and a tile holds so many of them
// that B is read once or twice. The last tile of rows begins early enough to be
// full: the copy engine is slow where rows of a box do not exist.
//
// The blocks of a cluster share k, and finish a part of the rows each: they
// send each other their sums, which are added in a fixed order. Such blocks
// take one tile; others stay and take one after the other.
//
// Codes of B are decoded into the stages by those that fill them
// (decoded_rows.h). Their sums may have scales along k: stages of 128 of k are
// summed in the instruction, and those sums in f32 registers.
//
// The first rows of B are asked for in the L2 cache before the kernel in front
// has ended, which can change no value; those that one tile reads leave the
// cache first. Results pass through LDS, 16 rows at a time, in a slab of the
// warp's own 16 columns.
//
//   Swapped<Problem, Cluster, SharedB>::run(args, maps, block, shared,
//                                           epilogue)
//   Grid: Cluster times the tiles in x, or without a cluster any number of
//   blocks.
//   maps: A, B (of 4 bits as bytes).
//   SharedB: all matrices of a batch are multiplied by one B.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GEMM_SM90_SWAPPED_H
#define HK_KERNELS_GEMM_SM90_SWAPPED_H

#include "kernels/gemm/schedule.h"
#include "kernels/gemm/sm90/accumulate.h"
#include "kernels/gemm/sm90/decoded_rows.h"
#include "kernels/gemm/sm90/stages.h"

namespace hk {

template <class Problem, int Cluster, bool SharedB>
struct SwappedTileConfig : StagedTile<Problem, Cluster, GemmLoop::Swapped> {
  using Base = StagedTile<Problem, Cluster, GemmLoop::Swapped>;
  using P = Problem;
  using Base::D;
  using Base::kBytesB;
  using Base::kStageBytes;
  using Base::kStages;
  using Base::T;
  using typename Base::Shared;
  static constexpr bool kColumnsOfB = false;
  static constexpr OneMatrix kOne = SharedB ? OneMatrix::OfB : OneMatrix::None;
  static constexpr int kSharersOfA = 1, kSharersOfB = 1;
  /// Warpgroups that multiply, 64 rows of B each; one copies, or some decode.
  static constexpr int kGroups = T.wn, kDecoders = swappedDecoders(T);
  static constexpr int kFilling = swappedFilling(T);
  static constexpr int kThreads = (kGroups + kFilling) * kWarpgroup;
  /// Boxes of codes.
  static constexpr int kPlaces = swappedCodesPlaces(T);
  static constexpr int kBoxesA = T.bm / kGroupBoxRows;
  /// Whether B is of codes.
  static constexpr bool kDecodes = P::B::kMem != D;
  static_assert(kDecodes == (kDecoders > 0) &&
                (!kDecodes || (T.splitK == 1 && T.bm % kGroupBoxRows == 0)));
  static_assert(T.bn == 64 * kGroups && T.bm % 8 == 0 && P::B::kKContiguous &&
                (!P::kPair || kDecodes) &&
                (P::kScale == KScale::None ||
                 (P::kScale == KScale::B && kDecodes)));
  using Product = WarpgroupProduct<D, T.bm>;

  /// Rows of B that one tile reads leave the L2 cache first.
  HK_MEM static Keep keepOfB(const WarpPlace &at) {
    return at.end > T.bm ? Keep::Normal : Keep::Short;
  }

  /// Addresses in LDS: stages (B, then A), boxes of codes, a slab for each
  /// warp that multiplies, barriers.
  struct Layout {
    u32 base;

    HK_MEM explicit Layout(const Shared &lds) : base(bulkBase(lds.bytes)) {}
    HK_MEM u32 stageB(u32 stage) const { return base + stage * kStageBytes; }
    HK_MEM u32 stageA(u32 stage) const { return stageB(stage) + kBytesB; }
    HK_MEM u32 codes(u32 place) const {
      return base + kStages * kStageBytes + place * kBytesB;
    }
    HK_MEM u32 slab(int warp) const {
      return codes(kPlaces) + u32(warp * kSwappedSlabBytes);
    }
    /// A stage has been filled; every consumer of the cluster has read it.
    HK_MEM LdsBarrier full(u32 stage) const { return {bars() + stage * 8}; }
    HK_MEM LdsBarrier empty(u32 stage) const {
      return {bars() + (kStages + stage) * 8};
    }

    /// All parts that this block adds have come.
    HK_MEM LdsBarrier done() const { return {bars() + 2 * kStages * 8}; }
    /// Codes have come; they have been decoded.
    HK_MEM LdsBarrier codesFull(u32 place) const {
      return {done().at + 8 + place * 8};
    }
    HK_MEM LdsBarrier codesRead(u32 place) const {
      return codesFull(kPlaces + place);
    }

  private:
    HK_MEM u32 bars() const { return slab(kGroups * 4); }
  };
};

/// Who brings the operands of a Swapped.
template <class Config, bool Decodes = Config::kDecodes>
struct SwappedOperands {
  using Loader = BulkLoader<Config>;
};
template <class Config> struct SwappedOperands<Config, true> {
  using Loader = RowsDecoder<Config>;
};

template <class Problem, int Cluster, bool SharedB> struct Swapped {
  using P = Problem;
  using Config = SwappedTileConfig<P, Cluster, SharedB>;
  using Shared = typename Config::Shared;
  using Layout = typename Config::Layout;
  using Product = typename Config::Product;
  using Registers = typename Product::Registers;
  using Acc = typename P::Acc;
  using Ring = typename Config::Ring;
  static constexpr int kThreads = Config::kThreads;
  static constexpr GemmTile T = Config::T;
  using Loader = typename SwappedOperands<Config>::Loader;
  static constexpr bool kSharesK = Cluster > 1;
  /// Elements of k that are summed in the instruction before anything else is
  /// done with them; a tile has whole ones, with zeros behind the end.
  static constexpr int kSummed = P::kScaleB ? kBlockScaleB.depth : T.bk;
  using Turn = Turns<Config>;
  /// Sums of fp8 products are kept in f32, a stage (128 elements) at a time;
  /// products of two stages are under way where registers allow it.
  static constexpr bool kFolds = isFp8(Config::D) && !P::kScaleB;
  static constexpr bool kFoldsPairs = T.bm <= 128;
  /// The next kernel begins when this many stages are still to be asked for.
  static constexpr int kTail = 6;
  /// Whether a block may have no k.
  static constexpr bool kMayBeEmpty = T.splitK > 1 || kSharesK;
  static constexpr int kBoxes = (T.bm + kSwappedRows - 1) / kSwappedRows;
  /// Sums of a thread in a box; the last may have half of them.
  HK_MEM static constexpr int sumsOf(int box) {
    int left = T.bm / 2 - box * (kSwappedRows / 2);
    return left < kSwappedRows / 2 ? left : kSwappedRows / 2;
  }

  /// Which tiles the block takes.
  struct Tiles {
    /// A tile whose first rows may be those of the one before it, which stores
    /// them: `first` is the first of its own.
    struct Place : WarpPlace {
      int first;
    };

    PersistentSchedule schedule;
    const GemmArgs &args;
    u32 rank, next, stride;

    HK_MEM Tiles(const GemmArgs &args, u32 rank, u32 block)
        : schedule{u32((args.m + T.bm - 1) / T.bm),
                   u32((args.n + P::kCols - 1) / P::kCols),
                   u32(args.batches * T.splitK)},
          args(args), rank(rank), next(block / Cluster),
          stride(blockCountX() / Cluster) {}
    HK_MEM bool any() const { return next < schedule.count(); }
    HK_MEM bool take(Place &at) {
      if (!any())
        return false;
      TileWork work = schedule.at(next);
      next += stride;
      KRange k = rangeOfK<P>(args, work.matrix);
      int steps =
          int((k.end - k.begin + kSummed - 1) / kSummed) * (kSummed / T.bk);
      int begin = firstStep(steps, rank), end = firstStep(steps, rank + 1);
      int first = int(work.m * T.bm), rows = int(args.m);
      int full = rows < T.bm ? 0 : rows - T.bm;
      at = {{int(work.matrix), first < full ? first : full, rows,
             int(work.n * P::kCols), int(k.begin) + begin * T.bk, end - begin},
            first};
      return true;
    }

  private:
    /// Of a block of the cluster, where a box of codes begins.
    HK_MEM static int firstStep(int steps, u32 rank) {
      int first = steps * int(rank) / Cluster;
      if constexpr (Config::kDecodes && Cluster > 1)
        if (rank < Cluster)
          return first / CodesBoxes<Config>::kTogether *
                 CodesBoxes<Config>::kTogether;
      return first;
    }
  };

  using Place = typename Tiles::Place;

  template <class Epilogue>
  HK_MEM static void run(const GemmArgs &args, const TensorMap *maps,
                         BlockId block, Shared &shared,
                         const Epilogue &epilogue) {
    Layout lds(shared);
    u32 rank = Cluster > 1 ? clusterRank() : 0;
    begin(maps, lds, rank);
    int group = threadId() / kWarpgroup;
    bool leads = threadId() == Config::kGroups * kWarpgroup;
    if (leads)
      prefetch(Tiles(args, rank, block.x), maps[1], args);
    waitForLast();
    if (group >= Config::kGroups) {
      Tiles tiles(args, rank, opaqueWord(block.x));
      fill(tiles, maps, args, lds, rank);
      if constexpr (kSharesK) {
        __nvvm_bar_warp_sync(~0u);
        clusterArriveRelaxed();
      }
    } else {
      if constexpr (kSharesOut)
        takeRegisters<kOfProducts>();
      Tiles tiles(args, rank, block.x);
      consume(tiles, args, lds, shared.bytes, group, rank, epilogue);
    }
  }

private:
  /// Registers of a thread of those that multiply, where warpgroups share them
  /// out: one beside one has all that it can name.
  static constexpr bool kSharesOut = Config::kGroups + Config::kFilling > 2;
  static constexpr int kMostRegisters = 240;
  static constexpr int kLeft = registersBeside(
      Config::kFilling * Loader::kRegisters, Config::kGroups, Config::kFilling);
  static constexpr int kOfProducts =
      kLeft < kMostRegisters ? kLeft : kMostRegisters;

  /// Brings the operands, by one thread or with those that decode.
  HK_MEM static void fill(Tiles &tiles, const TensorMap *maps,
                          const GemmArgs &args, const Layout &lds, u32 rank) {
    if constexpr (kSharesOut)
      giveRegisters<Loader::kRegisters>();
    int thread = threadId() - Config::kGroups * kWarpgroup;
    if constexpr (Config::kDecodes)
      Loader(maps, lds, thread, args).run(tiles);
    else if (thread == 0)
      produce(tiles, Loader(maps, lds, rank, args), lds);
  }

  HK_MEM static void begin(const TensorMap *maps, const Layout &lds, u32 rank) {
    if (threadId() == 0) {
      maps[0].prefetch();
      maps[1].prefetch();
      initStages<Config::kStages>(lds, Loader::kArrivals, Config::kGroups * 4);
      if constexpr (kSharesK)
        lds.done().init(1);
      if constexpr (Config::kDecodes)
        HK_UNROLL for (int place = 0; place < Config::kPlaces; ++place) {
          lds.codesFull(place).init(1);
          lds.codesRead(place).init(Config::kDecoders * kGroupWarps);
        }
      publishBarriers();
      if constexpr (kSharesK)
        lds.done().expect((Cluster - 1) * bytesOf(rank));
    }
    meetCluster<Cluster>();
  }

  /// Asks for the first stages of B of the block's first tile.
  HK_MEM static void prefetch(Tiles tiles, const TensorMap &map,
                              const GemmArgs &args) {
    Place at;
    if (!tiles.take(at))
      return;
    int matrix = SharedB        ? 0
                 : T.splitK > 1 ? int(at.matrix % args.batches)
                                : at.matrix;
    int ahead = at.steps < Config::kStages ? at.steps : Config::kStages;
    if constexpr (Config::kDecodes) {
      using Boxes = CodesBoxes<Config>;
      for (int step = 0; step < ahead; step += Boxes::kTogether)
        prefetchBox(map, Boxes::placeOf(at, step));
    } else {
      for (int step = 0; step < ahead; ++step)
        prefetchBox(map, BoxPlace{at.k0 + step * T.bk, at.col, matrix});
    }
  }

  /// Lets the next kernel begin shortly before its own last stages are asked
  /// for; earlier, what that one asks for would take the place of its own.
  HK_MEM static void produce(Tiles &tiles, Loader loader, const Layout &lds) {
    Ring ring;
    for (Place at; tiles.take(at);) {
      int tail = at.steps < kTail ? 0 : at.steps - kTail;
      bool last = !tiles.any();
      for (int step = 0; step < at.steps; ++step) {
        if (last && step == tail)
          letNextBegin();
        // The first round finds all stages empty.
        lds.empty(ring.stage).wait(ring.phase ^ 1);
        loader.fill(at, step, ring.stage);
        ring.advance();
      }
    }
  }

  template <class Epilogue>
  HK_MEM static void consume(Tiles &tiles, const GemmArgs &args,
                             const Layout &lds, u8 *bytes, int group, u32 rank,
                             const Epilogue &epilogue) {
    auto *slab = reinterpret_cast<Acc *>(
        bytes + (lds.slab(waveId()) - ldsAddress(bytes)));
    Ring ring;
    Turn::begin(group);
    for (Place at; tiles.take(at);) {
      Registers d;
      if constexpr (P::kScaleB)
        multiplyScaled(args, at, lds, ring, group, d);
      else if constexpr (kFolds)
        multiplyFolded(lds, ring, at.steps, group, d);
      else
        multiply(lds, ring, at.steps, group, d);
      if constexpr (kSharesK)
        exchange(lds, rank, d);
      store(args, at, slab, d, rank, epilogue);
    }
    Turn::end(group);
  }

  /// Begins the product of the next stage, when it has come.
  HK_MEM static void beginStage(const Layout &lds, const Ring &ring, int group,
                                Registers &d, bool keep) {
    Product::begin(
        d,
        operandDescriptor(lds.stageB(ring.stage) + group * 64 * Config::kRow),
        operandDescriptor(lds.stageA(ring.stage)), keep);
  }
  /// One stage is read while the one before may end.
  HK_MEM static void multiply(const Layout &lds, Ring &ring, int steps,
                              int group, Registers &d) {
    if constexpr (kMayBeEmpty) {
      HK_UNROLL for (auto &v : d) v = 0;
    }
    u32 last = 0;
    for (int step = 0; step < steps; ++step) {
      lds.full(ring.stage).wait(ring.phase);
      beginStage(lds, ring, group, d, step != 0);
      waitProducts<1>();
      if (step > 0)
        release(lds, last);
      last = ring.stage;
      ring.advance();
    }
    waitProducts<0>();
    Product::settle(d);
    if (!kMayBeEmpty || steps > 0)
      release(lds, last);
  }
  /// The products of a stage are added while those of the next one run, of each
  /// two stages: with products under way around the loop the assembler has all
  /// of them wait, of some sizes.
  HK_MEM static void multiplyFolded(const Layout &lds, Ring &ring, int steps,
                                    int group, Registers &d) {
    Registers even;
    Ring last = ring;
    HK_UNROLL for (auto &v : d) v = 0;
    int step = 0;
    if constexpr (kFoldsPairs) {
      Registers odd;
      for (; step + 1 < steps; step += 2) {
        beginNext(lds, ring, group, even);
        beginNext(lds, ring, group, odd);
        waitProducts<1>();
        add(lds, last, even, d);
        waitProducts<0>();
        add(lds, last, odd, d);
      }
    }
    for (; step < steps; ++step) {
      beginNext(lds, ring, group, even);
      waitProducts<0>();
      add(lds, last, even, d);
    }
  }
  HK_MEM static void beginNext(const Layout &lds, Ring &ring, int group,
                               Registers &part) {
    lds.full(ring.stage).wait(ring.phase);
    beginStage(lds, ring, group, part, false);
    ring.advance();
  }
  /// Adds the products of `last`'s stage, which has been read.
  HK_MEM static void add(const Layout &lds, Ring &last, Registers &part,
                         Registers &d) {
    Product::settle(part);
    release(lds, last.stage);
    last.advance();
    HK_UNROLL for (int i = 0; i < Product::kRegisters; ++i) d[i] += part[i];
  }
  /// The warpgroups begin in turns, so that one folds while the products of the
  /// other run. A tile's rows of B have one scale for each 128 of k.
  HK_MEM static void multiplyScaled(const GemmArgs &args, const Place &at,
                                    const Layout &lds, Ring &ring, int group,
                                    Registers &d) {
    constexpr int kOfSum = kSummed / T.bk;
    static_assert(kBlockScaleB.rows % T.bn == 0 && kOfSum == 2);
    HK_UNROLL for (auto &v : d) v = 0;
    auto scales = global<const float>(args.b.fold.data) +
                  i64(at.col / kBlockScaleB.rows) * args.b.fold.strideRow;
    int block = at.k0 / kSummed, last = int(args.k - 1) / kSummed;
    float next = scales[block < last ? block : last];
    Registers part;
    for (int step = 0; step < at.steps; step += kOfSum) {
      Ring second = ring;
      second.advance();
      lds.full(ring.stage).wait(ring.phase);
      lds.full(second.stage).wait(second.phase);
      Turn::take(group);
      beginStage(lds, ring, group, part, false);
      beginStage(lds, second, group, part, true);
      Turn::give(group);
      float scale = next;
      ++block;
      next = scales[block < last ? block : last];
      waitProducts<0>();
      Product::settle(part);
      release(lds, ring.stage);
      release(lds, second.stage);
      ring = second;
      ring.advance();
      HK_UNROLL for (int i = 0; i < Product::kRegisters; ++i) d[i] =
          __builtin_fmaf(part[i], scale, d[i]);
    }
  }
  HK_MEM static void release(const Layout &lds, u32 stage) {
    lds.empty(stage).template arriveEverywhere<1>();
  }

  /// Sums of kSwappedRows rows of A, of all threads that multiply.
  static constexpr int kBoxBytes = kSwappedRows * T.bn * 4;
  /// Bytes of the sums that a block finishes, those of every Cluster-th box.
  HK_MEM static u32 bytesOf(u32 rank) {
    u32 boxes = (kBoxes - rank + Cluster - 1) / Cluster;
    bool hasLast = rank == (kBoxes - 1) % Cluster;
    return boxes * kBoxBytes -
           (hasLast ? kBoxes * kBoxBytes - T.bm * T.bn * 4 : 0);
  }
  static constexpr int kMostBoxes = (kBoxes + Cluster - 1) / Cluster;
  static_assert(!kSharesK || (Cluster - 1) * kMostBoxes * kBoxBytes <=
                                 Config::kStages * Config::kStageBytes);

  /// Adds the sums of the other blocks of the cluster to those of the boxes
  /// that this one finishes, in the order of the blocks. Parts lie where the
  /// stages were; threads of the same place have the same sums.
  HK_MEM static void exchange(const Layout &lds, u32 rank, Registers &d) {
    // All stages have been read.
    clusterArriveRelaxed();
    clusterWait();
    u32 own = lds.stageB(0) + threadId() * 8;
    HK_UNROLL for (int box = 0; box < kBoxes; ++box) {
      u32 owner = box % Cluster;
      if (owner == rank)
        continue;
      // The parts of other ranks, in their order.
      u32 slot = (rank < owner ? rank : rank - 1) * kMostBoxes + box / Cluster;
      u32 to = clusterAddress(own + slot * kBoxBytes, owner);
      u32 done = clusterAddress(lds.done().at, owner);
      HK_UNROLL for (int i = 0; i < sumsOf(box); i += 2) {
        int e = box * (kSwappedRows / 2) + i;
        sendLds8(to + i / 2 * Config::kGroups * kWarpgroup * 8,
                 bitCast<u32>(d[e]), bitCast<u32>(d[e + 1]), done);
      }
    }
    lds.done().wait(0);
    HK_UNROLL for (int box = 0; box < kBoxes; ++box) {
      if (u32(box % Cluster) != rank)
        continue;
      HK_UNROLL for (int other = 0; other < Cluster - 1; ++other) {
        u32 from = own + (other * kMostBoxes + box / Cluster) * kBoxBytes;
        HK_UNROLL for (int i = 0; i < sumsOf(box); i += 2) {
          int e = box * (kSwappedRows / 2) + i;
          f32x2 part =
              loadLds8(from + i / 2 * Config::kGroups * kWarpgroup * 8);
          d[e] += part[0];
          d[e + 1] += part[1];
        }
      }
    }
  }

  /// Columns of a warp, whose 16 rows of B are of a pair eight of each half.
  static constexpr int kColumns = P::kPair ? 8 : 16;
  static constexpr int kPitch = 16 + kSwappedPad;
  static_assert(kSwappedRows * kPitch * 4 == kSwappedSlabBytes);

  template <class Epilogue>
  HK_MEM static void store(const GemmArgs &args, const Place &at, Acc *slab,
                           const Registers &d, u32 rank,
                           const Epilogue &epilogue) {
    constexpr int V = Epilogue::kVec, perRow = kColumns / V;
    static_assert(Epilogue::kGroup == 0 && kColumns % V == 0);
    int lane = laneId(), first = at.col + waveId() * kColumns;
    HK_UNROLL for (int box = 0; box < kBoxes; ++box) {
      // Whole warps go on.
      int row = at.row + box * kSwappedRows;
      if (row + kSwappedRows <= at.first || row >= at.end ||
          (kSharesK && u32(box % Cluster) != rank))
        continue;
      waveBarrier();
      HK_UNROLL for (int i = 0; i < sumsOf(box); ++i) {
        int r = i / 4 * 8 + lane % 4 * 2 + i % 2, c = lane / 4 + i / 2 % 2 * 8;
        slab[r * kPitch + c] = d[box * (kSwappedRows / 2) + i];
      }
      waveBarrier();
      _Pragma("unroll 1") for (int x = lane; x < kSwappedRows * perRow;
                               x += kWave) {
        int r = x / perRow, c = x % perRow * V;
        GemmOutput<Acc, V> out;
        out.acc = readSlab<V>(slab + r * kPitch + c);
        out.pair = 0;
        if constexpr (P::kPair)
          out.pair = readSlab<V>(slab + r * kPitch + kColumns + c);
        out.stat = 0;
        int col = first + c;
        runEpilogue<V>(epilogue, at.matrix, row + r, col, args.n,
                       r < 2 * sumsOf(box) && row + r >= at.first &&
                           row + r < at.end && col < args.n,
                       out);
      }
    }
  }
};

} // namespace hk

#endif // HK_KERNELS_GEMM_SM90_SWAPPED_H
