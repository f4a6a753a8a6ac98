//===- OpSyntax.h - Parts of the operators' assembly ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The custom directives of the assembly formats. A type is written once:
// operands of one type have one, and a result of the first operand's type has
// none.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_OPSYNTAX_H
#define HK_DIALECT_OPSYNTAX_H

#include "hk/Dialect/HK.h"

namespace mlir::hk {

/// `-> result`, or nothing where it is the type of the first operand.
ParseResult parseResultType(OpAsmParser &parser, Type first, Type &result);
void printResultType(OpAsmPrinter &printer, Operation *op, Type first,
                     Type result);

/// `%a, %b : types` of an operator with operands lhs and rhs. Either may be a
/// number, which has no type in the list: it is read as an hk.constant of rank
/// 0 that is put after the definition of the other operand.
ParseResult parseBinary(OpAsmParser &parser, OperationState &result);
void printBinary(OpAsmPrinter &printer, Operation *op);

/// `2.0 : tensor<f32>`, or a dense attribute with its type. Hexadecimal numbers
/// of a float type are bits.
ParseResult parseConstant(OpAsmParser &parser, ElementsAttr &value);
void printConstant(OpAsmPrinter &printer, Operation *op, ElementsAttr value);

/// Attributes of other dialects in braces. One of `operation` is an error: it
/// is a word. So is a word in front of them, which `syntax`, the operator's
/// assembly format, does not have here.
ParseResult parseBraces(OpAsmParser &parser, NamedAttrList &attributes,
                        StringRef operation, StringRef syntax = "");
void printBraces(OpAsmPrinter &printer, Operation *op, DictionaryAttr,
                 StringRef operation, StringRef syntax = "");

/// One of `words`, the cases of a closed set that `summary` describes.
FailureOr<StringRef> parseCase(AsmParser &parser, StringRef summary,
                               ArrayRef<StringRef> words);

/// `scales (lhs, rhs)`, `none` for a side without, nothing without any.
using OptionalOperand = std::optional<OpAsmParser::UnresolvedOperand>;
ParseResult parseProductScales(OpAsmParser &parser, OptionalOperand &lhs,
                               OptionalOperand &rhs);
void printProductScales(OpAsmPrinter &printer, Operation *op, Value lhs,
                        Value rhs);
ParseResult parseProductScaleTypes(OpAsmParser &parser, Type &lhs, Type &rhs);
void printProductScaleTypes(OpAsmPrinter &printer, Operation *op, Type lhs,
                            Type rhs);

/// `a, x, b, y`: what is listed in two operands by pairs.
using OperandList = SmallVectorImpl<OpAsmParser::UnresolvedOperand>;
ParseResult parseOperandPairs(OpAsmParser &parser, OperandList &first,
                              OperandList &second);
void printOperandPairs(OpAsmPrinter &printer, Operation *op, OperandRange first,
                       OperandRange second);
ParseResult parseTypePairs(OpAsmParser &parser, SmallVectorImpl<Type> &first,
                           SmallVectorImpl<Type> &second);
void printTypePairs(OpAsmPrinter &printer, Operation *op, TypeRange first,
                    TypeRange second);

/// `, type` of two operands that have one type, or are both absent.
ParseResult parseRowNumbersType(OpAsmParser &parser, Type &first, Type &second);
void printRowNumbersType(OpAsmPrinter &printer, Operation *op, Type first,
                         Type second);

} // namespace mlir::hk

#endif // HK_DIALECT_OPSYNTAX_H
