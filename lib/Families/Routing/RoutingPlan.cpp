//===- RoutingPlan.cpp - What one routing kernel computes -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the place of every value, or says why it has none.
//
//===----------------------------------------------------------------------===//

#include "RoutingPlan.h"

#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/LdsScan.h"

using namespace mlir;
using namespace mlir::hk;

/// Elements behind the first dim that one thread stores one after the other.
static constexpr int64_t kMaxElements = 16;

bool mlir::hk::isRoutingOp(Operation *op) {
  if (op->hasTrait<CountsItems>())
    return true;
  // A short sum belongs to the counts it is made of; the scan family sums
  // everything else.
  auto cumsum = dyn_cast<CumsumOp>(op);
  return cumsum && tensorType(cumsum.getInput()).getRank() == 1 &&
         tensorType(cumsum.getResult()).getElementType().isInteger(32) &&
         !cumsum.getBounds() && !cumsum.getChunk() && !cumsum.getReverse();
}

/// Whether a result element depends on the operands' elements of the same index
/// in dim 0 only, or of none, and is something the puller knows.
static bool isElementwiseInFirstDim(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  if (!rowwise)
    return isa<tensor::ExpandShapeOp, tensor::CastOp>(op);
  if (isElementwise(op))
    return true;
  // What is put together of rows, or looked up by row.
  return isMovement(op) && op->getNumResults() == 1 &&
         llvm::all_of(op->getOpOperands(), [](OpOperand &operand) {
           return isGathered(operand) || staysInRow(operand, 1);
         });
}

SmallVector<Operation *> RoutingPlan::bodyOf(KernelOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getSpecBlock().without_terminator())
    if (llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      ops.push_back(&op); // without the sizes of views
  return ops;
}

static Verdict refuse(Reason reason, Operation *op, const Twine &why) {
  return Verdict::refuse(reason, op->getName().getStringRef() + " " + why);
}

void RoutingPlan::addCounter(Operation *op, Value source, int64_t count,
                             bool bits) {
  bool sorts = isa<SortByKeyOp>(op);
  for (auto [index, counter] : llvm::enumerate(allCounters))
    if (counter.source == source && counter.bins == count &&
        counter.bits == bits && !(sorts && counter.sort)) {
      if (sorts)
        counter.sort = op;
      counterIndex[op] = index;
      return;
    }
  counterIndex[op] = allCounters.size();
  allCounters.push_back({source, count, bits, bins, sorts ? op : nullptr});
  bins += count;
}

/// Keys are pulled wherever they are read: from arguments, or computed element
/// by element from them.
Verdict RoutingPlan::checkSource(Operation *op, Value source, StringRef what) {
  if (placeOf(source).space == RoutingSpace::Outside)
    return Verdict::accept();
  return refuse(Reason::CrossesRows, op, what + " what a step makes");
}

/// A step pulls its input itself, so that it must be an argument or be made of
/// counts.
Verdict RoutingPlan::addStep(Operation *op, Value input) {
  RoutingSpace space = placeOf(input).space;
  if (space != RoutingSpace::Outside && space != RoutingSpace::Bins)
    return refuse(Reason::CrossesRows, op,
                  "needs all of what another step of the kernel makes");
  allSteps.push_back(op);
  return Verdict::accept();
}

/// The last of several sums is known when the step is done.
Verdict RoutingPlan::addSlice(Operation *op) {
  auto slice = cast<tensor::ExtractSliceOp>(op);
  Value source = slice.getSource();
  Operation *def = source.getDefiningOp();
  auto cumsum = dyn_cast_or_null<CumsumOp>(def);
  bool sums = cumsum ? cumsum.getKind() == ScanKind::offsets
                     : isa_and_nonnull<SegmentsOp>(def) &&
                           placeOf(source).space == RoutingSpace::Sums;
  int64_t size = tensorType(source).getDimSize(0);
  bool last = sums && !ShapedType::isDynamic(size) &&
              slice.getStaticOffsets()[0] == size - 1 &&
              slice.getStaticSizes()[0] == 1 && slice.getType().getRank() == 1;
  if (!last)
    return refuse(Reason::CrossesRows, op,
                  "is not the last of the sums of one step");
  places[slice.getResult()] = {RoutingSpace::Total, def};
  return Verdict::accept();
}

Verdict RoutingPlan::addElementwise(Operation *op, const DimSymbols &dims) {
  if (!isElementwiseInFirstDim(op))
    return refuse(Reason::NotAnEpilogue, op,
                  "is not elementwise in the first dim");
  Value result = op->getResult(0);
  RankedTensorType type = tensorType(result);
  int64_t inner = 1;
  for (int64_t size : type.getShape().drop_front(type.getRank() ? 1 : 0))
    inner = ShapedType::isDynamic(size) ? kMaxElements + 1 : inner * size;
  if (type.getRank() == 0 || inner > kMaxElements)
    return refuse(Reason::UnsupportedShape, op,
                  "has more than " + Twine(kMaxElements) +
                      " elements per index of the first dim");
  RoutingPlace place;
  for (OpOperand &use : op->getOpOperands()) {
    Value operand = use.get();
    RoutingPlace own = placeOf(operand);
    if (own.space == RoutingSpace::Outside)
      continue;
    if (own.space == RoutingSpace::Blocks)
      return refuse(Reason::UnsupportedShape, op,
                    "reads counts per block of rows, which the kernel stores");
    if (isGathered(use))
      return refuse(Reason::CrossesRows, op,
                    "gathers from what the kernel makes");
    bool aligned = staysInRow(use, 1) || isa<tensor::ExpandShapeOp>(op);
    if (!aligned || dims.dim(operand, 0) != dims.dim(result, 0))
      return refuse(Reason::RowDimsDiffer, op,
                    "has another first dim than its operand");
    if (place.space != RoutingSpace::Outside && place != own)
      return refuse(Reason::CrossesRows, op,
                    "combines results of different steps");
    place = own;
  }
  places[result] = place;
  return Verdict::accept();
}

Verdict RoutingPlan::analyze(ArrayRef<Operation *> ops,
                             const DimSymbols &dims) {
  members.assign(ops.begin(), ops.end());
  for (Operation *op : ops) {
    if (isa<ConstantOp>(op))
      continue;
    Verdict verdict = Verdict::accept();
    if (auto histogram = dyn_cast<HistogramOp>(op)) {
      addCounter(op, histogram.getKeys(),
                 tensorType(histogram.getResult()).getDimSize(0), false);
      places[histogram.getResult()] = {RoutingSpace::Bins, nullptr};
      verdict = checkSource(op, histogram.getKeys(), "counts");
    } else if (auto bits = dyn_cast<CountBitsOp>(op)) {
      addCounter(op, bits.getBits(), tensorType(bits.getResult()).getDimSize(0),
                 true);
      places[bits.getResult()] = {RoutingSpace::Bins, nullptr};
      if (bits.getBefore())
        places[bits.getBefore()] = {RoutingSpace::Blocks, op};
      verdict = checkSource(op, bits.getBits(), "counts");
    } else if (auto sort = dyn_cast<SortByKeyOp>(op)) {
      addCounter(op, sort.getKeys(), sort.getBins(), false);
      places[sort.getOrder()] = {RoutingSpace::Order, op};
      places[sort.getPosition()] = {RoutingSpace::Position, op};
      allSteps.push_back(op);
      verdict = checkSource(op, sort.getKeys(), "sorts");
    } else if (auto segments = dyn_cast<SegmentsOp>(op)) {
      places[segments.getIds()] = {RoutingSpace::Places, op};
      places[segments.getRanks()] = {RoutingSpace::Places, op};
      places[segments.getOffsets()] = {RoutingSpace::Sums, op};
      verdict = addStep(op, segments.getSegments());
    } else if (isRoutingOp(op)) {
      auto cumsum = cast<CumsumOp>(op);
      places[cumsum.getResult()] = {RoutingSpace::Sums, op};
      verdict = addStep(op, cumsum.getInput());
    } else if (isa<tensor::ExtractSliceOp>(op)) {
      verdict = addSlice(op);
    } else {
      verdict = addElementwise(op, dims);
    }
    if (!verdict.accepted())
      return verdict;
  }
  return Verdict::accept();
}

Value RoutingPlan::sharedKeys(const ::hk::Target &target,
                              const ::hk::RoutingTile &tile,
                              const DimSymbols &dims) const {
  if (target.arch == ::hk::Arch::Host || allCounters.size() != 1 ||
      !allCounters[0].sort ||
      ::hk::routingLds(target, tile, bins, /*shared=*/true) > target.ldsBytes)
    return {};
  Value keys = allCounters[0].source;
  DimName count = dims.dim(keys, 0);
  bool few = !SymShapeAttr::isSymbol(count) &&
             ::hk::routingBlocks(tile.threads, count) == 1;
  return few ? Value() : keys;
}
