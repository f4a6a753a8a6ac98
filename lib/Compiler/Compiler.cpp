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
#include "Files.h"
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
  FailureOr<Section> buildFor(StringRef targetName);
  LogicalResult addSection(StringRef targetName);
  LogicalResult compileKernels();
  LogicalResult link();
};

std::string symbolPrefix(StringRef target) {
  std::string prefix = ("hk_" + target + "_").str();
  std::replace(prefix.begin(), prefix.end(), '-', '_');
  return prefix;
}
} // namespace

/// The section of a target; its IR is empty where text is asked for.
FailureOr<Section> Work::buildFor(StringRef targetName) {
  OwningOpRef<ModuleOp> clone(cast<ModuleOp>(module->clone()));
  // Recipes are for the weights file only.
  for (WeightOp weight : clone->getOps<WeightOp>()) {
    weight.removeInputsAttr();
    Region discarded;
    discarded.takeBody(weight.getRecipe());
  }
  MLIRContext *context = module.getContext();
  if (!spilling[targetName].empty()) {
    Builder builder(context);
    NamedAttrList known;
    for (const auto &[kernel, tiles] : spilling[targetName])
      known.append(kernel, builder.getArrayAttr(tiles.getArrayRef()));
    (*clone)->setAttr(kSpillingTilesAttrName, known.getDictionary(context));
  }
  DecisionLog log = exchanges;
  unsigned opsBefore = 0;
  clone->walk([&](Operation *op) {
    // Operators of a region are part of the one that holds it.
    opsBefore += isa_and_nonnull<HKDialect>(op->getDialect()) &&
                 !isa<WeightOp, WeightRefOp, ConstantOp>(op) &&
                 isa<FunctionOpInterface>(op->getParentOp());
  });

  PassManager graph(context);
  GraphPipelineOptions graphOptions;
  graphOptions.target = targetName.str();
  graphOptions.fuse = options.fuse;
  graphOptions.splitK = options.splitK;
  graphOptions.splitKeys = options.splitKeys;
  graphOptions.splitSegments = options.splitSegments;
  graphOptions.order = options.orderLaunches;
  buildGraphPipeline(graph, graphOptions, log);
  if (failed(graph.run(*clone)))
    return failure();

  std::string prefix = symbolPrefix(targetName);
  FailureOr<Section> section = buildSection(*clone, prefix);
  if (failed(section))
    return failure();
  llvm::raw_string_ostream os(text);
  explanations[targetName].clear();
  llvm::raw_string_ostream explanation(explanations[targetName]);
  if (options.explain == ExplainKind::Text)
    explainText(*section, log, opsBefore, explanation);
  else if (options.explain == ExplainKind::Json)
    explanation << explainJson(*section, log, opsBefore) << "\n";
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

  PassManager lowering(context);
  LowerPipelineOptions lowerOptions;
  lowerOptions.prefix = prefix;
  buildLowerPipeline(lowering, lowerOptions);
  if (failed(lowering.run(*clone)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(*clone, llvmContext, targetName);
  if (!llvmModule) {
    clone->emitOpError("cannot be translated to LLVM IR");
    return failure();
  }
  llvm::raw_string_ostream ir(section->llvmIR);
  llvmModule->print(ir, nullptr);
  if (options.emit == EmitKind::Llvm) {
    os << section->llvmIR;
    return section;
  }
  if (section->target->arch == ::hk::Arch::Host) {
    llvm::Expected<std::string> cpu = resolveHostCpu(options.hostCpu);
    if (!cpu)
      return fail(cpu.takeError());
    section->cpuFeatures = cpuFeaturesOf(*cpu);
  }
  for (FunctionRecord &function : section->functions)
    for (auto [argument, text] : llvm::zip(
             function.arguments,
             argumentValues(module.lookupSymbol<func::FuncOp>(function.name))))
      argument.values = text;
  return section;
}

LogicalResult Work::addSection(StringRef targetName) {
  FailureOr<Section> section = buildFor(targetName);
  if (failed(section))
    return failure();
  sections.push_back(std::move(*section));
  return success();
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

/// Compiles the kernels, writes tables and IR to a private folder and links.
LogicalResult Work::link() {
  if (failed(checkSameSignatures(module.getLoc(), sections)))
    return failure();
  if (failed(compileKernels()))
    return failure();

  llvm::Expected<TemporaryDirectory> folder = TemporaryDirectory::create();
  if (!folder)
    return fail(folder.takeError());
  std::string log = folder->file("log");
  std::vector<std::string> inputs;
  llvm::StringSet<> objects;
  for (auto [s, section] : llvm::enumerate(sections)) {
    std::string ir = folder->file("section" + Twine(s) + ".ll");
    if (llvm::Error error = writeFile(ir, section.llvmIR))
      return fail(std::move(error));
    inputs.push_back(ir);
    if (section.target->arch != ::hk::Arch::Host) {
      for (auto [k, kernel] : llvm::enumerate(section.kernels))
        if (llvm::Error error =
                writeFile(folder->file("code" + Twine(s) + "." + Twine(k)),
                          kernel.binary))
          return fail(std::move(error));
      continue;
    }
    for (const KernelRecord &kernel : section.kernels) {
      if (kernel.variants.empty() || kernel.isOfEngine() ||
          !objects.insert(kernel.variants.front().symbol).second)
        continue; // two kernels with one text share an object
      std::string object =
          folder->file("kernel" + Twine(objects.size()) + ".o");
      if (llvm::Error error = writeFile(object, kernel.binary))
        return fail(std::move(error));
      inputs.push_back(object);
    }
  }

  std::string tables = folder->file("module.c");
  std::string tablesText;
  {
    llvm::raw_string_ostream os(tablesText);
    std::string weightsFile =
        weights.ownFile ? llvm::sys::path::filename(output + ".weights").str()
                        : "";
    writeModuleTables(
        sections, weights.records, weightsFile,
        [&](const Section &section, const KernelRecord &kernel) {
          return folder->file("code" + Twine(&section - sections.data()) + "." +
                              Twine(&kernel - section.kernels.data()));
        },
        os);
  }
  if (llvm::Error error = writeFile(tables, tablesText))
    return fail(std::move(error));
  inputs.push_back(tables);

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
  command.insert(command.end(), inputs.begin(), inputs.end());
  // A CPU without multiply-adds in one rounding has them from there.
  command.insert(command.end(), {"-Wl,--as-needed", "-lm", "-o", linked});
  if (llvm::Error error = runProgram(command, log))
    return fail(std::move(error));
  llvm::Expected<std::string> bytes = readFile(linked);
  if (!bytes)
    return fail(bytes.takeError());
  for (const std::string &part : {*bytes, ::hk::sealFor(*bytes)})
    if (llvm::Error error = file->append(part))
      return fail(std::move(error));
  if (weights.ownFile)
    if (llvm::Error error = weights.ownFile->commit())
      return fail(std::move(error));
  if (llvm::Error error = file->commit())
    return fail(std::move(error));
  return success();
}

LogicalResult mlir::hk::compile(ModuleOp source,
                                const CompileOptions &options) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(source->clone()));
  ModuleOp module = *copy;
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
  DecisionLog exchanges;
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
  if (failed(once.run(module)))
    return failure();
  Work work{options, module,   resolveLinks(options.output), {}, {}, {}, {}, {},
            {},      exchanges};
  auto explain = [&] {
    for (const auto &[target, text] : work.explanations)
      llvm::outs() << text;
  };
  auto error = [&] { return emitError(module.getLoc()); };
  if (options.targets.empty())
    return error() << "expected at least one target";
  bool onlyExplain = options.emit == EmitKind::Shared &&
                     options.output == "-" &&
                     options.explain != ExplainKind::None;
  if (options.emit == EmitKind::Shared && options.output == "-" && !onlyExplain)
    return error() << "expected a file for the shared library; pass -o";
  if (llvm::none_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function.isPublic() && !function.isExternal();
      }))
    return error() << "expected a public function with a body; there is "
                      "nothing to compile";
  if (options.emit == EmitKind::Shared && !onlyExplain) {
    // Before the long work, so that a wrong name is told at once.
    llvm::Expected<OutputFile> file = OutputFile::create(options.output);
    if (!file)
      return work.fail(file.takeError());
    work.file.emplace(std::move(*file));
  }
  llvm::StringSet<> seen;
  for (const std::string &target : options.targets) {
    if (!seen.insert(target).second)
      return error() << "target '" << target << "' is named twice";
    if (failed(work.addSection(target)))
      return failure();
  }
  if (options.emit != EmitKind::Shared) {
    explain();
    if (llvm::Error error = writeText(options.output, work.text))
      return work.fail(std::move(error));
    return success();
  }
  if (onlyExplain) {
    // Which tiles are taken depends on the registers of the compiled kernels.
    if (failed(checkSameSignatures(module.getLoc(), work.sections)) ||
        failed(work.compileKernels()))
      return failure();
    explain();
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
  explain();
  return linked;
}
