//===- hk-opt.cpp - The pass tool -----------------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with hk's dialect, passes and pipelines, and the upstream passes
// that tests of hk use.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "hk/Compiler/Compiler.h"
#include "hk/Passes/Passes.h"
#include "hk/Passes/Pipelines.h"
#include "hk/Support/Version.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

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
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "hk optimizer\n", registry));
}
