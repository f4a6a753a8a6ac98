//===- OpSyntax.cpp - Parts of the operators' assembly --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types that are written once, words instead of braces, constants of one
// number, scales of a product, pairs.
//
//===----------------------------------------------------------------------===//

#include "OpSyntax.h"

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ParseResult mlir::hk::parseResultType(OpAsmParser &parser, Type first,
                                      Type &result) {
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(result);
  result = first;
  return success();
}

void mlir::hk::printResultType(OpAsmPrinter &printer, Operation *, Type first,
                               Type result) {
  if (result != first)
    printer << " -> " << result;
}

ParseResult mlir::hk::parseBinaryTypes(OpAsmParser &parser, Type &lhs,
                                       Type &rhs, Type &result) {
  if (parser.parseType(lhs))
    return failure();
  rhs = lhs;
  if (succeeded(parser.parseOptionalComma()) && parser.parseType(rhs))
    return failure();
  return parseResultType(parser, lhs, result);
}

void mlir::hk::printBinaryTypes(OpAsmPrinter &printer, Operation *op, Type lhs,
                                Type rhs, Type result) {
  printer << lhs;
  if (rhs != lhs)
    printer << ", " << rhs;
  printResultType(printer, op, lhs, result);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

ParseResult mlir::hk::parseBraces(OpAsmParser &parser,
                                  NamedAttrList &attributes,
                                  StringRef operation) {
  SMLoc loc = parser.getCurrentLocation();
  NamedAttrList found;
  if (parser.parseOptionalAttrDict(found))
    return failure();
  OperationName name(operation, parser.getContext());
  for (NamedAttribute attribute : found)
    if (llvm::is_contained(name.getAttributeNames(), attribute.getName()))
      return parser.emitError(loc)
             << "'" << operation << "' has '"
             << wordOf(attribute.getName().getValue())
             << "' as a word in front of the colon, not in braces";
  attributes.append(found);
  return success();
}

void mlir::hk::printBraces(OpAsmPrinter &printer, Operation *op, DictionaryAttr,
                           StringRef) {
  printer.printOptionalAttrDict(llvm::to_vector(op->getDiscardableAttrs()));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
/// A number as it stands in the text, before its type is known.
struct Literal {
  bool isNegative = false, isHexadecimal = false;
  std::optional<APInt> integer;
  double real = 0;
};
} // namespace

/// No value where there is no number.
static OptionalParseResult parseLiteral(OpAsmParser &parser, Literal &literal) {
  if (succeeded(parser.parseOptionalKeyword("true"))) {
    literal.integer = APInt(1, 1);
    return ParseResult(success());
  }
  if (succeeded(parser.parseOptionalKeyword("false"))) {
    literal.integer = APInt(1, 0);
    return ParseResult(success());
  }
  const char *text = parser.getCurrentLocation().getPointer();
  literal.isNegative = *text == '-';
  literal.isHexadecimal = StringRef(text, 2) == "0x";
  if (!literal.isNegative && !llvm::isDigit(*text))
    return std::nullopt;
  // parseOptionalInteger would take the sign of -2.0 and fail.
  const char *end = text + (literal.isNegative ? 1 : 0);
  while (llvm::isDigit(*end))
    ++end;
  if (*end == '.')
    return parser.parseFloat(literal.real);
  APInt integer;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(integer);
      parsed.has_value()) {
    literal.integer = integer;
    return parsed;
  }
  return parser.parseFloat(literal.real); // says what it expected
}

static FailureOr<Attribute> elementOf(OpAsmParser &parser, SMLoc loc,
                                      const Literal &literal, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  auto misfit = [&]() -> FailureOr<Attribute> {
    return parser.emitError(loc, "expected a number of ") << type;
  };
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    if (literal.isHexadecimal) {
      if (literal.integer->getActiveBits() > width)
        return misfit();
      return Attribute(FloatAttr::get(
          type, APFloat(semantics, literal.integer->zextOrTrunc(width))));
    }
    if (literal.integer) // MLIR asks for a point, too
      return parser.emitError(loc, "expected a number of ")
             << type << " with a decimal point, or its bits in hexadecimal";
    APFloat value(literal.real);
    bool inexact;
    value.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
    return Attribute(FloatAttr::get(type, value));
  }
  if (!literal.integer)
    return misfit();
  bool fits = literal.isNegative || width == 1
                  ? literal.integer->getSignificantBits() <= width ||
                        literal.integer->getActiveBits() <= 1
                  : literal.integer->getActiveBits() <=
                        (literal.isHexadecimal ? width : width - 1);
  if (!fits)
    return misfit();
  APInt value = literal.isNegative ? literal.integer->sextOrTrunc(width)
                                   : literal.integer->zextOrTrunc(width);
  return Attribute(IntegerAttr::get(type, value));
}

ParseResult mlir::hk::parseConstant(OpAsmParser &parser, ElementsAttr &value) {
  Literal literal;
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult parsed = parseLiteral(parser, literal);
  if (!parsed.has_value())
    return parser.parseAttribute(value);
  RankedTensorType type;
  if (failed(*parsed) || parser.parseColonType(type))
    return failure();
  Type element = type.getElementType();
  if (!type.hasStaticShape() || !element.isIntOrFloat())
    return parser.emitError(loc, "expected a tensor of static shape, but got ")
           << type;
  FailureOr<Attribute> number = elementOf(parser, loc, literal, element);
  if (failed(number))
    return failure();
  value = DenseElementsAttr::get(type, *number);
  return success();
}

void mlir::hk::printConstant(OpAsmPrinter &printer, Operation *,
                             ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat()) {
    printer << value;
    return;
  }
  printer.printAttributeWithoutType(dense.getSplatValue<Attribute>());
  printer << " : " << value.getType();
}

//===----------------------------------------------------------------------===//
// Scales of hk.matmul: (lhs, rhs), none for a side without, nothing without any
//===----------------------------------------------------------------------===//

/// Reads `scales (a, b)`, of which either may be `none`.
static ParseResult parseScales(OpAsmParser &parser,
                               function_ref<ParseResult()> parseLhs,
                               function_ref<ParseResult()> parseRhs) {
  if (failed(parser.parseOptionalKeyword("scales")))
    return success();
  auto parse = [&](function_ref<ParseResult()> parseSide) -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("none")))
      return success();
    return parseSide();
  };
  return failure(parser.parseLParen() || parse(parseLhs) ||
                 parser.parseComma() || parse(parseRhs) ||
                 parser.parseRParen());
}

ParseResult mlir::hk::parseProductScales(OpAsmParser &parser,
                                         OptionalOperand &lhs,
                                         OptionalOperand &rhs) {
  return parseScales(
      parser, [&] { return parser.parseOperand(lhs.emplace()); },
      [&] { return parser.parseOperand(rhs.emplace()); });
}

ParseResult mlir::hk::parseProductScaleTypes(OpAsmParser &parser, Type &lhs,
                                             Type &rhs) {
  return parseScales(
      parser, [&] { return parser.parseType(lhs); },
      [&] { return parser.parseType(rhs); });
}

template <class T> static void printScales(OpAsmPrinter &p, T lhs, T rhs) {
  if (!lhs && !rhs)
    return;
  auto print = [&](T side) {
    if (side)
      p << side;
    else
      p << "none";
  };
  p << " scales(";
  print(lhs);
  p << ", ";
  print(rhs);
  p << ")";
}

void mlir::hk::printProductScales(OpAsmPrinter &p, Operation *, Value lhs,
                                  Value rhs) {
  printScales(p, lhs, rhs);
}

void mlir::hk::printProductScaleTypes(OpAsmPrinter &p, Operation *, Type lhs,
                                      Type rhs) {
  printScales(p, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

ParseResult mlir::hk::parseOperandPairs(OpAsmParser &parser, OperandList &first,
                                        OperandList &second) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    return failure(parser.parseOperand(first.emplace_back()) ||
                   parser.parseComma() ||
                   parser.parseOperand(second.emplace_back()));
  });
}

void mlir::hk::printOperandPairs(OpAsmPrinter &printer, Operation *,
                                 OperandRange first, OperandRange second) {
  llvm::interleaveComma(llvm::zip(first, second), printer, [&](auto pair) {
    printer << std::get<0>(pair) << ", " << std::get<1>(pair);
  });
}

ParseResult mlir::hk::parseTypePairs(OpAsmParser &parser,
                                     SmallVectorImpl<Type> &first,
                                     SmallVectorImpl<Type> &second) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    return failure(parser.parseType(first.emplace_back()) ||
                   parser.parseComma() ||
                   parser.parseType(second.emplace_back()));
  });
}

void mlir::hk::printTypePairs(OpAsmPrinter &printer, Operation *,
                              TypeRange first, TypeRange second) {
  llvm::interleaveComma(llvm::zip(first, second), printer, [&](auto pair) {
    printer << std::get<0>(pair) << ", " << std::get<1>(pair);
  });
}
