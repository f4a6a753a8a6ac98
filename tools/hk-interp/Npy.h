//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few .npy forms that tests exchange: little-endian C-order arrays of plain
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef HK_INTERP_NPY_H
#define HK_INTERP_NPY_H

#include "hk/Reference/Interpreter.h"

#include "llvm/Support/Error.h"

namespace hkinterp {

/// Reads an array of f2, f4, f8, i1, i2, i4, i8, u1 or bool and rounds its
/// numbers to `dtype`; fails, with the reason in `error`, on anything else.
mlir::FailureOr<mlir::hk::reference::Tensor>
readNpy(llvm::StringRef path, hk::DType dtype, std::string &error);

/// Writes doubles; a file is whole or not there.
llvm::Error writeNpy(llvm::StringRef path, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<double> values);

} // namespace hkinterp

#endif // HK_INTERP_NPY_H
