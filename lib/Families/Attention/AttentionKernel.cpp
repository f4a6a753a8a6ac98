//===- AttentionKernel.cpp - What one attention kernel computes -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the operands of the body's hk.attention to those of the kernel.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

using namespace mlir;
using namespace mlir::hk;

static RankedTensorType tensorTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

FailureOr<AttentionKernel> AttentionKernel::create(KernelOp kernel) {
  Block &body = kernel.getSpecBlock();
  auto op = dyn_cast<AttentionOp>(body.front());
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!op || !yield || op->getNextNode() != yield)
    return kernel.emitOpError(
        "expected the body of an attention kernel to be one hk.attention");

  AttentionKernel self(kernel, op);
  bool mapped = true;
  auto number = [&](Value value) -> int64_t {
    if (!value)
      return -1;
    auto argument = dyn_cast<BlockArgument>(value);
    mapped &= static_cast<bool>(argument);
    return argument ? int64_t(argument.getArgNumber()) : -1;
  };
  AttentionOperands &operands = self.operands;
  operands.query = number(op.getQuery());
  operands.key = number(op.getKey());
  operands.value = number(op.getValue());
  operands.qOffsets = number(op.getQOffsets());
  operands.kvOffsets = number(op.getKvOffsets());
  operands.kvLens = number(op.getKvLens());
  operands.blockTable = number(op.getBlockTable());
  operands.sink = number(op.getSink());
  operands.result = -1;
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    int64_t out = int64_t(kernel.getNumInputs() + index);
    if (value == op.getResult())
      operands.result = out;
    else if (value == op.getLse())
      operands.lse = out;
    else
      mapped = false;
  }
  if (!mapped || operands.result < 0)
    return op.emitOpError("in kernel @")
           << kernel.getSymName()
           << ": expected its operands to be the kernel's arguments and its "
              "results to be what the kernel yields";

  self.shape.type = *dtypeOf(tensorTypeOf(op.getQuery()).getElementType());
  self.shape.headDim = tensorTypeOf(op.getQuery()).getShape().back();
  self.shape.valueDim = tensorTypeOf(op.getValue()).getShape().back();
  ArrayRef<int64_t> aligns = kernel.getAligns();
  self.shape.align =
      std::min({aligns[operands.query], aligns[operands.key],
                aligns[operands.value], aligns[operands.result]});
  return self;
}

::hk::DType AttentionKernel::getOutType() const {
  return *dtypeOf(tensorTypeOf(op.getResult()).getElementType());
}

int64_t AttentionKernel::getKeyHeads() const {
  return tensorTypeOf(op.getKey()).getShape().drop_back().back();
}

int64_t AttentionKernel::getGroup() const {
  return tensorTypeOf(op.getQuery()).getShape().drop_back().back() /
         getKeyHeads();
}

DimName AttentionKernel::dim(int64_t operand, int64_t index) const {
  return cast<SymShapeAttr>(kernel.getShapes()[operand]).getSizes()[index];
}

DimName AttentionKernel::getQueries() const {
  return dim(operands.query, op.hasRaggedQueries() ? 0 : 1);
}
