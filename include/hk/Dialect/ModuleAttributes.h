//===- ModuleAttributes.h - Choices that a module asks for -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes of a module that few files read; HK.h has those of all.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_MODULEATTRIBUTES_H
#define HK_DIALECT_MODULEATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::hk {

/// String, of a module: the main loop (GemmLoop) that its products use wherever
/// it can compute them, whatever the cost model says. For tests and benchmarks.
inline constexpr llvm::StringLiteral kGemmLoopAttrName = "hk.gemm_loop";

} // namespace mlir::hk

#endif // HK_DIALECT_MODULEATTRIBUTES_H
