//===- Process.h - Child processes ------------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a program without a shell and keeps its output.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_PROCESS_H
#define HK_LIB_COMPILER_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::hk {

/// Runs arguments[0] (looked up on PATH when it has no slash) and waits. An
/// error holds the command and everything the program printed. `logFile` is a
/// scratch file for that output.
llvm::Error runProgram(llvm::ArrayRef<std::string> arguments,
                       llvm::StringRef logFile);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_PROCESS_H
