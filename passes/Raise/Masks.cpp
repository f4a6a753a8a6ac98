//===- Masks.cpp - Which keys a query sees --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A condition j - i <= c on query and key is an attribute. A finite number in
// place of -inf hides a key only where the query sees another one: so it
// becomes an attribute only if every query provably sees its own key, and stays
// an addend elsewhere.
//
//===----------------------------------------------------------------------===//

#include "Raise/Masks.h"
#include "Raise/Forms.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

Mask raise::maskOf(Mask::Kind kind, Value value, double fill) {
  Mask made{kind, value, {}, fill};
  int64_t rank = shapeOf(value).size();
  for (auto [d, size] : llvm::enumerate(shapeOf(value)))
    made.index.push_back(size == 1 ? Affine() : Affine::variable(4 - rank + d));
  return made;
}

SmallVector<Value> MaskPlan::tables() const {
  llvm::SetVector<Value> found;
  for (const Entry &entry : region) {
    if (entry.added)
      found.insert(entry.added);
    for (const Condition &condition : entry.all)
      found.insert(condition.table);
  }
  return found.takeVector();
}

/// Takes a condition on positions into the attributes; false where none says
/// it. `shift`: by how many more keys than queries there are.
static bool addPositions(MaskPlan &plan, const Affine &atLeastZero,
                         const Affine &shift) {
  if (atLeastZero.isAtLeast(0))
    return true;
  int64_t i = atLeastZero.coefficient(kQuery),
          j = atLeastZero.coefficient(kKey);
  Affine rest =
      atLeastZero - Affine::variable(kQuery) * i - Affine::variable(kKey) * j;
  if (i == 1 && j == -1) {
    std::optional<int64_t> right = (rest - shift).getConstant();
    if (!right || *right < 0)
      return false;
    if (*right == 0)
      plan.causal = true;
    else
      plan.windowRight = std::min(plan.windowRight.value_or(*right), *right);
    return true;
  }
  if (i == -1 && j == 1) {
    std::optional<int64_t> left = (rest + shift).getConstant();
    if (!left || *left < 0)
      return false;
    plan.windowLeft = std::min(plan.windowLeft.value_or(*left), *left);
    return true;
  }
  return false;
}

/// Splits conditions into attributes of `plan` and tables; false where a
/// condition is neither.
static bool splitConditions(MaskPlan &plan, ArrayRef<Condition> all,
                            const Affine &shift,
                            SmallVector<Condition> &tables) {
  for (const Condition &condition : all) {
    if (!condition.table) {
      if (!addPositions(plan, condition.atLeastZero, shift))
        return false;
      continue;
    }
    if (!llvm::all_of(condition.index, [](const Affine &place) {
          return place.getConstant() || place.getCoordinate().value_or(4) < 4;
        }))
      return false;
    tables.push_back(condition);
  }
  return true;
}

/// Whether `number` hides a key beside one that is seen, as f32, bf16 or f16
/// write it: at least as low as their lowest number.
static bool hides(double number) { return number <= -65504; }

/// What stands for every lower finite number: beside it a score below 1e22
/// vanishes, too.
static constexpr double kLowestFill = -1e30;

/// The opposite of conditions on positions; nullopt where one condition does
/// not say it.
static std::optional<SmallVector<Condition>>
oppositeOf(ArrayRef<Condition> all) {
  if (all.size() != 1 || all[0].table)
    return std::nullopt;
  SmallVector<Condition> made(all);
  made[0].atLeastZero = Affine(-1) - made[0].atLeastZero;
  return made;
}

/// The conditions under which a score stays as it is; nullopt if other numbers
/// decide. `fill` becomes what is added or put in place elsewhere.
static std::optional<SmallVector<Condition>>
seenBy(const Mask &mask, Formula formula, double &fill) {
  if (mask.kind != Mask::Kind::Added) {
    if (formula.kind != Formula::Kind::Truth || formula.never)
      return std::nullopt;
    if (mask.kind == Mask::Kind::Hidden)
      return oppositeOf(formula.all);
    return formula.all;
  }
  if (formula.kind == Formula::Kind::Real && formula.real == 0)
    return SmallVector<Condition>();
  if (formula.kind != Formula::Kind::Choice)
    return std::nullopt;
  if (formula.real != 0 && formula.otherwise == 0)
    if (auto opposite = oppositeOf(formula.all)) {
      formula.all = *opposite;
      std::swap(formula.real, formula.otherwise);
    }
  if (formula.real != 0 || !hides(formula.otherwise))
    return std::nullopt;
  fill = formula.otherwise;
  return formula.all;
}

namespace {
/// A mask as the conditions under which a score stays, as far as they are
/// known.
struct Reading {
  const Mask *mask;
  std::optional<SmallVector<Condition>> seen;
  double fill; // elsewhere
};
} // namespace

/// Whether positions alone decide, and each query sees the key of its own
/// token.
static bool seesOwnKey(const Reading &reading, const Affine &shift) {
  MaskPlan ignored;
  SmallVector<Condition> tables;
  if (!reading.seen ||
      !splitConditions(ignored, *reading.seen, shift, tables) ||
      !tables.empty())
    return false;
  return reading.seen->empty() || (hides(reading.fill) && shift.isAtLeast(0));
}

/// One mask, into attributes as far as that is exact. `mayHide`: an attribute
/// may take the place of a finite number. `isFinal`: nothing behind it puts a
/// finite number in the place of -inf.
static void planMask(const Reading &reading, const Affine &shift, bool mayHide,
                     bool isFinal, MaskPlan &plan) {
  const Mask &mask = *reading.mask;
  // What is hidden where it is not seen.
  auto kind =
      mask.kind == Mask::Kind::Added ? Mask::Kind::Added : Mask::Kind::Seen;
  MaskPlan::Entry entry{kind, reading.fill, {}, Value(), {}};
  MaskPlan with = plan;
  if (reading.seen && splitConditions(with, *reading.seen, shift, entry.all)) {
    bool onlyPositions = entry.all.empty();
    bool onlyTables = with.causal == plan.causal &&
                      with.windowLeft == plan.windowLeft &&
                      with.windowRight == plan.windowRight;
    bool isExact = std::isinf(entry.fill) && isFinal;
    if (isExact || mayHide || onlyTables) {
      plan = with;
      if (!onlyPositions)
        plan.region.push_back(entry);
      return;
    }
  }
  entry = {mask.kind, mask.fill, {}, Value(), mask.index};
  if (mask.kind == Mask::Kind::Added)
    entry.added = mask.value;
  else
    entry.all = {{Affine(), mask.value, mask.index}};
  plan.region.push_back(entry);
}

FailureOr<MaskPlan> raise::planMasks(Raiser &raiser, ArrayRef<Mask> masks,
                                     ArrayRef<DimName> sizes) {
  PlaceFormulas formulas(raiser.dims(), sizes);
  Affine shift = Affine::size(sizes[kKey]) - Affine::size(sizes[kQuery]);
  SmallVector<Reading> readings;
  for (const Mask &mask : masks) {
    double fill = mask.fill;
    auto seen = seenBy(mask, formulas.at(mask.value, mask.index), fill);
    readings.push_back({&mask, seen, fill});
  }
  // Another mask that hides a query's own key leaves it the keys that a finite
  // number hides.
  bool mayHide = llvm::all_of(readings, [&](const Reading &reading) {
    return seesOwnKey(reading, shift);
  });
  MaskPlan plan;
  for (size_t i = readings.size(); i-- > 0;) {
    bool isFinal = llvm::none_of(masks.take_front(i), [](const Mask &behind) {
      return behind.kind != Mask::Kind::Added && std::isfinite(behind.fill);
    });
    planMask(readings[i], shift, mayHide, isFinal, plan);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// The score region
//===----------------------------------------------------------------------===//

/// The element of a table for a score.
static Value readTable(OpBuilder &b, Location loc, Block *block, Value table,
                       BlockArgument argument, ArrayRef<Affine> index) {
  auto number = RankedTensorType::get({}, b.getI32Type());
  SmallVector<Value> places;
  for (const Affine &place : index) {
    // Arguments: s, sequence, head, query, key, ...
    if (std::optional<int64_t> coordinate = place.getCoordinate()) {
      places.push_back(block->getArgument(1 + *coordinate));
      continue;
    }
    auto known = b.getI32IntegerAttr(int32_t(*place.getConstant()));
    places.push_back(
        ConstantOp::create(b, loc, DenseElementsAttr::get(number, known)));
  }
  return GatherElementsOp::create(
      b, loc, RankedTensorType::get({}, Raiser::elementOf(table)), argument,
      places);
}

void raise::writeScore(OpBuilder &b, AttentionOp op, const MaskPlan &plan) {
  SmallVector<Value> tables = plan.tables();
  if (tables.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  Location loc = op.getLoc();
  auto real = RankedTensorType::get({}, b.getF32Type());
  SmallVector<Type> types{real};
  types.append(6, RankedTensorType::get({}, b.getI32Type()));
  for (Value table : tables)
    types.push_back(table.getType());
  Block *block = b.createBlock(&op.getScore(), {}, types,
                               SmallVector<Location>(types.size(), loc));
  auto read = [&](Value table, ArrayRef<Affine> index) {
    size_t number = llvm::find(tables, table) - tables.begin();
    return readTable(b, loc, block, table, block->getArgument(7 + number),
                     index);
  };
  auto constant = [&](double value) -> Value {
    APFloat number(value);
    bool loses;
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
    return ConstantOp::create(b, loc, DenseElementsAttr::get(real, number));
  };
  Value score = block->getArgument(0);
  for (const MaskPlan::Entry &entry : plan.region) {
    if (entry.added) {
      score =
          AddOp::create(b, loc, real, score, read(entry.added, entry.index));
      continue;
    }
    // Kernels take scores times log2 e: the lowest number of f32 would be -inf
    // there, which hides a key from a row that sees no other, too.
    double fill =
        std::isinf(entry.fill) ? entry.fill : std::max(entry.fill, kLowestFill);
    Value hidden = constant(fill), seen = score;
    if (entry.kind == Mask::Kind::Added)
      hidden = AddOp::create(b, loc, real, score, hidden);
    for (const Condition &condition : llvm::reverse(entry.all)) {
      Value holds = read(condition.table, condition.index);
      bool hides = entry.kind == Mask::Kind::Hidden;
      seen = SelectOp::create(b, loc, real, holds, hides ? hidden : seen,
                              hides ? seen : hidden);
    }
    score = seen;
  }
  YieldOp::create(b, loc, score);
}

//===----------------------------------------------------------------------===//
// Masks of attention that is there
//===----------------------------------------------------------------------===//

/// The one mask of a score region that adds or selects an element; nullopt for
/// other regions.
static std::optional<Mask> maskOfRegion(AttentionOp op) {
  // With other weights than a softmax's, or without the key of a query's own
  // token, a finite number hides nothing.
  if (op.getScore().empty() || op.getReads().size() != 1 || op.getPast() ||
      op.getNormalizer() != Normalizer::softmax)
    return std::nullopt;
  Block &block = op.getScore().front();
  Value last = cast<YieldOp>(block.getTerminator()).getValues()[0];
  Operation *decides = last.getDefiningOp();
  Value found;
  Mask mask{Mask::Kind::Added, op.getReads()[0], {}, 0};
  if (auto select = dyn_cast_or_null<SelectOp>(decides)) {
    bool seen = select.getTrueValue() == block.getArgument(0);
    std::optional<double> fill =
        numberOf(seen ? select.getFalseValue() : select.getTrueValue());
    if (!fill || !(seen || select.getFalseValue() == block.getArgument(0)))
      return std::nullopt;
    found = select.getCondition();
    mask.kind = seen ? Mask::Kind::Seen : Mask::Kind::Hidden;
    mask.fill = *fill;
  } else if (auto add = dyn_cast_or_null<AddOp>(decides)) {
    if (add.getLhs() != block.getArgument(0))
      return std::nullopt;
    found = add.getRhs();
  }
  auto gather =
      found ? found.getDefiningOp<GatherElementsOp>() : GatherElementsOp();
  if (!gather || gather.getTable() != block.getArgument(7))
    return std::nullopt;
  for (Value place : gather.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(place);
    std::optional<double> number = numberOf(place);
    if (argument && argument.getArgNumber() >= 1 &&
        argument.getArgNumber() <= 4)
      mask.index.push_back(Affine::variable(argument.getArgNumber() - 1));
    else if (number)
      mask.index.push_back(int64_t(*number));
    else
      return std::nullopt;
  }
  return mask;
}

/// The names of the sizes of the scores of dense attention.
static std::optional<SmallVector<DimName>> scoreSizes(Raiser &raiser,
                                                      AttentionOp op) {
  if (op.getQOffsets() || op.getKvOffsets() || op.getKvLens() ||
      op.getBlockTable() || shapeOf(op.getQuery()).size() != 4 ||
      shapeOf(op.getKey()).size() != 4)
    return std::nullopt;
  ArrayRef<DimName> query = raiser.dims().shape(op.getQuery()),
                    key = raiser.dims().shape(op.getKey());
  bool headMajor = op.getKeyLayout() == CacheLayout::head_major;
  return SmallVector<DimName>{query[0], query[2], query[1],
                              key[headMajor ? 2 : 1]};
}

/// A mask that is computed from positions becomes attributes.
static Outcome positionsOfMask(Raiser &raiser, Operation *root) {
  auto op = dyn_cast<AttentionOp>(root);
  if (!op || op.getScore().empty())
    return Outcome::none();
  std::optional<Mask> mask = maskOfRegion(op);
  auto sizes = scoreSizes(raiser, op);
  if (!mask || !sizes)
    return Outcome::none();
  FailureOr<MaskPlan> plan = planMasks(raiser, *mask, *sizes);
  // Nothing that the region does not say.
  SmallVector<Value> tables = plan->tables();
  if (tables.size() == 1 && tables[0] == op.getReads()[0])
    return Outcome::none();
  if (plan->causal)
    op.setCausal(true);
  auto narrow = [&](std::optional<int64_t> before,
                    std::optional<int64_t> now) -> std::optional<int64_t> {
    return before && now ? std::optional(std::min(*before, *now))
                         : (before ? before : now);
  };
  if (auto left = narrow(op.getWindowLeft(), plan->windowLeft))
    op.setWindowLeft(*left);
  if (auto right = narrow(op.getWindowRight(), plan->windowRight))
    op.setWindowRight(*right);
  op.getScore().getBlocks().clear();
  op.getReadsMutable().assign(tables);
  writeScore(raiser.b, op, *plan);
  return Outcome::raised(op.getResult());
}

ArrayRef<Rule> raise::maskRules() {
  static const Rule rules[] = {{"hk.attention", positionsOfMask}};
  return rules;
}
