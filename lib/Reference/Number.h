//===- Number.h - Bit patterns of element types -----------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes of float types; rounding and spacing are declared in Interpreter.h.
//
//===----------------------------------------------------------------------===//

#ifndef HK_REFERENCE_NUMBER_H
#define HK_REFERENCE_NUMBER_H

#include "hk/Reference/Interpreter.h"

namespace mlir::hk::reference {

/// The number that `code` stands for.
double decodeFloat(::hk::DType dtype, uint32_t code);
/// The code of `value`, which is a number of `dtype`, infinity or NaN.
uint32_t encodeFloat(::hk::DType dtype, double value);

} // namespace mlir::hk::reference

#endif // HK_REFERENCE_NUMBER_H
