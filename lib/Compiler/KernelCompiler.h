//===- KernelCompiler.h - Translation units to objects ----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the kernels of a section with clang, several at a time, through a
// cache whose key is everything the result depends on: the text, the headers
// that it includes, the compiler's version and the flags.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_KERNELCOMPILER_H
#define HK_LIB_COMPILER_KERNELCOMPILER_H

#include "KernelCache.h"
#include "KernelHeaders.h"
#include "Section.h"
#include "hk/Compiler/Compiler.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace mlir::hk {

/// "x86-64-v2", "-v3" or "-v4" for "native", from what this CPU has; the other
/// names unchanged; an error for an unknown one.
llvm::Expected<std::string> resolveHostCpu(llvm::StringRef name);
/// Features that code for `cpu` needs, comma separated, as
/// __builtin_cpu_supports spells them.
std::string cpuFeaturesOf(llvm::StringRef cpu);

class KernelCompiler {
public:
  static llvm::Expected<KernelCompiler> create(const CompileOptions &options);

  /// Sets `binary` of every kernel of every section and checks each AMD object
  /// against the LDS bytes its variants promise.
  llvm::Error compile(llvm::MutableArrayRef<Section> sections) const;

  /// Why the cache keeps nothing; "" if it does or is off.
  std::string cacheTrouble() const { return cache->trouble(); }

  /// A stable name for `text`: the prefix of its entry points.
  static std::string prefixFor(llvm::StringRef text);

private:
  explicit KernelCompiler(const CompileOptions &options) : options(options) {}
  std::vector<std::string> flagsFor(const ::hk::Target &target) const;
  llvm::Error compileOne(const ::hk::Target &target,
                         KernelRecord &kernel) const;

  CompileOptions options;
  KernelHeaders headers;
  std::string identity; // of the compiler's file
  std::unique_ptr<KernelCache> cache;
};

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_KERNELCOMPILER_H
