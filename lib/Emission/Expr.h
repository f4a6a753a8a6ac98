//===- Expr.h - C++ expressions with their types ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An expression of generated C++ knows its type and the scope that it may be
// computed in. The functions here make expressions of others: they put the
// parentheses, take the innermost scope, and stop with both operands in the
// message where types do not fit. So lanes or elements that are mixed up are
// found where it happens, not when clang compiles the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_EMISSION_EXPR_H
#define HK_LIB_EMISSION_EXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace mlir::hk {

/// A C++ type: `Vec<element, lanes>`, or one element if there are no lanes.
struct CType {
  llvm::StringRef element; // a literal
  int lanes = 0;

  std::string text() const;
  bool operator==(const CType &other) const {
    return element == other.element && lanes == other.lanes;
  }
};

struct Expr {
  std::string text;
  CType type;
  /// Of the innermost scope whose names it reads: what is made of it may be
  /// computed there.
  int depth = 0;
  /// How strongly its outermost operator binds.
  enum Binding { Comparison, Sum, Product, Operand } binding = Operand;

  explicit operator bool() const { return !text.empty(); }
  bool isName() const;
};

/// Stops unless the expression has the type; `where` begins the message.
void checkType(const Expr &expr, CType type, const llvm::Twine &where);

/// `a sign b` of equal elements; a scalar is the same for all lanes.
Expr infix(const Expr &a, llvm::StringRef sign, const Expr &b);
inline Expr operator+(const Expr &a, const Expr &b) {
  return infix(a, " + ", b);
}
inline Expr operator-(const Expr &a, const Expr &b) {
  return infix(a, " - ", b);
}
inline Expr operator*(const Expr &a, const Expr &b) {
  return infix(a, " * ", b);
}
inline Expr operator/(const Expr &a, const Expr &b) {
  return infix(a, " / ", b);
}
Expr operator-(const Expr &a);
/// `a && b`; null: true.
Expr both(const Expr &a, const Expr &b);
/// `condition ? a : b`.
Expr choice(const Expr &condition, const Expr &a, const Expr &b);

/// `function(arguments)`; where there are vectors among the arguments, their
/// lanes are the last template argument. The result has the elements of the
/// first argument if `element` does not say others.
Expr call(const llvm::Twine &function, llvm::ArrayRef<Expr> arguments,
          llvm::StringRef element = {});
/// `reduceVec<reduction, lanes>(vector)`, a scalar.
Expr reduced(llvm::StringRef reduction, const Expr &vector);
/// A scalar in all lanes of a vector.
Expr splat(CType type, const Expr &scalar);
/// One element of a vector.
Expr laneOf(const Expr &vector, const llvm::Twine &index);
/// A scalar as another type.
Expr scalarCast(llvm::StringRef element, const Expr &scalar);

/// A float literal that reads back exactly.
std::string floatText(double value);
inline Expr literal(double value) { return {floatText(value), {"float"}}; }

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_EXPR_H
