//===- StatesOfFactors.cpp - Which parts of operands make a part ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What weights alone decide is free: a rank can have any part of it. The
// factors of an operator say which part of its operands a part of its result
// needs, and which part of its result a part of an operand makes.
//
//===----------------------------------------------------------------------===//

#include "States.h"
#include "hk/Analysis/Alignment.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

//===----------------------------------------------------------------------===//
// Free values
//===----------------------------------------------------------------------===//

bool States::isFree(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto it = free.find(value);
  if (it != free.end())
    return it->second;
  bool result = isa<WeightRefOp>(op);
  if (auto constant = dyn_cast<ConstantOp>(op))
    result = constant.getValue().isSplat();
  else if (isa<shard::ShardOp>(op))
    result = isFree(op->getOperand(0));
  else if (!result && op->getNumResults() == 1 && isTensor(value) &&
           (isView(op) || (isa<RowwiseOpInterface>(op) && isPure(op)))) {
    bool readsTensor = false;
    result = true;
    for (Value operand : op->getOperands())
      if (isTensor(operand)) {
        readsTensor = true;
        result &= isFree(operand);
      }
    result &= readsTensor;
  }
  free[value] = result;
  return result;
}

bool States::canHave(Value value, const Sharding &sharding) const {
  if (!sharding.is(Kind::Split))
    return true;
  RankedTensorType type = tensorType(value);
  int64_t size = 0;
  for (const Segment &segment : sharding.segments)
    size += segment.size;
  if (type.getDimSize(sharding.dim) != size)
    return false;
  // Elements that share a byte stay together.
  if (isPacked(type.getElementType()) && sharding.dim + 1 == type.getRank())
    for (const Segment &segment : sharding.segments)
      if (segment.partSize() % 2 != 0)
        return false;
  if (isPending(value))
    return true;
  if (!isFree(value))
    return false;
  if (std::optional<Sharding> annotation = annotationOf(value))
    if (!annotation->is(Kind::Split) || annotation->dim != sharding.dim)
      return false;
  Operation *op = value.getDefiningOp();
  if (isa<WeightRefOp, ConstantOp>(op))
    return true;
  std::optional<SmallVector<Sharding>> operands = operandsFor(op, sharding);
  if (!operands)
    return false;
  for (auto [operand, part] : llvm::zip_equal(op->getOperands(), *operands))
    if (isTensor(operand) && !canHave(operand, part))
      return false;
  return true;
}

std::optional<SmallVector<Sharding>>
States::operandsFor(Operation *op, const Sharding &sharding) const {
  SmallVector<Sharding> operands(op->getNumOperands());
  if (isa<shard::ShardOp>(op)) {
    operands[0] = sharding;
    return operands;
  }
  ShardFactors factors = factorsOf(op);
  SmallVector<Active> active;
  if (!activate(factors, op->getResult(0), sharding, active))
    return std::nullopt;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!isTensor(operand))
      continue;
    std::optional<Sharding> part = shardingAt(operand, active);
    if (!part)
      return std::nullopt;
    operands[i] = *part;
  }
  return operands;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

bool States::activate(const ShardFactors &factors, Value value,
                      const Sharding &sharding,
                      SmallVectorImpl<Active> &active) const {
  bool found = false;
  for (const ShardFactor &factor : factors.get())
    for (const FactorPlace &place : factor.places) {
      if (place.value != value || place.dim != sharding.dim)
        continue;
      if (ShapedType::isDynamic(factor.steps) ||
          (factor.kind != FactorKind::Parallel &&
           factor.kind != FactorKind::Sum))
        return false;
      std::optional<Segments> inside = segmentsIn(
          sharding.segments, place.offset, factor.steps * place.unit);
      std::optional<Segments> steps =
          inside ? stepsOf(factor, place, *inside, axis.ranks) : std::nullopt;
      if (!steps)
        return false;
      auto *same = llvm::find_if(
          active, [&](const Active &a) { return a.factor == &factor; });
      if (same != active.end() && same->steps != *steps)
        return false;
      if (same == active.end())
        active.push_back({&factor, *steps});
      found = true;
    }
  return found;
}

std::optional<Sharding> States::shardingAt(Value value,
                                           ArrayRef<Active> active) const {
  struct Part {
    int64_t offset, length;
    Segments segments;
  };
  SmallVector<Part> parts;
  std::optional<int64_t> dim;
  for (const Active &one : active)
    for (const FactorPlace &place : one.factor->places) {
      if (place.value != value)
        continue;
      if (dim && *dim != place.dim)
        return std::nullopt;
      dim = place.dim;
      std::optional<Segments> segments =
          elementsOf(*one.factor, place, one.steps, axis.ranks);
      if (!segments)
        return std::nullopt;
      parts.push_back(
          {place.offset, one.factor->steps * place.unit, *segments});
    }
  if (!dim)
    return Sharding::replicated();
  llvm::sort(parts,
             [](const Part &a, const Part &b) { return a.offset < b.offset; });
  Segments all;
  int64_t next = 0;
  for (const Part &part : parts) {
    if (part.offset != next)
      return std::nullopt;
    next += part.length;
    all.append(part.segments.begin(), part.segments.end());
  }
  if (next != tensorType(value).getDimSize(*dim))
    return std::nullopt;
  return Sharding::split(*dim, all);
}

bool States::apply(Operation *op, ArrayRef<Active> active) {
  bool sums = false, parallel = false;
  for (const Active &one : active)
    (one.factor->kind == FactorKind::Sum ? sums : parallel) = true;
  if (sums && parallel)
    return false;
  // What several ranks have would be added several times.
  for (const Active &one : active)
    if (sums && llvm::any_of(one.steps, [&](const Segment &segment) {
          return segment.parts != axis.ranks;
        }))
      return false;
  SmallVector<Sharding> operands, results;
  for (Value operand : op->getOperands()) {
    operands.push_back(of(operand));
    if (!isTensor(operand) || of(operand).is(Kind::Split))
      continue; // what the factors were activated by
    std::optional<Sharding> part = shardingAt(operand, active);
    if (!part || (part->is(Kind::Split) && !canHave(operand, *part)))
      return false;
    operands.back() = *part;
  }
  for (Value result : op->getResults()) {
    std::optional<Sharding> part = shardingAt(result, active);
    if (!part)
      return false;
    results.push_back(sums ? Sharding::partial() : *part);
  }
  for (auto [operand, part] : llvm::zip_equal(op->getOpOperands(), operands))
    if (isTensor(operand.get()))
      want(operand, part);
  for (auto [result, part] : llvm::zip_equal(op->getResults(), results))
    states[result] = part;
  return true;
}
