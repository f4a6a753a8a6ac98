//===- RowwiseFamily.cpp - The row-wise family -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Match, tiles and emission behind the interface that fusion, tile selection
// and the driver use.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "RowCost.h"
#include "RowEmitter.h"
#include "RowPlan.h"
#include "RowVariants.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/Calibration.h"
#include "hk/Contract/Cost.h"
#include "hk/Contract/Exchange.h"
#include "hk/Families/KernelExchange.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

std::string printTile(const ::hk::RowTile &tile) {
  return ("rows " + Twine(tile.rows) + ", threads " + Twine(tile.threads) +
          ", vec " + Twine(tile.vec) + ", slots " + Twine(tile.slots) +
          (tile.cluster > 1 ? ", cluster " + Twine(tile.cluster) : Twine()))
      .str();
}

/// The last dim of the widest result.
DimName widthOf(ArrayRef<Operation *> ops, const DimSymbols &dims) {
  DimName widest = 1;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (ArrayRef<DimName> shape = dims.shape(result); !shape.empty())
        widest = shape.back() < 0 || widest < 0
                     ? std::min(widest, shape.back())
                     : std::max(widest, shape.back());
  return widest;
}

/// How many times as wide the rows of one kernel must be as those of another,
/// for both to be problems of a launch: 56 paid, 3 did in one of two cases
/// (benchmarks/results/h100-fusion.md).
constexpr int64_t kOtherWidth = 8;

/// Whether `a` and `b`, which share their rows, may become two problems of a
/// launch, each with a tile of its own, on a chip where that was measured: rows
/// of very different widths, of which nothing is read twice then, and kernels
/// that write no state.
bool mayBeProblems(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                   const FusionContext &context) {
  llvm::SmallDenseSet<Value> read;
  for (Operation *op : a)
    for (Value operand : op->getOperands())
      read.insert(rootOfViews(operand));
  // A last dim of dynamic size is that of a transposed scale, or of rows that
  // have no cost to compare.
  auto widest = [&](ArrayRef<Operation *> ops) {
    DimName most = 0;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (ArrayRef<DimName> shape = context.dims.shape(result);
            !shape.empty())
          most = std::max(most, shape.back());
    return most;
  };
  DimName width = widest(a), other = widest(b);
  auto writesState = [](Operation *op) { return isa<StateOpInterface>(op); };
  return ::hk::rowwiseCalibration(context.target) &&
         std::min(width, other) > 0 &&
         std::max(width, other) >= kOtherWidth * std::min(width, other) &&
         llvm::none_of(a, writesState) && llvm::none_of(b, writesState) &&
         llvm::none_of(b, [&](Operation *op) {
           return llvm::any_of(op->getOperands(), [&](Value operand) {
             return read.contains(rootOfViews(operand));
           });
         });
}

class RowwiseFamily : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::rowwise; }

  Verdict canStart(Operation *op, const FusionContext &context) const override {
    if (auto sum = dyn_cast<AllReduceOp>(op))
      if (Verdict kernel = judgeKernelExchange(sum, context.target);
          !kernel.accepted())
        return kernel;
    RowDims rows;
    return matchRows({op}, context.dims, rows);
  }

  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    if (isa<AllReduceOp>(op))
      return Verdict::refuse(Reason::OtherFamily,
                             "an exchange with other ranks begins a launch");
    SmallVector<Operation *> all(group);
    all.push_back(op);
    RowDims rows;
    Verdict joined = matchRows(all, context.dims, rows, context.joining);
    if (joined.accepted())
      joined = judgeRepeated(group, op, context);
    // A second reduction may need more of a row at hand than there is room for.
    bool mayCost = !rowReductionsOf(op).empty() &&
                   llvm::any_of(group, [](Operation *member) {
                     return !rowReductionsOf(member).empty();
                   });
    return joined.accepted() && mayCost ? compareCosts(group, op, all, context)
                                        : joined;
  }

  Verdict canMerge(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                   const FusionContext &context) const override {
    if (!context.joining &&
        (llvm::any_of(a, isSelection) || llvm::any_of(b, isSelection)) &&
        widthOf(a, context.dims) != widthOf(b, context.dims))
      return Verdict::refuse(Reason::CostlierFused,
                             "a selection has its row in the registers of a "
                             "wave; a row of another width would spread it");
    SmallVector<Operation *> all(a);
    llvm::append_range(all, b);
    RowDims own, other, both;
    if (Verdict v = matchRows(a, context.dims, own, context.joining);
        !v.accepted())
      return v;
    if (Verdict v = matchRows(b, context.dims, other, context.joining);
        !v.accepted())
      return v;
    Verdict merged = matchRows(all, context.dims, both, context.joining);
    if (merged.accepted() &&
        (both.sizes.empty() != (own.sizes.empty() && other.sizes.empty())))
      return Verdict::refuse(Reason::RowDimsDiffer,
                             "the two kernels have other rows");
    if (merged.accepted() && !context.joining)
      return compareCosts(a, b, all, context,
                          /*oneLaunch=*/mayBeProblems(a, b, context));
    return merged;
  }

  SmallVector<int64_t>
  getSharedThreads(KernelOp kernel, const ::hk::Target &target) const override;
  /// Nothing was measured of rows beside blocks with much LDS.
  bool mayShareWith(FamilyKind other) const override {
    return other == FamilyKind::rowwise;
  }
  SmallVector<int64_t>
  getOrderedThreads(KernelOp kernel, const ::hk::Target &target) const override;
  bool mayWait() const override { return true; }
  double getMicroseconds(KernelOp kernel, VariantOp variant,
                         const ::hk::Target &target,
                         ArrayRef<int64_t> dims) const override;

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override;
  LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override;
};

/// Blocks for the rows there are, and for the pieces of a row.
static LaunchDims gridOf(const RowPlan &plan, const RankedTile &ranked,
                         const ::hk::Target &target, LaunchBuilder &launch) {
  const ::hk::RowTile &tile = ranked.tile;
  Value rows = launch.product(plan.rows());
  LaunchDims grid =
      launch.grid(tile.cluster == 1 ? launch.ceilDivide(rows, tile.rows)
                                    : launch.multiply(rows, tile.cluster));
  if (ranked.maxRows)
    grid.condition = launch.isAtMost(rows, ranked.maxRows);
  if (!splitsRows(plan))
    return grid;
  Value widest;
  for (const RowStore &store : plan.stores()) {
    Value pieces = launch.ceilDivide(launch.product(store.local),
                                     plan.pieceOf(store, tile, target));
    widest = widest ? launch.larger(widest, pieces) : pieces;
  }
  if (widest && piecesFirst(plan, target))
    grid.x = launch.multiply(grid.x, widest);
  else if (widest)
    grid.y = widest;
  return grid;
}

/// Why no tile is legal: only selections ask for much LDS, and only kernels of
/// many operands for more registers than there are.
static LogicalResult refuseTiles(KernelOp kernel, const ::hk::Target &target,
                                 const RowPlan &plan,
                                 ArrayRef<RankedTile> tiles) {
  int64_t least = INT64_MAX;
  for (const RankedTile &ranked : tiles)
    if (ranked.verdict.getReason() == Reason::RegistersExceeded)
      return kernel.emitError("row-wise kernel '")
             << kernel.getSymName() << "' has no legal tile on " << target.name
             << ": with each of " << tiles.size()
             << " its registers spill; fewer operators in one function or "
                "--no-fuse make smaller kernels";
  for (const RankedTile &ranked : tiles)
    least = std::min(least, ranked.ldsBytes);
  InFlightDiagnostic error = kernel.emitError("row-wise kernel '")
                             << kernel.getSymName() << "' has no legal tile on "
                             << target.name << ": the smallest asks for "
                             << least << " bytes of LDS, the limit is "
                             << target.ldsBytes;
  for (const RowSelection &selection : plan.selections())
    if (auto topk = dyn_cast<TopkOp>(selection.op))
      error.attachNote(topk.getLoc())
          << "hk.topk with k = " << topk.getK()
          << " keeps what it selects in LDS; choose a smaller k";
  return error;
}

static RowTileAttr attributeOf(KernelOp kernel, const ::hk::RowTile &tile) {
  return RowTileAttr::get(kernel.getContext(), tile.rows, tile.threads,
                          tile.vec, tile.slots, tile.cluster);
}

/// Threads of the blocks, where a launch that several kernels share says them.
static std::optional<int64_t> threadsOf(KernelOp kernel) {
  if (std::optional<uint64_t> threads = kernel.getThreads())
    return int64_t(*threads);
  return std::nullopt;
}

SmallVector<int64_t>
RowwiseFamily::getOrderedThreads(KernelOp kernel,
                                 const ::hk::Target &target) const {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  RowPlan plan(kernel, dims);
  // Rows that are made of nothing are a few counters, whatever their tile.
  bool counters = kernel.getNumInputs() == 0;
  if (plan.exchange() || plan.widest() == 0 || (splitsRows(plan) && !counters))
    return {};
  SmallVector<int64_t> counts;
  if (!plan.selections().empty() || counters) {
    for (int64_t threads = target.waveSize; threads <= target.maxThreads;
         threads = counters ? threads + target.waveSize : threads * 2)
      counts.push_back(threads);
    return counts;
  }
  SmallVector<size_t> chosen;
  for (const RankedTile &ranked : rankTiles(
           plan, target, [](const ::hk::RowTile &) { return false; }, chosen))
    if (ranked.verdict.accepted() && ranked.tile.cluster == 1 &&
        !llvm::is_contained(counts, ranked.tile.threads))
      counts.push_back(ranked.tile.threads);
  return counts;
}

SmallVector<int64_t>
RowwiseFamily::getSharedThreads(KernelOp kernel,
                                const ::hk::Target &target) const {
  if (!::hk::rowwiseCalibration(target))
    return {};
  SmallVector<int64_t> counts = getOrderedThreads(kernel, target);
  // A block of another size holds several rows, which wait for each other.
  constexpr int64_t kMostShared = 512;
  if (!counts.empty())
    for (int64_t threads = 256 + target.waveSize; threads <= kMostShared;
         threads += target.waveSize)
      if (!llvm::is_contained(counts, threads))
        counts.push_back(threads);
  return counts;
}

double RowwiseFamily::getMicroseconds(KernelOp kernel, VariantOp variant,
                                      const ::hk::Target &target,
                                      ArrayRef<int64_t> dims) const {
  DimSymbols symbols = DimSymbols::ofKernel(kernel);
  RowPlan plan(kernel, symbols);
  SmallVector<size_t> chosen;
  auto tile = cast<RowTileAttr>(variant.getTile());
  LaunchSize size = launchSizeOf(variant, dims);
  for (const RankedTile &ranked : rankTiles(
           plan, target, [](const ::hk::RowTile &) { return false; }, chosen,
           tile.getThreads()))
    if (attributeOf(kernel, ranked.tile) == tile)
      return target.launchMicroseconds +
             rowMicroseconds(plan, target, ranked, size.x * tile.getRows());
  return target.launchMicroseconds + ::hk::kMemoryMicroseconds;
}

LogicalResult RowwiseFamily::addVariants(KernelOp kernel,
                                         const ::hk::Target &target,
                                         DecisionLog &log) const {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  RowPlan plan(kernel, dims);
  SmallVector<size_t> chosen;
  auto spills = [&](const ::hk::RowTile &tile) {
    return isKnownToSpill(kernel, attributeOf(kernel, tile));
  };
  SmallVector<RankedTile> tiles =
      rankTiles(plan, target, spills, chosen, threadsOf(kernel));
  TileReport report(kernel, log);
  for (const RankedTile &ranked : tiles)
    report.add(printTile(ranked.tile), ranked.verdict, ranked.ldsBytes,
               ranked.microseconds);
  report.choose(chosen.empty() ? -1 : int64_t(chosen.back()));
  if (plan.exchange())
    reportKernelExchange(kernel, plan.exchange(), target, log);
  if (chosen.empty())
    return kernel.getThreads() ? failure()
                               : refuseTiles(kernel, target, plan, tiles);

  for (size_t index : chosen) {
    const RankedTile &ranked = tiles[index];
    addVariant(kernel, dims, attributeOf(kernel, ranked.tile),
               ranked.tile.threads, ranked.ldsBytes,
               [&](LaunchBuilder &launch) {
                 return gridOf(plan, ranked, target, launch);
               });
  }
  return success();
}

/// Whether it makes numbers of codes that decode.h knows: of an operand, or of
/// a block that it quantises itself.
static bool readsCodes(KernelOp kernel) {
  Block &body = kernel.getSpecBlock();
  auto isRead = [](Value value) {
    return isCoded(getElementTypeOrSelf(value.getType()));
  };
  auto inputs = body.getArguments().take_front(size_t(kernel.getNumInputs()));
  return llvm::any_of(inputs, isRead) ||
         llvm::any_of(body.getOps<QuantizeMxOp>(), [&](QuantizeMxOp op) {
           return isRead(op.getQuantized());
         });
}

LogicalResult RowwiseFamily::emit(KernelOp kernel, const ::hk::Target &target,
                                  StringRef prefix, raw_ostream &os) const {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  RowPlan plan(kernel, dims);
  int64_t words = kernel.getNumOperands() + kernel.getNumDims();
  for (BlockArgument arg : kernel.getSpecBlock().getArguments())
    words += std::max<int64_t>(
        0, cast<RankedTensorType>(arg.getType()).getRank() - 1);

  // Not every position that is named is needed in the end.
  os << "#include \"kernels/rowwise/rowwise.h\"\n";
  if (AllReduceOp sum = plan.exchange()) {
    os << "#include \"kernels/collective/exchange.h\"\n";
    words += ::hk::exchangeWords(ranksOf(sum));
  }
  if (!plan.selections().empty())
    os << "#include \"kernels/topk/topk.h\"\n";
  if (::hk::boundByIssue(target) && readsCodes(kernel))
    os << "#include \"kernels/device/decode.h\"\n";
  os << "\n"
        "#pragma clang diagnostic ignored \"-Wunused-variable\"\n"
        "#pragma clang diagnostic ignored \"-Wunused-but-set-variable\"\n\n";
  bool isLaunched = kernel.getLaunched() == kernel;
  auto writeVariant = [&](VariantOp variant) {
    auto tile = cast<RowTileAttr>(variant.getTile());
    ::hk::RowTile pod = podOf(tile);
    CodeWriter body, prefetches;
    RowEmitter emitter(kernel, plan, dims, target, tile, body);
    emitter.emitBody();
    // A problem of a launch begins when the launch lets it.
    bool isEarly =
        isLaunched && RowEmitter(kernel, plan, dims, target, tile, prefetches)
                          .emitPrefetches(emitter.getPrefetches());

    std::string symbol = (prefix + variant.getSymName()).str();
    os << "\n" << sharedText(plan, target, pod, "Shared_" + symbol);
    os << (isEarly ? StringRef("HK_EARLY_KERNEL") : entryMacro(kernel)) << "("
       << symbol << ", " << std::max<int64_t>(words, 1) << ", " << pod.threads
       << ", " << minBlocksOf(plan, pod, target) << ", Shared_" << symbol
       << ") {\n"
       << prefetches.str() << body.str() << "}\n";
  };
  writeAmongKernels(
      kernel, os, [&] { llvm::for_each(kernel.getVariants(), writeVariant); });
  return success();
}

} // namespace

const Family &mlir::hk::getRowwiseFamily() {
  static const RowwiseFamily family;
  return family;
}
