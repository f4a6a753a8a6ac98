//===- hk-lsp-server.cpp - Language server of hk's MLIR -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server for models in hk's dialect: diagnostics while one
// types, hover over operators, go to the definition of a value.
//
//===----------------------------------------------------------------------===//

#include "hk/Compiler/Compiler.h"
#include "hk/Support/Version.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::hk::setVersionPrinter();
  mlir::DialectRegistry registry;
  mlir::hk::registerCompilerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
