//===- Select.cpp - Selection along the last dim --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A selection is a decision: where the noise of two elements lets them change
// places, the index at either place is unspecified, and the value there has the
// largest noise of those that may stand there.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

namespace {

/// Noisy values ordered as hk.topk orders them.
class Ranking {
public:
  Ranking(ArrayRef<Noisy> values, int64_t count, bool highestFirst)
      : values(values), order(values.size()) {
    std::iota(order.begin(), order.end(), 0);
    auto middle = order.begin() + std::min<int64_t>(count, order.size());
    std::partial_sort(order.begin(), middle, order.end(),
                      [&](int64_t a, int64_t b) {
                        int c = compare(values[a].value, values[b].value);
                        return c != 0 ? c > 0 : (a < b) != highestFirst;
                      });
    findUncertain(middle - order.begin());
  }

  int64_t operator[](int64_t rank) const { return order[rank]; }
  /// Whether the elements of ranks `rank` and rank + 1, or others around them,
  /// may change sides.
  bool uncertainAfter(int64_t rank) const { return uncertain[rank]; }
  double low(int64_t i) const { return bound(values[i], -1); }
  double high(int64_t i) const { return bound(values[i], 1); }

private:
  /// NaN is the largest.
  static int compare(double a, double b) {
    if (std::isnan(a) || std::isnan(b))
      return int(std::isnan(a)) - int(std::isnan(b));
    return a > b ? 1 : a < b ? -1 : 0;
  }
  /// How low or high an element may stand: numbers as they are, infinities
  /// behind all of f32, NaN above those; what is unspecified beyond either end.
  static double bound(Noisy v, double sign) {
    if (std::isinf(v.sigma))
      return sign * kInf;
    if (std::isnan(v.value))
      return kBehindF32 * 2;
    if (std::isinf(v.value))
      return std::copysign(kBehindF32, v.value);
    return v.value + sign * v.reach();
  }

  void findUncertain(int64_t count) {
    std::vector<double> highest(count + 1, -kInf);
    for (size_t r = count; r < order.size(); ++r)
      highest[count] = std::max(highest[count], high(order[r]));
    for (int64_t r = count; r-- > 0;)
      highest[r] = std::max(highest[r + 1], high(order[r]));
    double lowest = kInf;
    for (int64_t r = 0; r < count; ++r) {
      lowest = std::min(lowest, low(order[r]));
      uncertain.push_back(lowest < highest[r + 1]);
    }
  }

  static constexpr double kBehindF32 = 0x1p1000;
  ArrayRef<Noisy> values;
  std::vector<int64_t> order;
  std::vector<bool> uncertain;
};

std::vector<Noisy> rowOf(const Tensor &x, int64_t row) {
  std::vector<Noisy> values(rowSize(x));
  for (int64_t j = 0; j < rowSize(x); ++j)
    values[j] = at(x, row * rowSize(x) + j);
  return values;
}

/// What stands at each of the first `k` ranks, with its noise: the k-th largest
/// moves by no more than the elements that may stand there do.
std::vector<Noisy> elementsOfRanks(const Ranking &ranking, ArrayRef<Noisy> row,
                                   int64_t k) {
  std::vector<Noisy> elements(k);
  for (int64_t first = 0; first < k;) {
    int64_t last = first;
    Noisy largest = row[ranking[first]];
    auto include = [&](int64_t rank) {
      const Noisy &other = row[ranking[rank]];
      largest.sigma = std::max(largest.sigma, other.sigma);
      largest.jump = std::max(largest.jump, other.jump);
    };
    while (last + 1 < k && ranking.uncertainAfter(last))
      include(++last);
    if (last + 1 == k && ranking.uncertainAfter(last)) {
      double lowest = kInf;
      for (int64_t r = first; r < k; ++r)
        lowest = std::min(lowest, ranking.low(ranking[r]));
      for (size_t r = k; r < row.size(); ++r)
        if (ranking.high(ranking[r]) > lowest)
          include(r);
    }
    for (; first <= last; ++first)
      elements[first] = {row[ranking[first]].value, largest.sigma,
                         largest.jump};
  }
  return elements;
}

} // namespace

static LogicalResult evaluateTopk(Operation *op, const Operands &in,
                                  Results &out) {
  auto topk = cast<TopkOp>(op);
  const Tensor &x = in[0];
  int64_t k = topk.getK(), found = std::min(k, rowSize(x));
  bool byIndex = topk.getOrder() == TopkOrder::by_index;
  SmallVector<int64_t> sizes(x.sizes);
  int64_t rows = 1;
  for (int64_t size : ArrayRef(sizes).drop_back())
    rows *= size;
  sizes.back() = k;
  ResultBuilder values(x.dtype, sizes), indices(resultDType(op, 1), sizes);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<Noisy> elements = rowOf(x, row);
    Ranking ranking(elements, found, topk.getTies() == TieRule::highest_index);
    std::vector<Noisy> best = elementsOfRanks(ranking, elements, found);
    SmallVector<int64_t> ranks(llvm::to_vector(llvm::seq<int64_t>(0, found)));
    if (byIndex)
      llvm::sort(ranks,
                 [&](int64_t a, int64_t b) { return ranking[a] < ranking[b]; });
    for (int64_t j = 0; j < k; ++j) {
      if (j >= found) {
        values.setExact(row * k + j, {-kInf, 0});
        indices.setExact(row * k + j, {-1, 0});
        continue;
      }
      int64_t r = ranks[j];
      Noisy value = best[r];
      Noisy index{double(ranking[r]), 0};
      if (byIndex) {
        // One other member moves the places of all; their order does not.
        bool members = ranking.uncertainAfter(found - 1);
        value = elements[ranking[r]];
        if (members)
          value.sigma = index.sigma = kInf;
      } else if (ranking.uncertainAfter(r) ||
                 (r > 0 && ranking.uncertainAfter(r - 1))) {
        index.sigma = kInf;
      }
      values.setExact(row * k + j, value);
      indices.setExact(row * k + j, index);
    }
  }
  out.push_back(values.take());
  out.push_back(indices.take());
  return success();
}

static LogicalResult evaluateGatherLast(Operation *, const Operands &in,
                                        Results &out) {
  const Tensor &x = in[0], &indices = in[1];
  ResultBuilder result(x.dtype, indices.sizes);
  int64_t n = rowSize(x), k = rowSize(indices);
  for (int64_t i = 0; i < indices.numElements(); ++i) {
    auto index = static_cast<int64_t>(indices.values[i]);
    Noisy value;
    if (index >= 0 && index < n)
      value = at(x, i / k * n + index);
    result.setExact(i, chosenBy(indices, i, value));
  }
  out.push_back(result.take());
  return success();
}

/// The score of a group.
static Noisy scoreOf(ArrayRef<Noisy> group, GroupScore kind) {
  int64_t count = std::min<int64_t>(2, group.size());
  Ranking ranking(group, count, /*highestFirst=*/false);
  std::vector<Noisy> best = elementsOfRanks(ranking, group, count);
  Noisy top = best[0];
  if (kind == GroupScore::maximum)
    return top;
  Noisy next = best[1];
  Noisy sum{f32(top.value + next.value), hypot2(top.sigma, next.sigma),
            jumpOf(top, 1, next, 1)};
  if (sum.sigma != 0)
    sum.sigma = hypot2(sum.sigma, kUnit * std::fabs(sum.value));
  return sum;
}

static LogicalResult evaluateGroupLimit(Operation *op, const Operands &in,
                                        Results &out) {
  auto limit = cast<GroupLimitOp>(op);
  const Tensor &x = in[0];
  int64_t groups = limit.getGroups(), top = limit.getTopGroups();
  int64_t n = rowSize(x), size = n / groups;
  double fill = limit.getFill().convertToDouble();
  ResultBuilder result(x.dtype, x.sizes);
  for (int64_t row = 0; row < numRows(x); ++row) {
    std::vector<Noisy> elements = rowOf(x, row), scores;
    for (int64_t g = 0; g < groups; ++g)
      scores.push_back(
          scoreOf(ArrayRef(elements).slice(g * size, size), limit.getScore()));
    Ranking ranking(scores, groups, /*highestFirst=*/false);
    // Groups that may change sides with one on the other side of the limit.
    int64_t first = top, end = top;
    while (first > 0 && ranking.uncertainAfter(first - 1))
      --first;
    if (first < top)
      while (end < groups && ranking.uncertainAfter(end - 1))
        ++end;
    for (int64_t r = 0; r < groups; ++r)
      for (int64_t i = ranking[r] * size; i < (ranking[r] + 1) * size; ++i) {
        Noisy value = r < top ? elements[i] : Noisy{fill, 0};
        if (r >= first && r < end)
          value.sigma = kInf;
        result.setExact(row * n + i, value);
      }
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateBitmatrix(Operation *op, const Operands &in,
                                       Results &out) {
  const Tensor &indices = in[0];
  SmallVector<int64_t> sizes(indices.sizes);
  sizes.back() =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape().back();
  ResultBuilder result(resultDType(op), sizes);
  int64_t words = sizes.back(), k = rowSize(indices);
  int64_t rows =
      words == 0 ? 0 : Tensor(indices.dtype, sizes).numElements() / words;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<uint32_t> bits(words);
    double sigma = 0;
    for (int64_t j = 0; j < k; ++j) {
      auto index = static_cast<int64_t>(indices.values[row * k + j]);
      sigma = std::max(sigma, indices.errorAt(row * k + j));
      if (index >= 0 && index < 32 * words)
        bits[index / 32] |= 1u << (index % 32);
    }
    for (int64_t w = 0; w < words; ++w)
      result.setExact(row * words + w,
                      {double(int32_t(bits[w])), sigma == 0 ? 0 : kInf});
  }
  out.push_back(result.take());
  return success();
}

void reference::addSelections(EvaluatorTable &table) {
  table.add<TopkOp>(evaluateTopk);
  table.add<GatherLastOp>(evaluateGatherLast);
  table.add<GroupLimitOp>(evaluateGroupLimit);
  table.add<BitmatrixOp>(evaluateBitmatrix);
}
