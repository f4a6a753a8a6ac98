//===- Attention.cpp - Attention ------------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One query and head at a time over the keys it sees: scores, the regions on
// all of them at once, weights, the sum of values. Kernels may round the
// probabilities to the type of the second product, which the noise accounts
// for.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "Product.h"

#include "llvm/Support/Parallel.h"

#include <atomic>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

namespace {
/// The keys that a query sees, with their scores and, behind the region
/// `weight`, the factors of their probabilities.
struct SeenKeys {
  std::vector<int64_t> positions; // in the sequence
  std::vector<int64_t> rows;      // of keys and values
  std::vector<Noisy> scores, factors;
};

/// What the scores become: weights, each with its relative variance, and that
/// of the rounding for the second product, which is not in the total; and what
/// share of all weights a key may have, where noise decides between keys.
struct Weights {
  double top = -kInf, total = 0, totalVariance = 0;
  std::vector<double> weight, variance, rounding, share;
};

/// One query of one head.
class Row {
public:
  Row(const AttentionProblem &p, const Sequence &s, int64_t slice, int64_t i,
      int64_t head)
      : p(p), s(s), slice(slice), i(i), head(head), kvHead(head / p.group),
        queryRow(s.queryStart + i) {}

  /// Writes element `row` of the result's rows and of the LSE.
  LogicalResult run(int64_t row, ResultBuilder &result, ResultBuilder *lse);

private:
  Noisy dot(int64_t keyRow) const;
  Noisy score(int64_t keyRow) const;
  LogicalResult applyRegions();
  LogicalResult applyRegion(const PositionRegion &region, bool hasScore,
                            std::vector<Noisy> &to) const;
  void dropHidden();
  void weigh();
  void findShares();
  void setEmpty(int64_t row, ResultBuilder *lse) const;
  void setAll(int64_t row, ResultBuilder &result, Noisy value) const;
  void sum(int64_t row, ResultBuilder &result) const;
  void openSpecial(int64_t row, ResultBuilder &result) const;
  Noisy storedValue(size_t k, int64_t d) const;
  Noisy valueOf(size_t k, int64_t d) const;
  double flushed(size_t k, int64_t d, double value) const;

  const AttentionProblem &p;
  const Sequence &s;
  int64_t slice, i, head, kvHead, queryRow;
  SeenKeys seen;
  Weights w;
};
} // namespace

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// q . k, in f32.
Noisy Row::dot(int64_t keyRow) const {
  const Tensor &query = p.query, &key = p.key.get();
  int64_t q = (queryRow * p.heads + head) * p.headSize;
  int64_t k = (keyRow * p.key.size(2) + kvHead) * p.headSize;
  double sum = 0, squares = 0, inherited = 0, jump = 0;
  for (int64_t d = 0; d < p.headSize; ++d) {
    double product = query.values[q + d] * key.values[k + d];
    sum += product;
    squares += product * product;
  }
  if (!query.error.empty())
    for (int64_t d = 0; d < p.headSize; ++d)
      inherited += square(query.error[q + d] * key.values[k + d]);
  if (!key.error.empty())
    for (int64_t d = 0; d < p.headSize; ++d)
      inherited += square(key.error[k + d] * query.values[q + d]);
  bool jumps = !query.jump.empty() || !key.jump.empty();
  for (int64_t d = 0; jumps && d < p.headSize; ++d)
    jump = std::max({jump, times(key.values[k + d], query.jumpAt(q + d)),
                     times(query.values[q + d], key.jumpAt(k + d))});
  double lost = 0;
  for (int64_t d = 0; p.mayFlush && d < p.headSize; ++d)
    lost += flushedTerm(query.values[q + d], key.values[k + d]);
  if (orderDecides(sum, p.headSize, squares))
    return {sum, kInf};
  double own =
      std::max(p.headSize * squares / 2, p.headSize * sum * sum / 3) + squares;
  // The bound is eight deviations.
  double sigma = std::sqrt(own * kUnit * kUnit + inherited);
  return {sum, hypot2(sigma, lost / 8), jump};
}

/// a * b with one rounding to f32, whatever the order of several such.
static Noisy scaled(Noisy a, Noisy b) {
  double value = a.value * b.value;
  return {value,
          hypot2(sigmaOf(a, b.value, b, a.value), kUnit * std::fabs(value)),
          jumpOf(a, b.value, b, a.value)};
}

/// scale * q_scale * k_scale * (q . k), soft capped.
Noisy Row::score(int64_t keyRow) const {
  Noisy sum = dot(keyRow);
  if (p.queryScale.exists())
    sum = scaled(sum, p.queryScale.at(s.index, queryRow, head));
  if (p.keyScale.exists())
    sum = scaled(sum, p.keyScale.at(s.index, keyRow, kvHead));
  Noisy x{inF32Range(sum.value * p.scale), 0, times(p.scale, sum.jump)};
  if (std::isinf(sum.sigma))
    return {x.value, kInf};
  x.sigma = hypot2(p.scale * sum.sigma, 2 * kUnit * std::fabs(x.value));
  if (!p.softcap)
    return x;
  double t = std::tanh(x.value / *p.softcap), value = *p.softcap * t;
  return {value, hypot2((1 - t * t) * x.sigma, noiseOfUlps(value, 4)),
          times(1 - t * t, x.jump)};
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult Row::applyRegion(const PositionRegion &region, bool hasScore,
                               std::vector<Noisy> &to) const {
  FailureOr<std::vector<Noisy>> yielded = region.evaluate(
      {s, head, i, seen.positions}, hasScore ? &seen.scores : nullptr, p.reads);
  if (failed(yielded))
    return failure();
  to = std::move(*yielded);
  return success();
}

/// A score that noise may take to -inf, since a mask added f32's lowest number.
static bool isLowest(const Noisy &score) {
  return score.value < -1e38 && std::isinf(score.sigma);
}

/// Scores of -inf are those of keys that the query does not see. Beside a
/// finite one the lowest numbers are no others: their weight is 0, too.
void Row::dropHidden() {
  bool seesOne = llvm::any_of(seen.scores, [](const Noisy &score) {
    return std::isfinite(score.sigma) && score.value > -1e37;
  });
  size_t kept = 0;
  for (size_t k = 0; k < seen.scores.size(); ++k) {
    const Noisy &score = seen.scores[k];
    if ((score.value == -kInf && score.sigma == 0) ||
        (seesOne && isLowest(score)))
      continue;
    seen.positions[kept] = seen.positions[k];
    seen.rows[kept] = seen.rows[k];
    seen.scores[kept++] = seen.scores[k];
  }
  seen.positions.resize(kept);
  seen.rows.resize(kept);
  seen.scores.resize(kept);
}

LogicalResult Row::applyRegions() {
  if (p.score.exists() && !seen.scores.empty() &&
      failed(applyRegion(p.score, true, seen.scores)))
    return failure();
  if (p.op.getNormalizer() == Normalizer::softmax || p.score.exists())
    dropHidden();
  if (p.weight.exists() && !seen.scores.empty())
    return applyRegion(p.weight, false, seen.factors);
  return success();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The largest relative error of a rounding to a type.
static double halfSpacing(DType dtype) {
  return std::exp2(-1 - ::hk::info(dtype).mantissaBits);
}

/// Relative noise of rounding a probability of `weight` to the type it is
/// multiplied in. Types of 8 bits and f16 have few exponents: what is small
/// beside the largest so far is rounded to multiples of their smallest number.
static double probabilityNoise(DType dtype, double weight) {
  double relative = halfSpacing(dtype);
  if (weight != 0)
    relative = hypot2(relative, ulpOf(dtype, 0) / 2 / std::fabs(weight));
  return relative / std::sqrt(3.0);
}

/// Of a log-sum-exp whose largest score is `top`: the change of the base and
/// the sum with the logarithm.
static double lseNoise(double top) {
  return std::isfinite(top) ? 2 * kUnit * (std::fabs(top) + 1) : 0;
}

/// The noise of each weight, relative to it: of the exponent's argument, of exp
/// and of the rounding for the second product.
void Row::weigh() {
  size_t count = seen.scores.size();
  w.weight.resize(count);
  w.variance.resize(count);
  w.rounding.resize(count);
  if (p.op.getNormalizer() == Normalizer::none) {
    w.total = 1;
    for (size_t k = 0; k < count; ++k) {
      Noisy x = seen.scores[k];
      w.weight[k] = x.value;
      w.rounding[k] = square(probabilityNoise(p.probabilityType, x.value));
      w.variance[k] = w.rounding[k];
      if (x.sigma != 0)
        w.variance[k] += square(x.sigma / x.value);
    }
    return;
  }
  w.total = p.sink ? std::exp(p.sink->values[head] - w.top) : 0;
  for (size_t k = 0; k < count; ++k) {
    Noisy x = seen.scores[k];
    double difference = x.value - w.top;
    w.weight[k] = std::exp(difference);
    w.total += w.weight[k];
    double argument = std::isfinite(difference)
                          ? hypot2(x.sigma, kUnit * (std::fabs(difference) +
                                                     std::fabs(x.value)))
                          : 0;
    w.variance[k] = square(argument) + square(3 * kUnit);
    w.totalVariance += square(w.weight[k]) * w.variance[k];
    w.rounding[k] = square(probabilityNoise(p.probabilityType, w.weight[k]));
    w.variance[k] += w.rounding[k];
    // Kernels may take a weight that is no normal f32 for 0.
    if (w.weight[k] < kSmallest)
      w.variance[k] = w.rounding[k] = 1;
  }
}

/// Noise that multiplies a weight several times decides between keys: a weight
/// may be what the noise of its score and of the largest one makes it, and
/// moves the mean as far towards its value.
void Row::findShares() {
  constexpr double kDecides = 2;
  double noise = 0; // of the largest score
  for (const Noisy &x : seen.scores)
    if (x.value == w.top)
      noise = std::max(noise, x.reach());
  w.share.assign(seen.scores.size(), 0);
  for (auto [share, x] : llvm::zip_equal(w.share, seen.scores))
    if (double reach = x.reach() + noise; reach > kDecides)
      share = std::min(std::exp(x.value - w.top + reach) / w.total, 1.0);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Row::setAll(int64_t row, ResultBuilder &result, Noisy value) const {
  for (int64_t d = 0; d < p.valueSize; ++d)
    result.set(row * p.valueSize + d, value);
}

/// The result of a query that sees nothing stays zero, whatever its values are.
void Row::setEmpty(int64_t row, ResultBuilder *lse) const {
  if (lse) {
    Noisy end{-kInf, 0};
    if (p.sink) {
      // Through the base of the kernel's powers and back.
      end = at(*p.sink, head);
      end.sigma = hypot2(end.sigma, lseNoise(end.value));
    }
    lse->set(row, end);
  }
}

/// Element d of the value of seen key k.
Noisy Row::storedValue(size_t k, int64_t d) const {
  int64_t row = seen.rows[k] * p.value.size(2) + kvHead;
  return at(p.value.get(), row * p.value.size(3) + d);
}

/// The same times its scale and its factor.
Noisy Row::valueOf(size_t k, int64_t d) const {
  Noisy v = storedValue(k, d);
  if (p.valueScale.exists())
    v = scaled(v, p.valueScale.at(s.index, seen.rows[k], kvHead, d));
  return seen.factors.empty() ? v : scaled(v, seen.factors[k]);
}

/// What weight k times `value` (valueOf) may lose. Scales and factors may be
/// those of the weight.
double Row::flushed(size_t k, int64_t d, double value) const {
  if (!p.mayFlush)
    return 0;
  double lost = flushedTerm(w.weight[k], value);
  double stored = std::fabs(storedValue(k, d).value);
  if (stored < kSmallest && std::isfinite(value))
    lost += std::fabs(w.weight[k] * value);
  return lost;
}

void Row::sum(int64_t row, ResultBuilder &result) const {
  size_t count = seen.scores.size();
  bool softmax = p.op.getNormalizer() == Normalizer::softmax;
  double sumNoise = softmax ? kUnit * std::sqrt(count / 2.0 + 1) : 0;
  // Keys outside, so that rows of values are read in order.
  std::vector<double> mean(p.valueSize), inherited(p.valueSize),
      squares(p.valueSize), jump(p.valueSize), reach(p.valueSize),
      lost(p.valueSize);
  std::vector<bool> open(p.valueSize); // where anything is right for a value
  for (size_t k = 0; k < count; ++k)
    for (int64_t d = 0; d < p.valueSize; ++d)
      mean[d] += w.weight[k] / w.total * valueOf(k, d).value;
  for (size_t k = 0; k < count; ++k) {
    double weight = w.weight[k] / w.total, w2 = square(weight);
    for (int64_t d = 0; d < p.valueSize; ++d) {
      Noisy v = valueOf(k, d);
      // A weight's noise moves a mean towards the value, a sum by it.
      double moved = softmax ? v.value - mean[d] : v.value;
      if (w2 != 0)
        inherited[d] += w2 * w.variance[k] * square(moved);
      if (softmax && w2 != 0)
        inherited[d] += w2 * w.rounding[k] * square(mean[d]);
      if (softmax && w.share[k] != 0)
        inherited[d] += square(w.share[k] * moved / 8);
      if (!softmax && weight == 0)
        inherited[d] += square(times(v.value, seen.scores[k].sigma));
      inherited[d] += w2 * square(v.sigma);
      squares[d] += w2 * square(v.value);
      lost[d] += flushed(k, d, v.value) / w.total;
      open[d] = open[d] || std::isinf(v.sigma);
      // Kernels divide at the end; until then a weight is up to 1.
      double term = softmax ? std::fabs(v.value) : std::fabs(weight * v.value);
      if (std::isfinite(term))
        reach[d] += term;
      double score = softmax ? times(weight * moved, seen.scores[k].jump)
                             : times(v.value, seen.scores[k].jump);
      jump[d] = std::max({jump[d], score, times(weight, v.jump)});
    }
  }
  double alike = softmax ? halfSpacing(p.probabilityType) / 2 : 0;
  for (int64_t d = 0; d < p.valueSize; ++d) {
    // Equal weights are all rounded alike, but their sum is not rounded.
    jump[d] = std::max(jump[d], alike * std::fabs(mean[d]));
    double own = std::max(count * squares[d] / 2, count * square(mean[d]) / 3) +
                 squares[d] + square(mean[d]);
    double sigma = hypot2(std::sqrt(inherited[d] + 2 * own * kUnit * kUnit),
                          sumNoise * std::fabs(mean[d]));
    open[d] = open[d] || std::isinf(inF32Range(reach[d]));
    sigma = hypot2(sigma, lost[d] / 8);
    result.set(row * p.valueSize + d, {inF32Range(mean[d]),
                                       open[d]                ? kInf
                                       : std::isfinite(sigma) ? sigma
                                                              : 0,
                                       std::isfinite(jump[d]) ? jump[d] : 0});
  }
}

/// A kernel multiplies keys that the query does not see by 0, which an infinite
/// value turns into NaN: anything is right then.
void Row::openSpecial(int64_t row, ResultBuilder &result) const {
  if (!p.specialValues)
    return;
  llvm::DenseSet<int64_t> taken(seen.positions.begin(), seen.positions.end());
  const Tensor &value = p.value.get();
  for (int64_t j = 0; j < s.numKeys; ++j) {
    std::optional<int64_t> keyRow = p.keyRow(s, j);
    if (!keyRow || taken.contains(j))
      continue;
    int64_t at = (*keyRow * p.value.size(2) + kvHead) * p.value.size(3);
    for (int64_t d = 0; d < p.valueSize; ++d)
      if (!std::isfinite(value.values[at + d]))
        result.set(row * p.valueSize + d, {0, kInf});
  }
}

LogicalResult Row::run(int64_t row, ResultBuilder &result, ResultBuilder *lse) {
  KeyRange range = p.visibleKeys(s, slice, i);
  for (int64_t j = range.begin; j < range.end; ++j)
    if (std::optional<int64_t> keyRow = p.keyRow(s, j)) {
      seen.positions.push_back(j);
      seen.rows.push_back(*keyRow);
      seen.scores.push_back(score(*keyRow));
    }
  if (failed(applyRegions()))
    return failure();
  if (seen.scores.empty()) {
    setEmpty(row, lse);
    // Without a softmax a kernel knows what lies outside of the range alone.
    if (p.op.getNormalizer() == Normalizer::none && range.begin < range.end)
      openSpecial(row, result);
    return success();
  }
  w.top = p.sink ? p.sink->values[head] : -kInf;
  for (Noisy x : seen.scores)
    w.top = std::isnan(x.value) || std::isnan(w.top) ? kNaN
                                                     : std::max(w.top, x.value);
  if (llvm::any_of(seen.scores, [](Noisy x) { return std::isinf(x.sigma); })) {
    if (lse)
      lse->set(row, {w.top, kInf});
    setAll(row, result, {0, kInf});
    return success();
  }
  weigh();
  findShares();
  if (lse) {
    double sumNoise = kUnit * std::sqrt(seen.scores.size() / 2.0 + 1);
    lse->set(row,
             {w.top + std::log(w.total),
              hypot2(hypot2(std::sqrt(w.totalVariance) / w.total, sumNoise),
                     lseNoise(w.top))});
  }
  sum(row, result);
  openSpecial(row, result);
  return success();
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

/// Every entry of the block table that is read names a block, or none.
static LogicalResult checkTable(const AttentionProblem &p, const Sequence &s) {
  for (int64_t j = 0; j < s.numKeys; ++j)
    if (!p.isInCache(s, j))
      return p.op->emitOpError("expected block_table of sequence ")
             << s.index << " to name a block of the cache for key " << j
             << ", or none by a negative number";
  return success();
}

static LogicalResult evaluateAttention(Operation *operation, const Operands &in,
                                       Results &out) {
  auto op = cast<AttentionOp>(operation);
  AttentionProblem p(op, in);
  FailureOr<SmallVector<Sequence>> sequences = sequencesOf(p, in);
  if (failed(sequences))
    return failure();

  SmallVector<int64_t> sizes(p.query.sizes);
  sizes.back() = p.valueSize;
  if (op.getKvSlices())
    sizes.insert(sizes.begin(), op.getNumSlices());
  ResultBuilder result(resultDType(op), sizes);
  std::optional<ResultBuilder> lse;
  sizes.pop_back();
  if (op.getLse())
    lse.emplace(DType::F32, sizes);
  int64_t rows = 1; // of one slice
  for (int64_t size : ArrayRef<int64_t>(p.query.sizes).drop_back())
    rows *= size;
  std::atomic<bool> broken = false;
  for (const Sequence &s : *sequences) {
    if (failed(checkTable(p, s)))
      return failure();
    for (int64_t slice = 0; slice < op.getNumSlices(); ++slice)
      llvm::parallelFor(0, s.numQueries, [&](size_t i) {
        for (int64_t head = 0; head < p.heads; ++head) {
          int64_t row =
              slice * rows + (s.queryStart + int64_t(i)) * p.heads + head;
          if (failed(Row(p, s, slice, int64_t(i), head)
                         .run(row, result, lse ? &*lse : nullptr)))
            broken = true;
        }
      });
  }
  if (broken)
    return failure();
  out.push_back(result.take());
  if (lse)
    out.push_back(lse->take());
  return success();
}

void reference::addAttention(EvaluatorTable &table) {
  table.add<AttentionOp>(evaluateAttention);
}
