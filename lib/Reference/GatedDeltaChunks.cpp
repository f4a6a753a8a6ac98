//===- GatedDeltaChunks.cpp - The chunked gated delta rule ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operator after the other, chunk by chunk, element by element.
//
//===----------------------------------------------------------------------===//

#include "TokenSequences.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::reference;

namespace {

/// Tokens [begin, end) of chunk number `index` of a sequence.
struct Chunk {
  const TokenSequence *sequence;
  int64_t index, begin, end;
  int64_t size() const { return end - begin; }
};

/// What the chunk operators share: sequences, and elements named by token.
class Chunks {
public:
  Chunks(Operation *op, const Operands &in, Value lead, Value offsets,
         int64_t chunk)
      : op(op), in(in), lead(lead), offsets(offsets), size(chunk) {}

  LogicalResult init() {
    auto found = TokenSequences::of(op, in.of(lead),
                                    offsets ? in.find(offsets) : nullptr);
    if (failed(found))
      return failure();
    tokens = *found;
    return success();
  }

  int64_t leadingDims() const { return tokens.leading().size(); }
  const TokenSequences &sequences() const { return tokens; }
  /// The sizes of a result with the tokens and this tail.
  SmallVector<int64_t> sizes(ArrayRef<int64_t> tail) const {
    SmallVector<int64_t> all(tokens.leading());
    all.append(tail.begin(), tail.end());
    return all;
  }
  void forEach(function_ref<void(const Chunk &)> body) const {
    for (const TokenSequence &sequence : tokens.all())
      forEach(sequence, body);
  }
  void forEach(const TokenSequence &sequence,
               function_ref<void(const Chunk &)> body) const {
    for (int64_t begin = sequence.begin, i = 0; begin < sequence.end;
         begin += size, ++i)
      body({&sequence, i, begin, std::min(begin + size, sequence.end)});
  }
  /// Where hk.chunk_state keeps the state before a chunk: [slot, ...].
  int64_t slot(const Chunk &chunk) const {
    const TokenSequence &sequence = *chunk.sequence;
    if (offsets)
      return sequence.begin / size + sequence.number + chunk.index;
    int64_t length = tokens.leading()[1];
    return sequence.number * ((length + size - 1) / size) + chunk.index;
  }

  /// Elements of one head of one token of an operand [.., heads, n].
  Vector vector(Value operand, int64_t token, int64_t head) const {
    const Tensor &t = in.of(operand);
    int64_t n = t.sizes.back(), heads = t.sizes[t.sizes.size() - 2];
    return {&t, (token * heads + head) * n};
  }
  /// An element of an optional operand [.., heads].
  Noisy scalar(Value operand, int64_t token, int64_t head,
               double absent) const {
    if (!operand)
      return {absent, 0};
    const Tensor &t = in.of(operand);
    return at(t, token * t.sizes.back() + head);
  }
  /// exp(decay[to] - decay[from]).
  Noisy decayed(Value decay, int64_t head, int64_t to, int64_t from) const {
    if (!decay)
      return {1, 0};
    Noisy a = scalar(decay, to, head, 0), b = scalar(decay, from, head, 0);
    return inF32Range(exponential(plusF32(a, {-b.value, b.sigma, b.jump})));
  }
  Noisy expOf(Value decay, int64_t head, int64_t token) const {
    return decay ? inF32Range(exponential(scalar(decay, token, head, 0)))
                 : Noisy{1, 0};
  }

private:
  Operation *op;
  const Operands &in;
  Value lead, offsets;
  int64_t size;
  TokenSequences tokens;
};

} // namespace

static int64_t sizeOf(Value value, int64_t fromLast) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape[shape.size() - 1 - fromLast];
}

static Noisy dot(Vector a, Vector b, int64_t n) {
  F32Sum sum;
  for (int64_t i = 0; i < n; ++i)
    addProduct(sum, a[i], b[i]);
  return sum.noisy();
}

static LogicalResult evaluateChunkKkt(Operation *operation, const Operands &in,
                                      Results &out) {
  auto op = cast<ChunkKktOp>(operation);
  auto size = static_cast<int64_t>(op.getChunk());
  Chunks chunks(op, in, op.getKey(), op.getOffsets(), size);
  if (failed(chunks.init()))
    return failure();
  int64_t valueHeads = sizeOf(op.getResult(), 1), keys = sizeOf(op.getKey(), 0);
  int64_t share = valueHeads / sizeOf(op.getKey(), 1);
  ResultBuilder result(resultDType(op), chunks.sizes({valueHeads, size}));
  chunks.forEach([&](const Chunk &chunk) {
    for (int64_t h = 0; h < valueHeads; ++h)
      for (int64_t i = chunk.begin; i < chunk.end; ++i)
        for (int64_t j = chunk.begin; j < i; ++j) {
          Noisy product = dot(chunks.vector(op.getKey(), i, h / share),
                              chunks.vector(op.getKey(), j, h / share), keys);
          product = timesF32(product, chunks.decayed(op.getDecay(), h, i, j));
          product = timesF32(product, chunks.scalar(op.getBeta(), i, h, 1));
          result.set((i * valueHeads + h) * size + j - chunk.begin, product);
        }
  });
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateSolveTril(Operation *operation, const Operands &in,
                                       Results &out) {
  auto op = cast<SolveTrilOp>(operation);
  int64_t size = op.getChunk(), heads = sizeOf(op.getInput(), 1);
  Chunks chunks(op, in, op.getInput(), op.getOffsets(), size);
  if (failed(chunks.init()))
    return failure();
  ResultBuilder result(resultDType(op), chunks.sizes({heads, size}));
  chunks.forEach([&](const Chunk &chunk) {
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t j = 0; j < chunk.size(); ++j) {
        SmallVector<Noisy> x(chunk.size()); // column j; 0 above the diagonal
        x[j] = {1, 0};
        for (int64_t i = j + 1; i < chunk.size(); ++i) {
          Vector a = chunks.vector(op.getInput(), chunk.begin + i, h);
          F32Sum sum;
          for (int64_t l = j; l < i; ++l)
            addProduct(sum, a[l], x[l]);
          Noisy v = sum.noisy();
          x[i] = {-v.value, v.sigma, v.jump};
        }
        for (int64_t i = j; i < chunk.size(); ++i)
          result.set(((chunk.begin + i) * heads + h) * size + j, x[i]);
      }
  });
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateChunkWU(Operation *operation, const Operands &in,
                                     Results &out) {
  auto op = cast<ChunkWUOp>(operation);
  Chunks chunks(op, in, op.getKey(), op.getOffsets(), op.getChunk());
  if (failed(chunks.init()))
    return failure();
  int64_t heads = sizeOf(op.getValue(), 1);
  int64_t share = heads / sizeOf(op.getKey(), 1);
  auto correct = [&](Value x, int64_t sharing, Value decay, unsigned number) {
    int64_t n = sizeOf(x, 0);
    ::hk::DType dtype = resultDType(op, number);
    ResultBuilder result(dtype, chunks.sizes({heads, n}));
    chunks.forEach([&](const Chunk &chunk) {
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t c = 0; c < n; ++c) {
          SmallVector<Noisy> terms;
          for (int64_t j = chunk.begin; j < chunk.end; ++j) {
            Noisy factor = chunks.scalar(op.getBeta(), j, h, 1);
            if (decay)
              factor = timesF32(factor, chunks.expOf(decay, h, j));
            terms.push_back(rounded(
                dtype, timesF32(chunks.vector(x, j, h / sharing)[c], factor)));
          }
          for (int64_t i = 0; i < chunk.size(); ++i) {
            Vector row = chunks.vector(op.getInverse(), chunk.begin + i, h);
            F32Sum sum;
            for (int64_t j = 0; j <= i; ++j)
              addProduct(sum, row[j], terms[j]);
            result.set(((chunk.begin + i) * heads + h) * n + c, sum.noisy());
          }
        }
    });
    out.push_back(result.take());
  };
  correct(op.getKey(), share, op.getDecay(), 0);
  correct(op.getValue(), 1, {}, 1);
  return success();
}

/// `v`, which may be rounded to `dtype` or not: half a spacing either way.
static Noisy perhapsRounded(::hk::DType dtype, Noisy v) {
  Noisy result = rounded(dtype, v);
  double ulp = ulpOf(dtype, result.value);
  if (std::isfinite(v.value) && (v.sigma != 0 || result.value != v.value))
    result.sigma = hypot2(result.sigma, ulp / std::sqrt(12.0));
  return result;
}

/// `v`, rounded to some number of at least twice the digits of `dtype`.
static Noisy twiceAsLong(::hk::DType dtype, Noisy v) {
  if (dtype == ::hk::DType::F32 || !std::isfinite(v.value))
    return v;
  double epsilon = ulpOf(dtype, 1.0), ulp = epsilon * ulpOf(dtype, v.value);
  v.sigma = hypot2(v.sigma, std::max(ulp, kSmallest) / std::sqrt(12.0));
  return v;
}

/// Segments of equally many chunks, the last perhaps of fewer.
static int64_t chunksOfSegment(const TokenSequence &sequence, int64_t chunk,
                               int64_t segments) {
  int64_t chunks = (sequence.end - sequence.begin + chunk - 1) / chunk;
  return (chunks + segments - 1) / segments;
}

namespace {
/// One pass of hk.chunk_state over the chunks of a sequence and head.
class StatePass {
public:
  StatePass(ChunkStateOp op, const Operands &in, const Chunks &chunks,
            StatePool<ChunkStateOp> &pool, ResultBuilder &states,
            ResultBuilder &vNew)
      : op(op), in(in), chunks(chunks), pool(pool), states(states), vNew(vNew),
        heads(sizeOf(op.getU(), 1)), keys(sizeOf(op.getKey(), 0)),
        values(sizeOf(op.getU(), 0)), share(heads / sizeOf(op.getKey(), 1)),
        dtype(resultDType(op)) {}

  void run(const TokenSequence &sequence, int64_t head) {
    int64_t each =
        chunksOfSegment(sequence, int64_t(op.getChunk()), op.getSegments());
    for (int64_t v = 0; v < values; ++v) {
      SmallVector<Noisy> column(keys);
      for (int64_t k = 0; k < keys; ++k)
        column[k] = pool.load(sequence.number, head, k, v);
      chunks.forEach(sequence, [&](const Chunk &chunk) {
        if (op.getStarts() && chunk.index % each == 0)
          column = start(chunk.index / each, sequence.number, head, v);
        step(chunk, head, v, column);
      });
      for (int64_t k = 0; k < keys; ++k)
        pool.store(sequence.number, head, k, v, column[k]);
    }
  }

private:
  /// What segment `segment` begins with.
  SmallVector<Noisy> start(int64_t segment, int64_t sequence, int64_t head,
                           int64_t v) {
    const Tensor &t = in.of(op.getStarts());
    SmallVector<Noisy> column;
    for (int64_t k = 0; k < keys; ++k)
      column.push_back(
          at(t, (((segment * t.sizes[1] + sequence) * heads + head) * keys +
                 k) * values +
                    v));
    return column;
  }

  void step(const Chunk &chunk, int64_t head, int64_t v,
            SmallVectorImpl<Noisy> &column) {
    SmallVector<Noisy> start, onTheWay;
    bool infinite = false;
    for (int64_t k = 0; k < keys; ++k) {
      start.push_back(rounded(dtype, column[k]));
      onTheWay.push_back(perhapsRounded(dtype, column[k]));
      infinite |= std::isinf(column[k].value);
      states.set(((chunks.slot(chunk) * heads + head) * keys + k) * values + v,
                 column[k]);
    }
    // The sequence's last state comes of its last chunk as it is defined.
    bool last = chunk.end == chunk.sequence->end;
    Noisy all = chunks.expOf(op.getDecay(), head, chunk.end - 1);
    SmallVector<F32Sum> sums(keys);
    for (int64_t k = 0; k < keys; ++k)
      addProduct(sums[k], column[k], all);
    for (int64_t i = chunk.begin; i < chunk.end; ++i) {
      Noisy u = chunks.vector(op.getU(), i, head)[v];
      Noisy left = corrected(u, i, head, start);
      vNew.set((i * heads + head) * values + v, left);
      Noisy decayed = chunks.decayed(op.getDecay(), head, chunk.end - 1, i);
      Noisy late =
          last ? rounded(dtype, timesF32(left, decayed))
               : perhapsRounded(
                     dtype, timesF32(corrected(u, i, head, onTheWay), decayed));
      Vector key = chunks.vector(op.getKey(), i, head / share);
      for (int64_t k = 0; k < keys; ++k)
        addProduct(sums[k], key[k], late);
    }
    for (int64_t k = 0; k < keys; ++k) {
      column[k] = sums[k].noisy();
      // A transition times an infinity: signs and zeros of it decide.
      if (infinite && !last)
        column[k].sigma = kInf;
    }
  }

  /// u of a token without what the state `start` has for it.
  Noisy corrected(Noisy u, int64_t token, int64_t head, ArrayRef<Noisy> start) {
    Vector w = chunks.vector(op.getW(), token, head);
    F32Sum sum;
    for (int64_t k = 0; k < keys; ++k)
      addProduct(sum, w[k], start[k]);
    Noisy product = sum.noisy();
    return plusF32(u, {-product.value, product.sigma, product.jump});
  }

  ChunkStateOp op;
  const Operands &in;
  const Chunks &chunks;
  StatePool<ChunkStateOp> &pool;
  ResultBuilder &states, &vNew;
  int64_t heads, keys, values, share;
  ::hk::DType dtype;
};
} // namespace

static LogicalResult evaluateChunkState(Operation *operation,
                                        const Operands &in, Results &out) {
  auto op = cast<ChunkStateOp>(operation);
  auto size = static_cast<int64_t>(op.getChunk());
  Chunks chunks(op, in, op.getKey(), op.getOffsets(), size);
  StatePool<ChunkStateOp> pool(op, in);
  if (failed(chunks.init()))
    return failure();
  int64_t heads = sizeOf(op.getU(), 1), values = sizeOf(op.getU(), 0);
  ArrayRef<int64_t> leading = chunks.sequences().leading();
  int64_t perSequence = (leading.back() + size - 1) / size;
  SmallVector<int64_t> sizes = {perSequence + chunks.sequences().size()};
  if (!op.getOffsets())
    sizes = {leading[0], perSequence};
  sizes.append({heads, sizeOf(op.getKey(), 0), values});
  ResultBuilder states(resultDType(op, 0), sizes);
  ResultBuilder vNew(resultDType(op, 1), chunks.sizes({heads, values}));
  StatePass pass(op, in, chunks, pool, states, vNew);
  for (const TokenSequence &sequence : chunks.sequences().all())
    for (int64_t head = 0; head < heads; ++head)
      pass.run(sequence, head);
  out.push_back(states.take());
  out.push_back(vNew.take());
  pool.take(out);
  return success();
}

/// Column `c` of the transition of `chunk` times the one of all chunks in front
/// of it in the segment, which `column` holds.
static void stepTransition(ChunkTransitionOp op, const Chunks &chunks,
                           ::hk::DType dtype, const Chunk &chunk, int64_t head,
                           int64_t c, SmallVectorImpl<Noisy> &column) {
  auto keys = int64_t(column.size());
  int64_t values = sizeOf(op.getU(), 0);
  int64_t share = sizeOf(op.getU(), 1) / sizeOf(op.getKey(), 1);
  SmallVector<Noisy> start;
  for (Noisy x : column)
    start.push_back(twiceAsLong(dtype, x));
  Noisy all = chunks.expOf(op.getDecay(), head, chunk.end - 1);
  SmallVector<F32Sum> sums(keys);
  for (int64_t k = 0; k < keys; ++k)
    addProduct(sums[k], column[k], all);
  for (int64_t i = chunk.begin; i < chunk.end; ++i) {
    Vector w = chunks.vector(op.getW(), i, head);
    F32Sum sum;
    for (int64_t k = 0; k < keys; ++k)
      addProduct(sum, w[k], start[k]);
    Noisy product = sum.noisy(), u;
    if (c < values)
      u = chunks.vector(op.getU(), i, head)[c];
    Noisy left = plusF32(u, {-product.value, product.sigma, product.jump});
    Noisy late = twiceAsLong(
        dtype,
        timesF32(left, chunks.decayed(op.getDecay(), head, chunk.end - 1, i)));
    Vector key = chunks.vector(op.getKey(), i, head / share);
    for (int64_t k = 0; k < keys; ++k)
      addProduct(sums[k], key[k], late);
  }
  for (int64_t k = 0; k < keys; ++k)
    column[k] = sums[k].noisy();
}

static LogicalResult evaluateChunkTransition(Operation *operation,
                                             const Operands &in, Results &out) {
  auto op = cast<ChunkTransitionOp>(operation);
  auto size = int64_t(op.getChunk()), segments = int64_t(op.getSegments());
  Chunks chunks(op, in, op.getKey(), op.getOffsets(), size);
  if (failed(chunks.init()))
    return failure();
  int64_t heads = sizeOf(op.getU(), 1), values = sizeOf(op.getU(), 0);
  int64_t keys = sizeOf(op.getKey(), 0);
  int64_t columns = values + keys, sequences = chunks.sequences().size();
  ::hk::DType dtype = in.of(op.getKey()).dtype;
  ResultBuilder result(::hk::DType::F32,
                       {segments - 1, sequences, heads, keys, columns});
  for (const TokenSequence &sequence : chunks.sequences().all()) {
    int64_t each = chunksOfSegment(sequence, size, segments);
    for (int64_t s = 0; s + 1 < segments; ++s)
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t c = 0; c < columns; ++c) {
          SmallVector<Noisy> column(keys);
          if (c >= values)
            column[c - values] = {1, 0};
          chunks.forEach(sequence, [&](const Chunk &chunk) {
            if (chunk.index / each == s)
              stepTransition(op, chunks, dtype, chunk, head, c, column);
          });
          int64_t first =
              ((s * sequences + sequence.number) * heads + head) * keys;
          for (int64_t k = 0; k < keys; ++k)
            result.set((first + k) * columns + c, column[k]);
        }
  }
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateChunkStarts(Operation *operation,
                                         const Operands &in, Results &out) {
  auto op = cast<ChunkStartsOp>(operation);
  const Tensor &t = in.of(op.getTransitions());
  int64_t segments = t.sizes[0] + 1, sequences = t.sizes[1], heads = t.sizes[2];
  int64_t keys = t.sizes[3], columns = t.sizes[4], values = columns - keys;
  StatePool<ChunkStartsOp> pool(op, in);
  ResultBuilder result(::hk::DType::F32,
                       {segments, sequences, heads, keys, values});
  auto walk = [&](int64_t sequence, int64_t head, int64_t v) {
    SmallVector<Noisy> column(keys);
    for (int64_t k = 0; k < keys; ++k)
      column[k] = pool.load(sequence, head, k, v);
    for (int64_t s = 0; s < segments; ++s) {
      int64_t first = ((s * sequences + sequence) * heads + head) * keys;
      SmallVector<Noisy> next;
      for (int64_t k = 0; k < keys; ++k) {
        result.set((first + k) * values + v, column[k]);
        if (s + 1 == segments)
          continue;
        F32Sum sum;
        addProduct(sum, at(t, (first + k) * columns + v), {1, 0});
        for (int64_t j = 0; j < keys; ++j)
          addProduct(sum, at(t, (first + k) * columns + values + j), column[j]);
        next.push_back(sum.noisy());
      }
      column = next;
    }
  };
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t v = 0; v < values; ++v)
        walk(sequence, head, v);
  out.push_back(result.take());
  return success();
}

static LogicalResult evaluateChunkOutput(Operation *operation,
                                         const Operands &in, Results &out) {
  auto op = cast<ChunkOutputOp>(operation);
  auto size = static_cast<int64_t>(op.getChunk());
  Chunks chunks(op, in, op.getQuery(), op.getOffsets(), size);
  if (failed(chunks.init()))
    return failure();
  int64_t heads = sizeOf(op.getValue(), 1), values = sizeOf(op.getValue(), 0);
  int64_t keys = sizeOf(op.getQuery(), 0);
  int64_t share = heads / sizeOf(op.getQuery(), 1);
  const Tensor &states = in.of(op.getStates());
  ::hk::DType dtype = in.of(op.getValue()).dtype;
  Noisy scale = {op.getScale() ? f32(op.getScale()->convertToDouble())
                               : f32(1 / std::sqrt(double(keys))),
                 0};
  ResultBuilder result(resultDType(op), chunks.sizes({heads, values}));
  chunks.forEach([&](const Chunk &chunk) {
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
        Vector q = chunks.vector(op.getQuery(), i, h / share);
        SmallVector<Noisy> weights;
        for (int64_t j = chunk.begin; j <= i; ++j)
          weights.push_back(rounded(
              dtype,
              timesF32(dot(q, chunks.vector(op.getKey(), j, h / share), keys),
                       chunks.decayed(op.getDecay(), h, i, j))));
        int64_t slot = chunks.slot(chunk) * heads + h;
        for (int64_t v = 0; v < values; ++v) {
          F32Sum before, inside;
          for (int64_t k = 0; k < keys; ++k)
            addProduct(before, q[k],
                       at(states, (slot * keys + k) * values + v));
          for (auto [j, weight] : llvm::enumerate(weights))
            addProduct(inside, weight,
                       chunks.vector(op.getValue(), chunk.begin + j, h)[v]);
          Noisy sum = plusF32(
              timesF32(before.noisy(), chunks.expOf(op.getDecay(), h, i)),
              inside.noisy());
          result.set((i * heads + h) * values + v, timesF32(sum, scale));
        }
      }
  });
  out.push_back(result.take());
  return success();
}

void reference::addGatedDeltaChunks(EvaluatorTable &table) {
  table.add<ChunkKktOp>(evaluateChunkKkt);
  table.add<SolveTrilOp>(evaluateSolveTril);
  table.add<ChunkWUOp>(evaluateChunkWU);
  table.add<ChunkStateOp>(evaluateChunkState);
  table.add<ChunkTransitionOp>(evaluateChunkTransition);
  table.add<ChunkStartsOp>(evaluateChunkStarts);
  table.add<ChunkOutputOp>(evaluateChunkOutput);
}
