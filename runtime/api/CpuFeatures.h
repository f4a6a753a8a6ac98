//===- CpuFeatures.h - What the processor of this machine can run ---------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host sections name the instruction set extensions they were compiled for.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_CPUFEATURES_H
#define HK_RUNTIME_API_CPUFEATURES_H

#include <string>

namespace hk {

/// The entries of a comma separated list that this processor lacks, or that
/// this runtime does not know, comma separated; empty when it can run the code.
/// NULL and "" need nothing.
std::string missingCpuFeatures(const char *features);

} // namespace hk

#endif // HK_RUNTIME_API_CPUFEATURES_H
