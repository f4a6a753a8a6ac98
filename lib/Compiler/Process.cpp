//===- Process.cpp - Child processes and temporary files ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over llvm::sys, which starts programs without a shell.
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace llvm;
using namespace mlir::hk;

Expected<TemporaryDirectory> TemporaryDirectory::create() {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createUniqueDirectory("hk", path))
    return createStringError(error, "cannot make a temporary folder: %s",
                             error.message().c_str());
  if (std::error_code error = sys::fs::setPermissions(path, sys::fs::owner_all))
    return createStringError(error, "cannot protect %s: %s", path.c_str(),
                             error.message().c_str());
  return TemporaryDirectory(path.str().str());
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory &&other)
    : path(std::move(other.path)) {
  other.path.clear();
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path.empty())
    (void)sys::fs::remove_directories(path); // nothing to tell the user
}

std::string TemporaryDirectory::file(const Twine &name) const {
  SmallString<128> result(path);
  sys::path::append(result, name);
  return result.str().str();
}

Error mlir::hk::runProgram(ArrayRef<std::string> arguments, StringRef logFile) {
  ErrorOr<std::string> program = sys::findProgramByName(arguments.front());
  if (!program)
    return createStringError(
        program.getError(), "cannot find the program '%s': %s",
        arguments.front().c_str(), program.getError().message().c_str());
  SmallVector<StringRef> views(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), logFile, logFile};
  std::string message;
  int status =
      sys::ExecuteAndWait(*program, views, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (status == 0)
    return Error::success();
  std::string output;
  if (Expected<std::string> text = readFile(logFile))
    output = std::move(*text);
  else
    consumeError(text.takeError());
  return createStringError("command failed with status %d: %s\n%s%s", status,
                           join(arguments, " ").c_str(), message.c_str(),
                           output.c_str());
}

Expected<std::string> mlir::hk::readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read '%s': %s",
                             path.str().c_str(),
                             buffer.getError().message().c_str());
  return (*buffer)->getBuffer().str();
}

Error mlir::hk::writeFile(StringRef path, StringRef contents) {
  return writeToOutput(path, [&](raw_ostream &os) {
    os << contents;
    return Error::success();
  });
}
