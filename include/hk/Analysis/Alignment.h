//===- Alignment.h - What is known of addresses -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of functions and results of kernels are dense and row-major, at an
// address of 16 bytes. From there views (slices, reshapes) are followed: how
// their rows are aligned, and whether memory can hold them at all without a
// copy.
//
//===----------------------------------------------------------------------===//

#ifndef HK_ANALYSIS_ALIGNMENT_H
#define HK_ANALYSIS_ALIGNMENT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace mlir::hk {

inline constexpr int64_t kMaxAlignment = 16;

/// tensor.extract_slice, expand_shape, collapse_shape and cast: no data moves.
bool isView(Operation *op);

/// The tensor that a view looks at; only for isView.
Value viewSource(Operation *op);

/// The value under all views of `value`.
Value rootOfViews(Value value);

/// Alignment in bytes (1 to 16) of the first element of every innermost row.
int64_t guaranteedAlignment(Value value);

/// Whether every row of a dense tensor of `type` begins at a byte: kernels
/// store two elements of 4 bits at a time.
bool hasWholeRows(RankedTensorType type);

/// The layout that a chain of views has in memory over a dense source; nullopt
/// if it has none (a reshape across a slice), if its innermost stride is not 1,
/// or if its first element of 4 bits may be the second of a byte. Decides as
/// bufferization does but for the last.
std::optional<MemRefType> layoutOfViews(Value value);

} // namespace mlir::hk

#endif // HK_ANALYSIS_ALIGNMENT_H
