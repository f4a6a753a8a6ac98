//===- StatesOfGroups.cpp - Which rank owns the rows of groups -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups of rows (experts) are cut between ranks: a product of groups computes
// those of its rank, and what is made of its rows stays with the owner until
// rows are taken by number.
//
//===----------------------------------------------------------------------===//

#include "States.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

/// Which rank owns the rows of its result.
static Owner ownerOf(const ShardFactor &factor) {
  if (factor.kind != FactorKind::Groups)
    return {};
  if (factor.numbersAreBounds)
    return {factor.numbers, {}, true};
  return {factor.numbers, factor.order, false};
}

bool States::isChosen(const ShardFactor &factor) const {
  bool chosen = factor.kind == FactorKind::Groups && axis.takesExperts();
  for (const FactorPlace &place : factor.places)
    if (std::optional<Sharding> asked = annotationOf(place.value))
      chosen = asked->is(Kind::Split) && asked->dim == place.dim;
  return chosen;
}

/// Groups whose rows go to the rank that has them.
LogicalResult States::checkSent(Operation *op,
                                const ShardFactor &factor) const {
  auto product = dyn_cast<GroupedMatmulOp>(op);
  if (!product || product.getForm() != GroupForm::bounds)
    return op->emitError("expected its groups to be bounds, because ranks have "
                         "tokens of their own along axis \"")
           << axis.name << "\"";
  if (factor.order && !tensorType(factor.order).isDynamicDim(0))
    return op->emitError("expected an order of dynamic size, because ranks "
                         "have tokens of their own along axis \"")
           << axis.name << "\", but got " << factor.order.getType();
  return success();
}

FailureOr<bool> States::tryNumbered(Operation *op) {
  ShardFactors factors = factorsOf(op);
  for (const ShardFactor &factor : factors.get()) {
    if (factor.kind != FactorKind::Groups && factor.kind != FactorKind::Rows)
      continue;
    if (!isChosen(factor))
      continue;
    if (ShapedType::isDynamic(factor.steps) || factor.steps % axis.ranks != 0) {
      return op->emitError("its ")
             << factor.steps << " " << factor.what << " cannot be cut in "
             << axis.ranks << " along axis \"" << axis.name << "\"; "
             << ranksThatFit(
                    [&](int64_t ranks) { return factor.steps % ranks == 0; })
             << " can share them";
    }
    if (ownTokens && failed(checkSent(op, factor)))
      return failure();
    Owner owner = ownerOf(factor);
    if (owner.first && !factor.order && !of(factor.groupedRows).owner)
      return op->emitError("expected an order, or rows that such a product "
                           "made, because its groups are bounds and are cut "
                           "along axis \"")
             << axis.name << "\"";
    SmallVector<Sharding> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      const Sharding &has = of(operand.get());
      bool owned = owner && has.owner == owner;
      operands.push_back(owned ? has : Sharding::replicated());
      for (const FactorPlace &place : factor.places)
        if (place.value == operand.get())
          operands.back() = Sharding::split(
              place.dim, Segment{factor.steps * place.unit, axis.ranks});
      if (operands.back().is(Kind::Split) &&
          !canHave(operand.get(), operands.back()))
        return op->emitError("expected its matrices to be weights that can be "
                             "cut along axis \"")
               << axis.name << "\", but operand " << operand.getOperandNumber()
               << " is no weight";
    }
    for (auto [operand, part] : llvm::zip_equal(op->getOpOperands(), operands))
      want(operand, part);
    for (Value result : op->getResults())
      states[result] =
          owner.first ? Sharding::owned(owner) : Sharding::partial(owner);
    numbered[op] = {ownTokens     ? OwnNumbers::Sent
                    : owner.first ? OwnNumbers::Bounds
                                  : OwnNumbers::Steps,
                    factor.numbers, factor.steps / axis.ranks, factor.order};
    return true;
  }
  return false;
}

bool mlir::hk::shards::keepsRows(Operation *op, Value value) {
  ShardFactors factors = factorsOf(op);
  for (const ShardFactor &factor : factors.get()) {
    bool from = false, to = false;
    for (const FactorPlace &place : factor.places) {
      bool whole = place.dim == 0 && place.unit == 1 && place.offset == 0;
      from |= whole && place.value == value;
      to |= whole && op->getNumResults() && place.value == op->getResult(0);
    }
    if (from && to)
      return true;
  }
  return false;
}

/// Whether all that is made of `value` row by row ends in grouped products with
/// the same groups, or where rows are taken by number.
bool States::reachesGroups(Value value, const Owner &owner, int depth) const {
  if (depth == 0 || value.use_empty())
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *op) {
    if (isa<tensor::DimOp>(op))
      return true;
    ShardFactors factors = factorsOf(op);
    for (const ShardFactor &factor : factors.get()) {
      if (factor.kind == FactorKind::Groups && factor.groupedRows == value)
        return ownerOf(factor) == owner;
      if (factor.kind == FactorKind::Rows && owner.first &&
          factor.places.front().value == value)
        return true;
    }
    return keepsRows(op, value) && op->getNumResults() == 1 &&
           reachesGroups(op->getResult(0), owner, depth - 1);
  });
}

/// Rows by number of what lies from row 0 on: zero where another rank has them.
bool States::tryRowsOfOwned(Operation *op) {
  ShardFactors factors = factorsOf(op);
  for (const ShardFactor &factor : factors.get()) {
    if (factor.kind != FactorKind::Rows)
      continue;
    const Sharding &table = of(factor.places.front().value);
    if (!table.is(Kind::Owned) || !table.owner.first)
      continue;
    OwnNumbers own{ownTokens ? OwnNumbers::Back : OwnNumbers::Rows,
                   factor.numbers};
    own.bounds = table.owner.numbers;
    for (auto &[other, numbers] : numbered)
      if (numbers.form == OwnNumbers::Bounds && numbers.numbers == own.bounds)
        own.steps = numbers.steps;
    for (OpOperand &operand : op->getOpOperands())
      want(operand, of(operand.get()).is(Kind::Owned) ? of(operand.get())
                                                      : Sharding::replicated());
    numbered[op] = own;
    states[op->getResult(0)] =
        ownTokens ? Sharding::replicated() : Sharding::partial();
    return true;
  }
  return false;
}

bool States::tryOwned(Operation *op) {
  Owner owner;
  for (Value operand : op->getOperands())
    if (isTensor(operand) && of(operand).owner)
      owner = of(operand).owner;
  if (!owner)
    return false;
  if (tryRowsOfOwned(op))
    return true;
  for (Value operand : op->getOperands()) {
    if (!isTensor(operand) && ownTokens && !isSizeOfSource(op, operand))
      return false; // a size, of which there is another one
    if (!isTensor(operand))
      continue;
    bool rows = keepsRows(op, operand);
    // Rows of another order would meet the wrong ones.
    if (of(operand).owner
            ? !(of(operand).owner == owner) || !rows
            : !of(operand).is(Kind::Replicated) || (owner.first && rows))
      return false;
  }
  for (Value result : op->getResults())
    if (!reachesGroups(result, owner, 8))
      return false;
  for (OpOperand &operand : op->getOpOperands())
    if (isTensor(operand.get()))
      want(operand, of(operand.get()));
  for (Value result : op->getResults())
    states[result] = Sharding::owned(owner);
  return true;
}
