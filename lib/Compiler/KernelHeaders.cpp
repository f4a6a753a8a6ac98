//===- KernelHeaders.cpp - What kernels include ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels include each other and the contract by full names in quotes, and
// nothing else of the tree (test/Docs/includes.test), so that the lines say
// all.
//
//===----------------------------------------------------------------------===//

#include "KernelHeaders.h"

#include "KernelCache.h"
#include "hk/Support/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace mlir::hk;

/// The names in quotes that `text` includes.
static std::vector<std::string> includesOf(StringRef text) {
  std::vector<std::string> names;
  SmallVector<StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    line = line.ltrim();
    if (!line.consume_front("#"))
      continue;
    line = line.ltrim();
    if (!line.consume_front("include"))
      continue;
    line = line.ltrim();
    if (line.consume_front("\""))
      names.push_back(line.take_until([](char c) { return c == '"'; }).str());
  }
  return names;
}

Error KernelHeaders::readFolder(StringRef folder, StringRef prefix) {
  std::error_code error;
  for (sys::fs::recursive_directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error)) {
    if (sys::path::extension(it->path()) != ".h")
      continue;
    Expected<std::string> text = readFile(it->path());
    if (!text)
      return text.takeError();
    StringRef below = StringRef(it->path()).drop_front(folder.size());
    headers[(prefix + below).str()] = {hashOf({*text}), includesOf(*text)};
  }
  if (error)
    return createStringError(error,
                             "cannot list the kernel headers in '%s': %s",
                             folder.str().c_str(), error.message().c_str());
  return Error::success();
}

Expected<KernelHeaders> KernelHeaders::read(const CompileOptions &options) {
  KernelHeaders result;
  if (Error error = result.readFolder(options.kernelDirectory, "kernels"))
    return error;
  if (Error error = result.readFolder(options.includeDirectory + "/hk/Contract",
                                      "hk/Contract"))
    return error;
  return result;
}

std::string KernelHeaders::hashFor(StringRef text) const {
  StringSet<> seen;
  std::vector<std::string> open = includesOf(text);
  SmallVector<StringRef> names;
  while (!open.empty()) {
    auto found = headers.find(open.back());
    open.pop_back();
    if (found == headers.end() || !seen.insert(found->getKey()).second)
      continue;
    names.push_back(found->getKey());
    append_range(open, found->second.includes);
  }
  llvm::sort(names);
  SmallVector<StringRef> parts;
  for (StringRef name : names)
    parts.append({name, headers.find(name)->second.hash});
  return hashOf(parts);
}
