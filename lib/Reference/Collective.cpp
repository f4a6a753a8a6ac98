//===- Collective.cpp - Meaning of operators over several ranks -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for all of them: parts are cut, reduced or concatenated as the
// operator's exchange says. A sum in the order of the ranks is a chain of IEEE
// additions, so that exact inputs have one exact result; one in any order has
// the noise of partial sums that were rounded to the element type.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

bool reference::isCollective(StringRef operationName) {
  static const llvm::StringSet<> names = {
      AllReduceOp::getOperationName(),    ReduceScatterOp::getOperationName(),
      AllGatherOp::getOperationName(),    AllToAllOp::getOperationName(),
      AllToAllRowsOp::getOperationName(), BroadcastRankOp::getOperationName(),
      RankOp::getOperationName()};
  return names.contains(operationName);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static int64_t sizeOfDims(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// Part `place` of `count` equal ones along `dim`.
static Tensor partOf(const Tensor &whole, int64_t dim, int64_t count,
                     int64_t place) {
  SmallVector<int64_t> sizes(whole.sizes);
  sizes[dim] /= count;
  Tensor part(whole.dtype, sizes);
  int64_t run = sizeOfDims(ArrayRef<int64_t>(sizes).drop_front(dim));
  auto cut = [&](const std::vector<double> &from, std::vector<double> &to) {
    to.clear();
    for (int64_t at = place * run, n = from.size(); at < n; at += count * run)
      to.insert(to.end(), from.begin() + at, from.begin() + at + run);
  };
  cut(whole.values, part.values);
  cut(whole.error, part.error);
  cut(whole.jump, part.jump);
  return part;
}

static Tensor concatenate(ArrayRef<Tensor> parts, int64_t dim) {
  SmallVector<int64_t> sizes(parts[0].sizes);
  int64_t run = sizeOfDims(ArrayRef<int64_t>(sizes).drop_front(dim));
  sizes[dim] *= static_cast<int64_t>(parts.size());
  ResultBuilder result(parts[0].dtype, sizes);
  for (auto [place, part] : llvm::enumerate(parts))
    for (int64_t i = 0, n = part.numElements(); i < n; ++i)
      result.setExact((i / run * parts.size() + place) * run + i % run,
                      at(part, i));
  return result.take();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Partial sums of ranks are rounded to `dtype`, in an order that nobody
/// states.
static Noisy sumInAnyOrder(ArrayRef<Noisy> terms, DType dtype) {
  if (terms.size() == 1)
    return terms.front();
  F32Sum sum;
  double positive = 0, negative = 0;
  for (Noisy term : terms) {
    sum.add(term.value, square(term.sigma), term.jump);
    if (std::isfinite(term.value))
      (term.value < 0 ? negative : positive) += std::fabs(term.value);
  }
  Noisy result = sum.noisy();
  if (terms.size() < 3 || dtype == DType::F32 || !std::isfinite(result.value) ||
      std::isinf(result.sigma))
    return result;
  // Two ranks have no partial sum but the result; f32 is in the sum already.
  double most = std::max(positive, negative);
  if (std::isinf(roundTo(dtype, most)) &&
      !std::isinf(roundTo(dtype, std::fabs(result.value))))
    return {result.value, kInf}; // the order decides whether it overflows
  double spacing = ulpOf(dtype, most);
  double roundings = (terms.size() - 2) * square(spacing) / 12;
  return {result.value, std::sqrt(square(result.sigma) + roundings),
          hypot2(result.jump, spacing)};
}

static Noisy reduceReal(ArrayRef<Noisy> terms, const Exchange &exchange,
                        DType dtype) {
  if (*exchange.reduction == ReduceKind::sum &&
      exchange.transport == Transport::any_order)
    return sumInAnyOrder(terms, dtype);
  Noisy result = terms.front();
  for (Noisy term : terms.drop_front())
    switch (*exchange.reduction) {
    case ReduceKind::sum:
      result = addF32(result, term);
      break;
    case ReduceKind::max:
      result = pick(result, term, result.value >= term.value);
      break;
    default:
      result = pick(result, term, result.value <= term.value);
      break;
    }
  return result;
}

static Noisy reduceInteger(ArrayRef<Noisy> terms, ReduceKind kind,
                           DType dtype) {
  double result = terms.front().value;
  bool open = false; // noise decides one of them
  for (Noisy term : terms)
    open |= term.sigma != 0;
  for (Noisy term : terms.drop_front()) {
    if (kind == ReduceKind::sum) {
      Noisy sum = wrapped(dtype, uint64_t(integerOf(result)) +
                                     uint64_t(integerOf(term.value)));
      result = sum.value;
      open |= sum.sigma != 0;
    } else {
      result = kind == ReduceKind::max ? std::max(result, term.value)
                                       : std::min(result, term.value);
    }
  }
  return {result, open ? kInf : 0};
}

static Tensor reduce(ArrayRef<Tensor> parts, const Exchange &exchange,
                     DType dtype) {
  ResultBuilder result(dtype, parts[0].sizes);
  bool isReal = ::hk::info(parts[0].dtype).isFloat;
  SmallVector<Noisy> terms(parts.size());
  for (int64_t i = 0, n = parts[0].numElements(); i < n; ++i) {
    for (auto [term, part] : llvm::zip_equal(terms, parts))
      term = at(part, i);
    if (isReal)
      result.set(i, reduceReal(terms, exchange, dtype));
    else
      result.setExact(i, reduceInteger(terms, *exchange.reduction, dtype));
  }
  return result.take();
}

//===----------------------------------------------------------------------===//
// The exchange
//===----------------------------------------------------------------------===//

static LogicalResult requireEqualSizes(CollectiveOpInterface op,
                                       ArrayRef<const Tensor *> inputs) {
  for (auto [place, input] : llvm::enumerate(inputs))
    if (failed(requireSizes(op,
                            ("input at place " + Twine(place) + " of axis \"" +
                             op.getAxis() + "\", as at place 0,")
                                .str(),
                            inputs[0]->sizes, input->sizes)))
      return failure();
  return success();
}

static LogicalResult checkInputs(CollectiveOpInterface op,
                                 ArrayRef<const Tensor *> inputs) {
  if (failed(requireEqualSizes(op, inputs)))
    return failure();
  auto ranks = static_cast<int64_t>(inputs.size());
  std::optional<int64_t> split = op.getExchange().split;
  if (!split || inputs[0]->sizes[*split] % ranks == 0)
    return success();
  return op->emitOpError("expected size of dim ")
         << *split << " of input to be a multiple of " << ranks
         << " at run time, but got " << inputs[0]->sizes[*split];
}

/// What the rank at `place` gets: rows, and the counts of those who sent them.
static void receiveRows(ArrayRef<SmallVector<const Tensor *>> operands,
                        int64_t place, std::optional<uint64_t> capacity,
                        SmallVectorImpl<Tensor> &got) {
  auto ranks = static_cast<int64_t>(operands.size());
  const Tensor &first = *operands[0][0];
  int64_t has = first.sizes[0], most = capacity ? int64_t(*capacity) : has;
  SmallVector<int64_t> sizes{ranks, most};
  sizes.append(first.sizes.begin() + 1, first.sizes.end());
  int64_t run = sizeOfDims(ArrayRef<int64_t>(first.sizes).drop_front());
  ResultBuilder rows(first.dtype, sizes), received(DType::I32, {ranks});
  for (int64_t from = 0; from < ranks; ++from) {
    const Tensor &counts = *operands[from][1];
    int64_t start = 0;
    for (int64_t before = 0; before < place; ++before)
      start += std::max<int64_t>(0, int64_t(counts.values[before]));
    Noisy count = at(counts, place);
    received.setExact(from, count);
    for (int64_t i = 0; i < most * run; ++i) {
      int64_t row = i / run;
      bool comes = row < int64_t(count.value) && start + row < has;
      rows.setExact(from * most * run + i,
                    comes ? at(*operands[from][0], start * run + i) : Noisy{0});
    }
  }
  got.push_back(rows.take());
  got.push_back(received.take());
}

LogicalResult
reference::evaluateRowExchange(AllToAllRowsOp op,
                               ArrayRef<SmallVector<const Tensor *>> operands,
                               SmallVectorImpl<SmallVector<Tensor>> &results) {
  SmallVector<const Tensor *> inputs;
  for (const SmallVector<const Tensor *> &tensors : operands)
    inputs.push_back(tensors[0]);
  if (failed(requireEqualSizes(op, inputs)))
    return failure();
  for (size_t place = 0; place < operands.size(); ++place)
    receiveRows(operands, int64_t(place), op.getCapacity(),
                results.emplace_back());
  return success();
}

LogicalResult reference::evaluateCollective(CollectiveOpInterface op,
                                            ArrayRef<const Tensor *> inputs,
                                            Results &results) {
  auto ranks = static_cast<int64_t>(inputs.size());
  Exchange exchange = op.getExchange();
  if (op->getNumOperands() == 0) {
    for (int64_t place = 0; place < ranks; ++place) {
      results.emplace_back(resultDType(op), ArrayRef<int64_t>());
      results.back().values[0] = static_cast<double>(place);
    }
    return success();
  }
  if (failed(checkInputs(op, inputs)))
    return failure();
  for (int64_t place = 0; place < ranks; ++place) {
    if (exchange.root) {
      results.push_back(*inputs[*exchange.root]);
      continue;
    }
    if (!exchange.split && place > 0) {
      Tensor same = results.front();
      results.push_back(std::move(same));
      continue;
    }
    SmallVector<Tensor> parts;
    for (const Tensor *input : inputs)
      parts.push_back(exchange.split
                          ? partOf(*input, *exchange.split, ranks, place)
                          : *input);
    results.push_back(exchange.reduction
                          ? reduce(parts, exchange, resultDType(op))
                          : concatenate(parts, *exchange.concat));
  }
  return success();
}
