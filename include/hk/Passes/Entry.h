//===- Entry.h - Names shared by the passes that make entry functions -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes after tile selection agree on these names: the shape function of a
// public function and the argument attributes that describe its public
// signature.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_ENTRY_H
#define HK_PASSES_ENTRY_H

#include "hk/Dialect/HK.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::hk {

/// @f has the shape function @f__shape: the arguments of @f but the outputs, to
/// the dynamic and static sizes of every output in order, then, once the arena
/// is planned, the bytes of workspace.
inline constexpr llvm::StringLiteral kShapeFunctionSuffix = "__shape";

/// Which function `func` is a version of; null: none.
inline VersionAttr versionOf(func::FuncOp func) {
  return func->getAttrOfType<VersionAttr>(kVersionAttrName);
}

/// The public name of an argument: its hk.name, or "arg<n>".
std::string argumentName(func::FuncOp func, unsigned index);

/// The public name of result `result`, output `output`: its hk.name, or
/// "out<output>". States are no outputs.
std::string outputName(func::FuncOp func, unsigned result, unsigned output);

} // namespace mlir::hk

#endif // HK_PASSES_ENTRY_H
