//===- Safetensors.h - Weights of the interpreter ---------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the tensors that hk.weight names from a safetensors file.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_SAFETENSORS_H
#define HK_REFERENCE_SAFETENSORS_H

#include "hk/Reference/Interpreter.h"

namespace mlir::hk::reference {

/// A provider that reads from the file at `path`; fails, with the reason in
/// `error`, when it is no safetensors file. A tensor that is missing or has
/// another type is diagnosed at its hk.weight.
FailureOr<WeightProvider> openSafetensors(StringRef path, std::string &error);

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_SAFETENSORS_H
