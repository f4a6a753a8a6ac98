//===- ObjectCheck.h - What a compiled kernel must satisfy ------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After clang: the code object's own notes are read and compared with what the
// compiler planned with.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_OBJECTCHECK_H
#define HK_LIB_COMPILER_OBJECTCHECK_H

#include "Section.h"

#include "llvm/Support/Error.h"

namespace mlir::hk {

/// Resources of one entry point, from the notes of an AMD code object.
struct KernelResources {
  std::string symbol;
  uint64_t ldsBytes = 0, vgprs = 0, agprs = 0, sgprs = 0;
  uint64_t vgprSpills = 0, sgprSpills = 0, scratchBytes = 0;
};

llvm::Expected<std::vector<KernelResources>>
readResources(llvm::StringRef codeObject);

/// A kernel that keeps registers in memory, which no tile is planned with.
class SpillError : public llvm::ErrorInfo<SpillError, llvm::StringError> {
public:
  static char ID;
  SpillError(const ::hk::Target &target, llvm::StringRef kernel,
             llvm::StringRef tile, const llvm::Twine &message);

  const ::hk::Target *target;
  std::string kernel, tile; // the variant's, as printed
};

/// AMD: every variant's entry point exists, its LDS equals the contract's bytes
/// and is within the limit, nothing spills (else a SpillError), but for scalar
/// registers that a last tile keeps in lanes of others, and as many blocks are
/// resident as the source promises. sm_90a: every entry point exists
/// and waits for the kernel before; for its LDS the static_assert in the kernel
/// is the proof. Host: nothing to read.
llvm::Error checkObject(const ::hk::Target &target, const KernelRecord &kernel,
                        llvm::StringRef object);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_OBJECTCHECK_H
