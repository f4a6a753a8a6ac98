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

#include "mlir/IR/DialectImplementation.h"

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

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The words of an assembly format, in their order.
static SmallVector<StringRef> wordsOf(StringRef syntax) {
  SmallVector<StringRef> words;
  for (auto [before, rest] = syntax.split('`'); !rest.empty();
       std::tie(before, rest) = rest.split('`')) {
    StringRef word;
    std::tie(word, rest) = rest.split('`');
    if (!word.empty() && llvm::isAlpha(word.front()) &&
        !llvm::is_contained(words, word))
      words.push_back(word);
  }
  return words;
}

/// Says what is wrong with a word where none can be.
static ParseResult refuseWord(OpAsmParser &parser, StringRef syntax) {
  // Where no colon follows, the value of a constant does.
  if (!syntax.empty() &&
      !syntax.split("attr-dict").second.ltrim().starts_with("`:`"))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  SmallVector<StringRef> known = wordsOf(syntax);
  if (llvm::is_contained(known, word)) {
    InFlightDiagnostic diag = parser.emitError(loc, "has the word '")
                              << word << "' once, and in this order: ";
    llvm::interleaveComma(known, diag);
    return diag;
  }
  InFlightDiagnostic diag = parser.emitError(loc, "has no word '")
                            << word << "'";
  suggestName(diag, word, known);
  return diag;
}

ParseResult mlir::hk::parseBraces(OpAsmParser &parser,
                                  NamedAttrList &attributes,
                                  StringRef operation, StringRef syntax) {
  if (refuseWord(parser, syntax))
    return failure();
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
                           StringRef, StringRef) {
  printer.printOptionalAttrDict(llvm::to_vector(op->getDiscardableAttrs()));
}

FailureOr<StringRef> mlir::hk::parseCase(AsmParser &parser, StringRef summary,
                                         ArrayRef<StringRef> words) {
  SMLoc loc = parser.getCurrentLocation();
  std::string given;
  bool any = succeeded(parser.parseOptionalKeywordOrString(&given));
  if (const StringRef *word = llvm::find(words, given); word != words.end())
    return *word;
  InFlightDiagnostic diag = parser.emitError(loc, "expected ");
  for (auto [i, word] : llvm::enumerate(words))
    diag << (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") << word;
  diag << " (" << summary << ")";
  if (any) {
    diag << ", but got '" << given << "'";
    suggestName(diag, given, words, /*listsOthers=*/false);
  }
  return diag;
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
  auto misfit = [&]() -> FailureOr<Attribute> {
    return parser.emitError(loc, "expected a number of ") << type;
  };
  // The verifier has not seen the operand yet: it may be of index or complex.
  if (!type.isIntOrFloat())
    return parser.emitError(loc, "expected the operand beside a number to be "
                                 "a tensor of reals or integers, but got ")
           << type;
  unsigned width = type.getIntOrFloatBitWidth();
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
// Numbers as operands
//===----------------------------------------------------------------------===//

namespace {
/// An operand in the text, or a number in its place.
struct OperandOrNumber {
  OpAsmParser::UnresolvedOperand operand;
  std::optional<Literal> number;
  SMLoc loc;

  ParseResult parse(OpAsmParser &parser) {
    loc = parser.getCurrentLocation();
    Literal literal;
    OptionalParseResult parsed = parseLiteral(parser, literal);
    if (!parsed.has_value())
      return parser.parseOperand(operand);
    number = literal;
    return *parsed;
  }
};
} // namespace

/// The hk.constant of rank 0 that `number` stands for, made where `beside`,
/// another operand of the operator, is known.
static FailureOr<Value> makeConstant(OpAsmParser &parser,
                                     const OperandOrNumber &number,
                                     Value beside, Type element) {
  FailureOr<Attribute> value =
      elementOf(parser, number.loc, *number.number, element);
  if (failed(value))
    return failure();
  OpBuilder b(parser.getContext());
  if (Operation *definition = beside.getDefiningOp()) {
    if (!definition->getBlock()) // what the parser puts for what comes later
      return parser.emitError(number.loc, "expected the operand beside a "
                                          "number to be defined before it");
    b.setInsertionPointAfter(definition);
  } else {
    b.setInsertionPointToStart(beside.getParentBlock());
  }
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(b, parser.getEncodedSourceLoc(number.loc), type,
                            DenseElementsAttr::get(type, *value))
      .getResult();
}

/// What a number is beside an operand in arithmetic.
static FailureOr<Type> numberType(OpAsmParser &parser, SMLoc loc, Type beside) {
  auto tensor = dyn_cast<RankedTensorType>(beside);
  if (!tensor)
    return parser.emitError(loc, "expected the operand beside a number to be "
                                 "a tensor, but got ")
           << beside;
  Type element = tensor.getElementType();
  return isa<FloatType>(element) ? Type(Float32Type::get(parser.getContext()))
                                 : element;
}

/// `lhs`, or `lhs, rhs` where they differ, and the result's type.
static ParseResult parseBinaryTypes(OpAsmParser &parser, Type &lhs, Type &rhs,
                                    Type &result) {
  if (parser.parseType(lhs))
    return failure();
  rhs = lhs;
  if (succeeded(parser.parseOptionalComma()) && parser.parseType(rhs))
    return failure();
  return parseResultType(parser, lhs, result);
}

ParseResult mlir::hk::parseBinary(OpAsmParser &parser, OperationState &result) {
  OperandOrNumber sides[2];
  if (sides[0].parse(parser) || parser.parseComma() || sides[1].parse(parser) ||
      parseBraces(parser, result.attributes, result.name.getStringRef()) ||
      parser.parseColon())
    return failure();
  int number = sides[0].number ? 0 : sides[1].number ? 1 : -1;
  Type types[2], made;
  if (number < 0) {
    if (parseBinaryTypes(parser, types[0], types[1], made))
      return failure();
    result.addTypes(made);
    return failure(
        parser.resolveOperand(sides[0].operand, types[0], result.operands) ||
        parser.resolveOperand(sides[1].operand, types[1], result.operands));
  }
  if (sides[1 - number].number)
    return parser.emitError(sides[1].loc,
                            "expected an operand beside a number");
  Type &type = types[1 - number];
  if (parser.parseType(type) || parseResultType(parser, type, made) ||
      parser.resolveOperand(sides[1 - number].operand, type, result.operands))
    return failure();
  FailureOr<Type> element = numberType(parser, sides[number].loc, type);
  if (failed(element))
    return failure();
  FailureOr<Value> constant =
      makeConstant(parser, sides[number], result.operands[0], *element);
  if (failed(constant))
    return failure();
  result.operands.insert(result.operands.begin() + number, *constant);
  result.addTypes(made);
  return success();
}

void mlir::hk::printBinary(OpAsmPrinter &printer, Operation *op) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  printer << " " << lhs << ", " << rhs;
  printBraces(printer, op, {}, {});
  printer << " : " << lhs.getType();
  if (rhs.getType() != lhs.getType())
    printer << ", " << rhs.getType();
  printResultType(printer, op, lhs.getType(), op->getResult(0).getType());
}

ParseResult CompareOp::parse(OpAsmParser &parser, OperationState &result) {
  Attribute predicate = ComparePredicateAttr::parse(parser, Type());
  if (!predicate)
    return failure();
  result.addAttribute(getPredicateAttrName(result.name), predicate);
  return parseBinary(parser, result);
}

void CompareOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifyComparePredicate(getPredicate());
  printBinary(printer, *this);
}

ParseResult SelectOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand condition;
  OperandOrNumber values[2];
  Type conditionType, types[2];
  RankedTensorType made;
  if (parser.parseOperand(condition) || parser.parseComma() ||
      values[0].parse(parser) || parser.parseComma() ||
      values[1].parse(parser) ||
      parseBraces(parser, result.attributes, getOperationName()) ||
      parser.parseColonType(conditionType))
    return failure();
  for (int i : {0, 1})
    if (!values[i].number &&
        (parser.parseComma() || parser.parseType(types[i])))
      return failure();
  if (parser.parseArrow() || parser.parseType(made) ||
      parser.resolveOperand(condition, conditionType, result.operands))
    return failure();
  for (int i : {0, 1}) {
    if (!values[i].number) {
      if (parser.resolveOperand(values[i].operand, types[i], result.operands))
        return failure();
      continue;
    }
    FailureOr<Value> constant = makeConstant(
        parser, values[i], result.operands[0], made.getElementType());
    if (failed(constant))
      return failure();
    result.operands.push_back(*constant);
  }
  result.addTypes(made);
  return success();
}

void SelectOp::print(OpAsmPrinter &printer) {
  printer << " " << getCondition() << ", " << getTrueValue() << ", "
          << getFalseValue();
  printBraces(printer, *this, {}, {});
  printer << " : " << getCondition().getType() << ", "
          << getTrueValue().getType() << ", " << getFalseValue().getType()
          << " -> " << getType();
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

ParseResult mlir::hk::parseRowNumbersType(OpAsmParser &parser, Type &first,
                                          Type &second) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (parser.parseType(first))
    return failure();
  second = first;
  return success();
}

void mlir::hk::printRowNumbersType(OpAsmPrinter &p, Operation *, Type first,
                                   Type) {
  if (first)
    p << ", " << first;
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
