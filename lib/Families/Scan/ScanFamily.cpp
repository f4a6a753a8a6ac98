//===- ScanFamily.cpp - The scan family -----------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Match and tiles. Every run of a scan is the work of one block, so chunks and
// sequences give parallelism; columns lie side by side in a block because
// neighbouring threads should touch neighbouring elements.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "ScanPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/LdsScan.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::ScanTile;

/// Elements of a run when its length is not known.
static constexpr int64_t kTypicalRun = 2048;
static constexpr int64_t kItems = 4;
static constexpr int64_t kHostColumns = 16;

CumsumOp mlir::hk::findCumsum(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (auto cumsum = dyn_cast<CumsumOp>(op))
      return cumsum;
  return {};
}

CumsumOp mlir::hk::findCumsum(KernelOp kernel) {
  auto ops = kernel.getSpecBlock().getOps<CumsumOp>();
  return ops.empty() ? CumsumOp() : *ops.begin();
}

int64_t mlir::hk::scanSumBytes(CumsumOp op) {
  return tensorType(op.getResult()).getElementType().isInteger(64) ? 8 : 4;
}

/// The tile of a scan along runs of `length` elements with `inner` columns.
static ScanTile chooseTile(const ::hk::Target &target, int64_t length,
                           int64_t inner) {
  if (target.arch == ::hk::Arch::Host)
    return {1, int32_t(std::clamp<int64_t>(inner, 1, kHostColumns)), 1};
  ScanTile tile{target.waveSize, 1, int32_t(kItems)};
  while (tile.columns < inner && tile.columns < target.waveSize)
    tile.columns *= 2;
  while (tile.threads < target.maxThreads &&
         tile.threads / tile.columns * kItems < length)
    tile.threads *= 2;
  return tile;
}

std::pair<BlockArgument, int64_t> mlir::hk::argumentOfSize(KernelOp kernel,
                                                           int64_t name) {
  for (BlockArgument argument : kernel.getSpecBlock().getArguments()) {
    auto shape =
        cast<SymShapeAttr>(kernel.getShapes()[argument.getArgNumber()]);
    for (auto [dim, size] : llvm::enumerate(shape.getSizes()))
      if (size == name)
        return {argument, int64_t(dim)};
  }
  llvm_unreachable("elementwise operators have the sizes of their operands");
}

/// Runs of a line, as findRun() of the kernels numbers them.
static Value runsOf(CumsumOp op, LaunchBuilder &launch) {
  Value length = launch.size(op.getInput(), op.getDim());
  auto chunk = static_cast<int64_t>(op.getChunk().value_or(0));
  if (!op.getBounds())
    return chunk == 0 ? launch.constant(1)
                      : launch.atLeast(launch.ceilDivide(length, chunk), 1);
  Value sequences = launch.atLeast(launch.size(op.getBounds(), 0), 1);
  return chunk == 0 ? sequences : launch.raggedTiles(length, chunk, sequences);
}

/// Grid of one scan: (lines * runs, columns).
static LaunchDims gridOf(CumsumOp op, const ScanTile &tile,
                         LaunchBuilder &launch) {
  auto dim = static_cast<int64_t>(op.getDim());
  Value lines = launch.product(op.getInput(), 0, dim);
  Value columns = launch.product(op.getInput(), dim + 1,
                                 tensorType(op.getInput()).getRank());
  return launch.grid(launch.multiply(lines, runsOf(op, launch)),
                     launch.ceilDivide(columns, tile.columns));
}

namespace {

class ScanFamily final : public Family {
public:
  FamilyKind getKind() const override { return FamilyKind::scan; }

  Verdict canStart(Operation *op, const FusionContext &) const override {
    auto cumsum = dyn_cast<CumsumOp>(op);
    if (!cumsum)
      return Verdict::refuse(Reason::OtherFamily, op->getName().getStringRef() +
                                                      " is not a prefix sum");
    if (Value bounds = cumsum.getBounds();
        bounds && isa_and_nonnull<ConstantOp>(bounds.getDefiningOp()))
      return Verdict::refuse(Reason::UnsupportedShape,
                             "bounds are a constant; make them an hk.copy of "
                             "it");
    return Verdict::accept();
  }

  Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                  const FusionContext &context) const override {
    auto refuse = [&](Reason reason, const Twine &why) {
      return Verdict::refuse(reason, op->getName().getStringRef() + " " + why);
    };
    if (!isElementwise(op))
      return refuse(Reason::NotAnEpilogue, "is not a pointwise operator");
    ArrayRef<DimName> shape = context.dims.shape(findCumsum(group).getResult());
    if (context.dims.shape(op->getResult(0)) != shape)
      return refuse(Reason::RowDimsDiffer, "has another shape than the sums");
    for (Value operand : op->getOperands())
      if (llvm::is_contained(group, operand.getDefiningOp()) &&
          context.dims.shape(operand) != shape)
        return refuse(Reason::RowDimsDiffer,
                      "reads a value of another shape than the sums");
    return Verdict::accept();
  }

  Verdict canTakeIn(ArrayRef<Operation *> group, Operation *op,
                    const FusionContext &context) const override {
    auto refuse = [&](Reason reason, const Twine &why) {
      return Verdict::refuse(reason, op->getName().getStringRef() + " " + why);
    };
    CumsumOp cumsum = findCumsum(group);
    if (cumsum.getBounds() &&
        llvm::is_contained(op->getResults(), cumsum.getBounds()))
      return refuse(Reason::UnsupportedShape, "computes bounds");
    if (isView(op)) {
      // Grid and kernel know the sizes of operands only.
      ArrayRef<DimName> source = context.dims.shape(viewSource(op));
      for (DimName size : context.dims.shape(op->getResult(0)))
        if (size < 0 && !llvm::is_contained(source, size))
          return refuse(Reason::UnsupportedShape, "has a size of its own");
      return Verdict::accept();
    }
    if (!isRecomputable(op))
      return refuse(Reason::NeedsWholeRow,
                    "needs more than one element per element of the sums");
    return Verdict::accept();
  }

  /// What the sums are made of is often read again behind them: a mask, where
  /// positions are counted.
  bool takesInForEpilogues() const override { return true; }

  Verdict canMerge(ArrayRef<Operation *>, ArrayRef<Operation *>,
                   const FusionContext &) const override {
    return Verdict::refuse(Reason::OtherFamily,
                           "a kernel computes one prefix sum only");
  }

  LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                            DecisionLog &log) const override {
    CumsumOp op = findCumsum(kernel);
    if (!op)
      return kernel.emitOpError(
          "expected the body of a scan kernel to hold an hk.cumsum");
    RankedTensorType type = tensorType(op.getInput());
    auto dim = static_cast<int64_t>(op.getDim());
    int64_t length = type.getDimSize(dim);
    if (op.getChunk())
      length = *op.getChunk();
    else if (ShapedType::isDynamic(length))
      length = kTypicalRun;
    int64_t inner = 1;
    for (int64_t size : type.getShape().drop_front(dim + 1))
      inner *= ShapedType::isDynamic(size) ? target.waveSize : size;
    ScanTile tile = chooseTile(target, length, inner);
    // A wave of sums per wave: never more than a few KiB.
    int64_t lds = ::hk::scanLds(target, tile, scanSumBytes(op));
    reportOnlyTile(kernel, log,
                   "threads " + Twine(tile.threads) + ", columns " +
                       Twine(tile.columns) + ", items " + Twine(tile.items),
                   lds);
    auto attr = ScanTileAttr::get(kernel.getContext(), tile.threads,
                                  tile.columns, tile.items);
    addVariant(kernel, DimSymbols::ofKernel(kernel), attr, tile.threads, lds,
               [&](LaunchBuilder &launch) { return gridOf(op, tile, launch); });
    return success();
  }

  LogicalResult emit(KernelOp kernel, const ::hk::Target &, StringRef prefix,
                     raw_ostream &os) const override {
    return emitScan(kernel, prefix, os);
  }
};

} // namespace

const Family &mlir::hk::getScanFamily() {
  static const ScanFamily family;
  return family;
}
