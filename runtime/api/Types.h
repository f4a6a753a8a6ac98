//===- Types.h - Element types at the C boundary -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the contract's element types to DLPack's and prints both for errors.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_API_TYPES_H
#define HK_RUNTIME_API_TYPES_H

#include "hk/Contract/DType.h"
#include "hk/Runtime/hk.h"

#include <string>

namespace hk {

/// The DLPack type a tensor of `dtype` carries.
DLDataType dlpackType(DType dtype);

/// True when a tensor tagged `actual` may be passed where `dtype` is expected.
/// Booleans are also accepted as uint8, which is how frameworks export them
/// through DLPack before 1.0.
bool acceptsType(DType dtype, DLDataType actual);

/// "bf16", or "DLPack code 3 bits 7 lanes 1" for a type hk does not have.
std::string typeName(DLDataType type);

/// "[2, 3]"; a negative size prints as "?".
std::string shapeText(const int64_t *sizes, int64_t rank);

/// Bytes of a dense tensor, or -1 when a size is negative or the product does
/// not fit in 63 bits.
int64_t denseBytes(DType dtype, const int64_t *sizes, int64_t rank);

/// "cpu:0", "cuda:1", "rocm:0", "DLPack device type 7:0".
std::string deviceText(DLDevice device);

} // namespace hk

#endif // HK_RUNTIME_API_TYPES_H
