//===- HKAttentionBackwardOps.cpp - Gradients of attention ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which shapes of operands and gradients go together, and which regions have a
// slope that is known.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::hk;

bool AttentionBackwardOp::isRagged() {
  return tensorType(getQuery()).getRank() == 3;
}

bool AttentionBackwardOp::sumsDbias() {
  return getDbias() && tensorType(getDbias()).getRank() != 0 &&
         tensorType(getDbias()).getDimSize(0) == 1;
}

void AttentionBackwardOp::stateShapes(ShapeRelations &shapes) {
  Named query{"query", getQuery()}, key{"key", getKey()};
  Named value{"value", getValue()}, gradient{"gradient", getGradient()};
  if (query.rank() != 3 && query.rank() != 4)
    return; // verify() refuses it
  for (Named v : {query, key, value, gradient}) {
    shapes.rank(v, query.rank());
    shapes.isStatic(v, query.rank() - 1);
    shapes.isStatic(v, query.rank() - 2);
  }
  shapes.size(key, query.rank() - 1, dimOf(getQuery(), -1));
  if (!isRagged())
    shapes.size(key, 0, dimOf(getQuery(), 0));
  auto ofValue = [&](Value rows) {
    SmallVector<SizeTerm> sizes = dimsOf(rows, 0, -1);
    sizes.push_back(dimOf(getValue(), -1));
    return sizes;
  };
  shapes.shape(value, ofValue(getKey()));
  shapes.shape(gradient, ofValue(getQuery()));
  shapes.shape({"lse", getLse()}, dimsOf(getQuery(), 0, -1));
  shapes.shape({"delta", getDelta()}, dimsOf(getQuery(), 0, -1));
  if (getQOffsets()) {
    shapes.rank({"q_offsets", getQOffsets()}, 1);
    shapes.shape({"kv_offsets", getKvOffsets()}, {dimOf(getQOffsets(), 0)});
  }
  shapes.same({"dquery", getDquery()}, getQuery());
  shapes.same({"dkey", getDkey()}, getKey());
  shapes.same({"dvalue", getDvalue()}, getValue());
  shapes.shape({"sink", getSink()}, {dimOf(getQuery(), -2)});
  if (getSink())
    shapes.same({"dsink", getDsink()}, getSink());
  if (!getDbias())
    return;
  SizeTerm sequences = dimOf(getQuery(), 0), heads = dimOf(getQuery(), -2);
  Named dbias{"dbias", getDbias()};
  shapes.rank(dbias, 4);
  if (isRagged()) { // no operand has the sizes of one sequence
    shapes.size(dbias, 0, 1);
    shapes.size(dbias, 1, heads);
    shapes.isStatic(dbias, 2);
    shapes.isStatic(dbias, 3);
    return;
  }
  if (sumsDbias())
    sequences = 1;
  shapes.shape(dbias,
               {sequences, heads, dimOf(getQuery(), 1), dimOf(getKey(), 1)});
}

/// What ranks and head counts may be, and that there is one element type.
static LogicalResult verifyOperands(AttentionBackwardOp op,
                                    ArrayRef<Named> operands) {
  Named query = operands.front(), key = operands[1];
  if (query.rank() != 3 && query.rank() != 4)
    return op.emitOpError("expected rank of query to be 3 or 4, but got ")
           << query.rank();
  for (Named v : operands)
    if (failed(expectElement(op, v, query.element())))
      return failure();
  int64_t dim = query.rank() - 2;
  int64_t heads = query.size(dim), kvHeads = key.size(dim);
  if (kvHeads == 0 || heads % kvHeads != 0)
    return op.emitOpError("expected size of dim ")
           << dim << " of query to be a multiple of " << kvHeads
           << ", the heads of key, but got " << heads;
  return success();
}

/// Both offsets or none, and none of dense operands.
static LogicalResult verifyOffsets(AttentionBackwardOp op) {
  Value queries = op.getQOffsets(), keys = op.getKvOffsets();
  if (static_cast<bool>(queries) != static_cast<bool>(keys))
    return op.emitOpError("expected kv_offsets to be ")
           << (queries ? "present" : "absent")
           << (queries ? " with q_offsets, but got none"
                       : " without q_offsets, but got one");
  if (!queries)
    return success();
  if (!op.isRagged())
    return op.emitOpError("expected q_offsets to be absent with queries of "
                          "rank 4, but got one");
  return success();
}

/// What goes with a softmax only, and the slope of what stands in its place.
static LogicalResult verifyNormalizer(AttentionBackwardOp op) {
  bool softmax = op.getNormalizer() == Normalizer::softmax;
  StringRef form = softmax ? "normalizer softmax" : "normalizer none";
  if (failed(verifyPresence(op, "lse", op.getLse(), softmax, form)) ||
      failed(verifyPresence(op, "delta", op.getDelta(), softmax, form)))
    return failure();
  if (softmax) {
    if (op.getDelta().getType() != op.getLse().getType())
      return op.emitOpError("expected type of delta to be that of lse, ")
             << op.getLse().getType() << ", but got "
             << op.getDelta().getType();
    return verifyPresence(op, "slope", !op.getSlope().empty(), false, form);
  }
  if (failed(verifyPresence(op, "sink", op.getSink(), false, form)) ||
      failed(verifyPresence(op, "dbias", op.getDbias(), false, form)))
    return failure();
  bool score = !op.getScore().empty();
  return verifyPresence(op, "slope", !op.getSlope().empty(), score,
                        score ? "score and normalizer none"
                              : "normalizer none and no score");
}

/// The gradient of a bias has a region that adds one, and a position for it.
static LogicalResult verifyDbias(AttentionBackwardOp op) {
  if (!op.getDbias())
    return success();
  if (op.getScore().empty())
    return op.emitOpError("expected dbias to be absent without score, but got "
                          "one");
  return success();
}

LogicalResult AttentionBackwardOp::verify() {
  Named query{"query", getQuery()}, key{"key", getKey()};
  Named value{"value", getValue()}, gradient{"gradient", getGradient()};
  Named dquery{"dquery", getDquery()}, dkey{"dkey", getDkey()};
  Named dvalue{"dvalue", getDvalue()};
  if (failed(verifyOperands(*this, {query, key, value, gradient})) ||
      failed(verifyOffsets(*this)) || failed(verifyNormalizer(*this)) ||
      failed(expectElement(*this, dkey, dquery.element())) ||
      failed(expectElement(*this, dvalue, dquery.element())))
    return failure();
  if (static_cast<bool>(getSink()) != static_cast<bool>(getDsink()))
    return emitOpError("expected dsink to be ")
           << (getSink() ? "present with a sink, but got none"
                         : "absent without a sink, but got one");
  if (failed(verifyDbias(*this)))
    return failure();
  if (getSoftcap() && !(getSoftcap()->convertToFloat() > 0))
    return emitOpError("expected softcap to be above 0, but got ")
           << getSoftcap()->convertToFloat();
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// Finds what keeps a region from having a slope of 1 by its score.
class SlopeCheck {
public:
  explicit SlopeCheck(Block &block) : score(block.getArgument(0)) {
    depending.insert(score);
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(op.getOperands(),
                       [&](Value v) { return depending.contains(v); }))
        depending.insert_range(op.getResults());
  }

  /// The value, among those that make up `value`, of another slope; null if
  /// there is none.
  Value find(Value value) const {
    if (value == score)
      return {};
    Operation *op = value.getDefiningOp();
    if (!depending.contains(value))
      return isMinusInf(value) ? Value() : value;
    auto term = [&](Value sum, Value other) {
      return depending.contains(other) ? value : find(sum);
    };
    if (auto add = dyn_cast<AddOp>(op))
      return depending.contains(add.getLhs())
                 ? term(add.getLhs(), add.getRhs())
                 : term(add.getRhs(), add.getLhs());
    if (auto sub = dyn_cast<SubOp>(op))
      return term(sub.getLhs(), sub.getRhs());
    auto select = dyn_cast<SelectOp>(op);
    if (!select || depending.contains(select.getCondition()))
      return value;
    Value other = find(select.getTrueValue());
    return other ? other : find(select.getFalseValue());
  }

private:
  static bool isMinusInf(Value value) {
    DenseElementsAttr constant;
    if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
      return false;
    APFloat number = constant.getSplatValue<APFloat>();
    return number.isInfinity() && number.isNegative();
  }

  Value score;
  llvm::SmallDenseSet<Value> depending;
};
} // namespace

LogicalResult AttentionBackwardOp::verifyRegions() {
  if (failed(
          verifyAttentionRegions(*this, getScore(), getWeight(), getReads())) ||
      failed(verifyScoreRegion(*this, "slope", getSlope(), getReads())))
    return failure();
  if (getScore().empty() || getNormalizer() == Normalizer::none)
    return success();
  Block &block = getScore().front();
  Value result = block.back().getOperand(0);
  Value other = SlopeCheck(block).find(result);
  if (!other)
    return success();
  InFlightDiagnostic diag = emitOpError(
      "expected score to yield its score, changed only by hk.add and hk.sub of "
      "what does not depend on it, or -inf by hk.select, but got ");
  if (Operation *op = other.getDefiningOp())
    diag << op->getName();
  else
    diag << "an argument";
  return diag;
}
