//===- Weights.h - The weights file of a module -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the tensors that hk.weight symbols name in a safetensors file, checks
// them, and writes the sidecar that travels with the module: safetensors again,
// with every tensor aligned for use in place.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_WEIGHTS_H
#define HK_LIB_COMPILER_WEIGHTS_H

#include "Section.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::hk {

/// One record per hk.weight of `module`, in order. With a non-empty `source`
/// file the tensors are checked against it (name, dtype, shape) or made from it
/// by their recipes, checksummed, and written to `sidecar` (256-byte aligned).
FailureOr<std::vector<WeightRecord>>
collectWeights(ModuleOp module, StringRef source, StringRef sidecar);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_WEIGHTS_H
