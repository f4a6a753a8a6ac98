//===- Sinks.cpp - Logits that have no value ------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The column is followed back to the one number that each head has, through
// whatever repeats it for sequences and queries.
//
//===----------------------------------------------------------------------===//

#include "Raise/Sinks.h"
#include "Raise/Forms.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// Links of a chain of operators that repeat a number.
static constexpr int kLongest = 16;

Value raise::withoutMaximum(Raiser &raiser, Value logits) {
  auto sub = logits.getDefiningOp<SubOp>();
  ReduceOp maximum =
      sub ? reducedBy(sub.getRhs(), ReduceKind::max) : ReduceOp();
  return maximum && maximum.getInput() == sub.getLhs() &&
                 raiser.mayDrop(logits) && raiser.mayDrop(maximum.getResult())
             ? sub.getLhs()
             : logits;
}

/// The dim of a view's source that dim `dim` of its result is, where no other
/// long dim is joined with it.
static std::optional<int64_t> dimOfSource(Operation *view, int64_t dim) {
  auto collapsed = dyn_cast<tensor::CollapseShapeOp>(view);
  auto expanded = dyn_cast<tensor::ExpandShapeOp>(view);
  if (!collapsed && !expanded)
    return isa<tensor::CastOp>(view) ? std::optional(dim) : std::nullopt;
  Value many = collapsed ? collapsed.getSrc() : expanded.getResult();
  auto isLong = [&](int64_t d) { return shapeOf(many)[d] != 1; };
  auto groups = collapsed ? collapsed.getReassociationIndices()
                          : expanded.getReassociationIndices();
  for (auto [one, group] : llvm::enumerate(groups)) {
    if (expanded ? !llvm::is_contained(group, dim) : int64_t(one) != dim)
      continue;
    if (llvm::count_if(group, isLong) != 1)
      return std::nullopt;
    return expanded ? int64_t(one) : *llvm::find_if(group, isLong);
  }
  return std::nullopt;
}

/// The operand whose elements `op` gives, perhaps repeated; null if it computes
/// others.
static Value repeatedBy(Operation *op, int64_t dim) {
  if (auto select = dyn_cast<SelectOp>(op))
    return select.getTrueValue() == select.getFalseValue()
               ? select.getTrueValue()
               : Value();
  if (auto concat = dyn_cast<ConcatOp>(op))
    return llvm::all_equal(concat.getInputs()) &&
                   int64_t(concat.getDim()) != dim
               ? concat.getInputs()[0]
               : Value();
  if (isa<AddOp, MulOp>(op)) {
    double neutral = isa<MulOp>(op) ? 1 : 0;
    for (int i : {0, 1})
      if (numberOf(op->getOperand(1 - i)) == neutral &&
          Raiser::elementOf(op->getOperand(i)) ==
              Raiser::elementOf(op->getResult(0)))
        return op->getOperand(i);
    return nullptr;
  }
  return throughWidening(op->getResult(0)) != op->getResult(0)
             ? op->getOperand(0)
             : Value();
}

/// f32 [H] of which [..., H, ...], of `heads` in `dim`, repeats each element;
/// null if there is none.
static Value numberOfHeads(Raiser &raiser, Value value, int64_t dim,
                           int64_t heads) {
  for (int i = 0; i < kLongest; ++i) {
    bool isAlone = true;
    for (auto [d, size] : llvm::enumerate(shapeOf(value)))
      isAlone &= size == (int64_t(d) == dim ? heads : 1);
    if (isAlone) {
      Location loc = value.getLoc();
      ReassociationIndices all(shapeOf(value).size());
      std::iota(all.begin(), all.end(), 0);
      value = collapse(raiser.b, loc, value, all);
      auto type = RankedTensorType::get({heads}, raiser.b.getF32Type());
      return type == value.getType()
                 ? value
                 : CastOp::create(raiser.b, loc, type, value).getResult();
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return nullptr;
    if (auto transposed = dyn_cast<TransposeOp>(op)) {
      dim = transposed.getPermutation()[dim];
      value = transposed.getInput();
      continue;
    }
    if (std::optional<int64_t> source = dimOfSource(op, dim)) {
      dim = *source;
      value = op->getOperand(0);
      continue;
    }
    Value repeated = isa<AddOp, MulOp, SelectOp, ConcatOp, CastOp>(op)
                         ? repeatedBy(op, dim)
                         : Value();
    if (!repeated)
      return nullptr;
    // Dims that an operand lacks are in front.
    dim -= int64_t(shapeOf(value).size()) - int64_t(shapeOf(repeated).size());
    value = repeated;
    if (dim < 0 || shapeOf(value)[dim] != heads)
      return nullptr;
  }
  return nullptr;
}

/// The slice between a softmax and the product with the values; null if all
/// probabilities are used.
static tensor::ExtractSliceOp sliceOf(Value probabilities) {
  for (int i = 0; i < kLongest; ++i) {
    Operation *op = probabilities.getDefiningOp();
    if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
      return slice;
    if (!isa_and_nonnull<SelectOp, CastOp>(op))
      break;
    probabilities = op->getOperand(isa<SelectOp>(op) ? 2 : 0);
  }
  return nullptr;
}

std::optional<Outcome> raise::takeSink(Raiser &raiser, Value probabilities,
                                       Value &logits, Value &sink) {
  tensor::ExtractSliceOp slice = sliceOf(probabilities);
  if (!slice)
    return std::nullopt;
  auto concat = logits.getDefiningOp<ConcatOp>();
  bool isWhole = slice.hasUnitStride() &&
                 llvm::all_of(slice.getMixedOffsets(), isZeroInteger);
  if (!isWhole || !concat || concat.getInputs().size() != 2 ||
      shapeOf(logits).size() != 4 || concat.getDim() != 3 ||
      lastSize(concat.getInputs()[1]) != 1 ||
      raiser.dims().shape(slice.getResult()) !=
          raiser.dims().shape(concat.getInputs()[0]))
    return Outcome::miss(
        Reason::OtherFormula,
        "a part of the probabilities is used, which is not all "
        "but a column behind the scores");
  Value column = concat.getInputs()[1];
  int64_t heads = shapeOf(column)[1];
  if (!ShapedType::isDynamic(heads))
    sink = numberOfHeads(raiser, column, 1, heads);
  if (!sink)
    return Outcome::miss(Reason::OtherFormula,
                         "the column behind the scores is not one number of "
                         "each head");
  if (!raiser.mayDrop(logits))
    return Outcome::miss(Reason::RoundsBetween, "scores are rounded");
  logits = concat.getInputs()[0];
  return std::nullopt;
}
