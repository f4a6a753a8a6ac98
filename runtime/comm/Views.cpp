//===- Views.cpp - Copies of strided tensors on the host ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are copied whole; the dims in front of them are walked like an odometer.
//
//===----------------------------------------------------------------------===//

#include "comm/Views.h"

#include <cstring>

using namespace hk;

int64_t ByteView::numBytes() const {
  int64_t bytes = rowBytes;
  for (int64_t size : sizes)
    bytes *= size;
  return bytes;
}

ByteView ByteView::collapsed() const {
  ByteView result;
  result.data = data;
  result.rowBytes = rowBytes;
  for (size_t d = sizes.size(); d-- > 0;) {
    bool isRow = result.sizes.empty() && strides[d] == result.rowBytes;
    if (sizes[d] == 1)
      continue;
    if (isRow) {
      result.rowBytes *= sizes[d];
    } else if (!result.sizes.empty() &&
               strides[d] == result.sizes.front() * result.strides.front()) {
      result.sizes.front() *= sizes[d];
    } else {
      result.sizes.insert(result.sizes.begin(), sizes[d]);
      result.strides.insert(result.strides.begin(), strides[d]);
    }
  }
  return result;
}

bool ByteView::isDense() const {
  return numBytes() == 0 || collapsed().sizes.empty();
}

ByteView ByteView::part(int64_t dim, int64_t count, int64_t place) const {
  ByteView result = *this;
  if (dim == int64_t(sizes.size())) {
    result.rowBytes /= count;
    result.data += place * result.rowBytes;
    return result;
  }
  result.sizes[dim] /= count;
  result.data += place * result.sizes[dim] * strides[dim];
  return result;
}

ByteView hk::viewOf(void *data, DType dtype, const std::vector<int64_t> &sizes,
                    const int64_t *strides) {
  ByteView view;
  view.data = static_cast<char *>(data);
  view.rowBytes = packedBytes(dtype, sizes.empty() ? 1 : sizes.back());
  for (size_t d = 0; d + 1 < sizes.size(); ++d) {
    view.sizes.push_back(sizes[d]);
    view.strides.push_back(packedBytes(dtype, strides[d]));
  }
  return view;
}

/// Calls copy(row of the view, row of the dense memory) for all rows in order.
template <typename Copy>
static void forEachRow(const ByteView &view, const Copy &copy) {
  if (view.numBytes() == 0)
    return;
  std::vector<int64_t> index(view.sizes.size(), 0);
  char *row = view.data;
  for (int64_t at = 0, bytes = view.numBytes(); at < bytes;
       at += view.rowBytes) {
    copy(row, at);
    for (size_t d = view.sizes.size(); d-- > 0;) {
      row += view.strides[d];
      if (++index[d] < view.sizes[d])
        break;
      row -= view.strides[d] * view.sizes[d];
      index[d] = 0;
    }
  }
}

void hk::copyFromView(const ByteView &view, char *dense) {
  forEachRow(view, [&](const char *row, int64_t at) {
    std::memcpy(dense + at, row, view.rowBytes);
  });
}

void hk::copyToView(const char *dense, const ByteView &view) {
  forEachRow(view, [&](char *row, int64_t at) {
    std::memcpy(row, dense + at, view.rowBytes);
  });
}
