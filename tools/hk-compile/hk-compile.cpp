//===- hk-compile.cpp - Ahead-of-time compiler ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line over hk/Compiler/Compiler.h.
//
//===----------------------------------------------------------------------===//

#include "hk/Compiler/Compiler.h"
#include "hk/Compiler/ParseSource.h"
#include "hk/Support/Files.h"
#include "hk/Support/Version.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace mlir;
using namespace mlir::hk;
namespace cl = llvm::cl;

namespace {
/// The options of the command line, which live while it is parsed and read.
struct CommandLine {
  CompileOptions defaults = defaultCompileOptions();
  cl::OptionCategory category{"hk-compile"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<model.mlir>"),
                             cl::Required, cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::init("-"), cl::cat(category),
      cl::desc("Output file; --explain and --emit need none")};
  cl::list<std::string> targets{
      "target", cl::CommaSeparated, cl::cat(category),
      cl::desc(
          "Targets: host, gfx942, gfx950, gfx1100, sm_90a (default host)")};
  cl::opt<std::string> weights{
      "weights", cl::cat(category),
      cl::desc(
          "Safetensors file of the weights, or the index.json of several")};
  cl::opt<bool> packWeights{
      "pack-weights", cl::cat(category),
      cl::desc("Copy all weights into OUTPUT.weights, not only computed ones")};
  cl::opt<std::string> mesh{
      "mesh", cl::cat(category),
      cl::desc("Cut the module between ranks: tp=2 or tp=2,ep=4")};
  cl::opt<bool> noFuse{"no-fuse", cl::desc("One kernel per operator"),
                       cl::cat(category)};
  cl::opt<bool> noFoldWeights{
      "no-fold-weights", cl::cat(category),
      cl::desc("Leave what is computed from weights alone to the kernels")};
  cl::opt<bool> expandWeights{
      "expand-weights", cl::cat(category),
      cl::desc("Also store what is computed from weights and larger than they "
               "are: quantised weights as numbers")};
  cl::opt<int64_t> splitK{
      "split-k", cl::init(0), cl::cat(category),
      cl::desc("Slices of the k of products; 0: by cost, 1: never")};
  cl::opt<int64_t> splitKeys{
      "split-keys", cl::init(0), cl::cat(category),
      cl::desc("Slices of the keys of attentions; 0: by cost, 1: never")};
  cl::opt<bool> noOrderLaunches{
      "no-order-launches", cl::cat(category),
      cl::desc("No launch whose later blocks wait for earlier ones")};
  cl::opt<int64_t> splitSegments{
      "split-segments", cl::init(0), cl::cat(category),
      cl::desc("Segments of walks over chunks; 0: by cost, 1: never")};
  cl::opt<ExplainKind> explain{
      "explain",
      cl::ValueOptional,
      cl::init(ExplainKind::None),
      cl::desc("Say what was fused and why not"),
      cl::cat(category),
      cl::values(clEnumValN(ExplainKind::Text, "", "text"),
                 clEnumValN(ExplainKind::Text, "text", "text"),
                 clEnumValN(ExplainKind::Json, "json", "JSON"))};
  cl::opt<EmitKind> emit{
      "emit", cl::init(EmitKind::Shared),
      cl::desc("What to write; which tiles spill is known for 'so' alone"),
      cl::cat(category),
      cl::values(
          clEnumValN(EmitKind::Mlir, "mlir", "IR after the graph pipeline"),
          clEnumValN(EmitKind::Kernels, "kernels", "kernel sources"),
          clEnumValN(EmitKind::Llvm, "llvm", "LLVM IR of the host code"),
          clEnumValN(EmitKind::Shared, "so", "shared library"))};
  cl::opt<std::string> hostCpu{
      "host-cpu", cl::init(defaults.hostCpu), cl::cat(category),
      cl::desc("native, x86-64-v2, x86-64-v3, x86-64-v4, icelake-server, "
               "icelake-server+bf16 or icelake-server+amx")};
  cl::opt<std::string> cache{
      "cache-dir", cl::init(defaults.cacheDirectory), cl::cat(category),
      cl::desc("Folder of compiled kernels; empty: none")};
  cl::opt<std::string> clang{"clang", cl::init(defaults.clang),
                             cl::cat(category),
                             cl::desc("The clang that compiles kernels")};
  cl::opt<unsigned> jobs{"j", cl::Prefix, cl::init(0), cl::cat(category),
                         cl::desc("Parallel compilations; 0: all cores")};

  /// Fails where an option names what cannot be.
  llvm::Error check() const;
  CompileOptions options() const;
};
} // namespace

llvm::Error CommandLine::check() const {
  if (mesh.getNumOccurrences() && mesh.empty())
    return llvm::createStringError("--mesh expects a mesh as \"tp=2,ep=4\", "
                                   "but got ''; leave it out for a "
                                   "module of one rank");
  if (!weights.empty())
    if (std::error_code error = llvm::sys::fs::access(
            weights.getValue(), llvm::sys::fs::AccessMode::Exist))
      return llvm::createStringError(error,
                                     "error: cannot read the weights file '" +
                                         weights + "': " + error.message());
  for (llvm::StringRef read : {input.getValue(), weights.getValue()})
    if (llvm::Error error = requireOther(output, read))
      return llvm::createStringError("error: " +
                                     llvm::toString(std::move(error)));
  return llvm::Error::success();
}

/// What the parsed options say.
CompileOptions CommandLine::options() const {
  CompileOptions options = defaults;
  options.output = output;
  if (!targets.empty())
    options.targets.assign(targets.begin(), targets.end());
  options.weights = weights;
  options.packWeights = packWeights;
  options.mesh = mesh;
  options.fuse = !noFuse;
  options.foldWeights = !noFoldWeights;
  options.expandWeights = expandWeights;
  options.splitK = splitK;
  options.splitKeys = splitKeys;
  options.splitSegments = splitSegments;
  options.orderLaunches = !noOrderLaunches;
  options.explain = explain;
  options.emit = emit;
  options.hostCpu = hostCpu;
  options.cacheDirectory = cache;
  options.clang = clang;
  options.jobs = jobs;
  return options;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  setVersionPrinter();
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::ParseCommandLineOptions(argc, argv, "hk ahead-of-time compiler\n");
  if (llvm::Error error = line.check()) {
    llvm::errs() << "hk-compile: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }

  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // The source line says it shorter.
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSource(line.input, sources, &context);
  if (!module || failed(compile(*module, line.options())))
    return 1;
  return 0;
}
