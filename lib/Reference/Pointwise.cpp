//===- Pointwise.cpp - Pointwise operators --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Single IEEE operations are f32 operations rounded to the result's type, so
// that exact operands give exact results; elementary functions carry the error
// their kernels may have.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// f(x) with |f'(x)|, from a function that kernels evaluate within `ulps`.
static Noisy elementary(Noisy x, double value, double slope, double ulps,
                        double floor = 0) {
  if (!std::isfinite(value) || std::isinf(x.sigma))
    return {inF32Range(value), std::isinf(x.sigma) ? kInf : 0};
  double inherited = times(slope, x.sigma);
  double own = noiseOfUlps(value, ulps) + floor;
  return inF32Range({value, hypot2(inherited, own), times(slope, x.jump)});
}

/// A correctly rounded f32 operation on operands with this noise.
static Noisy correct(double value, double inherited, double jump) {
  if (!std::isfinite(value) || !std::isfinite(inherited))
    return {f32(value), std::isfinite(inherited) ? 0 : kInf};
  if (Noisy v = inF32Range({value, inherited, jump}); v.sigma != inherited)
    return {f32(value), v.sigma}; // it overflows, or may
  double exact = value;
  value = f32(value);
  if (std::isinf(value))
    return {value, 0};
  double ulp = f32Ulp(value);
  return {value, noiseAfterRounding(inherited, ulp, std::fabs(exact - value)),
          jumpAfterRounding(inherited, jump, ulp)};
}

/// floor or round of x: noise may move it by whole numbers. `offset` is as far
/// below 1/2 as x is away from the next number with another result.
static Noisy stepped(double value, Noisy x, double offset) {
  return {value, noiseAfterRounding(x.sigma, 1, offset),
          jumpAfterRounding(x.sigma, x.jump, 1)};
}

// Results of an exponential below the smallest normal number may be flushed.
static constexpr double kFlushed = kSmallest / 8;

Noisy reference::sigmoid(Noisy x) {
  double y = 1 / (1 + inF32Range(std::exp(-x.value)));
  return elementary(x, y, y * (1 - y), 4, kFlushed);
}

Noisy reference::silu(Noisy x) {
  double e = inF32Range(std::exp(-x.value)), y = 1 / (1 + e);
  double value = x.value / (1 + e);
  if (std::isinf(x.value) && x.value < 0)
    value = kNaN;
  // Either form, x / (1 + e) or x * y; where e overflows y is flushed.
  return elementary(x, value, y * (1 + x.value * (1 - y)), 4,
                    kFlushed * (1 + std::fabs(x.value)));
}

/// Noise of 0.5 x (1 + t) when t, within a few ulp of +-1, is near -1.
static double noiseOfHalfSum(double x, double t, double ulps) {
  double term = ulps * kUnit * std::fabs(t) + kUnit * std::fabs(1 + t);
  return std::fabs(0.5 * x) * term + kFlushed;
}

Noisy reference::gelu(Noisy x) {
  double t = std::erf(x.value * M_SQRT1_2);
  double density = std::exp(-0.5 * square(x.value)) * 0.3989422804014327;
  double slope = 0.5 * (1 + t) + x.value * density;
  // The argument's rounding moves erf by its slope there.
  double argument = std::fabs(x.value * x.value) * density * kUnit * 2;
  double value = 0.5 * x.value * (1 + t);
  return elementary(
      x, value, std::isfinite(x.value) ? slope : 0, 2,
      std::isfinite(x.value) ? noiseOfHalfSum(x.value, t, 3) + argument : 0);
}

Noisy reference::geluTanh(Noisy x) {
  constexpr double kScale = 0.7978845608028654, kCubic = 0.044715;
  double v = x.value;
  double z = kScale * (v + kCubic * v * v * v);
  double t = std::tanh(z), value = 0.5 * v * (1 + t);
  if (!std::isfinite(v))
    return elementary(x, value, 0, 2);
  double dz = kScale * (1 + 3 * kCubic * v * v), sech2 = 1 - t * t;
  double slope = 0.5 * (1 + t) + 0.5 * v * sech2 * dz;
  double argument = std::fabs(0.5 * v * sech2 * z) * kUnit * 4;
  if (std::isnan(slope) || std::isnan(argument)) // 0 * inf far outside
    slope = argument = 0;
  return elementary(x, value, slope, 2, noiseOfHalfSum(v, t, 4) + argument);
}

Noisy reference::relu(Noisy x) {
  if (x.value >= 0 || std::isnan(x.value))
    return x;
  // -inf that may be +inf as well is among these.
  return x.value >= -x.reach() ? Noisy{0, x.sigma, x.jump} : Noisy{0, 0};
}

Noisy reference::exponential(Noisy x) {
  double y = std::exp(x.value);
  return elementary(x, y, y, 3, kFlushed);
}

static Noisy squareRoot(Noisy x) {
  double value = std::sqrt(x.value);
  if (x.value > 0)
    return correct(value, times(0.5 / value, x.sigma),
                   times(0.5 / value, x.jump));
  return correct(value, std::sqrt(x.sigma), std::sqrt(x.jump));
}

/// ln(1 + e^x) by a logarithm of 1 + e^x that loses nothing where e^x is small;
/// x itself above the threshold, which the function does not reach smoothly.
static Noisy softplus(Noisy x) {
  constexpr double kThreshold = 20;
  double v = x.value;
  if (v > kThreshold)
    return x;
  double e = std::exp(v), slope = e / (1 + e);
  // exp and log1p are within 3 ulps each.
  return elementary(x, std::log1p(e), std::isnan(v) ? 0 : slope, 6, kFlushed);
}

using UnaryFunction = Noisy (*)(Noisy);

template <class Op>
static void addUnary(EvaluatorTable &table, UnaryFunction function) {
  table.add<Op>([function](Operation *op, const Operands &in, Results &out) {
    const Tensor &x = in[0];
    ResultBuilder result(resultDType(op), x.sizes);
    for (int64_t i = 0; i < x.numElements(); ++i)
      result.set(i, function(at(x, i)));
    out.push_back(result.take());
    return success();
  });
}

static void addExponentials(EvaluatorTable &table) {
  addUnary<ExpOp>(table, exponential);
  addUnary<Exp2Op>(table, [](Noisy x) {
    double y = std::exp2(x.value);
    return elementary(x, y, y * M_LN2, 3, kFlushed);
  });
  addUnary<Expm1Op>(table, [](Noisy x) {
    return elementary(x, std::expm1(x.value), std::exp(x.value), 3, kFlushed);
  });
  addUnary<LogOp>(table, [](Noisy x) {
    return elementary(x, std::log(x.value), 1 / x.value, 2);
  });
  addUnary<Log2Op>(table, [](Noisy x) {
    return elementary(x, std::log2(x.value), M_LOG2E / x.value, 2);
  });
  addUnary<Log1pOp>(table, [](Noisy x) {
    return elementary(x, std::log1p(x.value), 1 / (1 + x.value), 3, kFlushed);
  });
  addUnary<TanhOp>(table, [](Noisy x) {
    double y = std::tanh(x.value);
    return elementary(x, y, 1 - y * y, 3);
  });
  addUnary<ErfOp>(table, [](Noisy x) {
    return elementary(x, std::erf(x.value),
                      M_2_SQRTPI * std::exp(-square(x.value)), 2);
  });
}

static void addUnaries(EvaluatorTable &table) {
  addExponentials(table);
  addUnary<NegOp>(table,
                  [](Noisy x) { return Noisy{-x.value, x.sigma, x.jump}; });
  addUnary<AbsOp>(table, [](Noisy x) {
    return Noisy{std::fabs(x.value), x.sigma, x.jump};
  });
  addUnary<SqrtOp>(table, squareRoot);
  addUnary<RsqrtOp>(table, [](Noisy x) {
    double y = 1 / std::sqrt(x.value);
    return elementary(x, y, 0.5 * y / x.value, 2);
  });
  addUnary<ReciprocalOp>(table, [](Noisy x) {
    double slope = 1 / square(x.value);
    return correct(1 / x.value, times(slope, x.sigma), times(slope, x.jump));
  });
  // Beyond 2^22 the period is lost, and any value in [-1, 1] is right.
  addUnary<SinOp>(table, [](Noisy x) {
    return elementary(x, std::sin(x.value), std::cos(x.value), 3,
                      std::fabs(x.value) > 0x1p22 ? 1 : kUnit * kUnit);
  });
  addUnary<CosOp>(table, [](Noisy x) {
    return elementary(x, std::cos(x.value), std::sin(x.value), 3,
                      std::fabs(x.value) > 0x1p22 ? 1 : kUnit * kUnit);
  });
  addUnary<SigmoidOp>(table, sigmoid);
  addUnary<SiluOp>(table, silu);
  addUnary<GeluOp>(table, gelu);
  addUnary<GeluTanhOp>(table, geluTanh);
  addUnary<ReluOp>(table, relu);
  addUnary<SoftplusOp>(table, softplus);
  addUnary<FloorOp>(table, [](Noisy x) {
    double value = std::floor(x.value);
    return stepped(value, x, std::fabs(x.value - value - 0.5));
  });
  addUnary<RoundOp>(table, [](Noisy x) {
    double value = std::nearbyint(x.value);
    return stepped(value, x, std::fabs(x.value - value));
  });
}

/// What is limited keeps its noise only as far as it may get out of the range.
static LogicalResult evaluateClamp(Operation *op, const Operands &in,
                                   Results &out) {
  auto clamp = cast<ClampOp>(op);
  double low = clamp.getMin().convertToFloat();
  double high = clamp.getMax().convertToFloat();
  const Tensor &x = in[0];
  ResultBuilder result(resultDType(op), x.sizes);
  for (int64_t i = 0; i < x.numElements(); ++i) {
    Noisy v = at(x, i);
    double limited = v.value < low ? low : v.value > high ? high : v.value;
    bool certain = std::fabs(v.value - limited) > v.reach();
    result.set(i,
               certain ? Noisy{limited, 0} : Noisy{limited, v.sigma, v.jump});
  }
  out.push_back(result.take());
  return success();
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

Noisy reference::pick(Noisy a, Noisy b, bool takeA) {
  auto certainNaN = [](Noisy v) {
    return std::isnan(v.value) && !std::isinf(v.sigma);
  };
  if (certainNaN(a) || certainNaN(b))
    return {kNaN, 0};
  Noisy taken = takeA ? a : b;
  if (std::isinf(a.sigma) || std::isinf(b.sigma))
    return {taken.value, kInf};
  if (std::fabs(a.value - b.value) <=
      Noisy{0, sigmaOf(a, 1, b, 1), jumpOf(a, 1, b, 1)}.reach()) {
    taken.sigma = std::max(a.sigma, b.sigma);
    taken.jump = std::max(a.jump, b.jump);
  }
  return taken;
}

Noisy reference::addF32(Noisy a, Noisy b) {
  return correct(a.value + b.value, sigmaOf(a, 1, b, 1), jumpOf(a, 1, b, 1));
}

static Noisy applyReal(Operation *op, Noisy a, Noisy b) {
  double x = a.value, y = b.value;
  auto linear = [&](double value, double slopeA, double slopeB) {
    return correct(value, sigmaOf(a, slopeA, b, slopeB),
                   jumpOf(a, slopeA, b, slopeB));
  };
  return llvm::TypeSwitch<Operation *, Noisy>(op)
      .Case([&](AddOp) { return addF32(a, b); })
      .Case([&](SubOp) { return linear(x - y, 1, 1); })
      .Case([&](MulOp) { return linear(x * y, y, x); })
      .Case([&](DivOp) { return linear(x / y, 1 / y, x / square(y)); })
      .Case([&](MaxOp) { return pick(a, b, x >= y); })
      .Case([&](MinOp) { return pick(a, b, x <= y); })
      .Default([](Operation *) -> Noisy {
        llvm_unreachable("the table names the binary ops");
      });
}

Noisy reference::wrapped(DType dtype, uint64_t v) {
  switch (dtype) {
  case DType::I8:
    return {double(static_cast<int8_t>(v)), 0};
  case DType::I16:
    return {double(static_cast<int16_t>(v)), 0};
  case DType::I32:
    return {double(static_cast<int32_t>(v)), 0};
  default:
    auto integer = static_cast<int64_t>(v);
    auto held = static_cast<double>(integer);
    return {held, integerOf(held) == integer ? 0 : kInf};
  }
}

static Noisy applyInteger(Operation *op, DType dtype, double a, double b) {
  int64_t x = integerOf(a), y = integerOf(b);
  auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  return llvm::TypeSwitch<Operation *, Noisy>(op)
      .Case([&](AddOp) { return wrapped(dtype, ux + uy); })
      .Case([&](SubOp) { return wrapped(dtype, ux - uy); })
      .Case([&](MulOp) { return wrapped(dtype, ux * uy); })
      .Case([&](DivOp) {
        if (y == 0)
          return Noisy{0, 0};
        return wrapped(dtype, y == -1 ? 0 - ux : static_cast<uint64_t>(x / y));
      })
      .Case([&](MaxOp) { return Noisy{std::max(a, b), 0}; })
      .Case([&](MinOp) { return Noisy{std::min(a, b), 0}; })
      .Default([](Operation *) -> Noisy {
        llvm_unreachable("the table names the binary ops");
      });
}

static LogicalResult evaluateBinary(Operation *op, const Operands &in,
                                    Results &out) {
  Broadcast shape({&in[0], &in[1]});
  ResultBuilder result(resultDType(op), shape.sizes());
  DType dtype = in[0].dtype;
  bool real = ::hk::info(dtype).isFloat;
  shape.forEach([&](int64_t i, ArrayRef<int64_t> p) {
    Noisy a = at(in[0], p[0]), b = at(in[1], p[1]);
    if (real)
      return result.set(i, applyReal(op, a, b));
    Noisy made = applyInteger(op, dtype, a.value, b.value);
    if (a.sigma != 0 || b.sigma != 0)
      made.sigma = kInf;
    result.setExact(i, made);
  });
  out.push_back(result.take());
  return success();
}

//===----------------------------------------------------------------------===//
// Compare, select, cast, constant
//===----------------------------------------------------------------------===//

static bool holds(ComparePredicate predicate, double a, double b) {
  switch (predicate) {
  case ComparePredicate::eq:
    return a == b;
  case ComparePredicate::ne:
    return a != b;
  case ComparePredicate::lt:
    return a < b;
  case ComparePredicate::le:
    return a <= b;
  case ComparePredicate::gt:
    return a > b;
  case ComparePredicate::ge:
    return a >= b;
  }
  llvm_unreachable("every predicate has a case");
}

static LogicalResult evaluateCompare(Operation *op, const Operands &in,
                                     Results &out) {
  Broadcast shape({&in[0], &in[1]});
  ResultBuilder result(DType::I1, shape.sizes());
  ComparePredicate predicate = cast<CompareOp>(op).getPredicate();
  shape.forEach([&](int64_t i, ArrayRef<int64_t> p) {
    Noisy a = at(in[0], p[0]), b = at(in[1], p[1]);
    // Noise that may decide otherwise makes the outcome uncertain.
    Noisy noise{0, sigmaOf(a, 1, b, 1), jumpOf(a, 1, b, 1)};
    bool uncertain =
        std::isinf(noise.sigma) ||
        (noise.sigma > 0 && std::fabs(a.value - b.value) <= noise.reach());
    result.setExact(
        i, {double(holds(predicate, a.value, b.value)), uncertain ? 1.0 : 0.0});
  });
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateSelect(Operation *op, const Operands &in,
                                    Results &out) {
  Broadcast shape({&in[0], &in[1], &in[2]});
  ResultBuilder result(resultDType(op), shape.sizes());
  shape.forEach([&](int64_t i, ArrayRef<int64_t> p) {
    Noisy condition = at(in[0], p[0]);
    Noisy chosen = condition.value != 0 ? at(in[1], p[1]) : at(in[2], p[2]);
    Noisy other = condition.value != 0 ? at(in[2], p[2]) : at(in[1], p[1]);
    if (condition.sigma > 0) {
      chosen.sigma = hypot2(std::max(chosen.sigma, other.sigma),
                            chosen.value - other.value);
      chosen.jump = std::max(chosen.jump, other.jump);
    }
    result.setExact(i, chosen);
  });
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateCast(Operation *op, const Operands &in,
                                  Results &out) {
  const Tensor &x = in[0];
  ResultBuilder result(resultDType(op), x.sizes);
  bool toFloat = ::hk::info(resultDType(op)).isFloat;
  bool fromWide = x.dtype == DType::I32 || x.dtype == DType::I64;
  bool rounds = !toFloat && ::hk::info(x.dtype).isFloat;
  auto integer = [&](double real) { return roundTo(resultDType(op), real); };
  for (int64_t i = 0; i < x.numElements(); ++i) {
    Noisy v = at(x, i);
    // Noise that stays between two integers is none.
    if (rounds && std::isfinite(v.sigma) &&
        integer(v.value - v.reach()) == integer(v.value + v.reach()))
      v = {v.value, 0};
    // Integers reach narrow floats through f32.
    if (toFloat && fromWide)
      v.value = f32(v.value);
    result.set(i, v);
  }
  out.push_back(result.take());
  return success();
}

/// The first word of Philox4x32-10.
static uint32_t philox(uint64_t key, uint64_t counter) {
  auto k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  uint32_t c[4] = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    uint32_t next[4] = {uint32_t(b >> 32) ^ c[1] ^ k0, uint32_t(b),
                        uint32_t(a >> 32) ^ c[3] ^ k1, uint32_t(a)};
    llvm::copy(next, c);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c[0];
}

static LogicalResult evaluatePhilox(Operation *, const Operands &in,
                                    Results &out) {
  Broadcast shape({&in[0], &in[1]});
  ResultBuilder result(DType::F32, shape.sizes());
  shape.forEach([&](int64_t i, ArrayRef<int64_t> p) {
    Noisy seed = at(in[0], p[0]), counter = at(in[1], p[1]);
    auto x = int32_t(philox(uint64_t(int64_t(seed.value)),
                            uint64_t(int64_t(counter.value))));
    double uniform = f32(f32(double(x < 0 ? -x - 1 : x)) * 0x1.fffffep-32);
    bool open = seed.sigma != 0 || counter.sigma != 0;
    result.setExact(i, {uniform, open ? kInf : 0});
  });
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateConstant(Operation *op, const Operands &,
                                      Results &out) {
  // Of hk.constant, or an arith.constant of a tensor.
  auto elements = op->getAttrOfType<DenseElementsAttr>("value");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  ResultBuilder result(resultDType(op), type.getShape());
  int64_t i = 0;
  if (isa<FloatType>(type.getElementType())) {
    for (APFloat v : elements.getValues<APFloat>()) {
      bool loses = false;
      v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      result.setExact(i++, {v.convertToDouble(), 0});
    }
  } else {
    bool isUnsigned = type.getElementType().isInteger(1) ||
                      type.getElementType().isUnsignedInteger();
    for (const APInt &v : elements.getValues<APInt>())
      result.setExact(i++, {isUnsigned ? double(v.getZExtValue())
                                       : double(v.getSExtValue()),
                            0});
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateIota(Operation *op, const Operands &in,
                                  Results &out) {
  auto iota = cast<IotaOp>(op);
  int64_t count = iota.getLike() ? in[0].sizes[iota.getDim()]
                                 : tensorType(iota.getResult()).getDimSize(0);
  ResultBuilder result(resultDType(op), {count});
  for (int64_t i = 0; i < count; ++i)
    result.set(i, {double(i), 0});
  out.push_back(result.take());
  return success();
}

void reference::addPointwise(EvaluatorTable &table) {
  addUnaries(table);
  table.add<ClampOp>(evaluateClamp);
  table.add<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp>(evaluateBinary);
  table.add<CompareOp>(evaluateCompare);
  table.add<SelectOp>(evaluateSelect);
  table.add<CastOp>(evaluateCast);
  table.add<PhiloxOp>(evaluatePhilox);
  table.add<IotaOp>(evaluateIota);
  table.add<ConstantOp>(evaluateConstant);
}
