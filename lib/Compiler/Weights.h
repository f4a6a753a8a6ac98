//===- Weights.h - The weights file of a module -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the tensors that hk.weight symbols name in safetensors files and checks
// them. What is used as it is, the module reads where it is; what is computed
// from them goes into a file beside the module: safetensors again, with every
// tensor aligned for use in place.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_WEIGHTS_H
#define HK_LIB_COMPILER_WEIGHTS_H

#include "Section.h"
#include "hk/Compiler/Compiler.h"
#include "hk/Support/Files.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace mlir::hk {

struct CollectedWeights {
  /// One per hk.weight, in order.
  std::vector<WeightRecord> records;
  /// The module's own file, to be committed with the module; none if empty.
  std::optional<OutputFile> ownFile;
};

/// With weights in `options` the tensors are checked against them (name, dtype,
/// shape) or made from them by their recipes, and checksummed. The module will
/// be `output`, its own file `output`.weights (256-byte aligned).
FailureOr<CollectedWeights> collectWeights(ModuleOp module,
                                           const CompileOptions &options,
                                           StringRef output);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_WEIGHTS_H
