//===- hk-opt.cpp - The pass tool -----------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with hk's dialect, passes and pipelines, and the upstream passes
// that tests of hk use. What it makes is written when it is whole: LLVM's own
// streams end the process where a disk is full.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "hk/Compiler/Compiler.h"
#include "hk/Passes/Passes.h"
#include "hk/Passes/Pipelines.h"
#include "hk/Support/Files.h"
#include "hk/Support/Version.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

static int fail(const Twine &text) {
  WithColor::error(errs(), "hk-opt") << text << "\n";
  return EXIT_FAILURE;
}

/// Passes `input` through what the options ask for, to `output`. A failure
/// leaves a file as it was; standard output has what was made before it.
static int run(StringRef input, StringRef output,
               mlir::DialectRegistry &registry) {
  std::string error;
  std::unique_ptr<MemoryBuffer> file = mlir::openInputFile(input, &error);
  if (!file)
    return fail(error);
  std::string made;
  raw_string_ostream os(made);
  mlir::LogicalResult result =
      mlir::MlirOptMain(os, std::move(file), registry,
                        mlir::MlirOptMainConfig::createFromCLOptions());
  if (mlir::failed(result) && output != "-")
    return EXIT_FAILURE;
  if (Error failure = mlir::hk::writeText(output, made))
    return fail(toString(std::move(failure)));
  return mlir::asMainReturnCode(result);
}

int main(int argc, char **argv) {
  mlir::hk::setVersionPrinter();
  mlir::DialectRegistry registry;
  mlir::hk::registerCompilerDialects(registry);
  mlir::hk::registerHKPasses();
  mlir::hk::registerHKPipelines();
  mlir::hk::registerTestPasses();
  mlir::registerTransformsPasses();
  mlir::bufferization::registerBufferizationPasses();
  mlir::memref::registerMemRefPasses();
  mlir::registerPass(mlir::createReconcileUnrealizedCastsPass);
  InitLLVM init(argc, argv);
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "hk optimizer\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  return run(input, output, registry);
}
