//===- Expr.cpp - C++ expressions with their types ------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks are on in every build: they cost nothing beside printing, and a
// type that does not fit is an error of hk's, whatever the model.
//
//===----------------------------------------------------------------------===//

#include "Expr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mlir::hk;
using llvm::Twine;

std::string CType::text() const {
  return lanes ? ("Vec<" + element + ", " + Twine(lanes) + ">").str()
               : element.str();
}

bool Expr::isName() const {
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c); });
}

static std::string shown(const Expr &expr) {
  return "'" + expr.text + "' of type " + expr.type.text();
}

void mlir::hk::checkType(const Expr &expr, CType type, const Twine &where) {
  if (!(expr.type == type))
    llvm::report_fatal_error(where + ": " + shown(expr) + " is no " +
                             type.text());
}

/// The lanes of the two; a scalar goes with any.
static int commonLanes(const Expr &a, const Expr &b) {
  if (a.type.lanes && b.type.lanes && a.type.lanes != b.type.lanes)
    llvm::report_fatal_error("lanes differ: " + Twine(shown(a)) + " and " +
                             shown(b));
  return std::max(a.type.lanes, b.type.lanes);
}

static std::string inParentheses(const Expr &expr, bool needed) {
  return needed ? "(" + expr.text + ")" : expr.text;
}

Expr mlir::hk::infix(const Expr &a, llvm::StringRef sign, const Expr &b) {
  if (a.type.element != b.type.element)
    llvm::report_fatal_error("elements differ: " + Twine(shown(a)) + sign +
                             shown(b));
  Expr::Binding binding = sign == " * " || sign == " / "   ? Expr::Product
                          : sign == " + " || sign == " - " ? Expr::Sum
                                                           : Expr::Comparison;
  // Sums and products of floats go from left to right.
  return {inParentheses(a, a.binding < binding) + sign.str() +
              inParentheses(b, b.binding <= binding),
          {a.type.element, commonLanes(a, b)},
          std::max(a.depth, b.depth),
          binding};
}

Expr mlir::hk::operator-(const Expr &a) {
  // Not an operand as it is: `a - -b` reads badly.
  return {"-" + inParentheses(a, a.binding < Expr::Operand), a.type, a.depth,
          Expr::Comparison};
}

Expr mlir::hk::both(const Expr &a, const Expr &b) {
  if (!a || !b)
    return a ? a : b;
  return {a.text + " && " + b.text, {"bool"}, std::max(a.depth, b.depth)};
}

Expr mlir::hk::choice(const Expr &condition, const Expr &a, const Expr &b) {
  checkType(b, a.type, "the other choice of '" + Twine(a.text) + "'");
  return {condition.text + " ? " + a.text + " : " + b.text, a.type,
          std::max({condition.depth, a.depth, b.depth}), Expr::Comparison};
}

Expr mlir::hk::call(const Twine &function, llvm::ArrayRef<Expr> arguments,
                    llvm::StringRef element) {
  Expr made{function.str(), arguments.front().type};
  if (!element.empty())
    made.type.element = element;
  std::string list;
  const Expr *vector = nullptr;
  for (const Expr &argument : arguments) {
    if (argument.type.lanes)
      made.type.lanes = commonLanes(vector ? *vector : argument, argument);
    if (argument.type.lanes && !vector)
      vector = &argument;
    made.depth = std::max(made.depth, argument.depth);
    list += (list.empty() ? "" : ", ") + argument.text;
  }
  if (vector && made.text.back() == '>')
    made.text.pop_back();
  if (vector)
    made.text += (made.text.find('<') == std::string::npos ? "<" : ", ") +
                 std::to_string(made.type.lanes) + ">";
  made.text += "(" + list + ")";
  return made;
}

Expr mlir::hk::reduced(llvm::StringRef reduction, const Expr &vector) {
  Expr made = call("reduceVec<" + reduction + ">", vector);
  made.type.lanes = 0;
  return made;
}

Expr mlir::hk::splat(CType type, const Expr &scalar) {
  checkType(scalar, {type.element}, "an element of every lane");
  return {type.text() + "(" + scalar.text + ")", type, scalar.depth};
}

Expr mlir::hk::laneOf(const Expr &vector, const Twine &index) {
  return {(vector.text + "[" + index + "]").str(),
          {vector.type.element},
          vector.depth};
}

Expr mlir::hk::scalarCast(llvm::StringRef element, const Expr &scalar) {
  return {(element + "(" + scalar.text + ")").str(), {element}, scalar.depth};
}

std::string mlir::hk::floatText(double value) {
  if (std::isnan(value))
    return "__builtin_nanf(\"\")";
  if (std::isinf(value))
    return value < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  char buffer[40];
  snprintf(buffer, sizeof(buffer), "%.9g", value);
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + "f";
}
