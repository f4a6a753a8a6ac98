//===- ParseSource.h - Reading of model sources -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a model and keeps the names its author gave to arguments and results.
//
//===----------------------------------------------------------------------===//

#ifndef HK_COMPILER_PARSESOURCE_H
#define HK_COMPILER_PARSESOURCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::hk {

/// Parses textual IR from `path` ("-": standard input) into `sources`.
/// Arguments and results of public functions without hk.name get the names of
/// their SSA values
/// (`%tokens` is "tokens"). Null after a diagnostic.
OwningOpRef<ModuleOp> parseSource(StringRef path, llvm::SourceMgr &sources,
                                  MLIRContext *context);

} // namespace mlir::hk

#endif // HK_COMPILER_PARSESOURCE_H
