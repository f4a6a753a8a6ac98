//===- TokenSequences.h - Tokens of dense or ragged sequences ---*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the elements of a token lie in operands that are [B, T, ...], or
// [T, ...] with offsets; and the sequences that are to be walked.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_TOKENSEQUENCES_H
#define HK_REFERENCE_TOKENSEQUENCES_H

#include "Evaluators.h"

namespace mlir::hk::reference {

/// Tokens [begin, end) of one sequence, counted over the whole batch.
struct TokenSequence {
  int64_t number, begin, end;
};

class TokenSequences {
public:
  /// `lead` is the operand whose leading dims count tokens. Emits an error when
  /// offsets do not ascend within them.
  static FailureOr<TokenSequences> of(Operation *op, const Tensor &lead,
                                      const Tensor *offsets);

  ArrayRef<TokenSequence> all() const { return sequences; }
  int64_t size() const { return sequences.size(); }
  /// Leading sizes of operands with tokens.
  ArrayRef<int64_t> leading() const { return sizes; }
  /// Where the elements of a token of `t` begin.
  static int64_t stride(const Tensor &t, int64_t leadingDims) {
    int64_t n = 1;
    for (int64_t size : ArrayRef(t.sizes).drop_front(leadingDims))
      n *= size;
    return n;
  }
  /// Elements of one token of `t`.
  int64_t stride(const Tensor &t) const { return stride(t, sizes.size()); }

private:
  SmallVector<TokenSequence> sequences;
  SmallVector<int64_t> sizes;
};

/// Reads and writes the states of an operator with a pool of them.
template <class OpT> class StatePool {
public:
  StatePool(OpT op, const Operands &in)
      : op(op), state(op.getState() ? in.find(op.getState()) : nullptr),
        indices(op.getIndices() ? in.find(op.getIndices()) : nullptr),
        initial(op.getHasInitial() ? in.find(op.getHasInitial()) : nullptr),
        keyMajor(op.getStateLayout() == StateLayout::key_major),
        result(state ? state->dtype : ::hk::DType::F32,
               state ? ArrayRef<int64_t>(state->sizes) : ArrayRef<int64_t>()) {
    if (state)
      for (int64_t i = 0; i < state->numElements(); ++i)
        result.setExact(i, at(*state, i));
  }

  Noisy load(int64_t sequence, int64_t head, int64_t k, int64_t v) const {
    int64_t line = lineOf(sequence);
    if (line < 0 || (initial && initial->values[sequence] == 0))
      return {};
    return at(*state, element(line, head, k, v));
  }
  void store(int64_t sequence, int64_t head, int64_t k, int64_t v, Noisy x) {
    if (int64_t line = lineOf(sequence); line >= 0)
      result.set(element(line, head, k, v), x);
  }
  /// The memory of the state afterwards.
  void take(Results &out) {
    if (state)
      out.push_back(result.take());
  }

private:
  /// -1: none.
  int64_t lineOf(int64_t sequence) const {
    if (!state)
      return -1;
    int64_t line = indices ? int64_t(indices->values[sequence]) : sequence;
    return line < state->sizes[0] ? line : -1;
  }
  int64_t element(int64_t line, int64_t head, int64_t k, int64_t v) const {
    int64_t row = keyMajor ? k : v, column = keyMajor ? v : k;
    return ((line * state->sizes[1] + head) * state->sizes[2] + row) *
               state->sizes[3] +
           column;
  }

  OpT op;
  const Tensor *state, *indices, *initial;
  bool keyMajor;
  ResultBuilder result;
};

/// The operators of the chunked form, for addGatedDelta.
void addGatedDeltaChunks(EvaluatorTable &table);

/// [offset, offset + size) of the elements of a token.
struct Vector {
  const Tensor *tensor;
  int64_t begin;
  Noisy operator[](int64_t i) const { return at(*tensor, begin + i); }
};

/// a * b summed into `sum`, as an f32 sum of f32 products has it.
inline void addProduct(F32Sum &sum, Noisy a, Noisy b) {
  double variance =
      square(times(b.value, a.sigma)) + square(times(a.value, b.sigma));
  double jump = jumpOf(a, b.value, b, a.value);
  bool open = std::isinf(a.sigma) || std::isinf(b.sigma);
  if (!std::isfinite(variance))
    variance = open ? kInf : 0;
  sum.add(a.value * b.value, open ? kInf : variance,
          std::isfinite(jump) ? jump : 0);
}

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_TOKENSEQUENCES_H
