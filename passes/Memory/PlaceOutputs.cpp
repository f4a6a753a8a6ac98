//===- PlaceOutputs.cpp - Results become destinations given by the caller -===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that is a state argument after its writes disappears from the
// signature. Every other result gets a writable argument at the end of the
// list, which replaces the tensor.empty that the launch making the result had
// as destination; so bufferization finds the caller's memory in place and no
// copy remains. A shape function with the sizes of the outputs is made beside
// the function.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/ResolveDims.h"
#include "hk/Analysis/State.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKPLACEOUTPUTS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

std::string mlir::hk::argumentName(func::FuncOp func, unsigned index) {
  if (auto name = func.getArgAttrOfType<StringAttr>(index, kNameAttrName))
    return name.str();
  return ("arg" + Twine(index)).str();
}

std::string mlir::hk::outputName(func::FuncOp func, unsigned result,
                                 unsigned output) {
  if (auto name = func.getResultAttrOfType<StringAttr>(result, kNameAttrName))
    return name.str();
  return ("out" + Twine(output)).str();
}

/// What one side of a guard is, for the error at run time.
static std::string describe(func::FuncOp func, const DimSymbols &dims,
                            const SizeExpr &size) {
  SmallVector<std::string> operands;
  for (DimName name : size.operands)
    operands.push_back(name >= 0
                           ? Twine(name).str()
                           : describe(func, dims, dims.definition(-1 - name)));
  auto argument = dyn_cast_or_null<BlockArgument>(size.value);
  std::string constant = Twine(std::abs(size.constant)).str();
  switch (size.kind) {
  case SizeExpr::Kind::Constant:
    return constant;
  case SizeExpr::Kind::Sum:
    return llvm::join(operands, " + ") +
           (size.constant == 0
                ? ""
                : (size.constant < 0 ? " - " : " + ") + constant);
  case SizeExpr::Kind::Product:
    return llvm::join(operands, " * ") +
           (size.constant == 1 ? "" : " * " + constant);
  case SizeExpr::Kind::FloorDiv:
    return operands[0] + " / " + constant;
  case SizeExpr::Kind::CeilDiv:
    return operands[0] + " / " + constant + ", rounded up";
  case SizeExpr::Kind::Argument:
    return (argumentName(func, argument.getArgNumber()) + " dim " +
            Twine(size.dim))
        .str();
  case SizeExpr::Kind::Index:
  case SizeExpr::Kind::Opaque:
    break;
  }
  if (!size.value || argument)
    return "a size computed from other sizes";
  return (Twine(size.value.getDefiningOp()->getName().getStringRef()) +
          " dim " + Twine(size.dim))
      .str();
}

namespace {
/// Writes @f__shape: the guards of @f and the sizes of its outputs.
class ShapeWriter {
public:
  explicit ShapeWriter(func::FuncOp func);

  void writeGuards();
  /// Writes those of the function that this one is a version of, of which
  /// `shape` is the shape function.
  void copyGuards(func::FuncOp shape);
  /// Fails where a size is not made of dims of arguments.
  LogicalResult writeSizes();

private:
  Value copyOf(Value index);

  func::FuncOp func;
  OpBuilder builder;
  DimSymbols dims;
  Block *block; // of the shape function
  DimResolver resolver;
  IRMapping again; // sizes that the function computes in ways of its own
};
} // namespace

/// Makes an empty shape function behind `func`. Returns its block and leaves
/// `builder` in front of its return.
static Block *addShapeFunction(func::FuncOp func, OpBuilder &builder) {
  builder.setInsertionPointAfter(func);
  int64_t count = 0;
  for (Value result : func.getBody().front().getTerminator()->getOperands())
    if (!stateArgumentOf(result))
      count += cast<RankedTensorType>(result.getType()).getRank();
  auto shape = func::FuncOp::create(
      builder, func.getLoc(), (func.getSymName() + kShapeFunctionSuffix).str(),
      builder.getFunctionType(
          func.getArgumentTypes(),
          SmallVector<Type>(count, builder.getIndexType())));
  shape.setPrivate();
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    shape.setArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName,
                     builder.getBoolAttr(false));
  Block *block = shape.addEntryBlock();
  builder.setInsertionPointToStart(block);
  builder.setInsertionPoint(func::ReturnOp::create(builder, func.getLoc()));
  return block;
}

ShapeWriter::ShapeWriter(func::FuncOp func)
    : func(func), builder(func), dims(func.getBody().front()),
      block(addShapeFunction(func, builder)),
      resolver(builder, func.getLoc(), dims,
               [this](OpBuilder &b, Location l, Value argument,
                      int64_t dim) -> Value {
                 unsigned index = cast<BlockArgument>(argument).getArgNumber();
                 return tensor::DimOp::create(b, l, block->getArgument(index),
                                              dim);
               }) {
  resolver.setIndexSource([this](Value index) { return copyOf(index); });
}

/// `index` of the function, computed once more in the shape function.
Value ShapeWriter::copyOf(Value index) {
  if (Value known = again.lookupOrNull(index))
    return known;
  Operation *op = index.getDefiningOp();
  auto dim = dyn_cast_or_null<tensor::DimOp>(op);
  if (dim && dim.getConstantIndex()) {
    again.map(index,
              resolver.getValue(dim.getSource(), *dim.getConstantIndex()));
  } else if (op && isa_and_nonnull<arith::ArithDialect>(op->getDialect())) {
    for (Value operand : op->getOperands())
      copyOf(operand);
    builder.clone(*op, again);
  }
  return again.lookupOrDefault(index);
}

void ShapeWriter::writeGuards() {
  for (const DimSymbols::Guard &guard : dims.guards()) {
    Value lhs = resolver.materialize(guard.lhs);
    Value rhs = resolver.materialize(guard.rhs);
    GuardOp::create(builder, func.getLoc(), GuardRelation::eq, lhs, rhs,
                    builder.getStrArrayAttr({describe(func, dims, guard.lhs),
                                             describe(func, dims, guard.rhs)}));
  }
  // Those of views stand in the function; it is called after they were checked.
  for (GuardOp guard :
       llvm::make_early_inc_range(func.getBody().front().getOps<GuardOp>())) {
    Value lhs = copyOf(guard.getLhs()), rhs = copyOf(guard.getRhs());
    if (lhs != rhs)
      GuardOp::create(builder, guard.getLoc(), guard.getRelation(), lhs, rhs,
                      guard.getNames());
    guard.erase();
  }
}

/// A version demands what the whole function does, for which passes may have
/// left it other operators to say so.
void ShapeWriter::copyGuards(func::FuncOp shape) {
  IRMapping copies;
  Block &whole = shape.getBody().front();
  copies.map(whole.getArguments(), block->getArguments());
  for (Operation &op : whole.without_terminator())
    builder.clone(op, copies);
  for (GuardOp guard :
       llvm::make_early_inc_range(func.getBody().front().getOps<GuardOp>()))
    guard.erase();
}

LogicalResult ShapeWriter::writeSizes() {
  SmallVector<Value> sizes;
  for (Value result : func.getBody().front().getTerminator()->getOperands())
    if (!stateArgumentOf(result))
      for (int64_t d = 0,
                   rank = cast<RankedTensorType>(result.getType()).getRank();
           d < rank; ++d)
        sizes.push_back(resolver.getValue(result, d));
  block->getTerminator()->setOperands(sizes);
  auto isOutside = [&](Value size) { return size.getParentBlock() != block; };
  for (Operation &op : *block)
    if (llvm::any_of(op.getOperands(), isOutside))
      return func.emitError("expected the sizes of @")
             << func.getSymName()
             << " to be made of dims of its arguments by arith";
  return success();
}

namespace {
struct PlaceOutputsPass : mlir::hk::impl::HKPlaceOutputsBase<PlaceOutputsPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp func : functions) {
      if (!func.isPublic() || func.isExternal())
        continue;
      ShapeWriter shape(func);
      VersionAttr version = versionOf(func);
      if (auto whole = version ? shapeFunctionOf(version) : func::FuncOp())
        shape.copyGuards(whole);
      else
        shape.writeGuards();
      if (failed(shape.writeSizes()) || failed(place(func)))
        return signalPassFailure();
    }
  }

  /// That of the function which has the version; hk-split puts it in front.
  func::FuncOp shapeFunctionOf(VersionAttr version) {
    return getOperation().lookupSymbol<func::FuncOp>(
        (version.getOf().getValue() + kShapeFunctionSuffix).str());
  }

  LogicalResult place(func::FuncOp func);
  LogicalResult redirect(Value result, Value destination,
                         const DimSymbols &dims, OpBuilder &builder);
};
} // namespace

/// The operator that makes what `view` shows, through further views.
static Operation *producerOf(Operation *view) {
  while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                         tensor::CastOp>(view))
    view = view->getOperand(0).getDefiningOp();
  return view;
}

/// `destination`, of the shape of `collapse`, with the shape of its source, in
/// front of the launch that writes it.
static Value expandDestination(tensor::CollapseShapeOp collapse,
                               Value destination, const DimSymbols &dims,
                               OpBuilder &builder) {
  Operation *producer = producerOf(collapse);
  builder.setInsertionPoint(producer);
  DimResolver sizes(builder, collapse.getLoc(), dims);
  SmallVector<OpFoldResult> shape = sizes.getShape(collapse.getSrc());
  builder.setInsertionPoint(producer);
  return tensor::ExpandShapeOp::create(
      builder, collapse.getLoc(), collapse.getSrcType(), destination,
      collapse.getReassociationIndices(), shape);
}

/// Makes `destination` the memory in which `result` is produced, looking
/// through reshapes.
LogicalResult PlaceOutputsPass::redirect(Value result, Value destination,
                                         const DimSymbols &dims,
                                         OpBuilder &builder) {
  Operation *op = result.getDefiningOp();
  if (auto launch = dyn_cast_or_null<LaunchOp>(op)) {
    OpOperand *out = launch.getTiedOpOperand(cast<OpResult>(result));
    if (!out->get().getDefiningOp<tensor::EmptyOp>())
      return launch.emitOpError("expected result #")
             << cast<OpResult>(result).getResultNumber()
             << " to be written to one place only, but it is returned and has "
                "another destination; return an hk.copy of it";
    builder.setInsertionPoint(launch);
    if (out->get().getType() != destination.getType())
      destination = tensor::CastOp::create(builder, launch.getLoc(),
                                           out->get().getType(), destination);
    out->set(destination);
    return success();
  }
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op)) {
    builder.setInsertionPointAfterValue(destination);
    return redirect(cast.getSource(),
                    tensor::CastOp::create(builder, cast.getLoc(),
                                           cast.getSource().getType(),
                                           destination),
                    dims, builder);
  }
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op);
      collapse && producerOf(collapse))
    return redirect(collapse.getSrc(),
                    expandDestination(collapse, destination, dims, builder),
                    dims, builder);
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
    builder.setInsertionPointAfterValue(destination);
    return redirect(expand.getSrc(),
                    tensor::CollapseShapeOp::create(
                        builder, expand.getLoc(), expand.getSrcType(),
                        destination, expand.getReassociationIndices()),
                    dims, builder);
  }
  return emitError(result.getLoc(),
                   "expected a returned tensor to be made by a launch, got ")
         << result << "; return an hk.copy of it";
}

LogicalResult PlaceOutputsPass::place(func::FuncOp func) {
  OpBuilder builder(func);
  auto writable = bufferization::BufferizationDialect::kWritableAttrName;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    func.setArgAttr(i, writable,
                    builder.getBoolAttr(
                        static_cast<bool>(func.getArgAttr(i, kStateAttrName))));

  DimSymbols dims(func.getBody().front());
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  unsigned outputs = 0;
  for (OpOperand &operand : ret->getOpOperands()) {
    Value result = operand.get();
    if (stateArgumentOf(result))
      continue;
    unsigned index = func.getNumArguments();
    StringAttr name = builder.getStringAttr(
        outputName(func, operand.getOperandNumber(), outputs++));
    if (failed(func.insertArgument(
            index, result.getType(),
            builder.getDictionaryAttr(
                {builder.getNamedAttr(writable, builder.getBoolAttr(true)),
                 builder.getNamedAttr(kNameAttrName, name),
                 builder.getNamedAttr(kOutputAttrName, builder.getUnitAttr())}),
            result.getLoc())))
      return failure();
    // Without elements nothing is written, whatever views show of it.
    if (isa_and_nonnull<tensor::EmptyOp>(producerOf(result.getDefiningOp())))
      operand.set(func.getArgument(index));
    else if (failed(redirect(result, func.getArgument(index), dims, builder)))
      return failure();
  }
  return success();
}
