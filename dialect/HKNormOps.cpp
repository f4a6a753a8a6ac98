//===- HKNormOps.cpp - Verifiers of normalisations ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their shapes stand beside their definitions.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (epsilon.isFinite() && !epsilon.isNegative())
    return success();
  return op->emitOpError("expected epsilon to be finite and at least 0, but "
                         "got ")
         << epsilon.convertToFloat();
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  if (getWeight())
    return success();
  if (!getWeightOffset().isZero())
    return emitOpError("expected weight_offset to be 0 without a weight, but "
                       "got ")
           << getWeightOffset().convertToFloat();
  return success();
}

LogicalResult LayerNormOp::verify() {
  return verifyEpsilon(*this, getEpsilon());
}

LogicalResult L2NormOp::verify() { return verifyEpsilon(*this, getEpsilon()); }
