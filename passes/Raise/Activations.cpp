//===- Activations.cpp - Activations out of arithmetic --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// silu = x sigmoid(x), gelu = 0.5 x (1 + erf(x / sqrt 2)), gelu_tanh = 0.5 x
// (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), factors in any order. A gate is
// made of them later, by hk-merge-products and hk-fold-gates.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// Numbers of formulas as files have them: rounded to f32, or written with
/// few digits.
static bool isAbout(double number, double expected) {
  return std::abs(number - expected) < 1e-6 * std::abs(expected);
}

static Outcome silu(Raiser &raiser, Operation *root) {
  auto mul = dyn_cast<MulOp>(root);
  if (!mul)
    return Outcome::none();
  for (auto [x, s] : {std::pair<Value, Value>(mul.getLhs(), mul.getRhs()),
                      std::pair<Value, Value>(mul.getRhs(), mul.getLhs())}) {
    auto sigmoid = s.getDefiningOp<SigmoidOp>();
    if (!sigmoid || throughWidening(sigmoid.getInput()) != throughWidening(x))
      continue;
    if (!raiser.mayDrop(s))
      return Outcome::miss(Reason::RoundsBetween, "the sigmoid is rounded");
    return Outcome::raised(SiluOp::create(raiser.b, root->getLoc(),
                                          mul.getType(), throughWidening(x)));
  }
  return Outcome::none();
}

/// sqrt(2/pi) (x + 0.044715 x^3), or sqrt(2/pi) x (1 + 0.044715 x^2).
static bool isTanhArgument(Raiser &raiser, Value value, Value x) {
  Factors outer = factorsOf(raiser, value);
  constexpr double kRoot = 0.7978845608028654, kCubic = 0.044715;
  if (!isAbout(outer.constant, kRoot))
    return false;
  bool isFactored = takeFactor(outer, x);
  auto sum = outer.values.size() == 1 ? outer.values[0].getDefiningOp<AddOp>()
                                      : AddOp();
  if (!sum || !raiser.mayDrop(sum.getResult()))
    return false;
  for (auto [first, second] :
       {std::pair<Value, Value>(sum.getLhs(), sum.getRhs()),
        std::pair<Value, Value>(sum.getRhs(), sum.getLhs())}) {
    bool isLinear = isFactored ? isNumber(first, 1)
                               : throughWidening(first) == throughWidening(x);
    Factors cubic = factorsOf(raiser, second);
    for (int i = 0; i < (isFactored ? 2 : 3) && isLinear; ++i)
      isLinear = takeFactor(cubic, x);
    if (isLinear && cubic.values.empty() && isAbout(cubic.constant, kCubic) &&
        raiser.mayDrop(second))
      return true;
  }
  return false;
}

/// 0.5 x (1 + f(...)) with f = erf or tanh.
static Outcome gelu(Raiser &raiser, Operation *root) {
  if (!isa<MulOp>(root))
    return Outcome::none();
  Factors factors = factorsOf(raiser, root->getResult(0));
  if (factors.values.size() != 2)
    return Outcome::none();
  for (int i : {0, 1}) {
    Value x = factors.values[1 - i];
    auto shifted = addedNumber(factors.values[i]);
    Operation *function = shifted ? shifted->first.getDefiningOp() : nullptr;
    if (!isa_and_nonnull<ErfOp, TanhOp>(function) || shifted->second != 1)
      continue;
    Value argument = function->getOperand(0);
    Factors inner = factorsOf(raiser, argument);
    bool isErf = isa<ErfOp>(function);
    bool isFormula = isErf ? takeFactor(inner, x) && inner.values.empty() &&
                                 isAbout(inner.constant, M_SQRT1_2)
                           : isTanhArgument(raiser, argument, x);
    if (!isFormula)
      return Outcome::miss(Reason::OtherFormula,
                           isErf ? "erf is not of x / sqrt(2)"
                                 : "tanh is not of sqrt(2 / pi) (x + 0.044715 "
                                   "x^3)");
    // The factor 0.5 may come with the next product.
    if (!isAbout(factors.constant, 0.5))
      return factors.constant == 1
                 ? Outcome::none()
                 : Outcome::miss(Reason::OtherFormula,
                                 "the factor is " +
                                     Twine(std::to_string(factors.constant)) +
                                     ", not 0.5");
    for (Value between : {factors.values[i], shifted->first, argument})
      if (!raiser.mayDrop(between))
        return Outcome::miss(Reason::RoundsBetween, "its parts are rounded");
    Value input = throughWidening(x);
    Type type = root->getResult(0).getType();
    Location loc = root->getLoc();
    return Outcome::raised(
        isErf ? GeluOp::create(raiser.b, loc, type, input).getResult()
              : GeluTanhOp::create(raiser.b, loc, type, input).getResult());
  }
  return Outcome::none();
}

ArrayRef<Rule> raise::activationRules() {
  static const Rule rules[] = {{"hk.silu", silu}, {"hk.gelu", gelu}};
  return rules;
}
