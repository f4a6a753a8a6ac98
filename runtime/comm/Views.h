//===- Views.h - Copies of strided tensors on the host -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are launched on views of which only the last dim is sure to be
// contiguous; messages are dense. A view counts bytes, so that elements of 4
// bits, of which the last dim has an even number, need no code of their own.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_COMM_VIEWS_H
#define HK_RUNTIME_COMM_VIEWS_H

#include "hk/Contract/DType.h"

#include <cstdint>
#include <vector>

namespace hk {

/// Dims of `sizes` items with a stride in bytes each, and `rowBytes` contiguous
/// bytes at each place.
struct ByteView {
  char *data = nullptr;
  std::vector<int64_t> sizes, strides;
  int64_t rowBytes = 0;

  int64_t numBytes() const;
  /// Contiguous; a view without bytes is.
  bool isDense() const;
  /// The same bytes in the same order in as few dims as possible.
  ByteView collapsed() const;
  /// Part `place` of `count` equal ones along a dim of the tensor; the last dim
  /// of the tensor is the row.
  ByteView part(int64_t dim, int64_t count, int64_t place) const;
};

/// The tensor at `data`; `strides` counts elements and has no entry for the
/// last dim, whose stride is 1.
ByteView viewOf(void *data, DType dtype, const std::vector<int64_t> &sizes,
                const int64_t *strides);

/// Between a view and dense memory of as many bytes.
void copyFromView(const ByteView &view, char *dense);
void copyToView(const char *dense, const ByteView &view);

} // namespace hk

#endif // HK_RUNTIME_COMM_VIEWS_H
