//===- HKSelectOps.cpp - Verifiers of selections --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types, and what an op is asked for. Shapes stand beside the
// definitions.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

/// A kept group is a bit of 64.
static constexpr int64_t kMaxGroups = 64;

//===----------------------------------------------------------------------===//
// hk.topk
//===----------------------------------------------------------------------===//

LogicalResult TopkOp::verify() {
  Named input{"input", getInput()}, values{"values", getValues()};
  if (failed(expectElement(*this, values, input.element())))
    return failure();
  int64_t k = getK(), n = input.size(input.rank() - 1);
  if (k < 1)
    return emitOpError("expected size of the last dim of values, which is k, "
                       "to be at least 1, but got ")
           << k;
  if (!ShapedType::isDynamic(n) && k > n)
    return emitOpError("expected size of the last dim of values, which is k, "
                       "to be at most ")
           << n << ", the size of the last dim of input, but got " << k;
  return success();
}

//===----------------------------------------------------------------------===//
// hk.gather_last
//===----------------------------------------------------------------------===//

LogicalResult GatherLastOp::verify() {
  return expectElement(*this, {"result", getResult()},
                       tensorType(getInput()).getElementType());
}

//===----------------------------------------------------------------------===//
// hk.group_limit
//===----------------------------------------------------------------------===//

LogicalResult GroupLimitOp::verify() {
  Named input{"input", getInput()}, result{"result", getResult()};
  if (failed(expectElement(*this, result, input.element())))
    return failure();
  int64_t groups = getGroups(), top = getTopGroups();
  int64_t n = input.size(input.rank() - 1);
  if (groups < 1 || groups > kMaxGroups)
    return emitOpError("expected groups to be 1 to ")
           << kMaxGroups << ", but got " << groups;
  if (top < 1 || top > groups)
    return emitOpError("expected top_groups to be 1 to ")
           << groups << ", the number of groups, but got " << top;
  int64_t least = getScore() == GroupScore::top2_sum ? 2 : 1;
  if (n % groups != 0 || n / groups < least)
    return emitOpError("expected size of the last dim of input to be ")
           << groups << " groups of at least " << least << ", but got " << n;
  return expectNumber(*this, "fill", getFill(), input.element());
}
