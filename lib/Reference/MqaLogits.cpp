//===- MqaLogits.cpp - Logits of an indexer -------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One query and key at a time: a dot product per head, then the f32 operations
// of the definition.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

namespace {
struct Problem {
  const Tensor &query, &key, &weights;
  const Tensor *keyScales, *starts, *ends, *kvLens, *blockTable;
  int64_t sequences, queries, heads, headSize;
  /// Keys that a result row has an element for.
  int64_t keys;

  /// Row of key `j` in the key tensor; -1 outside of it.
  int64_t keyRow(int64_t sequence, int64_t j) const {
    if (!blockTable)
      return j;
    int64_t rows = key.sizes[1], entries = blockTable->sizes[1];
    auto block =
        static_cast<int64_t>(blockTable->values[sequence * entries + j / rows]);
    return block < 0 || block >= key.sizes[0] ? -1 : block * rows + j % rows;
  }
  bool sees(int64_t sequence, int64_t i, int64_t j) const {
    if (blockTable)
      return j <= kvLens->values[sequence] - double(queries) + double(i);
    return (!starts || j >= starts->values[i]) &&
           (!ends || j < ends->values[i]);
  }
};
} // namespace

/// The dot product of two rows of exact products, summed in f32.
static Noisy dot(const Problem &p, int64_t q, int64_t k) {
  F32Sum sum;
  for (int64_t d = 0; d < p.headSize; ++d) {
    Noisy a = at(p.query, q + d), b = at(p.key, k + d);
    sum.add(a.value * b.value, square(sigmaOf(a, b.value, b, a.value)),
            jumpOf(a, b.value, b, a.value));
  }
  return sum.noisy();
}

/// `row` counts queries of all sequences, `key` is a row of the key tensor.
static Noisy logit(const Problem &p, int64_t row, int64_t key) {
  F32Sum sum;
  for (int64_t h = 0; h < p.heads; ++h) {
    Noisy x = dot(p, (row * p.heads + h) * p.headSize, key * p.headSize);
    if (p.keyScales)
      x = timesF32(x, at(*p.keyScales, key));
    Noisy term = timesF32(relu(x), at(p.weights, row * p.heads + h));
    sum.add(term.value, square(term.sigma), term.jump);
  }
  return sum.noisy();
}

static LogicalResult evaluate(Operation *operation, const Operands &in,
                              Results &out) {
  auto op = cast<MqaLogitsOp>(operation);
  const Tensor &query = in.of(op.getQuery()), &key = in.of(op.getKey());
  bool paged = op.isPaged();
  ArrayRef<int64_t> sizes = query.sizes;
  Problem p{query,
            key,
            in.of(op.getWeights()),
            in.find(op.getKeyScales()),
            in.find(op.getStarts()),
            in.find(op.getEnds()),
            in.find(op.getKvLens()),
            in.find(op.getBlockTable()),
            paged ? sizes[0] : 1,
            paged ? sizes[1] : sizes[0],
            sizes[sizes.size() - 2],
            sizes.back(),
            key.sizes[0]};
  if (paged)
    p.keys = p.blockTable->sizes[1] * key.sizes[1];

  SmallVector<int64_t> resultSizes(sizes.drop_back(2));
  resultSizes.push_back(p.keys);
  ResultBuilder result(resultDType(op), resultSizes);
  llvm::parallelFor(0, p.sequences * p.queries, [&](size_t row) {
    int64_t sequence = int64_t(row) / p.queries, i = int64_t(row) % p.queries;
    for (int64_t j = 0; j < p.keys; ++j) {
      int64_t from = p.sees(sequence, i, j) ? p.keyRow(sequence, j) : -1;
      result.set(int64_t(row) * p.keys + j,
                 from < 0 ? Noisy{-kInf, 0} : logit(p, int64_t(row), from));
    }
  });
  out.push_back(result.take());
  return success();
}

void reference::addMqaLogits(EvaluatorTable &table) {
  table.add<MqaLogitsOp>(evaluate);
}
