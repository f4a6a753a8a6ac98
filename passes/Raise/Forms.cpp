//===- Forms.cpp - Parts that forms are made of ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Forms.h.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// Links of a chain of views or casts that are followed, factors of a product.
static constexpr int kLongest = 16;

static bool isReshape(Operation *op) {
  return isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                         tensor::CastOp>(op);
}

std::optional<double> raise::numberOf(Value value) {
  for (int i = 0; i < kLongest; ++i) {
    Operation *op = value.getDefiningOp();
    if (!op || !(isReshape(op) || isa<CastOp>(op)))
      break;
    value = op->getOperand(0);
  }
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  if (elements.getElementType().isInteger(1))
    return elements.getSplatValue<bool>();
  if (elements.getElementType().isSignlessInteger())
    return double(elements.getSplatValue<APInt>().getSExtValue());
  return std::nullopt;
}

bool raise::isNumber(Value value, double expected) {
  std::optional<double> number = numberOf(value);
  if (!number)
    return false;
  Type element = Raiser::elementOf(value);
  // Half a unit of the last place of the type that the file keeps it in.
  double unit = element.isBF16() ? 0x1p-8 : element.isF16() ? 0x1p-11 : 0x1p-22;
  return std::abs(*number - expected) <= unit * std::abs(expected);
}

Value raise::throughWidening(Value value) {
  for (int i = 0; i < kLongest; ++i) {
    auto cast = value.getDefiningOp<CastOp>();
    if (!cast)
      break;
    auto from = dyn_cast<FloatType>(Raiser::elementOf(cast.getInput())),
         to = dyn_cast<FloatType>(Raiser::elementOf(value));
    if (!from || !to || !to.isF32())
      break;
    value = cast.getInput();
  }
  return value;
}

/// Whether every group of dims of `many` is one dim and others of size 1.
static bool joinsUnitDimsOnly(ArrayRef<ReassociationIndices> groups,
                              ArrayRef<int64_t> many) {
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t d) { return many[d] != 1; }) <= 1;
  });
}

Value raise::throughUnitDims(Value value) {
  for (int i = 0; i < kLongest; ++i) {
    Operation *op = value.getDefiningOp();
    bool sameElements = isa_and_nonnull<tensor::CastOp>(op);
    if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op))
      sameElements = joinsUnitDimsOnly(collapse.getReassociationIndices(),
                                       shapeOf(collapse.getSrc()));
    if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
      sameElements = joinsUnitDimsOnly(expand.getReassociationIndices(),
                                       shapeOf(expand.getResult()));
    if (!sameElements)
      break;
    value = op->getOperand(0);
  }
  return value;
}

ReduceOp raise::reducedBy(Value value, ReduceKind kind) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  return reduce && reduce.getKind() == kind && reduce.getDims() == 1
             ? reduce
             : ReduceOp();
}

bool raise::takesNumber(Operation *op, unsigned i) {
  return numberOf(op->getOperand(1 - i)) &&
         shapeOf(op->getOperand(i)) == shapeOf(op->getResult(0));
}

/// Whether a constant operand of `op` repeats what it is beside.
static bool hasRepeatingNumber(Operation *op) {
  return llvm::any_of(ArrayRef<unsigned>{0, 1}, [&](unsigned i) {
    return numberOf(op->getOperand(1 - i)) && !takesNumber(op, i);
  });
}

Factors raise::factorsOf(Raiser &raiser, Value root) {
  Factors found;
  SmallVector<Value> work{root};
  for (int steps = 0; !work.empty(); ++steps) {
    Value value = work.pop_back_val();
    if (std::optional<double> number = numberOf(value)) {
      found.constant *= *number;
      continue;
    }
    Operation *op = value.getDefiningOp();
    bool isInside = value == root || raiser.mayDrop(value);
    if (isa_and_nonnull<MulOp>(op) && isInside && steps < kLongest &&
        !hasRepeatingNumber(op)) {
      work.append({op->getOperand(1), op->getOperand(0)});
      continue;
    }
    if (isa_and_nonnull<DivOp>(op) && isInside && takesNumber(op, 0))
      if (std::optional<double> divisor = numberOf(op->getOperand(1));
          divisor && *divisor != 0) {
        found.constant /= *divisor;
        work.push_back(op->getOperand(0));
        continue;
      }
    if (isa_and_nonnull<NegOp>(op) && isInside) {
      found.constant = -found.constant;
      work.push_back(op->getOperand(0));
      continue;
    }
    found.values.push_back(value);
  }
  return found;
}

bool raise::takeFactor(Factors &factors, Value value) {
  Value wanted = throughWidening(value);
  for (Value &factor : factors.values)
    if (throughWidening(factor) == wanted) {
      factors.values.erase(&factor);
      return true;
    }
  return false;
}

std::optional<std::pair<Value, double>> raise::addedNumber(Value value) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (takesNumber(add, i))
      return std::pair(add->getOperand(i), *numberOf(add->getOperand(1 - i)));
  return std::nullopt;
}

Value raise::transpose(OpBuilder &b, Location loc, Value value,
                       ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> whole(permutation);
  if (auto before = value.getDefiningOp<TransposeOp>()) {
    for (int64_t &dim : whole)
      dim = before.getPermutation()[dim];
    value = before.getInput();
  }
  if (llvm::equal(whole, llvm::seq<int64_t>(0, whole.size())))
    return value;
  SmallVector<int64_t> shape;
  for (int64_t dim : whole)
    shape.push_back(shapeOf(value)[dim]);
  return TransposeOp::create(
      b, loc, RankedTensorType::get(shape, Raiser::elementOf(value)), value,
      whole);
}

Value raise::collapse(OpBuilder &b, Location loc, Value value,
                      ArrayRef<ReassociationIndices> groups) {
  if (groups.size() == shapeOf(value).size())
    return value;
  return tensor::CollapseShapeOp::create(b, loc, value, groups);
}
