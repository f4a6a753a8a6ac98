//===- GatedDelta.cpp - The gated delta rule, token by token --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The recurrence in double. A correction depends on the whole column that it
// corrects: with w = beta k, element i of the new column has the slopes
// (1 - w_i k_i) and -w_i k_j, and these, not those of a sum of independent
// terms, propagate the noise. That keeps a bound that does not grow where the
// recurrence contracts. One flip of a value, a beta or a decay moves a whole
// column, and all terms of a result with it: that of the largest effect is
// carried along as a vector.
//
//===----------------------------------------------------------------------===//

#include "TokenSequences.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

FailureOr<TokenSequences> TokenSequences::of(Operation *op, const Tensor &lead,
                                             const Tensor *offsets) {
  TokenSequences result;
  if (!offsets) {
    result.sizes = {lead.sizes[0], lead.sizes[1]};
    for (int64_t b = 0; b < lead.sizes[0]; ++b)
      result.sequences.push_back(
          {b, b * lead.sizes[1], (b + 1) * lead.sizes[1]});
    return result;
  }
  result.sizes = {lead.sizes[0]};
  double previous = 0;
  for (auto [i, bound] : llvm::enumerate(offsets->values)) {
    if (bound < previous || bound > lead.sizes[0] || (i == 0 && bound != 0))
      return op->emitOpError("expected offsets to start at 0 and to ascend to "
                             "at most ")
             << lead.sizes[0] << ", but bound " << i << " is "
             << int64_t(bound);
    if (i > 0)
      result.sequences.push_back(
          {int64_t(i) - 1, int64_t(previous), int64_t(bound)});
    previous = bound;
  }
  return result;
}

namespace {

class Recurrence {
public:
  Recurrence(GatedDeltaRuleOp op, const Operands &in)
      : op(op), in(in), query(in.of(op.getQuery())), key(in.of(op.getKey())),
        value(in.of(op.getValue())), pool(op, in) {
    heads = query.sizes[query.sizes.size() - 2];
    keys = query.sizes.back();
    valueHeads = value.sizes[value.sizes.size() - 2];
    values = value.sizes.back();
    scale = op.getScale() ? f32(op.getScale()->convertToDouble())
                          : f32(1 / std::sqrt(double(keys)));
  }

  LogicalResult run(Results &out) {
    auto tokens = TokenSequences::of(op, query, optional(op.getOffsets()));
    if (failed(tokens))
      return failure();
    ResultBuilder result(resultDType(op), value.sizes);
    for (const TokenSequence &sequence : tokens->all())
      for (int64_t head = 0; head < valueHeads; ++head)
        runHead(sequence, head, result);
    out.push_back(result.take());
    pool.take(out);
    return success();
  }

private:
  const Tensor *optional(Value operand) const {
    return operand ? in.find(operand) : nullptr;
  }

  /// Query or key, normalised if that is asked for.
  SmallVector<Noisy> vectorOf(const Tensor &t, int64_t token, int64_t head) {
    Vector x{&t, (token * heads + head) * keys};
    SmallVector<Noisy> result;
    for (int64_t k = 0; k < keys; ++k)
      result.push_back(x[k]);
    if (!op.getL2norm())
      return result;
    F32Sum squares;
    for (Noisy v : result) {
      // Both factors are one value.
      double slope = 2 * v.value;
      squares.add(square(v.value), square(times(slope, v.sigma)),
                  times(slope, v.jump));
    }
    double epsilon = f32(op.getL2norm()->convertToDouble());
    Noisy factor = rsqrt(plusF32(squares.noisy(), {epsilon, 0}));
    for (Noisy &v : result)
      v = timesF32(v, factor);
    return result;
  }

  Noisy gate(Value operand, int64_t token, int64_t head, int64_t count,
             int64_t i, double absent, bool exponentiate) {
    const Tensor *t = optional(operand);
    if (!t)
      return {absent, 0};
    Noisy v = at(*t, (token * valueHeads + head) * count + i);
    return exponentiate ? inF32Range(exponential(v)) : v;
  }

  void runHead(const TokenSequence &sequence, int64_t head,
               ResultBuilder &result) {
    int64_t keyHead = head / (valueHeads / heads);
    std::vector<Noisy> state(keys * values);
    flips.assign(keys * values, 0);
    for (int64_t k = 0; k < keys; ++k)
      for (int64_t v = 0; v < values; ++v)
        state[k * values + v] = pool.load(sequence.number, head, k, v);
    for (int64_t t = sequence.begin; t < sequence.end; ++t) {
      SmallVector<Noisy> k = vectorOf(key, t, keyHead);
      SmallVector<Noisy> q = vectorOf(query, t, keyHead);
      for (Noisy &x : q)
        x = timesF32(x, {scale, 0});
      decay(state, t, head);
      for (int64_t v = 0; v < values; ++v) {
        if (op.getRule() == StateRule::delta)
          correct(state, k, t, head, v);
        else
          extend(state, k, t, head, v);
        result.set((t * valueHeads + head) * values + v, read(state, q, v));
      }
    }
    for (int64_t k = 0; k < keys; ++k)
      for (int64_t v = 0; v < values; ++v)
        pool.store(sequence.number, head, k, v, state[k * values + v]);
  }

  /// The product of a column with the query.
  Noisy read(const std::vector<Noisy> &state, ArrayRef<Noisy> q, int64_t v) {
    F32Sum sum;
    double flip = 0;
    for (int64_t i = 0; i < keys; ++i) {
      addProduct(sum, state[i * values + v], q[i]);
      flip += q[i].value * flips[i * values + v];
    }
    Noisy result = sum.noisy();
    if (std::isfinite(flip) && std::isfinite(result.sigma))
      result.jump = std::max(result.jump, std::fabs(flip));
    return result;
  }

  /// Takes a flip that moves element i of a column by factor(i) * jump, if its
  /// effect is larger than that of the one before.
  void flipColumn(int64_t column, double jump,
                  function_ref<double(int64_t)> factor) {
    double now = 0, before = 0;
    for (int64_t i = 0; i < keys; ++i) {
      now += square(factor(i) * jump);
      before += square(flips[i * values + column]);
    }
    if (!(now > before) || std::isinf(now))
      return;
    for (int64_t i = 0; i < keys; ++i)
      flips[i * values + column] = factor(i) * jump;
  }

  void decay(std::vector<Noisy> &state, int64_t token, int64_t head) {
    Noisy all = gate(op.getDecay(), token, head, 1, 0, 1, true);
    SmallVector<Noisy> rows;
    for (int64_t k = 0; k < keys; ++k)
      rows.push_back(gate(op.getKeyDecay(), token, head, keys, k, 1, true));
    for (int64_t v = 0; v < values; ++v) {
      Noisy column = gate(op.getValueDecay(), token, head, values, v, 1, true);
      // Of a column in one: the gates that all its elements share.
      double jump = jumpOf(all, column.value, column, all.value);
      auto before = [&](int64_t k) {
        return rows[k].value * state[k * values + v].value;
      };
      for (int64_t k = 0; k < keys; ++k)
        flips[k * values + v] *= all.value * rows[k].value * column.value;
      flipColumn(v, jump, before);
      for (int64_t k = 0; k < keys; ++k) {
        Noisy &s = state[k * values + v];
        if (op.getDecay())
          s = timesF32(s, all);
        if (op.getKeyDecay())
          s = timesF32(s, rows[k]);
        if (op.getValueDecay())
          s = timesF32(s, column);
      }
    }
  }

  Noisy betaOf(int64_t token, int64_t head, int64_t column) {
    const Tensor *beta = optional(op.getBeta());
    bool headwise = !beta || beta->sizes.size() + 1 == value.sizes.size();
    return gate(op.getBeta(), token, head, headwise ? 1 : values,
                headwise ? 0 : column, 1, false);
  }
  Noisy valueOf(int64_t token, int64_t head, int64_t column) {
    return at(value, (token * valueHeads + head) * values + column);
  }

  /// One column of the linear rule: S += k d with d = beta v.
  void extend(std::vector<Noisy> &state, ArrayRef<Noisy> k, int64_t token,
              int64_t head, int64_t column) {
    Noisy d =
        timesF32(betaOf(token, head, column), valueOf(token, head, column));
    for (int64_t i = 0; i < keys; ++i) {
      Noisy &s = state[i * values + column];
      s = plusF32(s, timesF32(k[i], d));
    }
    flipColumn(column, d.jump, [&](int64_t i) { return k[i].value; });
  }

  /// One column: S += k d with d = beta (v - S k).
  void correct(std::vector<Noisy> &state, ArrayRef<Noisy> k, int64_t token,
               int64_t head, int64_t column) {
    Noisy b = betaOf(token, head, column);
    // What d inherits from the state goes with the column, below.
    F32Sum dot;
    double inherited = 0; // of the state, per beta
    for (int64_t i = 0; i < keys; ++i) {
      Noisy s = state[i * values + column];
      inherited += square(times(k[i].value, s.sigma));
      addProduct(dot, {s.value, std::isinf(s.sigma) ? kInf : 0, s.jump}, k[i]);
    }
    Noisy own = plusF32(valueOf(token, head, column), [&] {
      Noisy sum = dot.noisy();
      return Noisy{-sum.value, sum.sigma, sum.jump};
    }());
    Noisy d = timesF32(b, own);
    for (int64_t i = 0; i < keys; ++i) {
      Noisy &s = state[i * values + column];
      Noisy update = timesF32(k[i], d);
      Noisy sum =
          plusF32({s.value, std::isinf(s.sigma) ? kInf : 0, s.jump}, update);
      double w = b.value * k[i].value, slope = 1 - w * k[i].value;
      double others = inherited - square(times(k[i].value, s.sigma));
      double variance =
          square(times(slope, s.sigma)) + square(w) * std::max(others, 0.0);
      if (std::isfinite(sum.value) && std::isfinite(variance))
        sum.sigma = hypot2(sum.sigma, std::sqrt(variance));
      else if (!std::isfinite(variance))
        sum.sigma = kInf;
      s = sum;
    }
    carryFlip(k, b, column);
    flipColumn(column, d.jump, [&](int64_t i) { return k[i].value; });
  }

  /// What a correction leaves of the flip.
  void carryFlip(ArrayRef<Noisy> k, Noisy b, int64_t column) {
    double along = 0;
    for (int64_t i = 0; i < keys; ++i)
      along += k[i].value * flips[i * values + column];
    for (int64_t i = 0; i < keys; ++i)
      flips[i * values + column] -= b.value * along * k[i].value;
  }

  GatedDeltaRuleOp op;
  const Operands &in;
  const Tensor &query, &key, &value;
  StatePool<GatedDeltaRuleOp> pool;
  /// By how much a column's flip of the largest effect moves its elements.
  std::vector<double> flips;
  int64_t heads, keys, valueHeads, values;
  double scale;
};

} // namespace

static LogicalResult evaluateGatedDeltaRule(Operation *op, const Operands &in,
                                            Results &out) {
  return Recurrence(cast<GatedDeltaRuleOp>(op), in).run(out);
}

void reference::addGatedDelta(EvaluatorTable &table) {
  table.add<GatedDeltaRuleOp>(evaluateGatedDeltaRule);
  addGatedDeltaChunks(table);
}
