//===- AttentionPlan.cpp - What one attention kernel computes -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the operands of the body's operators to those of the kernel, through
// transposes that move heads and tokens.
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"
#include "AttentionEpilogue.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::hk;

::hk::AttentionTile mlir::hk::podOf(AttentionTileAttr tile) {
  return {int32_t(tile.getBq()),      int32_t(tile.getBk()),
          int32_t(tile.getWaves()),   int32_t(tile.getStages()),
          int32_t(tile.getSplitKv()), int32_t(tile.getBlocks()),
          int32_t(tile.getHeads()),   int32_t(tile.getCluster())};
}

/// Rows must stay rows.
static Verdict checkPermutation(TransposeOp transpose) {
  return transpose.movesColumns()
             ? Verdict::refuse(Reason::UnsupportedShape,
                               "hk.transpose moves the elements of a head")
             : Verdict::accept();
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

Verdict mlir::hk::checkJoinedTranspose(Value result, TransposeOp op) {
  if (!result.hasOneUse())
    return Verdict::refuse(Reason::ResultEscapes,
                           "the attention is needed in its own order as well");
  return checkPermutation(op);
}

int64_t AttentionPlan::numberOf(Value value, bool &mapped) {
  if (!value)
    return -1;
  auto transpose = value.getDefiningOp<TransposeOp>();
  auto argument =
      dyn_cast<BlockArgument>(transpose ? transpose.getInput() : value);
  mapped &= static_cast<bool>(argument);
  if (!argument)
    return -1;
  if (transpose)
    permutations[argument.getArgNumber()] =
        SmallVector<int64_t>(transpose.getPermutation());
  return int64_t(argument.getArgNumber());
}

void AttentionPlan::addSegment(AttentionOp op, bool &mapped) {
  auto number = [&](Value value) { return numberOf(value, mapped); };
  AttentionSegment segment;
  segment.op = op;
  segment.key = number(op.getKey());
  segment.value = number(op.getValue());
  segment.kvOffsets = number(op.getKvOffsets());
  segment.kvLens = number(op.getKvLens());
  segment.blockTable = number(op.getBlockTable());
  segment.tableOffsets = number(op.getTableOffsets());
  segment.kScale = number(op.getKScale());
  segment.vScale = number(op.getVScale());
  for (Value read : op.getReads())
    segment.reads.push_back(number(read));
  segments.push_back(std::move(segment));
}

Value AttentionPlan::getResult() const {
  return combine ? combine.getResult() : getOp().getResult();
}

void AttentionPlan::mapResults(YieldOp yield, bool &mapped) {
  Value result = getResult();
  Value lse = combine ? combine.getLse() : getOp().getLse();
  SmallVector<std::pair<int64_t, Value>> stored;
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    int64_t out = int64_t(kernel.getNumInputs() + index);
    if (value == lse)
      operands.lse = out;
    else
      stored.push_back({out, value});
  }
  if (stored.size() == 1) {
    auto [out, value] = stored.front();
    auto transpose = value.getDefiningOp<TransposeOp>();
    bool turned = transpose && transpose.getInput() == result;
    if (turned)
      permutations[out] = invertPermutationVector(transpose.getPermutation());
    if (turned || value == result) {
      operands.result = out;
      return;
    }
  }
  mapped &= mapEpilogue(stored);
}

bool AttentionPlan::mapEpilogue(ArrayRef<std::pair<int64_t, Value>> values) {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  ResultPlaces places(getResult(), dims);
  for (Operation &op : kernel.getSpecBlock().without_terminator())
    if (!places.add(&op).accepted())
      return false;
  epilogue.assign(values.begin(), values.end());
  quantization = places.getQuantization();
  return !values.empty() && llvm::all_of(values, [&](const auto &value) {
    return places.find(value.second) != nullptr;
  });
}

void AttentionPlan::describeShape() {
  ArrayRef<int64_t> aligns = kernel.getAligns();
  SmallVector<AttentionOp> ops;
  shape.headDim = getOp().getHeadSize();
  shape.valueDim = getOp().getValueSize();
  shape.align = aligns[operands.query];
  if (operands.result >= 0)
    shape.align = std::min(shape.align, aligns[operands.result]);
  shape.sharedValues = true;
  for (const AttentionSegment &segment : segments) {
    ops.push_back(segment.op);
    shape.align =
        std::min({shape.align, aligns[segment.key], aligns[segment.value]});
    shape.sharedValues &= segment.key == segment.value;
    if (isChunked(
            segment.op)) // no rows of 16 bytes: the vector units take them
      shape.align = 1;
  }
  shape.type = *multipliedType(ops);
}

FailureOr<AttentionPlan> AttentionPlan::create(KernelOp kernel) {
  Block &body = kernel.getSpecBlock();
  auto combines = body.getOps<AttentionCombineOp>();
  auto yield = dyn_cast<YieldOp>(body.back());
  int64_t segments = llvm::range_size(body.getOps<AttentionOp>());
  int64_t parts = llvm::range_size(combines);
  if (segments == 0 || parts > 1 || (segments > 1) != (parts == 1) || !yield)
    return kernel.emitOpError("expected the body of an attention kernel to "
                              "have one hk.attention, or several and their "
                              "hk.attention_combine");

  AttentionPlan self(kernel);
  if (parts == 1)
    self.combine = *combines.begin();
  bool mapped = true;
  for (AttentionOp op : body.getOps<AttentionOp>())
    self.addSegment(op, mapped);
  // A scale of values multiplies what the first segment summed, with no
  // rounding in between.
  std::stable_partition(
      self.segments.begin(), self.segments.end(),
      [](const AttentionSegment &segment) { return segment.vScale >= 0; });
  AttentionOp op = self.getOp();
  AttentionOperands &operands = self.operands;
  operands.query = self.numberOf(op.getQuery(), mapped);
  operands.qOffsets = self.numberOf(op.getQOffsets(), mapped);
  operands.qScale = self.numberOf(op.getQScale(), mapped);
  operands.sink = self.numberOf(
      self.combine ? self.combine.getSink() : op.getSink(), mapped);
  self.mapResults(yield, mapped);
  if (!mapped)
    return op.emitOpError("in kernel @")
           << kernel.getSymName()
           << ": expected its operands to be the kernel's arguments and its "
              "results, or what is computed of their elements, to be what the "
              "kernel yields";
  self.describeShape();
  return self;
}

::hk::DType AttentionPlan::getOutType() const {
  return *dtypeOf(tensorType(getResult()).getElementType());
}

bool AttentionPlan::isChunked(AttentionOp op) {
  CacheDims keys = op.getKeyDims(), values = op.getValueDims();
  return keys.elements.size() > 1 || values.rows.size() > 1 ||
         op.getValueLayout() == CacheLayout::transposed;
}

int64_t AttentionPlan::memoryDim(int64_t operand, int64_t index) const {
  auto it = permutations.find(operand);
  return it == permutations.end() ? index : it->second[index];
}

DimName AttentionPlan::dim(int64_t operand, int64_t index) const {
  return cast<SymShapeAttr>(kernel.getShapes()[operand])
      .getSizes()[memoryDim(operand, index)];
}

DimName AttentionPlan::getKeys(const AttentionSegment &segment) const {
  return dim(segment.key,
             segment.getOp().getKeyForm() == KeyForm::Ragged ? 0 : 1);
}

DimName AttentionPlan::getQueries() const {
  return dim(operands.query, getOp().hasRaggedQueries() ? 0 : 1);
}
