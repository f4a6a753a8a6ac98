//===- Size.h - Sizes as polynomials of named dims ------------ -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What exporters compute from shapes (Shape, Gather, Mul, Concat, Reshape) is
// evaluated at import. A size is a polynomial with integer coefficients in
// symbols: the dims that have a name, and quotients that no polynomial gives.
// Two sizes are provably equal iff their polynomials are.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_SIZE_H
#define HK_IMPORT_ONNX_SIZE_H

#include "mlir/IR/Builders.h"

#include <map>
#include <optional>
#include <vector>

namespace mlir::hk::importer {

class Size {
public:
  /// Symbols of a product, in ascending order.
  using Product = std::vector<unsigned>;

  Size(int64_t constant = 0) { add({}, constant); }
  static Size symbol(unsigned number);
  /// What an overflow gives, and whatever is computed from it.
  static Size invalid();

  bool isValid() const { return valid; }
  std::optional<int64_t> getConstant() const;
  bool isConstant(int64_t value) const { return getConstant() == value; }
  const std::map<Product, int64_t> &getTerms() const { return terms; }

  Size operator+(const Size &other) const;
  Size operator-(const Size &other) const;
  Size operator*(const Size &other) const;
  /// The quotient when the division leaves no rest for any values.
  std::optional<Size> exactDiv(const Size &other) const;

  bool operator==(const Size &other) const {
    return valid && other.valid && terms == other.terms;
  }
  bool operator!=(const Size &other) const { return !(*this == other); }
  bool operator<(const Size &other) const { return terms < other.terms; }

private:
  void add(const Product &product, int64_t coefficient);

  std::map<Product, int64_t> terms; // no zero coefficients
  bool valid = true;
};

/// The symbols of a function and the index values they stand for.
class Symbols {
public:
  /// A symbol for `value`, a dim named `name`.
  Size add(StringRef name, Value value);
  /// floor(a / b) of sizes that are not negative; a symbol where it is no
  /// polynomial.
  Size floorDiv(OpBuilder &b, Location loc, const Size &lhs, const Size &rhs);
  Size minimum(OpBuilder &b, Location loc, const Size &lhs, const Size &rhs);
  /// The size as an index value or attribute.
  OpFoldResult materialize(OpBuilder &b, Location loc, const Size &size) const;
  /// For messages: `2 * batch + 1`.
  std::string describe(const Size &size) const;

private:
  Value valueOf(OpBuilder &b, Location loc, const Size &size) const;

  struct Symbol {
    std::string name;
    Value value;
  };
  std::vector<Symbol> symbols;
  /// So that equal quotients are one symbol: (operation, operands) to number.
  std::map<std::tuple<char, Size, Size>, unsigned> made;
};

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_SIZE_H
