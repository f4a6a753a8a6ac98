//===- ModuleTables.h - The tables a module exports -------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the C translation unit that defines hk_module_query and all tables of
// hk/Runtime/ModuleAbi.h. C text can be read, and the compiler checks it
// against the header that the runtime includes.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_MODULETABLES_H
#define HK_LIB_COMPILER_MODULETABLES_H

#include "Section.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::hk {

/// `codeFile` names the file that holds the code of a GPU kernel.
void writeModuleTables(
    llvm::ArrayRef<Section> sections, llvm::ArrayRef<WeightRecord> weights,
    llvm::StringRef weightsFile,
    llvm::function_ref<std::string(const Section &, const KernelRecord &)>
        codeFile,
    llvm::raw_ostream &os);

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_MODULETABLES_H
