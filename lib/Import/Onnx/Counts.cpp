//===- Counts.cpp - Sizes of inputs as data -------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models compute with the sizes of their inputs: a row's place in a flattened
// tensor, a scale by a length. hk's operators see sizes in types only, so that
// a size that is open at import is counted: the sum of as many ones. What a
// count and a range stand for is kept, for those that ask what an index means.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<Tensor> Node::places(const Tensor &x, int64_t dim, int dtype) {
  const Size &size = x.shape[dim];
  HK_TRY(made, type(dtype, size));
  Value like = size.getConstant() ? Value() : x.value;
  return Tensor{IotaOp::create(b, loc, made, like, uint64_t(like ? dim : 0)),
                dtype,
                {size}};
}

FailureOr<Tensor> Node::offsets(const Tensor &x, int64_t dim, int dtype) {
  Shape longer = x.shape;
  longer[dim] = longer[dim] + 1;
  HK_TRY(made, type(dtype, longer));
  OperationState state(loc, CumsumOp::getOperationName());
  CumsumOp::build(b, state, made, ScanKind::offsets, x.value,
                  /*bounds=*/Value(), dim, /*chunk=*/IntegerAttr(),
                  /*reverse=*/false);
  return Tensor{b.create(state)->getResult(0), dtype, longer};
}

/// How many elements `ones` has, all of which are true, of rank 0.
static FailureOr<Tensor> countOnes(Node &node, const Tensor &ones, int dtype) {
  HK_TRY(sums, node.offsets(ones, 0, dtype));
  HK_TRY(total, node.slice(sums, 0, ones.shape[0], 1));
  return node.reshape(total, {});
}

/// How many elements a dim of an input has.
static FailureOr<Tensor> countOfDim(Node &node, const Size &size, int dtype) {
  HK_TRY(ones, node.truths(size));
  return countOnes(node, ones, dtype);
}

FailureOr<Tensor> Node::countOf(const Tensor &x, int64_t from) {
  HK_TRY(zero, scalar(0, kInt64));
  HK_TRY(one, scalar(1, kInt64));
  Tensor made = one;
  for (int64_t d = from; d < x.rank(); ++d) {
    std::optional<int64_t> known = x.shape[d].getConstant();
    std::optional<Tensor> factor;
    if (known) {
      HK_TRY(number, scalar(double(*known), kInt64));
      factor = number;
    } else {
      HK_TRY(numbers, places(x, d, kInt64));
      HK_TRY(ones, compare(ComparePredicate::ge, numbers, zero));
      HK_TRY(number, countOnes(*this, ones, kInt64));
      factor = number;
    }
    HK_TRY(next, binary<MulOp>(made, *factor));
    made = next;
  }
  return made;
}

FailureOr<Tensor> Node::count(const Size &size, int dtype) {
  if (std::optional<int64_t> known = size.getConstant())
    return constant(graph.store.makeIntegers(dtype, {}, *known), "");
  std::optional<Tensor> sum;
  // A dim of an input may itself be a sum.
  if (graph.findDim(size).first) {
    HK_TRY(whole, countOfDim(*this, size, dtype));
    sum = whole;
  } else {
    for (const auto &[product, coefficient] : size.getTerms()) {
      HK_TRY(made,
             constant(graph.store.makeIntegers(dtype, {}, coefficient), ""));
      Tensor term = made;
      for (unsigned symbol : product) {
        HK_TRY(factor, countOfDim(*this, Size::symbol(symbol), dtype));
        HK_TRY(next, binary<MulOp>(term, factor));
        term = next;
      }
      if (!sum) {
        sum = term;
        continue;
      }
      HK_TRY(next, binary<AddOp>(*sum, term));
      sum = next;
    }
  }
  return *sum;
}

FailureOr<Tensor> Node::counts(Item &item) {
  constexpr size_t kMostCounts = 64;
  if (item.integers->size() > kMostCounts)
    return error() << "expected at most " << kMostCounts
                   << " numbers that depend on sizes of the inputs, but got "
                   << item.integers->size() << "; fix the sizes with --dim";
  SmallVector<Tensor> parts;
  for (const Size &size : *item.integers) {
    HK_TRY(one, count(size, item.dtype));
    HK_TRY(line, reshape(one, Size(1)));
    parts.push_back(line);
  }
  HK_TRY(joined, concat(0, parts));
  HK_TRY(made, reshape(joined, item.shape));
  item.tensor = made.value;
  if (item.integers->size() == 1)
    graph.meanings.counts[made.value] = item.integers->front();
  return made;
}

//===----------------------------------------------------------------------===//
// Indices into a flattened tensor
//===----------------------------------------------------------------------===//

/// What views that only add, drop or name dims were made of.
static Value behindViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp>(
            op))
      return value;
    auto longDims = [](Value v) {
      return llvm::count_if(cast<RankedTensorType>(v.getType()).getShape(),
                            [](int64_t size) { return size != 1; });
    };
    if (longDims(op->getOperand(0)) > 1 || longDims(value) > 1)
      return value;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether all elements are in [0, size).
static bool isRangeOf(const Meanings &meanings, Value value, const Size &size) {
  auto found = meanings.ranges.find(behindViews(value));
  return found != meanings.ranges.end() && found->second == size;
}

/// The factor of a product with the count of `size`; null for other values.
static Value factorOfCount(const Meanings &meanings, Value value,
                           const Size &size) {
  auto product = value.getDefiningOp<MulOp>();
  for (unsigned i = 0; product && i < 2; ++i) {
    Value operand = product->getOperand(i);
    while (auto *view = operand.getDefiningOp()) {
      if (meanings.counts.contains(operand) ||
          !isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(view))
        break;
      operand = view->getOperand(0);
    }
    auto found = meanings.counts.find(operand);
    if (found != meanings.counts.end() && found->second == size)
      return product->getOperand(1 - i);
  }
  return {};
}

std::optional<std::pair<Value, Value>>
Meanings::splitIndex(Value index, const Size &rows, const Size &columns) const {
  auto sum = index.getDefiningOp<AddOp>();
  for (unsigned i = 0; sum && i < 2; ++i) {
    Value row = factorOfCount(*this, sum->getOperand(i), columns);
    Value column = sum->getOperand(1 - i);
    if (row && isRangeOf(*this, row, rows) && isRangeOf(*this, column, columns))
      return std::pair(row, column);
  }
  return std::nullopt;
}
