//===- PlaceFormula.cpp - Elements as formulas of their place -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the element asked for back to what it is made of; views only change the
// place. Depth and number of steps are limited: a graph is the user's choice.
//
//===----------------------------------------------------------------------===//

#include "Raise/PlaceFormula.h"
#include "Raise/Forms.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

using Kind = Formula::Kind;

/// Operators between a mask and what it is made of, and visits of one mask.
static constexpr int kDeepest = 64, kMostSteps = 4096;
static constexpr int64_t kLargest = int64_t(1) << 30;

//===----------------------------------------------------------------------===//
// Affine expressions and formulas
//===----------------------------------------------------------------------===//

Affine Affine::variable(int64_t number) {
  Affine made;
  made.terms[number] = 1;
  return made;
}

std::optional<int64_t> Affine::getConstant() const {
  return terms.empty() ? std::optional(constant) : std::nullopt;
}

int64_t Affine::coefficient(int64_t variable) const {
  auto found = terms.find(variable);
  return found == terms.end() ? 0 : found->second;
}

std::optional<int64_t> Affine::getCoordinate() const {
  if (constant == 0 && terms.size() == 1 && terms.begin()->first >= 0 &&
      terms.begin()->second == 1)
    return terms.begin()->first;
  return std::nullopt;
}

bool Affine::isAtLeast(int64_t least) const {
  return constant >= least &&
         llvm::all_of(terms, [](const auto &term) { return term.second >= 0; });
}

Affine Affine::operator+(const Affine &other) const {
  Affine made = *this;
  made.constant += other.constant;
  for (auto [variable, coefficient] : other.terms)
    if ((made.terms[variable] += coefficient) == 0)
      made.terms.erase(variable);
  return made;
}

Affine Affine::operator*(int64_t factor) const {
  Affine made(constant * factor);
  if (factor != 0)
    for (auto [variable, coefficient] : terms)
      made.terms[variable] = coefficient * factor;
  return made;
}

Affine Affine::substitute(int64_t variable, const Affine &value) const {
  int64_t factor = coefficient(variable);
  Affine rest = *this;
  rest.terms.erase(variable);
  return rest + value * factor;
}

Formula Formula::ofNumber(const Affine &number) {
  Formula made;
  made.kind = Kind::Number;
  made.number = number;
  return made;
}

Formula Formula::ofReal(double real) {
  Formula made;
  made.kind = Kind::Real;
  made.real = real;
  return made;
}

Formula Formula::truth(bool value) {
  Formula made;
  made.kind = Kind::Truth;
  made.never = !value;
  return made;
}

std::optional<bool> Formula::getTruth() const {
  if (kind != Kind::Truth || !(never || all.empty()))
    return std::nullopt;
  return !never;
}

/// 0 or 1 of what is the same everywhere; other formulas stay.
static Formula asNumber(const Formula &formula) {
  if (std::optional<bool> value = formula.getTruth())
    return Formula::ofNumber(*value);
  return formula;
}

/// A truth value of 0 or 1; other formulas stay.
static Formula asTruth(const Formula &formula) {
  if (formula.kind == Kind::Number &&
      (formula.number == Affine(0) || formula.number == Affine(1)))
    return Formula::truth(formula.number == Affine(1));
  return formula;
}

static Formula conjunction(const Formula &a, const Formula &b) {
  if (a.kind != Kind::Truth || b.kind != Kind::Truth)
    return {};
  if (a.never || b.never)
    return Formula::truth(false);
  Formula made = a;
  made.all.append(b.all);
  return made;
}

static Formula negation(const Formula &a) {
  if (std::optional<bool> value = a.getTruth())
    return Formula::truth(!*value);
  if (a.kind != Kind::Truth || a.all.size() != 1 || a.all[0].table)
    return {};
  Formula made = a;
  made.all[0].atLeastZero = Affine(-1) - a.all[0].atLeastZero;
  return made;
}

/// Whether `atLeastZero` >= 0.
static Formula condition(const Affine &atLeastZero) {
  if (std::optional<int64_t> known = atLeastZero.getConstant())
    return Formula::truth(*known >= 0);
  Formula made = Formula::truth(true);
  made.all.push_back({atLeastZero, Value(), {}});
  return made;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Formula PlaceFormulas::at(Value value, ArrayRef<Affine> index, int depth) {
  Formula made;
  if (std::optional<double> number = numberOf(value)) {
    Type element = Raiser::elementOf(value);
    if (isa<IntegerType>(element) && std::abs(*number) > double(kLargest))
      return {};
    return element.isInteger(1)      ? Formula::truth(*number != 0)
           : isa<FloatType>(element) ? Formula::ofReal(*number)
                                     : Formula::ofNumber(int64_t(*number));
  }
  Operation *op = value.getDefiningOp();
  if (op && depth < kDeepest && ++steps < kMostSteps)
    made = derive(op, index, depth);
  // So that no sum or product of two overflows.
  auto isLarge = [](int64_t n) { return n > kLargest || n < -kLargest; };
  if (isLarge(made.number.constant) ||
      llvm::any_of(made.number.terms,
                   [&](const auto &term) { return isLarge(term.second); }))
    made = {};
  if (!made.isUnknown() || !Raiser::elementOf(value).isInteger(1))
    return made;
  made = Formula::truth(true);
  made.all.push_back({Affine(), value, SmallVector<Affine>(index)});
  return made;
}

Formula PlaceFormulas::derive(Operation *op, ArrayRef<Affine> index,
                              int depth) {
  return llvm::TypeSwitch<Operation *, Formula>(op)
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
            TransposeOp>([&](Operation *o) { return ofView(o, index, depth); })
      .Case([&](tensor::ExtractSliceOp o) { return ofSlice(o, index, depth); })
      .Case([&](ConcatOp o) { return ofConcat(o, index, depth); })
      .Case([&](IotaOp) { return Formula::ofNumber(index[0]); })
      .Case([&](CumsumOp o) { return ofCumsum(o, index, depth); })
      .Case([&](GatherElementsOp o) { return ofGather(o, index, depth); })
      .Case([&](CompareOp o) { return ofCompare(o, index, depth); })
      .Case([&](SelectOp o) { return ofSelect(o, index, depth); })
      .Case<AddOp, SubOp, MulOp, MaxOp, CastOp>(
          [&](Operation *o) { return ofArithmetic(o, index, depth); })
      .Default([](Operation *) { return Formula(); });
}

/// The element of an operand that broadcasts to the result.
Formula PlaceFormulas::operand(Operation *op, unsigned i,
                               ArrayRef<Affine> index, int depth) {
  Value value = op->getOperand(i);
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<Affine> place(index.take_back(shape.size()));
  for (auto [d, size] : llvm::enumerate(shape))
    if (size == 1)
      place[d] = 0;
  return at(value, place, depth + 1);
}

Formula PlaceFormulas::ofView(Operation *op, ArrayRef<Affine> index,
                              int depth) {
  Value source = op->getOperand(0);
  SmallVector<Affine> place(shapeOf(source).size());
  if (isa<tensor::CastOp>(op))
    place.assign(index.begin(), index.end());
  if (auto transpose = dyn_cast<TransposeOp>(op))
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
      place[from] = index[to];
  // Only groups of one dim and others of size 1.
  auto groups = [&](ArrayRef<ReassociationIndices> groups, Value many,
                    auto &&use) {
    for (auto [one, group] : llvm::enumerate(groups)) {
      auto isLong = [&](int64_t d) { return shapeOf(many)[d] != 1; };
      if (llvm::count_if(group, isLong) > 1)
        return false;
      auto chosen = llvm::find_if(group, isLong);
      if (chosen != group.end())
        use(one, *chosen);
    }
    return true;
  };
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    if (!groups(collapse.getReassociationIndices(), source,
                [&](int64_t one, int64_t d) { place[d] = index[one]; }))
      return {};
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    if (!groups(expand.getReassociationIndices(), expand.getResult(),
                [&](int64_t one, int64_t d) { place[one] = index[d]; }))
      return {};
  return at(source, place, depth + 1);
}

Formula PlaceFormulas::ofSlice(tensor::ExtractSliceOp op,
                               ArrayRef<Affine> index, int depth) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<Affine> place;
  size_t next = 0;
  for (auto [d, given, stride] :
       llvm::enumerate(op.getMixedOffsets(), op.getStaticStrides())) {
    Affine offset;
    if (auto value = dyn_cast<Value>(given)) {
      std::optional<DimName> name = dims.name(value);
      if (!name)
        return {};
      offset = Affine::size(*name);
    } else {
      offset = *getConstantIntValue(given);
    }
    if (ShapedType::isDynamic(stride))
      return {};
    Affine own = dropped[d] ? Affine() : index[next];
    next += !dropped[d];
    // The one element of a dim.
    if (op.getStaticSizes()[d] == 1)
      own = Affine();
    place.push_back(offset + own * stride);
  }
  return at(op.getSource(), place, depth + 1);
}

/// Of a known part; or of one row and the rest, as differences of neighbours
/// have it: the formula of the rest, if it goes on to the first row.
Formula PlaceFormulas::ofConcat(ConcatOp op, ArrayRef<Affine> index,
                                int depth) {
  int64_t dim = op.getDim();
  if (std::optional<int64_t> known = index[dim].getConstant()) {
    SmallVector<Affine> place(index);
    int64_t begin = 0;
    for (Value part : op.getInputs()) {
      int64_t size = shapeOf(part)[dim];
      if (ShapedType::isDynamic(size))
        return {};
      place[dim] = *known - begin;
      if (*known < (begin += size))
        return at(part, place, depth + 1);
    }
    return {};
  }
  if (op.getInputs().size() != 2 || shapeOf(op.getInputs()[0])[dim] != 1)
    return {};
  SmallVector<Affine> first(index), rest(index);
  first[dim] = 0;
  rest[dim] = index[dim] - 1;
  Formula later = asNumber(at(op.getInputs()[1], rest, depth + 1));
  if (index[dim].isAtLeast(1))
    return later;
  Formula begin = asNumber(at(op.getInputs()[0], first, depth + 1));
  const Affine &place = index[dim];
  if (later.kind != Kind::Number || begin.kind != Kind::Number ||
      place.terms.size() != 1 || place.terms.begin()->second != 1)
    return {};
  int64_t variable = place.terms.begin()->first;
  Affine atBegin = later.number.substitute(variable, -place.constant);
  return atBegin == begin.number.substitute(variable, -place.constant)
             ? later
             : Formula();
}

/// Sums of one number.
Formula PlaceFormulas::ofCumsum(CumsumOp op, ArrayRef<Affine> index,
                                int depth) {
  if (op.getBounds() || op.getChunk() || op.getReverse() ||
      op.getKind() == ScanKind::offsets)
    return {};
  // A coordinate that nothing else is.
  SmallVector<Affine> place(index);
  place[op.getDim()] = Affine::variable(1000 + depth);
  Formula element = asNumber(at(op.getInput(), place, depth + 1));
  std::optional<int64_t> step = element.kind == Kind::Number
                                    ? element.number.getConstant()
                                    : std::nullopt;
  if (!step)
    return {};
  const Affine &end = index[op.getDim()];
  return Formula::ofNumber(
      (op.getKind() == ScanKind::inclusive ? end + 1 : end) * *step);
}

Formula PlaceFormulas::ofGather(GatherElementsOp op, ArrayRef<Affine> index,
                                int depth) {
  SmallVector<Affine> place;
  for (unsigned i = 0; i < op.getIndices().size(); ++i) {
    Formula found = operand(op, 1 + i, index, depth);
    if (found.kind != Kind::Number)
      return {};
    // Outside of the table there is a zero, which no formula says.
    DimName size = dims.shape(op.getTable())[i];
    std::optional<int64_t> coordinate = found.number.getCoordinate(),
                           known = found.number.getConstant();
    bool isInside =
        coordinate
            ? *coordinate < int64_t(sizes.size()) && sizes[*coordinate] == size
            : known && size >= 0 && *known >= 0 && *known < size;
    if (!isInside)
      return {};
    place.push_back(found.number);
  }
  return at(op.getTable(), place, depth + 1);
}

Formula PlaceFormulas::ofCompare(CompareOp op, ArrayRef<Affine> index,
                                 int depth) {
  using P = ComparePredicate;
  P predicate = op.getPredicate();
  bool isInteger = isa<IntegerType>(Raiser::elementOf(op.getLhs()));
  if (op.getLhs() == op.getRhs() && isInteger)
    return Formula::truth(predicate == P::eq || predicate == P::le ||
                          predicate == P::ge);
  if (!isInteger)
    return {};
  Formula a = asNumber(operand(op, 0, index, depth)),
          b = asNumber(operand(op, 1, index, depth));
  if (b.kind == Kind::Truth)
    std::swap(a, b);
  // A truth value as a number, beside 0 or 1.
  if (a.kind == Kind::Truth && b.kind == Kind::Number &&
      (b.number == Affine(0) || b.number == Affine(1))) {
    bool isOne = b.number == Affine(1);
    if (predicate == P::eq)
      return isOne ? a : negation(a);
    if (predicate == P::ne)
      return isOne ? negation(a) : a;
    return {};
  }
  if (a.kind != Kind::Number || b.kind != Kind::Number)
    return {};
  Affine difference = b.number - a.number; // of a <= b
  switch (predicate) {
  case P::le:
    return condition(difference);
  case P::lt:
    return condition(difference - 1);
  case P::ge:
    return condition(Affine() - difference);
  case P::gt:
    return condition(Affine(-1) - difference);
  case P::eq:
    return conjunction(condition(difference), condition(Affine() - difference));
  case P::ne:
    if (std::optional<int64_t> known = difference.getConstant())
      return Formula::truth(*known != 0);
    return {};
  }
  return {};
}

Formula PlaceFormulas::ofSelect(SelectOp op, ArrayRef<Affine> index,
                                int depth) {
  // A repetition along dims of the condition.
  if (op.getTrueValue() == op.getFalseValue())
    return operand(op, 1, index, depth);
  Formula chosen = operand(op, 0, index, depth);
  if (std::optional<bool> known = chosen.getTruth())
    return operand(op, *known ? 1 : 2, index, depth);
  Formula a = operand(op, 1, index, depth), b = operand(op, 2, index, depth);
  if (chosen.kind != Kind::Truth || a.kind != Kind::Real ||
      b.kind != Kind::Real)
    return {};
  chosen.kind = Kind::Choice;
  chosen.real = a.real;
  chosen.otherwise = b.real;
  return chosen;
}

Formula PlaceFormulas::ofArithmetic(Operation *op, ArrayRef<Affine> index,
                                    int depth) {
  auto isReal = [](Value v) { return isa<FloatType>(Raiser::elementOf(v)); };
  if (isa<CastOp>(op)) {
    // Positions fit into 32 bits: sizes do.
    if (isReal(op->getOperand(0)) || isReal(op->getResult(0)))
      return {};
    Formula made = operand(op, 0, index, depth);
    bool isWide =
        Raiser::elementOf(op->getResult(0)).getIntOrFloatBitWidth() >= 32;
    return made.kind == Kind::Truth || isWide ? made : Formula();
  }
  if (isReal(op->getOperand(0)))
    return {};
  Formula a = asTruth(operand(op, 0, index, depth)),
          b = asTruth(operand(op, 1, index, depth));
  if (isa<MulOp>(op) && a.kind == Kind::Truth && b.kind == Kind::Truth)
    return conjunction(a, b);
  if (isa<MaxOp>(op) && a.kind == Kind::Truth && b.kind == Kind::Truth) {
    if (a.getTruth() == std::optional(true) ||
        b.getTruth() == std::optional(false))
      return a;
    if (b.getTruth() == std::optional(true) ||
        a.getTruth() == std::optional(false))
      return b;
    return {};
  }
  a = asNumber(a), b = asNumber(b);
  if (a.kind != Kind::Number || b.kind != Kind::Number)
    return {};
  if (isa<AddOp>(op))
    return Formula::ofNumber(a.number + b.number);
  if (isa<SubOp>(op))
    return Formula::ofNumber(a.number - b.number);
  if (isa<MulOp>(op)) {
    if (a.number.getConstant())
      std::swap(a, b);
    if (std::optional<int64_t> factor = b.number.getConstant())
      return Formula::ofNumber(a.number * *factor);
  }
  return {};
}
