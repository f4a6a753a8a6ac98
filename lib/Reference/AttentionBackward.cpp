//===- AttentionBackward.cpp - Gradients of attention ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One key head of one sequence at a time, all pairs of a row and a key that it
// sees. Kernels may round p and ds to the type of the operands before the
// products that make gradients, which the noise accounts for. What a row's
// log-sum-exp and delta are off by is the same for all its keys: in dq these
// errors are added up with their signs, in dk and dv they belong to different
// rows and are independent.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"

#include "llvm/Support/Parallel.h"

#include <atomic>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

namespace {

struct Problem {
  mutable AttentionBackwardOp op; // accessors of ops are not const
  const Tensor &query, &key, &value, &gradient;
  const Tensor *lse, *delta; // null without a softmax
  int64_t heads, kvHeads, headSize, valueSize;
  double scale;
  std::optional<double> softcap;
  PositionRegion score, slope, weight;
  SmallVector<const Tensor *> reads;

  bool softmax() const { return lse != nullptr; }
  int64_t group() const { return heads / kvHeads; }
};

/// Sums of one gradient: elements of consecutive rows.
class Sums {
public:
  Sums(int64_t rows, int64_t size)
      : size(size), sums(rows * size), drift(rows * size) {}
  F32Sum *row(int64_t r) { return &sums[r * size]; }
  /// Of row r: what sums of rounded factors are off by where the roundings do
  /// not cancel, as those of equal factors.
  double *driftOf(int64_t r) { return &drift[r * size]; }
  /// Of row r, times `scale`, into row `to` of `result`; `extra` adds to the
  /// noise of an element.
  void store(int64_t r, int64_t to, double scale, bool open,
             ResultBuilder &result,
             function_ref<Noisy(int64_t)> extra = nullptr) {
    for (int64_t d = 0; d < size; ++d) {
      Noisy v = row(r)[d].noisy();
      v.jump = std::max(v.jump, std::fabs(driftOf(r)[d]));
      if (extra) {
        Noisy more = extra(d);
        v.sigma = hypot2(v.sigma, more.sigma);
        v.jump = std::max(v.jump, more.jump);
      }
      v = scale == 1 ? v : timesF32(v, {scale, 0});
      if (open)
        v = {0, kInf};
      result.set(to * size + d, v);
    }
  }

private:
  int64_t size;
  std::vector<F32Sum> sums;
  std::vector<double> drift;
};

/// A score behind the region, the slope of the soft cap there, that of the
/// region without a softmax, and the weight.
struct Score {
  Noisy score, slope{1, 0}, regionSlope{1, 0}, weight{1, 0};
  bool isHidden() const { return score.value == -kInf; }
};

/// p w, dt and ds of a pair. What the row's lse and delta are off by is apart.
struct Pair {
  Noisy weighted, dt, ds;
  /// -d(dt) / d(delta) and -d(ds) / d(delta).
  double slope = 0, cappedSlope = 0;
};

} // namespace

/// Keys [begin, end) that query i of `s` sees.
static std::pair<int64_t, int64_t> visibleKeys(AttentionBackwardOp op,
                                               const Sequence &s, int64_t i) {
  int64_t diagonal = i + s.numKeys - s.numQueries, begin = 0, end = s.numKeys;
  if (op.getCausal())
    end = std::min(end, diagonal + 1);
  if (auto w = op.getWindowLeft())
    begin = std::max<int64_t>(begin, diagonal - static_cast<int64_t>(*w));
  if (auto w = op.getWindowRight())
    end = std::min<int64_t>(end, diagonal + static_cast<int64_t>(*w) + 1);
  return {begin, std::max(begin, end)};
}

/// x . y over n elements, in f32 of exact or f32 products.
static Noisy dot(const Tensor &x, int64_t xAt, const Tensor &y, int64_t yAt,
                 int64_t n) {
  F32Sum sum;
  bool noisy = !x.error.empty() || !y.error.empty() || !x.jump.empty() ||
               !y.jump.empty();
  for (int64_t d = 0; d < n; ++d) {
    double a = x.values[xAt + d], b = y.values[yAt + d];
    if (!noisy) {
      sum.add(a * b);
      continue;
    }
    Noisy na = at(x, xAt + d), nb = at(y, yAt + d);
    sum.add(a * b, square(sigmaOf(na, b, nb, a)), jumpOf(na, b, nb, a));
  }
  return sum.noisy();
}

/// `v` where it is multiplied in the type of the operands: rounded, or not.
static Noisy asFactor(DType type, Noisy v) {
  double magnitude = std::fabs(v.value), limit = kLargest, error = 0;
  if (type == DType::BF16) {
    error = 0x1p-9 * magnitude;
  } else if (type == DType::F16) {
    // Below 2^-14 the spacing is 2^-24.
    error = std::max(0x1p-12 * magnitude, std::min(magnitude, 0x1p-25));
    limit = 65504;
  }
  v.sigma = hypot2(v.sigma, error / std::sqrt(3.0));
  if (!(magnitude + v.reach() < limit))
    v.sigma = kInf;
  return v;
}

/// scale * (q . k) of row and key, soft capped.
static Score scoreOf(const Problem &p, int64_t row, int64_t key) {
  Noisy s = dot(p.query, row * p.headSize, p.key, key * p.headSize, p.headSize);
  // Times scale, and log2(e) on the way.
  s = {s.value * p.scale,
       hypot2(p.scale * s.sigma, 2 * kUnit * std::fabs(s.value * p.scale)),
       times(p.scale, s.jump)};
  if (!p.softcap)
    return {s};
  double t = std::tanh(s.value / *p.softcap), c = *p.softcap;
  double own = noiseOfUlps(t, 4);
  Noisy slope = {
      1 - t * t,
      hypot2(2 * std::fabs(t) * hypot2((1 - t * t) * s.sigma / c, own),
             2 * kUnit),
      times(2 * t * (1 - t * t) / c, s.jump)};
  return {{c * t,
           hypot2((1 - t * t) * s.sigma, c * own + kUnit * std::fabs(c * t)),
           times(1 - t * t, s.jump)},
          slope};
}

/// The scores of a row and its keys, which are seen from `begin` on.
static FailureOr<std::vector<Score>> scoresOf(const Problem &p,
                                              const Sequence &s, int64_t head,
                                              int64_t i, int64_t begin,
                                              int64_t end) {
  std::vector<Score> scores;
  int64_t row = (s.queryStart + i) * p.heads + head, kvHead = head / p.group();
  for (int64_t j = begin; j < end; ++j)
    scores.push_back(scoreOf(p, row, (s.keyStart + j) * p.kvHeads + kvHead));
  if (begin == end)
    return scores;
  auto keys = llvm::to_vector(llvm::seq(begin, end));
  SeenRow seen{s, head, i, keys};
  if (p.score.exists()) {
    std::vector<Noisy> plain;
    plain.reserve(scores.size());
    for (const Score &score : scores)
      plain.push_back(score.score);
    FailureOr<std::vector<Noisy>> made =
        p.score.evaluate(seen, &plain, p.reads);
    if (failed(made))
      return failure();
    FailureOr<std::vector<Noisy>> slopes = std::vector<Noisy>();
    if (p.slope.exists())
      slopes = p.slope.evaluate(seen, &plain, p.reads);
    if (failed(slopes))
      return failure();
    for (auto [score, x] : llvm::zip_equal(scores, *made)) {
      score.score = x;
      if (p.softmax() && std::isfinite(x.value)) // log2(e) comes behind it
        score.score.sigma = hypot2(x.sigma, kUnit * std::fabs(x.value));
    }
    for (auto [k, x] : llvm::enumerate(*slopes))
      scores[k].regionSlope = x;
  }
  if (p.weight.exists()) {
    FailureOr<std::vector<Noisy>> made =
        p.weight.evaluate(seen, nullptr, p.reads);
    if (failed(made))
      return failure();
    for (auto [score, x] : llvm::zip_equal(scores, *made))
      score.weight = x;
  }
  return scores;
}

/// Whether a region gave what no gradient is specified for.
static bool isOpen(const Score &x) {
  return (!x.isHidden() && (!std::isfinite(x.score.value) ||
                            !std::isfinite(x.regionSlope.value))) ||
         !std::isfinite(x.weight.value);
}

/// The product of gradient and value of row and key, times the weight.
static Noisy weightedProduct(const Problem &p, int64_t row, int64_t key,
                             const Score &x) {
  Noisy dp = dot(p.gradient, row * p.valueSize, p.value, key * p.valueSize,
                 p.valueSize);
  return p.weight.exists() ? timesF32(dp, x.weight) : dp;
}

/// p w and ds of row and key, whose score `x` is p itself.
static Pair weighPlain(const Problem &p, int64_t row, int64_t key,
                       const Score &x) {
  if (x.isHidden() && x.score.sigma == 0)
    return {};
  const Noisy open{0, kInf};
  if (std::isinf(x.score.sigma) || std::isinf(x.regionSlope.sigma) ||
      std::isinf(x.weight.sigma))
    return {open, open, open};
  Pair pair;
  pair.weighted = p.weight.exists() ? timesF32(x.score, x.weight) : x.score;
  pair.dt = timesF32(x.regionSlope, weightedProduct(p, row, key, x));
  pair.ds = timesF32(pair.dt, x.slope);
  return pair;
}

/// p w, dt and ds of row and key, whose score is `x`.
static Pair weigh(const Problem &p, int64_t row, int64_t key, const Score &x) {
  if (!p.softmax())
    return weighPlain(p, row, key, x);
  double lse = p.lse->values[row];
  if (lse == -kInf || (x.isHidden() && x.score.sigma == 0))
    return {};
  const Noisy open{0, kInf};
  if (std::isinf(x.score.sigma) || std::isinf(x.weight.sigma))
    return {open, open, open};
  double difference = x.score.value - lse;
  double value = inF32Range(std::exp(difference));
  // The difference in base 2 is off by its own rounding, p by that of the
  // power; below the smallest normal number it may be 0.
  double argument = hypot2(x.score.sigma, kUnit * std::fabs(difference));
  Noisy weight{value,
               hypot2(value * hypot2(argument, 4 * kUnit),
                      value < kSmallest ? kSmallest : 0),
               times(value, x.score.jump)};
  if (value == 0)
    weight = {0, 0};
  Noisy dp = weightedProduct(p, row, key, x);
  Pair pair;
  pair.weighted = p.weight.exists() ? timesF32(weight, x.weight) : weight;
  double moved = dp.value - p.delta->values[row];
  Noisy change{moved, hypot2(dp.sigma, kUnit * std::fabs(moved)), dp.jump};
  pair.dt = timesF32(weight, change);
  pair.ds = timesF32(pair.dt, x.slope);
  pair.slope = value;
  pair.cappedSlope = value * x.slope.value;
  return pair;
}

/// With what the row's lse and delta are off by, `v` falling by `slope` with
/// delta.
static Noisy ofRow(Noisy v, double slope, Noisy lse, Noisy delta) {
  v.sigma = hypot2(
      v.sigma, hypot2(times(v.value, lse.sigma), times(slope, delta.sigma)));
  v.jump =
      std::max({v.jump, times(v.value, lse.jump), times(slope, delta.jump)});
  return v;
}

/// Whether all of `count` elements from `begin` on are numbers without an
/// unspecified one.
static bool isNumber(const Tensor &t, int64_t begin, int64_t count) {
  for (int64_t i = begin; i < begin + count; ++i)
    if (!std::isfinite(t.values[i]) || std::isinf(t.errorAt(i)))
      return false;
  return true;
}

/// Whether the numbers that a softmax has of a row are.
static bool hasNumbers(const Problem &p, int64_t row) {
  if (!p.softmax())
    return true;
  bool noLse = p.lse->values[row] == -kInf && p.lse->errorAt(row) == 0;
  return isNumber(*p.delta, row, 1) && (noLse || isNumber(*p.lse, row, 1));
}

/// Whether an operand of the key head or of one of its rows is infinite or NaN.
static bool isOpen(const Problem &p, const Sequence &s, int64_t kvHead) {
  for (int64_t j = 0; j < s.numKeys; ++j) {
    int64_t key = (s.keyStart + j) * p.kvHeads + kvHead;
    if (!isNumber(p.key, key * p.headSize, p.headSize) ||
        !isNumber(p.value, key * p.valueSize, p.valueSize))
      return true;
  }
  for (int64_t i = 0; i < s.numQueries; ++i)
    for (int64_t g = 0; g < p.group(); ++g) {
      int64_t row = (s.queryStart + i) * p.heads + kvHead * p.group() + g;
      if (!isNumber(p.query, row * p.headSize, p.headSize) ||
          !isNumber(p.gradient, row * p.valueSize, p.valueSize) ||
          !hasNumbers(p, row))
        return true;
    }
  return false;
}

/// Row r of `sums` += factor * t[at + d], with a factor that may be rounded to
/// `type`.
static void addScaled(Sums &sums, int64_t r, DType type, Noisy exact,
                      const Tensor &t, int64_t at, int64_t size) {
  Noisy factor = asFactor(type, exact);
  double off = roundTo(type, exact.value) - exact.value;
  for (int64_t d = 0; d < size; ++d) {
    F32Sum &sum = sums.row(r)[d];
    if (std::isinf(factor.sigma)) {
      sum.add(0, kInf);
      continue;
    }
    Noisy v{t.values[at + d], t.errorAt(at + d), t.jumpAt(at + d)};
    double sigma = sigmaOf(factor, v.value, v, factor.value);
    sum.add(factor.value * v.value, square(sigma),
            jumpOf(factor, v.value, v, factor.value));
    sums.driftOf(r)[d] += off * v.value;
  }
}

namespace {
/// The gradients of the query, key and value operands; sums of those of a bias.
struct Gradients {
  ResultBuilder query, key, value;
  std::vector<F32Sum> bias;
  int64_t biasQueries = 0, biasKeys = 0; ///< those that it has of a sequence
};

/// One key head of one sequence: its rows and keys of all gradients.
class HeadGradients {
public:
  HeadGradients(const Problem &p, const Sequence &s, int64_t kvHead,
                Gradients &out)
      : p(p), s(s), kvHead(kvHead), out(out), dk(s.numKeys, p.headSize),
        dv(s.numKeys, p.valueSize), open(isOpen(p, s, kvHead)) {}

  LogicalResult run() {
    for (int64_t i = 0; i < s.numQueries; ++i)
      for (int64_t g = 0; g < p.group(); ++g)
        if (failed(addRow(i, kvHead * p.group() + g)))
          return failure();
    for (int64_t j = 0; j < s.numKeys; ++j) {
      int64_t key = (s.keyStart + j) * p.kvHeads + kvHead;
      dk.store(j, key, p.scale, open, out.key);
      dv.store(j, key, 1, open, out.value);
    }
    if (open)
      openRows();
    return success();
  }

private:
  int64_t rowOf(int64_t i, int64_t head) const {
    return (s.queryStart + i) * p.heads + head;
  }
  F32Sum *biasOf(int64_t i, int64_t head) {
    if (out.bias.empty() || i >= out.biasQueries)
      return nullptr;
    int64_t sequence = p.op.sumsDbias() ? 0 : s.index;
    return &out.bias[((sequence * p.heads + head) * out.biasQueries + i) *
                     out.biasKeys];
  }

  LogicalResult addRow(int64_t i, int64_t head) {
    auto [begin, end] = visibleKeys(p.op, s, i);
    int64_t row = rowOf(i, head);
    Noisy lse, delta;
    if (p.softmax()) {
      lse = at(*p.lse, row);
      delta = at(*p.delta, row);
    }
    // Also the change of the base.
    if (std::isfinite(lse.value))
      lse.sigma = hypot2(lse.sigma, kUnit * std::fabs(lse.value));
    FailureOr<std::vector<Score>> scores =
        scoresOf(p, s, head, i, begin, open ? begin : end);
    if (failed(scores))
      return failure();
    open |= llvm::any_of(*scores, [](const Score &x) { return isOpen(x); });
    DType type = p.query.dtype;
    F32Sum *bias = biasOf(i, head);
    Sums dq(1, p.headSize);
    // What dq changes by when delta does.
    std::vector<double> byDelta(p.headSize);
    for (int64_t j = begin; j < end && !open; ++j) {
      int64_t key = (s.keyStart + j) * p.kvHeads + kvHead;
      Pair pair = weigh(p, row, key, (*scores)[j - begin]);
      addScaled(dq, 0, type, pair.ds, p.key, key * p.headSize, p.headSize);
      for (int64_t d = 0; d < p.headSize; ++d)
        byDelta[d] += pair.cappedSlope * p.key.values[key * p.headSize + d];
      // Of one key, the errors of the row count by themselves.
      addScaled(dk, j, type, ofRow(pair.ds, pair.cappedSlope, lse, delta),
                p.query, row * p.headSize, p.headSize);
      addScaled(dv, j, type, ofRow(pair.weighted, 0, lse, delta), p.gradient,
                row * p.valueSize, p.valueSize);
      if (!bias || j >= out.biasKeys)
        continue;
      Noisy dt = ofRow(pair.dt, pair.slope, lse, delta);
      bias[j].add(dt.value, square(dt.sigma), dt.jump);
    }
    dq.store(0, row, p.scale, open, out.query, [&](int64_t d) {
      double sum = dq.row(0)[d].value();
      return Noisy{
          0, hypot2(times(sum, lse.sigma), times(byDelta[d], delta.sigma)),
          std::max(times(sum, lse.jump), times(byDelta[d], delta.jump))};
    });
    return success();
  }

  /// Nothing is specified of any row.
  void openRows() {
    for (int64_t i = 0; i < s.numQueries; ++i)
      for (int64_t g = 0; g < p.group(); ++g) {
        int64_t head = kvHead * p.group() + g;
        for (int64_t d = 0; d < p.headSize; ++d)
          out.query.set(rowOf(i, head) * p.headSize + d, {0, kInf});
        if (F32Sum *bias = biasOf(i, head))
          for (int64_t j = 0; j < std::min(s.numKeys, out.biasKeys); ++j)
            bias[j].add(0, kInf);
      }
  }

  const Problem &p;
  const Sequence &s;
  int64_t kvHead;
  Gradients &out;
  Sums dk, dv;
  bool open;
};
} // namespace

/// -sum of e^(sink - lse) delta over the rows of a head that see a key.
static Noisy sinkGradient(const Problem &p, ArrayRef<Sequence> sequences,
                          const Tensor &sink, int64_t head) {
  F32Sum sum;
  for (const Sequence &s : sequences)
    for (int64_t i = 0; i < s.numQueries; ++i) {
      auto [begin, end] = visibleKeys(p.op, s, i);
      int64_t row = (s.queryStart + i) * p.heads + head;
      Noisy lse = at(*p.lse, row), logit = at(sink, head);
      if (begin == end || (lse.value == -kInf && lse.sigma == 0))
        continue;
      double x = logit.value - lse.value, value = inF32Range(std::exp(x));
      double argument =
          hypot2(hypot2(lse.sigma, logit.sigma),
                 2 * kUnit * (std::fabs(logit.value) + std::fabs(lse.value)));
      Noisy power{value,
                  hypot2(value * hypot2(argument, 4 * kUnit),
                         value < kSmallest ? kSmallest : 0),
                  times(value, std::max(lse.jump, logit.jump))};
      Noisy term = timesF32(power, at(*p.delta, row));
      if (!std::isfinite(term.value) || std::isinf(term.sigma))
        return {0, kInf};
      sum.add(-term.value, square(term.sigma), term.jump);
    }
  return sum.noisy();
}

/// The sequences of the op, checked against the tensors.
static FailureOr<SmallVector<Sequence>> sequencesOf(AttentionBackwardOp op,
                                                    const Operands &in) {
  const Tensor &query = in.of(op.getQuery()), &key = in.of(op.getKey());
  const Tensor *qOffsets = in.find(op.getQOffsets());
  const Tensor *kvOffsets = in.find(op.getKvOffsets());
  SmallVector<Sequence> sequences;
  if (!op.isRagged()) {
    for (int64_t b = 0; b < query.sizes[0]; ++b)
      sequences.push_back({b * query.sizes[1], query.sizes[1], b * key.sizes[1],
                           key.sizes[1], b});
    return sequences;
  }
  if (!qOffsets) {
    sequences.push_back({0, query.sizes[0], 0, key.sizes[0], 0});
    return sequences;
  }
  if (failed(requireSize(op, "length of kv_offsets", qOffsets->sizes[0],
                         kvOffsets->sizes[0])))
    return failure();
  auto check = [&](StringRef name, int64_t from, int64_t to,
                   int64_t rows) -> LogicalResult {
    if (from >= 0 && from <= to && to <= rows)
      return success();
    return op.emitOpError("expected ")
           << name << " to ascend from 0 to at most " << rows << ", but got "
           << from << " to " << to;
  };
  for (int64_t b = 0; b + 1 < qOffsets->sizes[0]; ++b) {
    auto number = [&](const Tensor *t, int64_t i) {
      return static_cast<int64_t>(t->values[i]);
    };
    int64_t q = number(qOffsets, b), qEnd = number(qOffsets, b + 1);
    int64_t k = number(kvOffsets, b), kEnd = number(kvOffsets, b + 1);
    if (failed(check("q_offsets", q, qEnd, query.sizes[0])) ||
        failed(check("kv_offsets", k, kEnd, key.sizes[0])))
      return failure();
    sequences.push_back({q, qEnd - q, k, kEnd - k, b});
  }
  return sequences;
}

/// Operands whose sizes no type may have told.
static LogicalResult checkSizes(AttentionBackwardOp op, const Operands &in) {
  const Tensor &query = in.of(op.getQuery()), &key = in.of(op.getKey());
  SmallVector<int64_t> values(key.sizes), gradients(query.sizes);
  values.back() = gradients.back() = in.of(op.getValue()).sizes.back();
  ArrayRef<int64_t> rows = ArrayRef<int64_t>(query.sizes).drop_back();
  if (!op.isRagged() &&
      failed(requireSize(op, "sequences of key", query.sizes[0], key.sizes[0])))
    return failure();
  if (failed(requireSizes(op, "value", values, in.of(op.getValue()).sizes)) ||
      failed(requireSizes(op, "gradient", gradients,
                          in.of(op.getGradient()).sizes)))
    return failure();
  if (!op.getLse())
    return success();
  if (failed(requireSizes(op, "lse", rows, in.of(op.getLse()).sizes)))
    return failure();
  return requireSizes(op, "delta", rows, in.of(op.getDelta()).sizes);
}

static Problem problemOf(AttentionBackwardOp op, const Operands &in) {
  const Tensor &query = in.of(op.getQuery()), &key = in.of(op.getKey());
  const Tensor &value = in.of(op.getValue());
  Problem p{op,
            query,
            key,
            value,
            in.of(op.getGradient()),
            in.find(op.getLse()),
            in.find(op.getDelta()),
            query.sizes[query.sizes.size() - 2],
            key.sizes[key.sizes.size() - 2],
            query.sizes.back(),
            value.sizes.back(),
            op.getScale().convertToFloat(),
            std::nullopt,
            PositionRegion(op.getScore()),
            PositionRegion(op.getSlope()),
            PositionRegion(op.getWeight()),
            {}};
  if (op.getSoftcap())
    p.softcap = op.getSoftcap()->convertToFloat();
  for (Value read : op.getReads())
    p.reads.push_back(&in.of(read));
  return p;
}

static LogicalResult evaluateBackward(Operation *operation, const Operands &in,
                                      Results &out) {
  auto op = cast<AttentionBackwardOp>(operation);
  if (failed(checkSizes(op, in)))
    return failure();
  FailureOr<SmallVector<Sequence>> sequences = sequencesOf(op, in);
  if (failed(sequences))
    return failure();
  Problem p = problemOf(op, in);
  Gradients gradients{{resultDType(op, 0), p.query.sizes},
                      {resultDType(op, 1), p.key.sizes},
                      {resultDType(op, 2), p.value.sizes},
                      {}};
  std::optional<ResultBuilder> dbias;
  if (op.getDbias()) {
    int64_t sequences = op.sumsDbias() ? 1 : p.query.sizes[0];
    bool ragged = op.isRagged();
    ArrayRef<int64_t> own = tensorType(op.getDbias()).getShape();
    int64_t queries = ragged ? own[2] : p.query.sizes[1];
    int64_t keys = ragged ? own[3] : p.key.sizes[1];
    gradients.biasQueries = queries;
    gradients.biasKeys = keys;
    dbias.emplace(*dtypeOf(tensorType(op.getDbias()).getElementType()),
                  SmallVector<int64_t>{sequences, p.heads, queries, keys});
    gradients.bias.resize(sequences * p.heads * queries * keys);
  }
  std::atomic<bool> broken = false;
  for (const Sequence &s : *sequences)
    llvm::parallelFor(0, p.kvHeads, [&](size_t head) {
      if (failed(HeadGradients(p, s, int64_t(head), gradients).run()))
        broken = true;
    });
  if (broken)
    return failure();
  out.push_back(gradients.query.take());
  out.push_back(gradients.key.take());
  out.push_back(gradients.value.take());
  if (op.getDsink()) {
    const Tensor &sink = in.of(op.getSink());
    ResultBuilder dsink(DType::F32, {p.heads});
    for (int64_t head = 0; head < p.heads; ++head)
      dsink.set(head, sinkGradient(p, *sequences, sink, head));
    out.push_back(dsink.take());
  }
  if (!dbias)
    return success();
  for (auto [i, sum] : llvm::enumerate(gradients.bias))
    dbias->set(int64_t(i), sum.noisy());
  out.push_back(dbias->take());
  return success();
}

void reference::addAttentionBackward(EvaluatorTable &table) {
  table.add<AttentionBackwardOp>(evaluateBackward);
}
