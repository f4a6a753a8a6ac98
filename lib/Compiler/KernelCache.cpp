//===- KernelCache.cpp - Compiled kernels, by content ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entries are written by rename (Files.h).
//
//===----------------------------------------------------------------------===//

#include "KernelCache.h"
#include "hk/Runtime/Seal.h"
#include "hk/Support/Files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace mlir::hk;

std::string mlir::hk::hashOf(ArrayRef<StringRef> parts) {
  SHA256 hash;
  for (StringRef part : parts) {
    hash.update(std::to_string(part.size()));
    hash.update(":");
    hash.update(part);
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

KernelCache::KernelCache(std::string path) : folder(std::move(path)) {
  if (folder.empty())
    return;
  if (std::error_code error = sys::fs::create_directories(folder))
    giveUp(createStringError(error, "cannot make the folder '%s': %s",
                             folder.c_str(), error.message().c_str()));
}

std::string KernelCache::fileOf(StringRef key) const {
  SmallString<128> path(folder);
  sys::path::append(path, key);
  return path.str().str();
}

std::optional<std::string> KernelCache::find(StringRef key) const {
  if (folder.empty())
    return std::nullopt;
  Expected<std::string> entry = readFile(fileOf(key));
  if (!entry) {
    consumeError(entry.takeError());
    return std::nullopt;
  }
  if (::hk::checkSeal(*entry) != ::hk::SealState::Whole)
    return std::nullopt;
  entry->resize(entry->size() - sizeof(::hk::Seal));
  return std::move(*entry);
}

void KernelCache::store(StringRef key, StringRef binary) {
  if (folder.empty() || !trouble().empty())
    return;
  if (Error error =
          writeFile(fileOf(key), (binary + ::hk::sealFor(binary)).str()))
    giveUp(std::move(error));
}

std::string KernelCache::trouble() const {
  std::lock_guard<std::mutex> lock(mutex);
  return reason;
}

void KernelCache::giveUp(Error error) {
  std::string text = toString(std::move(error));
  std::lock_guard<std::mutex> lock(mutex);
  if (reason.empty())
    reason = std::move(text);
}
