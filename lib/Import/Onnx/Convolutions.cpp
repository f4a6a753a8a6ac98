//===- Convolutions.cpp - Convolutions and pooling of ONNX ----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is a product: each place of the result has the elements of its
// window as a row. Windows that neither overlap nor leave gaps (patches of an
// image) are a reshape; others are slices, joined one dim after the other, so
// that a window of 7 x 7 is 14 of them. Channels lie last meanwhile. One that
// keeps channels apart is a sum of slices.
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

namespace {

/// A window along one dim, and the zeros around what it moves over.
struct Window {
  int64_t size, step = 1, apart = 1, before = 0, after = 0;
  Size places;
};

using Windows = SmallVector<Window>;

} // namespace

constexpr int64_t kMostTaps = 1024;

static FailureOr<SmallVector<int64_t>> listOf(Node &node, StringRef name,
                                              size_t count, int64_t otherwise,
                                              int64_t least) {
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

/// The places of a window of a dim of this size; zeros in front and behind by
/// auto_pad.
static LogicalResult place(Node &node, const Size &dim, StringRef mode,
                           Window &window) {
  int64_t reach = (window.size - 1) * window.apart + 1;
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
  window.places =
      node.graph.symbols.floorDiv(node.b, node.loc, room, window.step) + 1;
  return success();
}

/// The windows of the dims behind the first two, from attributes.
static FailureOr<Windows> windowsOf(Node &node, ArrayRef<int64_t> kernel) {
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
  StringRef mode = node.text("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"},
                          mode))
    return node.error() << "expected attribute 'auto_pad' to be NOTSET, VALID, "
                           "SAME_UPPER or SAME_LOWER, but got '"
                        << mode << "'";
  Windows windows;
  int64_t taps = 1;
  for (auto [d, size] : llvm::enumerate(kernel)) {
    if (size < 1 || size > kMostTaps / taps)
      return node.error() << "expected a window of 1 to " << kMostTaps
                          << " elements, but got [" << kernel << "]";
    taps *= size;
    Window window{size, steps[d], apart[d], pads[d], pads[d + count], Size()};
    if (failed(place(node, shape[d + 2], mode, window)))
      return failure();
    windows.push_back(window);
  }
  return windows;
}

/// [N, C, ...] as [N, ..., C].
static FailureOr<Tensor> channelsLast(Node &node, const Tensor &x) {
  SmallVector<int64_t> order{0};
  llvm::append_range(order, llvm::seq<int64_t>(2, x.rank()));
  order.push_back(1);
  return node.transpose(x, order);
}

static FailureOr<Tensor> channelsSecond(Node &node, const Tensor &x) {
  SmallVector<int64_t> order{0, x.rank() - 1};
  llvm::append_range(order, llvm::seq<int64_t>(1, x.rank() - 1));
  return node.transpose(x, order);
}

/// `value` in front of and behind the elements of a dim. hk.pad appends to the
/// last one; what goes in front is cut off and joined again.
static FailureOr<Tensor> padded(Node &node, const Tensor &x, int64_t dim,
                                int64_t before, int64_t after, double value) {
  if (!before && !after)
    return x;
  int64_t rest = 1;
  for (const Size &size : ArrayRef<Size>(x.shape).drop_front(dim)) {
    std::optional<int64_t> known = size.getConstant();
    if (!known)
      return node.error() << "expected known sizes where zeros are added, but "
                             "got "
                          << node.describe(x.shape);
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

/// The elements of a window along a dim, one tensor each.
static FailureOr<SmallVector<Tensor>>
tapsOf(Node &node, const Tensor &x, int64_t dim, const Window &window) {
  SmallVector<Tensor> taps;
  for (int64_t t = 0; t < window.size; ++t) {
    HK_TRY(tap,
           node.slice(x, dim, t * window.apart, window.places, window.step));
    taps.push_back(tap);
  }
  return taps;
}

/// All elements of windows of x [N, ..., C], which is padded.
static FailureOr<SmallVector<Tensor>>
everyTap(Node &node, const Tensor &x, ArrayRef<Window> windows, double value) {
  Tensor wide = x;
  for (auto [d, window] : llvm::enumerate(windows)) {
    HK_TRY(grown,
           padded(node, wide, d + 1, window.before, window.after, value));
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

/// [N, ..., C] as [N, places..., taps C].
static FailureOr<Tensor> rowsOf(Node &node, const Tensor &x,
                                ArrayRef<Window> windows) {
  Tensor made = x;
  for (int64_t d = windows.size() - 1; d >= 0; --d) {
    const Window &window = windows[d];
    HK_TRY(wide, padded(node, made, d + 1, window.before, window.after, 0.0));
    HK_TRY(taps, tapsOf(node, wide, d + 1, window));
    HK_TRY(joined, node.concat(wide.rank() - 1, taps));
    made = joined;
  }
  return made;
}

/// Whether windows lie side by side over all of the elements they reach.
static bool arePatches(const Windows &windows) {
  return llvm::all_of(windows, [](const Window &w) {
    return w.size == w.step && w.apart == 1 && !w.before && !w.after &&
           w.places.getConstant();
  });
}

/// [N, C, ...] as [N, places..., C taps].
static FailureOr<Tensor> patchesOf(Node &node, const Tensor &x,
                                   const Windows &windows, int64_t width) {
  Tensor made = x;
  Shape apart{x.shape[0], x.shape[1]}, rows{x.shape[0]};
  SmallVector<int64_t> order{0};
  for (auto [d, window] : llvm::enumerate(windows)) {
    HK_TRY(cut, node.slice(made, d + 2, 0, window.places * window.size));
    made = cut;
    order.push_back(apart.size());
    apart.append({window.places, Size(window.size)});
    rows.push_back(window.places);
  }
  order.push_back(1);
  for (int64_t d = 0, e = windows.size(); d < e; ++d)
    order.push_back(3 + 2 * d);
  HK_TRY(split, node.reshape(made, apart));
  HK_TRY(moved, node.transpose(split, order));
  rows.push_back(width);
  return node.reshape(moved, rows);
}

/// The weight [M, C, taps] in the order of rows, [M, taps C]; where the file
/// has it, it is moved once.
static FailureOr<Tensor> weightByTap(Node &node, int64_t out, int64_t channels,
                                     int64_t taps) {
  const Item &item = node.input(1);
  if (item.data && dtypeInfo(item.dtype)->bits % 8 == 0) {
    size_t width = dtypeInfo(item.dtype)->bits / 8;
    std::string moved;
    moved.reserve(item.data->bytes.size());
    for (int64_t m = 0; m < out; ++m)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < channels; ++c)
          moved += item.data->bytes.substr(
              ((m * channels + c) * taps + t) * width, width);
    return node.constant({item.dtype,
                          {out, taps * channels},
                          node.graph.store.keep(std::move(moved))},
                         item.name + ".by_tap");
  }
  HK_TRY(weight, node.tensor(1));
  HK_TRY(split, node.reshape(weight, {Size(out), Size(channels), Size(taps)}));
  HK_TRY(moved, node.transpose(split, {0, 2, 1}));
  return node.reshape(moved, {Size(out), Size(taps * channels)});
}

/// Channels by themselves: a sum of slices, in f32.
static FailureOr<Tensor> apart(Node &node, const Tensor &x,
                               const Windows &windows, int64_t channels,
                               int64_t taps) {
  HK_TRY(last, channelsLast(node, x));
  HK_TRY(wide, node.cast(last, kFloat));
  HK_TRY(parts, everyTap(node, wide, windows, 0.0));
  HK_TRY(given, node.tensor(1));
  HK_TRY(matrix, node.reshape(given, {Size(channels), Size(taps)}));
  HK_TRY(turned, node.transpose(matrix, {1, 0}));
  HK_TRY(weight, node.cast(turned, kFloat));
  Tensor sum;
  for (auto [t, part] : llvm::enumerate(parts)) {
    HK_TRY(row, node.slice(weight, 0, int64_t(t), 1));
    HK_TRY(flat, node.reshape(row, {Size(channels)}));
    HK_TRY(scaled, node.binary<MulOp>(part, flat));
    if (!t) {
      sum = scaled;
      continue;
    }
    HK_TRY(next, node.binary<AddOp>(sum, scaled));
    sum = next;
  }
  return node.cast(sum, x.dtype);
}

/// [N, places..., M] of channels that groups share.
static FailureOr<Tensor> multiplied(Node &node, const Tensor &x,
                                    const Windows &windows, int64_t groups,
                                    int64_t out, int64_t channels,
                                    int64_t taps) {
  if (groups == 1 && arePatches(windows)) {
    HK_TRY(rows, patchesOf(node, x, windows, channels * taps));
    HK_TRY(given, node.tensor(1));
    HK_TRY(weight, node.reshape(given, {Size(out), Size(channels * taps)}));
    return matmul(node, rows, weight, false, true, x.dtype);
  }
  HK_TRY(last, channelsLast(node, x));
  HK_TRY(rows, rowsOf(node, last, windows));
  HK_TRY(weight, weightByTap(node, out, channels, taps));
  if (groups == 1)
    return matmul(node, rows, weight, false, true, x.dtype);
  Shape places(ArrayRef<Size>(rows.shape).drop_back());
  Size count(1);
  for (const Size &size : places)
    count = count * size;
  int64_t k = taps * channels;
  HK_TRY(split,
         node.reshape(rows, {count, Size(taps), Size(groups), Size(channels)}));
  HK_TRY(moved, node.transpose(split, {2, 0, 1, 3}));
  HK_TRY(sides, node.reshape(moved, {Size(groups), count, Size(k)}));
  HK_TRY(matrix,
         node.reshape(weight, {Size(groups), Size(out / groups), Size(k)}));
  HK_TRY(made, matmul(node, sides, matrix, false, true, x.dtype));
  HK_TRY(turned, node.transpose(made, {1, 0, 2}));
  places.push_back(out);
  return node.reshape(turned, places);
}

static LogicalResult convolution(Node &node) {
  HK_TRY(x, node.tensor(0));
  SmallVector<int64_t> sizes;
  for (const Size &size : node.input(1).shape)
    sizes.push_back(size.getConstant().value_or(0));
  if (sizes.size() < 3 || llvm::any_of(sizes, [](int64_t n) { return n < 1; }))
    return node.error() << "expected a weight [M, C, window...] of known "
                           "sizes, but got "
                        << node.describe(node.input(1).shape);
  ArrayRef<int64_t> kernel = ArrayRef<int64_t>(sizes).drop_front(2);
  if (auto given = node.integerList("kernel_shape");
      given && ArrayRef<int64_t>(*given) != kernel)
    return node.error() << "expected attribute 'kernel_shape' to be [" << kernel
                        << "], as the weight has it, but got [" << *given
                        << "]";
  if (node.input(1).dtype != x.dtype || !dtypeInfo(x.dtype) ||
      !dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected an input and a weight of one real type";
  HK_TRY(windows, windowsOf(node, kernel));
  int64_t groups = node.integer("group", 1), taps = 1;
  for (int64_t size : kernel)
    taps *= size;
  if (groups < 1 || groups > sizes[0] || sizes[0] % groups ||
      !x.shape[1].isConstant(sizes[1] * groups))
    return node.error() << "expected " << groups << " groups of " << sizes[1]
                        << " channels, but got " << node.describe(x.shape)
                        << " and a weight "
                        << node.describe(node.input(1).shape);
  bool alone = sizes[1] == 1 && groups == sizes[0] && groups > 1;
  FailureOr<Tensor> product =
      alone ? apart(node, x, windows, groups, taps)
            : multiplied(node, x, windows, groups, sizes[0], sizes[1], taps);
  if (failed(product))
    return failure();
  Tensor made = *product;
  if (node.has(2)) {
    HK_TRY(bias, node.tensor(2));
    if (bias.rank() != 1 || !bias.shape[0].isConstant(sizes[0]))
      return node.error() << "expected a bias of " << sizes[0]
                          << " elements, but got " << node.describe(bias.shape);
    HK_TRY(sum, node.binary<AddOp>(made, bias));
    made = sum;
  }
  HK_TRY(result, channelsSecond(node, made));
  return node.result(0, result);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static LogicalResult maxPool(Node &node) {
  auto kernel = node.integerList("kernel_shape");
  if (!kernel)
    return node.error() << "expected attribute 'kernel_shape'";
  if (failed(node.only("ceil_mode", 0, "hk has whole windows only")) ||
      failed(node.only("storage_order", 0, "no places are returned")))
    return failure();
  if (node.wants(1))
    return node.error() << "expected one output; hk returns no places";
  HK_TRY(x, node.tensor(0));
  if (!dtypeInfo(x.dtype) || !dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected an input of a real type, but got "
                        << dtypeName(x.dtype);
  HK_TRY(windows, windowsOf(node, *kernel));
  HK_TRY(last, channelsLast(node, x));
  HK_TRY(taps, everyTap(node, last, windows,
                        -std::numeric_limits<double>::infinity()));
  Tensor made = taps.front();
  for (const Tensor &tap : ArrayRef<Tensor>(taps).drop_front()) {
    HK_TRY(larger, node.binary<MaxOp>(made, tap));
    made = larger;
  }
  HK_TRY(result, channelsSecond(node, made));
  return node.result(0, result);
}

ArrayRef<Operator> mlir::hk::importer::convolutionOperators() {
  static const Operator table[] = {
      {"", "Conv", 1, 2, 3, convolution,
       "of reals, windows of known sizes; a padded dim of known size"},
      {"", "MaxPool", 1, 1, 1, maxPool,
       "of reals, first output, no ceil_mode; a padded dim of known size"},
  };
  return table;
}
