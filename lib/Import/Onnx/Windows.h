//===- Windows.h - Windows over the dims of images ------------ -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convolutions and pooling share: the places of a window along each dim,
// from the attributes that say them, and the elements that it has there.
//
//===----------------------------------------------------------------------===//

#ifndef HK_IMPORT_ONNX_WINDOWS_H
#define HK_IMPORT_ONNX_WINDOWS_H

#include "Node.h"

namespace mlir::hk::importer {

/// A window along one dim, and what is added around what it moves over:
/// `beyond` is what ceil_mode needs behind that.
struct Window {
  int64_t size, step = 1, apart = 1, before = 0, after = 0;
  Size places;
  int64_t beyond = 0;
  /// Elements from the first to the last one.
  int64_t reach() const { return (size - 1) * apart + 1; }
};

using Windows = SmallVector<Window>;

constexpr int64_t kMostTaps = 1024;

/// An attribute of `count` numbers from `least` to kMostTaps.
FailureOr<SmallVector<int64_t>> listOf(Node &node, StringRef name, size_t count,
                                       int64_t otherwise, int64_t least);
/// The windows of the dims of input 0 behind the first two, of which `kernel`
/// has the sizes: without places, and `before` and `after` as 'pads' says.
FailureOr<Windows> unplacedWindows(Node &node, ArrayRef<int64_t> kernel);
/// The windows of the dims of input 0 behind the first two, from attributes.
FailureOr<Windows> windowsOf(Node &node, ArrayRef<int64_t> kernel,
                             bool ceil = false);

/// [N, C, ...] as [N, ..., C], and back.
FailureOr<Tensor> channelsLast(Node &node, const Tensor &x);
FailureOr<Tensor> channelsSecond(Node &node, const Tensor &x);
/// `value` in front of and behind the elements of a dim.
FailureOr<Tensor> padded(Node &node, const Tensor &x, int64_t dim,
                         int64_t before, int64_t after, double value);
/// The same of a number that a call may tell, over dims of any sizes.
FailureOr<Tensor> padded(Node &node, const Tensor &x, int64_t dim,
                         int64_t before, int64_t after, const Tensor &value);
/// The elements of a window along a dim, one tensor each.
FailureOr<SmallVector<Tensor>> tapsOf(Node &node, const Tensor &x, int64_t dim,
                                      const Window &window);
/// All elements of windows of x [N, ..., C], around which is `value`.
FailureOr<SmallVector<Tensor>> everyTap(Node &node, const Tensor &x,
                                        ArrayRef<Window> windows, double value);

} // namespace mlir::hk::importer

#endif // HK_IMPORT_ONNX_WINDOWS_H
