//===- Process.cpp - Child processes --------------------------------------===//
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
#include "hk/Support/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"

#include <optional>

using namespace llvm;
using namespace mlir::hk;

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
