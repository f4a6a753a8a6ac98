//===- ShapeRelations.h - What an operator says of its sizes ----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator states once how the sizes of its operands and results are related
// (ShapeOpInterface::stateShapes). Four readers interpret the statement: the
// verifier with the sizes of the types, reifyResultShapes, the dim symbols of
// lib/Analysis, and the interpreter with the sizes of a call.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_SHAPERELATIONS_H
#define HK_DIALECT_SHAPERELATIONS_H

#include "hk/Dialect/HK.h"

#include <string>
#include <vector>

namespace mlir::hk {

/// A name for operand or result `value` in messages, and a size in it.
struct Named {
  StringRef name;
  Value value;
  RankedTensorType type() const { return tensorType(value); }
  int64_t rank() const { return type().getRank(); }
  int64_t size(int64_t dim) const { return type().getDimSize(dim); }
  Type element() const { return type().getElementType(); }
};

/// What is known of the size of a dim; nullopt: nothing.
using SizeLookup = function_ref<std::optional<int64_t>(Value, int64_t)>;

/// The sizes that the types tell.
std::optional<int64_t> staticSizeOf(Value value, int64_t dim);

/// A size in terms of an operator's tensors: a number, a dim of a tensor, or
/// what is computed from other sizes.
class SizeTerm {
public:
  enum class Kind {
    Constant, // constant
    Dim,      // dim `dim` of `value`
    Sum,      // sum of the operands, plus constant
    Product,  // product of the operands, times constant
    CeilDiv,  // operand / constant, rounded up
    FloorDiv, // operand / constant, which divides it
  };
  SizeTerm(int64_t constant = 0) : constant(constant) {}

  static SizeTerm dimOf(Value value, int64_t dim);
  /// The quotient by a divisor below 1, which a verifier refuses, is unknown.
  static SizeTerm make(Kind kind, ArrayRef<SizeTerm> operands,
                       int64_t constant);

  Kind getKind() const { return kind; }
  int64_t getConstant() const { return constant; }
  Value getValue() const { return value; }
  int64_t getDim() const { return dim; }
  ArrayRef<SizeTerm> getOperands() const { return operands; }

  /// The number, as far as `sizeOf` tells the dims in it.
  std::optional<int64_t> evaluate(SizeLookup sizeOf) const;

private:
  Kind kind = Kind::Constant;
  int64_t constant = 0;
  Value value;
  int64_t dim = 0;
  std::vector<SizeTerm> operands;
};

/// Dim `dim` of `value`; a negative one counts from the end.
SizeTerm dimOf(Value value, int64_t dim);
/// Dims [begin, end) of `value`, as far as it has them; negative bounds count
/// from the end.
SmallVector<SizeTerm> dimsOf(Value value, int64_t begin = 0,
                             int64_t end = INT64_MAX);

inline SizeTerm operator+(const SizeTerm &a, const SizeTerm &b) {
  return SizeTerm::make(SizeTerm::Kind::Sum, {a, b}, 0);
}
inline SizeTerm operator-(const SizeTerm &a, int64_t constant) {
  return SizeTerm::make(SizeTerm::Kind::Sum, a, -constant);
}
inline SizeTerm operator*(const SizeTerm &a, const SizeTerm &b) {
  return SizeTerm::make(SizeTerm::Kind::Product, {a, b}, 1);
}
inline SizeTerm ceilDiv(const SizeTerm &a, int64_t divisor) {
  return SizeTerm::make(SizeTerm::Kind::CeilDiv, a, divisor);
}
inline SizeTerm exactDiv(const SizeTerm &a, int64_t divisor) {
  return SizeTerm::make(SizeTerm::Kind::FloorDiv, a, divisor);
}

/// One statement; see the functions of ShapeRelations.
struct ShapeRelation {
  enum class Kind { Rank, MinRank, Static, Shape, Size, Broadcast };
  Kind kind;
  std::string name;
  Value value;
  int64_t number = 0;          // a rank, or the dim that is meant
  SmallVector<SizeTerm> sizes; // of all dims, or of that dim
  SmallVector<std::pair<std::string, Value>> operands; // of a broadcast
};

/// The relations of one operator, in the order in which they are checked: a
/// later one may use dims that an earlier one makes sure there are. A statement
/// about an absent optional tensor says nothing.
class ShapeRelations {
public:
  void rank(Named v, int64_t rank);
  void minRank(Named v, int64_t rank);
  /// The size of `dim` is known at compile time.
  void isStatic(Named v, int64_t dim);
  /// `v` has these sizes.
  void shape(Named v, ArrayRef<SizeTerm> sizes);
  /// Dim `dim` of `v` has this size.
  void size(Named v, int64_t dim, const SizeTerm &size);
  /// `v` has the shape of `like`.
  void same(Named v, Value like);
  /// `v` is [size of the last dim of `like`].
  void vectorLike(Named v, Value like);
  /// `v` has the leading dims of `like` and a last dim of its own.
  void rowsLike(Named v, Named like);
  /// NumPy broadcasting of `operands` gives the shape of `result`.
  void broadcast(ArrayRef<Named> operands, Named result);

  ArrayRef<ShapeRelation> get() const { return relations; }

  /// Emits an error for the first relation that does not hold as far as
  /// `sizeOf` tells; `when` ends the property in its message.
  LogicalResult check(Operation *op, SizeLookup sizeOf,
                      StringRef when = "") const;

private:
  void add(ShapeRelation::Kind kind, Named v, int64_t number,
           ArrayRef<SizeTerm> sizes);
  SmallVector<ShapeRelation> relations;
};

/// The statement of `op`; empty if it makes none.
ShapeRelations shapeRelationsOf(Operation *op);

} // namespace mlir::hk

#endif // HK_DIALECT_SHAPERELATIONS_H
