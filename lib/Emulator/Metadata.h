//===- Metadata.h - Kernel metadata of a code object ------------*- C++ -*-===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The MessagePack note that tells the arguments and limits of the kernels.
//
//===----------------------------------------------------------------------===//
#ifndef HK_LIB_EMULATOR_METADATA_H
#define HK_LIB_EMULATOR_METADATA_H

#include "Program.h"
#include <llvm/ADT/StringRef.h>

namespace hk::emu {

/// Adds what the note says to the kernels it names. Returns why the note is
/// refused, or nothing.
std::string readMetadata(llvm::StringRef note, std::vector<Kernel> &kernels);

} // namespace hk::emu

#endif // HK_LIB_EMULATOR_METADATA_H
