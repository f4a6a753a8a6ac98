//===- Files.h - Files that are whole or not there --------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Output files appear under their names when they are complete, temporary
// folders disappear with their owner. What a killed process leaves is locked by
// nobody any more; the next run that works in the same folder removes it.
//
//===----------------------------------------------------------------------===//

#ifndef HK_SUPPORT_FILES_H
#define HK_SUPPORT_FILES_H

#include "llvm/ADT/SmallString.h"
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
  TemporaryDirectory(std::string path, int lock)
      : path(std::move(path)), lock(lock) {}
  std::string path;
  int lock;
};

/// A file that is written from front to back beside its place and renamed to it
/// at the end. Errors name the file.
class OutputFile {
public:
  /// An error when `path` is there and no regular file: a folder, a device.
  static llvm::Expected<OutputFile> create(llvm::StringRef path);
  OutputFile(OutputFile &&other);
  OutputFile &operator=(OutputFile &&) = delete;
  /// Removes what was not committed.
  ~OutputFile();

  llvm::Error append(llvm::StringRef bytes);
  /// Puts the file in its place; nothing may be appended afterwards.
  llvm::Error commit();

private:
  OutputFile(std::string path, std::string target)
      : path(std::move(path)), target(std::move(target)) {}
  llvm::Error failed(int error) const;

  std::string path;   // as the user wrote it
  std::string target; // where a link leads
  llvm::SmallString<128> partial;
  int file = -1;
};

/// An error when `output` is there and is the file `input`, which it would
/// replace. "-" is no file.
llvm::Error requireOther(llvm::StringRef output, llvm::StringRef input);

/// Whether `path` is there and is a device or a pipe.
bool isDevice(llvm::StringRef path);

/// Where a link leads; any other path unchanged.
std::string resolveLinks(llvm::StringRef path);

llvm::Expected<std::string> readFile(llvm::StringRef path);

/// Writes all of a file at once, see OutputFile.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef contents);

/// Writes text for a person: "-" is standard output, and a device or a pipe is
/// written into.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace mlir::hk

#endif // HK_SUPPORT_FILES_H
