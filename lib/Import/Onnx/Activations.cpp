//===- Activations.cpp - Activations of several operators -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LeakyRelu and HardSigmoid, and what ONNX Runtime's optimiser makes of a
// convolution and the activation behind it: one node, whose attributes are the
// activation's name and numbers.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<Tensor> mlir::hk::importer::leakyRelu(Node &node, const Tensor &x,
                                                double alpha) {
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(factor, node.scalar(alpha, x.dtype));
  HK_TRY(scaled, node.binary<MulOp>(x, factor));
  HK_TRY(below, node.compare(ComparePredicate::lt, x, zero));
  return node.select(below, scaled, x);
}

FailureOr<Tensor> mlir::hk::importer::hardSigmoid(Node &node, const Tensor &x,
                                                  double alpha, double beta) {
  HK_TRY(factor, node.scalar(alpha, x.dtype));
  HK_TRY(offset, node.scalar(beta, x.dtype));
  HK_TRY(scaled, node.binary<MulOp>(x, factor));
  HK_TRY(sum, node.binary<AddOp>(scaled, offset));
  HK_TRY(made, node.type(x.dtype, x.shape));
  return Tensor{ClampOp::create(node.b, node.loc, made, sum.value,
                                node.b.getF32FloatAttr(0),
                                node.b.getF32FloatAttr(1)),
                x.dtype, x.shape};
}

static FailureOr<Tensor> limited(Node &node, const Tensor &x, double least,
                                 double most) {
  HK_TRY(low, node.scalar(least, x.dtype));
  HK_TRY(high, node.scalar(most, x.dtype));
  HK_TRY(above, node.binary<MaxOp>(x, low));
  return node.binary<MinOp>(above, high);
}

FailureOr<Tensor> mlir::hk::importer::activated(Node &node, const Tensor &x) {
  StringRef name = node.text("activation", "");
  SmallVector<double> numbers;
  if (const auto *given = node.attribute("activation_params")) {
    if (given->type() != ::onnx::AttributeProto::FLOATS)
      return node.error() << "expected attribute 'activation_params' to be "
                             "floats";
    numbers.append(given->floats().begin(), given->floats().end());
  }
  size_t wanted = name == "LeakyRelu"                       ? 1
                  : name == "Clip" || name == "HardSigmoid" ? 2
                                                            : 0;
  if (numbers.size() != wanted)
    return node.error() << "expected attribute 'activation_params' to have "
                        << wanted << " numbers for activation '" << name
                        << "', but got " << numbers.size();
  if (name.empty())
    return x;
  if (name == "Relu")
    return node.unary<ReluOp>(x);
  if (name == "Sigmoid")
    return node.unary<SigmoidOp>(x);
  if (name == "Tanh")
    return node.unary<TanhOp>(x);
  if (name == "LeakyRelu")
    return leakyRelu(node, x, numbers[0]);
  if (name == "Clip")
    return limited(node, x, numbers[0], numbers[1]);
  if (name != "HardSigmoid")
    return node.error() << "expected attribute 'activation' to be Relu, "
                           "Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid, but "
                           "got '"
                        << name << "'; optimise with a lower opt_level";
  return hardSigmoid(node, x, numbers[0], numbers[1]);
}
