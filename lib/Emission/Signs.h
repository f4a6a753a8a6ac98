//===- Signs.h - Whether a position is below zero ---------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are divided towards minus infinity, C divides towards zero. Both
// are the same where the dividend is not negative, which is provable for most:
// a whole position never is, but a part of it may be, and MLIR divides a sum
// part by part.
//
//===----------------------------------------------------------------------===//

#ifndef HK_EMISSION_SIGNS_H
#define HK_EMISSION_SIGNS_H

#include "mlir/IR/AffineExpr.h"

namespace mlir::hk {

/// Whether an expression of symbols that are not negative is provably not
/// negative.
bool isNonNegative(AffineExpr expr);

} // namespace mlir::hk

#endif // HK_EMISSION_SIGNS_H
