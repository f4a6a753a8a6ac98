//===- Forms.h - Parts that forms are made of -------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers, products and sums in any order, views and casts that change no
// value: what every family of forms has in it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_RAISE_FORMS_H
#define HK_PASSES_RAISE_FORMS_H

#include "Raise/Rules.h"

namespace mlir::hk::raise {

inline ArrayRef<int64_t> shapeOf(Value value) {
  return tensorType(value).getShape();
}
inline int64_t lastSize(Value value) { return shapeOf(value).back(); }

/// The number that all elements of a constant have, also behind views and
/// casts.
std::optional<double> numberOf(Value value);
/// Whether that number is `expected`, to a few units of f32, or of the
/// constant's own narrower type.
bool isNumber(Value value, double expected);

/// Whether `op`, of two operands, is operand `i` beside a number that repeats
/// none of its elements.
bool takesNumber(Operation *op, unsigned i);

/// The reduction over the last dim that makes `value`; null if none does.
ReduceOp reducedBy(Value value, ReduceKind kind);

/// `value` without casts in front of it that widen exactly.
Value throughWidening(Value value);
/// `value` without views in front of it that only add or drop dims of size 1.
Value throughUnitDims(Value value);

/// The factors of a product, constants multiplied into `constant`.
struct Factors {
  double constant = 1;
  SmallVector<Value> values;
};
/// Multiplications, divisions by constants and negations in front of and
/// including `root`, as far as each intermediate may lose its rounding.
Factors factorsOf(Raiser &raiser, Value root);
/// Takes `value` (widened or not) out of `factors`; false if it is not there.
bool takeFactor(Factors &factors, Value value);

/// x and c of x + c, in either order; nullopt if `value` is no such sum.
std::optional<std::pair<Value, double>> addedNumber(Value value);

/// Transposed to `permutation`; the value itself where it is the identity. A
/// transpose in front of it is undone.
Value transpose(OpBuilder &b, Location loc, Value value,
                ArrayRef<int64_t> permutation);
/// A view of `value` with groups of dims joined.
Value collapse(OpBuilder &b, Location loc, Value value,
               ArrayRef<ReassociationIndices> groups);

} // namespace mlir::hk::raise

#endif // HK_PASSES_RAISE_FORMS_H
