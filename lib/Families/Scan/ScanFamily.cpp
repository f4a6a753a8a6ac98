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

#include "ScanKernel.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/LdsScan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::ScanTile;

/// Elements of a run when its length is not known.
static constexpr int64_t kTypicalRun = 2048;
static constexpr int64_t kItems = 4;
static constexpr int64_t kHostColumns = 16;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

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
  return tensorOf(op.getResult()).getElementType().isInteger(64) ? 8 : 4;
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

namespace {

/// Grid of one scan: (lines * runs, columns).
class ScanGrid {
public:
  ScanGrid(KernelOp kernel, OpBuilder &builder, Location loc,
           ValueRange symbols)
      : kernel(kernel), dims(DimSymbols::ofKernel(kernel)), b(builder),
        loc(loc), symbols(symbols) {}

  LaunchDims get(const ScanTile &tile) {
    CumsumOp op = findCumsum(kernel);
    auto dim = static_cast<int64_t>(op.getDim());
    int64_t rank = tensorOf(op.getInput()).getRank();
    Value columns = product(op.getInput(), dim + 1, rank);
    LaunchDims launch;
    launch.condition = arith::ConstantIntOp::create(b, loc, 1, 1);
    launch.x =
        b.createOrFold<arith::MulIOp>(loc, product(op.getInput(), 0, dim),
                                      runs(op, size(op.getInput(), dim)));
    launch.y = b.createOrFold<arith::CeilDivUIOp>(loc, columns,
                                                  constant(tile.columns));
    launch.z = constant(1);
    return launch;
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value size(Value value, int64_t dim) {
    DimName name = dims.shape(value)[dim];
    return SymShapeAttr::isSymbol(name)
               ? Value(symbols[SymShapeAttr::symbolOf(name)])
               : constant(name);
  }
  Value product(Value value, int64_t begin, int64_t end) {
    Value result = constant(1);
    for (int64_t dim = begin; dim < end; ++dim)
      result = b.createOrFold<arith::MulIOp>(loc, result, size(value, dim));
    return result;
  }
  /// As findRun() of the kernels numbers them.
  Value runs(CumsumOp op, Value length) {
    auto chunk = static_cast<int64_t>(op.getChunk().value_or(0));
    if (!op.getBounds()) {
      if (chunk == 0)
        return constant(1);
      Value chunks =
          b.createOrFold<arith::CeilDivUIOp>(loc, length, constant(chunk));
      return b.createOrFold<arith::MaxUIOp>(loc, chunks, constant(1));
    }
    Value sequences = b.createOrFold<arith::MaxUIOp>(
        loc, size(op.getBounds(), 0), constant(1));
    if (chunk == 0)
      return sequences;
    Value chunks = b.createOrFold<arith::DivUIOp>(loc, length, constant(chunk));
    return b.createOrFold<arith::AddIOp>(loc, chunks, sequences);
  }

  KernelOp kernel;
  DimSymbols dims;
  OpBuilder &b;
  Location loc;
  ValueRange symbols;
};

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
    RankedTensorType type = tensorOf(op.getInput());
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
    std::string text = ("threads " + Twine(tile.threads) + ", columns " +
                        Twine(tile.columns) + ", items " + Twine(tile.items))
                           .str();
    log.add({DecisionKind::Tile,
             kernel.getLoc(),
             kernel.getSymName().str(),
             {{text, Verdict::accept(), 0, lds}},
             /*chosen=*/0});
    auto attr = ScanTileAttr::get(kernel.getContext(), tile.threads,
                                  tile.columns, tile.items);
    addVariant(kernel, attr, tile.threads, lds,
               [&](OpBuilder &b, Location loc, ValueRange symbols) {
                 return ScanGrid(kernel, b, loc, symbols).get(tile);
               });
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
