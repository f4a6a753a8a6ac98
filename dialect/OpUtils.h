//===- OpUtils.h - Shape checks and shape building of ops -------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private helpers of the op families. Checks emit one message of the form
// 'expected <property> of <operand> to be <x>, but got <y>'; builders give the
// sizes of results for reifyResultShapes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_OPUTILS_H
#define HK_DIALECT_OPUTILS_H

#include "hk/Dialect/ShapeRelations.h"

#include "mlir/IR/TypeUtilities.h"

namespace mlir::hk {

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether two sizes can be equal at run time.
inline bool compatibleSizes(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

/// The word that stands for an attribute of an operator: its name, but for
/// `group_size`, which is written `group`.
inline StringRef wordOf(StringRef attribute) {
  attribute.consume_back("_size");
  return attribute;
}

/// Appends to a message about an unknown `name` those of `known` that may have
/// been meant, in which at most half of the letters differ; all of them if
/// there is none such and `listsOthers`.
void suggestName(InFlightDiagnostic &diag, StringRef name,
                 ArrayRef<StringRef> known, bool listsOthers = true);

/// A size as MLIR prints it.
std::string sizeText(int64_t size);

LogicalResult expectRank(Operation *op, Named v, int64_t rank);
LogicalResult expectSize(Operation *op, Named v, int64_t dim, int64_t size);
LogicalResult expectElement(Operation *op, Named v, Type element);
/// The size of `dim` is known at compile time.
LogicalResult expectStatic(Operation *op, Named v, int64_t dim);
/// Rows of a packed type begin at a byte: the last size is static and even.
LogicalResult expectPacked(Operation *op, StringRef name,
                           RankedTensorType type);

/// `number`, an attribute of that name, is one of `element` or 0: rounding it
/// would be an operation of its own.
LogicalResult expectNumber(Operation *op, StringRef name,
                           const llvm::APFloat &number, Type element);

/// Operand types and broadcasting of a binary arithmetic operator.
LogicalResult verifyBinary(Operation *op, Value lhs, Value rhs, Value result);

/// An optional operand, result or region is there, or not, in this form of
/// `op`.
LogicalResult verifyPresence(Operation *op, StringRef name, bool present,
                             bool wanted, StringRef form);
inline LogicalResult verifyPresence(Operation *op, StringRef name, Value value,
                                    bool wanted, StringRef form) {
  return verifyPresence(op, name, static_cast<bool>(value), wanted, form);
}

/// Arguments, result and operators of the regions of an attention, or of its
/// gradients, that take `reads`.
LogicalResult verifyAttentionRegions(Operation *op, Region &score,
                                     Region &weight, ValueRange reads);
/// The same of one more region with the arguments of `score`.
LogicalResult verifyScoreRegion(Operation *op, StringRef name, Region &region,
                                ValueRange reads);

inline int64_t ceilDiv(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) ? a : (a + b - 1) / b;
}

//===----------------------------------------------------------------------===//
// Result shapes
//===----------------------------------------------------------------------===//

using Sizes = SmallVector<OpFoldResult>;

/// All sizes of `value`; constants where its type has them.
Sizes sizesOf(OpBuilder &b, Location loc, Value value);

/// Appends the shape of `result`: its static sizes as attributes, the others
/// from `sizes`.
void addShape(OpBuilder &b, Location loc, Value result, Sizes sizes,
              ReifiedRankedShapedTypeDims &shapes);

/// The common case: the result has `source`'s shape.
void addShapeOf(OpBuilder &b, Location loc, Value result, Value source,
                ReifiedRankedShapedTypeDims &shapes);

/// Sizes of the broadcast of `operands` at the rank of `result`.
Sizes broadcastSizes(OpBuilder &b, Location loc, ValueRange operands,
                     Value result);

OpFoldResult addSizes(OpBuilder &b, Location loc, OpFoldResult x,
                      OpFoldResult y);
OpFoldResult multiplySizes(OpBuilder &b, Location loc, OpFoldResult x,
                           OpFoldResult y);
OpFoldResult divideSize(OpBuilder &b, Location loc, OpFoldResult x,
                        int64_t divisor);
OpFoldResult ceilDivideSize(OpBuilder &b, Location loc, OpFoldResult x,
                            int64_t divisor);

} // namespace mlir::hk

#endif // HK_DIALECT_OPUTILS_H
