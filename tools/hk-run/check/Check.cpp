//===- Check.cpp - hk-run --check: comparison with the interpreter --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built as libhk_check.so, which hk-run loads when it is asked to check, so
// that hk-run itself starts without MLIR. Parses the source, evaluates the
// function on the inputs of the call and compares every state and output,
// element by element, with its derived bound.
//
//===----------------------------------------------------------------------===//

#include "../Check.h"
#include "hk/Analysis/State.h"
#include "hk/Compiler/Compiler.h"
#include "hk/Compiler/Safetensors.h"
#include "hk/Passes/Entry.h"
#include "hk/Reference/Interpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::run::CheckRequest;
using ::hk::run::CheckTensor;
using ::hk::run::Role;

namespace {
constexpr int kAgrees = 0, kDiffers = 1, kUnknown = 2;

int unknown(const llvm::Twine &why) {
  llvm::errs() << "hk-run --check: " << why << "\n";
  return kUnknown;
}

FailureOr<reference::Tensor> tensorOf(const ::hk::run::HostTensor &tensor) {
  return reference::fromBytes(tensor.dtype, tensor.sizes, tensor.bytes);
}

/// Prints the comparison of one state or output.
bool report(const CheckTensor &tensor, const reference::Tensor &expected) {
  FailureOr<reference::Tensor> actual = tensorOf(*tensor.after);
  bool agrees = false;
  std::string text = "its bytes are not those of its shape";
  if (succeeded(actual)) {
    reference::Comparison comparison = reference::compare(expected, *actual);
    agrees = comparison.agrees();
    text = comparison.text();
  }
  llvm::outs() << "check " << tensor.name << ": " << (agrees ? "ok" : "FAILED")
               << ", " << text << "\n";
  return agrees;
}
} // namespace

extern "C" __attribute__((visibility("default"))) int
hkRunCheck(const CheckRequest &request) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module =
      parseSourceFile<ModuleOp>(request.sourcePath, sources, &context);
  if (!module)
    return unknown("cannot read '" + request.sourcePath +
                   "'; name the source with --check=model.mlir");
  auto func = module->lookupSymbol<func::FuncOp>(request.function);
  if (!func || func.isExternal())
    return unknown("'" + request.sourcePath + "' has no function @" +
                   request.function);

  // Unless told otherwise, the weights that the call used.
  WeightFiles weights;
  for (const std::string &path : request.weightsPaths)
    if (failed(weights.add(module->getLoc(), path)))
      return kUnknown;
  auto provider = [&](WeightOp op) -> FailureOr<reference::Tensor> {
    FailureOr<WeightFiles::Tensor> found = weights.find(op);
    if (failed(found))
      return failure();
    auto type = cast<RankedTensorType>(op.getType());
    return reference::fromBytes(
        *dtypeOf(type.getElementType()), type.getShape(),
        {found->bytes.bytes_begin(), found->bytes.bytes_end()});
  };

  SmallVector<reference::Tensor> arguments;
  SmallVector<const CheckTensor *> states, outputs;
  for (const CheckTensor &tensor : request.tensors) {
    if (tensor.role == Role::Output) {
      outputs.push_back(&tensor);
      continue;
    }
    FailureOr<reference::Tensor> value = tensorOf(*tensor.before);
    if (failed(value))
      return unknown("argument '" + tensor.name + "' has the wrong size");
    arguments.push_back(std::move(*value));
    states.push_back(&tensor);
  }
  if (arguments.size() != func.getNumArguments())
    return unknown("@" + request.function + " of the source has " +
                   Twine(func.getNumArguments()) + " arguments, the module's " +
                   Twine(arguments.size()) + "; is it another version?");
  auto results = reference::interpret(func, arguments, provider);
  if (failed(results))
    return kUnknown;

  // A state that the function does not return is unchanged.
  SmallVector<const reference::Tensor *> expectedStates;
  for (auto [tensor, argument] : llvm::zip(states, arguments))
    expectedStates.push_back(tensor->role == Role::State ? &argument : nullptr);
  SmallVector<const reference::Tensor *> expectedOutputs;
  Operation *ret = func.getBody().front().getTerminator();
  for (auto [value, expected] : llvm::zip(ret->getOperands(), *results)) {
    if (BlockArgument state = stateArgumentOf(value))
      expectedStates[state.getArgNumber()] = &expected;
    else
      expectedOutputs.push_back(&expected);
  }
  if (expectedOutputs.size() != outputs.size())
    return unknown("@" + request.function + " of the source has " +
                   Twine(expectedOutputs.size()) + " outputs, the module's " +
                   Twine(outputs.size()) + "; is it another version?");

  bool agrees = true;
  for (auto [tensor, expected] : llvm::zip(states, expectedStates))
    if (expected)
      agrees &= report(*tensor, *expected);
  for (auto [tensor, expected] : llvm::zip(outputs, expectedOutputs))
    agrees &= report(*tensor, *expected);
  llvm::outs() << "check @" << request.function << " on " << request.target
               << ": " << (agrees ? "all within their bounds" : "DIFFERS")
               << "\n";
  llvm::outs().flush();
  return agrees ? kAgrees : kDiffers;
}
