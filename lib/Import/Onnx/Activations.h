//===- Activations.h - Activations of several operators ---------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations that are nodes of their own, parts of formulas, or attributes of
// a node in front.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_ACTIVATIONS_H
#define HK_IMPORT_ONNX_ACTIVATIONS_H

#include "Node.h"

namespace mlir::hk::importer {

/// x < 0 ? alpha x : x
FailureOr<Tensor> leakyRelu(Node &node, const Tensor &x, double alpha);
/// alpha x + beta, limited to 0 and 1.
FailureOr<Tensor> hardSigmoid(Node &node, const Tensor &x, double alpha,
                              double beta);

/// x behind what the attributes 'activation' and 'activation_params' say, which
/// FusedConv has: the name of an operator, and its numbers in ONNX's order.
FailureOr<Tensor> activated(Node &node, const Tensor &x);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_ACTIVATIONS_H
