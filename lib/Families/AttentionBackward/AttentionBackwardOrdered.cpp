//===- AttentionBackwardOrdered.cpp - Gradients that sum dq in order ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernels runtime/kernels/attention/backward/sm90/ordered.h can compute,
// for which sizes it pays, the sizes of its launch and the memory that it has
// of its own: constants, or values of the kernel's dim symbols.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackwardOrdered.h"

using namespace mlir;
using namespace mlir::hk;

static constexpr ::hk::AttentionBackwardTile kTile = ::hk::kOrderedBackwardTile;

/// Whether only a call knows a size that the launch depends on.
static bool isDynamic(const AttentionBackwardPlan &plan) {
  return plan.getKernel().getNumDims() > 0;
}

bool AttentionBackwardPlan::isOrderedForAll() const {
  return !isDynamic(*this);
}

Verdict
AttentionBackwardPlan::getOrderedVerdict(const ::hk::Target &target) const {
  auto refuse = [](Reason reason, const Twine &what) {
    return Verdict::refuse(reason, what);
  };
  if (Verdict bulk = getBulkVerdict(target); !bulk.accepted())
    return bulk;
  if (operands.dquery < 0 || operands.dkey < 0 || operands.dvalue < 0)
    return refuse(Reason::UnsupportedShape, "not all gradients are wanted");
  if (shape.headDim != ::hk::kOrderedBackwardHead ||
      shape.valueDim != ::hk::kOrderedBackwardHead)
    return refuse(Reason::UnsupportedShape,
                  "head sizes must be " + Twine(::hk::kOrderedBackwardHead));
  DimName batch = op.isRagged() ? 1 : dim(operands.query, 0);
  auto atMost = [](DimName size) {
    return SymShapeAttr::isSymbol(size) ? int64_t(1) << 31 : size;
  };
  int64_t rows = std::min(atMost(getQueries()), atMost(getKeys()));
  if (operands.qOffsets >= 0)
    if (DimName bounds = dim(operands.qOffsets, 0);
        !SymShapeAttr::isSymbol(bounds))
      rows /= std::max<int64_t>(bounds - 1, 1);
  double blocks = double(atMost(batch)) * double(getOrderedPairs()) *
                  double(llvm::divideCeil(atMost(getKeys()), kTile.rows));
  if (rows < ::hk::kOrderedBackwardRows ||
      blocks < double(::hk::kOrderedBackwardBlocks * target.computeUnits))
    return refuse(Reason::CostlierFused,
                  "blocks that wait for each other need longer sequences, or "
                  "more of them");
  return Verdict::accept();
}

int64_t AttentionBackwardPlan::getOrderedHeads() const {
  // As kOrderedHeads in the kernels.
  return ::hk::orderedHeads(getGroup(),
                            (getOp().getCausal() || getOp().getWindowRight()) &&
                                !getOp().getWindowLeft());
}

int64_t AttentionBackwardPlan::getOrderedPairs() const {
  return getKeyHeads() * getGroup() / getOrderedHeads();
}

OrderedBackwardLaunch::OrderedBackwardLaunch(const AttentionBackwardPlan &plan,
                                             const ::hk::Target &target,
                                             LaunchBuilder &launch)
    : plan(plan), target(target), launch(launch),
      queries(launch.size(plan.getQueries())),
      keys(launch.size(plan.getKeys())) {
  if (plan.getOperands().qOffsets >= 0)
    ragged();
  else
    dense();
}

/// As OrderedBackwardSizes, see there.
void OrderedBackwardLaunch::dense() {
  Value batch = plan.getOp().isRagged()
                    ? launch.constant(1)
                    : launch.size(plan.dim(plan.getOperands().query, 0));
  Value pairs = launch.multiply(batch, plan.getOrderedPairs());
  Value tiles = launch.ceilDivide(queries, kTile.walked);
  Value own = launch.ceilDivide(keys, kTile.rows);
  Value finishers = launch.ceilDivide(
      launch.multiply(tiles, plan.getOrderedHeads()), ::hk::kOrderedTilesEach);
  Value reversed = launch.atMost(pairs, ::hk::kOrderedPairsReversed);
  Value up = launch.subtract(launch.atLeast(pairs, ::hk::kOrderedPairsReversed),
                             ::hk::kOrderedPairsReversed);
  Value behind = launch.atLeast(
      launch.ceilDivide(launch.constant(::hk::kOrderedBlocksBehind),
                        launch.atLeast(own, 1)),
      2);
  Value last = launch.add(reversed, launch.smaller(up, behind));
  blocks = launch.add(launch.multiply(pairs, own),
                      launch.multiply(launch.add(up, last), finishers));
  parts = launch.multiply(launch.multiply(batch, tiles),
                          plan.getKeyHeads() * plan.getGroup());
  keyTiles = launch.multiply(launch.multiply(batch, own), plan.getKeyHeads());
  sequences = launch.constant(1);
  owners = launch.multiply(pairs, own);
}

/// As OrderedBackwardGrid of ragged sequences, see there.
void OrderedBackwardLaunch::ragged() {
  int64_t heads = plan.getKeyHeads() * plan.getGroup();
  Value bounds =
      launch.atLeast(launch.size(plan.dim(plan.getOperands().qOffsets, 0)), 1);
  auto tiles = [&](Value rows, int64_t each) {
    return launch.raggedTiles(rows, each, bounds);
  };
  Value own = tiles(keys, kTile.rows);
  Value finishers = tiles(queries, kTile.walked * ::hk::kOrderedTilesEach);
  blocks = launch.add(launch.multiply(own, plan.getOrderedPairs()),
                      launch.multiply(finishers, heads));
  parts = launch.multiply(tiles(queries, kTile.walked), heads);
  keyTiles = launch.multiply(own, plan.getKeyHeads());
  sequences = launch.atLeast(launch.subtract(bounds, 1), 1);
  owners =
      launch.multiply(launch.divide(keys, kTile.rows), plan.getOrderedPairs());
}

Value OrderedBackwardLaunch::getPays() {
  Value least = launch.multiply(sequences, ::hk::kOrderedBackwardRows);
  Value enough = launch.constant(::hk::kOrderedBackwardBlocks *
                                 int64_t(target.computeUnits));
  return launch.both(launch.isAtMost(least, launch.smaller(queries, keys)),
                     launch.isAtMost(enough, owners));
}

SmallVector<OwnMemory>
mlir::hk::attentionBackwardSums(KernelOp kernel, const ::hk::Target &target,
                                OpBuilder &builder, ValueRange symbols) {
  FailureOr<AttentionBackwardPlan> plan = AttentionBackwardPlan::create(kernel);
  if (failed(plan) || plan->getShape().sums ||
      !plan->getOrderedVerdict(target).accepted())
    return {};
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  LaunchBuilder launch(builder, kernel.getLoc(), symbols, dims);
  OrderedBackwardLaunch sizes(*plan, target, launch);
  int64_t head = ::hk::kOrderedBackwardHead;
  int64_t floats = ::hk::orderedSumFloats(kTile, head);
  int64_t keyRows = ::hk::orderedKeyFloats(kTile, head, head) / floats;
  Value words = sizes.parts, rows = sizes.parts;
  // Of keys, if several blocks sum the same: see OrderedKeys in the kernels.
  if (plan->getOrderedHeads() != plan->getGroup()) {
    words = launch.add(words, sizes.keyTiles);
    rows = launch.add(rows, launch.multiply(sizes.keyTiles, keyRows));
  }
  if (!plan->isOrderedForAll()) {
    Value pays = sizes.getPays(), none = launch.constant(0);
    words = launch.choose(pays, words, none);
    rows = launch.choose(pays, rows, none);
  }
  return {{builder.getF32Type(), rows, floats},
          {builder.getI32Type(), words, 0}};
}
