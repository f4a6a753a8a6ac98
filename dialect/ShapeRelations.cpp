//===- ShapeRelations.cpp - What an operator says of its sizes ------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Terms, statements, and two of their readers: the check of the verifier and of
// the interpreter, and the sizes of results.
//
//===----------------------------------------------------------------------===//

#include "hk/Dialect/ShapeRelations.h"

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

using Kind = ShapeRelation::Kind;

std::optional<int64_t> mlir::hk::staticSizeOf(Value value, int64_t dim) {
  RankedTensorType type = tensorType(value);
  if (dim < 0 || dim >= type.getRank() || type.isDynamicDim(dim))
    return std::nullopt;
  return type.getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

static int64_t fromTheEnd(Value value, int64_t dim) {
  return dim < 0 ? dim + tensorType(value).getRank() : dim;
}

SizeTerm SizeTerm::dimOf(Value value, int64_t dim) {
  SizeTerm term;
  term.kind = Kind::Dim;
  term.value = value;
  term.dim = fromTheEnd(value, dim);
  return term;
}

/// Sums and products become flat, with one constant; what is left unchanged by
/// its constant is its operand.
SizeTerm SizeTerm::make(Kind kind, ArrayRef<SizeTerm> operands,
                        int64_t constant) {
  SizeTerm term;
  term.kind = kind;
  term.constant = constant;
  bool isSum = kind == Kind::Sum, isProduct = kind == Kind::Product;
  for (const SizeTerm &operand : operands) {
    bool folds = (isSum || isProduct) &&
                 (operand.kind == kind || operand.kind == Kind::Constant);
    if (!folds) {
      term.operands.push_back(operand);
      continue;
    }
    term.constant = isSum ? term.constant + operand.constant
                          : term.constant * operand.constant;
    term.operands.insert(term.operands.end(), operand.operands.begin(),
                         operand.operands.end());
  }
  if (term.operands.empty() || (isProduct && term.constant == 0))
    return term.constant;
  bool isOperand = term.constant == (isSum ? 0 : 1);
  return isOperand && term.operands.size() == 1 ? SizeTerm(term.operands[0])
                                                : term;
}

std::optional<int64_t> SizeTerm::evaluate(SizeLookup sizeOf) const {
  if (kind == Kind::Constant)
    return constant;
  if (kind == Kind::Dim)
    return sizeOf(value, dim);
  int64_t result = kind == Kind::Product ? 1 : 0;
  for (const SizeTerm &operand : operands) {
    std::optional<int64_t> size = operand.evaluate(sizeOf);
    if (!size)
      return std::nullopt;
    result = kind == Kind::Product ? result * *size : result + *size;
  }
  switch (kind) {
  case Kind::Sum:
    return result + constant;
  case Kind::Product:
    return result * constant;
  default:
    break;
  }
  if (constant < 1)
    return std::nullopt;
  return kind == Kind::CeilDiv ? llvm::divideCeilSigned(result, constant)
                               : result / constant;
}

SizeTerm mlir::hk::dimOf(Value value, int64_t dim) {
  return SizeTerm::dimOf(value, dim);
}

SmallVector<SizeTerm> mlir::hk::dimsOf(Value value, int64_t begin,
                                       int64_t end) {
  int64_t rank = tensorType(value).getRank();
  SmallVector<SizeTerm> dims;
  for (int64_t dim = std::max<int64_t>(fromTheEnd(value, begin), 0);
       dim < std::min(fromTheEnd(value, end), rank); ++dim)
    dims.push_back(dimOf(value, dim));
  return dims;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void ShapeRelations::add(Kind kind, Named v, int64_t number,
                         ArrayRef<SizeTerm> sizes) {
  if (v.value)
    relations.push_back(
        {kind, v.name.str(), v.value, number, llvm::to_vector(sizes), {}});
}

void ShapeRelations::rank(Named v, int64_t rank) {
  add(Kind::Rank, v, rank, {});
}
void ShapeRelations::minRank(Named v, int64_t rank) {
  add(Kind::MinRank, v, rank, {});
}
void ShapeRelations::isStatic(Named v, int64_t dim) {
  if (v.value)
    add(Kind::Static, v, fromTheEnd(v.value, dim), {});
}
void ShapeRelations::shape(Named v, ArrayRef<SizeTerm> sizes) {
  add(Kind::Shape, v, 0, sizes);
}
void ShapeRelations::size(Named v, int64_t dim, const SizeTerm &size) {
  if (v.value)
    add(Kind::Size, v, fromTheEnd(v.value, dim), size);
}
void ShapeRelations::same(Named v, Value like) {
  if (v.value && like)
    shape(v, dimsOf(like));
}
void ShapeRelations::vectorLike(Named v, Value like) {
  rank(v, 1);
  size(v, 0, dimOf(like, -1));
}
void ShapeRelations::rowsLike(Named v, Named like) {
  minRank(like, 1);
  rank(v, like.rank());
  for (int64_t dim = 0; dim + 1 < like.rank(); ++dim)
    size(v, dim, dimOf(like.value, dim));
}
void ShapeRelations::broadcast(ArrayRef<Named> operands, Named result) {
  add(Kind::Broadcast, result, 0, {});
  for (const Named &operand : operands)
    relations.back().operands.push_back({operand.name.str(), operand.value});
}

ShapeRelations mlir::hk::shapeRelationsOf(Operation *op) {
  ShapeRelations relations;
  if (auto stated = dyn_cast<ShapeOpInterface>(op))
    stated.stateShapes(relations);
  return relations;
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

namespace {
using Known = std::optional<int64_t>;

/// Checks relations with the sizes that are known.
struct Checker {
  Operation *op;
  SizeLookup sizeOf;
  StringRef when;

  InFlightDiagnostic expected(const Twine &property, StringRef name) {
    return op->emitOpError("expected ") << property << " of " << name;
  }
  LogicalResult checkSize(StringRef name, int64_t dim, StringRef before,
                          Known wanted, Known got,
                          const ShapeRelation *of = nullptr) {
    if (!wanted || !got || *wanted == *got)
      return success();
    return expected("size of dim " + Twine(dim), name)
           << " to be " << before << *wanted << when << ", but got " << *got
           << (of ? transposeHint(*of, *wanted) : "");
  }
  std::string transposeHint(const ShapeRelation &r, int64_t wanted);
  LogicalResult checkShape(StringRef name, Value value, ArrayRef<Known> wanted);
  LogicalResult checkBroadcast(const ShapeRelation &r);
  LogicalResult check(const ShapeRelation &r);
};
} // namespace

static std::string shapeText(ArrayRef<Known> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + (size ? std::to_string(*size) : "?");
  return text + "]";
}

LogicalResult Checker::checkShape(StringRef name, Value value,
                                  ArrayRef<Known> wanted) {
  SmallVector<Known> got;
  for (int64_t dim = 0; dim < tensorType(value).getRank(); ++dim)
    got.push_back(sizeOf(value, dim));
  if (got.size() == wanted.size() &&
      llvm::all_of_zip(wanted, got,
                       [](Known a, Known b) { return !a || !b || *a == *b; }))
    return success();
  return expected("shape", name) << " to be " << shapeText(wanted) << when
                                 << ", but got " << shapeText(got);
}

LogicalResult Checker::checkBroadcast(const ShapeRelation &r) {
  int64_t rank = 0;
  for (auto &[name, value] : r.operands)
    rank = std::max(rank, tensorType(value).getRank());
  SmallVector<Known> shape(rank, 1);
  for (auto &[name, value] : r.operands) {
    int64_t shift = rank - tensorType(value).getRank();
    for (int64_t dim = 0; dim < rank - shift; ++dim) {
      Known size = sizeOf(value, dim), &known = shape[shift + dim];
      if (size == 1)
        continue;
      if (known != 1 && failed(checkSize(name, dim, "1 or ", known, size)))
        return failure();
      if (known == 1 || !known)
        known = size;
    }
  }
  return checkShape(r.name, r.value, shape);
}

/// What to say where a matrix has the size in its other dim.
std::string Checker::transposeHint(const ShapeRelation &r, int64_t wanted) {
  int64_t rank = tensorType(r.value).getRank(), first = rank - 2;
  if (rank < 2 || r.number < first)
    return "";
  int64_t other = first + rank - 1 - r.number;
  if (sizeOf(r.value, other) != wanted)
    return "";
  StringRef attribute = r.name == "lhs"   ? "transpose_a"
                        : r.name == "rhs" ? "transpose_b"
                                          : "";
  std::optional<RegisteredOperationName> info = op->getRegisteredInfo();
  bool known =
      info && llvm::any_of(info->getAttributeNames(),
                           [&](StringAttr a) { return a == attribute; });
  if (!known)
    return "";
  return ("; its dim " + Twine(other) + " has " + Twine(wanted) + ": " +
          (op->hasAttr(attribute) ? "leave out " : "write ") + attribute)
      .str();
}

LogicalResult Checker::check(const ShapeRelation &r) {
  int64_t rank = tensorType(r.value).getRank();
  switch (r.kind) {
  case Kind::Rank:
    if (rank == r.number)
      return success();
    return expected("rank", r.name)
           << " to be " << r.number << ", but got " << rank;
  case Kind::MinRank:
    if (rank >= r.number)
      return success();
    return expected("rank", r.name)
           << " to be at least " << r.number << ", but got " << rank;
  case Kind::Static:
    if (staticSizeOf(r.value, r.number))
      return success();
    return expected("size of dim " + Twine(r.number), r.name)
           << " to be static, but got ?";
  case Kind::Shape:
    return checkShape(r.name, r.value,
                      llvm::map_to_vector(r.sizes, [&](const SizeTerm &size) {
                        return size.evaluate(sizeOf);
                      }));
  case Kind::Size:
    return checkSize(r.name, r.number, "", r.sizes[0].evaluate(sizeOf),
                     sizeOf(r.value, r.number), &r);
  case Kind::Broadcast:
    return checkBroadcast(r);
  }
  llvm_unreachable("every kind has a case");
}

LogicalResult ShapeRelations::check(Operation *op, SizeLookup sizeOf,
                                    StringRef when) const {
  Checker checker{op, sizeOf, when};
  for (const ShapeRelation &relation : relations)
    if (failed(checker.check(relation)))
      return failure();
  return success();
}

LogicalResult mlir::hk::verifyShapes(Operation *op) {
  return shapeRelationsOf(op).check(op, staticSizeOf);
}

//===----------------------------------------------------------------------===//
// Sizes of results
//===----------------------------------------------------------------------===//

namespace {
/// Computes sizes of results from those of operands. An empty OpFoldResult:
/// nothing is said of it.
struct Reifier {
  OpBuilder &b;
  Operation *op;
  ArrayRef<ShapeRelation> relations;

  OpFoldResult dim(Value value, int64_t dim);
  OpFoldResult term(const SizeTerm &term);
};
} // namespace

OpFoldResult Reifier::dim(Value value, int64_t dim) {
  if (Known size = staticSizeOf(value, dim))
    return b.getIndexAttr(*size);
  if (value.getDefiningOp() != op)
    return tensor::getMixedSize(b, op->getLoc(), value, dim);
  for (const ShapeRelation &r : relations) {
    if (r.value != value)
      continue;
    if (r.kind == Kind::Shape)
      return term(r.sizes[dim]);
    if (r.kind == Kind::Size && r.number == dim)
      return term(r.sizes[0]);
    if (r.kind == Kind::Broadcast)
      return broadcastSizes(
          b, op->getLoc(),
          llvm::map_to_vector(r.operands, [](auto &o) { return o.second; }),
          value)[dim];
  }
  return {};
}

OpFoldResult Reifier::term(const SizeTerm &t) {
  Location loc = op->getLoc();
  if (Known size = t.evaluate(staticSizeOf))
    return b.getIndexAttr(*size);
  if (t.getKind() == SizeTerm::Kind::Dim)
    return dim(t.getValue(), t.getDim());
  SmallVector<OpFoldResult> operands;
  for (const SizeTerm &operand : t.getOperands()) {
    operands.push_back(term(operand));
    if (!operands.back())
      return {};
  }
  OpFoldResult result = operands[0];
  for (OpFoldResult operand : ArrayRef(operands).drop_front())
    result = t.getKind() == SizeTerm::Kind::Sum
                 ? addSizes(b, loc, result, operand)
                 : multiplySizes(b, loc, result, operand);
  int64_t constant = t.getConstant();
  switch (t.getKind()) {
  case SizeTerm::Kind::Sum:
    return constant == 0 ? result
                         : addSizes(b, loc, result, b.getIndexAttr(constant));
  case SizeTerm::Kind::Product:
    return constant == 1
               ? result
               : multiplySizes(b, loc, result, b.getIndexAttr(constant));
  case SizeTerm::Kind::CeilDiv:
    return ceilDivideSize(b, loc, result, constant);
  case SizeTerm::Kind::FloorDiv:
    return divideSize(b, loc, result, constant);
  default:
    llvm_unreachable("numbers and dims are handled above");
  }
}

LogicalResult mlir::hk::reifyShapes(Operation *op, OpBuilder &b,
                                    ReifiedRankedShapedTypeDims &shapes) {
  ShapeRelations relations = shapeRelationsOf(op);
  Reifier reifier{b, op, relations.get()};
  for (Value result : op->getResults()) {
    Sizes sizes;
    for (int64_t dim = 0; dim < tensorType(result).getRank(); ++dim) {
      sizes.push_back(reifier.dim(result, dim));
      if (!sizes.back())
        return failure();
    }
    addShape(b, op->getLoc(), result, std::move(sizes), shapes);
  }
  return success();
}
