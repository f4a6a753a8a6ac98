//===- IntegerArguments.cpp - What integer arguments may hold -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From an argument forward: through operators that hand integers on, to those
// that use them as an index, a length or an offset. Where several read one
// argument, the strictest kind and the least end count.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/IntegerArguments.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;
using Kind = IntegerDomain::Kind;

namespace {
SizeSum constant(int64_t value) { return {{{value, {}}}}; }

SizeSum times(const SizeSum &a, const SizeSum &b) {
  SizeSum result;
  for (const SizeSum::Product &x : a.products)
    for (const SizeSum::Product &y : b.products) {
      SizeSum::Product product = x;
      product.factor *= y.factor;
      product.dims.insert(product.dims.end(), y.dims.begin(), y.dims.end());
      result.products.push_back(std::move(product));
    }
  return result;
}

bool isInteger(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isInteger();
}

/// What one value may hold.
struct Answer {
  bool known = true; // false: it depends on more than sizes
  std::optional<IntegerDomain> domain;
};

class DomainFinder {
public:
  explicit DomainFinder(func::FuncOp func) : dims(func.getBody().front()) {}

  Answer of(Value value);

private:
  std::optional<SizeSum> size(DimName name) const;
  std::optional<SizeSum> size(Value value, int64_t dim) const {
    return size(dims.dim(value, dim));
  }
  /// The product of the sizes of some dims.
  std::optional<SizeSum> sizes(Value value, ArrayRef<unsigned> which) const;

  /// Adds what `use` asks for; an end that is not known makes the answer so.
  void merge(Answer &answer, Kind kind, int64_t low,
             std::optional<SizeSum> end) const;
  void mergeUse(Answer &answer, OpOperand &use);
  void mergeAttention(Answer &answer, AttentionOp op, Value value) const;
  void mergeLogits(Answer &answer, MqaLogitsOp op, Value value) const;
  void mergeGrouped(Answer &answer, GroupedMatmulOp op, Value value) const;
  void mergeConv(Answer &answer, CausalConv1dOp op, Value value) const;
  void mergeCumsum(Answer &answer, CumsumOp op, Value value);
  void mergeCacheWrite(Answer &answer, KVCacheWriteOp op, Value value);
  void mergeSegments(Answer &answer, SegmentsOp op, Value value) const;
  void mergeResults(Answer &answer, Operation *op);

  DimSymbols dims;
  llvm::DenseMap<Value, Answer> known;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<SizeSum> DomainFinder::size(DimName name) const {
  if (name >= 0)
    return constant(name);
  const SizeExpr &expr = dims.definition(-1 - name);
  if (expr.kind == SizeExpr::Kind::Constant)
    return constant(expr.constant);
  if (expr.kind == SizeExpr::Kind::Argument) {
    auto argument = cast<BlockArgument>(expr.value);
    return SizeSum{{{1, {{argument.getArgNumber(), expr.dim}}}}};
  }
  bool product = expr.kind == SizeExpr::Kind::Product;
  if (!product && expr.kind != SizeExpr::Kind::Sum)
    return std::nullopt;
  SizeSum result = constant(expr.constant);
  for (DimName operand : expr.operands) {
    std::optional<SizeSum> part = size(operand);
    if (!part)
      return std::nullopt;
    if (product)
      result = times(result, *part);
    else
      llvm::append_range(result.products, part->products);
  }
  return result;
}

std::optional<SizeSum> DomainFinder::sizes(Value value,
                                           ArrayRef<unsigned> which) const {
  SizeSum result = constant(1);
  for (unsigned dim : which) {
    std::optional<SizeSum> part = size(value, dim);
    if (!part)
      return std::nullopt;
    result = times(result, *part);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void DomainFinder::merge(Answer &answer, Kind kind, int64_t low,
                         std::optional<SizeSum> end) const {
  if (!end) {
    answer.known = false;
    return;
  }
  if (!answer.domain)
    answer.domain = IntegerDomain{kind, low, {}};
  answer.domain->kind = std::max(answer.domain->kind, kind);
  answer.domain->low = std::max(answer.domain->low, low);
  answer.domain->ends.push_back(std::move(*end));
}

void DomainFinder::mergeAttention(Answer &answer, AttentionOp op,
                                  Value value) const {
  if (value == op.getQOffsets())
    merge(answer, Kind::Bounds, 0, size(op.getQuery(), 0));
  if (value == op.getKvOffsets())
    merge(answer, Kind::Bounds, 0, size(op.getKey(), 0));
  std::optional<SizeSum> rows = sizes(op.getKey(), op.getKeyDims().rows);
  if (value == op.getBlockTable())
    merge(answer, Kind::Uniform, 0, size(op.getKey(), 0));
  if (value == op.getTableOffsets())
    merge(answer, Kind::Bounds, 0, size(op.getBlockTable(), 0));
  if (value != op.getKvLens() || !rows)
    return;
  std::optional<SizeSum> capacity = rows;
  if (op.getTableOffsets()) { // each sequence has blocks of its own number
    answer.known = false;
    return;
  }
  if (Value table = op.getBlockTable()) {
    std::optional<SizeSum> blocks = size(table, 1);
    capacity = blocks ? std::optional(times(*blocks, *rows)) : std::nullopt;
  }
  if (capacity)
    capacity->products.push_back({1, {}}); // all of them is right, too
  merge(answer, Kind::Uniform, 0, capacity);
}

void DomainFinder::mergeLogits(Answer &answer, MqaLogitsOp op,
                               Value value) const {
  if (value == op.getBlockTable())
    return merge(answer, Kind::Uniform, 0, size(op.getKey(), 0));
  if (value != op.getStarts() && value != op.getEnds() &&
      value != op.getKvLens())
    return;
  int64_t last = cast<ShapedType>(op.getResult().getType()).getRank() - 1;
  std::optional<SizeSum> keys = size(op.getResult(), last);
  if (keys)
    keys->products.push_back({1, {}}); // all of them is right, too
  merge(answer, Kind::Uniform, 0, keys);
}

void DomainFinder::mergeConv(Answer &answer, CausalConv1dOp op,
                             Value value) const {
  if (value == op.getOffsets())
    merge(answer, Kind::Bounds, 0, size(op.getInput(), 0));
  if (value == op.getIndices())
    merge(answer, Kind::Distinct, 0, size(op.getState(), 0));
  if (value == op.getSeqIdx() || value == op.getHasInitial())
    merge(answer, Kind::Uniform, 0, constant(2));
  if (!op.getState())
    return;
  std::optional<SizeSum> entries = size(op.getState(), op.getStateTokenDim());
  if (value == op.getRing())
    merge(answer, Kind::Uniform, 0, entries);
  if (value == op.getAccepted()) {
    if (entries) // up to S - W + 2
      entries->products.push_back({3 - op.getWidth(), {}});
    merge(answer, Kind::Uniform, 1, entries);
  }
  if (value == op.getComputed()) {
    std::optional<SizeSum> blocks = size(op.getIndices(), 1);
    if (blocks)
      blocks = times(*blocks, constant(int64_t(*op.getBlock())));
    merge(answer, Kind::Uniform, 0, blocks);
  }
}

void DomainFinder::mergeGrouped(Answer &answer, GroupedMatmulOp op,
                                Value value) const {
  std::optional<SizeSum> rows = size(op.getLhs(), 0);
  if (value == op.getOrder())
    merge(answer, Kind::Distinct, 0,
          rows ? std::optional(times(*rows, constant(op.getTopK())))
               : std::nullopt);
  if (value != op.getGroups())
    return;
  if (op.isBlocks())
    return merge(answer, Kind::Uniform, 0, size(op.getRhs(), 0));
  std::optional<SizeSum> places =
      op.getAlongK() ? size(op.getLhs(), op.getLhsDim(MatmulDim::K))
                     : size(op.getPlaces(), 0);
  merge(answer,
        op.getForm() == GroupForm::bounds ? Kind::Bounds : Kind::Lengths, 0,
        std::move(places));
}

/// Lengths are summed to offsets.
void DomainFinder::mergeCumsum(Answer &answer, CumsumOp op, Value value) {
  if (value == op.getBounds())
    merge(answer, Kind::Bounds, 0, size(op.getInput(), op.getDim()));
  if (value != op.getInput())
    return;
  Answer sums = of(op.getResult());
  answer.known &= sums.known;
  if (!sums.domain)
    return;
  Kind kind =
      sums.domain->kind == Kind::Bounds ? Kind::Lengths : sums.domain->kind;
  for (SizeSum &end : sums.domain->ends)
    merge(answer, kind, sums.domain->low, std::move(end));
}

/// Slots are rows of the cache, which no two tokens write.
void DomainFinder::mergeCacheWrite(Answer &answer, KVCacheWriteOp op,
                                   Value value) {
  if (value != op.getSlots())
    return mergeResults(answer, op);
  SmallVector<unsigned> rows{0};
  llvm::append_range(rows, op.getRowDims());
  merge(answer, Kind::Distinct, 0, sizes(op.getCache(), rows));
}

void DomainFinder::mergeSegments(Answer &answer, SegmentsOp op,
                                 Value value) const {
  if (value != op.getSegments())
    return;
  Kind kind =
      op.getForm() == SegmentForm::bounds ? Kind::Bounds : Kind::Lengths;
  Value items = op.getItems();
  merge(answer, kind, 0, size(items ? items : op.getIds(), 0));
}

/// An operator that hands integers on, or computes with them.
void DomainFinder::mergeResults(Answer &answer, Operation *op) {
  for (Value result : op->getResults()) {
    if (!isInteger(result) ||
        cast<ShapedType>(result.getType()).getElementType().isInteger(1))
      continue;
    Answer behind = of(result);
    answer.known &= behind.known;
    if (behind.domain)
      for (SizeSum &end : behind.domain->ends)
        merge(answer, behind.domain->kind, behind.domain->low, std::move(end));
  }
}

void DomainFinder::mergeUse(Answer &answer, OpOperand &use) {
  Value value = use.get();
  auto offsets = [&](Value asked, Value tokens) {
    if (value == asked)
      merge(answer, Kind::Bounds, 0, size(tokens, 0));
  };
  auto lines = [&](Value asked, Value state) {
    if (value == asked && state)
      merge(answer, Kind::Distinct, 0, size(state, 0));
  };
  auto index = [&](Value asked, std::optional<SizeSum> end) {
    if (value == asked)
      merge(answer, Kind::Uniform, 0, std::move(end));
  };
  auto handedOn = [&](Value asked) {
    if (value == asked)
      mergeResults(answer, use.getOwner());
  };
  llvm::TypeSwitch<Operation *>(use.getOwner())
      .Case([&](AttentionOp op) { mergeAttention(answer, op, value); })
      .Case([&](MqaLogitsOp op) { mergeLogits(answer, op, value); })
      .Case([&](AttentionBackwardOp op) {
        offsets(op.getQOffsets(), op.getQuery());
        offsets(op.getKvOffsets(), op.getKey());
      })
      .Case([&](CausalConv1dOp op) { mergeConv(answer, op, value); })
      .Case([&](CumsumOp op) { mergeCumsum(answer, op, value); })
      .Case<GatedDeltaRuleOp, ChunkStateOp>([&](auto op) {
        offsets(op.getOffsets(), op.getKey());
        lines(op.getIndices(), op.getState());
      })
      .Case([&](ChunkStartsOp op) { lines(op.getIndices(), op.getState()); })
      .Case<ChunkKktOp, ChunkWUOp, ChunkTransitionOp, ChunkOutputOp>(
          [&](auto op) { offsets(op.getOffsets(), op.getKey()); })
      .Case([&](SolveTrilOp op) { offsets(op.getOffsets(), op.getInput()); })
      .Case([&](KVCacheWriteOp op) { mergeCacheWrite(answer, op, value); })
      .Case([&](RopeOp op) {
        index(op.getPositions(), size(op.getCos(), 0));
        index(op.getOffsets(), size(op.getCos(), 0));
        offsets(op.getBounds(), op.getInput());
      })
      .Case([&](GatherRowsOp op) {
        index(op.getIndices(), size(op.getTable(), 0));
        handedOn(op.getTable());
      })
      .Case([&](GatherElementsOp op) {
        for (auto [dim, indices] : llvm::enumerate(op.getIndices()))
          index(indices, size(op.getTable(), int64_t(dim)));
        handedOn(op.getTable());
      })
      .Case([&](GatherLastOp op) {
        int64_t last = cast<ShapedType>(op.getInput().getType()).getRank() - 1;
        index(op.getIndices(), size(op.getInput(), last));
        handedOn(op.getInput());
      })
      .Case([&](BitmatrixOp op) {
        auto type = cast<RankedTensorType>(op.getResult().getType());
        index(value, constant(32 * type.getShape().back()));
      })
      .Case([&](GroupedMatmulOp op) { mergeGrouped(answer, op, value); })
      .Case([&](HistogramOp op) { index(value, size(op.getResult(), 0)); })
      .Case([&](SortByKeyOp op) { index(value, constant(op.getBins())); })
      .Case([&](SegmentsOp op) { mergeSegments(answer, op, value); })
      .Default([&](Operation *op) { mergeResults(answer, op); });
}

Answer DomainFinder::of(Value value) {
  auto [it, added] = known.try_emplace(value);
  if (!added)
    return it->second;
  Answer answer;
  for (OpOperand &use : value.getUses())
    mergeUse(answer, use);
  return known[value] = answer;
}

std::vector<std::optional<IntegerDomain>>
mlir::hk::integerArguments(func::FuncOp func) {
  DomainFinder finder(func);
  std::vector<std::optional<IntegerDomain>> result;
  for (BlockArgument argument : func.getArguments()) {
    result.emplace_back();
    if (!isInteger(argument))
      continue;
    Answer answer = finder.of(argument);
    auto type = cast<RankedTensorType>(argument.getType());
    if (answer.domain)
      result.back() = std::move(answer.domain);
    else if (type.getElementType().isInteger(1))
      result.back() = IntegerDomain{Kind::Uniform, 0, {constant(2)}};
    else if (answer.known)
      result.back() = IntegerDomain{Kind::Uniform, -100, {constant(101)}};
  }
  return result;
}
