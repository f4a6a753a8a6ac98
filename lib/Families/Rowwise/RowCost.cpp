//===- RowCost.cpp - Modelled time of operators as one kernel -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan and the tiles are those of a kernel, so a draft of it is made, which
// no module ever holds. The time is what memory takes for all rows, or, of few
// rows, what the compute units that share one take for it.
//
//===----------------------------------------------------------------------===//

#include "RowCost.h"

#include "RowVariants.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Calibration.h"
#include "hk/Contract/Cost.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::RowwiseCalibration;

/// Operations, as RowwiseOpInterface::getCost counts them, that it pays to
/// repeat for an element: about what storing and loading it takes. Measured,
/// benchmarks/results/h100-fusion.md: 12 paid, 48 did not.
static constexpr int64_t kRepeatedCost = 40;
/// How much longer one kernel may be modelled to take than two: the model is
/// not better than this.
static constexpr double kTolerance = 1.05;
/// Bytes that a compute unit loads or stores per clock.
static constexpr double kBytesPerClock = 64;
/// Lanes of a compute unit by which RankedTile::microseconds counts.
static constexpr double kUnitLanes = 128;
/// Rows that RankedTile::microseconds is of.
static constexpr double kModelledRows = 4096;

/// Whether something outside `ops` reads `value`, directly or through views.
static bool escapes(Value value,
                    const llvm::SmallPtrSetImpl<Operation *> &ops) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isView(user) && !ops.contains(user))
      return escapes(user->getResult(0), ops);
    return !ops.contains(user);
  });
}

static Attribute symbolicShape(Value value, const DimSymbols &dims,
                               llvm::DenseMap<DimName, int64_t> &symbols) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> sizes(type.getShape());
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (ShapedType::isDynamic(size))
      size = -1 - symbols
                      .try_emplace(dims.dim(value, static_cast<int64_t>(dim)),
                                   symbols.size())
                      .first->second;
  return SymShapeAttr::get(value.getContext(), sizes);
}

/// The kernel that `ops` would be, in no module.
static OwningOpRef<KernelOp> draftOf(ArrayRef<Operation *> ops,
                                     const DimSymbols &dims) {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  llvm::SmallSetVector<Value, 16> inputs;
  SmallVector<Value> outs;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          !members.contains(operand.getDefiningOp()) &&
          !operand.getDefiningOp<ConstantOp>())
        inputs.insert(operand);
    if (!isView(op))
      llvm::append_range(
          outs, llvm::make_filter_range(op->getResults(), [&](Value result) {
            return escapes(result, members);
          }));
  }
  MLIRContext *context = ops.front()->getContext();
  Location loc = ops.front()->getLoc();
  OpBuilder builder(context);
  llvm::DenseMap<DimName, int64_t> symbols;
  SmallVector<Attribute> shapes;
  SmallVector<Type> types;
  for (ArrayRef<Value> values : {inputs.getArrayRef(), ArrayRef(outs)})
    for (Value value : values) {
      shapes.push_back(symbolicShape(value, dims, symbols));
      types.push_back(value.getType());
    }
  SmallVector<int64_t> aligns(shapes.size(), kMaxAlignment);
  OwningOpRef<KernelOp> kernel = KernelOp::create(
      builder, loc, "draft", FamilyKind::rowwise, int64_t(inputs.size()),
      builder.getArrayAttr(shapes), aligns, /*threads=*/IntegerAttr());
  builder.createBlock(&kernel->getBody());
  auto spec = SpecOp::create(builder, loc);
  Block *body = builder.createBlock(&spec.getBody());
  IRMapping mapping;
  for (Type type : types)
    body->addArgument(type, loc);
  for (auto [input, argument] : llvm::zip(inputs, body->getArguments()))
    mapping.map(input, argument);
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<ConstantOp>();
          constant && !mapping.contains(operand))
        builder.clone(*constant.getOperation(), mapping);
    builder.clone(*op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value out : outs)
    yielded.push_back(mapping.lookup(out));
  YieldOp::create(builder, loc, yielded);
  return kernel;
}

/// Whether the operators of `kernel` have rows in common, as its plan demands.
static bool isRowKernel(KernelOp kernel, const DimSymbols &dims) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getSpecBlock().without_terminator())
    if (isRowwiseOp(&op))
      ops.push_back(&op);
  RowDims rows;
  return matchRows(ops, dims, rows).accepted();
}

double RowCost::microseconds(int64_t numRows) const {
  const Tile &tile = numRows <= fewRows ? few : many;
  return launch + std::max(tile.perRow * double(numRows), tile.latency);
}

static RowCost::Tile timeOf(const RowPlan &plan, const ::hk::Target &target,
                            const RankedTile &ranked) {
  RowCost::Tile time;
  time.perRow = ranked.microseconds / kModelledRows;
  // What is not kept is loaded again in each phase.
  double passes = ranked.tile.slots == 0 ? double(plan.numPhases()) : 1;
  double bytes = double(plan.widest()) * plan.bytesPerRowElement() * passes;
  if (plan.needsWholeRows())
    time.latency = bytes / (kBytesPerClock * ranked.tile.cluster *
                            ::hk::clockGHz(target) * 1e3);
  if (const RowwiseCalibration *measured = ::hk::rowwiseCalibration(target))
    time.wait = (measured->latenciesPerRow +
                 double(std::min<size_t>(plan.stats().size(), 2))) *
                ::hk::kMemoryMicroseconds /
                (double(minBlocksOf(plan, ranked.tile, target)) *
                 double(ranked.tile.rows) * target.computeUnits);
  return time;
}

double mlir::hk::rowMicroseconds(const RowPlan &plan,
                                 const ::hk::Target &target,
                                 const RankedTile &ranked, int64_t rows) {
  RowCost::Tile time = timeOf(plan, target, ranked);
  double block = 0;
  // Threads look at all elements again for each that they select. A block has
  // one unit for that, whose lanes a small one leaves idle in part.
  if (!plan.selections().empty())
    block = time.perRow * double(ranked.tile.rows) * target.computeUnits *
            std::max(1.0, kUnitLanes / double(ranked.tile.threads));
  return std::max({time.perRow * double(rows), time.latency, block}) +
         ::hk::kMemoryMicroseconds;
}

std::optional<RowCost> mlir::hk::costOf(ArrayRef<Operation *> ops,
                                        const FusionContext &context) {
  const ::hk::Target &target = context.target;
  OwningOpRef<KernelOp> kernel = draftOf(ops, context.dims);
  DimSymbols dims = DimSymbols::ofKernel(*kernel);
  // Sizes that only the block around the operators knows may be unequal here.
  if (!isRowKernel(*kernel, dims))
    return std::nullopt;
  RowPlan plan(*kernel, dims);
  if (plan.stores().empty() || plan.widest() == 0)
    return std::nullopt;
  SmallVector<size_t> chosen;
  SmallVector<RankedTile> tiles = rankTiles(
      plan, target, [](const ::hk::RowTile &) { return false; }, chosen);
  if (chosen.empty())
    return std::nullopt;
  RowCost cost;
  cost.wholeRows = plan.needsWholeRows();
  cost.rows = RowPlan::flatSize(plan.rows());
  cost.many = timeOf(plan, target, tiles[chosen.back()]);
  cost.few = timeOf(plan, target, tiles[chosen.front()]);
  cost.fewRows = chosen.size() > 1 ? tiles[chosen.front()].maxRows : 0;
  cost.launch = target.launchMicroseconds;
  return cost;
}

Verdict mlir::hk::compareCosts(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                               ArrayRef<Operation *> both,
                               const FusionContext &context, bool oneLaunch) {
  // One block of the host is one thread: nothing is lost together.
  if (context.target.arch == ::hk::Arch::Host)
    return Verdict::accept();
  std::optional<RowCost> one = costOf(both, context);
  if (!one || !one->wholeRows)
    return Verdict::accept();
  std::optional<RowCost> first = costOf(a, context), then = costOf(b, context);
  if (!first || !then)
    return Verdict::accept();
  oneLaunch &= first->wholeRows && then->wholeRows;
  // The loads of one width wait behind the reduction of the other: on an H100
  // norms of 128 and of 7168 elements took 79 us as one kernel, 42 as problems.
  auto together = [&](int64_t rows) {
    return one->microseconds(rows) +
           (oneLaunch ? one->many.wait * double(rows) : 0);
  };
  SmallVector<int64_t> assumed = {1, int64_t(kModelledRows)};
  if (one->rows)
    assumed = {*one->rows};
  else if (oneLaunch)
    assumed.erase(assumed.begin());
  auto apart = [&](int64_t rows) {
    return first->microseconds(rows) + then->microseconds(rows) -
           (oneLaunch ? context.target.launchMicroseconds : 0);
  };
  for (int64_t rows : assumed)
    if (together(rows) <= kTolerance * apart(rows))
      return Verdict::accept();
  int64_t rows = assumed.back();
  return Verdict::refuse(
      Reason::CostlierFused,
      llvm::formatv("one kernel is modelled to take {0:f1} us for {1} rows, "
                    "the two {2:f1}{3}",
                    together(rows), rows, apart(rows),
                    oneLaunch ? " as problems of one launch" : "")
          .str());
}

/// Operations per element of the elementary functions by which `value` is
/// computed in `group`; what moves elements or adds them is not felt.
static int64_t costIn(Value value, ArrayRef<Operation *> group) {
  llvm::SmallSetVector<Operation *, 8> ops;
  SmallVector<Value> work{value};
  int64_t cost = 0;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !llvm::is_contained(group, op) || !ops.insert(op))
      continue;
    constexpr int64_t kElementary = 3; // RowwiseOpInterface::getCost
    if (auto rowwise = dyn_cast<RowwiseOpInterface>(op);
        rowwise && !isMovement(op) && rowwise.getCost() >= kElementary)
      cost += rowwise.getCost();
    llvm::append_range(work, op->getOperands());
  }
  return cost;
}

Verdict mlir::hk::judgeRepeated(ArrayRef<Operation *> group, Operation *op,
                                const FusionContext &context) {
  int64_t size = reductionGroupOf(op);
  DimName width = size ? context.dims.shape(op->getOperand(0)).back() : 0;
  if (size == 0 || width % size == 0 || context.target.arch == ::hk::Arch::Host)
    return Verdict::accept();
  constexpr int64_t kVector = 8;
  int64_t vec = kVector;
  while (vec > 1 && (size % vec != 0 || width < 0 || width % vec != 0))
    vec /= 2;
  int64_t repeated = std::min(size, width < 0 ? size : int64_t(width)) / vec,
          cost = repeated * costIn(op->getOperand(0), group);
  if (cost <= kRepeatedCost)
    return Verdict::accept();
  return Verdict::refuse(
      Reason::CostlierFused,
      llvm::formatv("{0} columns are no multiple of a group of {1}, so each "
                    "thread reduces a group for itself and computes its "
                    "elements {2} times",
                    width, size, repeated)
          .str());
}
