//===- AttentionBackwardPlan.cpp - What one gradient kernel computes --===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the operands of the body's hk.attention_backward to those of the kernel.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackwardPlan.h"

using namespace mlir;
using namespace mlir::hk;

/// Numbers of the arguments that the operands of `op` are; false: some is none.
static bool mapOperands(AttentionBackwardOp op,
                        AttentionBackwardOperands &operands) {
  bool mapped = true;
  auto number = [&](Value value) -> int64_t {
    if (!value)
      return -1;
    auto argument = dyn_cast<BlockArgument>(value);
    mapped &= static_cast<bool>(argument);
    return argument ? int64_t(argument.getArgNumber()) : -1;
  };
  operands.query = number(op.getQuery());
  operands.key = number(op.getKey());
  operands.value = number(op.getValue());
  operands.gradient = number(op.getGradient());
  operands.lse = number(op.getLse());
  operands.delta = number(op.getDelta());
  operands.qOffsets = number(op.getQOffsets());
  operands.kvOffsets = number(op.getKvOffsets());
  operands.sink = number(op.getSink());
  for (Value read : op.getReads())
    operands.reads.push_back(number(read));
  return mapped;
}

/// Numbers of the results that are yielded; false: something else is.
static bool mapResults(AttentionBackwardOp op, YieldOp yield, int64_t first,
                       AttentionBackwardOperands &operands) {
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    int64_t out = first + int64_t(index);
    // Memory of the launch's own, of no meaning to anybody behind it.
    if (auto own = dyn_cast<BlockArgument>(value);
        own && int64_t(own.getArgNumber()) == out) {
      bool words = tensorType(value).getElementType().isInteger();
      (words ? operands.turns : operands.sums) = out;
      continue;
    }
    if (value == op.getDquery())
      operands.dquery = out;
    else if (value == op.getDkey())
      operands.dkey = out;
    else if (value == op.getDvalue())
      operands.dvalue = out;
    else if (value == op.getDsink())
      operands.dsink = out;
    else if (value == op.getDbias())
      operands.dbias = out;
    else
      return false;
  }
  return true;
}

FailureOr<AttentionBackwardPlan>
AttentionBackwardPlan::create(KernelOp kernel) {
  Block &body = kernel.getSpecBlock();
  auto op = dyn_cast<AttentionBackwardOp>(body.front());
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!op || !yield || op->getNextNode() != yield)
    return kernel.emitOpError("expected the body of a kernel of attention's "
                              "gradients to be one hk.attention_backward");
  AttentionBackwardPlan self(kernel, op);
  AttentionBackwardOperands &operands = self.operands;
  if (!mapOperands(op, operands) ||
      !mapResults(op, yield, int64_t(kernel.getNumInputs()), operands))
    return op.emitOpError("in kernel @")
           << kernel.getSymName()
           << ": expected its operands to be the kernel's arguments and its "
              "results to be what the kernel yields";

  self.shape.type = *dtypeOf(tensorType(op.getQuery()).getElementType());
  self.shape.headDim = tensorType(op.getQuery()).getShape().back();
  self.shape.valueDim = tensorType(op.getValue()).getShape().back();
  ArrayRef<int64_t> aligns = kernel.getAligns();
  self.shape.align = aligns[operands.query];
  for (int64_t operand : {operands.key, operands.value, operands.gradient,
                          operands.dquery, operands.dkey, operands.dvalue})
    if (operand >= 0)
      self.shape.align = std::min(self.shape.align, aligns[operand]);
  self.shape.sums = operands.sums >= 0;
  return self;
}

::hk::DType AttentionBackwardPlan::getOutType() const {
  return *dtypeOf(tensorType(op.getDquery()).getElementType());
}

int64_t AttentionBackwardPlan::getKeyHeads() const {
  return tensorType(op.getKey()).getShape().drop_back().back();
}

int64_t AttentionBackwardPlan::getGroup() const {
  return tensorType(op.getQuery()).getShape().drop_back().back() /
         getKeyHeads();
}

DimName AttentionBackwardPlan::dim(int64_t operand, int64_t index) const {
  return cast<SymShapeAttr>(kernel.getShapes()[operand]).getSizes()[index];
}

DimName AttentionBackwardPlan::getQueries() const {
  return dim(operands.query, op.isRagged() ? 0 : 1);
}
DimName AttentionBackwardPlan::getKeys() const {
  return dim(operands.key, op.isRagged() ? 0 : 1);
}
