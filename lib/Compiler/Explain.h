//===- Explain.h - Rendering of the decision log ----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same records as text for people and as JSON for tools; docs/explain.md
// describes the JSON.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_EXPLAIN_H
#define HK_LIB_COMPILER_EXPLAIN_H

#include "Section.h"
#include "hk/Compiler/Compiler.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::hk {

/// A place in the source, as in `"model.mlir":4:8`.
std::string locationText(Location loc);

/// What --explain says of one section: launches before and after, every kernel
/// with its tile and LDS of the limit, every refusal with its reason.
void explainText(const Section &section, const DecisionLog &log,
                 unsigned opsBefore, llvm::raw_ostream &os);
llvm::json::Value explainJson(const Section &section, const DecisionLog &log,
                              unsigned opsBefore);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_EXPLAIN_H
