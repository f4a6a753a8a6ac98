//===- Activation.cpp - Gated units and rotary embedding ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs of elements of one row.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

/// gate * sigmoid(1.702 gate), whose argument is rounded to f32.
static Noisy quickGelu(Noisy gate) {
  constexpr float kSlope = 1.702f;
  double z = f32(kSlope * gate.value);
  Noisy s = sigmoid({z, hypot2(kSlope * gate.sigma, kUnit * std::fabs(z)),
                     kSlope * gate.jump});
  return timesF32(gate, s);
}

static Noisy activate(GateKind kind, Noisy gate) {
  switch (kind) {
  case GateKind::silu:
    return silu(gate);
  case GateKind::gelu:
    return gelu(gate);
  case GateKind::gelu_tanh:
    return geluTanh(gate);
  case GateKind::relu:
    return relu(gate);
  case GateKind::swiglu_oai:
    return quickGelu(gate);
  }
  llvm_unreachable("every kind has a case");
}

static LogicalResult evaluateGatedActivation(Operation *op, const Operands &in,
                                             Results &out) {
  auto gated = cast<GatedActivationOp>(op);
  const Tensor &x = in[0];
  int64_t n = rowSize(x) / 2;
  if (failed(requireSize(op, "last size of input", 2 * n, rowSize(x))))
    return failure();
  SmallVector<int64_t> sizes(x.sizes);
  sizes.back() = n;
  ResultBuilder result(resultDType(op), sizes);
  double limit = gated.getLimit() ? gated.getLimit()->convertToFloat() : kInf;
  for (int64_t row = 0; row < numRows(x); ++row)
    for (int64_t j = 0; j < n; ++j) {
      int64_t g = gated.getInterleaved() ? 2 * j : j;
      int64_t u = gated.getInterleaved() ? 2 * j + 1 : n + j;
      Noisy gate = at(x, row * 2 * n + g), up = at(x, row * 2 * n + u);
      // Written so that NaN stays.
      gate.value = gate.value > limit ? limit : gate.value;
      up.value = up.value > limit    ? limit
                 : up.value < -limit ? -limit
                                     : up.value;
      if (gated.getKind() == GateKind::swiglu_oai)
        up = {f32(up.value + 1),
              hypot2(up.sigma, kUnit * (1 + std::fabs(up.value))), up.jump};
      Noisy activated = activate(gated.getKind(), gate);
      if (gated.getRoundBeforeUp())
        activated = rounded(x.dtype, activated);
      result.set(row * n + j, timesF32(activated, up));
    }
  out.push_back(result.take());
  return success();
}

//===----------------------------------------------------------------------===//
// hk.rope
//===----------------------------------------------------------------------===//

namespace {
/// Where the angle and the partner of each rotated element of a head are.
struct Rotation {
  RopeStyle style;
  int64_t size; // R
  bool anglePerElement;

  bool isFirst(int64_t j) const {
    return style == RopeStyle::neox ? j < size / 2 : j % 2 == 0;
  }
  int64_t partner(int64_t j) const {
    int64_t step = style == RopeStyle::neox ? size / 2 : 1;
    return isFirst(j) ? j + step : j - step;
  }
  int64_t angle(int64_t j) const {
    if (anglePerElement)
      return j;
    return style == RopeStyle::neox ? j % (size / 2) : j / 2;
  }
  int64_t numAngles() const { return anglePerElement ? size : size / 2; }
};
} // namespace

/// x * c + y * s, in two products and a sum or with an fma.
static Noisy rotate(Noisy x, Noisy c, Noisy y, Noisy s) {
  Noisy first = timesF32(x, c), second = timesF32(y, s);
  Noisy sum = plusF32(first, second);
  // An fma adds a product that would overflow by itself.
  auto same = [&](double v) {
    return v == sum.value || (std::isnan(v) && std::isnan(sum.value));
  };
  bool overflows = std::isinf(first.value) || std::isinf(second.value);
  if (overflows && (!same(f32(x.value * c.value + second.value)) ||
                    !same(f32(first.value + y.value * s.value))))
    sum.sigma = kInf;
  return sum;
}

/// Index of `token` in its own sequence; -1 behind the last bound.
static double placeInSequence(ArrayRef<double> bounds, int64_t token) {
  for (size_t s = 1; s < bounds.size(); ++s)
    if (token < bounds[s])
      return token - bounds[s - 1];
  return -1;
}

static LogicalResult evaluateRope(Operation *op, const Operands &in,
                                  Results &out) {
  auto rope = cast<RopeOp>(op);
  const Tensor &x = in[0], &cos = in[1], &sin = in[2];
  const Tensor *positions = in.find(rope.getPositions());
  const Tensor *offsets = in.find(rope.getOffsets());
  int64_t rank = x.sizes.size(), headSize = x.sizes[rank - 1];
  const Tensor *bounds = in.find(rope.getBounds());
  int64_t heads = x.sizes[rank - 2], tokens = 1, tokensPerIndex = 1;
  int64_t positionDim = rope.getPositionDim();
  for (int64_t d = 0; d < rank - 2; ++d) {
    tokens *= x.sizes[d];
    tokensPerIndex *= d <= positionDim ? 1 : x.sizes[d];
  }
  Rotation rotation{rope.getStyle(), rope.getRotarySize(),
                    rope.getAnglePerElement()};
  int64_t start = rope.getNopeFirst() ? headSize - rotation.size : 0;
  ResultBuilder result(resultDType(op), x.sizes);
  for (int64_t token = 0; token < tokens; ++token) {
    double position = token / tokensPerIndex % x.sizes[positionDim];
    if (positions)
      position = positions->values[token];
    if (bounds)
      position = placeInSequence(bounds->values, token);
    position += offsets ? offsets->values[token] : 0;
    bool inTable = position >= 0 && position < cos.sizes[0];
    int64_t angles =
        static_cast<int64_t>(inTable ? position : 0) * rotation.numAngles();
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t e = 0; e < headSize; ++e) {
        int64_t i = (token * heads + h) * headSize + e, j = e - start;
        if (!inTable || j < 0 || j >= rotation.size) {
          result.set(i, at(x, i));
          continue;
        }
        // The transpose of the rotation: the partner brings its own sine.
        int64_t partner = rotation.partner(j);
        bool inverse = rope.getInverse();
        Noisy s = at(sin, angles + rotation.angle(inverse ? partner : j));
        if (rotation.isFirst(j) != inverse)
          s.value = -s.value;
        result.set(i, rotate(at(x, i), at(cos, angles + rotation.angle(j)),
                             at(x, i - j + partner), s));
      }
  }
  out.push_back(result.take());
  return success();
}

void reference::addActivations(EvaluatorTable &table) {
  table.add<GatedActivationOp>(evaluateGatedActivation);
  table.add<RopeOp>(evaluateRope);
}
