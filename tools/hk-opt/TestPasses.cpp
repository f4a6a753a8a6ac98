//===- TestPasses.cpp - Passes that only print ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of an operator are named after it: `hk.add#0`; arguments `arg0`.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/ResolveDims.h"
#include "hk/Dialect/HK.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
std::string label(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "arg" + std::to_string(argument.getArgNumber());
  auto result = cast<OpResult>(value);
  return result.getOwner()->getName().getStringRef().str() + "#" +
         std::to_string(result.getResultNumber());
}

std::string print(DimName name) {
  return name >= 0 ? std::to_string(name) : "d" + std::to_string(-1 - name);
}

std::string print(const SizeExpr &expr) {
  std::string operands;
  for (DimName name : expr.operands)
    operands += print(name) + ", ";
  std::string constant = std::to_string(expr.constant);
  switch (expr.kind) {
  case SizeExpr::Kind::Constant:
    return constant;
  case SizeExpr::Kind::Argument:
    return label(expr.value) + " dim " + std::to_string(expr.dim);
  case SizeExpr::Kind::Index:
    return "index " + label(expr.value);
  case SizeExpr::Kind::Product:
    return "product(" + operands + constant + ")";
  case SizeExpr::Kind::FloorDiv:
    return "div(" + operands + constant + ")";
  case SizeExpr::Kind::CeilDiv:
    return "ceildiv(" + operands + constant + ")";
  case SizeExpr::Kind::Sum:
    return "sum(" + operands + constant + ")";
  case SizeExpr::Kind::Opaque:
    return "opaque " + label(expr.value) + " dim " + std::to_string(expr.dim);
  }
  return "";
}

void forEachTensor(Block &block, llvm::function_ref<void(Value)> fn) {
  auto visit = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()))
      fn(value);
  };
  for (Value argument : block.getArguments())
    visit(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      visit(result);
}

struct PrintDims : PassWrapper<PrintDims, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintDims)
  StringRef getArgument() const final { return "hk-print-dims"; }
  StringRef getDescription() const final { return "print dim symbols"; }
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    Block &block = getOperation().getBody().front();
    DimSymbols dims(block);
    llvm::outs() << "dims of " << getOperation().getName() << "\n";
    forEachTensor(block, [&](Value value) {
      llvm::outs() << "  " << label(value) << " [";
      llvm::interleaveComma(dims.shape(value), llvm::outs(),
                            [&](DimName name) { llvm::outs() << print(name); });
      llvm::outs() << "]\n";
    });
    for (int64_t symbol = 0; symbol < dims.numSymbols(); ++symbol)
      llvm::outs() << "  d" << symbol << " = " << print(dims.definition(symbol))
                   << "\n";
    for (const DimSymbols::Guard &guard : dims.guards())
      llvm::outs() << "  guard " << print(guard.lhs)
                   << " == " << print(guard.rhs) << "\n";
  }
};

struct PrintAlignment
    : PassWrapper<PrintAlignment, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintAlignment)
  StringRef getArgument() const final { return "hk-print-alignment"; }
  StringRef getDescription() const final {
    return "print alignment and layout of every tensor";
  }
  void runOnOperation() override {
    forEachTensor(getOperation().getBody().front(), [](Value value) {
      llvm::outs() << label(value) << " align " << guaranteedAlignment(value)
                   << (layoutOfViews(value) ? " free" : " needs a copy")
                   << "\n";
    });
  }
};

/// Replaces every tensor.dim by what DimResolver makes.
struct TestResolveDims
    : PassWrapper<TestResolveDims, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestResolveDims)
  StringRef getArgument() const final { return "hk-test-resolve-dims"; }
  StringRef getDescription() const final {
    return "sizes in terms of sizes of arguments";
  }
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    DimSymbols dims(block);
    SmallVector<tensor::DimOp> work(block.getOps<tensor::DimOp>());
    DimResolver resolver(OpBuilder::atBlockBegin(&block),
                         getOperation().getLoc(), dims);
    for (tensor::DimOp dim : work) {
      dim.getResult().replaceAllUsesWith(
          resolver.getValue(dim.getSource(), *dim.getConstantIndex()));
      dim.erase();
    }
  }
};
} // namespace

void mlir::hk::registerTestPasses() {
  PassRegistration<PrintDims>();
  PassRegistration<PrintAlignment>();
  PassRegistration<TestResolveDims>();
}
