//===- SectionBuilder.h - Reads a section off the IR ------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After the graph pipeline and before lowering: the kernels, their texts and
// the public signatures.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_SECTIONBUILDER_H
#define HK_LIB_COMPILER_SECTIONBUILDER_H

#include "Section.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::hk {

/// `prefix` is the prefix of hk-lower-to-llvm for this section.
FailureOr<Section> buildSection(ModuleOp module, StringRef prefix);

/// Public signatures must be equal in all sections.
LogicalResult checkSameSignatures(Location loc, ArrayRef<Section> sections);

/// What the integer arguments of `source`, a public function of the module
/// before any pass of a target, may hold: JSON as in hk_arg_abi, "" for none.
std::vector<std::string> argumentValues(func::FuncOp source);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_SECTIONBUILDER_H
