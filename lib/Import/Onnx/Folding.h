//===- Folding.h - Arithmetic of numbers of a model -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reals that the model file has, and negated sizes, computed at import.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_FOLDING_H
#define HK_IMPORT_ONNX_FOLDING_H

#include "Node.h"

namespace mlir::hk::importer {

/// The result of an arithmetic operator `name` whose inputs are a few reals of
/// the file, as numbers of the file, and of integers that shapes decide and
/// that are negated; nothing for other nodes.
std::optional<LogicalResult> foldedNumbers(Node &node, StringRef name);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_FOLDING_H
