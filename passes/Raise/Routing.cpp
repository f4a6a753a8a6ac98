//===- Routing.cpp - Group-limited routing out of primitives --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A router that keeps the best groups of experts, as DeepSeek's gates write it:
// scores of groups, the top-k of those, a mask of the groups whose number is
// among its indices, and a select. That is hk.group_limit, which stays in the
// row and shares the launch of the top-k behind it.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// Links of a chain that are followed, and the most groups of hk.group_limit.
static constexpr int kLongest = 16;
static constexpr int64_t kMostGroups = 64;

static ArrayRef<DimName> leading(Raiser &raiser, Value value, size_t without) {
  return raiser.dims().shape(value).drop_back(without);
}

/// The dim, counted from the last, along which a constant is 0, 1, 2, ..., and
/// all others are of size 1.
static std::optional<int64_t> axisOfCounting(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (llvm::count_if(shape, [](int64_t size) { return size != 1; }) != 1)
    return std::nullopt;
  DenseIntElementsAttr numbers;
  Value source = value;
  for (int i = 0; i < kLongest; ++i) {
    source = throughUnitDims(source);
    auto cast = source.getDefiningOp<CastOp>();
    if (!cast)
      break;
    source = cast.getInput();
  }
  if (!matchPattern(source, m_Constant(&numbers)))
    return std::nullopt;
  for (auto [i, number] : llvm::enumerate(numbers.getValues<APInt>()))
    if (number.getSExtValue() != int64_t(i))
      return std::nullopt;
  for (size_t axis = 1; axis <= shape.size(); ++axis)
    if (shape[shape.size() - axis] != 1)
      return axis;
  return std::nullopt;
}

/// The top-k whose indices `value` holds, behind views of dims of size 1 and
/// casts of integers that hold every number of a group.
static TopkOp topkOfIndices(Value value) {
  for (int i = 0; i < kLongest; ++i) {
    value = throughUnitDims(value);
    auto cast = value.getDefiningOp<CastOp>();
    if (!cast || !Raiser::elementOf(value).isSignlessInteger() ||
        Raiser::elementOf(value).getIntOrFloatBitWidth() < 32)
      break;
    value = cast.getInput();
  }
  auto topk = value.getDefiningOp<TopkOp>();
  return topk && topk.getIndices() == value ? topk : TopkOp();
}

namespace {
/// What marks groups: the top-k that chooses them, and how.
struct GroupMask {
  TopkOp topk; // null: no mask of this kind
  bool isInverted = false;
  bool countsGroups = false; // index 0 marks group 0, and so on
};
} // namespace

/// A comparison of every index of a top-k with every number of a group, which
/// is true where they are equal: [..., groups, k].
static GroupMask maskOfHits(Raiser &raiser, Value hits) {
  bool isTransposed = false;
  for (int i = 0; i < kLongest; ++i) {
    Operation *op = hits.getDefiningOp();
    if (auto transposed = dyn_cast_or_null<TransposeOp>(op)) {
      SmallVector<int64_t> swap = llvm::to_vector(
          llvm::seq<int64_t>(0, transposed.getPermutation().size()));
      if (swap.size() < 2)
        return {};
      std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
      if (transposed.getPermutation() != ArrayRef(swap))
        return {};
      isTransposed = !isTransposed;
    } else if (auto choice = dyn_cast_or_null<SelectOp>(op);
               choice && (!isNumber(choice.getTrueValue(), 1) ||
                          numberOf(choice.getFalseValue()) != 0.0 ||
                          choice.getCondition().getType().getShape() !=
                              choice.getType().getShape())) {
      return {};
    } else if (!isa_and_nonnull<CastOp, SelectOp>(op)) {
      break;
    }
    hits = op->getOperand(0);
  }
  auto equal = hits.getDefiningOp<CompareOp>();
  if (!equal || equal.getPredicate() != ComparePredicate::eq)
    return {};
  int64_t axis = isTransposed ? 1 : 2;
  for (auto [ids, numbers] :
       {std::pair<Value, Value>(equal.getLhs(), equal.getRhs()),
        std::pair<Value, Value>(equal.getRhs(), equal.getLhs())}) {
    TopkOp topk = topkOfIndices(ids);
    ArrayRef<int64_t> shape = shapeOf(ids);
    if (!topk || shape.size() < 2 || shape.size() != shapeOf(hits).size())
      continue;
    bool countsGroups =
        shape[shape.size() - axis] == 1 &&
        shape[shape.size() - (3 - axis)] == topk.getK() &&
        axisOfCounting(numbers) == axis &&
        leading(raiser, hits, 2) == leading(raiser, topk.getIndices(), 1);
    return {topk, false, countsGroups};
  }
  return {};
}

/// `condition`, of [..., groups, 1], which is true or, inverted, false where a
/// group is among those that a top-k chooses.
static GroupMask maskOf(Raiser &raiser, Value condition) {
  if (shapeOf(condition).size() < 2 || lastSize(condition) != 1)
    return {};
  auto compare = throughUnitDims(condition).getDefiningOp<CompareOp>();
  if (!compare || numberOf(compare.getRhs()) != 0.0)
    return {};
  ComparePredicate predicate = compare.getPredicate();
  bool isInverted =
      predicate == ComparePredicate::eq || predicate == ComparePredicate::le;
  if (!isInverted && predicate != ComparePredicate::ne &&
      predicate != ComparePredicate::gt)
    return {};
  auto count = throughUnitDims(compare.getLhs()).getDefiningOp<ReduceOp>();
  if (!count || count.getDims() != 1 ||
      (count.getKind() != ReduceKind::sum &&
       count.getKind() != ReduceKind::max) ||
      leading(raiser, count.getResult(), 1) != leading(raiser, condition, 1))
    return {};
  GroupMask mask = maskOfHits(raiser, count.getInput());
  mask.isInverted = isInverted;
  return mask;
}

/// The rows of which `grouped` [..., groups, size] is a view; null if it is
/// none.
static Value rowsOf(Value grouped) {
  auto expand = grouped.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand ||
      expand.getSrcType().getRank() + 1 != tensorType(grouped).getRank())
    return {};
  ReassociationIndices last = expand.getReassociationIndices().back();
  return last.size() == 2 ? expand.getSrc() : Value();
}

/// Whether these are the same elements in the same groups.
static bool isSame(Value a, Value b) {
  a = throughWidening(a), b = throughWidening(b);
  if (a == b)
    return true;
  Value left = rowsOf(a), right = rowsOf(b);
  return left && right && shapeOf(a) == shapeOf(b) &&
         throughWidening(left) == throughWidening(right);
}

/// What group_limit calls the scores, of [..., groups, 1] elements, of
/// `grouped`'s groups.
static std::optional<GroupScore> scoreOf(Raiser &raiser, Value scores,
                                         Value grouped, Outcome &why) {
  why = Outcome::miss(Reason::OtherFormula,
                      "the scores of groups are neither the largest nor the "
                      "sum of the two largest of the elements that stay");
  for (int i = 0; i < kLongest; ++i)
    scores = throughWidening(throughUnitDims(scores));
  auto reduce = scores.getDefiningOp<ReduceOp>();
  if (reduce && reduce.getKind() == ReduceKind::max && reduce.getDims() == 1 &&
      isSame(reduce.getInput(), grouped))
    return GroupScore::maximum;
  bool isSum =
      reduce && reduce.getKind() == ReduceKind::sum && reduce.getDims() == 1;
  Value values = isSum ? throughWidening(reduce.getInput()) : scores;
  auto best = values.getDefiningOp<TopkOp>();
  if (!best || best.getValues() != values || !isSame(best.getInput(), grouped))
    return std::nullopt;
  if (best.getK() == 1)
    return GroupScore::maximum;
  if (!isSum || best.getK() != 2 || lastSize(grouped) < 2)
    return std::nullopt;
  if (!raiser.mayDrop(scores)) {
    why = Outcome::miss(Reason::RoundsBetween, "the scores are rounded");
    return std::nullopt;
  }
  return GroupScore::top2_sum;
}

/// `grouped` with `fill` in the place of the groups that are not among the
/// best.
static Value limit(Raiser &raiser, Location loc, Value grouped, double fill,
                   GroupScore score, int64_t top) {
  OpBuilder &b = raiser.b;
  auto type = tensorType(grouped);
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d + 1 < type.getRank(); ++d)
    groups.push_back({d});
  groups.back().push_back(type.getRank() - 1);
  Value rows = rowsOf(grouped);
  if (!rows)
    rows = collapse(b, loc, grouped, groups);
  int64_t count = type.getDimSize(type.getRank() - 2);
  // A constant that is cast has been rounded.
  auto element = cast<FloatType>(type.getElementType());
  APFloat number(fill);
  bool lost = false;
  for (const llvm::fltSemantics *semantics :
       {&element.getFloatSemantics(), &APFloat::IEEEsingle()})
    number.convert(*semantics, APFloat::rmNearestTiesToEven, &lost);
  Value kept = GroupLimitOp::create(b, loc, rows.getType(), score, rows, count,
                                    top, number);
  return tensor::ExpandShapeOp::create(b, loc, type, kept, groups);
}

static Outcome groupLimit(Raiser &raiser, Operation *root) {
  auto select = dyn_cast<SelectOp>(root);
  GroupMask mask = select ? maskOf(raiser, select.getCondition()) : GroupMask();
  TopkOp best = mask.topk;
  if (!best)
    return Outcome::none();
  if (!mask.countsGroups)
    return Outcome::miss(Reason::UnknownMask,
                         "the indices are not compared with the numbers of "
                         "the groups");
  Value grouped = select.getTrueValue(), fill = select.getFalseValue();
  if (mask.isInverted)
    std::swap(grouped, fill);
  ArrayRef<int64_t> shape = shapeOf(grouped);
  if (grouped.getType() != select.getType() || shape.size() < 3 ||
      ShapedType::isDynamicShape(shape.take_back(2)))
    return Outcome::miss(Reason::UnsupportedShape,
                         "the elements are no groups of static size");
  int64_t groups = shape[shape.size() - 2];
  if (groups > kMostGroups || best.getK() > groups)
    return Outcome::miss(Reason::UnsupportedShape, Twine(best.getK()) + " of " +
                                                       Twine(groups) +
                                                       " groups");
  if (lastSize(best.getInput()) != groups ||
      leading(raiser, select.getCondition(), 1) !=
          leading(raiser, grouped, 1) ||
      leading(raiser, best.getInput(), 1) != leading(raiser, grouped, 2))
    return Outcome::miss(Reason::OtherAxis,
                         "the groups that are chosen are not those of the "
                         "elements");
  if (best.getTies() != TieRule::lowest_index)
    return Outcome::miss(Reason::OtherFormula,
                         "of equal groups the last are taken, not the first");
  Outcome why;
  std::optional<GroupScore> score =
      scoreOf(raiser, best.getInput(), grouped, why);
  if (!score)
    return why;
  std::optional<double> number = numberOf(fill);
  if (!number)
    return Outcome::miss(Reason::OtherFormula,
                         "elements of other groups become no number that is "
                         "known");
  return Outcome::raised(
      limit(raiser, root->getLoc(), grouped, *number, *score, best.getK()));
}

ArrayRef<Rule> raise::routingRules() {
  static const Rule rules[] = {
      {"hk.group_limit", groupLimit, /*isExact=*/true}};
  return rules;
}
