//===- Compiler.cpp - From a module of base operators to a shared library -===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Per target: clone, graph pipeline, section, lowering. Then all kernels of all
// targets in one parallel compilation, the tables, and one link. The output
// file is written by rename at the very end.
//
//===----------------------------------------------------------------------===//

#include "hk/Compiler/Compiler.h"
#include "Explain.h"
#include "KernelCompiler.h"
#include "ModuleTables.h"
#include "ObjectCheck.h"
#include "Process.h"
#include "Section.h"
#include "SectionBuilder.h"
#include "Weights.h"
#include "hk/Dialect/HK.h"
#include "hk/Families/Family.h"
#include "hk/Passes/Bufferization.h"
#include "hk/Passes/Passes.h"
#include "hk/Passes/Pipelines.h"
#include "hk/Runtime/Seal.h"
#include "hk/Support/Files.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace mlir::hk;

void mlir::hk::registerCompilerDialects(DialectRegistry &registry) {
  func::registerInlinerExtension(registry);
  registry
      .insert<HKDialect, func::FuncDialect, arith::ArithDialect,
              memref::MemRefDialect, tensor::TensorDialect, shard::ShardDialect,
              bufferization::BufferizationDialect, LLVM::LLVMDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  registerBufferizationModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

CompileOptions mlir::hk::defaultCompileOptions() {
  CompileOptions options;
  // bin/hk-compile and share/hk are in one tree, wherever that is.
  SmallString<128> share(
      llvm::sys::fs::getMainExecutable(nullptr, /*MainExecAddr=*/nullptr));
  llvm::sys::path::remove_filename(share);
  llvm::sys::path::remove_filename(share);
  llvm::sys::path::append(share, "share", "hk");
  options.kernelDirectory = (share + "/kernels").str();
  options.includeDirectory = (share + "/include").str();
  using llvm::sys::Process;
  SmallString<128> cache;
  if (std::optional<std::string> dir = Process::GetEnv("HK_CACHE_DIR"))
    cache = *dir;
  else if (llvm::sys::path::cache_directory(cache))
    llvm::sys::path::append(cache, "hk");
  options.cacheDirectory = cache.str().str();
  return options;
}

namespace {
struct Work {
  const CompileOptions &options;
  ModuleOp module;
  std::string output;
  std::optional<OutputFile> file; // where `output` will be
  std::vector<Section> sections;
  CollectedWeights weights;
  std::string text; // for the text outputs
  /// What --explain prints, by target.
  llvm::MapVector<StringRef, std::string> explanations;
  /// Tiles whose kernels spill, by target and kernel.
  llvm::StringMap<std::map<std::string, llvm::SetVector<Attribute>>> spilling;
  /// What hk-shard decided, once for all targets.
  const DecisionLog &exchanges;

  LogicalResult fail(llvm::Error error) {
    return emitError(module.getLoc(), llvm::toString(std::move(error)));
  }
  OwningOpRef<ModuleOp> cloneFor(StringRef targetName);
  LogicalResult runGraphPipeline(ModuleOp clone, StringRef targetName,
                                 DecisionLog &log);
  LogicalResult lower(ModuleOp clone, StringRef targetName, Section &section);
  LogicalResult describeHost(Section &section);
  FailureOr<Section> buildFor(StringRef targetName);
  LogicalResult addSections();
  LogicalResult compileKernels();
  llvm::Expected<std::vector<std::string>>
  writeSections(const TemporaryDirectory &folder);
  llvm::Expected<std::string> writeTables(const TemporaryDirectory &folder);
  llvm::Error writeOutputs(StringRef library);
  LogicalResult link();
  void printExplanations() const;
};

std::string symbolPrefix(StringRef target) {
  std::string prefix = ("hk_" + target + "_").str();
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  return prefix;
}
} // namespace

/// The module for one target: without recipes, which only the weights file
/// needs, and with the tiles that are known to spill there.
OwningOpRef<ModuleOp> Work::cloneFor(StringRef targetName) {
  OwningOpRef<ModuleOp> clone(cast<ModuleOp>(module->clone()));
  for (WeightOp weight : clone->getOps<WeightOp>()) {
    weight.removeInputsAttr();
    Region discarded;
    discarded.takeBody(weight.getRecipe());
  }
  if (!spilling[targetName].empty()) {
    Builder builder(module.getContext());
    NamedAttrList known;
    for (const auto &[kernel, tiles] : spilling[targetName])
      known.append(kernel, builder.getArrayAttr(tiles.getArrayRef()));
    (*clone)->setAttr(kSpillingTilesAttrName,
                      known.getDictionary(module.getContext()));
  }
  return clone;
}

LogicalResult Work::runGraphPipeline(ModuleOp clone, StringRef targetName,
                                     DecisionLog &log) {
  PassManager graph(clone.getContext());
  GraphPipelineOptions graphOptions;
  graphOptions.target = targetName.str();
  graphOptions.fuse = options.fuse;
  graphOptions.splitK = options.splitK;
  graphOptions.splitKeys = options.splitKeys;
  graphOptions.splitSegments = options.splitSegments;
  graphOptions.order = options.orderLaunches;
  buildGraphPipeline(graph, graphOptions, log);
  return graph.run(clone);
}

/// Lowers the host code of a target to LLVM IR, which becomes text of
/// `section`.
LogicalResult Work::lower(ModuleOp clone, StringRef targetName,
                          Section &section) {
  PassManager lowering(clone.getContext());
  LowerPipelineOptions lowerOptions;
  lowerOptions.prefix = symbolPrefix(targetName);
  buildLowerPipeline(lowering, lowerOptions);
  if (failed(lowering.run(clone)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(clone, llvmContext, targetName);
  if (!llvmModule)
    return clone.emitOpError("cannot be translated to LLVM IR");
  llvm::raw_string_ostream ir(section.llvmIR);
  llvmModule->print(ir, nullptr);
  return success();
}

/// What the tables say of a section beside its code: the features of the CPU
/// that the host's needs, and the values that arguments may hold.
LogicalResult Work::describeHost(Section &section) {
  if (section.target->arch == ::hk::Arch::Host) {
    llvm::Expected<std::string> cpu = resolveHostCpu(options.hostCpu);
    if (!cpu)
      return fail(cpu.takeError());
    section.cpuFeatures = cpuFeaturesOf(*cpu);
  }
  for (FunctionRecord &function : section.functions)
    for (auto [argument, text] : llvm::zip(
             function.arguments,
             argumentValues(module.lookupSymbol<func::FuncOp>(function.name))))
      argument.values = text;
  return success();
}

/// The operators of a source: those of a region are part of the one that holds
/// it.
static unsigned countOperators(ModuleOp module) {
  unsigned count = 0;
  module.walk([&](Operation *op) {
    count += isa_and_nonnull<HKDialect>(op->getDialect()) &&
             !isa<WeightOp, WeightRefOp, ConstantOp>(op) &&
             isa<FunctionOpInterface>(op->getParentOp());
  });
  return count;
}

/// The section of a target; its IR is empty where text is asked for.
FailureOr<Section> Work::buildFor(StringRef targetName) {
  OwningOpRef<ModuleOp> clone = cloneFor(targetName);
  unsigned opsBefore = countOperators(*clone);
  DecisionLog log = exchanges;
  if (failed(runGraphPipeline(*clone, targetName, log)))
    return failure();
  FailureOr<Section> section = buildSection(*clone, symbolPrefix(targetName));
  if (failed(section))
    return failure();

  explanations[targetName].clear();
  llvm::raw_string_ostream explanation(explanations[targetName]);
  if (options.explain == ExplainKind::Text)
    explainText(*section, log, opsBefore, explanation);
  else if (options.explain == ExplainKind::Json)
    explanation << explainJson(*section, log, opsBefore) << "\n";

  llvm::raw_string_ostream os(text);
  if (options.emit == EmitKind::Mlir) {
    clone->print(os);
    return section;
  }
  if (options.emit == EmitKind::Kernels) {
    for (const KernelRecord &kernel : section->kernels)
      os << "//==== @" << kernel.name << " for " << targetName << "\n"
         << kernel.text << "\n";
    return section;
  }
  if (failed(lower(*clone, targetName, *section)))
    return failure();
  if (options.emit == EmitKind::Llvm)
    os << section->llvmIR;
  else if (failed(describeHost(*section)))
    return failure();
  return section;
}

LogicalResult Work::addSections() {
  llvm::StringSet<> seen;
  for (const std::string &target : options.targets) {
    if (!seen.insert(target).second)
      return emitError(module.getLoc())
             << "target '" << target << "' is named twice";
    FailureOr<Section> section = buildFor(target);
    if (failed(section))
      return failure();
    sections.push_back(std::move(*section));
  }
  return success();
}

void Work::printExplanations() const {
  for (const auto &[target, text] : explanations)
    llvm::outs() << text;
}

/// Compiles every kernel. How many registers one needs only its code tells: a
/// target with kernels that spill is planned again without their tiles.
LogicalResult Work::compileKernels() {
  llvm::Expected<KernelCompiler> compiler = KernelCompiler::create(options);
  if (!compiler)
    return fail(compiler.takeError());
  while (llvm::Error error = compiler->compile(sections)) {
    llvm::SmallSetVector<StringRef, 4> again;
    llvm::Error others = llvm::handleErrors(
        std::move(error),
        [&](std::unique_ptr<SpillError> spill) -> llvm::Error {
          Attribute tile = parseAttribute(spill->tile, module.getContext());
          if (!spilling[spill->target->name][spill->kernel].insert(tile))
            return llvm::Error(std::move(spill)); // its family has no other
          again.insert(spill->target->name);
          return llvm::Error::success();
        });
    if (others)
      return fail(std::move(others));
    for (Section &section : sections)
      if (again.contains(section.target->name)) {
        FailureOr<Section> other = buildFor(section.target->name);
        if (failed(other))
          return failure();
        section = std::move(*other);
      }
  }
  if (std::string trouble = compiler->cacheTrouble(); !trouble.empty())
    emitWarning(module.getLoc(), "compiled kernels are not kept: ")
        << trouble
        << "; choose another folder with HK_CACHE_DIR or --cache-dir";
  return success();
}

/// The file in which the code of a GPU's kernel lies until the link.
static std::string codeFile(const TemporaryDirectory &folder, size_t section,
                            size_t kernel) {
  return folder.file("code" + Twine(section) + "." + Twine(kernel));
}

/// Writes the IR and the kernels of every section to `folder`; returns the
/// files that are linked. The code of GPUs is embedded by the tables.
llvm::Expected<std::vector<std::string>>
Work::writeSections(const TemporaryDirectory &folder) {
  std::vector<std::string> inputs;
  llvm::StringSet<> objects;
  for (auto [s, section] : llvm::enumerate(sections)) {
    std::string ir = folder.file("section" + Twine(s) + ".ll");
    if (llvm::Error error = writeFile(ir, section.llvmIR))
      return error;
    inputs.push_back(ir);
    if (section.target->arch != ::hk::Arch::Host) {
      for (auto [k, kernel] : llvm::enumerate(section.kernels))
        if (llvm::Error error =
                writeFile(codeFile(folder, s, k), kernel.binary))
          return error;
      continue;
    }
    for (const KernelRecord &kernel : section.kernels) {
      if (kernel.variants.empty() || kernel.isOfEngine() ||
          !objects.insert(kernel.variants.front().symbol).second)
        continue; // two kernels with one text share an object
      std::string object = folder.file("kernel" + Twine(objects.size()) + ".o");
      if (llvm::Error error = writeFile(object, kernel.binary))
        return error;
      inputs.push_back(object);
    }
  }
  return inputs;
}

/// Writes the module's tables as C to `folder`; returns the file.
llvm::Expected<std::string>
Work::writeTables(const TemporaryDirectory &folder) {
  std::string path = folder.file("module.c");
  std::string tables;
  llvm::raw_string_ostream os(tables);
  std::string weightsFile =
      weights.ownFile ? llvm::sys::path::filename(output + ".weights").str()
                      : "";
  writeModuleTables(
      sections, weights.records, weightsFile,
      [&](const Section &section, const KernelRecord &kernel) {
        return codeFile(folder, &section - sections.data(),
                        &kernel - section.kernels.data());
      },
      os);
  if (llvm::Error error = writeFile(path, tables))
    return error;
  return path;
}

/// Writes the output, sealed, and its weights to where they were asked for.
llvm::Error Work::writeOutputs(StringRef library) {
  llvm::Expected<std::string> bytes = readFile(library);
  if (!bytes)
    return bytes.takeError();
  for (const std::string &part : {*bytes, ::hk::sealFor(*bytes)})
    if (llvm::Error error = file->append(part))
      return error;
  if (weights.ownFile)
    if (llvm::Error error = weights.ownFile->commit())
      return error;
  return file->commit();
}

/// Compiles the kernels, writes tables and IR to a private folder and links.
LogicalResult Work::link() {
  if (failed(checkSameSignatures(module.getLoc(), sections)))
    return failure();
  if (failed(compileKernels()))
    return failure();

  llvm::Expected<TemporaryDirectory> folder = TemporaryDirectory::create();
  if (!folder)
    return fail(folder.takeError());
  llvm::Expected<std::vector<std::string>> inputs = writeSections(*folder);
  if (!inputs)
    return fail(inputs.takeError());
  llvm::Expected<std::string> tables = writeTables(*folder);
  if (!tables)
    return fail(tables.takeError());

  std::string linked = folder->file("module.so");
  std::vector<std::string> command{options.clang,
                                   "--driver-mode=gcc",
                                   "-shared",
                                   "-fPIC",
                                   "-O1",
                                   "-fvisibility=hidden",
                                   "-Wno-override-module",
                                   "-Wno-c23-extensions",
                                   "-fuse-ld=lld",
                                   "-Wl,-Bsymbolic",
                                   "-Wl,--build-id=none",
                                   "-Wl,-z,defs",
                                   "-I" + options.includeDirectory};
  command.insert(command.end(), inputs->begin(), inputs->end());
  // A CPU without multiply-adds in one rounding has them from libm.
  command.insert(command.end(),
                 {*tables, "-Wl,--as-needed", "-lm", "-o", linked});
  if (llvm::Error error = runProgram(command, folder->file("log")))
    return fail(std::move(error));
  if (llvm::Error error = writeOutputs(linked))
    return fail(std::move(error));
  return success();
}

/// What is done once for all targets: calls are inlined, weights folded, the
/// module cut between ranks.
static LogicalResult prepare(ModuleOp module, const CompileOptions &options,
                             DecisionLog &exchanges) {
  PassManager once(module.getContext());
  buildInlinePipeline(once);
  if (options.foldWeights && !options.weights.empty()) {
    once.addPass(createCanonicalizerPass());
    once.addPass(createCSEPass());
    once.addNestedPass<func::FuncOp>(createHKOrderColumns());
    once.addNestedPass<func::FuncOp>(createHKMergeProducts());
    HKFoldWeightsOptions fold;
    fold.expand = options.expandWeights;
    once.addPass(createHKFoldWeights(fold));
  }
  if (!options.mesh.empty()) {
    // Whole weights are folded: slices of what they make are read when a
    // program is made.
    HKShardOptions shard;
    shard.mesh = options.mesh;
    once.addPass(createCanonicalizerPass());
    once.addPass(createHKShard(shard, exchanges));
    once.addPass(createCanonicalizerPass());
    once.addPass(createCSEPass());
  }
  return once.run(module);
}

/// Whether nothing is written but what --explain says.
static bool onlyExplains(const CompileOptions &options) {
  return options.emit == EmitKind::Shared && options.output == "-" &&
         options.explain != ExplainKind::None;
}

/// Refuses a call that asks for nothing, or has no place for what it asks for.
static LogicalResult checkRequest(ModuleOp module,
                                  const CompileOptions &options) {
  auto error = [&] { return emitError(module.getLoc()); };
  if (options.targets.empty())
    return error() << "expected at least one target";
  if (options.emit == EmitKind::Shared && options.output == "-" &&
      !onlyExplains(options))
    return error() << "expected a file for the shared library; pass -o";
  if (llvm::none_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function.isPublic() && !function.isExternal();
      }))
    return error() << "expected a public function with a body; there is "
                      "nothing to compile";
  return success();
}

LogicalResult mlir::hk::compile(ModuleOp source,
                                const CompileOptions &options) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(source->clone()));
  ModuleOp module = *copy;
  DecisionLog exchanges;
  if (failed(prepare(module, options, exchanges)) ||
      failed(checkRequest(module, options)))
    return failure();
  Work work{options, module,   resolveLinks(options.output), {}, {}, {}, {}, {},
            {},      exchanges};
  if (options.emit == EmitKind::Shared && !onlyExplains(options)) {
    // Before the long work, so that a wrong name is told at once.
    llvm::Expected<OutputFile> file = OutputFile::create(options.output);
    if (!file)
      return work.fail(file.takeError());
    work.file.emplace(std::move(*file));
  }
  if (failed(work.addSections()))
    return failure();
  if (options.emit != EmitKind::Shared) {
    work.printExplanations();
    if (llvm::Error error = writeText(options.output, work.text))
      return work.fail(std::move(error));
    return success();
  }
  if (onlyExplains(options)) {
    // Which tiles are taken depends on the registers of the compiled kernels.
    if (failed(checkSameSignatures(module.getLoc(), work.sections)) ||
        failed(work.compileKernels()))
      return failure();
    work.printExplanations();
    return success();
  }
  FailureOr<CollectedWeights> weights =
      collectWeights(module, options, work.output);
  if (failed(weights))
    return failure();
  work.weights.records = std::move(weights->records);
  if (weights->ownFile)
    work.weights.ownFile.emplace(std::move(*weights->ownFile));
  LogicalResult linked = work.link();
  work.printExplanations();
  return linked;
}
