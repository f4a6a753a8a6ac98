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
#include "hk/Analysis/Alignment.h"
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

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

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

/// Whether rows of `value` are rows of the first result.
static bool keepsRows(Operation *op, Value value) {
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
