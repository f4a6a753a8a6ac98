//===- Size.cpp - Sizes as polynomials of named dims ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic checks for overflow and for the number of terms, since the numbers
// come from a file.
//
//===----------------------------------------------------------------------===//

#include "Size.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::hk::importer;

/// More terms, or symbols in a product, than any shape of a model has.
static constexpr size_t kMaxTerms = 64;

Size Size::symbol(unsigned number) {
  Size size;
  size.add({number}, 1);
  return size;
}

Size Size::invalid() {
  Size size;
  size.valid = false;
  return size;
}

void Size::add(const Product &product, int64_t coefficient) {
  if (coefficient == 0)
    return;
  auto [term, isNew] = terms.insert({product, coefficient});
  if (!isNew && llvm::AddOverflow(term->second, coefficient, term->second))
    valid = false;
  if (term->second == 0)
    terms.erase(term);
  if (terms.size() > kMaxTerms || product.size() > kMaxTerms)
    valid = false;
}

std::optional<int64_t> Size::getConstant() const {
  if (!valid || terms.size() > 1)
    return std::nullopt;
  if (terms.empty())
    return 0;
  if (!terms.begin()->first.empty())
    return std::nullopt;
  return terms.begin()->second;
}

Size Size::operator+(const Size &other) const {
  Size sum = *this;
  sum.valid = valid && other.valid;
  for (const auto &[product, coefficient] : other.terms)
    sum.add(product, coefficient);
  return sum;
}

Size Size::operator-(const Size &other) const { return *this + other * -1; }

Size Size::operator*(const Size &other) const {
  Size result;
  result.valid = valid && other.valid;
  if (!result.valid)
    return result;
  for (const auto &[a, x] : terms)
    for (const auto &[b, y] : other.terms) {
      Product product;
      std::merge(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(product));
      int64_t coefficient;
      if (llvm::MulOverflow(x, y, coefficient))
        return invalid();
      result.add(product, coefficient);
      if (!result.valid)
        return result;
    }
  return result;
}

std::optional<Size> Size::exactDiv(const Size &other) const {
  // By one product only: sums divide sums rarely, and equal ones give 1.
  if (*this == other && !terms.empty())
    return Size(1);
  if (!valid || !other.valid || other.terms.size() != 1)
    return std::nullopt;
  const auto &[divisor, by] = *other.terms.begin();
  Size result;
  for (const auto &[product, coefficient] : terms) {
    if (by == -1 || coefficient % by != 0 ||
        !std::includes(product.begin(), product.end(), divisor.begin(),
                       divisor.end()))
      return std::nullopt;
    Product quotient;
    std::set_difference(product.begin(), product.end(), divisor.begin(),
                        divisor.end(), std::back_inserter(quotient));
    result.add(quotient, coefficient / by);
  }
  return result;
}

Size Symbols::add(StringRef name, Value value) {
  symbols.push_back({name.str(), value});
  return Size::symbol(symbols.size() - 1);
}

Size Symbols::floorDiv(OpBuilder &b, Location loc, const Size &lhs,
                       const Size &rhs) {
  if (std::optional<Size> exact = lhs.exactDiv(rhs))
    return *exact;
  std::optional<int64_t> x = lhs.getConstant(), y = rhs.getConstant();
  if (!lhs.isValid() || !rhs.isValid() || (y && *y <= 0) || (x && *x < 0))
    return Size::invalid();
  if (x && y)
    return *x / *y;
  auto [entry, isNew] =
      made.insert({{'/', lhs, rhs}, unsigned(symbols.size())});
  if (!isNew)
    return Size::symbol(entry->second);
  Value value = arith::DivUIOp::create(b, loc, valueOf(b, loc, lhs),
                                       valueOf(b, loc, rhs));
  return add("(" + describe(lhs) + ") / (" + describe(rhs) + ")", value);
}

Size Symbols::minimum(OpBuilder &b, Location loc, const Size &lhs,
                      const Size &rhs) {
  Size difference = lhs - rhs;
  if (std::optional<int64_t> known = difference.getConstant())
    return *known < 0 ? lhs : rhs;
  if (!difference.isValid())
    return difference;
  auto [entry, isNew] =
      made.insert({{'<', lhs, rhs}, unsigned(symbols.size())});
  if (!isNew)
    return Size::symbol(entry->second);
  Value value = arith::MinSIOp::create(b, loc, valueOf(b, loc, lhs),
                                       valueOf(b, loc, rhs));
  return add("min(" + describe(lhs) + ", " + describe(rhs) + ")", value);
}

Value Symbols::valueOf(OpBuilder &b, Location loc, const Size &size) const {
  Value sum;
  for (const auto &[product, coefficient] : size.getTerms()) {
    Value term;
    if (coefficient != 1 || product.empty())
      term = arith::ConstantIndexOp::create(b, loc, coefficient);
    for (unsigned number : product) {
      Value factor = symbols[number].value;
      term = term ? arith::MulIOp::create(b, loc, term, factor).getResult()
                  : factor;
    }
    sum = sum ? arith::AddIOp::create(b, loc, sum, term).getResult() : term;
  }
  if (!sum)
    sum = arith::ConstantIndexOp::create(b, loc, 0);
  return sum;
}

OpFoldResult Symbols::materialize(OpBuilder &b, Location loc,
                                  const Size &size) const {
  if (std::optional<int64_t> constant = size.getConstant())
    return b.getIndexAttr(*constant);
  return valueOf(b, loc, size);
}

std::string Symbols::describe(const Size &size) const {
  if (!size.isValid())
    return "a size out of range";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (size.getTerms().empty())
    os << 0;
  bool first = true;
  // Symbols in front of the constant, which is the first term.
  for (const auto &[product, coefficient] : llvm::reverse(size.getTerms())) {
    if (!first)
      os << " + ";
    first = false;
    if (coefficient != 1 || product.empty())
      os << coefficient << (product.empty() ? "" : " * ");
    llvm::interleave(
        product, os, [&](unsigned number) { os << symbols[number].name; },
        " * ");
  }
  return text;
}
