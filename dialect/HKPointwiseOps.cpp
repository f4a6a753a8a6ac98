//===- HKPointwiseOps.cpp - Verifiers and folders of pointwise operators --===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types of pointwise operators, casts and constants. Their shapes stand
// beside their definitions.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"

using namespace mlir;
using namespace mlir::hk;

/// Both operands are real, or both have one integer type.
static LogicalResult verifyOperandTypes(Operation *op, Named lhs, Named rhs) {
  bool lhsReal = isa<FloatType>(lhs.element());
  if (lhsReal != isa<FloatType>(rhs.element()))
    return op->emitOpError("expected element type of ")
           << rhs.name << " to be " << (lhsReal ? "real" : "an integer")
           << " as that of " << lhs.name << ", but got " << rhs.element();
  return lhsReal ? success() : expectElement(op, rhs, lhs.element());
}

LogicalResult mlir::hk::verifyBinary(Operation *op, Value lhs, Value rhs,
                                     Value result) {
  Named l{"lhs", lhs}, r{"rhs", rhs}, res{"result", result};
  if (failed(verifyOperandTypes(op, l, r)))
    return failure();
  if (isa<FloatType>(l.element()) && !isa<FloatType>(res.element()))
    return op->emitOpError(
               "expected element type of result to be real, but got ")
           << res.element();
  return isa<FloatType>(l.element()) ? success()
                                     : expectElement(op, res, l.element());
}

//===----------------------------------------------------------------------===//
// hk.clamp
//===----------------------------------------------------------------------===//

LogicalResult ClampOp::verify() {
  for (const auto &[name, bound] :
       {std::pair("min", getMin()), {"max", getMax()}})
    if (bound.isNaN())
      return emitOpError("expected ") << name << " to be a number, but got NaN";
  if (getMin() > getMax())
    return emitOpError("expected min to be at most ")
           << getMax().convertToFloat() << ", which is max, but got "
           << getMin().convertToFloat();
  return success();
}

//===----------------------------------------------------------------------===//
// hk.compare, hk.select
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  return verifyOperandTypes(*this, {"lhs", getLhs()}, {"rhs", getRhs()});
}

LogicalResult SelectOp::verify() {
  Type element = tensorType(getTrueValue()).getElementType();
  if (failed(expectElement(*this, {"false_value", getFalseValue()}, element)))
    return failure();
  return expectElement(*this, {"result", getResult()}, element);
}

//===----------------------------------------------------------------------===//
// hk.cast
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  if (isInt4(tensorType(getResult()).getElementType()) &&
      getInput().getType() != getType())
    return emitOpError("expected element type of result to be other than ")
           << tensorType(getResult()).getElementType()
           << ", which only weights and arguments have";
  // A scale is written by quantize_mx only: its rounding is no cast.
  if (isa<Float8E8M0FNUType>(tensorType(getResult()).getElementType()) &&
      !isa<Float8E8M0FNUType>(tensorType(getInput()).getElementType()))
    return emitOpError("expected element type of result to be other than "
                       "f8E8M0FNU; hk.quantize_mx makes block scales");
  return success();
}

/// Whether every value of `from`, NaN and infinities included, is a value of
/// `to` and comes back unchanged.
static bool widensExactly(Type from, Type to) {
  return to.isF32() && isa<BFloat16Type, Float16Type, Float8E4M3FNType,
                           Float8E4M3FNUZType, Float4E2M1FNType>(from);
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<CastOp>();
  if (inner && inner.getInput().getType() == getType() &&
      widensExactly(tensorType(inner.getInput()).getElementType(),
                    tensorType(inner.getResult()).getElementType()))
    return inner.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// hk.iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (!getLike() && getDim() != 0)
    return emitOpError("expected dim to be absent without like, but got ")
           << getDim();
  return success();
}

//===----------------------------------------------------------------------===//
// hk.constant
//===----------------------------------------------------------------------===//

// Its size is static: the verifier says so in words of its own.
void ConstantOp::stateShapes(ShapeRelations &) {}

LogicalResult ConstantOp::verify() {
  auto type = tensorType(getResult());
  if (!type.hasStaticShape())
    return emitOpError("expected shape of result to be static, but got ")
           << type;
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError("expected value to be a dense attribute");
  std::optional<::hk::DType> dtype = dtypeOf(type.getElementType());
  int64_t bits = dtype ? ::hk::info(*dtype).bits : 8;
  int64_t bytes = (type.getNumElements() * bits + 7) / 8;
  if (bytes > kMaxConstantBytes)
    return emitOpError("expected value to be of at most ")
           << kMaxConstantBytes << " bytes, but got " << bytes
           << "; make it an hk.weight";
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
