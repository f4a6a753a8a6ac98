//===- States.cpp - What a rank has of every value ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator with an operand that is a term of a sum passes the sum on if it
// is linear; one with a cut operand works on the part if its factors allow; a
// product of whole rows with a free matrix is where a cut begins.
//
//===----------------------------------------------------------------------===//

#include "States.h"
#include "hk/Analysis/State.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

/// Reading that many bytes takes longer than gathering rows of the result.
static constexpr int64_t kLargeHead = 4 << 20;

static const Sharding kWhole;

const Sharding &States::of(Value value) const {
  auto it = states.find(value);
  return it == states.end() ? kWhole : it->second;
}

const Sharding &States::wanted(OpOperand &operand) const {
  auto it = wishes.find(&operand);
  if (it != wishes.end())
    return it->second;
  return isFree(operand.get()) ? kWhole : of(operand.get());
}

const OwnNumbers *States::ownNumbersOf(Operation *op) const {
  auto it = numbered.find(op);
  return it == numbered.end() ? nullptr : &it->second;
}

void States::want(OpOperand &operand, const Sharding &sharding) {
  Value value = operand.get();
  if (pending.erase(value))
    states[value] = sharding;
  wishes[&operand] = sharding;
  anyCut |= sharding.is(Kind::Split);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::optional<Sharding> States::annotationOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? annotatedSharding(op, axis) : std::nullopt;
}

/// An argument with as many rows as its rank has tokens.
bool States::givesOwnTokens(Operation *op) const {
  std::optional<Sharding> asked = annotatedSharding(op, axis);
  return asked && asked->is(Kind::Split) && asked->dim == 0 &&
         axis.takesExperts() && isa<BlockArgument>(op->getOperand(0)) &&
         tensorType(op->getOperand(0)).isDynamicDim(0);
}

LogicalResult States::visitAnnotation(Operation *op) {
  OpOperand &operand = op->getOpOperand(0);
  Sharding asked = *annotatedSharding(op, axis);
  Value value = operand.get();
  if (isFree(value))
    return success(); // whoever reads it asks
  if (givesOwnTokens(op)) {
    want(operand, Sharding::replicated());
    return success();
  }
  if (asked.is(Kind::Split)) {
    RankedTensorType type = tensorType(value);
    int64_t size = type.getDimSize(asked.dim);
    if (ShapedType::isDynamic(size) || size % axis.ranks != 0)
      return op->emitError("expected the size of dim ")
             << asked.dim << " to be a multiple of " << axis.ranks
             << ", the ranks of axis \"" << axis.name << "\", but got " << type;
  }
  bool isArgument = isa<BlockArgument>(value);
  if (isArgument && !states.contains(value))
    states[value] = asked; // the caller passes parts
  pending.erase(value);
  const Sharding &has = of(value);
  if (asked.is(Kind::Split) && !(has == asked) && !has.is(Kind::Partial))
    return op->emitError("expected a value that is ")
           << textOf(asked) << " or a term of a sum along axis \"" << axis.name
           << "\", but it is " << textOf(has)
           << "; annotate the weight or the argument that it is made of";
  want(operand, asked);
  states[op->getResult(0)] = asked;
  return success();
}

LogicalResult States::visitReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isTensor(value))
      continue;
    BlockArgument state = stateArgumentOf(value);
    if (state) {
      pending.erase(state);
      if (of(value) == of(state))
        continue;
      return op->emitError("the state '")
             << state.getArgNumber() << "' is " << textOf(of(state))
             << " along axis \"" << axis.name << "\", but what is written is "
             << textOf(of(value));
    }
    bool stays = isa_and_nonnull<shard::ShardOp>(value.getDefiningOp());
    if (!stays)
      want(operand, Sharding::replicated());
  }
  return success();
}

bool States::tryPartial(Operation *op) {
  Linearity linearity = linearityOf(op);
  if (linearity == Linearity::none)
    return false;
  unsigned tensors = 0, terms = 0;
  Value term;
  for (Value operand : op->getOperands()) {
    if (!isTensor(operand))
      continue;
    ++tensors;
    if (of(operand).is(Kind::Partial)) {
      ++terms;
      term = operand;
    } else if (!of(operand).is(Kind::Replicated)) {
      return false;
    }
  }
  if (terms == 0 || terms != (linearity == Linearity::joint ? tensors : 1))
    return false;
  Owner owner = of(term).owner;
  for (Value operand : op->getOperands())
    if (isTensor(operand) && of(operand).is(Kind::Partial) &&
        (!(of(operand).owner == owner) || !keepsRows(op, operand)))
      owner = {};
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get()))
      want(operand, of(operand.get()));
  for (Value result : op->getResults())
    states[result] = Sharding::partial(owner);
  return true;
}

bool States::trySplit(Operation *op) {
  ShardFactors factors = factorsOf(op);
  SmallVector<Active> active;
  bool any = false;
  for (Value operand : op->getOperands()) {
    if (!isTensor(operand) || !of(operand).is(Kind::Split))
      continue;
    any = true;
    if (!activate(factors, operand, of(operand), active))
      return false;
  }
  return any && apply(op, active);
}

FailureOr<bool> States::cutColumns(ProductOpInterface op,
                                   const ShardFactor &factor, bool forced) {
  const FactorPlace *to =
      llvm::find_if(factor.places, [&](const FactorPlace &p) {
        return p.value == op.getResult();
      });
  const Demand &demand = demands.of(op.getResult(), to->dim);
  bool onlyReturned =
      !demand.needers.empty() && llvm::all_of(demand.needers, [](Operation *o) {
        return isa<func::ReturnOp>(o);
      });
  RankedTensorType weight = tensorType(op.getRhs());
  bool large = onlyReturned && weight.hasStaticShape() &&
               ::hk::packedBytes(*dtypeOf(weight.getElementType()),
                                 weight.getNumElements()) >= kLargeHead;
  bool allWhole = llvm::all_of(demand.pieces,
                               [](const Demand::Piece &p) { return p.whole; });
  if (!forced && !large &&
      !(demand.needers.empty() && demand.ends && !allWhole))
    return false;
  std::string refusal;
  std::optional<Segments> segments =
      segmentsFor(demand, op.getResult(), to->dim, axis, forced, refusal);
  if (!segments && large && !forced)
    return false;
  if (!segments) {
    InFlightDiagnostic error =
        (demand.refuser ? demand.refuser : op.getOperation())
            ->emitError(refusal);
    error << "; or keep it whole by annotating the weight of the product "
             "with a sharding of no axis";
    if (demand.refuser)
      error.attachNote(op.getLoc()) << "the product that would be cut";
    return failure();
  }
  std::optional<Segments> steps = stepsOf(factor, *to, *segments, axis.ranks);
  if (steps && apply(op, Active{&factor, *steps}))
    return true;
  if (!forced)
    return false;
  return op->emitError("its columns cannot be cut as the annotation asks");
}

/// A product of whole rows with a matrix of which a rank can have a part.
LogicalResult States::tryColumns(Operation *op) {
  auto product = dyn_cast<ProductOpInterface>(op);
  if (!product || axis.takesExperts() || !isFree(product.getRhs()))
    return success();
  std::optional<Sharding> asked = annotationOf(product.getRhs());
  if (asked && !asked->is(Kind::Split))
    return success();
  ShardFactors factors = factorsOf(op);
  for (const ShardFactor &factor : factors.get()) {
    const FactorPlace *matrix = nullptr;
    bool reads = false, writes = false;
    for (const FactorPlace &place : factor.places) {
      if (place.value == product.getRhs())
        matrix = &place;
      reads |= place.value == product.getLhs();
      writes |= place.value == product.getResult();
    }
    if (!matrix || ShapedType::isDynamic(factor.steps))
      continue;
    if (asked && asked->dim != matrix->dim)
      continue;
    if (asked && reads)
      return op->emitError("the annotation cuts k, but the left operand is "
                           "whole; cut the columns of the product that makes "
                           "it");
    if (reads || !writes || factor.kind != FactorKind::Parallel)
      continue;
    FailureOr<bool> cut = cutColumns(product, factor, asked.has_value());
    if (failed(cut) || *cut)
      return failure(failed(cut));
  }
  return success();
}

LogicalResult States::visit(Operation *op) {
  if (annotatedSharding(op, axis))
    return visitAnnotation(op);
  if (isa<func::ReturnOp>(op))
    return visitReturn(op);
  if (op->getNumResults() == 1 && isFree(op->getResult(0)))
    return success();
  auto isSizeOfUser = [&](Operation *user) {
    return isSizeOfSource(user, op->getResult(0));
  };
  if (ownTokens && isa<tensor::DimOp>(op) &&
      of(op->getOperand(0)).is(Kind::Owned) &&
      !llvm::all_of(op->getUsers(), isSizeOfUser))
    return op->emitError("expected no size of what experts made to be read, "
                         "because their rows come from all ranks of axis \"")
           << axis.name << "\"";
  if (isa<tensor::DimOp, shard::ShardingOp>(op) ||
      llvm::none_of(op->getOperands(), isTensor))
    return success();
  FailureOr<bool> numbers = tryNumbered(op);
  if (failed(numbers))
    return failure();
  if (*numbers || tryPartial(op) || tryOwned(op) || trySplit(op))
    return success();
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get())) {
      if (of(operand.get()).is(Kind::Owned))
        return op->emitError(
            "expected only operators on its rows, grouped "
            "products with the same groups and hk.gather_rows "
            "to read what experts made; cut their columns "
            "instead, along an axis \"tp\", or keep them whole "
            "by annotating their matrices with a sharding of "
            "no axis");
      want(operand, Sharding::replicated());
    }
  return tryColumns(op);
}

LogicalResult States::run() {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kStateAttrName))
      pending.insert(argument);
  for (Operation &op : function.getBody().front())
    ownTokens |= givesOwnTokens(&op);
  for (Operation &op : function.getBody().front())
    if (failed(visit(&op)))
      return failure();
  return success();
}
