//===- RowVariants.cpp - Tiles of row-wise kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU a chunk is 16 bytes of the narrowest operand. With statistics of
// whole rows a block must hold a row; without, the grid cuts rows too. The host
// has one thread per block, which keeps a row in its cache if it is short.
//
//===----------------------------------------------------------------------===//

#include "RowVariants.h"

#include "../TileReport.h"
#include "RowEmitter.h"

#include "hk/Contract/Calibration.h"
#include "hk/Contract/Capability.h"
#include "hk/Contract/Cost.h"
#include "hk/Contract/LdsRowwise.h"
#include "hk/Contract/LdsTopk.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::hk;
using ::hk::RowTile;
using ::hk::RowwiseCalibration;
using ::hk::Target;

/// Elements of f32 that a thread may keep of one value.
static constexpr int64_t kMaxKept = 64;
/// Most threads of a block whose rows have as many threads as chunks.
static constexpr int64_t kDenseThreads = 256;
/// What a larger block must fill more of its waves to be worth it.
static constexpr double kWorthLargeBlock = 1. / 32;
/// Elements of a row that the host keeps in a buffer.
static constexpr int64_t kMaxHostRow = 16384;
/// Elements a host block should have, so that starting one costs nothing.
static constexpr int64_t kHostBlock = 32768;

static RankedTile hostTile(const RowPlan &plan) {
  int64_t width = plan.widest();
  int64_t segment = plan.segmentSize();
  int64_t vec = 16;
  if (segment > 16 && segment <= 128 && llvm::isPowerOf2_64(segment))
    vec = segment;
  int64_t exact = plan.commonVec(vec);
  // An odd width ends in a partial vector; an inner cut does not allow that.
  if (exact >= 4 || plan.segmentSize() != 0)
    vec = exact;
  RankedTile ranked;
  int64_t chunks = width ? llvm::divideCeil(width, vec) : 0;
  int64_t rows = width ? std::clamp<int64_t>(
                             kHostBlock / std::max<int64_t>(width, 1), 1, 256)
                       : 1;
  int64_t slots = width && width <= kMaxHostRow ? chunks : 0;
  if (!plan.needsWholeRows())
    slots = std::max<int64_t>(
        1, std::min<int64_t>(width ? chunks : kHostBlock, kHostBlock / vec));
  ranked.tile = {int32_t(rows), 1, int32_t(vec), int32_t(slots)};
  return ranked;
}

/// Registers that the loads of one loop over the row's inputs take, and those
/// of operands that are as wide but the same for each row.
static std::pair<int64_t, int64_t>
loadWords(const RowPlan &plan, const RowTile &tile, int64_t chunkElements) {
  double row = plan.inputBitsPerElement() * double(chunkElements);
  double shared = plan.sharedBitsPerElement() * double(chunkElements);
  return {llvm::divideCeil(int64_t(row) * tile.slots, 32),
          llvm::divideCeil(int64_t(shared) * tile.slots, 32)};
}

/// Registers that shifted chunks take besides: which lanes are there, and both
/// vectors that one of a shared operand lies in. With fewer ptxas spills.
static constexpr int64_t kShiftedWords = 16;

/// Blocks that share a compute unit, by the registers of a thread: addresses
/// and indices, what is loaded before it is used, and temporaries.
static int64_t blocksBesideEachOther(const RowPlan &plan, const RowTile &tile,
                                     const RowwiseCalibration &measured) {
  bool pairs = plan.pairsAllHeads(tile.vec);
  auto [row, shared] = loadWords(plan, tile, pairs ? 2 * tile.vec : tile.vec);
  int64_t words = measured.baseWords + row + std::min(shared, kMaxEarlyWords);
  if (plan.stats().empty())
    words += pairs ? measured.pairWords + 2 * tile.vec : measured.splitWords;
  else if (tile.cluster == 1)
    words += measured.reducingWords;
  if (plan.shiftedVec() == tile.vec)
    words += kShiftedWords;
  int64_t perBlock = int64_t(llvm::alignTo(words, 8)) * tile.threads;
  int64_t blocks = std::min<int64_t>(measured.registers / perBlock,
                                     measured.threads / tile.threads);
  return std::clamp<int64_t>(blocks, 1, 32);
}

/// How much longer a kernel takes by an operation that a thread does once, if
/// it has one chunk.
static constexpr double kOncePerThread = 0.01;

/// How much longer a kernel takes because too little is under way.
static double starvation(const RowPlan &plan, const RowTile &tile,
                         const Target &target, int64_t width) {
  const RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  if (!measured || plan.stats().empty())
    return 1;
  double latencies = measured->latenciesPerRow +
                     double(std::min<size_t>(plan.stats().size(), 2));
  double needed = target.memoryGBps * 1e3 / target.computeUnits * latencies *
                  ::hk::kMemoryMicroseconds;
  double underWay = double(minBlocksOf(plan, tile, target) * tile.rows) *
                    double(width) * plan.bytesPerRowElement();
  return std::pow(std::max(1.0, needed / underWay), measured->starvationPower);
}

/// Idle lanes, latency and block overhead of a tile that holds a row of
/// `width`. The factors were fitted to times of an H200.
static double modelTime(const RowPlan &plan, const RowTile &tile,
                        const Target &target, int64_t width, int64_t chunks) {
  int64_t perRow = tile.threadsPerRow();
  int64_t rounds = llvm::divideCeil(chunks, perRow);
  bool split = plan.stats().empty();
  if (split)
    rounds = llvm::alignTo(rounds, tile.slots);
  double busy = double(chunks) / double(rounds * perRow);
  const RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  bool fitted = measured && !split;
  double idle = fitted ? measured->idleShare : 0.5;
  double partial = 1;
  if (::hk::boundByIssue(target)) {
    idle = 0.9;
    // Lanes without a chunk in the last slot are told apart.
    if (rounds * perRow != chunks)
      partial = 1.1;
    busy *= double(tile.threads) /
            double(llvm::alignTo(tile.threads, target.waveSize));
  }
  double bytes = double(width) * plan.bytesPerRowElement() * 4096;
  double time =
      bytes / (target.memoryGBps * 1e3) / (1 - idle + idle * busy) * partial;
  if (tile.slots == 0)
    return time * (1.3 + 32.0 / double(perRow));
  // Several rows are under way on a compute unit: 270 us where a row that is
  // alone on it, next below, took 352.
  if (tile.cluster > 1)
    return time * 0.86;
  // What is not kept is read again, mostly from L2.
  if (isResident(plan, tile)) {
    double again = 1 - double(tile.slots) / double(rounds);
    return time * (1.05 + 0.28 * std::max(0.0, again));
  }
  // A thread that moves little does not pay for its start and its part in the
  // statistics; one that moves much starts late with what it needs last.
  double moved = plan.bytesPerRowElement() * double(width) / double(chunks) *
                 double(tile.slots);
  double start = moved < 64                 ? 0.15 * (64 / moved - 1)
                 : split && tile.slots == 1 ? 0.02
                                            : 0;
  // What a thread does once is little for each of many chunks.
  if (::hk::boundByIssue(target))
    start += kOncePerThread * double(plan.workPerThread()) / double(tile.slots);
  double depth = (fitted ? measured->chunkShare : 0.005) * double(tile.slots);
  double wide = perRow > 512 ? 0.03 : 0;
  double small = tile.threads < 128 ? 0.05 : 0;
  return time * (1.0 + start + depth + wide + small) *
         starvation(plan, tile, target, width);
}

/// Whether a thread can keep many chunks of a row. What is computed would stay
/// beside what it is computed from, and longer bodies are not unrolled over so
/// many of them.
static bool keepsOnlyOperands(const RowPlan &plan, int64_t vec) {
  int64_t perChunk = plan.statChunkBytes(vec);
  return perChunk != 0 && perChunk <= ::hk::kRowRegisterBytes &&
         plan.workPerElement() <= 4 &&
         llvm::all_of(plan.stats(), [](const RowStat &stat) {
           return isa<BlockArgument>(stat.input);
         });
}

/// A row that is too long for the registers of a block: as much as fits stays
/// there and in LDS.
static std::optional<RowTile> residentTile(const RowPlan &plan,
                                           const Target &target, int64_t vec,
                                           int64_t chunks) {
  // Rows of odd widths are read element by element: too many of them.
  int64_t perChunk = plan.statChunkBytes(vec);
  if (!keepsOnlyOperands(plan, vec) ||
      perChunk < 16 * int64_t(plan.statOperands().size()))
    return std::nullopt;
  int64_t rounds = chunks / ::hk::kResidentThreads; // whole ones
  RowTile tile{1, ::hk::kResidentThreads, int32_t(vec), 0};
  int64_t registers = ::hk::kRowRegisterBytes / perChunk;
  int64_t free =
      target.ldsBytes - ::hk::rowwiseLds(target, tile, plan.stats().size(), 0);
  // Strips of two chunks at least.
  int64_t lds = free / (::hk::kResidentThreads * perChunk) / 2 * 2;
  tile.slots = int32_t(std::min(rounds, registers + lds));
  if (!isResident(plan, tile))
    return std::nullopt;
  return tile;
}

/// A row that is too long for the registers of a block: in those of a cluster.
static std::optional<RowTile> clusterTile(const RowPlan &plan,
                                          const Target &target, int64_t vec,
                                          int64_t chunks) {
  const RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  if (target.maxCluster() == 1 || !measured || !keepsOnlyOperands(plan, vec))
    return std::nullopt;
  RowTile tile{1, measured->clusterThreads, int32_t(vec), 0,
               target.maxCluster()};
  int64_t rounds = llvm::divideCeil(chunks, tile.threadsPerRow());
  // An element that is read alone has a register of its own.
  int64_t perChunk = std::max<int64_t>(plan.statChunkBytes(vec),
                                       4 * int64_t(plan.statOperands().size()));
  if (rounds < measured->leastClusterChunks || rounds * vec > kMaxKept ||
      rounds * perChunk > ::hk::kRowRegisterBytes)
    return std::nullopt;
  tile.slots = int32_t(rounds);
  return tile;
}

/// Vectors that a thread may have in flight: unrolled code keeps them all in
/// registers, so kernels that do much with each of them get fewer.
static int64_t maxSlotsOf(const RowPlan &plan, const Target &target,
                          int64_t vec) {
  int64_t work = plan.workPerElement();
  if (::hk::boundByIssue(target))
    work -= plan.workPerThread();
  if (plan.stats().empty())
    return work <= 6 ? 4 : work <= 16 ? 2 : 1;
  // Where the vector unit bounds, registers are cheaper than lanes without a
  // chunk: 98 chunks are 16 lanes of seven, not 64 of two.
  if (::hk::boundByIssue(target))
    return std::max<int64_t>(1, work <= 24 ? kMaxKept / vec : 4);
  int64_t kept = std::max<int64_t>(1, plan.stats().size());
  int64_t slots = std::max<int64_t>(1, kMaxKept / vec / kept);
  int64_t most = work <= 12 ? slots : work <= 24 ? 2 : 1;
  return std::min(slots, most);
}

/// Whether lanes without a chunk take part in what groups exchange: not where
/// most lanes would have none.
static bool repeatsChunks(const Target &target, int64_t chunks, int64_t lanes) {
  return ::hk::boundByIssue(target) && 2 * chunks > lanes;
}

/// Lanes that share a segment of a row of `chunks`, of which every thread of a
/// row has to have its part: with others each thread would reduce all of it.
static int64_t segmentLanes(const RowPlan &plan, const Target &target,
                            int64_t chunks, int64_t vec) {
  if (plan.pairsAllHeads(int(vec)))
    vec *= 2;
  int64_t segment = plan.segmentSize(), lanes = segment / vec;
  bool exchanged =
      segment % vec == 0 && llvm::isPowerOf2_64(lanes) &&
      lanes <= target.waveSize &&
      (chunks % lanes == 0 || repeatsChunks(target, chunks, lanes));
  return exchanged ? lanes : 1;
}

/// Of short rows that no statistic needs as a whole: as many threads for each
/// as it has chunks or parts of them, and so many rows that few lanes are idle:
/// of a usual block, and of a larger one where that fills its waves better (44
/// threads are 11 sixteenths of a wave).
static void addDenseTiles(const Target &target, int64_t chunks,
                          int64_t maxSlots, int64_t lanes, int vec,
                          llvm::function_ref<void(const RowTile &)> rank) {
  for (int64_t slots = 1; slots <= std::min(chunks, maxSlots); ++slots) {
    int64_t perRow =
        llvm::alignTo(llvm::divideCeil(chunks, slots), uint64_t(lanes));
    if (slots > 1 && (slots - 1) * perRow >= chunks)
      continue; // the last slot is empty
    auto fill = [&](int64_t rows) {
      int64_t threads = rows * perRow;
      return double(threads) / double(llvm::alignTo(threads, target.waveSize));
    };
    auto add = [&](int64_t rows) {
      rank({int32_t(rows), int32_t(rows * perRow), int32_t(vec),
            int32_t(slots)});
    };
    int64_t best = 1;
    for (int64_t rows = 1; rows * perRow <= kDenseThreads; ++rows)
      if (fill(rows) >= fill(best))
        best = rows;
    add(best);
    for (int64_t rows = best + 1;
         ::hk::boundByIssue(target) && rows * perRow <= target.maxThreads;
         ++rows)
      if (fill(rows) > fill(best) + kWorthLargeBlock) {
        add(rows);
        break;
      }
  }
}

/// The numbers of rows that a block may take, each of `perRow` threads, which
/// keep their chunks if `keeps`. `asked`: see gpuTiles.
static SmallVector<int64_t, 3> rowsOfBlock(const RowPlan &plan,
                                           const Target &target, int64_t perRow,
                                           bool keeps, int64_t asked) {
  SmallVector<int64_t, 3> counts{perRow >= 128 ? 1 : 256 / perRow};
  if (perRow >= 128 || !keeps)
    return counts;
  // Rows of one block wait for each other; what that costs was measured.
  bool few = !plan.stats().empty() && ::hk::rowwiseCalibration(target);
  if (few && 128 % perRow == 0)
    counts.insert(counts.begin(), 128 / perRow);
  if (asked > 256 && asked % perRow == 0)
    counts.push_back(asked / perRow);
  return counts;
}

/// The fewest threads that share a row. Fewer neighbours than this do not fill
/// a memory transaction; without statistics there is little reason for less
/// than a block to share a row.
static int64_t leastThreads(const RowPlan &plan, const Target &target,
                            int64_t chunks, int64_t lanes) {
  bool wholeRows = !plan.stats().empty();
  int64_t least =
      std::min<int64_t>(wholeRows ? 8 : 128, llvm::PowerOf2Ceil(chunks));
  if (::hk::boundByIssue(target) && wholeRows)
    least = std::max(lanes, std::min<int64_t>(least, 4));
  return least;
}

/// By how many threads a row is shared, from `least` to as many as have a
/// chunk, and how many slots each of them has; 0: they keep nothing.
static void
addSharedRows(const RowPlan &plan, const Target &target, int64_t chunks,
              int64_t least, int64_t maxSlots, int64_t vec,
              llvm::function_ref<void(int64_t perRow, int64_t slots)> add) {
  bool wholeRows = !plan.stats().empty();
  for (int64_t perRow = least; perRow <= target.maxThreads;
       perRow = perRow < target.waveSize ? perRow * 2
                                         : perRow + target.waveSize) {
    if (perRow > least &&
        (perRow <= target.waveSize ? perRow / 2 >= chunks
                                   : perRow - target.waveSize >= chunks))
      break;
    int64_t rounds = llvm::divideCeil(chunks, perRow);
    if (!wholeRows)
      for (int64_t slots = 1; slots <= std::min(rounds, maxSlots); slots *= 2)
        add(perRow, slots);
    else if (rounds <= (perRow > 512 ? maxSlots / 2 : maxSlots) &&
             rounds * plan.statChunkBytes(vec) <= ::hk::kRowRegisterBytes)
      // The registers of a thread of a large block are half as many.
      add(perRow, std::max<int64_t>(rounds, 1)); // of an empty row one, too
    else if (perRow == 256 || perRow == target.maxThreads)
      add(perRow, 0);
  }
}

/// Chunks of the widest row, of `vec` elements, of two vectors that are half a
/// head apart, or of a group. `shifted`: see gpuTiles.
static int64_t chunksOfRow(const RowPlan &plan, const Target &target,
                           int64_t vec, int64_t shifted) {
  bool pairs = plan.pairsAllHeads(int(vec));
  int64_t width = plan.widest();
  if (int64_t group = plan.groupChunk(target, vec))
    return llvm::divideCeil(width, group);
  return llvm::divideCeil(shifted ? width + vec - 1 : width,
                          pairs ? 2 * vec : vec);
}

/// Elements of a chunk where lanes share groups: two vectors, as each lane of a
/// group makes its scale, which takes as long as the elements of a vector.
static int64_t groupVec(const RowPlan &plan, const Target &target,
                        int64_t vec) {
  int64_t group = plan.segmentSize(), wide = plan.commonVec(2 * vec);
  // Two vectors of each half of a head leave registers for two waves.
  if (plan.pairsAllHeads(int(vec)))
    return vec;
  bool pays = ::hk::boundByIssue(target) && group >= 4 * vec &&
              group % wide == 0 && vec * plan.rowElementBytes() == 16;
  return pays ? wide : vec;
}

/// `shifted`: the elements of a chunk that begins where a vector of memory
/// does; 0 where chunks begin with the row.
/// `asked`: threads of a block, of which short rows have a part each.
static SmallVector<RankedTile> gpuTiles(const RowPlan &plan,
                                        const Target &target, int64_t shifted,
                                        int64_t asked) {
  SmallVector<RankedTile> tiles;
  int64_t width = plan.widest();
  int64_t vec = shifted ? shifted : plan.tailedVec(target);
  if (vec == 0)
    vec = plan.commonVec(16 / plan.rowElementBytes());
  int64_t vector = vec;
  if (!shifted && plan.tailedVec(target) == 0)
    vec = groupVec(plan, target, vec);
  bool wholeRows = !plan.stats().empty();
  int64_t maxSlots = maxSlotsOf(plan, target, vec);
  // With three chunks of two vectors a kernel has registers for three waves.
  if (vec != vector)
    maxSlots = std::min(maxSlots, kMaxKept / 2 / vec);
  if (width == 0) {
    // Dynamic: rows that nothing is known of are looped over.
    RankedTile ranked;
    ranked.tile = {1, 256, int32_t(vec), int32_t(wholeRows ? 0 : maxSlots)};
    tiles.push_back(ranked);
    return tiles;
  }
  int64_t chunks = chunksOfRow(plan, target, vec, shifted);
  int64_t lanes = segmentLanes(plan, target, chunks, vec);
  auto rank = [&](const RowTile &tile) {
    RankedTile ranked;
    ranked.tile = tile;
    ranked.microseconds = modelTime(plan, tile, target, width, chunks);
    tiles.push_back(ranked);
  };
  if (::hk::boundByIssue(target) && !wholeRows && chunks <= kDenseThreads &&
      !asked) {
    // Few rows do not fill the chip: the latency of a thread is their time.
    std::optional<int64_t> rows = RowPlan::flatSize(plan.rows());
    if (rows && *rows * chunks < int64_t(target.computeUnits) * kDenseThreads)
      maxSlots = 1;
    addDenseTiles(target, chunks, maxSlots,
                  std::lcm(lanes, plan.angleChunks(vec)), int(vec), rank);
    return tiles;
  }
  auto add = [&](int64_t perRow, int64_t slots) {
    for (int64_t rows : rowsOfBlock(plan, target, perRow, slots != 0, asked))
      rank({int32_t(rows), int32_t(rows * perRow), int32_t(vec),
            int32_t(slots)});
  };
  int64_t least = leastThreads(plan, target, chunks, lanes);
  addSharedRows(plan, target, chunks, least, maxSlots, vec, add);
  // A thread of a short row pays for finding its row, so idle ones cost: on an
  // H100 a rotary embedding of 12 chunks took 44 us instead of 55.
  if (!wholeRows && chunks < target.waveSize && !llvm::isPowerOf2_64(chunks))
    addDenseTiles(target, chunks, /*maxSlots=*/1, lanes, int(vec), rank);
  bool isLong = wholeRows && llvm::all_of(tiles, [](const RankedTile &ranked) {
                  return ranked.tile.slots == 0;
                });
  // On an H100 softmax of 50257 took 376 us shifted, in a cluster, 509 us in
  // strips, and 379 us element by element.
  if (isLong && shifted)
    return gpuTiles(plan, target, /*shifted=*/0, asked);
  if (isLong)
    for (std::optional<RowTile> tile : {residentTile(plan, target, vec, chunks),
                                        clusterTile(plan, target, vec, chunks)})
      if (tile)
        rank(*tile);
  return tiles;
}

/// Elements of a row that a thread of a wave selects from in registers, and
/// how many a thread should have when there are many rows: more of them make
/// the rounds longer, fewer use more lanes for the same exchanges.
static constexpr int64_t kMaxSelectable = 64, kSelectable = 16;
/// Rounds over the elements of a thread, beyond which sorting digit by digit is
/// quicker.
static constexpr int64_t kMaxSelectSteps = 4096;

/// Most elements that a selection of the kernel takes.
static int64_t mostSelected(const RowPlan &plan) {
  int64_t most = 1;
  for (const RowSelection &selection : plan.selections())
    if (auto topk = dyn_cast<TopkOp>(selection.op))
      most = std::max(most, topk.getK());
  return most;
}

/// Tiles of a kernel with selections: a row in the registers of a wave or of a
/// part of one, or read several times by a block.
static SmallVector<RankedTile> selectionTiles(const RowPlan &plan,
                                              const Target &target,
                                              std::optional<int64_t> asked) {
  SmallVector<RankedTile> tiles;
  int64_t vec = plan.commonVec(16 / plan.rowElementBytes());
  int64_t width = plan.widest(), k = mostSelected(plan);
  auto add = [&](int64_t perRow, int64_t threads, int64_t slots) {
    int64_t rounds = llvm::divideCeil(width, perRow * vec);
    RankedTile ranked;
    ranked.tile = {int32_t(threads / perRow), int32_t(threads), int32_t(vec),
                   int32_t(slots)};
    // Per round a thread looks at all its elements five times and the lanes of
    // the row exchange twice, which some chips do in one instruction for a
    // whole wave; a block without slots reads the row twice.
    double elements = double(rounds * vec), exchanges = llvm::Log2_64(perRow);
    if (::hk::reducesWaveAtOnce(target) && perRow == target.waveSize)
      exchanges = 1;
    double perThread = slots ? double(k) * (5 * elements + 6 * exchanges)
                             : 2.0 * 12 * elements + 2000;
    ranked.microseconds = perThread * double(perRow) * 4096 /
                          (double(target.computeUnits) * 128 * 1500);
    tiles.push_back(ranked);
  };
  int64_t chunks = llvm::divideCeil(width, vec);
  for (int64_t perRow = 1; width != 0 && perRow <= target.waveSize;
       perRow *= 2) {
    int64_t rounds = llvm::divideCeil(chunks, perRow);
    if (rounds * vec > kMaxSelectable || rounds * vec * k > kMaxSelectSteps)
      continue;
    bool last = perRow == target.waveSize || perRow >= chunks;
    if (last || rounds * vec <= kSelectable)
      add(perRow, asked.value_or(256), rounds);
    // One wave alone has the shortest way for few rows.
    if (last && !asked)
      add(perRow, target.waveSize, rounds);
    if (last)
      break;
  }
  if (tiles.empty())
    for (int64_t threads : {256, 1024})
      if (threads <= target.maxThreads)
        add(threads, threads, 0);
  return tiles;
}

/// The best tile of a usual block, for few rows, where the best one is a large
/// block of many: those leave compute units idle.
static std::optional<size_t> usualBlock(const RowPlan &plan,
                                        ArrayRef<RankedTile> tiles, size_t best,
                                        bool asked) {
  std::optional<size_t> usual;
  const RowTile &large = tiles[best].tile;
  if (asked || plan.needsWholeRows() || large.rows == 1 ||
      large.threads <= kDenseThreads)
    return usual;
  for (auto [i, ranked] : llvm::enumerate(tiles))
    if (ranked.verdict.accepted() && ranked.tile.threads <= kDenseThreads &&
        (!usual || ranked.microseconds < tiles[*usual].microseconds))
      usual = i;
  return usual;
}

SmallVector<RankedTile>
mlir::hk::rankTiles(const RowPlan &plan, const Target &target,
                    llvm::function_ref<bool(const RowTile &)> spills,
                    SmallVector<size_t> &chosen,
                    std::optional<int64_t> threads) {
  if (target.arch == ::hk::Arch::Host) {
    chosen.push_back(0);
    return {hostTile(plan)};
  }
  bool selects = !plan.selections().empty();
  // Not measured on AMD, where some of these kernels take 152 registers.
  int64_t shifted = ::hk::rowwiseCalibration(target) ? plan.shiftedVec() : 0;
  SmallVector<RankedTile> tiles =
      selects           ? selectionTiles(plan, target, threads)
      : plan.exchange() ? exchangeTiles(plan, target)
                        : gpuTiles(plan, target, shifted, threads.value_or(0));
  auto judge = [&](RankedTile &ranked) {
    ranked.ldsBytes = rowLds(plan, target, ranked.tile);
    ranked.verdict = checkTile(target, ranked.ldsBytes, spills(ranked.tile));
    return ranked.verdict.accepted();
  };
  if (llvm::count_if(tiles, judge) == 0 && !selects && !plan.exchange()) {
    // Nothing asks for fewer registers.
    RankedTile &last = tiles.emplace_back();
    last.tile = {1, 256, 1, plan.stats().empty() ? 1 : 0};
    judge(last);
  }
  if (threads)
    llvm::erase_if(tiles, [&](const RankedTile &ranked) {
      return ranked.tile.threads != *threads || ranked.tile.cluster > 1;
    });
  auto perRow = [&](size_t i) { return tiles[i].tile.threadsPerRow(); };
  std::optional<size_t> best, widest;
  for (auto [i, ranked] : llvm::enumerate(tiles)) {
    if (!ranked.verdict.accepted())
      continue;
    if (!best || ranked.microseconds < tiles[*best].microseconds)
      best = i;
    // With fewer rows than compute units the latency of one row is the time.
    auto spread = [&](const RowTile &tile) {
      return std::pair(tile.threadsPerRow(), -tile.threads);
    };
    if (!widest || spread(ranked.tile) > spread(tiles[*widest].tile))
      widest = i;
  }
  if (!best)
    return tiles;
  // With fewer rows than compute units the latency of one row is the time. Up
  // to four chunks per thread are in flight together and cost nothing, but a
  // selection is quicker with every other lane.
  bool wider = selects || plan.exchange() ? *widest != *best
                                          : perRow(*widest) > 4 * perRow(*best);
  if (wider && plan.needsWholeRows()) {
    // A compute unit runs four waves side by side.
    bool wave = selects && ::hk::topkInWave(target, tiles[*widest].tile);
    tiles[*widest].maxRows = target.computeUnits * (wave ? 4 : 1);
    chosen.push_back(*widest);
  }
  if (std::optional<size_t> usual =
          usualBlock(plan, tiles, *best, threads.has_value())) {
    tiles[*usual].maxRows = target.computeUnits * tiles[*best].tile.rows;
    chosen.push_back(*usual);
  }
  chosen.push_back(*best);
  return tiles;
}

int64_t mlir::hk::minBlocksOf(const RowPlan &plan, const RowTile &tile,
                              const Target &target) {
  if (target.arch == ::hk::Arch::Host)
    return 1;
  if (isResident(plan, tile))
    return 1;
  if (plan.exchange())
    return std::max<int64_t>(1, 1024 / tile.threads);
  const RowwiseCalibration *measured = ::hk::rowwiseCalibration(target);
  if (measured && plan.selections().empty() && tile.slots > 0)
    return blocksBesideEachOther(plan, tile, *measured);
  // 1024 threads per compute unit leave 64 registers of 65,536 to each. Tiles
  // that keep more and kernels that do more need more.
  int64_t work = plan.workPerElement(), kept = tile.slots * tile.vec;
  if (!plan.selections().empty())
    kept *= 2; // the keys
  int64_t threads = work <= 8 && kept <= 32    ? 1024
                    : work <= 20 && kept <= 64 ? 512
                                               : 256;
  int64_t blocks = threads / tile.threads;
  if (int64_t lds = rowLds(plan, target, tile))
    blocks = std::min(blocks, target.ldsBytes / lds);
  return std::max<int64_t>(1, blocks);
}
