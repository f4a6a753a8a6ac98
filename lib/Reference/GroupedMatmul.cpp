//===- GroupedMatmul.cpp - Products of groups -----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of each group, gathered, times its matrix; or groups of K, each a
// product of its own. The products and their bounds are those of hk.matmul.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

namespace {
/// Rows of A that meet one matrix, and the rows of the result that they make.
struct Group {
  std::vector<int64_t> rows, results;
};
} // namespace

/// Bounds of `count` groups of `places` places.
static std::vector<int64_t> boundsOf(GroupedMatmulOp op, const Tensor &given,
                                     int64_t count, int64_t places) {
  std::vector<int64_t> bounds(count + 1);
  int64_t sum = 0;
  for (int64_t g = 0; g <= count; ++g) {
    if (op.getForm() == GroupForm::bounds)
      sum = int64_t(given.values[g]);
    else if (g > 0)
      sum += std::max<int64_t>(0, int64_t(given.values[g - 1]));
    bounds[g] = std::clamp<int64_t>(sum, 0, places);
  }
  return bounds;
}

/// The group of each place, -1 for none.
static std::vector<int64_t> groupsOf(GroupedMatmulOp op, const Tensor &given,
                                     int64_t count, int64_t places) {
  std::vector<int64_t> groups(places, -1);
  if (op.isBlocks()) {
    auto block = int64_t(*op.getBlock());
    for (int64_t p = 0; p < places && p / block < given.numElements(); ++p) {
      auto group = int64_t(given.values[p / block]);
      groups[p] = group >= 0 && group < count ? group : -1;
    }
    return groups;
  }
  std::vector<int64_t> bounds = boundsOf(op, given, count, places);
  for (int64_t g = 0; g < count; ++g)
    for (int64_t p = bounds[g]; p < bounds[g + 1]; ++p)
      groups[p] = g;
  return groups;
}

/// What makes something unspecified: a row of the result that is named twice.
static void markTwice(const std::vector<int64_t> &named, int64_t n,
                      ResultBuilder &result) {
  for (auto [row, times] : llvm::enumerate(named))
    for (int64_t j = 0; times > 1 && j < n; ++j)
      result.set(int64_t(row) * n + j, {0, kInf});
}

/// What noise decides: the rows whose own key it does, where blocks of sorted
/// keys say which row meets which matrix; else all of them.
static void markUndecided(GroupedMatmulOp op, const Operands &in,
                          int64_t results, int64_t n, ResultBuilder &result) {
  const Tensor *order = in.find(op.getOrder());
  bool open = !in.of(op.getGroups()).error.empty();
  auto mark = [&](int64_t row) {
    for (int64_t j = 0; j < n; ++j)
      result.set(row * n + j, {0, kInf});
  };
  if (!open && (!order || order->error.empty()))
    return;
  if (!op.isBlocks() || !order || order->jump.empty()) {
    for (int64_t row = 0; row < results; ++row)
      mark(row);
    return;
  }
  for (auto [entry, jump] : llvm::zip_equal(order->values, order->jump))
    if (jump != 0 && entry >= 0 && entry < double(results))
      mark(int64_t(entry));
}

static std::vector<Group> collectGroups(GroupedMatmulOp op, const Operands &in,
                                        int64_t count, int64_t rows,
                                        int64_t results,
                                        std::vector<int64_t> &named) {
  const Tensor *order = in.find(op.getOrder());
  int64_t places = order ? order->numElements() : rows;
  std::vector<int64_t> groupOf =
      groupsOf(op, in.of(op.getGroups()), count, places);
  std::vector<Group> groups(count);
  for (int64_t p = 0; p < places; ++p) {
    int64_t entry = order ? int64_t(order->values[p]) : p;
    if (entry < 0 || entry >= rows * int64_t(op.getTopK()))
      continue;
    int64_t result = op.isBlocks() ? entry : p;
    if (result < results)
      ++named[result];
    if (groupOf[p] < 0)
      continue;
    groups[groupOf[p]].rows.push_back(entry / int64_t(op.getTopK()));
    groups[groupOf[p]].results.push_back(result);
  }
  return groups;
}

/// Groups of K.
static LogicalResult evaluateAlongK(GroupedMatmulOp op, const Operands &in,
                                    Product p, Results &out) {
  const Tensor &a = in[0], &b = in[1];
  int64_t count = op.getNumGroups();
  p.chunk = std::max<int64_t>(p.k, 1);
  Matrix packedA(a, 0, p.m, p.k, op.getLhsDim(MatmulDim::K) == 0);
  Matrix packedB(b, 0, p.k, p.n, op.getTransposeB());
  std::vector<int64_t> bounds = boundsOf(op, in.of(op.getGroups()), count, p.k);
  ResultBuilder result(resultDType(op), {count, p.m, p.n});
  for (int64_t g = 0; g < count; ++g)
    computeMatrix(p, {bounds[g], std::max(bounds[g], bounds[g + 1])}, packedA,
                  packedB, 0, 0, g, result);
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateGroupedMatmul(Operation *operation,
                                           const Operands &in, Results &out) {
  auto op = cast<GroupedMatmulOp>(operation);
  const Tensor &a = in[0], &b = in[1];
  Product p;
  p.m = a.sizes[op.getLhsDim(MatmulDim::M)];
  p.k = a.sizes[op.getLhsDim(MatmulDim::K)];
  p.n = b.sizes[op.getRhsDim(MatmulDim::N)];
  p.integer = a.dtype == ::hk::DType::I8;
  if (failed(requireSize(op, "size along K of rhs", p.k,
                         b.sizes[op.getRhsDim(MatmulDim::K)])))
    return failure();
  if (op.getAlongK())
    return evaluateAlongK(op, in, p, out);
  int64_t count = b.sizes[0], rows = p.m;
  Side lhs = sideOf(a, in.find(op.getLhsScale()), 0, ::hk::kBlockScaleA);
  Side rhs = sideOf(b, in.find(op.getRhsScale()), op.getRhsDim(MatmulDim::N),
                    ::hk::kBlockScaleB);
  p.lhsScale = lhs.scale;
  p.rhsScale = rhs.scale;
  p.flushed = flushedBy(lhs, rhs);
  p.chooseSums(op);
  const Tensor *order = in.find(op.getOrder());
  int64_t results = op.isBlocks() ? rows * int64_t(op.getTopK())
                    : order       ? order->numElements()
                                  : rows;
  std::vector<int64_t> named(results);
  std::vector<Group> groups =
      collectGroups(op, in, count, rows, results, named);
  const Tensor *bias = in.find(op.getBias());
  const Tensor *factors = in.find(op.getGroupScale());
  ResultBuilder result(resultDType(op), {results, p.n});
  Matrix packedA(lhs.values(), 0, rows, p.k, false);
  for (int64_t g = 0; g < count; ++g) {
    if (groups[g].rows.empty())
      continue;
    p.m = int64_t(groups[g].rows.size());
    p.lhsScale.rows = groups[g].rows;
    p.resultRows = groups[g].results;
    std::vector<Noisy> added;
    for (int64_t j = 0; bias && j < p.n; ++j)
      added.push_back(at(*bias, g * p.n + j));
    p.bias = bias ? added.data() : nullptr;
    Noisy factor = factors ? at(*factors, g) : Noisy{1, 0};
    p.factor = factors ? &factor : nullptr;
    computeMatrix(p, {0, p.k}, Matrix(packedA, groups[g].rows, p.k),
                  Matrix(rhs.values(), g, p.k, p.n, op.getTransposeB()), 0, g,
                  0, result);
  }
  markTwice(named, p.n, result);
  markUndecided(op, in, results, p.n, result);
  out.push_back(result.take());
  return success();
}

void reference::addGroupedProducts(EvaluatorTable &table) {
  table.add<GroupedMatmulOp>(evaluateGroupedMatmul);
}
