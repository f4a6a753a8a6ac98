//===- KernelCache.h - Compiled kernels, by content -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of files named by their keys, each with a seal behind it
// (hk/Runtime/Seal.h). Compilers that run at the same time may share it. It
// only saves time: an entry that is damaged or cannot be read is none, and what
// cannot be kept is compiled again.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_KERNELCACHE_H
#define HK_LIB_COMPILER_KERNELCACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <mutex>
#include <optional>
#include <string>

namespace mlir::hk {

/// SHA-256 in hexadecimal digits; no two lists of parts share what is hashed.
std::string hashOf(llvm::ArrayRef<llvm::StringRef> parts);

/// Any number of threads may use it.
class KernelCache {
public:
  /// "": nothing is kept.
  explicit KernelCache(std::string folder);

  std::optional<std::string> find(llvm::StringRef key) const;
  void store(llvm::StringRef key, llvm::StringRef binary);

  /// Why nothing is kept any more; "" if all is well.
  std::string trouble() const;

private:
  std::string fileOf(llvm::StringRef key) const;
  void giveUp(llvm::Error error);

  std::string folder;
  mutable std::mutex mutex;
  std::string reason; // the first
};

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_KERNELCACHE_H
