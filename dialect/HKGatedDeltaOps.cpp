//===- HKGatedDeltaOps.cpp - The gated delta rule -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes and verifiers. All operands with tokens share their leading dims,
// [B, T] or, with offsets, [T].
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Shared statements and checks
//===----------------------------------------------------------------------===//

/// Indices, has_initial and state of an operator that reads one.
template <class OpT>
static void hasFirstState(ShapeRelations &shapes, OpT op,
                          const SizeTerm &sequences, const SizeTerm &heads,
                          const SizeTerm &keys, const SizeTerm &values) {
  Named state{"state", op.getState()};
  shapes.shape({"indices", op.getIndices()}, {sequences});
  shapes.shape({"has_initial", op.getHasInitial()}, {sequences});
  if (!state.value)
    return;
  bool keyMajor = op.getStateLayout() == StateLayout::key_major;
  shapes.shape(state,
               {op.getIndices() ? dimOf(state.value, 0) : sequences, heads,
                keyMajor ? keys : values, keyMajor ? values : keys});
  for (int64_t dim = 1; dim < 4; ++dim)
    shapes.isStatic(state, dim);
}

namespace {
/// The tensors of one operator that have tokens.
class TokenShapes {
public:
  /// `lead` is the operand whose leading dims the others have.
  TokenShapes(ShapeRelations &shapes, Value offsets, Named lead)
      : shapes(shapes), offsets(offsets), leading{dimOf(lead.value, 0)} {
    if (!offsets)
      leading.push_back(dimOf(lead.value, 1));
    shapes.rank({"offsets", offsets}, 1);
    hasTail(lead);
  }

  SizeTerm numSequences() const {
    return offsets ? dimOf(offsets, 0) - 1 : leading[0];
  }
  SmallVector<SizeTerm> withTail(ArrayRef<SizeTerm> tail) const {
    SmallVector<SizeTerm> sizes(leading);
    llvm::append_range(sizes, tail);
    return sizes;
  }
  /// `v` has heads and elements of its own number, which is static.
  void hasTail(Named v) const {
    int64_t rank = (offsets ? 1 : 2) + 2;
    shapes.rank(v, rank);
    shapes.isStatic(v, rank - 2);
    shapes.isStatic(v, rank - 1);
    shapes.shape(v, withTail({dimOf(v.value, -2), dimOf(v.value, -1)}));
  }
  void has(StringRef name, Value value, ArrayRef<SizeTerm> tail) const {
    shapes.shape({name, value}, withTail(tail));
  }
  /// The states of hk.chunk_state: chunks, heads, keys, values.
  void hasStates(Value states, int64_t chunk, ArrayRef<SizeTerm> tail) const {
    SizeTerm chunks = ceilDiv(leading.back(), chunk);
    SmallVector<SizeTerm> sizes;
    if (offsets)
      sizes.push_back(chunks + numSequences());
    else
      sizes.append({leading[0], chunks});
    llvm::append_range(sizes, tail);
    shapes.shape({"states", states}, sizes);
  }
  /// u, w and decay of an operator that walks over chunks.
  template <class OpT> void hasWalk(OpT op) const {
    hasTail({"u", op.getU()});
    SizeTerm heads = dimOf(op.getU(), -2);
    has("w", op.getW(), {heads, dimOf(op.getKey(), -1)});
    has("decay", op.getDecay(), {heads});
  }
  template <class OpT>
  void hasState(OpT op, const SizeTerm &heads, const SizeTerm &keys,
                const SizeTerm &values) const {
    hasFirstState(shapes, op, numSequences(), heads, keys, values);
    if (op.getState())
      shapes.same({"new_state", op.getNewState()}, op.getState());
  }

private:
  ShapeRelations &shapes;
  Value offsets;
  SmallVector<SizeTerm> leading;
};
} // namespace

/// At least one sequence bound, head and element of a head.
static LogicalResult verifyNotEmpty(Operation *op, Value offsets,
                                    ArrayRef<Named> operands) {
  if (offsets && tensorType(offsets).getDimSize(0) == 0)
    return op->emitOpError("expected size of dim 0 of offsets to be at least "
                           "1, but got 0");
  for (Named v : operands)
    for (int64_t dim = v.rank() - 2; dim < v.rank(); ++dim)
      if (v.size(dim) < 1)
        return op->emitOpError("expected size of dim ")
               << dim << " of " << v.name << " to be at least 1, but got "
               << v.size(dim);
  return success();
}

static int64_t lastSize(Value value) {
  return tensorType(value).getShape().back();
}
static int64_t sizeBeforeLast(Value value) {
  return tensorType(value).getShape().drop_back().back();
}

/// Value heads share key heads in runs.
static LogicalResult verifyHeads(Operation *op, Value keys, Value values) {
  int64_t keyHeads = sizeBeforeLast(keys), heads = sizeBeforeLast(values);
  if (heads % keyHeads == 0)
    return success();
  return op->emitOpError("expected number of value heads to be a multiple of "
                         "the ")
         << keyHeads << " key heads, but got " << heads;
}

static LogicalResult verifyChunk(Operation *op, int64_t chunk) {
  if (chunk == 16 || chunk == 32 || chunk == 64)
    return success();
  return op->emitOpError("expected chunk to be 16, 32 or 64, but got ")
         << chunk;
}

/// Indices and has_initial of an operator that reads a state.
template <class OpT> static LogicalResult verifyFirstState(OpT op) {
  for (auto [name, value] :
       {std::pair<StringRef, Value>("indices", op.getIndices()),
        std::pair<StringRef, Value>("has_initial", op.getHasInitial())})
    if (value && !op.getState())
      return op.emitOpError("expected ")
             << name << " to be absent without a state, but got one";
  return success();
}

/// State, indices, has_initial and new_state of an operator with a state.
template <class OpT> static LogicalResult verifyState(OpT op) {
  if (failed(verifyFirstState(op)))
    return failure();
  if (static_cast<bool>(op.getState()) != static_cast<bool>(op.getNewState()))
    return op.emitOpError("expected new_state to be ")
           << (op.getState() ? "present with" : "absent without")
           << " a state, but got " << (op.getState() ? "none" : "one");
  if (!op.getState() || op.getNewState().getType() == op.getState().getType())
    return success();
  return op.emitOpError("expected type of new_state to be ")
         << op.getState().getType() << ", that of state, but got "
         << op.getNewState().getType();
}

template <class OpT> static OpOperand *tiedState(OpT op, OpResult result) {
  if (!op.getState() || result != op.getNewState())
    return nullptr;
  return &op.getStateMutable()[0];
}

//===----------------------------------------------------------------------===//
// hk.gated_delta_rule
//===----------------------------------------------------------------------===//

OpOperand *GatedDeltaRuleOp::getTiedState(OpResult result) {
  return tiedState(*this, result);
}

void GatedDeltaRuleOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"query", getQuery()});
  tokens.hasTail({"value", getValue()});
  SizeTerm heads = dimOf(getQuery(), -2), keys = dimOf(getQuery(), -1);
  SizeTerm valueHeads = dimOf(getValue(), -2), values = dimOf(getValue(), -1);
  tokens.has("key", getKey(), {heads, keys});
  tokens.has("decay", getDecay(), {valueHeads});
  tokens.has("key_decay", getKeyDecay(), {valueHeads, keys});
  tokens.has("value_decay", getValueDecay(), {valueHeads, values});
  tokens.has("result", getResult(), {valueHeads, values});
  SmallVector<SizeTerm> perHead = {valueHeads};
  if (getBeta() && tensorType(getBeta()).getRank() != (getOffsets() ? 2 : 3))
    perHead.push_back(values);
  tokens.has("beta", getBeta(), perHead);
  tokens.hasState(*this, valueHeads, keys, values);
}

LogicalResult GatedDeltaRuleOp::verify() {
  if (failed(verifyNotEmpty(*this, getOffsets(),
                            {{"query", getQuery()}, {"value", getValue()}})) ||
      failed(verifyHeads(*this, getQuery(), getValue())))
    return failure();
  if (getL2norm() && getL2norm()->isNegative())
    return emitOpError("expected l2norm to be at least 0, but got ")
           << getL2norm()->convertToDouble();
  return verifyState(*this);
}

//===----------------------------------------------------------------------===//
// hk.chunk_kkt
//===----------------------------------------------------------------------===//

void ChunkKktOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"key", getKey()});
  SizeTerm valueHeads = dimOf(getResult(), -2);
  tokens.hasTail({"result", getResult()});
  tokens.has("result", getResult(), {valueHeads, getChunk()});
  tokens.has("decay", getDecay(), {valueHeads});
  tokens.has("beta", getBeta(), {valueHeads});
}

LogicalResult ChunkKktOp::verify() {
  if (failed(verifyNotEmpty(*this, getOffsets(),
                            {{"key", getKey()}, {"result", getResult()}})) ||
      failed(verifyChunk(*this, getChunk())))
    return failure();
  return verifyHeads(*this, getKey(), getResult());
}

//===----------------------------------------------------------------------===//
// hk.solve_tril
//===----------------------------------------------------------------------===//

int64_t SolveTrilOp::getChunk() { return lastSize(getInput()); }

void SolveTrilOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"input", getInput()});
  shapes.same({"result", getResult()}, getInput());
}

LogicalResult SolveTrilOp::verify() {
  if (failed(verifyNotEmpty(*this, getOffsets(), {{"input", getInput()}})))
    return failure();
  return verifyChunk(*this, getChunk());
}

//===----------------------------------------------------------------------===//
// hk.chunk_wu
//===----------------------------------------------------------------------===//

int64_t ChunkWUOp::getChunk() { return lastSize(getInverse()); }

void ChunkWUOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"key", getKey()});
  tokens.hasTail({"value", getValue()});
  tokens.hasTail({"inverse", getInverse()});
  SizeTerm heads = dimOf(getValue(), -2);
  tokens.has("inverse", getInverse(), {heads, dimOf(getInverse(), -1)});
  tokens.has("decay", getDecay(), {heads});
  tokens.has("beta", getBeta(), {heads});
  tokens.has("w", getW(), {heads, dimOf(getKey(), -1)});
  tokens.has("u", getU(), {heads, dimOf(getValue(), -1)});
}

LogicalResult ChunkWUOp::verify() {
  Named key{"key", getKey()}, value{"value", getValue()};
  if (failed(verifyNotEmpty(*this, getOffsets(),
                            {key, value, {"inverse", getInverse()}})) ||
      failed(verifyChunk(*this, getChunk())) ||
      failed(verifyHeads(*this, getKey(), getValue())) ||
      failed(expectElement(*this, {"w", getW()}, key.element())))
    return failure();
  return expectElement(*this, {"u", getU()}, value.element());
}

//===----------------------------------------------------------------------===//
// hk.chunk_state
//===----------------------------------------------------------------------===//

OpOperand *ChunkStateOp::getTiedState(OpResult result) {
  return tiedState(*this, result);
}

void ChunkStateOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"key", getKey()});
  tokens.hasWalk(*this);
  SizeTerm heads = dimOf(getU(), -2), values = dimOf(getU(), -1);
  SizeTerm keys = dimOf(getKey(), -1);
  tokens.has("v_new", getVNew(), {heads, values});
  tokens.hasStates(getStates(), getChunk(), {heads, keys, values});
  tokens.hasState(*this, heads, keys, values);
  Named starts{"starts", getStarts()};
  if (!starts.value)
    return;
  shapes.shape(starts, {dimOf(starts.value, 0), tokens.numSequences(), heads,
                        keys, values});
  shapes.isStatic(starts, 0);
}

int64_t ChunkStateOp::getSegments() {
  return getStarts() ? tensorType(getStarts()).getDimSize(0) : 1;
}

LogicalResult ChunkStateOp::verify() {
  Named key{"key", getKey()}, u{"u", getU()};
  if (failed(verifyNotEmpty(*this, getOffsets(), {key, u})) ||
      failed(verifyChunk(*this, getChunk())) ||
      failed(verifyHeads(*this, getKey(), getU())) ||
      failed(expectElement(*this, {"w", getW()}, key.element())) ||
      failed(expectElement(*this, {"v_new", getVNew()}, u.element())) ||
      failed(expectElement(*this, {"states", getStates()}, key.element())))
    return failure();
  if (getStarts() && getSegments() < 2)
    return emitOpError("expected size of dim 0 of starts to be at least 2, but "
                       "got ")
           << getSegments();
  return verifyState(*this);
}

//===----------------------------------------------------------------------===//
// hk.chunk_transition, hk.chunk_starts
//===----------------------------------------------------------------------===//

void ChunkTransitionOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"key", getKey()});
  tokens.hasWalk(*this);
  SizeTerm heads = dimOf(getU(), -2), values = dimOf(getU(), -1);
  SizeTerm keys = dimOf(getKey(), -1);
  shapes.shape({"result", getResult()},
               {int64_t(getSegments()) - 1, tokens.numSequences(), heads, keys,
                values + keys});
}

LogicalResult ChunkTransitionOp::verify() {
  Named key{"key", getKey()}, u{"u", getU()};
  if (failed(verifyNotEmpty(*this, getOffsets(), {key, u})) ||
      failed(verifyChunk(*this, getChunk())) ||
      failed(verifyHeads(*this, getKey(), getU())))
    return failure();
  return expectElement(*this, {"w", getW()}, key.element());
}

void ChunkStartsOp::stateShapes(ShapeRelations &shapes) {
  Named transitions{"transitions", getTransitions()};
  Named result{"result", getResult()};
  for (Named v : {transitions, result}) {
    shapes.rank(v, 5);
    for (int64_t dim : {0, 2, 3, 4})
      shapes.isStatic(v, dim);
  }
  Value t = transitions.value;
  SizeTerm sequences = dimOf(t, 1), heads = dimOf(t, 2), keys = dimOf(t, 3);
  SizeTerm values = dimOf(result.value, 4);
  SizeTerm segments = dimOf(result.value, 0);
  shapes.shape(transitions,
               {segments - 1, sequences, heads, keys, values + keys});
  shapes.shape(result, {segments, sequences, heads, keys, values});
  hasFirstState(shapes, *this, sequences, heads, keys, values);
}

LogicalResult ChunkStartsOp::verify() {
  if (failed(verifyNotEmpty(*this, {}, {{"result", getResult()}})))
    return failure();
  return verifyFirstState(*this);
}

//===----------------------------------------------------------------------===//
// hk.chunk_output
//===----------------------------------------------------------------------===//

void ChunkOutputOp::stateShapes(ShapeRelations &shapes) {
  TokenShapes tokens(shapes, getOffsets(), {"query", getQuery()});
  tokens.hasTail({"value", getValue()});
  SizeTerm heads = dimOf(getQuery(), -2), keys = dimOf(getQuery(), -1);
  SizeTerm valueHeads = dimOf(getValue(), -2), values = dimOf(getValue(), -1);
  tokens.has("key", getKey(), {heads, keys});
  tokens.has("decay", getDecay(), {valueHeads});
  tokens.hasStates(getStates(), getChunk(), {valueHeads, keys, values});
  tokens.has("result", getResult(), {valueHeads, values});
}

LogicalResult ChunkOutputOp::verify() {
  if (failed(verifyNotEmpty(*this, getOffsets(),
                            {{"query", getQuery()}, {"value", getValue()}})) ||
      failed(verifyChunk(*this, getChunk())))
    return failure();
  return verifyHeads(*this, getQuery(), getValue());
}
