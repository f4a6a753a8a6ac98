//===- HKGatedDeltaOps.cpp - The gated delta rule -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and result shapes. All operands with tokens share their leading
// dims, [B, T] or, with offsets, [T].
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Checks of the operands of one operator that have tokens.
class TokenCheck {
public:
  /// `lead` is the operand whose leading dims the others must have.
  TokenCheck(Operation *op, Value offsets, Named lead)
      : op(op), offsets(offsets), lead(lead) {}

  int64_t numLeading() const { return offsets ? 1 : 2; }
  ArrayRef<int64_t> leading() const {
    return lead.type().getShape().take_front(numLeading());
  }
  /// The number of sequences as far as the types say.
  int64_t numSequences() const {
    if (!offsets)
      return lead.size(0);
    int64_t bounds = tensorType(offsets).getDimSize(0);
    return ShapedType::isDynamic(bounds) ? bounds : bounds - 1;
  }

  /// Rank and static trailing sizes of an operand with tokens.
  LogicalResult hasTail(Named v, int64_t tail) const {
    if (failed(expectRank(op, v, numLeading() + tail)))
      return failure();
    for (int64_t dim = numLeading(); dim < v.rank(); ++dim) {
      if (failed(expectStatic(op, v, dim)))
        return failure();
      if (v.size(dim) < 1)
        return op->emitOpError("expected size of dim ")
               << dim << " of " << v.name << " to be at least 1, but got "
               << v.size(dim);
    }
    return success();
  }
  LogicalResult hasShape(StringRef name, Value value,
                         ArrayRef<int64_t> tail) const {
    if (!value)
      return success();
    SmallVector<int64_t> shape(leading());
    shape.append(tail.begin(), tail.end());
    return expectShape(op, {name, value}, shape);
  }
  LogicalResult offsetsAreBounds() const {
    if (!offsets)
      return success();
    Named v{"offsets", offsets};
    if (failed(expectRank(op, v, 1)))
      return failure();
    if (v.size(0) == 0)
      return op->emitOpError("expected size of dim 0 of offsets to be at least "
                             "1, but got 0");
    return success();
  }
  /// Value heads share key heads in runs.
  LogicalResult headsDivide(int64_t keyHeads, int64_t valueHeads) const {
    if (valueHeads % keyHeads == 0)
      return success();
    return op->emitOpError("expected number of value heads to be a multiple of "
                           "the ")
           << keyHeads << " key heads, but got " << valueHeads;
  }
  LogicalResult isChunk(int64_t chunk) const {
    if (chunk == 16 || chunk == 32 || chunk == 64)
      return success();
    return op->emitOpError("expected chunk to be 16, 32 or 64, but got ")
           << chunk;
  }

private:
  Operation *op;
  Value offsets;
  Named lead;
};

} // namespace

/// State, indices, has_initial and new_state of an operator with a state.
template <class OpT>
static LogicalResult verifyState(OpT op, const TokenCheck &check, int64_t heads,
                                 int64_t keys, int64_t values) {
  for (auto [name, value] :
       {std::pair<StringRef, Value>("indices", op.getIndices()),
        std::pair<StringRef, Value>("has_initial", op.getHasInitial())}) {
    if (!value)
      continue;
    if (!op.getState())
      return op.emitOpError("expected ")
             << name << " to be absent without a state, but got one";
    if (failed(expectShape(op, {name, value}, {check.numSequences()})))
      return failure();
  }
  if (static_cast<bool>(op.getState()) != static_cast<bool>(op.getNewState()))
    return op.emitOpError("expected new_state to be ")
           << (op.getState() ? "present with" : "absent without")
           << " a state, but got " << (op.getState() ? "none" : "one");
  if (!op.getState())
    return success();
  bool keyMajor = op.getStateLayout() == StateLayout::key_major;
  int64_t lines = op.getIndices() ? ShapedType::kDynamic : check.numSequences();
  if (failed(expectShape(
          op, {"state", op.getState()},
          {lines, heads, keyMajor ? keys : values, keyMajor ? values : keys})))
    return failure();
  for (int64_t dim = 1; dim < 4; ++dim)
    if (failed(expectStatic(op, {"state", op.getState()}, dim)))
      return failure();
  if (op.getNewState().getType() != op.getState().getType())
    return op.emitOpError("expected type of new_state to be ")
           << op.getState().getType() << ", that of state, but got "
           << op.getNewState().getType();
  return success();
}

template <class OpT> static OpOperand *tiedState(OpT op, OpResult result) {
  if (!op.getState() || result != op.getNewState())
    return nullptr;
  return &op.getStateMutable()[0];
}

static int64_t lastSize(Value value) {
  return tensorType(value).getShape().back();
}
static int64_t sizeBeforeLast(Value value) {
  return tensorType(value).getShape().drop_back().back();
}

//===----------------------------------------------------------------------===//
// hk.gated_delta_rule
//===----------------------------------------------------------------------===//

OpOperand *GatedDeltaRuleOp::getTiedState(OpResult result) {
  return tiedState(*this, result);
}

LogicalResult GatedDeltaRuleOp::verify() {
  Named query{"query", getQuery()}, value{"value", getValue()};
  TokenCheck check(*this, getOffsets(), query);
  if (failed(check.offsetsAreBounds()) || failed(check.hasTail(query, 2)) ||
      failed(check.hasTail(value, 2)))
    return failure();
  int64_t heads = sizeBeforeLast(getQuery()), keys = lastSize(getQuery());
  int64_t valueHeads = sizeBeforeLast(getValue());
  int64_t values = lastSize(getValue());
  if (failed(check.headsDivide(heads, valueHeads)) ||
      failed(check.hasShape("key", getKey(), {heads, keys})) ||
      failed(check.hasShape("value", getValue(), {valueHeads, values})) ||
      failed(check.hasShape("decay", getDecay(), {valueHeads})) ||
      failed(check.hasShape("key_decay", getKeyDecay(), {valueHeads, keys})) ||
      failed(check.hasShape("value_decay", getValueDecay(),
                            {valueHeads, values})) ||
      failed(check.hasShape("result", getResult(), {valueHeads, values})))
    return failure();
  if (getBeta()) {
    bool headwise = tensorType(getBeta()).getRank() == check.numLeading() + 1;
    SmallVector<int64_t> tail = {valueHeads};
    if (!headwise)
      tail.push_back(values);
    if (failed(check.hasShape("beta", getBeta(), tail)))
      return failure();
  }
  if (getL2norm() && getL2norm()->isNegative())
    return emitOpError("expected l2norm to be at least 0, but got ")
           << getL2norm()->convertToDouble();
  return verifyState(*this, check, valueHeads, keys, values);
}

LogicalResult
GatedDeltaRuleOp::reifyResultShapes(OpBuilder &b,
                                    ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getValue(), r);
  if (getNewState())
    addShapeOf(b, getLoc(), getNewState(), getState(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.chunk_kkt
//===----------------------------------------------------------------------===//

LogicalResult ChunkKktOp::verify() {
  Named key{"key", getKey()}, result{"result", getResult()};
  TokenCheck check(*this, getOffsets(), key);
  auto chunk = static_cast<int64_t>(getChunk());
  if (failed(check.offsetsAreBounds()) || failed(check.hasTail(key, 2)) ||
      failed(check.hasTail(result, 2)) || failed(check.isChunk(chunk)))
    return failure();
  int64_t valueHeads = sizeBeforeLast(getResult());
  if (failed(check.headsDivide(sizeBeforeLast(getKey()), valueHeads)) ||
      failed(check.hasShape("result", getResult(), {valueHeads, chunk})) ||
      failed(check.hasShape("decay", getDecay(), {valueHeads})))
    return failure();
  return check.hasShape("beta", getBeta(), {valueHeads});
}

LogicalResult ChunkKktOp::reifyResultShapes(OpBuilder &b,
                                            ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getKey(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.solve_tril
//===----------------------------------------------------------------------===//

int64_t SolveTrilOp::getChunk() { return lastSize(getInput()); }

LogicalResult SolveTrilOp::verify() {
  Named input{"input", getInput()};
  TokenCheck check(*this, getOffsets(), input);
  if (failed(check.offsetsAreBounds()) || failed(check.hasTail(input, 2)) ||
      failed(check.isChunk(getChunk())))
    return failure();
  return expectShape(*this, {"result", getResult()}, input.type().getShape());
}

LogicalResult SolveTrilOp::reifyResultShapes(OpBuilder &b,
                                             ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getInput(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.chunk_wu
//===----------------------------------------------------------------------===//

int64_t ChunkWUOp::getChunk() { return lastSize(getInverse()); }

LogicalResult ChunkWUOp::verify() {
  Named key{"key", getKey()}, value{"value", getValue()};
  Named inverse{"inverse", getInverse()};
  TokenCheck check(*this, getOffsets(), key);
  if (failed(check.offsetsAreBounds()) || failed(check.hasTail(key, 2)) ||
      failed(check.hasTail(value, 2)) || failed(check.hasTail(inverse, 2)) ||
      failed(check.isChunk(getChunk())))
    return failure();
  int64_t heads = sizeBeforeLast(getValue());
  if (failed(check.headsDivide(sizeBeforeLast(getKey()), heads)) ||
      failed(
          check.hasShape("value", getValue(), {heads, lastSize(getValue())})) ||
      failed(check.hasShape("inverse", getInverse(), {heads, getChunk()})) ||
      failed(check.hasShape("decay", getDecay(), {heads})) ||
      failed(check.hasShape("beta", getBeta(), {heads})) ||
      failed(check.hasShape("w", getW(), {heads, lastSize(getKey())})) ||
      failed(check.hasShape("u", getU(), {heads, lastSize(getValue())})) ||
      failed(expectElement(*this, {"w", getW()}, key.element())))
    return failure();
  return expectElement(*this, {"u", getU()}, value.element());
}

LogicalResult ChunkWUOp::reifyResultShapes(OpBuilder &b,
                                           ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getValue());
  sizes.back() = b.getIndexAttr(lastSize(getKey()));
  addShape(b, getLoc(), getW(), std::move(sizes), r);
  addShapeOf(b, getLoc(), getU(), getValue(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.chunk_state
//===----------------------------------------------------------------------===//

OpOperand *ChunkStateOp::getTiedState(OpResult result) {
  return tiedState(*this, result);
}

/// The states of hk.chunk_state: chunks, heads, keys, values.
static LogicalResult verifyStates(Operation *op, const TokenCheck &check,
                                  Value states, Value offsets, int64_t chunk,
                                  ArrayRef<int64_t> tail) {
  SmallVector<int64_t> shape;
  int64_t tokens = check.leading().back();
  if (!offsets) {
    shape = {check.leading()[0], ceilDiv(tokens, chunk)};
  } else {
    int64_t sequences = check.numSequences();
    bool open =
        ShapedType::isDynamic(tokens) || ShapedType::isDynamic(sequences);
    shape = {open ? ShapedType::kDynamic : ceilDiv(tokens, chunk) + sequences};
  }
  shape.append(tail.begin(), tail.end());
  return expectShape(op, {"states", states}, shape);
}

LogicalResult ChunkStateOp::verify() {
  Named key{"key", getKey()}, u{"u", getU()};
  TokenCheck check(*this, getOffsets(), key);
  auto chunk = static_cast<int64_t>(getChunk());
  if (failed(check.offsetsAreBounds()) || failed(check.hasTail(key, 2)) ||
      failed(check.hasTail(u, 2)) || failed(check.isChunk(chunk)))
    return failure();
  int64_t heads = sizeBeforeLast(getU());
  int64_t keys = lastSize(getKey()), values = lastSize(getU());
  if (failed(check.headsDivide(sizeBeforeLast(getKey()), heads)) ||
      failed(check.hasShape("w", getW(), {heads, keys})) ||
      failed(check.hasShape("u", getU(), {heads, values})) ||
      failed(check.hasShape("decay", getDecay(), {heads})) ||
      failed(check.hasShape("v_new", getVNew(), {heads, values})) ||
      failed(expectElement(*this, {"w", getW()}, key.element())) ||
      failed(expectElement(*this, {"v_new", getVNew()}, u.element())) ||
      failed(expectElement(*this, {"states", getStates()}, key.element())) ||
      failed(verifyStates(*this, check, getStates(), getOffsets(), chunk,
                          {heads, keys, values})))
    return failure();
  return verifyState(*this, check, heads, keys, values);
}

LogicalResult ChunkStateOp::reifyResultShapes(OpBuilder &b,
                                              ReifiedRankedShapedTypeDims &r) {
  Sizes sizes = sizesOf(b, getLoc(), getU());
  auto chunk = static_cast<int64_t>(getChunk());
  OpFoldResult values = sizes.pop_back_val(), heads = sizes.pop_back_val();
  OpFoldResult tokens = sizes.pop_back_val();
  OpFoldResult chunks = ceilDivideSize(b, getLoc(), tokens, chunk);
  if (getOffsets()) {
    OpFoldResult bounds = sizesOf(b, getLoc(), getOffsets())[0];
    OpFoldResult sequences = addSizes(b, getLoc(), bounds, b.getIndexAttr(-1));
    chunks = addSizes(b, getLoc(), chunks, sequences);
  }
  sizes.push_back(chunks);
  sizes.append({heads, b.getIndexAttr(lastSize(getKey())), values});
  addShape(b, getLoc(), getStates(), std::move(sizes), r);
  addShapeOf(b, getLoc(), getVNew(), getU(), r);
  if (getNewState())
    addShapeOf(b, getLoc(), getNewState(), getState(), r);
  return success();
}

//===----------------------------------------------------------------------===//
// hk.chunk_output
//===----------------------------------------------------------------------===//

LogicalResult ChunkOutputOp::verify() {
  Named query{"query", getQuery()}, value{"value", getValue()};
  TokenCheck check(*this, getOffsets(), query);
  auto chunk = static_cast<int64_t>(getChunk());
  if (failed(check.offsetsAreBounds()) || failed(check.hasTail(query, 2)) ||
      failed(check.hasTail(value, 2)) || failed(check.isChunk(chunk)))
    return failure();
  int64_t heads = sizeBeforeLast(getQuery()), keys = lastSize(getQuery());
  int64_t valueHeads = sizeBeforeLast(getValue());
  int64_t values = lastSize(getValue());
  if (failed(check.headsDivide(heads, valueHeads)) ||
      failed(check.hasShape("key", getKey(), {heads, keys})) ||
      failed(check.hasShape("value", getValue(), {valueHeads, values})) ||
      failed(check.hasShape("decay", getDecay(), {valueHeads})) ||
      failed(verifyStates(*this, check, getStates(), getOffsets(), chunk,
                          {valueHeads, keys, values})))
    return failure();
  return check.hasShape("result", getResult(), {valueHeads, values});
}

LogicalResult ChunkOutputOp::reifyResultShapes(OpBuilder &b,
                                               ReifiedRankedShapedTypeDims &r) {
  addShapeOf(b, getLoc(), getResult(), getValue(), r);
  return success();
}
