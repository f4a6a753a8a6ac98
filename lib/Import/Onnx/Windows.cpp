//===- Windows.cpp - Windows over the dims of images ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of windows are slices, one tensor for each element, in channels
// that lie last; what is around the dims is added before.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<SmallVector<int64_t>>
mlir::hk::importer::listOf(Node &node, StringRef name, size_t count,
                           int64_t otherwise, int64_t least) {
  SmallVector<int64_t> made(count, otherwise);
  if (auto given = node.integerList(name))
    made = *given;
  if (made.size() != count ||
      llvm::any_of(made, [&](int64_t n) { return n < least || n > kMostTaps; }))
    return node.error() << "expected attribute '" << name << "' to have "
                        << count << " numbers from " << least << " to "
                        << kMostTaps << ", but got [" << made << "]";
  return made;
}

/// The places of a window of which the last may reach beyond the dim; one that
/// begins behind it is none.
static LogicalResult placeCeil(Node &node, const Size &dim, Window &window) {
  std::optional<int64_t> known = dim.getConstant();
  if (!known)
    return node.error() << "expected a known size beside ceil_mode, but got "
                        << node.graph.symbols.describe(dim);
  int64_t room = *known + window.before + window.after - window.reach();
  int64_t places = llvm::divideCeil(room, window.step) + 1;
  if ((places - 1) * window.step >= *known + window.before)
    --places;
  window.beyond = std::max<int64_t>((places - 1) * window.step - room, 0);
  window.places = places;
  return success();
}

/// The places of a window of a dim of this size; zeros in front and behind by
/// auto_pad.
static LogicalResult place(Node &node, const Size &dim, StringRef mode,
                           bool ceil, Window &window) {
  int64_t reach = window.reach();
  if (mode != "NOTSET") {
    std::optional<int64_t> known = dim.getConstant();
    if (mode != "VALID" && !known)
      return node.error() << "expected a known size beside auto_pad '" << mode
                          << "', but got " << node.graph.symbols.describe(dim);
    window.before = window.after = 0;
    if (mode != "VALID") {
      int64_t count = llvm::divideCeil(*known, window.step);
      int64_t whole =
          std::max<int64_t>((count - 1) * window.step + reach - *known, 0);
      window.before = mode == "SAME_LOWER" ? whole - whole / 2 : whole / 2;
      window.after = whole - window.before;
    }
  }
  Size room = dim + (window.before + window.after - reach);
  if (room.getConstant().value_or(0) < 0)
    return node.error() << "expected a dim of at least the window, " << reach
                        << ", but got " << node.graph.symbols.describe(dim);
  if (ceil && mode == "NOTSET")
    return placeCeil(node, dim, window);
  window.places =
      node.graph.symbols.floorDiv(node.b, node.loc, room, window.step) + 1;
  return success();
}

FailureOr<Windows>
mlir::hk::importer::unplacedWindows(Node &node, ArrayRef<int64_t> kernel) {
  const Shape &shape = node.input(0).shape;
  size_t count = kernel.size();
  if (shape.size() != count + 2 || !count || count > 3)
    return node.error() << "expected windows of 1 to 3 dims behind two others, "
                           "but got "
                        << node.describe(shape) << " and a window [" << kernel
                        << "]";
  HK_TRY(steps, listOf(node, "strides", count, 1, 1));
  HK_TRY(apart, listOf(node, "dilations", count, 1, 1));
  HK_TRY(pads, listOf(node, "pads", 2 * count, 0, 0));
  Windows windows;
  int64_t taps = 1;
  for (auto [d, size] : llvm::enumerate(kernel)) {
    if (size < 1 || size > kMostTaps / taps)
      return node.error() << "expected a window of 1 to " << kMostTaps
                          << " elements, but got [" << kernel << "]";
    taps *= size;
    windows.push_back(
        {size, steps[d], apart[d], pads[d], pads[d + count], Size()});
  }
  return windows;
}

FailureOr<Windows>
mlir::hk::importer::windowsOf(Node &node, ArrayRef<int64_t> kernel, bool ceil) {
  HK_TRY(windows, unplacedWindows(node, kernel));
  StringRef mode = node.text("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"},
                          mode))
    return node.error() << "expected attribute 'auto_pad' to be NOTSET, VALID, "
                           "SAME_UPPER or SAME_LOWER, but got '"
                        << mode << "'";
  for (auto [d, window] : llvm::enumerate(windows))
    if (failed(place(node, node.input(0).shape[d + 2], mode, ceil, window)))
      return failure();
  return windows;
}

FailureOr<Tensor> mlir::hk::importer::channelsLast(Node &node,
                                                   const Tensor &x) {
  SmallVector<int64_t> order{0};
  llvm::append_range(order, llvm::seq<int64_t>(2, x.rank()));
  order.push_back(1);
  return node.transpose(x, order);
}

FailureOr<Tensor> mlir::hk::importer::channelsSecond(Node &node,
                                                     const Tensor &x) {
  SmallVector<int64_t> order{0, x.rank() - 1};
  llvm::append_range(order, llvm::seq<int64_t>(1, x.rank() - 1));
  return node.transpose(x, order);
}

/// hk.pad appends to the last dim; what goes in front is cut off and joined
/// again.
FailureOr<Tensor> mlir::hk::importer::padded(Node &node, const Tensor &x,
                                             int64_t dim, int64_t before,
                                             int64_t after, double value) {
  if (!before && !after)
    return x;
  int64_t rest = 1;
  for (const Size &size : ArrayRef<Size>(x.shape).drop_front(dim)) {
    std::optional<int64_t> known = size.getConstant();
    if (!known) { // only a call tells
      HK_TRY(number, node.scalar(value, x.dtype));
      return padded(node, x, dim, before, after, number);
    }
    rest *= *known;
  }
  int64_t size = *x.shape[dim].getConstant();
  rest = size ? rest / size : 0;
  Shape flat(ArrayRef<Size>(x.shape).take_front(dim));
  flat.push_back(size * rest);
  HK_TRY(rows, node.reshape(x, flat));
  flat.back() = (size + before + after) * rest;
  HK_TRY(type, node.type(x.dtype, flat));
  Tensor made{PadOp::create(node.b, node.loc, type, rows.value,
                            node.b.getF32FloatAttr(value)),
              x.dtype, flat};
  if (before) {
    HK_TRY(front, node.slice(made, dim, size * rest, before * rest));
    HK_TRY(behind, node.slice(made, dim, 0, (size + after) * rest));
    HK_TRY(joined, node.concat(dim, {front, behind}));
    made = joined;
  }
  Shape shape = x.shape;
  shape[dim] = size + before + after;
  return node.reshape(made, shape);
}

FailureOr<SmallVector<Tensor>>
mlir::hk::importer::tapsOf(Node &node, const Tensor &x, int64_t dim,
                           const Window &window) {
  SmallVector<Tensor> taps;
  for (int64_t t = 0; t < window.size; ++t) {
    HK_TRY(tap,
           node.slice(x, dim, t * window.apart, window.places, window.step));
    taps.push_back(tap);
  }
  return taps;
}

FailureOr<SmallVector<Tensor>>
mlir::hk::importer::everyTap(Node &node, const Tensor &x,
                             ArrayRef<Window> windows, double value) {
  Tensor wide = x;
  for (auto [d, window] : llvm::enumerate(windows)) {
    HK_TRY(grown, padded(node, wide, d + 1, window.before,
                         window.after + window.beyond, value));
    wide = grown;
  }
  SmallVector<Tensor> taps{wide};
  for (auto [d, window] : llvm::enumerate(windows)) {
    SmallVector<Tensor> next;
    for (const Tensor &tap : taps) {
      HK_TRY(parts, tapsOf(node, tap, d + 1, window));
      llvm::append_range(next, parts);
    }
    taps = next;
  }
  return taps;
}
