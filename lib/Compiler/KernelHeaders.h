//===- KernelHeaders.h - What kernels include -------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The headers of kernels and of the contract, and which of them a kernel's text
// includes, so that a change of one family's headers leaves the cached kernels
// of the others valid.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_KERNELHEADERS_H
#define HK_LIB_COMPILER_KERNELHEADERS_H

#include "hk/Compiler/Compiler.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::hk {

class KernelHeaders {
public:
  /// Reads every header; an error names the folder or file that cannot be read.
  static llvm::Expected<KernelHeaders> read(const CompileOptions &options);

  /// Hash of the names and contents of the headers that `text` includes,
  /// directly or through others. Conditions of the preprocessor are ignored, so
  /// it may change with a header that only another target reads.
  std::string hashFor(llvm::StringRef text) const;

private:
  struct Header {
    std::string hash;
    std::vector<std::string> includes;
  };
  llvm::Error readFolder(llvm::StringRef folder, llvm::StringRef prefix);

  /// By the name that sources include it by, such as "kernels/device/math.h".
  llvm::StringMap<Header> headers;
};

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_KERNELHEADERS_H
