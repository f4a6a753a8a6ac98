//===- Norms.cpp - Norms out of means and roots ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In steps, each exact: x * rsqrt(mean(x^2) + e) is hk.rms_norm without a
// weight; the conversion of its result, its weight and the offset of that go
// into it; one of a row less its mean, with weight and bias, is hk.layer_norm.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// The y of 1 / sqrt(y), however it is written; null if `value` is no such.
static Value underInverseRoot(Raiser &raiser, Value value) {
  if (auto rsqrt = value.getDefiningOp<RsqrtOp>())
    return rsqrt.getInput();
  Value root;
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    root = reciprocal.getInput();
  if (auto div = value.getDefiningOp<DivOp>(); div && isNumber(div.getLhs(), 1))
    root = div.getRhs();
  auto sqrt = root ? root.getDefiningOp<SqrtOp>() : SqrtOp();
  return sqrt && raiser.mayDrop(root) ? sqrt.getInput() : Value();
}

/// x and y of x / sqrt(y), where that is `root`.
static std::optional<std::pair<Value, Value>> overRoot(Raiser &raiser,
                                                       Operation *root) {
  if (auto div = dyn_cast<DivOp>(root))
    if (auto sqrt = div.getRhs().getDefiningOp<SqrtOp>();
        sqrt && raiser.mayDrop(div.getRhs()))
      return std::pair(div.getLhs(), sqrt.getInput());
  if (auto mul = dyn_cast<MulOp>(root))
    for (auto [x, r] : {std::pair<Value, Value>(mul.getLhs(), mul.getRhs()),
                        std::pair<Value, Value>(mul.getRhs(), mul.getLhs())})
      if (Value y = underInverseRoot(raiser, r); y && raiser.mayDrop(r))
        return std::pair(x, y);
  return std::nullopt;
}

/// x * x
static Value squared(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  return mul && mul.getLhs() == mul.getRhs() ? mul.getLhs() : Value();
}

/// x / sqrt(mean(x^2) + e), or of the sum.
static Outcome rootMeanSquare(Raiser &raiser, Operation *root) {
  auto found = overRoot(raiser, root);
  if (!found || shapeOf(root->getResult(0)) != shapeOf(found->first))
    return Outcome::none();
  auto [x, under] = *found;
  auto shifted = addedNumber(under);
  Value reduced = shifted ? shifted->first : under;
  bool isRounded = false;
  if (auto cast = reduced.getDefiningOp<CastOp>()) {
    isRounded = !raiser.mayDrop(reduced);
    reduced = cast.getInput();
  }
  Factors mean = factorsOf(raiser, reduced);
  auto sum = mean.values.size() == 1 ? mean.values[0].getDefiningOp<ReduceOp>()
                                     : ReduceOp();
  if (!sum || sum.getKind() != ReduceKind::sum)
    return Outcome::none();
  if (!shifted)
    return Outcome::miss(Reason::OtherFormula,
                         "no epsilon is added to the mean of the squares");
  Value square = squared(sum.getInput());
  if (!square || throughWidening(square) != throughWidening(x))
    return Outcome::miss(Reason::OtherFormula,
                         "what is reduced is not the square of what is divided "
                         "by the root");
  if (sum.getDims() != 1)
    return Outcome::miss(Reason::OtherAxis, "the mean is over " +
                                                Twine(sum.getDims()) +
                                                " dims, not the last one");
  int64_t n = lastSize(x);
  bool isMean = !ShapedType::isDynamic(n) &&
                std::abs(mean.constant * double(n) - 1) < 1e-6;
  if (!isMean && mean.constant != 1)
    return Outcome::miss(Reason::OtherFormula,
                         "the sum of squares is multiplied by " +
                             Twine(std::to_string(mean.constant)) +
                             ", not by 1 / " + Twine(n));
  for (Value inner :
       {under, reduced, Value(sum.getResult()), Value(sum.getInput())})
    isRounded |= !raiser.mayDrop(inner);
  if (isRounded)
    return Outcome::miss(Reason::RoundsBetween,
                         "the mean of the squares is rounded");
  Location loc = root->getLoc();
  Type type = root->getResult(0).getType();
  APFloat epsilon(float(shifted->second));
  Value input = throughWidening(x);
  if (!isMean)
    return Outcome::raised(
        L2NormOp::create(raiser.b, loc, type, input, epsilon));
  return Outcome::raised(RmsNormOp::create(raiser.b, loc, type, input, Value(),
                                           epsilon, APFloat(0.0f)));
}

/// The rms_norm that makes `value`, if nothing but its weight may come yet.
static RmsNormOp plainNorm(Value value) {
  auto norm = value.getDefiningOp<RmsNormOp>();
  return norm && !norm.getWeight() ? norm : RmsNormOp();
}

/// A norm in f32 whose result is rounded once, by a cast.
static Outcome rounded(Raiser &raiser, Operation *root) {
  auto cast = dyn_cast<CastOp>(root);
  auto norm = cast ? cast.getInput().getDefiningOp<RmsNormOp>() : RmsNormOp();
  if (!norm || norm.getRoundBeforeWeight() ||
      !isa<FloatType>(Raiser::elementOf(cast.getResult())) ||
      !Raiser::elementOf(norm.getResult()).isF32() ||
      Raiser::elementOf(cast.getResult()).getIntOrFloatBitWidth() < 16)
    return Outcome::none();
  return Outcome::raised(RmsNormOp::create(
      raiser.b, root->getLoc(), cast.getType(), norm.getInput(),
      norm.getWeight(), norm.getEpsilon(), norm.getWeightOffset()));
}

/// The row [N] that `value` is, with unit dims or not; null if it is none.
static Value rowOf(Value value, int64_t n) {
  Value row = throughUnitDims(value);
  return shapeOf(row).size() == 1 && lastSize(row) == n ? row : Value();
}

/// norm(x) * w, with w = 1 + weight perhaps.
static Outcome weighted(Raiser &raiser, Operation *root) {
  auto mul = dyn_cast<MulOp>(root);
  if (!mul)
    return Outcome::none();
  for (auto [x, w] : {std::pair<Value, Value>(mul.getLhs(), mul.getRhs()),
                      std::pair<Value, Value>(mul.getRhs(), mul.getLhs())}) {
    RmsNormOp norm = plainNorm(throughWidening(x));
    if (!norm || shapeOf(x) != shapeOf(mul.getResult()))
      continue;
    Value weight = rowOf(w, lastSize(x));
    if (!weight)
      return Outcome::none();
    // f32 products in this order are what the operator computes; what is
    // rounded first has to have the type that the result has.
    Type made = Raiser::elementOf(norm.getResult()),
         wanted = Raiser::elementOf(mul.getResult());
    bool isRounded = !made.isF32();
    if (isRounded && made != wanted)
      return Outcome::miss(Reason::RoundsBetween,
                           "the norm is rounded to another type than its "
                           "product with the weight");
    double offset = 0;
    Value row = throughWidening(weight);
    if (auto sum = addedNumber(weight); sum && raiser.mayDrop(weight)) {
      offset = sum->second;
      row = throughWidening(sum->first);
      if (shapeOf(row).size() != 1)
        row = weight, offset = 0;
    }
    return Outcome::raised(RmsNormOp::create(
        raiser.b, root->getLoc(), mul.getType(), norm.getInput(), row,
        norm.getEpsilon(), APFloat(float(offset)), isRounded));
  }
  return Outcome::none();
}

/// Whether `value` is x less the mean of its last dim; that x.
static Value centred(Raiser &raiser, Value value) {
  auto sub = value.getDefiningOp<SubOp>();
  if (!sub || !raiser.mayDrop(value) || !raiser.mayDrop(sub.getRhs()))
    return nullptr;
  Factors mean = factorsOf(raiser, sub.getRhs());
  auto sum = mean.values.size() == 1 ? mean.values[0].getDefiningOp<ReduceOp>()
                                     : ReduceOp();
  int64_t n = lastSize(sub.getLhs());
  if (!sum || sum.getKind() != ReduceKind::sum || sum.getDims() != 1 ||
      throughWidening(sum.getInput()) != throughWidening(sub.getLhs()) ||
      ShapedType::isDynamic(n) ||
      std::abs(mean.constant * double(n) - 1) > 1e-6)
    return nullptr;
  return throughWidening(sub.getLhs());
}

/// rms_norm(x - mean(x), w) + b
static Outcome layerNorm(Raiser &raiser, Operation *root) {
  auto add = dyn_cast<AddOp>(root);
  if (!add)
    return Outcome::none();
  for (auto [x, c] : {std::pair<Value, Value>(add.getLhs(), add.getRhs()),
                      std::pair<Value, Value>(add.getRhs(), add.getLhs())}) {
    auto norm = x.getDefiningOp<RmsNormOp>();
    if (!norm || !norm.getWeight())
      continue;
    Value bias = rowOf(c, lastSize(x)),
          input = centred(raiser, norm.getInput());
    if (!bias)
      return Outcome::none();
    if (!input)
      return Outcome::miss(Reason::OtherFormula,
                           "the row is not one less its own mean");
    if (!raiser.mayDrop(x) || norm.getRoundBeforeWeight() ||
        !norm.getWeightOffset().isZero())
      return Outcome::miss(Reason::RoundsBetween,
                           "the norm is rounded in front of its bias");
    return Outcome::raised(LayerNormOp::create(
        raiser.b, root->getLoc(), add.getType(), input, norm.getWeight(),
        throughWidening(bias), norm.getEpsilon()));
  }
  return Outcome::none();
}

/// A layer_norm in f32 whose result is rounded once.
static Outcome roundedLayerNorm(Raiser &raiser, Operation *root) {
  auto cast = dyn_cast<CastOp>(root);
  auto norm =
      cast ? cast.getInput().getDefiningOp<LayerNormOp>() : LayerNormOp();
  if (!norm || !Raiser::elementOf(norm.getResult()).isF32() ||
      !(Raiser::elementOf(cast.getResult()).isBF16() ||
        Raiser::elementOf(cast.getResult()).isF16()))
    return Outcome::none();
  return Outcome::raised(LayerNormOp::create(
      raiser.b, root->getLoc(), cast.getType(), norm.getInput(),
      norm.getWeight(), norm.getBias(), norm.getEpsilon()));
}

ArrayRef<Rule> raise::normRules() {
  static const Rule rules[] = {
      {"hk.rms_norm", rootMeanSquare},     {"hk.rms_norm", rounded},
      {"hk.rms_norm", weighted},           {"hk.layer_norm", layerNorm},
      {"hk.layer_norm", roundedLayerNorm},
  };
  return rules;
}
