//===- Convolutions.cpp - Convolutions of ONNX ----------------------------===//
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
// keeps channels apart is a sum of slices. A transposed one is one of the input
// with zeros between its elements, by the weight from its other end.
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"
#include "Activations.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<Tensor> mlir::hk::importer::rowsOf(Node &node, const Tensor &x,
                                             ArrayRef<Window> windows,
                                             Padder pad) {
  Tensor made = x;
  for (int64_t d = windows.size() - 1; d >= 0; --d) {
    const Window &window = windows[d];
    HK_TRY(wide, pad(made, d + 1, window.before, window.after));
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

/// Where weight [M, taps, C] has its elements in the file.
using Place = llvm::function_ref<int64_t(int64_t m, int64_t tap, int64_t c)>;

/// A weight of the file in the order of rows, [M, taps C].
static Data movedData(Node &node, const Item &item, const Filter &filter,
                      Place place) {
  size_t width = dtypeInfo(item.dtype)->bits / 8;
  std::string moved;
  moved.reserve(item.data->bytes.size());
  for (int64_t m = 0; m < filter.out; ++m)
    for (int64_t t = 0; t < filter.taps; ++t)
      for (int64_t c = 0; c < filter.channels; ++c)
        moved += item.data->bytes.substr(place(m, t, c) * width, width);
  return {item.dtype,
          {filter.out, filter.taps * filter.channels},
          node.graph.store.keep(std::move(moved))};
}

Data mlir::hk::importer::dataByTap(Node &node, const Item &weight,
                                   const Filter &filter) {
  return movedData(node, weight, filter, [&](int64_t m, int64_t t, int64_t c) {
    return (m * filter.channels + c) * filter.taps + t;
  });
}

/// The same as a tensor, moved once.
static FailureOr<Tensor> movedWeight(Node &node, const Data &data) {
  return node.constant(data, node.input(1).name + ".by_tap");
}

/// The weight [M, C, taps] in the order of rows.
static FailureOr<Tensor> weightByTap(Node &node, const Filter &filter) {
  const auto [groups, out, channels, taps] = filter;
  const Item &item = node.input(1);
  if (item.data && dtypeInfo(item.dtype)->bits % 8 == 0)
    return movedWeight(node, dataByTap(node, item, filter));
  HK_TRY(weight, node.tensor(1));
  HK_TRY(split, node.reshape(weight, {Size(out), Size(channels), Size(taps)}));
  HK_TRY(moved, node.transpose(split, {0, 2, 1}));
  return node.reshape(moved, {Size(out), Size(taps * channels)});
}

/// Channels of x [N, ..., C] by themselves: a sum of slices, in f32. The weight
/// is [C, taps].
static FailureOr<Tensor> apart(Node &node, const Tensor &x,
                               const Windows &windows, const Tensor &weight) {
  HK_TRY(wide, node.cast(x, kFloat));
  HK_TRY(parts, everyTap(node, wide, windows, 0.0));
  HK_TRY(turned, node.transpose(weight, {1, 0}));
  HK_TRY(rows, node.cast(turned, kFloat));
  Tensor sum;
  for (auto [t, part] : llvm::enumerate(parts)) {
    HK_TRY(row, node.slice(rows, 0, int64_t(t), 1));
    HK_TRY(flat, node.reshape(row, {x.shape.back()}));
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

/// Rows [N, places..., taps C] of channels that only those of their group see,
/// times [M, taps C / groups].
static FailureOr<Tensor> grouped(Node &node, const Tensor &rows,
                                 const Tensor &weight, const Filter &filter) {
  const auto [groups, out, channels, taps] = filter;
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
  HK_TRY(made, matmul(node, sides, matrix, false, true, rows.dtype));
  HK_TRY(turned, node.transpose(made, {1, 0, 2}));
  places.push_back(out);
  return node.reshape(turned, places);
}

/// x [N, ..., C] to [N, places..., M]; the weight is in the order of rows.
static FailureOr<Tensor> convolved(Node &node, const Tensor &x,
                                   const Windows &windows, const Tensor &weight,
                                   const Filter &filter) {
  if (filter.isApart())
    return apart(node, x, windows, weight);
  HK_TRY(rows, rowsOf(node, x, windows,
                      [&](const Tensor &part, int64_t dim, int64_t before,
                          int64_t after) {
                        return padded(node, part, dim, before, after, 0.0);
                      }));
  if (filter.groups == 1)
    return matmul(node, rows, weight, false, true, x.dtype);
  return grouped(node, rows, weight, filter);
}

FailureOr<SmallVector<int64_t>> mlir::hk::importer::weightSizes(Node &node,
                                                                size_t i) {
  SmallVector<int64_t> sizes;
  for (const Size &size : node.input(i).shape)
    sizes.push_back(size.getConstant().value_or(0));
  if (sizes.size() < 3 || llvm::any_of(sizes, [](int64_t n) { return n < 1; }))
    return node.error() << "expected a weight of two dims and a window of "
                           "known sizes, but got "
                        << node.describe(node.input(i).shape);
  ArrayRef<int64_t> kernel = ArrayRef<int64_t>(sizes).drop_front(2);
  if (auto given = node.integerList("kernel_shape");
      given && ArrayRef<int64_t>(*given) != kernel)
    return node.error() << "expected attribute 'kernel_shape' to be [" << kernel
                        << "], as the weight has it, but got [" << *given
                        << "]";
  return sizes;
}

/// The same of input 1, a weight of input 0's type.
static FailureOr<SmallVector<int64_t>> realWeightSizes(Node &node) {
  HK_TRY(sizes, weightSizes(node, 1));
  const Item &x = node.input(0);
  if (node.input(1).dtype != x.dtype || !dtypeInfo(x.dtype) ||
      !dtypeInfo(x.dtype)->isFloat)
    return node.error() << "expected an input and a weight of one real type";
  return sizes;
}

static InFlightDiagnostic wrongGroups(Node &node, int64_t groups,
                                      ArrayRef<int64_t> weight) {
  return node.error() << "expected groups of channels, " << groups
                      << ", that fit, but got "
                      << node.describe(node.input(0).shape) << " and a weight ["
                      << weight << "]";
}

FailureOr<Filter> mlir::hk::importer::filterOf(Node &node,
                                               ArrayRef<int64_t> sizes) {
  Filter filter{node.integer("group", 1), sizes[0], sizes[1], 1};
  for (int64_t size : sizes.drop_front(2))
    filter.taps *= size;
  if (filter.groups < 1 || filter.groups > filter.out ||
      filter.out % filter.groups ||
      !node.input(0).shape[1].isConstant(filter.channels * filter.groups))
    return wrongGroups(node, filter.groups, sizes);
  return filter;
}

/// [N, ..., M] with its bias, as [N, M, ...].
static FailureOr<Tensor> biased(Node &node, const Tensor &product,
                                int64_t out) {
  Tensor made = product;
  if (node.has(2)) {
    HK_TRY(bias, node.tensor(2));
    if (bias.rank() != 1 || !bias.shape[0].isConstant(out))
      return node.error() << "expected a bias of " << out
                          << " elements, but got " << node.describe(bias.shape);
    HK_TRY(sum, node.binary<AddOp>(made, bias));
    made = sum;
  }
  return channelsSecond(node, made);
}

static LogicalResult finish(Node &node, const Tensor &product, int64_t out) {
  HK_TRY(result, biased(node, product, out));
  return node.result(0, result);
}

static FailureOr<Tensor> convolved(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(sizes, realWeightSizes(node));
  HK_TRY(windows, windowsOf(node, ArrayRef<int64_t>(sizes).drop_front(2)));
  HK_TRY(filter, filterOf(node, sizes));
  if (filter.groups == 1 && arePatches(windows)) {
    int64_t width = filter.channels * filter.taps;
    HK_TRY(rows, patchesOf(node, x, windows, width));
    HK_TRY(given, node.tensor(1));
    HK_TRY(weight, node.reshape(given, {Size(filter.out), Size(width)}));
    HK_TRY(made, matmul(node, rows, weight, false, true, x.dtype));
    return biased(node, made, filter.out);
  }
  HK_TRY(last, channelsLast(node, x));
  if (filter.isApart()) {
    HK_TRY(given, node.tensor(1));
    HK_TRY(rows, node.reshape(given, {Size(filter.out), Size(filter.taps)}));
    HK_TRY(made, apart(node, last, windows, rows));
    return biased(node, made, filter.out);
  }
  HK_TRY(weight, weightByTap(node, filter));
  HK_TRY(made, convolved(node, last, windows, weight, filter));
  return biased(node, made, filter.out);
}

static LogicalResult convolution(Node &node) {
  HK_TRY(made, convolved(node));
  return node.result(0, made);
}

/// Input 3 is added before the activation.
static LogicalResult fusedConvolution(Node &node) {
  HK_TRY(made, convolved(node));
  Tensor sum = made;
  if (node.has(3)) {
    HK_TRY(both, node.tensor(3));
    if (both.dtype != made.dtype || both.rank() != made.rank())
      return node.error() << "expected input #3, which is added, to be "
                          << dtypeName(made.dtype) << " "
                          << node.describe(made.shape) << ", but got "
                          << dtypeName(both.dtype) << " "
                          << node.describe(both.shape);
    HK_TRY(added, node.binary<AddOp>(made, both));
    sum = added;
  }
  HK_TRY(result, activated(node, sum));
  return node.result(0, result);
}

//===----------------------------------------------------------------------===//
// Transposed convolutions
//===----------------------------------------------------------------------===//

/// What the result of a transposed convolution lacks in front and behind, by
/// the size that it shall have; a larger one ends with zeros.
static LogicalResult cutTo(Node &node, int64_t whole, int64_t size,
                           StringRef mode, Window &window) {
  if (size < 1 || size > 2 * whole)
    return node.error() << "expected a result of 1 to " << 2 * whole
                        << " elements along a dim, but got " << size;
  int64_t total = std::max<int64_t>(whole - size, 0);
  window.beyond += std::max<int64_t>(size - whole, 0);
  int64_t less = total / 2, more = total - less;
  window.before = mode == "SAME_UPPER" ? less : more;
  window.after = total - window.before;
  return success();
}

/// The window of each dim; `beyond` is output_padding, and before and after are
/// what the result lacks.
static FailureOr<Windows> transposedWindows(Node &node,
                                            ArrayRef<int64_t> kernel) {
  const Shape &shape = node.input(0).shape;
  size_t count = kernel.size();
  HK_TRY(windows, unplacedWindows(node, kernel));
  HK_TRY(beyond, listOf(node, "output_padding", count, 0, 0));
  StringRef mode = node.text("auto_pad", "NOTSET");
  auto wanted = node.integerList("output_shape");
  if (wanted && wanted->size() != count)
    return node.error() << "expected attribute 'output_shape' to have " << count
                        << " numbers, but got [" << *wanted << "]";
  for (auto [d, window] : llvm::enumerate(windows)) {
    window.beyond = beyond[d];
    int64_t most = window.step * window.apart + window.size;
    if (window.beyond >= most)
      return node.error() << "expected 'output_padding' below " << most
                          << ", but got " << window.beyond;
    std::optional<int64_t> known = shape[d + 2].getConstant();
    if (!known || *known < 1)
      return node.error() << "expected a known size, but got "
                          << node.graph.symbols.describe(shape[d + 2]);
    int64_t whole = window.step * (*known - 1) + window.beyond + window.reach();
    bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (mode == "VALID")
      window.before = window.after = 0;
    else if (wanted || same) {
      if (failed(cutTo(node, whole,
                       wanted ? (*wanted)[d] : *known * window.step, mode,
                       window)))
        return failure();
    } else if (mode != "NOTSET")
      return node.error() << "expected attribute 'auto_pad' to be NOTSET, "
                             "VALID, SAME_UPPER or SAME_LOWER, but got '"
                          << mode << "'";
    if (window.before + window.after >= whole + window.beyond - beyond[d])
      return node.error() << "expected 'pads' below the " << whole
                          << " elements of a dim";
  }
  return windows;
}

/// `count` more elements on a side of a dim, or fewer.
static FailureOr<Tensor> grown(Node &node, const Tensor &x, int64_t dim,
                               int64_t before, int64_t after) {
  int64_t size = *x.shape[dim].getConstant();
  int64_t front = std::max<int64_t>(-before, 0);
  int64_t cut = front + std::max<int64_t>(-after, 0);
  HK_TRY(kept, node.slice(x, dim, front, size - cut));
  return padded(node, kept, dim, std::max<int64_t>(before, 0),
                std::max<int64_t>(after, 0), 0.0);
}

/// x [N, ..., C] with zeros between its elements and around them, so that a
/// window of step 1 has the places of the result.
static FailureOr<Tensor> spread(Node &node, const Tensor &x, Windows &windows) {
  Tensor made = x;
  for (auto [d, window] : llvm::enumerate(windows)) {
    int64_t dim = d + 1, size = *made.shape[dim].getConstant();
    if (window.step > 1) {
      Shape apart = made.shape, joined = made.shape;
      apart.insert(apart.begin() + dim + 1, Size(1));
      joined[dim] = size * window.step;
      HK_TRY(split, node.reshape(made, apart));
      HK_TRY(wide, padded(node, split, dim + 1, 0, window.step - 1, 0.0));
      HK_TRY(flat, node.reshape(wide, joined));
      size = (size - 1) * window.step + 1;
      HK_TRY(cut, node.slice(flat, dim, 0, size));
      made = cut;
    }
    int64_t around = window.reach() - 1;
    int64_t before = around - window.before,
            after = around - window.after + window.beyond;
    HK_TRY(wide, grown(node, made, dim, before, after));
    made = wide;
    window = {window.size, 1, window.apart,
              0,           0, Size(size + before + after - around)};
  }
  return made;
}

/// Windows side by side: every element of x makes a patch of the result.
static LogicalResult patchesBack(Node &node, const Tensor &x,
                                 const Windows &windows, int64_t channels,
                                 int64_t out) {
  int64_t taps = 1, rank = windows.size();
  Shape apart{x.shape[0]}, shape{x.shape[0]};
  SmallVector<int64_t> order{0};
  for (auto [d, window] : llvm::enumerate(windows)) {
    taps *= window.size;
    apart.push_back(x.shape[d + 2]);
    shape.push_back(x.shape[d + 2] * window.size);
    order.append({int64_t(d) + 1, int64_t(d) + rank + 2});
  }
  apart.push_back(out);
  for (const Window &window : windows)
    apart.push_back(window.size);
  order.push_back(rank + 1);
  shape.push_back(out);
  HK_TRY(last, channelsLast(node, x));
  HK_TRY(given, node.tensor(1));
  HK_TRY(weight, node.reshape(given, {Size(channels), Size(out * taps)}));
  HK_TRY(made, matmul(node, last, weight, false, false, x.dtype));
  HK_TRY(split, node.reshape(made, apart));
  HK_TRY(moved, node.transpose(split, order));
  HK_TRY(joined, node.reshape(moved, shape));
  return finish(node, joined, out);
}

/// The weight [C, M, taps] from its other end, in the order of rows: channels
/// and outputs of a group together.
static FailureOr<Tensor> weightFromEnd(Node &node, const Filter &filter) {
  const auto [groups, out, channels, taps] = filter;
  int64_t share = out / groups;
  const Item &item = node.input(1);
  if (item.data && dtypeInfo(item.dtype)->bits % 8 == 0)
    return movedWeight(node,
                       movedData(node, item, filter,
                                 [=, channels = channels, taps = taps](
                                     int64_t m, int64_t t, int64_t c) {
                                   int64_t channel = m / share * channels + c;
                                   return (channel * share + m % share) * taps +
                                          taps - 1 - t;
                                 }));
  HK_TRY(given, node.tensor(1));
  HK_TRY(split, node.reshape(given, {Size(groups), Size(channels), Size(share),
                                     Size(taps)}));
  HK_TRY(moved, node.transpose(split, {0, 2, 3, 1}));
  SmallVector<Tensor> parts;
  for (int64_t t = taps - 1; t >= 0; --t) {
    HK_TRY(part, node.slice(moved, 2, t, 1));
    parts.push_back(part);
  }
  HK_TRY(turned, node.concat(2, parts));
  return node.reshape(turned, {Size(out), Size(taps * channels)});
}

static LogicalResult transposedConvolution(Node &node) {
  HK_TRY(x, node.tensor(0));
  HK_TRY(sizes, realWeightSizes(node));
  ArrayRef<int64_t> kernel = ArrayRef<int64_t>(sizes).drop_front(2);
  HK_TRY(windows, transposedWindows(node, kernel));
  int64_t groups = node.integer("group", 1), taps = 1, share = sizes[1];
  for (int64_t size : kernel)
    taps *= size;
  if (groups < 1 || sizes[0] % groups || !x.shape[1].isConstant(sizes[0]))
    return wrongGroups(node, groups, sizes);
  if (groups == 1 && llvm::all_of(windows, [](const Window &w) {
        return w.size == w.step && w.apart == 1 && !w.before && !w.after &&
               !w.beyond;
      }))
    return patchesBack(node, x, windows, sizes[0], share);
  Filter filter{groups, share * groups, sizes[0] / groups, taps};
  HK_TRY(weight, weightFromEnd(node, filter));
  HK_TRY(last, channelsLast(node, x));
  HK_TRY(wide, spread(node, last, windows));
  HK_TRY(made, convolved(node, wide, windows, weight, filter));
  return finish(node, made, filter.out);
}

ArrayRef<Operator> mlir::hk::importer::convolutionOperators() {
  static const Operator table[] = {
      {"", "Conv", 1, 2, 3, convolution,
       "of reals, windows of known sizes; a padded dim of known size"},
      {"com.microsoft", "FusedConv", 1, 2, 4, fusedConvolution,
       "of reals, windows of known sizes; a padded dim of known size"},
      {"", "ConvTranspose", 1, 2, 3, transposedConvolution,
       "of reals, dims of known sizes"},
  };
  return table;
}
