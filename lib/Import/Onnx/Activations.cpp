//===- Activations.cpp - Activations that are attributes ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX Runtime's optimiser makes one node of a convolution and the activation
// behind it, whose name and numbers become attributes.
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// x < 0 ? slope x : x
static FailureOr<Tensor> leaky(Node &node, const Tensor &x, double slope) {
  HK_TRY(zero, node.scalar(0, x.dtype));
  HK_TRY(alpha, node.scalar(slope, x.dtype));
  HK_TRY(scaled, node.binary<MulOp>(x, alpha));
  HK_TRY(below, node.compare(ComparePredicate::lt, x, zero));
  return node.select(below, scaled, x);
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
    return leaky(node, x, numbers[0]);
  if (name == "Clip")
    return limited(node, x, numbers[0], numbers[1]);
  if (name != "HardSigmoid")
    return node.error() << "expected attribute 'activation' to be Relu, "
                           "Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid, but "
                           "got '"
                        << name << "'; optimise with a lower opt_level";
  HK_TRY(alpha, node.scalar(numbers[0], x.dtype));
  HK_TRY(beta, node.scalar(numbers[1], x.dtype));
  HK_TRY(scaled, node.binary<MulOp>(x, alpha));
  HK_TRY(sum, node.binary<AddOp>(scaled, beta));
  return limited(node, sum, 0, 1);
}
