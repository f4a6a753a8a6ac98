//===- hk-interp.cpp - Evaluate a function of base ops --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a module and .npy inputs, evaluates a function with the reference
// interpreter and writes every result and its bounds as .npy files of doubles.
// Where the module has a mesh there are inputs and results of every rank.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "hk/Support/Version.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using mlir::hk::reference::Tensor;
namespace cl = llvm::cl;

namespace {
struct Options {
  cl::OptionCategory category{"hk-interp"};
  cl::opt<std::string> module{cl::Positional, cl::Required, cl::cat(category),
                              cl::desc("<module.mlir>")};
  cl::opt<std::string> function{"function", cl::init("main"), cl::cat(category),
                                cl::desc("Function to evaluate")};
  cl::list<std::string> inputs{
      "input", cl::cat(category),
      cl::desc("One .npy per argument; with hk.mesh those of rank 0, "
               "then those of rank 1, and so on")};
  cl::list<std::string> weights{"weight", cl::cat(category),
                                cl::desc("SYMBOL=FILE.npy")};
  cl::opt<std::string> output{
      "output", cl::cat(category),
      cl::desc("Writes PREFIX.<i>.npy and PREFIX.<i>.bound.npy, with "
               "hk.mesh PREFIX.rank<r>.<i>.npy"),
      cl::value_desc("PREFIX")};
};
} // namespace

static LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "hk-interp: error: " << message << "\n";
  return failure();
}

static FailureOr<Tensor> read(StringRef path, Type type) {
  std::string error;
  auto dtype = mlir::hk::dtypeOf(cast<ShapedType>(type).getElementType());
  FailureOr<Tensor> tensor = hkinterp::readNpy(path, *dtype, error);
  if (failed(tensor))
    return fail(error);
  return tensor;
}

static FailureOr<Tensor> readWeight(mlir::hk::WeightOp weight,
                                    ArrayRef<std::string> files) {
  for (StringRef entry : files) {
    auto [name, path] = entry.split('=');
    if (name == weight.getSymName())
      return read(path, weight.getType());
  }
  return fail("no --weight=" + weight.getSymName() + "=FILE.npy given");
}

static LogicalResult write(StringRef output, size_t i, const Tensor &tensor) {
  std::vector<double> bounds(tensor.values.size());
  for (auto [k, bound] : llvm::enumerate(bounds))
    bound = tensor.boundAt(k);
  std::string prefix = (output + "." + llvm::Twine(i)).str();
  llvm::Error error =
      hkinterp::writeNpy(prefix + ".npy", tensor.sizes, tensor.values);
  if (!error)
    error = hkinterp::writeNpy(prefix + ".bound.npy", tensor.sizes, bounds);
  if (error)
    return fail(llvm::toString(std::move(error)));
  return success();
}

/// Names those that are there.
static std::string whyNoFunction(ModuleOp module, const Options &options) {
  std::string text =
      "no function @" + options.function + " in '" + options.module + "'; ";
  llvm::raw_string_ostream os(text);
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.empty())
    os << "it has none";
  else
    os << "choose with --function= one of ";
  llvm::interleaveComma(functions, os,
                        [&](func::FuncOp f) { os << f.getSymName(); });
  return text;
}

static LogicalResult run(const Options &options) {
  DialectRegistry registry;
  registry.insert<mlir::hk::HKDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, func::FuncDialect,
                  shard::ShardDialect, tensor::TensorDialect>();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  auto file =
      llvm::MemoryBuffer::getFileOrSTDIN(options.module, /*IsText=*/true);
  if (!file)
    return fail("cannot read '" + options.module +
                "': " + file.getError().message() +
                "; name a file of MLIR, or - for standard input");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  auto function = module->lookupSymbol<func::FuncOp>(options.function);
  if (!function)
    return fail(whyNoFunction(*module, options));
  std::optional<::hk::Mesh> mesh = mlir::hk::meshOf(*module);
  size_t ranks = mesh ? mesh->numRanks() : 1;
  size_t count = function.getNumArguments();
  if (ranks * count != options.inputs.size())
    return fail("expected " + llvm::Twine(ranks * count) + " inputs, but got " +
                llvm::Twine(options.inputs.size()));
  std::vector<SmallVector<Tensor>> arguments(ranks);
  for (size_t i = 0; i < ranks * count; ++i) {
    FailureOr<Tensor> tensor =
        read(options.inputs[i], function.getArgumentTypes()[i % count]);
    if (failed(tensor))
      return failure();
    arguments[i / count].push_back(std::move(*tensor));
  }
  FailureOr<std::vector<SmallVector<Tensor>>> results =
      mlir::hk::reference::interpretRanks(
          function, arguments, [&](mlir::hk::WeightOp weight) {
            return readWeight(weight, options.weights);
          });
  if (failed(results) || options.output.empty())
    return failure(failed(results));
  for (auto [rank, tensors] : llvm::enumerate(*results))
    for (auto [i, tensor] : llvm::enumerate(tensors)) {
      std::string prefix = options.output;
      if (mesh)
        prefix += ".rank" + std::to_string(rank);
      if (failed(write(prefix, i, tensor)))
        return failure();
    }
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::hk::setVersionPrinter();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::ParseCommandLineOptions(argc, argv, "hk reference interpreter\n");
  return failed(run(options));
}
