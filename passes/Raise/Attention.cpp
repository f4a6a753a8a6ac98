//===- Attention.cpp - Attention out of products and softmax --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the product with the values back: probabilities, masks, the soft cap,
// the scale, the product of queries and keys. Its scale may stand at the
// queries, the keys or the scores.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"
#include "Raise/Masks.h"
#include "Raise/Sinks.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

namespace {
/// What the scores of a decomposed attention are made of.
struct Scores {
  Value query, key; // [B, H, Sq, D] and [B, H, Sk, D]
  double scale = 1;
  double softcap = 0;
  SmallVector<Mask> masks;
  MatmulOp product;
  Value sink; // f32 [H], or null
};
} // namespace

/// Links between softmax and the product of queries and keys.
static constexpr int kLongest = 16;

static bool isPowerOfTwo(double number) {
  int exponent;
  return number > 0 && std::frexp(number, &exponent) == 0.5;
}

/// Probabilities without the cast, the guard against rows without keys,
/// select(isnan(p), 0, p), and the column of a sink.
static SoftmaxOp softmaxOf(Value probabilities) {
  for (int i = 0; i < 4; ++i) {
    Operation *op = probabilities.getDefiningOp();
    if (auto select = dyn_cast_or_null<SelectOp>(op)) {
      auto isNaN = select.getCondition().getDefiningOp<CompareOp>();
      Value p = select.getFalseValue();
      if (!isNaN || isNaN.getPredicate() != ComparePredicate::ne ||
          isNaN.getLhs() != p || isNaN.getRhs() != p ||
          numberOf(select.getTrueValue()) != 0.0)
        return nullptr;
      probabilities = p;
    } else if (isa_and_nonnull<CastOp, tensor::ExtractSliceOp>(op)) {
      probabilities = op->getOperand(0);
    } else {
      break;
    }
  }
  return probabilities.getDefiningOp<SoftmaxOp>();
}

/// Whether probabilities are rounded to no other type than that of the values,
/// to which the operator may round them, too.
static bool roundsAsValues(Value probabilities, Value values) {
  for (int i = 0; i < 4; ++i) {
    Type element = Raiser::elementOf(probabilities);
    if (!element.isF32() && element != Raiser::elementOf(values))
      return false;
    Operation *op = probabilities.getDefiningOp();
    if (isa_and_nonnull<SelectOp>(op))
      probabilities = op->getOperand(2);
    else if (isa_and_nonnull<CastOp, tensor::ExtractSliceOp>(op))
      probabilities = op->getOperand(0);
  }
  return true;
}

/// Whether a product is what `value` is made of by scores' arithmetic.
static bool leadsToProduct(Value value) {
  for (int i = 0; i < kLongest; ++i) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<MatmulOp>(op))
      return true;
    if (isa_and_nonnull<CastOp, TanhOp>(op) ||
        (isa_and_nonnull<MulOp, DivOp>(op) && numberOf(op->getOperand(1))))
      value = op->getOperand(0);
    else if (isa_and_nonnull<MulOp>(op) && numberOf(op->getOperand(0)))
      value = op->getOperand(1);
    else
      return false;
  }
  return false;
}

/// The factor of a multiplication or division by a number, and of what.
static std::optional<std::pair<Value, double>> scaledBy(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<MulOp>(op))
    for (unsigned i : {0, 1})
      if (takesNumber(op, i))
        return std::pair(op->getOperand(i), *numberOf(op->getOperand(1 - i)));
  if (isa_and_nonnull<DivOp>(op) && takesNumber(op, 0))
    if (double number = *numberOf(op->getOperand(1)); number != 0)
      return std::pair(op->getOperand(0), 1 / number);
  return std::nullopt;
}

/// Whether a score region can read an element of `value`.
static bool mayBeMask(Value value) {
  return !shapeOf(value).empty() && shapeOf(value).size() <= 4;
}

/// Takes one mask off `value`; false if there is none.
static bool takeMask(Value &value, Scores &scores) {
  Operation *op = value.getDefiningOp();
  if (auto add = dyn_cast_or_null<AddOp>(op)) {
    for (auto [s, m] : {std::pair<Value, Value>(add.getLhs(), add.getRhs()),
                        std::pair<Value, Value>(add.getRhs(), add.getLhs())}) {
      bool hasMore = isa_and_nonnull<AddOp, SelectOp>(s.getDefiningOp());
      if (shapeOf(s) != shapeOf(value) || !mayBeMask(m) ||
          !(leadsToProduct(s) || (hasMore && !leadsToProduct(m))))
        continue;
      scores.masks.push_back(maskOf(Mask::Kind::Added, throughWidening(m), 0));
      value = s;
      return true;
    }
    return false;
  }
  auto select = dyn_cast_or_null<SelectOp>(op);
  if (!select || !mayBeMask(select.getCondition()))
    return false;
  for (auto [s, number, kind] :
       {std::tuple(select.getTrueValue(), select.getFalseValue(),
                   Mask::Kind::Seen),
        std::tuple(select.getFalseValue(), select.getTrueValue(),
                   Mask::Kind::Hidden)}) {
    std::optional<double> fill = numberOf(number);
    if (!fill || *fill > -65504 || shapeOf(s) != shapeOf(value))
      continue;
    scores.masks.push_back(maskOf(kind, select.getCondition(), *fill));
    value = s;
    return true;
  }
  return false;
}

/// Takes tanh(x / c) * c off `value`; what stands in the way, if anything.
static std::optional<Outcome> takeSoftcap(Raiser &raiser, Value &value,
                                          double factor, Scores &scores) {
  auto tanh = value.getDefiningOp<TanhOp>();
  auto inner = scaledBy(tanh.getInput());
  if (!inner || std::abs(inner->second * factor - 1) > 1e-6 || factor <= 0)
    return Outcome::miss(Reason::OtherFormula,
                         "scores are capped by another formula than c tanh(s / "
                         "c)");
  if (!raiser.mayDrop(value) || !raiser.mayDrop(tanh.getInput()))
    return Outcome::miss(Reason::RoundsBetween, "capped scores are rounded");
  scores.softcap = factor;
  value = inner->first;
  return std::nullopt;
}

/// Follows the scores back to their product; what stands in the way, if
/// anything.
static std::optional<Outcome> readScores(Raiser &raiser, Value value,
                                         Scores &scores) {
  double factor = 1;
  for (int i = 0; i < kLongest; ++i) {
    if (auto product = value.getDefiningOp<MatmulOp>()) {
      scores.product = product;
      scores.scale *= factor;
      if (!raiser.mayDrop(value))
        return Outcome::miss(Reason::RoundsBetween, "scores are rounded");
      return std::nullopt;
    }
    Value whole = value;
    bool isBare = factor == 1 && scores.softcap == 0;
    auto widened = value.getDefiningOp<CastOp>();
    if (widened || (isBare && takeMask(value, scores))) {
      if (!raiser.mayDrop(whole))
        return Outcome::miss(Reason::RoundsBetween, "scores are rounded");
      value = widened ? widened.getInput() : value;
      continue;
    }
    if (isa_and_nonnull<TanhOp>(value.getDefiningOp()) && scores.softcap == 0) {
      if (auto refused = takeSoftcap(raiser, value, factor, scores))
        return refused;
      factor = 1;
      continue;
    }
    if (auto scaled = scaledBy(value)) {
      if (!raiser.mayDrop(value) && !isPowerOfTwo(scaled->second))
        return Outcome::miss(Reason::RoundsBetween,
                             "scaled scores are rounded");
      factor *= scaled->second;
      value = scaled->first;
      continue;
    }
    break;
  }
  Operation *op = value.getDefiningOp();
  return Outcome::miss(
      isa_and_nonnull<AddOp, SelectOp>(op) ? Reason::UnknownMask
                                           : Reason::OtherFormula,
      "scores are made by " +
          (op ? op->getName().getStringRef() : "an argument") +
          ", not by a product, a scale, a cap and masks behind "
          "them");
}

/// An operand of the product of scores without a factor of its own.
static std::optional<Outcome> readOperand(Raiser &raiser, Value &value,
                                          double &scale) {
  while (auto scaled = scaledBy(value)) {
    if (!raiser.mayDrop(value) && !isPowerOfTwo(scaled->second))
      return Outcome::miss(Reason::RoundsBetween,
                           "scaled queries or keys are rounded");
    scale *= scaled->second;
    value = scaled->first;
  }
  return std::nullopt;
}

/// Batched queries and keys as [B, H, rows, D], whichever way the product reads
/// them.
static std::optional<Outcome> readOperands(Raiser &raiser, Scores &scores) {
  MatmulOp product = scores.product;
  scores.query = product.getLhs();
  scores.key = product.getRhs();
  if (product.getLhsScale() || product.getRhsScale() ||
      shapeOf(scores.query).size() != 4 || shapeOf(scores.key).size() != 4)
    return Outcome::miss(Reason::UnsupportedShape,
                         "expected queries and keys [sequences, heads, rows, "
                         "size]");
  for (Value *side : {&scores.query, &scores.key})
    if (auto refused = readOperand(raiser, *side, scores.scale))
      return refused;
  if (product.getTransposeA())
    scores.query =
        transpose(raiser.b, product.getLoc(), scores.query, {0, 1, 3, 2});
  if (!product.getTransposeB())
    scores.key =
        transpose(raiser.b, product.getLoc(), scores.key, {0, 1, 3, 2});
  return std::nullopt;
}

static AttentionOp build(Raiser &raiser, Operation *root, const Scores &scores,
                         const MaskPlan &plan, Value values) {
  OpBuilder &b = raiser.b;
  Location loc = root->getLoc();
  Value query = transpose(b, loc, scores.query, {0, 2, 1, 3});
  SmallVector<int64_t> shape(shapeOf(query));
  shape.back() = lastSize(values);
  auto type =
      RankedTensorType::get(shape, Raiser::elementOf(root->getResult(0)));
  auto window = [&](std::optional<int64_t> keys) {
    return keys ? b.getI64IntegerAttr(*keys) : IntegerAttr();
  };
  auto layout = CacheLayoutAttr::get(b.getContext(), CacheLayout::head_major);
  auto op = AttentionOp::create(
      b, loc, type, /*lse=*/Type(), query, scores.key, values,
      /*q_offsets=*/Value(), /*kv_offsets=*/Value(), /*kv_lens=*/Value(),
      /*block_table=*/Value(), /*table_offsets=*/Value(), scores.sink,
      /*q_scale=*/Value(), /*k_scale=*/Value(), /*v_scale=*/Value(),
      plan.tables(), b.getF32FloatAttr(float(scores.scale)),
      plan.causal ? b.getUnitAttr() : UnitAttr(), /*past=*/UnitAttr(),
      window(plan.windowLeft), window(plan.windowRight),
      scores.softcap != 0 ? b.getF32FloatAttr(float(scores.softcap))
                          : FloatAttr(),
      NormalizerAttr::get(b.getContext(), Normalizer::softmax),
      /*p_type=*/TypeAttr(), /*q_block=*/IntegerAttr(),
      /*k_block=*/IntegerAttr(), layout, layout, /*kv_slices=*/IntegerAttr());
  writeScore(b, op, plan);
  return op;
}

/// softmax(scores) times values
static Outcome attention(Raiser &raiser, Operation *root) {
  auto last = dyn_cast<MatmulOp>(root);
  SoftmaxOp softmax = last ? softmaxOf(last.getLhs()) : SoftmaxOp();
  if (!softmax)
    return Outcome::none();
  if (last.getLhsScale() || last.getRhsScale() || last.getTransposeA() ||
      shapeOf(last.getRhs()).size() != 4)
    return Outcome::miss(Reason::UnsupportedShape,
                         "expected values [sequences, heads, keys, size]");
  if (!roundsAsValues(last.getLhs(), last.getRhs()))
    return Outcome::miss(Reason::RoundsBetween,
                         "probabilities are rounded to another type than that "
                         "of the values");
  Scores scores;
  Value logits = withoutMaximum(raiser, softmax.getInput());
  if (auto refused = takeSink(raiser, last.getLhs(), logits, scores.sink))
    return *refused;
  if (auto refused = readScores(raiser, logits, scores))
    return *refused;
  SmallVector<DimName> sizes(raiser.dims().shape(scores.product.getResult()));
  if (sizes.size() != 4 ||
      sizes[kSequence] != raiser.dims().dim(last.getResult(), 0))
    return Outcome::miss(Reason::UnsupportedShape,
                         "expected scores [sequences, heads, queries, keys]");
  if (auto refused = readOperands(raiser, scores))
    return *refused;
  Value values = last.getRhs();
  if (last.getTransposeB())
    values = transpose(raiser.b, last.getLoc(), values, {0, 1, 3, 2});
  // [sequences, heads, rows, size] each, as the product has them.
  for (Value operand : {scores.query, scores.key, values})
    for (int64_t dim : {1, 3})
      if (ShapedType::isDynamic(shapeOf(operand)[dim]))
        return Outcome::miss(Reason::UnsupportedShape,
                             "a number of heads or the size of one is known to "
                             "calls only");
  if (!llvm::all_of(softmax->getUsers(), [](Operation *user) {
        return isa<MatmulOp, CastOp, SelectOp, CompareOp,
                   tensor::ExtractSliceOp>(user);
      }))
    return Outcome::miss(Reason::ResultEscapes,
                         "something else reads the probabilities");
  FailureOr<MaskPlan> plan = planMasks(raiser, scores.masks, sizes);
  AttentionOp op = build(raiser, root, scores, *plan, values);
  return Outcome::raised(
      transpose(raiser.b, root->getLoc(), op.getResult(), {0, 2, 1, 3}));
}

//===----------------------------------------------------------------------===//
// Keys and values of attention that is there
//===----------------------------------------------------------------------===//

/// [B, Hk, S, D] of which [B, Hk * n, S, D] repeats each head n times; null if
/// it does not.
static Value repeatedHeads(Value value) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  SmallVector<ReassociationIndices> groups{{0}, {1, 2}, {3}, {4}};
  if (!collapse || collapse.getReassociationIndices() != groups)
    return nullptr;
  auto concat = collapse.getSrc().getDefiningOp<ConcatOp>();
  if (!concat || concat.getDim() != 2 || !llvm::all_equal(concat.getInputs()) ||
      shapeOf(concat.getInputs()[0])[2] != 1)
    return nullptr;
  auto expand = concat.getInputs()[0].getDefiningOp<tensor::ExpandShapeOp>();
  SmallVector<ReassociationIndices> unit{{0}, {1, 2}, {3}, {4}},
      behind{{0}, {1}, {2, 3}, {4}};
  if (!expand || shapeOf(expand.getSrc()).size() != 4)
    return nullptr;
  auto given = expand.getReassociationIndices();
  return given == unit || given == behind ? expand.getSrc() : Value();
}

/// hk.attention gives each key head to as many query heads.
static Outcome dropRepetition(Raiser &, Operation *root) {
  auto op = dyn_cast<AttentionOp>(root);
  if (!op || op.getKeyLayout() != CacheLayout::head_major ||
      op.getValueLayout() != CacheLayout::head_major || op.getBlockTable())
    return Outcome::none();
  Value key = repeatedHeads(op.getKey()), value = repeatedHeads(op.getValue());
  if (!key && !value)
    return Outcome::none();
  if (!key || !value || shapeOf(key)[1] != shapeOf(value)[1])
    return Outcome::miss(Reason::OtherFormula,
                         "heads of keys and of values are not repeated alike");
  op.getKeyMutable().assign(key);
  op.getValueMutable().assign(value);
  return Outcome::raised(op.getResult());
}

/// Keys and values that were transposed to [B, H, S, D] are read as they are.
static Outcome readTokenMajor(Raiser &, Operation *root) {
  auto op = dyn_cast<AttentionOp>(root);
  if (!op || op.getKeyLayout() != CacheLayout::head_major ||
      op.getValueLayout() != CacheLayout::head_major || op.getBlockTable() ||
      op.getKScale() || op.getVScale() || op.getKey() == op.getValue())
    return Outcome::none();
  auto key = op.getKey().getDefiningOp<TransposeOp>(),
       value = op.getValue().getDefiningOp<TransposeOp>();
  const int64_t swapped[] = {0, 2, 1, 3};
  if (!key || !value || key.getPermutation() != ArrayRef(swapped) ||
      value.getPermutation() != ArrayRef(swapped))
    return Outcome::none();
  op.getKeyMutable().assign(key.getInput());
  op.getValueMutable().assign(value.getInput());
  op.setKeyLayout(CacheLayout::token_major);
  op.setValueLayout(CacheLayout::token_major);
  return Outcome::raised(op.getResult());
}

ArrayRef<Rule> raise::attentionRules() {
  static const Rule rules[] = {{"hk.attention", attention},
                               {"hk.attention", dropRepetition},
                               {"", readTokenMajor}};
  return rules;
}
