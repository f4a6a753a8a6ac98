//===- Check.cpp - Comparison with the reference --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the reference interpreter on the source of a compiled module and the
// inputs of a call, and prints how far each state and output is from it.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "hk/Reference/Safetensors.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace ::hk::run;
using mlir::hk::reference::Comparison;
using mlir::hk::reference::Tensor;

static int cannotTell(const llvm::Twine &why) {
  llvm::errs() << "hk-run: cannot check: " << why << "\n";
  return 2;
}

static FailureOr<Tensor> convert(const HostTensor &tensor) {
  return mlir::hk::reference::fromBytes(tensor.dtype, tensor.sizes,
                                        tensor.bytes);
}

/// The state argument whose write chain ends in `value`, or -1.
static int64_t stateOf(func::FuncOp function, Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
      value = dps.getTiedOpOperand(result)->get();
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      value = insert.getDest();
    else if (auto cast = dyn_cast<tensor::CastOp>(op))
      value = cast.getSource();
    else
      return -1;
  }
  unsigned index = cast<BlockArgument>(value).getArgNumber();
  return function.getArgAttr(index, mlir::hk::kStateAttrName) ? index : -1;
}

/// What the reference says each tensor is after the call: nullptr for inputs.
static SmallVector<const Tensor *> expectedOf(func::FuncOp function,
                                              ArrayRef<CheckTensor> tensors,
                                              ArrayRef<Tensor> arguments,
                                              ArrayRef<Tensor> results) {
  size_t numArguments = arguments.size();
  SmallVector<const Tensor *> expected(tensors.size(), nullptr);
  // A state that the function does not return is unchanged.
  for (size_t i = 0; i < numArguments; ++i)
    if (tensors[i].role == Role::State)
      expected[i] = &arguments[i];
  Operation *ret = function.getBody().front().getTerminator();
  size_t output = numArguments;
  for (auto [value, result] : llvm::zip_equal(ret->getOperands(), results)) {
    int64_t state = stateOf(function, value);
    if (state >= 0)
      expected[state] = &result;
    else if (output < expected.size())
      expected[output++] = &result;
  }
  return expected;
}

static int check(const CheckRequest &request) {
  DialectRegistry registry;
  registry.insert<mlir::hk::HKDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, func::FuncDialect,
                  tensor::TensorDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(request.sourcePath, &context);
  if (!module)
    return cannotTell("no readable module at " + request.sourcePath +
                      "; give its source with --check=FILE.mlir");
  auto function = module->lookupSymbol<func::FuncOp>(request.function);
  if (!function)
    return cannotTell("no function @" + request.function + " in " +
                      request.sourcePath);
  mlir::hk::reference::WeightProvider weights;
  if (!request.weightsPath.empty()) {
    std::string error;
    auto provider =
        mlir::hk::reference::openSafetensors(request.weightsPath, error);
    if (failed(provider))
      return cannotTell(error);
    weights = std::move(*provider);
  }

  SmallVector<Tensor> arguments;
  for (const CheckTensor &tensor : request.tensors) {
    if (tensor.role == Role::Output)
      continue;
    FailureOr<Tensor> argument = convert(*tensor.before);
    if (failed(argument))
      return cannotTell("argument '" + tensor.name + "' has a wrong size");
    arguments.push_back(std::move(*argument));
  }
  FailureOr<SmallVector<Tensor>> results =
      mlir::hk::reference::interpret(function, arguments, weights);
  if (failed(results))
    return cannotTell("the reference interpreter failed");

  SmallVector<const Tensor *> expected =
      expectedOf(function, request.tensors, arguments, *results);
  bool agrees = true;
  for (auto [tensor, reference] : llvm::zip_equal(request.tensors, expected)) {
    if (tensor.role == Role::Input)
      continue;
    if (!reference)
      return cannotTell("@" + request.function + " in " + request.sourcePath +
                        " has no output for '" + tensor.name + "'");
    FailureOr<Tensor> actual = convert(*tensor.after);
    if (failed(actual))
      return cannotTell("'" + tensor.name + "' has a wrong size");
    Comparison comparison = mlir::hk::reference::compare(*reference, *actual);
    agrees &= comparison.agrees();
    llvm::outs() << "check " << tensor.name << ": "
                 << (comparison.agrees() ? "ok" : "FAILED") << ", "
                 << comparison.text() << "\n";
  }
  llvm::outs().flush();
  return agrees ? 0 : 1;
}

namespace hk::run {
int checkAgainstReference(const CheckRequest &request) {
  return check(request);
}
} // namespace hk::run
