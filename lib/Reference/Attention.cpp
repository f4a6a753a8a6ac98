//===- Attention.cpp - Attention ------------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One query at a time over the contiguous range of keys it sees. Kernels may
// round the probabilities to the type of the values before the second product,
// which the noise accounts for.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "hk/Contract/Slices.h"
#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;
using ::hk::DType;

namespace {
/// One sequence: its queries and keys.
struct Sequence {
  int64_t queryStart, numQueries; // rows of the query tensor
  int64_t keyStart, numKeys;      // rows of the key tensor, unless paged
  int64_t index;
};

struct Problem {
  AttentionOp op;
  const Tensor &query, &key, &value;
  const Tensor *blockTable, *sink;
  int64_t heads, kvHeads, headSize, valueSize;
  double scale;
  std::optional<double> softcap;
  DType probabilityType;
  /// Some value is infinite or NaN.
  bool specialValues;
  /// The slice of the keys that counts, and the number of its result row before
  /// the first query.
  int64_t slice = 0, firstRow = 0;

  /// Row of key `j` in the key and value tensors; -1 outside of them.
  int64_t keyRow(const Sequence &s, int64_t j) const {
    if (!blockTable)
      return s.keyStart + j;
    int64_t blockSize = key.sizes[1], perSequence = blockTable->sizes[1];
    int64_t slot = j / blockSize;
    if (slot >= perSequence)
      return -1;
    auto block =
        static_cast<int64_t>(blockTable->values[s.index * perSequence + slot]);
    return block < 0 || block >= key.sizes[0]
               ? -1
               : block * blockSize + j % blockSize;
  }
};

/// Keys [begin, end) that query i of `s` sees.
struct KeyRange {
  int64_t begin, end;
};
} // namespace

static KeyRange visibleKeys(AttentionOp op, const Sequence &s, int64_t i) {
  int64_t diagonal = i + s.numKeys - s.numQueries;
  KeyRange r{0, s.numKeys};
  if (op.getCausal())
    r.end = std::min(r.end, diagonal + 1);
  if (auto w = op.getWindowLeft())
    r.begin = std::max<int64_t>(r.begin, diagonal - static_cast<int64_t>(*w));
  if (auto w = op.getWindowRight())
    r.end = std::min<int64_t>(r.end, diagonal + static_cast<int64_t>(*w) + 1);
  r.end = std::max(r.end, r.begin);
  return r;
}

/// Those of them that are in slice `slice`.
static KeyRange visibleKeys(AttentionOp op, const Sequence &s, int64_t slice,
                            int64_t i) {
  KeyRange r = visibleKeys(op, s, i);
  if (!op.getKvSlices())
    return r;
  int64_t window = op.getWindowLeft() ? int64_t(*op.getWindowLeft()) : -1;
  int64_t base = ::hk::firstSlicedKey(s.numKeys, s.numQueries, window);
  int64_t each = ::hk::sliceLength(s.numKeys - base, op.getNumSlices());
  r.begin = std::max(r.begin, base + slice * each);
  r.end = std::max(r.begin, std::min(r.end, base + (slice + 1) * each));
  return r;
}

/// scale * (q . k), soft capped.
static Noisy score(const Problem &p, int64_t q, int64_t k) {
  double sum = 0, squares = 0, inherited = 0;
  const double *query = &p.query.values[q], *key = &p.key.values[k];
  for (int64_t d = 0; d < p.headSize; ++d) {
    double product = query[d] * key[d];
    sum += product;
    squares += product * product;
  }
  if (!p.query.error.empty())
    for (int64_t d = 0; d < p.headSize; ++d)
      inherited += square(p.query.error[q + d] * key[d]);
  if (!p.key.error.empty())
    for (int64_t d = 0; d < p.headSize; ++d)
      inherited += square(p.key.error[k + d] * query[d]);
  double own =
      std::max(p.headSize * squares / 2, p.headSize * sum * sum / 3) + squares;
  Noisy s{inF32Range(sum * p.scale), 0};
  s.sigma = hypot2(p.scale * std::sqrt(own * kUnit * kUnit + inherited),
                   2 * kUnit * std::fabs(s.value));
  if (orderDecides(sum, p.headSize, squares))
    return {s.value, kInf};
  bool jumps = !p.query.jump.empty() || !p.key.jump.empty();
  for (int64_t d = 0; jumps && d < p.headSize; ++d)
    s.jump = std::max({s.jump, times(p.scale * key[d], p.query.jumpAt(q + d)),
                       times(p.scale * query[d], p.key.jumpAt(k + d))});
  if (!p.softcap)
    return s;
  double t = std::tanh(s.value / *p.softcap), value = *p.softcap * t;
  return {value, hypot2((1 - t * t) * s.sigma, noiseOfUlps(value, 4)),
          times(1 - t * t, s.jump)};
}

/// Relative noise of rounding a probability to the type it is multiplied in.
static double probabilityNoise(DType dtype) {
  double unit = dtype == DType::BF16  ? 0x1p-9
                : dtype == DType::F16 ? 0x1p-12
                                      : kUnit;
  return unit / std::sqrt(3.0);
}

/// Of a log-sum-exp whose largest score is `top`: the change of the base and
/// the sum with the logarithm.
static double lseNoise(double top) {
  return std::isfinite(top) ? 2 * kUnit * (std::fabs(top) + 1) : 0;
}

/// One query of one head: writes its row of the result, and its LSE.
static void attend(const Problem &p, const Sequence &s, int64_t i, int64_t head,
                   ResultBuilder &result, ResultBuilder *lse) {
  int64_t kvHead = head / (p.heads / p.kvHeads);
  int64_t queryRow = (s.queryStart + i) * p.heads + head;
  int64_t row = p.firstRow + queryRow;
  KeyRange range = visibleKeys(p.op, s, p.slice, i);
  int64_t count = range.end - range.begin;

  std::vector<Noisy> scores(count);
  std::vector<int64_t> keys(count); // of (row, head)
  double top = p.sink ? p.sink->values[head] : -kInf;
  for (int64_t j = 0; j < count; ++j) {
    keys[j] = p.keyRow(s, range.begin + j) * p.kvHeads + kvHead;
    scores[j] = score(p, queryRow * p.headSize, keys[j] * p.headSize);
    top = std::isnan(scores[j].value) || std::isnan(top)
              ? kNaN
              : std::max(top, scores[j].value);
  }
  auto setAll = [&](Noisy value) {
    for (int64_t d = 0; d < p.valueSize; ++d)
      result.set(row * p.valueSize + d, value);
  };
  if (count == 0) {
    Noisy end{-kInf, 0};
    if (p.sink) {
      // Through the base of the kernel's powers and back, as below.
      end = at(*p.sink, head);
      end.sigma = hypot2(end.sigma, lseNoise(end.value));
    }
    if (lse)
      lse->set(row, end);
    return; // The result stays zero.
  }
  if (llvm::any_of(scores, [](Noisy s) { return std::isinf(s.sigma); })) {
    if (lse)
      lse->set(row, {top, kInf});
    return setAll({0, kInf});
  }
  // Scores of -inf are those of keys that the query does not see.
  if (top == -kInf) {
    if (lse)
      lse->set(row, {-kInf, 0});
    return setAll({0, p.specialValues ? kInf : 0});
  }

  // Weights and the noise of each, relative to it: of the exponent's argument,
  // of exp and of the rounding for the second product.
  double total = p.sink ? std::exp(p.sink->values[head] - top) : 0;
  double totalVariance = 0;
  std::vector<double> weight(count), variance(count);
  for (int64_t j = 0; j < count; ++j) {
    double difference = scores[j].value - top;
    weight[j] = std::exp(difference);
    total += weight[j];
    double argument =
        std::isfinite(difference)
            ? hypot2(scores[j].sigma, kUnit * (std::fabs(difference) +
                                               std::fabs(scores[j].value)))
            : 0;
    variance[j] = square(argument) + square(3 * kUnit);
    totalVariance += square(weight[j]) * variance[j];
    variance[j] += square(probabilityNoise(p.probabilityType));
  }
  double sumNoise = kUnit * std::sqrt(count / 2.0 + 1);
  if (lse)
    lse->set(row, {top + std::log(total),
                   hypot2(hypot2(std::sqrt(totalVariance) / total, sumNoise),
                          lseNoise(top))});

  // Keys outside, so that rows of values are read in order.
  std::vector<double> mean(p.valueSize), inherited(p.valueSize),
      squares(p.valueSize), jump(p.valueSize);
  std::vector<bool> open(p.valueSize); // where anything is right for a value
  for (int64_t j = 0; j < count; ++j) {
    const double *v = &p.value.values[keys[j] * p.valueSize];
    double w = weight[j] / total;
    for (int64_t d = 0; d < p.valueSize; ++d)
      mean[d] += w * v[d];
  }
  // The total is summed before the rounding of the weights.
  double unrounded = square(probabilityNoise(p.probabilityType));
  for (int64_t j = 0; j < count; ++j) {
    int64_t at = keys[j] * p.valueSize;
    const double *v = &p.value.values[at];
    double w2 = square(weight[j] / total);
    for (int64_t d = 0; d < p.valueSize; ++d) {
      inherited[d] += w2 * (variance[j] * square(v[d] - mean[d]) +
                            unrounded * square(mean[d]));
      squares[d] += w2 * square(v[d]);
    }
    if (scores[j].jump > 0 || !p.value.jump.empty())
      for (int64_t d = 0; d < p.valueSize; ++d) {
        double change = std::max(times(v[d] - mean[d], scores[j].jump),
                                 p.value.jumpAt(at + d));
        jump[d] = std::max(jump[d], times(weight[j] / total, change));
      }
    if (!p.value.error.empty())
      for (int64_t d = 0; d < p.valueSize; ++d) {
        inherited[d] += w2 * square(p.value.error[at + d]);
        open[d] = open[d] || std::isinf(p.value.error[at + d]);
      }
  }
  for (int64_t d = 0; d < p.valueSize; ++d) {
    double own = std::max(count * squares[d] / 2, count * square(mean[d]) / 3) +
                 squares[d] + square(mean[d]);
    double sigma = hypot2(std::sqrt(inherited[d] + 2 * own * kUnit * kUnit),
                          sumNoise * std::fabs(mean[d]));
    result.set(row * p.valueSize + d, {inF32Range(mean[d]),
                                       open[d]                ? kInf
                                       : std::isfinite(sigma) ? sigma
                                                              : 0,
                                       std::isfinite(jump[d]) ? jump[d] : 0});
  }
  // A kernel multiplies keys that the query does not see by 0, which an
  // infinite value turns into NaN: anything is right then.
  if (!p.specialValues)
    return;
  for (int64_t j = 0; j < s.numKeys; ++j) {
    if (j >= range.begin && j < range.end)
      continue;
    int64_t at = (p.keyRow(s, j) * p.kvHeads + kvHead) * p.valueSize;
    for (int64_t d = 0; d < p.valueSize; ++d)
      if (!std::isfinite(p.value.values[at + d]))
        result.set(row * p.valueSize + d, {inF32Range(mean[d]), kInf});
  }
}

/// The sequences of the op, checked against the tensors.
static FailureOr<SmallVector<Sequence>> sequencesOf(AttentionOp op,
                                                    const Operands &in) {
  const Tensor &query = in.of(op.getQuery()), &key = in.of(op.getKey());
  const Tensor *qOffsets = in.find(op.getQOffsets());
  const Tensor *kvOffsets = in.find(op.getKvOffsets());
  const Tensor *kvLens = in.find(op.getKvLens());
  bool ragged = op.hasRaggedQueries();
  int64_t count = !ragged    ? query.sizes[0]
                  : qOffsets ? qOffsets->sizes[0] - 1
                             : 1;
  KeyForm form = op.getKeyForm();
  if ((kvOffsets && failed(requireSize(op, "length of kv_offsets", count + 1,
                                       kvOffsets->sizes[0]))) ||
      (kvLens &&
       failed(requireSize(op, "length of kv_lens", count, kvLens->sizes[0]))) ||
      (form == KeyForm::Dense &&
       failed(requireSize(op, "sequences of key", count, key.sizes[0]))) ||
      (form == KeyForm::Paged &&
       failed(requireSize(op, "rows of block_table", count,
                          in.of(op.getBlockTable()).sizes[0]))))
    return failure();
  auto number = [](const Tensor *t, int64_t i) {
    return static_cast<int64_t>(t->values[i]);
  };
  SmallVector<Sequence> sequences;
  for (int64_t b = 0; b < count; ++b) {
    Sequence s{0, 0, 0, 0, b};
    s.queryStart = !ragged    ? b * query.sizes[1]
                   : qOffsets ? number(qOffsets, b)
                              : 0;
    s.numQueries = !ragged    ? query.sizes[1]
                   : qOffsets ? number(qOffsets, b + 1) - s.queryStart
                              : query.sizes[0];
    int64_t capacity = 0;
    switch (form) {
    case KeyForm::Ragged:
      s.keyStart = kvOffsets ? number(kvOffsets, b) : 0;
      s.numKeys =
          kvOffsets ? number(kvOffsets, b + 1) - s.keyStart : key.sizes[0];
      capacity = key.sizes[0] - s.keyStart;
      break;
    case KeyForm::Dense:
      s.keyStart = b * key.sizes[1];
      capacity = key.sizes[1];
      s.numKeys = kvLens ? number(kvLens, b) : capacity;
      break;
    case KeyForm::Paged:
      capacity = in.of(op.getBlockTable()).sizes[1] * key.sizes[1];
      s.numKeys = number(kvLens, b);
      break;
    }
    if (s.numKeys < 0 || s.numKeys > capacity)
      return op->emitOpError("expected number of keys of sequence ")
             << b << " to be in [0, " << capacity << "], but got " << s.numKeys;
    if (s.queryStart < 0 || s.numQueries < 0 ||
        (ragged && s.queryStart + s.numQueries > query.sizes[0]))
      return op->emitOpError("expected q_offsets to ascend from 0 to at most ")
             << query.sizes[0] << ", but got " << s.queryStart << " to "
             << s.queryStart + s.numQueries << " for sequence " << b;
    sequences.push_back(s);
  }
  // Queries behind the last offset are those of a sequence without keys.
  if (qOffsets && count >= 0) {
    int64_t start = number(qOffsets, count);
    sequences.push_back({start, query.sizes[0] - start, 0, 0, count});
  }
  return sequences;
}

static LogicalResult evaluateAttention(Operation *operation, const Operands &in,
                                       Results &out) {
  auto op = cast<AttentionOp>(operation);
  FailureOr<SmallVector<Sequence>> sequences = sequencesOf(op, in);
  if (failed(sequences))
    return failure();
  const Tensor &query = in.of(op.getQuery()), &key = in.of(op.getKey());
  const Tensor &value = in.of(op.getValue());
  Problem p{
      op,
      query,
      key,
      value,
      in.find(op.getBlockTable()),
      in.find(op.getSink()),
      query.sizes[query.sizes.size() - 2],
      key.sizes[key.sizes.size() - 2],
      query.sizes.back(),
      value.sizes.back(),
      op.getScale().convertToFloat(),
      std::nullopt,
      value.dtype,
      llvm::any_of(value.values, [](double v) { return !std::isfinite(v); })};
  if (op.getSoftcap())
    p.softcap = op.getSoftcap()->convertToFloat();

  SmallVector<int64_t> sizes(query.sizes);
  sizes.back() = p.valueSize;
  if (op.getKvSlices())
    sizes.insert(sizes.begin(), op.getNumSlices());
  ResultBuilder result(resultDType(op), sizes);
  std::optional<ResultBuilder> lse;
  sizes.pop_back();
  if (op.getLse())
    lse.emplace(DType::F32, sizes);
  int64_t rows = 1; // of one slice
  for (int64_t size : ArrayRef<int64_t>(query.sizes).drop_back())
    rows *= size;
  for (const Sequence &s : *sequences) {
    for (int64_t j = 0; j < s.numKeys; ++j)
      if (p.keyRow(s, j) < 0)
        return op.emitOpError("expected block_table of sequence ")
               << s.index << " to name a block of the cache for key " << j;
    for (int64_t slice = 0; slice < op.getNumSlices(); ++slice) {
      p.slice = slice;
      p.firstRow = slice * rows;
      llvm::parallelFor(0, s.numQueries, [&](size_t i) {
        for (int64_t head = 0; head < p.heads; ++head)
          attend(p, s, i, head, result, lse ? &*lse : nullptr);
      });
    }
  }
  out.push_back(result.take());
  if (lse)
    out.push_back(lse->take());
  return success();
}

static LogicalResult evaluateAttentionCombine(Operation *operation,
                                              const Operands &in,
                                              Results &out) {
  auto op = cast<AttentionCombineOp>(operation);
  const Tensor &partials = in[0], &sliceLse = in[1];
  const Tensor *sink = in.find(op.getSink());
  ArrayRef<int64_t> sizes = ArrayRef<int64_t>(partials.sizes).drop_front();
  int64_t slices = partials.sizes[0], width = sizes.back();
  int64_t heads = sizes[sizes.size() - 2];
  int64_t rows = slices == 0 ? 0 : sliceLse.numElements() / slices;
  if (failed(requireSizes(op, "slice_lse",
                          ArrayRef<int64_t>(partials.sizes).drop_back(),
                          sliceLse.sizes)) ||
      (sink && failed(requireSizes(op, "sink", {heads}, sink->sizes))))
    return failure();
  ResultBuilder result(resultDType(op), sizes);
  std::optional<ResultBuilder> lse;
  if (op.getLse())
    lse.emplace(DType::F32, sizes.drop_back());
  std::vector<double> weight(slices), relative(slices);
  for (int64_t row = 0; row < rows; ++row) {
    double top = sink ? sink->values[row % heads] : -kInf;
    for (int64_t s = 0; s < slices; ++s) {
      double v = sliceLse.values[s * rows + row];
      top = std::isnan(v) || std::isnan(top) ? kNaN : std::max(top, v);
    }
    if (top == -kInf) { // The result stays zero.
      if (lse)
        lse->set(row, {-kInf, 0});
      continue;
    }
    // Noise of each weight, relative to it: of the argument and of exp.
    F32Sum total;
    bool open = false; // anything is right for an LSE, so for all
    if (sink)
      total.add(std::exp(sink->values[row % heads] - top));
    for (int64_t s = 0; s < slices; ++s) {
      double v = sliceLse.values[s * rows + row];
      weight[s] = std::exp(v - top);
      open |= std::isinf(sliceLse.errorAt(s * rows + row));
      double argument = std::isfinite(v) ? kUnit * std::fabs(v - top) : 0;
      relative[s] = hypot2(hypot2(sliceLse.errorAt(s * rows + row), argument),
                           noiseOfUlps(1, 2));
      total.add(weight[s], square(weight[s] * relative[s]));
    }
    double sumNoise = total.sigma() / total.value();
    if (lse)
      lse->set(row, {inF32Range(top + std::log(total.value())),
                     hypot2(sumNoise, 2 * kUnit * (std::fabs(top) + 1))});
    for (int64_t d = 0; d < width; ++d) {
      F32Sum sum;
      double mean = 0;
      bool openHere = open;
      for (int64_t s = 0; s < slices; ++s)
        mean += weight[s] / total.value() *
                partials.values[(s * rows + row) * width + d];
      for (int64_t s = 0; s < slices; ++s) {
        Noisy v = at(partials, (s * rows + row) * width + d);
        double w = weight[s] / total.value();
        openHere |= std::isinf(v.sigma);
        // A weight's noise moves the sum towards its value.
        sum.add(w * v.value,
                square(w * v.sigma) +
                    square(w * relative[s]) * square(v.value - mean) +
                    square(2 * kUnit * w * v.value),
                times(w, v.jump));
      }
      double sigma = hypot2(sum.sigma(), 3 * kUnit * mean);
      result.set(row * width + d, {inF32Range(mean),
                                   openHere               ? kInf
                                   : std::isfinite(sigma) ? sigma
                                                          : 0,
                                   sum.noisy().jump});
    }
  }
  out.push_back(result.take());
  if (lse)
    out.push_back(lse->take());
  return success();
}

void reference::addAttention(EvaluatorTable &table) {
  table.add<AttentionOp>(evaluateAttention);
  table.add<AttentionCombineOp>(evaluateAttentionCombine);
}
