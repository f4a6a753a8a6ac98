//===- HKCollectiveOps.cpp - Operators over several ranks -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each operator exchanges; shapes and checks follow from that. Everything
// is about the axis, which only the module's mesh knows.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

/// Ranks along the axis of `op`; nullopt where there is no such axis.
static std::optional<int64_t> ranksOf(CollectiveOpInterface op) {
  std::optional<::hk::Mesh> mesh = meshOf(op);
  int axis = mesh ? mesh->find(op.getAxis().str()) : -1;
  if (axis < 0)
    return std::nullopt;
  return mesh->axes()[axis].size;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult verifyAxis(CollectiveOpInterface op) {
  if (ranksOf(op))
    return success();
  auto module = op->getParentOfType<ModuleOp>();
  auto mesh =
      module ? module->getAttrOfType<StringAttr>(kMeshAttrName) : StringAttr();
  if (!mesh)
    return op->emitOpError(
               "expected its module to have a mesh with the axis \"")
           << op.getAxis() << "\", as module attributes {" << kMeshAttrName
           << " = \"" << op.getAxis() << "=2\"}, but it has none";
  return op->emitOpError("expected axis to be one of the mesh ")
         << mesh << ", but got \"" << op.getAxis() << "\"";
}

static LogicalResult verifyDim(Operation *op, StringRef name,
                               std::optional<int64_t> dim, int64_t rank) {
  if (!dim || *dim < rank)
    return success();
  return op->emitOpError("expected ")
         << name << " to be less than " << rank
         << ", the rank of input, but got " << *dim;
}

/// The operand can be cut in equal parts.
static LogicalResult verifySplit(CollectiveOpInterface op, Named input,
                                 int64_t dim) {
  if (isPacked(input.element()) && dim + 1 == input.rank())
    return op->emitOpError("expected the dim that is split not to be the last "
                           "one, because elements of ")
           << input.element() << " share bytes, but got " << dim;
  int64_t size = input.size(dim), ranks = *ranksOf(op);
  if (ShapedType::isDynamic(size) || size % ranks == 0)
    return success();
  return op->emitOpError("expected size of dim ")
         << dim << " of input to be a multiple of " << ranks
         << ", the ranks of axis \"" << op.getAxis() << "\", but got " << size;
}

static LogicalResult verifyReduction(Operation *op, const Exchange &exchange,
                                     Named input, Named result) {
  if (exchange.reduction == ReduceKind::absmax)
    return op->emitOpError("expected kind to be sum, max or min, but got "
                           "absmax; put an hk.abs in front of max");
  bool isReal = isa<FloatType>(input.element());
  bool mayRound = isReal && (exchange.reduction != ReduceKind::sum ||
                             exchange.transport == Transport::in_order);
  if (!mayRound)
    return expectElement(op, result, input.element());
  if (isa<FloatType>(result.element()))
    return success();
  return op->emitOpError("expected element type of result to be f32, bf16 or "
                         "f16, but got ")
         << result.element();
}

static LogicalResult verifyCollective(CollectiveOpInterface op) {
  if (failed(verifyAxis(op)))
    return failure();
  if (op->getNumOperands() == 0)
    return success();
  Named input{"input", op->getOperand(0)}, result{"result", op->getResult(0)};
  Exchange exchange = op.getExchange();
  StringRef split = exchange.concat ? "split" : "dim";
  StringRef concat = exchange.split ? "concat" : "dim";
  if (failed(verifyDim(op, split, exchange.split, input.rank())) ||
      failed(verifyDim(op, concat, exchange.concat, input.rank())))
    return failure();
  if (exchange.split && failed(verifySplit(op, input, *exchange.split)))
    return failure();
  if (exchange.root && *exchange.root >= *ranksOf(op))
    return op->emitOpError("expected root to be less than ")
           << *ranksOf(op) << ", the ranks of axis \"" << op.getAxis()
           << "\", but got " << *exchange.root;
  if (exchange.reduction)
    return verifyReduction(op, exchange, input, result);
  if (failed(expectElement(op, result, input.element())))
    return failure();
  return expectPacked(op, "result", result.type());
}

static void stateCollective(CollectiveOpInterface op, ShapeRelations &shapes) {
  std::optional<int64_t> ranks = ranksOf(op);
  if (!ranks)
    return; // the verifier says so
  Named result{"result", op->getResult(0)};
  if (op->getNumOperands() == 0)
    return shapes.shape(result, {});
  Exchange exchange = op.getExchange();
  SmallVector<SizeTerm> sizes = dimsOf(op->getOperand(0));
  auto has = [&](std::optional<int64_t> dim) {
    return dim && *dim < static_cast<int64_t>(sizes.size());
  };
  if (has(exchange.split))
    sizes[*exchange.split] = exactDiv(sizes[*exchange.split], *ranks);
  if (has(exchange.concat))
    sizes[*exchange.concat] = sizes[*exchange.concat] * *ranks;
  shapes.shape(result, sizes);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static std::optional<int64_t> dim(uint64_t value) {
  return static_cast<int64_t>(value);
}

Exchange AllReduceOp::getExchange() {
  Exchange exchange;
  exchange.reduction = getKind();
  exchange.transport = getTransport();
  return exchange;
}

Exchange ReduceScatterOp::getExchange() {
  Exchange exchange;
  exchange.split = dim(getDim());
  exchange.reduction = getKind();
  exchange.transport = getTransport();
  return exchange;
}

Exchange AllGatherOp::getExchange() {
  Exchange exchange;
  exchange.concat = dim(getDim());
  return exchange;
}

Exchange AllToAllOp::getExchange() {
  Exchange exchange;
  exchange.split = dim(getSplit());
  exchange.concat = dim(getConcat());
  return exchange;
}

Exchange AllToAllRowsOp::getExchange() {
  Exchange exchange;
  exchange.split = exchange.concat = 0;
  return exchange;
}

Exchange BroadcastRankOp::getExchange() {
  Exchange exchange;
  exchange.root = dim(getRoot());
  return exchange;
}

Exchange RankOp::getExchange() { return {}; }

void AllToAllRowsOp::stateShapes(ShapeRelations &shapes) {
  std::optional<int64_t> ranks = ranksOf(*this);
  if (!ranks)
    return; // the verifier says so
  shapes.minRank({"input", getInput()}, 1);
  shapes.shape({"counts", getCounts()}, SizeTerm(*ranks));
  std::optional<uint64_t> capacity = getCapacity();
  SmallVector<SizeTerm> sizes{*ranks, capacity ? SizeTerm(int64_t(*capacity))
                                               : dimOf(getInput(), 0)};
  llvm::append_range(sizes, dimsOf(getInput(), 1));
  shapes.shape({"rows", getRows()}, sizes);
  shapes.shape({"received", getReceived()}, SizeTerm(*ranks));
}

LogicalResult AllToAllRowsOp::verify() {
  if (failed(verifyAxis(*this)))
    return failure();
  Named input{"input", getInput()}, rows{"rows", getRows()};
  if (failed(expectElement(*this, rows, input.element())))
    return failure();
  if (isPacked(input.element()) && input.rank() == 1)
    return emitOpError("expected rows of at least one dim, because elements "
                       "of ")
           << input.element() << " share bytes";
  return expectPacked(*this, "rows", rows.type());
}

#define HK_COLLECTIVE(OP)                                                      \
  void OP::stateShapes(ShapeRelations &shapes) {                               \
    stateCollective(*this, shapes);                                            \
  }                                                                            \
  LogicalResult OP::verify() { return verifyCollective(*this); }
HK_COLLECTIVE(AllReduceOp)
HK_COLLECTIVE(ReduceScatterOp)
HK_COLLECTIVE(AllGatherOp)
HK_COLLECTIVE(AllToAllOp)
HK_COLLECTIVE(BroadcastRankOp)
HK_COLLECTIVE(RankOp)
#undef HK_COLLECTIVE
