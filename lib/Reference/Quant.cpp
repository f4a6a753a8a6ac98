//===- Quant.cpp - Quantisation -------------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computed in IEEE f32 exactly as the ops say, so that exact inputs have exact
// codes and scales. Noise of an input may move a code to its neighbour.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

/// Largest finite value of a quantised type.
static double largestOf(DType dtype) {
  return dtype == DType::I8 ? 127 : ::hk::info(dtype).maxFinite;
}

/// cast(clamp(x / s, -limit, limit)); NaN stays NaN until the cast.
static Noisy quantizeOne(DType dtype, Noisy x, Noisy s, double limit) {
  double q = f32(x.value / s.value);
  double clamped = q > limit ? limit : q < -limit ? -limit : q;
  if (x.sigma == 0 && s.sigma == 0)
    return rounded(dtype, {clamped, 0});
  if (std::isinf(x.sigma) || std::isinf(s.sigma))
    return rounded(dtype, {clamped, kInf});
  double ulp = f32Ulp(q), inherited = sigmaOf(x, 1 / s.value, s, q / s.value);
  double offset = std::fabs(x.value / s.value - q);
  double sigma = noiseAfterRounding(inherited, ulp, offset);
  double jump =
      jumpAfterRounding(inherited, jumpOf(x, 1 / s.value, s, q / s.value), ulp);
  if (!std::isfinite(sigma) || !std::isfinite(jump))
    return rounded(dtype, {clamped, 0});
  return rounded(dtype, {clamped, sigma, jump});
}

/// Largest magnitude of a row's elements [begin, end): NaN if one is for
/// certain.
static Noisy amaxOf(const Tensor &x, int64_t begin, int64_t end) {
  Noisy amax{0, 0};
  for (int64_t i = begin; i < end; ++i) {
    double magnitude = std::fabs(x.values[i]);
    if (std::isnan(magnitude) && !std::isinf(x.errorAt(i)))
      return {kNaN, 0};
    amax.sigma = std::max(amax.sigma, x.errorAt(i));
    amax.jump = std::max(amax.jump, x.jumpAt(i));
    amax.value = std::max(amax.value, magnitude);
  }
  return amax;
}

/// Rounded up to a power of two; uncertain where noise reaches across one.
static Noisy powerOfTwoAbove(Noisy scale) {
  if (std::isinf(scale.sigma))
    return scale;
  auto above = [](double v) {
    if (!std::isfinite(v))
      return v;
    int exponent = 0;
    double mantissa = std::frexp(v, &exponent); // in [0.5, 1)
    return std::scalbn(1.0, std::max(exponent - (mantissa == 0.5), -126));
  };
  double value = above(scale.value);
  bool uncertain = above(scale.value - scale.reach()) != value ||
                   above(scale.value + scale.reach()) != value;
  return {value, scale.sigma > 0 && uncertain ? value : 0};
}

static LogicalResult evaluateQuantize(Operation *op, const Operands &in,
                                      Results &out) {
  auto quantize = cast<QuantizeOp>(op);
  const Tensor &x = in[0];
  DType dtype = resultDType(op, 0);
  int64_t n = rowSize(x);
  bool perToken = quantize.getGranularity() == Granularity::per_token;
  int64_t group = perToken ? std::max<int64_t>(n, 1) : quantize.getGroupSize();
  int64_t groups = perToken ? 1 : (n + group - 1) / group;
  double floor = quantize.getAmaxFloor().convertToFloat();
  double limit = quantize.getLimit() ? quantize.getLimit()->convertToFloat()
                                     : largestOf(dtype);
  SmallVector<int64_t> scaleSizes(x.sizes);
  scaleSizes.back() = groups;
  ResultBuilder codes(dtype, x.sizes), scales(DType::F32, scaleSizes);
  for (int64_t row = 0; row < numRows(x); ++row)
    for (int64_t g = 0; g < groups; ++g) {
      int64_t begin = row * n + g * group;
      int64_t end = row * n + std::min(n, (g + 1) * group);
      Noisy amax = amaxOf(x, begin, end);
      double top = amax.value < floor ? floor : amax.value;
      Noisy scale{f32(top / limit), amax.sigma / limit, amax.jump / limit};
      if (scale.value == 0)
        scale.value = 1;
      scale = rounded(DType::F32, scale);
      if (quantize.getPowerOfTwo())
        scale = powerOfTwoAbove(scale);
      scales.setExact(row * groups + g, scale);
      for (int64_t i = begin; i < end; ++i)
        codes.setExact(i, quantizeOne(dtype, at(x, i), scale, limit));
    }
  out.push_back(codes.take());
  out.push_back(scales.take());
  return success();
}

static LogicalResult evaluateQuantizeStatic(Operation *op, const Operands &in,
                                            Results &out) {
  auto quantize = cast<QuantizeStaticOp>(op);
  const Tensor &x = in[0], &scale = in[1];
  DType dtype = resultDType(op);
  double limit = quantize.getLimit() ? quantize.getLimit()->convertToFloat()
                                     : largestOf(dtype);
  int64_t n = rowSize(x), group = quantize.getGroupSize();
  bool single = scale.numElements() == 1;
  int64_t perRow = single ? 0 : rowSize(scale);
  ResultBuilder codes(dtype, x.sizes);
  for (int64_t i = 0; i < x.numElements(); ++i) {
    int64_t s = single        ? 0
                : perRow == 1 ? i / n
                              : i / n * perRow + i % n / group;
    codes.setExact(i, quantizeOne(dtype, at(x, i), at(scale, s), limit));
  }
  out.push_back(codes.take());
  return success();
}

//===----------------------------------------------------------------------===//
// MX formats
//===----------------------------------------------------------------------===//

static int exponentField(float v) {
  return static_cast<int>(llvm::bit_cast<uint32_t>(v) >> 23 & 255) - 127;
}

/// Exponent of the block scale from the largest magnitude, finite and not 0.
static int scaleExponent(MxRounding rounding, DType dtype, float amax) {
  bool f4 = dtype == DType::F4E2M1FN, e5m2 = dtype == DType::F8E5M2;
  int exponent = 0, largest = f4 ? 2 : e5m2 ? 15 : 8;
  auto roundedUp = [](float v) {
    bool exact = (llvm::bit_cast<uint32_t>(v) & 0x7FFFFF) == 0;
    return exponentField(v) + !exact;
  };
  switch (rounding) {
  case MxRounding::even: {
    // A quarter (f4), an eighth (e5m2) or a sixteenth (e4m3) of the leading bit
    // carries.
    uint32_t carry = f4 ? 1u << 21 : e5m2 ? 1u << 20 : 1u << 19;
    uint32_t bits = llvm::bit_cast<uint32_t>(amax) + carry;
    exponent = static_cast<int>(bits >> 23 & 255) - 127 - largest;
    break;
  }
  case MxRounding::floor:
    exponent = exponentField(amax / static_cast<float>(largestOf(dtype)));
    break;
  case MxRounding::ceil:
    exponent = roundedUp(amax / static_cast<float>(largestOf(dtype)));
    break;
  case MxRounding::ocp:
    exponent = exponentField(amax) - largest;
    break;
  case MxRounding::ocp_ceil:
    exponent = roundedUp(amax) - largest;
    break;
  }
  return std::clamp(exponent, -127, 127);
}

static LogicalResult evaluateQuantizeMx(Operation *op, const Operands &in,
                                        Results &out) {
  constexpr int64_t kBlock = 32;
  MxRounding rounding = cast<QuantizeMxOp>(op).getRounding();
  const Tensor &x = in[0];
  DType dtype = resultDType(op, 0);
  int64_t n = rowSize(x), blocks = (n + kBlock - 1) / kBlock;
  SmallVector<int64_t> scaleSizes(x.sizes);
  scaleSizes.back() = blocks;
  ResultBuilder codes(dtype, x.sizes), scales(DType::F8E8M0FNU, scaleSizes);
  for (int64_t row = 0; row < numRows(x); ++row)
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t begin = row * n + b * kBlock;
      int64_t end = row * n + std::min(n, (b + 1) * kBlock);
      Noisy amax = amaxOf(x, begin, end);
      int64_t s = row * blocks + b;
      if (std::isinf(amax.sigma)) {
        scales.setExact(s, {1, kInf});
        for (int64_t i = begin; i < end; ++i)
          codes.setExact(i, {0, kInf});
        continue;
      }
      if (!std::isfinite(amax.value)) { // Codes stay zero.
        scales.setExact(s, {kNaN, 0});
        continue;
      }
      auto exponentOf = [&](double v) {
        return v <= 0 ? -127
                      : scaleExponent(rounding, dtype, static_cast<float>(v));
      };
      int exponent = exponentOf(amax.value);
      double scale = std::scalbn(1.0, exponent);
      // Noise that may choose the next power of two makes all codes uncertain.
      bool uncertain = exponentOf(amax.value - amax.reach()) != exponent ||
                       exponentOf(amax.value + amax.reach()) != exponent;
      scales.setExact(s, {scale, uncertain ? scale : 0});
      for (int64_t i = begin; i < end; ++i) {
        Noisy code = rounded(dtype, {x.values[i] / scale, x.errorAt(i) / scale,
                                     x.jumpAt(i) / scale});
        if (uncertain)
          code.sigma = hypot2(code.sigma, code.value);
        codes.setExact(i, code);
      }
    }
  out.push_back(codes.take());
  out.push_back(scales.take());
  return success();
}

//===----------------------------------------------------------------------===//
// Dequantisation
//===----------------------------------------------------------------------===//

/// A value of f32 arithmetic from its noise before the rounding.
static Noisy roundedToF32(double exact, double sigma, double jump) {
  double value = f32(exact), ulp = f32Ulp(value);
  return {value, noiseAfterRounding(sigma, ulp, std::fabs(exact - value)),
          jumpAfterRounding(sigma, jump, ulp)};
}

/// q + sign * z in f32.
static Noisy plus(Noisy q, Noisy z, double sign) {
  return roundedToF32(q.value + sign * z.value, hypot2(q.sigma, z.sigma),
                      std::max(q.jump, z.jump));
}

static Noisy times(Noisy q, Noisy s) {
  return roundedToF32(q.value * s.value, sigmaOf(q, s.value, s, q.value),
                      jumpOf(q, s.value, s, q.value));
}

static LogicalResult evaluateDequantize(Operation *op, const Operands &in,
                                        Results &out) {
  const Tensor &q = in[0], &scale = in[1];
  const Tensor *zero = in.find(cast<DequantizeOp>(op).getZeroPoint());
  bool offset = cast<DequantizeOp>(op).getOffset();
  int64_t rank = q.sizes.size();
  int64_t group =
      scale.dtype == DType::F8E8M0FNU
          ? 32
          : static_cast<int64_t>(cast<DequantizeOp>(op).getGroupSize());
  bool single = scale.numElements() == 1;
  SmallVector<int64_t> strides(rank, 0), index(rank, 0);
  if (!single) {
    int64_t stride = 1;
    for (int64_t d = rank - 1; d >= 0; --d) {
      if (scale.sizes[d] != 1)
        strides[d] = stride;
      stride *= scale.sizes[d];
    }
  }
  ResultBuilder result(resultDType(op), q.sizes);
  for (int64_t i = 0; i < q.numElements(); ++i) {
    int64_t s = 0;
    for (int64_t d = 0; d < rank; ++d)
      s += strides[d] * (d == rank - 1 ? index[d] / group : index[d]);
    Noisy a = at(q, i);
    Noisy z = zero ? at(*zero, zero->numElements() == 1 ? 0 : s) : Noisy{};
    if (zero && !offset)
      a = plus(a, z, -1);
    a = times(a, at(scale, s));
    result.set(i, offset ? plus(a, z, 1) : a);
    for (int64_t d = rank - 1; d >= 0 && ++index[d] == q.sizes[d]; --d)
      index[d] = 0;
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateReencode(Operation *op, const Operands &in,
                                      Results &out) {
  const Tensor &x = in[0];
  double factor = x.dtype == DType::F8E4M3FN ? 0.5 : 2;
  ResultBuilder result(resultDType(op), x.sizes);
  for (int64_t i = 0; i < x.numElements(); ++i) {
    Noisy v = at(x, i);
    result.set(i, {v.value * factor, v.sigma * factor});
  }
  out.push_back(result.take());
  return success();
}

void reference::addQuantisation(EvaluatorTable &table) {
  table.add<QuantizeOp>(evaluateQuantize);
  table.add<QuantizeStaticOp>(evaluateQuantizeStatic);
  table.add<QuantizeMxOp>(evaluateQuantizeMx);
  table.add<DequantizeOp>(evaluateDequantize);
  table.add<ReencodeOp>(evaluateReencode);
}
