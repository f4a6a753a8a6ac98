//===- Process.h - Child processes and temporary files ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a program without a shell and keeps its output, and makes private
// temporary folders that disappear with their owner.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_PROCESS_H
#define HK_LIB_COMPILER_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::hk {

/// A folder only this user can read, removed by the destructor.
class TemporaryDirectory {
public:
  static llvm::Expected<TemporaryDirectory> create();
  TemporaryDirectory(TemporaryDirectory &&other);
  TemporaryDirectory &operator=(TemporaryDirectory &&) = delete;
  ~TemporaryDirectory();
  std::string file(const llvm::Twine &name) const;

private:
  explicit TemporaryDirectory(std::string path) : path(std::move(path)) {}
  std::string path;
};

/// Runs arguments[0] (looked up on PATH when it has no slash) and waits. An
/// error holds the command and everything the program printed. `logFile` is a
/// scratch file for that output.
llvm::Error runProgram(llvm::ArrayRef<std::string> arguments,
                       llvm::StringRef logFile);

llvm::Expected<std::string> readFile(llvm::StringRef path);
/// Writes through a temporary file and a rename: never half a file.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef contents);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_PROCESS_H
