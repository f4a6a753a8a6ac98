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
#include "hk/Passes/Entry.h"
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
  OwningOpRef<ModuleOp> module =
      parseSource(request.sourcePath, sources, &context);
  if (!module)
    return unknown("cannot read '" + request.sourcePath +
                   "'; name the source with --check=model.mlir");
  if (!request.mesh.empty() && !meshOf(*module) &&
      failed(shardAs(*module, request.mesh)))
    return unknown("'" + request.sourcePath + "' cannot be cut for the mesh '" +
                   request.mesh + "' of the module");
  auto func = module->lookupSymbol<func::FuncOp>(request.function);
  if (!func || func.isExternal())
    return unknown("'" + request.sourcePath + "' has no function @" +
                   request.function);

  // Unless told otherwise, the weights that the call used.
  WeightFiles weights;
  for (const std::string &path : request.weightsPaths)
    if (failed(weights.add(module->getLoc(), path)))
      return false;
  auto provider = [&](WeightOp op) -> FailureOr<reference::Tensor> {
    FailureOr<WeightFiles::Tensor> found = weights.find(op);
    if (failed(found))
      return failure();
    RankedTensorType type = op.getWholeType();
    return reference::fromBytes(
        *dtypeOf(type.getElementType()), type.getShape(),
        {found->bytes.bytes_begin(), found->bytes.bytes_end()});
  };

  SmallVector<const CheckTensor *> states, outputs;
  for (const CheckTensor &tensor : request.tensors)
    (tensor.role == Role::Output ? outputs : states).push_back(&tensor);
  if (states.size() != func.getNumArguments())
    return unknown("@" + request.function + " of the source has " +
                   Twine(func.getNumArguments()) + " arguments, the module's " +
                   Twine(states.size()) + "; is it another version?");
  using AllTensors = std::vector<std::vector<CheckTensor>>;
  std::vector<SmallVector<reference::Tensor>> ranks;
  for (const std::vector<CheckTensor> &tensors :
       request.ranks.empty() ? AllTensors{request.tensors} : request.ranks) {
    auto one = argumentsOf(tensors);
    if (failed(one))
      return false;
    ranks.push_back(std::move(*one));
  }
  auto allResults = reference::interpretRanks(func, ranks, provider);
  if (failed(allResults))
    return false;
  const auto &arguments = ranks[request.rank];
  const auto &results = (*allResults)[request.rank];

  // A state that the function does not return is unchanged.
  SmallVector<const reference::Tensor *> expectedStates;
  for (auto [tensor, argument] : llvm::zip(states, arguments))
    expectedStates.push_back(tensor->role == Role::State ? &argument : nullptr);
  SmallVector<const reference::Tensor *> expectedOutputs;
  Operation *ret = func.getBody().front().getTerminator();
  for (auto [value, result] : llvm::zip(ret->getOperands(), results)) {
    if (BlockArgument state = stateArgumentOf(value))
      expectedStates[state.getArgNumber()] = &result;
    else
      expectedOutputs.push_back(&result);
  }
  if (expectedOutputs.size() != outputs.size())
    return unknown("@" + request.function + " of the source has " +
                   Twine(expectedOutputs.size()) + " outputs, the module's " +
                   Twine(outputs.size()) + "; is it another version?");

  for (auto [tensor, value] : llvm::zip(states, expectedStates))
    if (value)
      expected.push_back(expectationOf(*tensor, *value));
  for (auto [tensor, value] : llvm::zip(outputs, expectedOutputs))
    expected.push_back(expectationOf(*tensor, *value));
  return true;
}
