//===- Npy.h - NumPy files -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors as .npy files. NumPy has no bf16, fp8 or fp4: these are raw unsigned
// integers of the same width; two fp4 elements are one byte, so that the last
// size is halved.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TOOLS_HK_RUN_NPY_H
#define HK_TOOLS_HK_RUN_NPY_H

#include "Values.h"

namespace hk::run {

/// Reads a file as a tensor of `dtype`: the type NumPy has for it, or f4 for
/// any float type, rounded to it.
HostTensor readNpy(const std::string &path, DType dtype);

void writeNpy(const std::string &path, const HostTensor &tensor);

/// DIR/NAME.npy; throws when a file inside the folder cannot have that name.
std::string resultFile(const std::string &folder, const std::string &name);

} // namespace hk::run

#endif // HK_TOOLS_HK_RUN_NPY_H
