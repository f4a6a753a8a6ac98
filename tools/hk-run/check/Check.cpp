//===- Check.cpp - hk-run --check: what the interpreter expects -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built as libhk_check.so, which hk-run loads when it is asked to check, so
// that hk-run itself starts without MLIR. Parses the source, evaluates the
// function on the inputs of the call and derives the bound of every element.
//
//===----------------------------------------------------------------------===//

#include "../Check.h"
#include "hk/Analysis/State.h"
#include "hk/Compiler/Compiler.h"
#include "hk/Compiler/ParseSource.h"
#include "hk/Compiler/Safetensors.h"
#include "hk/Passes/Passes.h"
#include "hk/Passes/Pipelines.h"
#include "hk/Reference/Interpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::run::CheckRequest;
using ::hk::run::CheckTensor;
using ::hk::run::Role;

namespace {
bool unknown(const llvm::Twine &why) {
  llvm::errs() << "hk-run --check: " << why << "\n";
  return false;
}

FailureOr<reference::Tensor> tensorOf(const ::hk::run::HostTensor &tensor) {
  return reference::fromBytes(tensor.dtype, tensor.sizes, tensor.bytes);
}

/// Inputs and states of a rank.
FailureOr<SmallVector<reference::Tensor>>
argumentsOf(ArrayRef<CheckTensor> tensors) {
  SmallVector<reference::Tensor> arguments;
  for (const CheckTensor &tensor : tensors) {
    if (tensor.role == Role::Output)
      continue;
    FailureOr<reference::Tensor> value = tensorOf(*tensor.before);
    if (failed(value)) {
      unknown("argument '" + tensor.name + "' has the wrong size");
      return failure();
    }
    arguments.push_back(std::move(*value));
  }
  return arguments;
}

/// What is expected of a tensor, without the parts that bounds come from.
::hk::run::Expected expectationOf(const CheckTensor &tensor,
                                  const reference::Tensor &value) {
  ::hk::run::Expected expected{tensor.name,
                               value.dtype,
                               {value.sizes.begin(), value.sizes.end()},
                               value.values,
                               {}};
  expected.bounds.reserve(value.values.size());
  for (int64_t i = 0, n = value.numElements(); i < n; ++i)
    expected.bounds.push_back(value.boundAt(i));
  return expected;
}

/// The source of one rank as the compiler has cut it.
LogicalResult shardAs(ModuleOp module, const std::string &mesh) {
  PassManager pm(module.getContext());
  buildInlinePipeline(pm);
  pm.addPass(createCanonicalizerPass());
  HKShardOptions options;
  options.mesh = mesh;
  pm.addPass(createHKShard(options));
  return pm.run(module);
}

/// The source of the module, cut for its mesh; null when it cannot be had.
OwningOpRef<ModuleOp> readSource(const CheckRequest &request,
                                 llvm::SourceMgr &sources,
                                 MLIRContext *context) {
  OwningOpRef<ModuleOp> module =
      parseSource(request.sourcePath, sources, context);
  if (!module) {
    unknown("cannot read '" + request.sourcePath +
            "'; name the source with --check=model.mlir");
    return nullptr;
  }
  if (!request.mesh.empty() && !meshOf(*module) &&
      failed(shardAs(*module, request.mesh))) {
    unknown("'" + request.sourcePath + "' cannot be cut for the mesh '" +
            request.mesh + "' of the module");
    return nullptr;
  }
  return module;
}

/// Unless told otherwise, the weights that the call used.
FailureOr<reference::Tensor> weightOf(WeightFiles &weights, WeightOp op) {
  FailureOr<WeightFiles::Tensor> found = weights.find(op);
  if (failed(found))
    return failure();
  RankedTensorType type = op.getWholeType();
  return reference::fromBytes(
      *dtypeOf(type.getElementType()), type.getShape(),
      {found->bytes.bytes_begin(), found->bytes.bytes_end()});
}

/// The arguments of the call, of every rank.
FailureOr<std::vector<SmallVector<reference::Tensor>>>
argumentsOfRanks(const CheckRequest &request) {
  std::vector<SmallVector<reference::Tensor>> ranks;
  auto add = [&](ArrayRef<CheckTensor> tensors) -> LogicalResult {
    FailureOr<SmallVector<reference::Tensor>> one = argumentsOf(tensors);
    if (succeeded(one))
      ranks.push_back(std::move(*one));
    return one;
  };
  if (request.ranks.empty() && failed(add(request.tensors)))
    return failure();
  for (const std::vector<CheckTensor> &tensors : request.ranks)
    if (failed(add(tensors)))
      return failure();
  return ranks;
}

/// Says which of the request's states and outputs is expected to hold what.
/// A state that the function does not return is unchanged.
bool expectResults(const CheckRequest &request, func::FuncOp func,
                   ArrayRef<reference::Tensor> arguments,
                   ArrayRef<reference::Tensor> results,
                   std::vector<::hk::run::Expected> &expected) {
  SmallVector<const reference::Tensor *> states, outputs;
  size_t next = 0;
  for (const CheckTensor &tensor : request.tensors)
    if (tensor.role != Role::Output) {
      states.push_back(tensor.role == Role::State ? &arguments[next] : nullptr);
      ++next;
    }
  Operation *ret = func.getBody().front().getTerminator();
  llvm::SmallPtrSet<const void *, 4> seen;
  for (auto [value, result] : llvm::zip(ret->getOperands(), results)) {
    // Returned once more it is an output, a copy.
    BlockArgument state = stateArgumentOf(value);
    if (state && seen.insert(value.getAsOpaquePointer()).second)
      states[state.getArgNumber()] = &result;
    else
      outputs.push_back(&result);
  }
  size_t numOutputs = request.tensors.size() - next;
  if (outputs.size() != numOutputs)
    return unknown("@" + request.function + " of the source has " +
                   Twine(outputs.size()) + " outputs, the module's " +
                   Twine(numOutputs) + "; is it another version?");
  const auto *state = states.begin(), *output = outputs.begin();
  std::vector<::hk::run::Expected> ofOutputs;
  for (const CheckTensor &tensor : request.tensors) {
    if (tensor.role == Role::Output)
      ofOutputs.push_back(expectationOf(tensor, **output++));
    else if (const reference::Tensor *value = *state++)
      expected.push_back(expectationOf(tensor, *value));
  }
  llvm::append_range(expected, ofOutputs);
  return true;
}
} // namespace

extern "C" __attribute__((visibility("default"))) bool
hkRunReference(const CheckRequest &request,
               std::vector<::hk::run::Expected> &expected) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = readSource(request, sources, &context);
  if (!module)
    return false;
  auto func = module->lookupSymbol<func::FuncOp>(request.function);
  if (!func || func.isExternal())
    return unknown("'" + request.sourcePath + "' has no function @" +
                   request.function);
  WeightFiles weights;
  for (const std::string &path : request.weightsPaths)
    if (failed(weights.add(module->getLoc(), path)))
      return false;
  size_t numArguments =
      llvm::count_if(request.tensors, [](const CheckTensor &tensor) {
        return tensor.role != Role::Output;
      });
  if (numArguments != func.getNumArguments())
    return unknown("@" + request.function + " of the source has " +
                   Twine(func.getNumArguments()) + " arguments, the module's " +
                   Twine(numArguments) + "; is it another version?");
  auto ranks = argumentsOfRanks(request);
  if (failed(ranks))
    return false;
  auto results = reference::interpretRanks(
      func, *ranks, [&](WeightOp op) { return weightOf(weights, op); });
  return succeeded(results) &&
         expectResults(request, func, (*ranks)[request.rank],
                       (*results)[request.rank], expected);
}
