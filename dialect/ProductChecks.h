//===- ProductChecks.h - What all matrix products verify -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of element types and scales that hk.matmul and hk.grouped_matmul
// share; messages as in OpUtils.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_PRODUCTCHECKS_H
#define HK_DIALECT_PRODUCTCHECKS_H

#include "OpUtils.h"

#include "hk/Contract/Scale.h"

namespace mlir::hk {

/// Floats with floats, i8 with i8; `onlySums`: nothing is applied to the sums,
/// which may be the i32 result of i8.
LogicalResult verifyProductElements(Operation *op, Named lhs, Named rhs,
                                    Named result, bool onlySums);

/// The elements that scales of a microscaling format may belong to.
LogicalResult verifyProductScales(ProductOpInterface op);

/// Sums of fp8 matrix instructions are of fp8 operands.
LogicalResult verifyAccumulation(ProductOpInterface op);

/// f32: one element, one per row, or as `blocks` says. e8m0: one per row and
/// block of a microscaling format. All but the first optionally behind the
/// dims of `operand` that count matrices. The operand has [rows, k] elements;
/// without a scale nothing is stated.
void stateProductScale(ShapeRelations &shapes, Named scale, Named operand,
                       ::hk::ScaleSpec blocks, const SizeTerm &rows,
                       const SizeTerm &k);

} // namespace mlir::hk

#endif // HK_DIALECT_PRODUCTCHECKS_H
