//===- hk-import.cpp - Import of ONNX models ------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line over hk/Import/Onnx.h, and hk-raise behind it.
//
//===----------------------------------------------------------------------===//

#include "hk/Import/Onnx.h"
#include "hk/Passes/Passes.h"
#include "hk/Support/Version.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <optional>

using namespace mlir;
using namespace mlir::hk;
namespace cl = llvm::cl;

namespace {
struct Options {
  cl::OptionCategory category{"hk-import"};
  cl::list<std::string> models{cl::Positional, cl::desc("<model.onnx>..."),
                               cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::init("-"), cl::cat(category),
      cl::desc("Output file MODEL.mlir; weights go to MODEL.safetensors")};
  cl::opt<std::string> function{
      "function", cl::cat(category),
      cl::desc("Name of the function; by default that of the model's file")};
  cl::list<std::string> dims{
      "dim", cl::CommaSeparated, cl::value_desc("NAME=SIZE"), cl::cat(category),
      cl::desc("Fixes a size that the model leaves open")};
  cl::opt<bool> raise{
      "raise", cl::init(true), cl::cat(category),
      cl::desc("Makes hk's operators of forms that the model decomposes")};
  cl::opt<bool> dropRoundings{
      "drop-roundings", cl::cat(category),
      cl::desc("Also raises forms with roundings to bf16 and f16 inside")};
  cl::opt<bool> checkRaise{
      "check-raise", cl::cat(category),
      cl::desc("Interprets the model before and after raising, and compares")};
  cl::opt<bool> explain{
      "explain", cl::cat(category),
      cl::desc("Prints what was raised, and what looks like a form and is none "
               "of it")};
  cl::opt<bool> listOperators{"list-operators", cl::cat(category),
                              cl::desc("Prints the table of operators")};
};
} // namespace

static int fail(const llvm::Twine &message) {
  llvm::errs() << "hk-import: error: " << message << "\n";
  return 1;
}

/// A table in Markdown, which docs/onnx.md holds.
static void printOperators() {
  llvm::outs()
      << "| domain | operator | since opset | of it |\n|---|---|---|---|\n";
  for (const OnnxOperatorInfo &info : onnxOperators())
    llvm::outs() << "| " << (info.domain.empty() ? "ai.onnx" : info.domain)
                 << " | " << info.name << " | " << info.since << " | "
                 << (info.summary.empty() ? "all" : info.summary) << " |\n";
}

/// "model.onnx: node 'x' (Add): error: text".
static void print(Diagnostic &diagnostic) {
  std::string where;
  Location loc = diagnostic.getLocation();
  std::string name;
  if (auto named = dyn_cast<NameLoc>(loc)) {
    name = named.getName().str() + ": ";
    loc = named.getChildLoc();
  }
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    where = file.getFilename().str() + ": ";
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return;
  llvm::errs() << where << name << "error: ";
  // Names come from the file; what is no text stays readable.
  llvm::printEscapedString(diagnostic.str(), llvm::errs());
  llvm::errs() << "\n";
}

/// "raised: hk.mul / become hk.rms_norm at ...", and why others were not.
static void printDecisions(const DecisionLog &log) {
  for (const Decision &decision : log.get()) {
    const Candidate &candidate = decision.candidates.front();
    bool isRaised = candidate.verdict.accepted();
    std::string place;
    llvm::raw_string_ostream(place) << decision.location;
    llvm::errs() << (isRaised ? "raised: " : "not raised (");
    if (!isRaised)
      llvm::errs() << stringify(candidate.verdict.getReason()) << "): ";
    llvm::errs() << decision.subject << " / " << candidate.what;
    if (!isRaised)
      llvm::errs() << ": " << candidate.verdict.getDetail();
    llvm::errs() << " at ";
    llvm::printEscapedString(place, llvm::errs());
    llvm::errs() << "\n";
  }
}

/// Raises decomposed forms; where there were some, what they were made of and
/// what is there twice goes.
static LogicalResult raise(ModuleOp module, const Options &options) {
  HKRaiseOptions raiseOptions;
  raiseOptions.dropRoundings = options.dropRoundings;
  raiseOptions.check = options.checkRaise;
  DecisionLog log;
  PassManager pm(module.getContext());
  pm.addPass(createHKRaise(raiseOptions, log));
  if (failed(pm.run(module)))
    return failure();
  if (options.explain)
    printDecisions(log);
  if (llvm::none_of(log.get(), [](const Decision &decision) {
        return decision.chosen == 0;
      }))
    return success();
  PassManager clean(module.getContext());
  clean.addPass(createCanonicalizerPass());
  clean.addPass(createCSEPass());
  return clean.run(module);
}

/// A symbol that MLIR prints without quotes.
static std::string functionName(StringRef path) {
  std::string name;
  for (char c : llvm::sys::path::stem(path))
    name += llvm::isAlnum(c) || c == '_' ? c : '_';
  return name.empty() || llvm::isDigit(name.front()) ? "_" + name : name;
}

/// Where the weights go: beside the graph.
static std::string weightsFile(StringRef output) {
  SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, ".safetensors");
  return path.str().str();
}

/// Before the work: no file that is read is written, and no file twice.
static llvm::Error requirePlaces(const Options &options) {
  std::string weights = weightsFile(options.output);
  if (weights == options.output)
    return llvm::createStringError(
        "cannot write '%s': the weights go there; name the graph MODEL.mlir",
        weights.c_str());
  for (const std::string &model : options.models)
    for (StringRef written : {StringRef(options.output), StringRef(weights)})
      if (llvm::Error error = requireOther(written, model))
        return error;
  return llvm::Error::success();
}

/// Sizes of --dim that no model has.
static LogicalResult requireKnownDims(const OnnxImporter &importer) {
  std::vector<std::string> unknown = importer.getUnknownDims();
  if (unknown.empty())
    return success();
  std::vector<std::string> named = importer.getNamedDims();
  return failure(fail(
      "--dim=" + unknown.front() +
      ": the model has no open size of this name; " +
      (named.empty() ? "it names none" : "it has " + llvm::join(named, ", "))));
}

/// The graph, and its weights beside it; both or neither.
static llvm::Error write(OnnxImporter &importer, StringRef output) {
  std::optional<OutputFile> weights;
  if (!importer.getWeights().empty()) {
    if (output == "-" || isDevice(output))
      return llvm::createStringError(
          "the model has weights: name an output file with -o");
    llvm::Expected<OutputFile> file = OutputFile::create(weightsFile(output));
    if (!file)
      return file.takeError();
    weights.emplace(std::move(*file));
    if (llvm::Error error = importer.writeWeights(*weights))
      return error;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  importer.getModule().print(os);
  os << "\n";
  if (llvm::Error error = writeText(output, os.str()))
    return error;
  return weights ? weights->commit() : llvm::Error::success();
}

static int run(const Options &options) {
  if (options.listOperators)
    return printOperators(), 0;
  if (options.models.empty())
    return fail("expected a model");
  if (!options.function.empty() && options.models.size() > 1)
    return fail("--function names one function, but there are " +
                llvm::Twine(options.models.size()) + " models");
  if (llvm::Error error = requirePlaces(options))
    return fail(llvm::toString(std::move(error)));
  OnnxOptions importOptions;
  for (StringRef entry : options.dims) {
    auto [name, text] = entry.split('=');
    int64_t size;
    if (name.empty() || text.getAsInteger(10, size) || size < 0)
      return fail("expected --dim=NAME=SIZE, but got '" + entry + "'");
    importOptions.dims[name] = size;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(&context, print);
  OnnxImporter importer(&context, importOptions);
  for (const std::string &model : options.models) {
    std::string function = options.function.empty()
                               ? functionName(model)
                               : options.function.getValue();
    if (failed(importer.add(model, function)))
      return 1;
  }
  if (options.raise && failed(raise(importer.getModule(), options)))
    return 1;
  if (failed(requireKnownDims(importer)))
    return 1;
  if (llvm::Error error = write(importer, options.output))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error
  setVersionPrinter();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::ParseCommandLineOptions(argc, argv, "hk import of ONNX models\n");
  return run(options);
}
