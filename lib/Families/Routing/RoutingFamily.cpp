//===- RoutingFamily.cpp - The routing family -----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts, sorts, segments and short prefix sums of one group run in one block,
// or in several that share the keys of a sort.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "RoutingPlan.h"

#include "hk/Contract/Cost.h"
#include "hk/Contract/LdsScan.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::RoutingTile;

/// The tiles of a target in order of preference.
static SmallVector<RoutingTile> tilesOf(const ::hk::Target &target) {
  SmallVector<RoutingTile> tiles;
  for (int32_t threads : ::hk::kRoutingThreads)
    if (::hk::isRoutingTile(target, {threads}))
      tiles.push_back({threads});
  if (tiles.empty())
    tiles.push_back({1});
  return tiles;
}

bool mlir::hk::hasRoutingTile(const ::hk::Target &target, int64_t bins) {
  return llvm::any_of(tilesOf(target), [&](const RoutingTile &tile) {
    return ::hk::routingLds(target, tile, bins, /*shared=*/false) <=
           target.ldsBytes;
  });
}

/// Clocks of a wave for a vector of keys: counted, then given a place.
static constexpr double kKeyClocks = 250;
/// Loads that wait for each other: of keys, twice, and of a count.
static constexpr double kRoutingWaits = 3;

static double routingMicroseconds(KernelOp kernel, VariantOp variant,
                                  const ::hk::Target &target,
                                  ArrayRef<int64_t> dims) {
  int64_t most = 0;
  for (auto shape : kernel.getShapes().getAsRange<SymShapeAttr>()) {
    int64_t elements = 1;
    for (int64_t size : shape.getSizes())
      elements *= SymShapeAttr::isSymbol(size)
                      ? dims[SymShapeAttr::symbolOf(size)]
                      : size;
    most = std::max(most, elements);
  }
  double rounds = ::hk::ceilDiv(double(most), double(variant.getThreads()));
  return target.launchMicroseconds + kRoutingWaits * ::hk::kMemoryMicroseconds +
         rounds * kKeyClocks / (::hk::clockGHz(target) * 1e3);
}

/// There is no tile whose bins fit: says how many would.
static LogicalResult refuseBins(KernelOp kernel, ArrayRef<Operation *> ops,
                                const ::hk::Target &target, int64_t bins,
                                const RoutingTile &fewest, int64_t lds) {
  int64_t most = bins;
  while (most > 0 && !hasRoutingTile(target, most))
    most /= 2;
  Operation *first =
      *llvm::find_if(ops, [](Operation *op) { return !isa<ConstantOp>(op); });
  return first->emitOpError("in kernel @")
         << kernel.getSymName() << ": " << bins << " bins need " << lds
         << " bytes of LDS with " << fewest.threads
         << " threads, the fewest of " << target.name << ", which has "
         << target.ldsBytes << "; that is enough for " << most << " bins";
}

LogicalResult mlir::hk::addRoutingVariants(KernelOp kernel,
                                           const ::hk::Target &target,
                                           DecisionLog &log) {
  RoutingPlan plan;
  SmallVector<Operation *> ops = RoutingPlan::bodyOf(kernel);
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  Verdict verdict = plan.analyze(ops, dims);
  if (!verdict.accepted())
    return kernel.emitOpError("is no routing kernel: ") << verdict.getDetail();
  TileReport report(kernel, log);
  SmallVector<RoutingTile> tiles = tilesOf(target);
  // Several kernels that share a launch have blocks of as many threads.
  if (std::optional<uint64_t> threads = kernel.getThreads())
    llvm::erase_if(tiles, [&](const RoutingTile &tile) {
      return uint64_t(tile.threads) != *threads;
    });
  if (tiles.empty())
    return failure();
  auto attributeOf = [&](const RoutingTile &tile) {
    return RoutingTileAttr::get(kernel.getContext(), tile.threads);
  };
  auto ldsOf = [&](const RoutingTile &tile) {
    bool shared(plan.sharedKeys(target, tile, dims));
    return ::hk::routingLds(target, tile, plan.numBins(), shared);
  };
  int64_t chosen = -1, fitting = -1; // the first that fits, spilling or not
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    int64_t lds = ldsOf(tile);
    Verdict verdict =
        checkTile(target, lds, isKnownToSpill(kernel, attributeOf(tile)));
    if (lds <= target.ldsBytes && fitting < 0)
      fitting = int64_t(i);
    if (verdict.accepted() && chosen < 0)
      chosen = int64_t(i);
    report.add("threads " + Twine(tile.threads), std::move(verdict), lds);
  }
  // Where every tile spills the driver says so of the largest.
  if (chosen < 0)
    chosen = fitting;
  report.choose(chosen);
  int64_t lds = ldsOf(chosen < 0 ? tiles.back() : tiles[chosen]);
  if (chosen < 0 && kernel.getThreads())
    return failure();
  if (chosen < 0)
    return refuseBins(kernel, ops, target, plan.numBins(), tiles.back(), lds);
  RoutingTile tile = tiles[chosen];
  addVariant(kernel, dims, attributeOf(tile), tile.threads, lds,
             [&](LaunchBuilder &launch) {
               Value keys = plan.sharedKeys(target, tile, dims);
               if (!keys)
                 return launch.grid(launch.constant(1));
               // As routingBlocks says.
               Value blocks =
                   launch.ceilDivide(launch.size(keys, 0),
                                     ::hk::routingKeysOfBlock(tile.threads));
               blocks = launch.atMost(blocks, ::hk::kRoutingBlocks);
               return launch.grid(launch.atLeast(blocks, 1));
             });
  return success();
}

namespace {

class RoutingFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::routing; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    if (!isRoutingOp(op))
      return Verdict::refuse(Reason::OtherFamily,
                             op->getName().getStringRef() +
                                 " neither counts, sorts nor makes segments");
    return Verdict::accept();
  }

  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    SmallVector<Operation *> all(group);
    all.push_back(op);
    return check(all, context);
  }

  /// What makes the keys element by element, such as a map from the experts of
  /// the model to those of the device, is computed where they are read.
  Verdict canTakeIn(ArrayRef<Operation *> group, Operation *op,
                    const FusionContext &context) const override {
    SmallVector<Operation *> all = {op};
    llvm::append_range(all, group);
    return check(all, context);
  }

  Verdict canMerge(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                   const FusionContext &context) const override {
    SmallVector<Operation *> all(a);
    llvm::append_range(all, b);
    return check(all, context);
  }

  SmallVector<int64_t>
  getOrderedThreads(KernelOp, const ::hk::Target &target) const override {
    return llvm::map_to_vector(tilesOf(target), [](const RoutingTile &tile) {
      return int64_t(tile.threads);
    });
  }
  bool mayWait() const override { return true; }
  double getMicroseconds(KernelOp kernel, VariantOp variant,
                         const ::hk::Target &target,
                         ArrayRef<int64_t> dims) const override {
    return routingMicroseconds(kernel, variant, target, dims);
  }

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    return addRoutingVariants(kernel, target, log);
  }

  LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                     StringRef prefix, raw_ostream &os) const override {
    return emitRouting(kernel, target, prefix, os);
  }

private:
  static Verdict check(ArrayRef<Operation *> ops,
                       const FusionContext &context) {
    RoutingPlan plan;
    Verdict verdict = plan.analyze(ops, context.dims);
    if (!verdict.accepted() || hasRoutingTile(context.target, plan.numBins()))
      return verdict;
    return Verdict::refuse(Reason::LdsExceeded,
                           "together " + Twine(plan.numBins()) +
                               " bins have no room in the " +
                               Twine(context.target.ldsBytes) +
                               " bytes of LDS of " + context.target.name);
  }
};

} // namespace

const Family &mlir::hk::getRoutingFamily() {
  static const RoutingFamily family;
  return family;
}
