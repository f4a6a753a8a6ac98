//===- Signs.cpp - Whether a position is below zero -----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of products, in which a negative term of x / n is made up for by
// positive ones of x, of which there are n to one: x >= n * (x / n).
//
//===----------------------------------------------------------------------===//

#include "Signs.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
using Terms = llvm::SmallMapVector<AffineExpr, int64_t, 8>;
} // namespace

/// Adds `factor` times `expr`; the constant is the term of the null expression.
static void collect(AffineExpr expr, int64_t factor, Terms &terms) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    terms[AffineExpr()] += factor * constant.getValue();
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Add) {
    collect(binary.getLHS(), factor, terms);
    collect(binary.getRHS(), factor, terms);
    return;
  }
  if (expr.getKind() == AffineExprKind::Mul)
    if (auto by = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
      collect(binary.getLHS(), factor * by.getValue(), terms);
      return;
    }
  terms[expr] += factor;
}

/// Takes `owed` times `expr` from positive terms of what it is a quotient of.
static bool takeFrom(AffineExpr expr, int64_t owed, Terms &terms) {
  int64_t ratio = 1;
  while (auto quotient = dyn_cast<AffineBinaryOpExpr>(expr)) {
    auto by = dyn_cast<AffineConstantExpr>(quotient.getRHS());
    if (expr.getKind() != AffineExprKind::FloorDiv || !by ||
        by.getValue() <= 0 || ratio > (int64_t(1) << 30) / by.getValue())
      return false;
    ratio *= by.getValue();
    expr = quotient.getLHS();
    auto found = terms.find(expr);
    if (found == terms.end() || found->second <= 0)
      continue;
    int64_t taken = std::min(found->second, (owed + ratio - 1) / ratio);
    found->second -= taken;
    owed -= taken * ratio;
    if (owed <= 0)
      return true;
  }
  return false;
}

bool mlir::hk::isNonNegative(AffineExpr expr) {
  Terms terms;
  collect(expr, 1, terms);
  for (auto &[atom, factor] : terms) {
    auto binary = atom ? dyn_cast<AffineBinaryOpExpr>(atom) : nullptr;
    if (!binary)
      continue;
    // A remainder never is; others are what they are made of.
    if (atom.getKind() != AffineExprKind::Mod &&
        (!isNonNegative(binary.getLHS()) || !isNonNegative(binary.getRHS())))
      return false;
  }
  SmallVector<std::pair<AffineExpr, int64_t>> all(terms.begin(), terms.end());
  return llvm::all_of(all, [&](const auto &term) {
    return term.second >= 0 ||
           (term.first && takeFrom(term.first, -term.second, terms));
  });
}
