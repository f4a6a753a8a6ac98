//===- Requantised.cpp - Operators between two quantisations --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ONNX Runtime's quantiser writes in its QOperator format for operators
// that multiply no matrices: each input is codes, a scale and a zero point, and
// so is the result. The values in between are f32, rounded once to codes.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "Codes.h"
#include "Convolutions.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Input `i` less its zero point, the second input behind it, in f32: exact.
static FailureOr<Tensor> differences(Node &node, size_t i) {
  HK_TRY(codes, node.codes(i));
  HK_TRY(wide, node.cast(codes, kFloat));
  bool isUnsigned = node.input(i).dtype == kUInt8;
  if (!node.has(i + 2)) {
    if (!isUnsigned)
      return wide;
    HK_TRY(half, node.scalar(-128, kFloat));
    return node.binary<SubOp>(wide, half);
  }
  if (node.input(i + 2).dtype != node.input(i).dtype)
    return node.error() << "expected a zero point of "
                        << dtypeName(node.input(i).dtype) << ", but got "
                        << dtypeName(node.input(i + 2).dtype);
  HK_TRY(zero, node.codes(i + 2));
  HK_TRY(zeroWide, node.cast(zero, kFloat));
  HK_TRY(number, node.reshape(zeroWide, Shape()));
  return node.binary<SubOp>(wide, number);
}

/// Scale of input `i`, the first one behind it: one number.
static FailureOr<Tensor> scaleOfInput(Node &node, size_t i) {
  HK_TRY(scale, scaleOf(node, node.inputName(i)));
  if (scale.rank() != 0)
    return node.error() << "expected one scale as input #" << i << ", but got "
                        << node.describe(scale.shape);
  return scale;
}

/// What the codes of input `i` mean, f32.
static FailureOr<Tensor> valueOf(Node &node, size_t i) {
  HK_TRY(less, differences(node, i));
  HK_TRY(scale, scaleOfInput(node, i + 1));
  return node.binary<MulOp>(less, scale);
}

/// x as result 0: codes of the scale and zero point at inputs `scale` and
/// behind it, of input `like`'s type.
static LogicalResult requantised(Node &node, const Tensor &x, size_t scale,
                                 size_t like) {
  HK_TRY(y, scaleOfInput(node, scale));
  HK_TRY(quotient, node.binary<DivOp>(x, y));
  HK_TRY(made, codesOf(node, quotient, scale + 1, node.input(like).dtype));
  return node.result(0, made);
}

/// Inputs: a, its scale and zero point, those of b, then of the result.
static LogicalResult qlinearAdd(Node &node) {
  HK_TRY(a, valueOf(node, 0));
  HK_TRY(b, valueOf(node, 3));
  HK_TRY(sum, node.binary<AddOp>(a, b));
  return requantised(node, sum, 6, 0);
}

/// The same of a product, which is one of integers times one number.
static LogicalResult qlinearMul(Node &node) {
  HK_TRY(a, differences(node, 0));
  HK_TRY(b, differences(node, 3));
  HK_TRY(product, node.binary<MulOp>(a, b));
  HK_TRY(aScale, scaleOfInput(node, 1));
  HK_TRY(bScale, scaleOfInput(node, 4));
  HK_TRY(yScale, scaleOfInput(node, 6));
  HK_TRY(both, node.binary<MulOp>(aScale, bScale));
  HK_TRY(factor, node.binary<DivOp>(both, yScale));
  HK_TRY(scaled, node.binary<MulOp>(product, factor));
  HK_TRY(made, codesOf(node, scaled, 7, node.input(0).dtype));
  return node.result(0, made);
}

// Inputs of those that follow: x, its scale and zero point, then the result's.

static LogicalResult qlinearSigmoid(Node &node) {
  HK_TRY(x, valueOf(node, 0));
  HK_TRY(made, node.unary<SigmoidOp>(x));
  return requantised(node, made, 3, 0);
}

static LogicalResult qlinearLeakyRelu(Node &node) {
  HK_TRY(x, valueOf(node, 0));
  HK_TRY(made, leakyRelu(node, x, node.real("alpha", 0.01)));
  return requantised(node, made, 3, 0);
}

static LogicalResult qlinearSoftmax(Node &node) {
  HK_TRY(x, valueOf(node, 0));
  HK_TRY(axis, node.axis(node.integer("axis", -1), x.rank()));
  if (node.integer("opset", 13) < 13 && axis != x.rank() - 1)
    return node.error() << "expected a softmax along the last axis below opset "
                           "13, but got axis "
                        << axis;
  HK_TRY(made, softmaxAlong(node, x, axis));
  return requantised(node, made, 3, 0);
}

template <FailureOr<Tensor> (*AVERAGE)(Node &, const Tensor &)>
static LogicalResult qlinearAverage(Node &node) {
  if (failed(node.only("channels_last", 0, "channels are dim 1")))
    return failure();
  HK_TRY(x, valueOf(node, 0));
  HK_TRY(made, AVERAGE(node, x));
  return requantised(node, made, 3, 0);
}

/// Inputs: scale and zero point of the result, then three of each part.
static LogicalResult qlinearConcat(Node &node) {
  if (node.numInputs() % 3 != 2)
    return node.error() << "expected a scale and a zero point, then a tensor, "
                           "its scale and its zero point for each part, but "
                           "got "
                        << node.numInputs() << " inputs";
  SmallVector<Tensor> parts;
  for (size_t i = 2; i < node.numInputs(); i += 3) {
    HK_TRY(part, valueOf(node, i));
    parts.push_back(part);
  }
  HK_TRY(axis, node.axis(node.integer("axis", 0), parts.front().rank()));
  HK_TRY(made, node.concat(axis, parts));
  return requantised(node, made, 0, 2);
}

ArrayRef<Operator> mlir::hk::importer::requantisedOperators() {
  constexpr const char *kMs = "com.microsoft";
  static const Operator table[] = {
      {kMs, "QLinearAdd", 1, 7, 8, qlinearAdd, ""},
      {kMs, "QLinearMul", 1, 7, 8, qlinearMul, ""},
      {kMs, "QLinearSigmoid", 1, 4, 5, qlinearSigmoid, ""},
      {kMs, "QLinearLeakyRelu", 1, 4, 5, qlinearLeakyRelu, ""},
      {kMs, "QLinearSoftmax", 1, 4, 5, qlinearSoftmax,
       "below opset 13 along the last axis"},
      {kMs, "QLinearGlobalAveragePool", 1, 4, 5, qlinearAverage<averageBehind>,
       "channels as dim 1"},
      {kMs, "QLinearAveragePool", 1, 4, 5, qlinearAverage<averagePooled>,
       "channels as dim 1; a padded dim of known size"},
      {kMs, "QLinearConcat", 1, 5, kAny, qlinearConcat, ""},
  };
  return table;
}
