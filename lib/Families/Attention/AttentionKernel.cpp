//===- AttentionKernel.cpp - What one attention kernel computes -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the operands of the body's hk.attention to those of the kernel, through
// transposes that move heads and tokens.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::hk;

static RankedTensorType tensorTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Rows must stay rows.
static Verdict checkPermutation(TransposeOp transpose) {
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  return permutation.back() + 1 == int64_t(permutation.size())
             ? Verdict::accept()
             : Verdict::refuse(Reason::UnsupportedShape,
                               "hk.transpose moves the elements of a head");
}

Verdict mlir::hk::checkTakenTranspose(AttentionOp attention, Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return Verdict::refuse(Reason::OtherFamily,
                           "attention reads its operands from memory");
  // An operand of the kernel is permuted in one way.
  Value source = transpose.getInput();
  for (Value operand : attention->getOperands()) {
    auto other = operand.getDefiningOp<TransposeOp>();
    if (operand == source ||
        (other && other != transpose && other.getInput() == source))
      return Verdict::refuse(Reason::UnsupportedShape,
                             "the tensor is read in another order as well");
  }
  Value made = transpose.getResult();
  if (made != attention.getQuery() && made != attention.getKey() &&
      made != attention.getValue())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "only queries, keys and values may be transposed");
  return checkPermutation(transpose);
}

Verdict mlir::hk::checkJoinedTranspose(AttentionOp attention, Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose || transpose.getInput() != attention.getResult())
    return Verdict::refuse(Reason::NotAnEpilogue,
                           "the attention kernels have no epilogue");
  if (!attention.getResult().hasOneUse())
    return Verdict::refuse(Reason::ResultEscapes,
                           "the attention is needed in its own order as well");
  return checkPermutation(transpose);
}

FailureOr<AttentionKernel> AttentionKernel::create(KernelOp kernel) {
  Block &body = kernel.getSpecBlock();
  auto ops = body.getOps<AttentionOp>();
  auto yield = dyn_cast<YieldOp>(body.back());
  bool others = llvm::any_of(body.without_terminator(), [](Operation &op) {
    return !isa<AttentionOp>(op) && !isa<TransposeOp>(op);
  });
  if (!llvm::hasSingleElement(ops) || !yield || others)
    return kernel.emitOpError(
        "expected the body of an attention kernel to be one hk.attention");

  AttentionOp op = *ops.begin();
  AttentionKernel self(kernel, op);
  bool mapped = true;
  auto number = [&](Value value) -> int64_t {
    if (!value)
      return -1;
    auto transpose = value.getDefiningOp<TransposeOp>();
    auto argument =
        dyn_cast<BlockArgument>(transpose ? transpose.getInput() : value);
    mapped &= static_cast<bool>(argument);
    if (!argument)
      return -1;
    if (transpose)
      self.permutations[argument.getArgNumber()] =
          SmallVector<int64_t>(transpose.getPermutation());
    return int64_t(argument.getArgNumber());
  };
  AttentionOperands &operands = self.operands;
  operands.query = number(op.getQuery());
  operands.key = number(op.getKey());
  operands.value = number(op.getValue());
  operands.qOffsets = number(op.getQOffsets());
  operands.kvOffsets = number(op.getKvOffsets());
  operands.kvLens = number(op.getKvLens());
  operands.blockTable = number(op.getBlockTable());
  operands.tableOffsets = number(op.getTableOffsets());
  operands.sink = number(op.getSink());
  operands.qScale = number(op.getQScale());
  operands.kScale = number(op.getKScale());
  operands.vScale = number(op.getVScale());
  for (Value read : op.getReads())
    operands.reads.push_back(number(read));
  operands.result = -1;
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    int64_t out = int64_t(kernel.getNumInputs() + index);
    auto transpose = value.getDefiningOp<TransposeOp>();
    if (transpose && transpose.getInput() == op.getResult()) {
      operands.result = out;
      self.permutations[out] =
          invertPermutationVector(transpose.getPermutation());
    } else if (value == op.getResult())
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

  self.shape.type = *multipliedType(op);
  self.shape.sharedValues = operands.key == operands.value;
  self.shape.headDim = op.getHeadSize();
  self.shape.valueDim = op.getValueSize();
  ArrayRef<int64_t> aligns = kernel.getAligns();
  self.shape.align =
      std::min({aligns[operands.query], aligns[operands.key],
                aligns[operands.value], aligns[operands.result]});
  if (isChunked(op)) // no rows of 16 bytes: the vector units take them
    self.shape.align = 1;
  return self;
}

::hk::DType AttentionKernel::getOutType() const {
  return *dtypeOf(tensorTypeOf(op.getResult()).getElementType());
}

bool AttentionKernel::isChunked(AttentionOp op) {
  CacheDims keys = op.getKeyDims(), values = op.getValueDims();
  return keys.elements.size() > 1 || values.rows.size() > 1 ||
         op.getValueLayout() == CacheLayout::transposed;
}

int64_t AttentionKernel::memoryDim(int64_t operand, int64_t index) const {
  auto it = permutations.find(operand);
  return it == permutations.end() ? index : it->second[index];
}

DimName AttentionKernel::dim(int64_t operand, int64_t index) const {
  return cast<SymShapeAttr>(kernel.getShapes()[operand])
      .getSizes()[memoryDim(operand, index)];
}

DimName AttentionKernel::getKeys() const {
  return dim(operands.key, op.getKeyForm() == KeyForm::Ragged ? 0 : 1);
}

DimName AttentionKernel::getQueries() const {
  return dim(operands.query, op.hasRaggedQueries() ? 0 : 1);
}
